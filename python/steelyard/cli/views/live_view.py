"""Shows a weighing while it runs: a chart on a terminal, or one line an event elsewhere.

Everything goes to standard error, so that `--json` keeps standard output clean. The view draws
on an event and never by a timer: a timer would take processor time from the arms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.cli.terminal import console, redraws
from steelyard.cli.views.interval_chart import column, interval_chart, percent_scale
from steelyard.cli.views.progress_lines import (
    cell_line,
    epoch_line,
    epoch_reading,
    epoch_text,
    plan_lines,
    recalled_line,
    threat_line,
    time_left_text,
    turn_line,
    turn_time_left_text,
    verdict_epochs_text,
    verdict_line,
)
from steelyard.model.secrets.redaction import redacted
from steelyard.model.threat import Threat
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.verdict import TimeParts, Verdict
from steelyard.report.time_parts import cause_sentence
from steelyard.wording.contrast_text import reading_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from steelyard.running.stopwatch import Progress

_BEYOND_DOTS = 16
"""Rows of a terminal that are not epochs' dots: titles, charts, threats, the prompt."""
_BAR, _BLOCK = 24, 4
"""Columns of the bar before the plan, and of the block that moves in it."""
_OF = re.compile(r"\b([\d,]+) of ([\d,]+)\b")
_LABEL = 6
_READING = 11


@contextmanager
def open_view(stream: TextIO) -> Iterator[Progress]:
    """The view that fits `stream`: a chart on a terminal, else plain lines; closed at the end."""
    if not redraws(stream):
        yield PlainView(stream)
        return
    with LiveView(console(stream)) as view:
        yield view


class PlainView:
    """One line an event, for files, pipes and dumb terminals."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._plan: Plan | None = None
        self._turn: tuple[int, str] | None = None

    def stage(self, text: str) -> None:
        """The stage as a line; once epochs go by, they are the lines."""
        if self._plan is None:
            self._write(text)

    def plan(self, plan: Plan) -> None:
        """The plan in a line."""
        self._plan = plan
        for line in plan_lines(plan):
            self._write(line)

    def epoch(
        self, n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
    ) -> None:
        """The epoch's readings and what they add up to so far."""
        cells = self._plan is not None and self._plan.factors is not None
        line = cell_line(n, total, contrasts, seconds_left) if cells else ""
        self._write(line or epoch_line(n, total, contrasts, seconds_left))

    def why(self, times: Sequence[TimeParts]) -> None:
        """Prints nothing: the summary has it."""

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        """The epochs of the record in one line."""
        self._write(recalled_line(total, contrasts))

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        """A line as a turn begins; its further phases are not printed."""
        what = f"turn of {arm}" if arm else phase
        if self._turn != (epoch, what):
            self._turn = (epoch, what)
            self._write(turn_line(epoch, self._plan, what, seconds_left))

    def threat(self, threat: Threat) -> None:
        """The threat and what was seen."""
        self._write(threat_line(threat))

    def note(self, text: str) -> None:
        """The note as a line."""
        self._write(f"note: {text}")

    def verdict(self, verdict: Verdict) -> None:
        """The verdict's sentence."""
        self._write(verdict_line(verdict))

    def _write(self, text: str) -> None:
        self._stream.write(redacted(text) + "\n")
        self._stream.flush()


class LiveView:
    """A chart on a terminal; stages, notes and threats scroll by above it."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._plan: Plan | None = None
        self._stage = ""
        self._stages = 0
        self._left = ""
        self._contrasts: Sequence[ContrastLine] = ()
        self._readings: list[tuple[int, float | None]] = []
        self._why: dict[str, str] = {}

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def stage(self, text: str) -> None:
        """Before the plan a bar that moves; afterwards the line under the charts."""
        self._stage = redacted(text)
        self._stages += 1
        self._draw()

    def plan(self, plan: Plan) -> None:
        """The plan in a line that stays."""
        self._plan = plan
        self._stage = ""
        for line in plan_lines(plan):
            self._print(line, "")
        self._draw()

    def epoch(
        self, n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
    ) -> None:
        """A new dot, and the interval where it settled."""
        self._contrasts = contrasts
        if contrasts:
            self._readings.append((n, contrasts[0].details.d[-1]))
        self._left = _joined(epoch_text(n, self._plan), time_left_text(seconds_left))
        self._draw()

    def why(self, times: Sequence[TimeParts]) -> None:
        """The leading cause of every contrast, under its chart."""
        self._why = {time.arm: cause_sentence(time) for time in times}
        self._draw()

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        """The dots of the record, and the interval as they left it."""
        self._contrasts = contrasts
        self._readings = list(enumerate(contrasts[0].details.d, 1))
        self._left = f"epoch {len(self._readings)} of {total}"
        self._draw()

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        """Epoch, arm, phase and the time left, in the line under the charts."""
        self._left = _joined(epoch_text(epoch, self._plan), turn_time_left_text(seconds_left))
        self._stage = f"turn of {arm}: {phase}" if arm else phase
        self._draw()

    def threat(self, threat: Threat) -> None:
        """A threat in a line that stays."""
        style = "bold red" if threat.invalidates else "yellow"
        self._print(threat_line(threat), style)
        self._draw()

    def note(self, text: str) -> None:
        """A note in a line that stays."""
        self._print(f"· {text}", "dim")
        self._draw()

    def verdict(self, verdict: Verdict) -> None:
        """Clears the view: the summary that follows holds all of it."""
        self._live.transient = True
        self._print("", "")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(redacted(text), style=style))

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        """Dots of the latest epochs on the scale of the first chart, then a chart a contrast."""
        from rich.text import Text

        width = min(self._console.width - 1, 110)
        picture = Text(no_wrap=True, overflow="crop")
        if self._plan is None:
            picture.append(stage_bar(self._stage, self._stages), "cyan")
            picture.append(f" {self._stage}" if self._stage else "", "dim")
            return picture
        for number, contrast in enumerate(self._contrasts):
            if self._plan.factors is not None:  # too many for a chart each
                picture.append(f"{contrast.arm}: {reading_text(contrast)}\n")
                continue
            if number == 0:
                self._draw_dots(picture, contrast, width)
            self._draw_chart(picture, contrast, width)
        picture.append(_joined(self._left, self._next_verdict_text(), self._stage), "dim")
        return picture

    def _margin(self) -> float:
        return self._plan.margin_percent if self._plan else 1.0

    def _chart_width(self, width: int) -> int:
        return width - _LABEL - _READING

    def _draw_dots(self, picture: Any, contrast: ContrastLine, width: int) -> None:
        x = percent_scale(contrast, self._margin(), self._chart_width(width))
        zero = column(0, x)
        rows = max(self._console.height - _BEYOND_DOTS - 5 * len(self._contrasts), 3)
        for n, d in self._readings[-rows:]:
            row = [" "] * (int(x.end) + 1)
            row[zero] = "┊"
            text = epoch_reading(d)
            if d is not None:
                row[column(percent_of_log(d), x)] = "•"
            picture.append(f"{n:>{_LABEL - 2}}  ", "dim")
            picture.append("".join(row))
            picture.append(f"{text:>{_READING}}\n", "dim")

    def _draw_chart(self, picture: Any, contrast: ContrastLine, width: int) -> None:
        drawn = interval_chart(contrast, self._margin(), self._chart_width(width))
        for number, line in enumerate(drawn):
            style = ("bold cyan", "", "dim", "dim")[number]
            picture.append(" " * _LABEL)
            picture.append(line + "\n", style)
        picture.append(f"{' ' * _LABEL}{contrast.pair}: ")
        picture.append(f"{reading_text(contrast)}\n", "bold")
        if contrast.arm in self._why:
            picture.append(f"{' ' * _LABEL}why, so far: {self._why[contrast.arm]}\n", "dim")

    def _next_verdict_text(self) -> str:
        """Until a planned look nothing is decided, and the view says so."""
        done = len(self._readings)
        ahead = [look for look in self._plan.decision_epochs if look > done] if self._plan else []
        if self._plan is None or not ahead or self._plan.open_ended:
            return ""
        if self._plan.epochs < FEWEST_FOR_VERDICT:
            return verdict_epochs_text(self._plan)
        return f"no verdict before epoch {ahead[0]}"


def stage_bar(text: str, stages: int) -> str:
    """A bar filled by the "N of M" in a stage's text; without one, a block that moves on with each
    stage."""
    if not text:
        return ""
    fraction = _OF.search(text)
    if fraction:
        done, of = (int(number.replace(",", "")) for number in fraction.groups())
        full = min(_BAR, round(_BAR * done / of)) if of else 0
        return f"▕{'█' * full}{'░' * (_BAR - full)}▏"
    at = stages % (_BAR - _BLOCK + 1)
    return f"▕{'░' * at}{'█' * _BLOCK}{'░' * (_BAR - _BLOCK - at)}▏"


def _joined(*parts: str) -> str:
    """What there is of them, in one line."""
    return " · ".join(filter(None, parts))
