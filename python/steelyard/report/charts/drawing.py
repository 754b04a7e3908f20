"""Collects the SVG elements of a drawing, every text escaped, with a title and a description.

Places are CSS pixels. A drawing is made once for desktop width and once for phone width, since
scaling one picture would make its text unreadable; the style sheet shows the one that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup, escape

from steelyard.model.errors import RecordError
from steelyard.model.files.own_directory import write_named
from steelyard.model.files.printable import printable_xml

WIDE = 920
"""Width of a drawing that fills the page on a desktop, in pixels."""
HALF = 448
"""Width of one of two drawings side by side."""
NARROW = 342
"""Width of any drawing on a phone."""
CHARACTER = 6.6
"""Room one character of 12 px text is taken to need, in pixels, a little on the safe side."""


def both_widths(draw: Callable[[float], Markup], wide: float) -> Markup:
    """A picture at desktop width and at phone width; the style sheet shows one of them."""
    return Markup('<div class="wide">{}</div><div class="narrow">{}</div>').format(
        draw(wide), draw(NARROW)
    )


def save(picture: str, path: Path) -> None:
    """Write a picture's text; RecordError where the file cannot be written."""
    try:
        write_named(path, printable_xml(picture))
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordError(f'could not write the picture "{path}": {reason.lower()}') from None


def number(value: float) -> str:
    """A coordinate with one decimal at most: `"12"`, `"12.5"`."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


@dataclass
class Drawing:
    """An SVG picture being drawn."""

    width: float
    height: float
    title: str
    words: str
    """What the picture shows, for screen readers."""
    _parts: list[Markup] = field(default_factory=list)

    def add(self, tag: str, content: str = "", **attributes: str | float) -> None:
        """Add one element; `class_` is written `class`, underscores become hyphens."""
        written = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{escape(_text_of(value))}"'
            for name, value in attributes.items()
            if value != ""
        )
        end = f">{escape(content)}</{tag}>" if content else "/>"
        self._parts.append(Markup(f"<{tag}{written}{end}"))

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def rect(self, x: float, y: float, width: float, height: float, class_: str) -> None:
        """A rectangle; negative sizes are drawn as nothing."""
        if width > 0 and height > 0:
            self.add("rect", x=x, y=y, width=width, height=height, class_=class_)

    def text(
        self, x: float, y: float, content: str, class_: str = "", anchor: str = "start"
    ) -> None:
        """Words at a base line; anchor is `start`, `middle` or `end`."""
        self.add("text", content, x=x, y=y, class_=class_, text_anchor=anchor)

    def path(self, steps: str, class_: str) -> None:
        """A path in SVG's own language."""
        if steps:
            self.add("path", d=steps, class_=class_)

    def polyline(self, points: list[tuple[float, float]], class_: str) -> None:
        """A line through points, nothing for fewer than two."""
        if len(points) > 1:
            self.path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in points), class_)

    def mark(self, shape: int, x: float, y: float, class_: str, size: float = 4.5) -> None:
        """A dot whose shape shows the slot: circle, open diamond, triangle, open square, …"""
        s = size
        match shape % 4:
            case 0:
                self.add("circle", cx=x, cy=y, r=s, class_=f"{class_} solid")
            case 1:
                r = s * 1.25
                self.path(_polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)]), class_)
            case 2:
                corners = [(x, y - s * 1.2), (x + s * 1.15, y + s), (x - s * 1.15, y + s)]
                self.path(_polygon(corners), f"{class_} solid")
            case _:
                corners = [(x - s, y - s), (x + s, y - s), (x + s, y + s), (x - s, y + s)]
                self.path(_polygon(corners), class_)

    @contextmanager
    def link(self, address: str, label: str) -> Iterator[None]:
        """What is drawn inside leads to `address`; `label` says where, for screen readers."""
        self._parts.append(Markup('<a href="{}" aria-label="{}">').format(address, label))
        yield
        self._parts.append(Markup("</a>"))

    def svg(self, role: str = "img") -> Markup:
        """The finished element; `role`: "group" where it holds links."""
        size = f"{number(self.width)} {number(self.height)}"
        opening = Markup(
            f'<svg viewBox="0 0 {size}" width="{number(self.width)}" height="{number(self.height)}"'
            f' role="{role}"'
            f' aria-label="{escape(self.title)}">'
        )
        description = Markup("<title>{}</title><desc>{}</desc>").format(self.title, self.words)
        whole = opening + description + Markup("").join(self._parts) + Markup("</svg>")
        return Markup(printable_xml(whole))

    def file(self, style: str) -> str:
        """The text of an SVG file of its own, with its style sheet in it."""
        head, _, rest = str(self.svg()).partition(">")
        return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}\n'


def _text_of(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def _polygon(corners: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "Z"
