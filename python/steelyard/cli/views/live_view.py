"""Shows a weighing while it runs: a chart on a terminal, or one line an epoch elsewhere.

Everything goes to standard error, so that `--json` keeps standard output clean. The view draws
on an event and never by a timer: a timer would take processor time from the arms.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from steelyard.cli.views import event_lines
from steelyard.cli.views.interval_chart import column, interval_chart, percent_scale
from steelyard.model.units import percent_of_log
from steelyard.report.words import finite, reading

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from steelyard.running.progress import Progress

Facts = Mapping[str, Any]
_BEYOND_DOTS = 16
"""Rows of a terminal that are not epochs' dots: titles, charts, threats, the prompt."""
_LABEL = 6
_READING = 11


@contextmanager
def open_view(stream: TextIO) -> Iterator[Progress]:
    """The view that fits `stream`: a chart on a terminal, else plain lines; closed at the end."""
    if not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield PlainView(stream)
        return
    from rich.console import Console

    with LiveView(Console(file=stream, highlight=False)) as view:
        yield view


class PlainView:
    """One line an event, for files, pipes and dumb terminals."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._planned = False

    def stage(self, text: str) -> None:
        """The stage as a line; once epochs go by, they are the lines."""
        if not self._planned:
            self._write(text)

    def plan(self, plan: Facts) -> None:
        """The plan in a line."""
        self._planned = True
        self._write(f"plan: {event_lines.plan_line(plan)}")

    def epoch(
        self, n: int, total: int, contrasts: Sequence[Facts], seconds_left: float | None
    ) -> None:
        """The epoch's readings and what they add up to so far."""
        self._write(event_lines.epoch_line(n, total, contrasts, seconds_left))

    def recalled(
        self, readings: Sequence[float | None], total: int, contrasts: Sequence[Facts]
    ) -> None:
        """The epochs of the record in one line."""
        self._write(event_lines.recalled_line(len(readings), total, contrasts))

    def threat(self, threat: Facts) -> None:
        """The threat and what was seen."""
        self._write(event_lines.threat_line(threat))

    def note(self, text: str) -> None:
        """The note as a line."""
        self._write(f"note: {text}")

    def done(self, verdict: Facts) -> None:
        """The verdict's sentence."""
        self._write(event_lines.verdict_line(verdict))

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class LiveView:
    """A chart on a terminal; stages, notes and threats scroll by above it."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._plan: Facts = {}
        self._stage = ""
        self._left = ""
        self._contrasts: Sequence[Facts] = ()
        self._readings: list[tuple[int, float | None]] = []

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def stage(self, text: str) -> None:
        """Before the plan a line that stays; afterwards only the line under the charts."""
        self._stage = text
        if not self._plan:
            self._print(f"· {text}", "dim")
        self._draw()

    def plan(self, plan: Facts) -> None:
        """The plan in a line that stays."""
        self._plan = plan
        self._print(f"plan: {event_lines.plan_line(plan)}", "")
        self._draw()

    def epoch(
        self, n: int, total: int, contrasts: Sequence[Facts], seconds_left: float | None
    ) -> None:
        """A new dot, and the interval where it settled."""
        self._contrasts = contrasts
        if contrasts:
            self._readings.append((n, finite(contrasts[0].get("d"))))
        left = event_lines.left_words(seconds_left)
        self._left = f"epoch {n} of {total}" + (f" · {left}" if left else "")
        self._draw()

    def recalled(
        self, readings: Sequence[float | None], total: int, contrasts: Sequence[Facts]
    ) -> None:
        """The dots of the record, and the interval as they left it."""
        self._contrasts = contrasts
        self._readings = [(n, finite(d)) for n, d in enumerate(readings, 1)]
        self._left = f"epoch {len(readings)} of {total}"
        self._draw()

    def threat(self, threat: Facts) -> None:
        """A threat in a line that stays."""
        style = "bold red" if threat.get("invalidates") else "yellow"
        self._print(event_lines.threat_line(threat), style)
        self._draw()

    def note(self, text: str) -> None:
        """A note in a line that stays."""
        self._print(f"· {text}", "dim")
        self._draw()

    def done(self, verdict: Facts) -> None:
        """Clears the view: the summary that follows holds all of it."""
        self._live.transient = True
        self._print("", "")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(text, style=style))

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        """Dots of the latest epochs on the scale of the first chart, then a chart a contrast."""
        from rich.text import Text

        width = min(self._console.width - 1, 110)
        picture = Text(no_wrap=True, overflow="crop")
        for number, contrast in enumerate(self._contrasts):
            if number == 0:
                self._draw_dots(picture, contrast, width)
            self._draw_chart(picture, contrast, width)
        status = " · ".join(part for part in (self._left, self._next_look(), self._stage) if part)
        picture.append(status, "dim")
        return picture

    def _margin(self) -> float:
        return (finite(self._plan.get("margin")) or 0.01) * 100

    def _chart_width(self, width: int) -> int:
        return width - _LABEL - _READING

    def _draw_dots(self, picture: Any, contrast: Facts, width: int) -> None:
        x = percent_scale(contrast, self._margin(), self._chart_width(width))
        zero = column(0, x)
        rows = max(self._console.height - _BEYOND_DOTS - 5 * len(self._contrasts), 3)
        for n, d in self._readings[-rows:]:
            row = [" "] * (int(x.end) + 1)
            row[zero] = "┊"
            text = "lost" if d is None else event_lines.epoch_reading({"d": d})
            if d is not None:
                row[column(percent_of_log(d), x)] = "•"
            picture.append(f"{n:>{_LABEL - 2}}  ", "dim")
            picture.append("".join(row))
            picture.append(f"{text:>{_READING}}\n", "dim")

    def _draw_chart(self, picture: Any, contrast: Facts, width: int) -> None:
        pair = f"{contrast.get('arm')} against {contrast.get('control')}"
        drawn = interval_chart(contrast, self._margin(), self._chart_width(width))
        for number, line in enumerate(drawn):
            style = ("bold cyan", "", "dim", "dim")[number]
            picture.append(" " * _LABEL)
            picture.append(line + "\n", style)
        picture.append(f"{' ' * _LABEL}{pair}: ")
        picture.append(f"{reading(contrast)}\n", "bold")

    def _next_look(self) -> str:
        """Until a planned look nothing is decided, and the view says so."""
        done = len(self._readings)
        looks = [self._plan.get("look"), self._plan.get("epochs")]
        ahead = [look for look in looks if isinstance(look, int) and look > done]
        if not ahead or self._plan.get("open_ended"):
            return ""
        return f"not a verdict before epoch {ahead[0]}"
