"""Folds a long page of results: tables of many figures become CSV beside it, sections pages.

A page is short enough to be read; its figures stay complete, and a program can read them. Tables
with one heading line become one file, whose first column says from which section a row comes. An
interval, `3.9 [3.1, 4.8]`, becomes three columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WHOLE = "<!-- whole -->\n"
"""Before a table that stays, whatever its size."""
MOST_NAMED = 5
"""Columns that the first link to a file names."""
FEWEST_REPEATED = 9
"""Spaces of a paragraph that is said once only."""
STAY = ("In short", "How to repeat this")
"""Sections that stay on a page whose other sections are pages of their own."""
_TABLE = re.compile(
    rf"^(?P<whole>{re.escape(WHOLE)})?(?P<head>\|.*\|)\n\|[-:| ]+\|\n(?P<rows>(?:\|.*\|(?:\n|$))+)",
    re.MULTILINE,
)
_HEADING = re.compile(r"^(#+) +(.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_RELATIVE = re.compile(r"(\]\()(?![a-z]+:|#)")
_INTERVAL = re.compile(r"^(.*?) ?\[([^\],]*), ([^\]]*)\](?: ?%)?$")
Row = Mapping[str, str]


@dataclass(frozen=True)
class Form:
    """How a page is folded."""

    most_cells: int = 48
    """Of a table that stays, its heading not counted."""
    apart: bool = False
    """Whether sections (`##`) become pages in a folder that has the page's name."""
    by_topic: bool = False
    """Whether tables whose first columns have one title become one file, whatever the others."""
    stay: tuple[str, ...] = ()
    """First titles of tables that stay."""
    leave: tuple[str, ...] = ()
    """First titles of tables that become files, however small."""


PLAIN = Form()


@dataclass
class _Sheet:
    """Tables that become one file: columns in the order in which they came."""

    columns: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[str, Row]] = field(default_factory=list)

    def csv(self) -> str:
        """The file; without the column of sections where all rows are of one."""
        several = len({section for section, _ in self.rows}) > 1
        wide = {
            name
            for name in self.columns
            if any(_INTERVAL.match(row.get(name, "")) for _, row in self.rows)
        }
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = [
            column
            for name in self.columns
            for column in ((name, f"{name}, low", f"{name}, high") if name in wide else (name,))
        ]
        writer.writerow([*(["section"] if several else []), *names])
        for section, row in self.rows:
            cells = [cell for name in self.columns for cell in _cells(row, name, name in wide)]
            writer.writerow([*([section] if several else []), *cells])
        return out.getvalue()


def files_of(page: Path, text: str, form: Form = PLAIN) -> dict[Path, str]:
    """Every file of a page, its text by its path; `text` is the page with its tables complete."""
    folder = page.with_suffix("")
    if not form.apart:
        return _folded(page, text, form)
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    flat = Form(form.most_cells, stay=form.stay, leave=form.leave)
    index, files, remaining = list[str](), dict[Path, str](), list[str]()
    for section in sections:
        title, _, body = section.removeprefix("## ").partition("\n")
        if title in STAY:
            remaining.append(section)
            continue
        below = folder / f"{slug(title)}.md"
        raised = re.sub("^##(#+ )", r"#\1", body, flags=re.MULTILINE)
        moved = _RELATIVE.sub(r"\1../", raised).rstrip()
        files |= _folded(below, f"# {title}\n{moved}\n", flat)
        index.append(f"- [{title}]({folder.name}/{below.name})")
    listed = "## Section by section\n\n" + "\n".join(index) + "\n\n"
    return _folded(page, head + "".join([*remaining[:1], listed, *remaining[1:]]), flat) | files


def write(files: Mapping[Path, str]) -> None:
    """Write them, and remove what an earlier writing left in their folders."""
    for path in _left_over(files):
        path.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def outdated(files: Mapping[Path, str]) -> list[str]:
    """Names of files that are not as they would be written, or that nothing would write."""
    differing = [
        path
        for path, text in files.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    return sorted(path.name for path in (*differing, *_left_over(files)))


def slug(title: str) -> str:
    """A title as the name of a file: `false-slower-and-faster`."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())[:8])


def _left_over(files: Mapping[Path, str]) -> Iterator[Path]:
    below = next(iter(files)).with_suffix("")
    for path in sorted(below.rglob("*")):
        if path.suffix in (".csv", ".md") and path not in files:
            yield path


def _folded(page: Path, text: str, form: Form) -> dict[Path, str]:
    """The page without its large tables, and these."""
    folder = page.with_suffix("")
    sheets: dict[tuple[str, ...], tuple[str, _Sheet]] = {}

    def fold(match: re.Match[str]) -> str:
        head = [_plain(cell) for cell in _split(match["head"])]
        rows = [[_plain(cell) for cell in _split(row)] for row in match["rows"].splitlines()]
        small = len(rows) * len(head) <= form.most_cells and head[0] not in form.leave
        if match["whole"] or small or head[0] in form.stay:
            return match[0].removeprefix(WHOLE)
        section = _section(text, match.start())
        topic = form.by_topic and head[0] != ""
        key = (head[0],) if topic else tuple(head)
        linked = key in sheets
        if not linked:
            title = head[0] if topic else section.rpartition(": ")[2]
            sheets[key] = (_free(slug(title), [name for name, _ in sheets.values()]), _Sheet())
        name, sheet = sheets[key]
        columns = _unlike(head)
        sheet.columns |= dict.fromkeys(columns)
        sheet.rows += [(section, dict(zip(columns, row, strict=True))) for row in rows]
        link = f"[{len(rows)} row{'s' * (len(rows) > 1)}]({folder.name}/{name}.csv)"
        titles = ", ".join(filter(None, head[:MOST_NAMED])) + ", …" * (len(head) > MOST_NAMED)
        return f"{link}\n" if linked else f"{link}: {titles}\n"

    short = _without_repeats(_TABLE.sub(fold, text))
    return {page: short} | {folder / f"{name}.csv": sheet.csv() for name, sheet in sheets.values()}


def _without_repeats(text: str) -> str:
    """The text without paragraphs of prose that have stood before: what columns mean, for one."""
    before, parts = set[str](), list[str]()
    for part in text.split("\n\n"):
        repeated = part in before and part[:1].isalpha() and part.count(" ") >= FEWEST_REPEATED
        before.add(part)
        parts += [] if repeated else [part]
    return "\n\n".join(parts)


def _section(text: str, end: int) -> str:
    """The headings above a place, from the second level on, joined."""
    path: dict[int, str] = {}
    for match in _HEADING.finditer(text, 0, end):
        level = len(match[1])
        path = {at: title for at, title in path.items() if at < level} | {level: match[2]}
    titles = [title for at, title in path.items() if at > 1] or list(path.values())
    return ": ".join(titles) or "table"


def _free(name: str, names: Sequence[str]) -> str:
    """The name, with a number where others have it."""
    same = sum(re.fullmatch(re.escape(name) + r"(-\d+)?", other) is not None for other in names)
    return f"{name}-{same + 1}" if same else name


def _unlike(head: Sequence[str]) -> list[str]:
    """Titles of columns: two alike are told apart by the one before them."""
    return [
        f"{head[column - 1]}, {title}" if title in head[:column] and column else title
        for column, title in enumerate(head)
    ]


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _plain(cell: str) -> str:
    """A cell without Markdown."""
    bare = _LINK.sub(r"\1", cell).replace("**", "").replace("\\", "").replace("`", "")
    return bare.replace("−", "-").replace("<br>", "; ")


def _cells(row: Row, name: str, wide: bool) -> tuple[str, ...]:
    """A cell, or where its column has intervals the value with both ends."""
    cell = row.get(name, "")
    if not wide:
        return (cell,)
    match = _INTERVAL.match(cell)
    return (cell, "", "") if match is None else (match[1], match[2], match[3])
