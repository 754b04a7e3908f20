"""A sweep as its folder keeps it: sweep.json before the first point, swept.json after the last."""

from __future__ import annotations

from typing import Literal, NamedTuple

from steelyard.record.contrast import Percent
from steelyard.record.frozen import Frozen

SWEEP_FILE, SWEPT_FILE = "sweep.json", "swept.json"
POINTS = "points"


LATER_KEYS = frozenset(
    {
        *("control_throughput", "arm_throughput", "control_p95_us", "arm_p95_us"),
        "forecast_seconds",
    }
)
"""Of a point's contrasts; sweeps of before they were kept do not have them."""


class SweepPlan(Frozen):
    """What is swept, fixed before anything is weighed."""

    format: int = 1
    key: str
    values: tuple[str, ...]
    order: tuple[int, ...]
    """Numbers of the values in the order in which they are weighed, drawn at random."""
    seed: int
    changes: tuple[str, ...] = ()
    """Overrides of the study at every point."""
    study: str
    """Its name, or the file that it was read from."""
    command: str = ""


class SweptContrast(Frozen):
    """An arm against the control, or against another arm, at one point, with an interval that holds
    for all together."""

    arm: str
    control: str
    metric: str
    higher_is_better: bool
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent
    verdict: Literal["slower", "faster", "equivalent", "inconclusive", "invalid"]
    epochs: int
    cause: str | None = None
    threats: tuple[str, ...] = ()
    control_throughput: float | None = None
    """Transactions a second of the control, in the median of its epochs; None: not kept, as in
    older records."""
    arm_throughput: float | None = None
    """The same of the arm."""
    control_p95_us: float | None = None
    """Latency of the control that 95 % of its transactions stay below; None: not kept."""
    arm_p95_us: float | None = None
    forecast_seconds: float | None = None
    """Further time after which the point, judged by itself, would be told; None: it is told, no
    time will do, or it was not kept."""


class SweptPoint(Frozen):
    """One value of the key, weighed; or why it was not."""

    value: str
    contrasts: tuple[SweptContrast, ...] = ()
    pairs: tuple[SweptContrast, ...] = ()
    """Arms against another arm, where the study compares them with one besides the control; absent
    in older sweeps."""
    record: str = ""
    """Its folder, in the sweep's."""
    failed: str = ""
    """Why it could not be weighed; empty: it was."""

    @property
    def every_contrast(self) -> tuple[SweptContrast, ...]:
        """Of arms against the control, then of those that are compared with another arm too."""
        return (*self.contrasts, *self.pairs)


class SweptRow(NamedTuple):
    """Two arms that are compared at every value of a sweep."""

    arm: str
    control: str
    """Or the other arm that it is compared with."""


class Swept(Frozen):
    """All points of a sweep."""

    key: str
    study: str
    question: str
    margin_percent: float
    confidence: float
    """Of all intervals of an arm together."""
    points: tuple[SweptPoint, ...]
    sentences: tuple[str, ...]
    """One an arm, and one an arm that is compared with another one too."""
    seed: int
    command: str = ""
    seconds: float

    @property
    def rows(self) -> tuple[SweptRow, ...]:
        """What is compared with what: with the control first."""
        lines = [line for point in self.points for line in point.contrasts]
        lines += [line for point in self.points for line in point.pairs]
        return tuple(dict.fromkeys(SweptRow(line.arm, line.control) for line in lines))

    def contrasts_of(self, row: SweptRow) -> tuple[tuple[str, SweptContrast], ...]:
        """(value, contrast) of a row, in the order of the values; without those that failed."""
        return tuple(
            (point.value, line)
            for point in self.points
            for line in point.every_contrast
            if (line.arm, line.control) == row
        )
