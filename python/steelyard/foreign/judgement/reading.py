"""Says what was read of the files: format, rows, arms, column, direction, pairing, replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.overview import Pairing
from steelyard.foreign.series import Grain
from steelyard.foreign.source import MOST_QUOTED, quoted
from steelyard.model.files.shortened import apart

_MOST_NAMED = 5
_KINDS = {"latency_mean": "mean latency"}


@dataclass(frozen=True, slots=True)
class InputReading:
    """What was taken for what, as the first lines of an answer say it."""

    form: str
    rows: tuple[int, ...]
    """Of each arm."""
    arms: tuple[str, ...]
    column: str
    """The heading that is judged; empty where the file has none."""
    metric: str
    unit: str
    higher_is_better: bool | None
    others: tuple[str, ...]
    """Other numbers that the files hold."""
    paired: bool
    pairing: str
    """Why rows are paired, or not."""
    replicate: str
    """What counts as one measurement."""

    @property
    def lines(self) -> tuple[str, str]:
        """Two sentences: what was judged, and how."""
        direction = "higher" if self.higher_is_better else "lower"
        unit = f" in {self.unit}" if self.unit else ""
        label = quoted(self.column)[1:-1] if self.column else self.metric
        distinct = self.column and self.metric not in ("value", label)
        kind = f" ({self.metric})" if distinct else ""
        also = f"; also numbers: {_list(self.others)} (--metric)" if self.others else ""
        control, *others = apart(self.arms, MOST_QUOTED)
        arms = f"{_list(others)} against {_list([control])}"
        read = (
            f"read: {self.form}, {_rows(self.rows)}; {arms}; "
            f"judged: {label}{kind}{unit}, {direction} is better{also}"
        )
        pairing = f"{'paired by row' if self.paired else 'not paired'}: {self.pairing}"
        return read, f"{pairing}; a replicate is {self.replicate}"

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "format": self.form,
            "rows": list(self.rows),
            "arms": list(self.arms),
            "column": self.column or None,
            "metric": self.metric,
            "unit": self.unit,
            "higher_is_better": self.higher_is_better,
            "other_numbers": list(self.others),
            "paired": self.paired,
            "pairing": self.pairing,
            "replicate": self.replicate,
        }


def reading_of(comparison: Comparison, pairing: Pairing) -> InputReading:
    """The reading of a comparison; `pairing`: of its first arm with the control."""
    metric = comparison.metric
    return InputReading(
        form=comparison.form,
        rows=tuple(len(arm.values) for arm in comparison.arms),
        arms=tuple(arm.arm for arm in comparison.arms),
        column=metric.column,
        metric=_KINDS.get(metric.name, metric.name.replace("_", " ")),
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        others=comparison.others,
        paired=pairing.paired,
        pairing=pairing.why,
        replicate=_replicate(comparison),
    )


def _replicate(comparison: Comparison) -> str:
    if any(arm.grain is Grain.SLICE for arm in comparison.arms):
        return "a run, of which every arm has one: its rows are slices"
    if comparison.row_names:
        return f"a row: {', '.join(quoted(n)[1:-1] for n in comparison.row_names[:2])} …"
    if len(comparison.sources) > len(comparison.arms):
        return "a file"
    return "a row"


def _rows(counts: Sequence[int]) -> str:
    """`30 rows an arm`, or `12 and 8 rows`."""
    if len(set(counts)) == 1:
        return f"{counts[0]} row{'s' if counts[0] > 1 else ''} an arm"
    numbers = [str(count) for count in counts[:_MOST_NAMED]]
    return f"{', '.join(numbers[:-1])} and {numbers[-1]} rows"


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(quoted(name)[1:-1] for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{listed} and {more} more" if more > 0 else listed
