"""Counts how often `steelyard judge` errs, in rows of which the truth is known.

Two equal arms, rows of many kinds, the product's own sets and rule. An effect of one sd of a row is
added to the same draws (the sets move with it), which gives the power. Rows of one arm after the
other go through the whole judgement: there drift may make the verdict invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.looks import Stage, Terms
from steelyard.evaluation.rule import VerdictKind, decide
from steelyard.foreign.comparison import Comparison, Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.judgement.number_sets import (
    ALPHA,
    NumberSets,
    RowOrder,
    paired_sets,
    unpaired_sets,
)
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Order, Rows, Series
from steelyard.foreign.source import source_of
from steelyard.model.estimate import Interval
from validation.cases.case import generator
from validation.cases.virtual import moved
from validation.worlds.autoregression import stationary

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SCATTER = 0.03
"""Of a row of one arm, log."""
MARGIN = 0.001
"""δ far below the scatter, so that no verdict is "equivalent" before it could err."""


def autoregressive(phi: float) -> Draw:
    """Unit variance, correlation φ from one row to the next."""
    return lambda rng, n: stationary(rng, phi, (n,))


def _spikes(rng: np.random.Generator, n: int) -> Floats:
    rows = rng.normal(size=n)
    struck = rng.random(n) < 0.1
    rows[struck] += rng.exponential(5.0, int(struck.sum()))
    return rows


def _storm(rng: np.random.Generator, n: int) -> Floats:
    rows = np.zeros(n)
    length = max(2, n // 8)
    at = int(rng.integers(0, n - length))
    rows[at : at + length] += 4.0
    return rows


def _slow(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray((rng.normal(size=n) + autoregressive(0.95)(rng, n)) / np.sqrt(2))


KINDS: Mapping[str, Draw] = {
    "independent": lambda rng, n: rng.normal(size=n),
    "AR(1) .3": autoregressive(0.3),
    "AR(1) .5": autoregressive(0.5),
    "AR(1) .7": autoregressive(0.7),
    "AR(1) .9": autoregressive(0.9),
    "half white, half AR(1) .95": _slow,
    "10 % one-sided spikes": _spikes,
}
PAIRED = "in one row, sharing storms"
DRAWN = "in one row, in an order that chance drew"
APART = "rows apart"
SEQUENTIAL = "one arm after the other"
SERIES = "seconds of one run each, as tables"
SWEEP = "a sweep of clients, unequal mixes, as a table"
_FEW = ("independent", "AR(1) .5", "AR(1) .7")
CELLS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {
    PAIRED: (tuple(KINDS), (8, 10, 15, 20, 30, 40, 100), 1_000),
    DRAWN: (_FEW, (10, 30), 1_000),
    APART: (_FEW, (10, 30), 500),
    SEQUENTIAL: (("independent", "AR(1) .5", "AR(1) .9"), (10, 30), 500),
    SERIES: (("independent", "AR(1) .9"), (20, 60), 300),
    SWEEP: (("independent", "AR(1) .5"), (12, 30), 300),
}
"""How arms were measured → kinds of rows, numbers of rows, comparisons a cell."""
_SECONDS = {PAIRED: 0.0016, DRAWN: 0.002, APART: 0.015, SEQUENTIAL: 0.02, SERIES: 0.03, SWEEP: 0.03}
"""A comparison, roughly."""


@dataclass
class Counts:
    """How the comparisons of one cell ended."""

    comparisons: int = 0
    different: int = 0
    """Said to be slower or faster: false, since the arms are equal."""
    withheld: int = 0
    """No verdict could be given, whatever the rows read."""
    missed: int = 0
    """The interval without the truth in it, of those that carry a verdict."""
    seen: int = 0
    """An arm one sd of a row above said to be so."""


def rows_of(measured: str, kind: str, rng: np.random.Generator, n: int) -> tuple[Series, Series]:
    """Equal arms of n rows each."""
    draw = KINDS[kind]
    a, b = draw(rng, n), draw(rng, n)
    shared = np.zeros(n)
    if measured in (PAIRED, DRAWN):
        shared = _storm(rng, n)
    if measured == DRAWN:
        turned = rng.random(n) < 0.5
        a, b = np.where(turned, b, a), np.where(turned, a, b)
    if measured == SEQUENTIAL:  # one course of time, cut in the middle
        a, b = np.split(draw(rng, 2 * n), 2)
    first, second = (100 * np.exp(SCATTER * (course + shared)) for course in (a, b))
    return Series("a", first), Series("b", second)


def sets_of(measured: str, arms: tuple[Series, Series]) -> NumberSets:
    """The sets of a comparison in which no threat can invalidate."""
    order = RowOrder.DRAWN if measured == DRAWN else RowOrder.IN_TIME
    judged = unpaired_sets if measured == APART else paired_sets
    return judged(*arms, terms_of(len(arms[0].values)), order)


def terms_of(rows: int) -> Terms:
    """Two arms, one look at 5 %."""
    alphas = (ALPHA, ALPHA)
    return Terms(rows, margin=MARGIN, metric="time", alphas=alphas, more_is_better=False)


def count(measured: str, kind: str, rng: np.random.Generator, n: int, times: int) -> Counts:
    """So many comparisons of n rows a side."""
    counts = Counts(times)
    for _ in range(times):
        arms = rows_of(measured, kind, rng, n)
        if measured == SEQUENTIAL:
            _add_judged(counts, arms)
        elif measured in (SERIES, SWEEP):
            _add_table(counts, measured, arms, rng)
        else:
            _add(counts, sets_of(measured, arms), terms_of(n))
    return counts


def _add(counts: Counts, found: NumberSets, terms: Terms) -> None:
    sets = found.sets
    withheld = sets.stage is Stage.TOO_FEW
    counts.withheld += withheld
    counts.missed += not withheld and 0.0 not in sets.main
    counts.different += _differs(sets.stage, sets.main, sets.equivalence, terms)
    main, equivalence = (moved(region, SCATTER) for region in (sets.main, sets.equivalence))
    counts.seen += _differs(sets.stage, main, equivalence, terms)


def _differs(stage: Stage, main: Interval, equivalence: Interval, terms: Terms) -> bool:
    kind = decide(stage, main, equivalence, terms).kind
    return kind in (VerdictKind.SLOWER, VerdictKind.FASTER)


def _add_judged(counts: Counts, arms: tuple[Series, Series]) -> None:
    metric = Metric("time", "s", False)
    comparison = Comparison((), "", metric, arms, Order.SEQUENTIAL, Rows.APART)
    (contrast,) = judge_numbers(comparison, MARGIN).contrasts
    kind = contrast.verdict.kind
    withheld = kind is VerdictKind.INVALID or contrast.details.look == Stage.TOO_FEW
    counts.withheld += withheld
    counts.missed += not withheld and 0.0 not in contrast.estimate.interval
    counts.different += kind in (VerdictKind.SLOWER, VerdictKind.FASTER)


RUNS_APART = 0.015
"""From one run to the next, log: what seconds of one run do not show."""
LEVELS = {"1": 950.0, "8": 5_100.0, "32": 8_300.0}
"""Transactions a second by clients."""


def _add_table(
    counts: Counts, measured: str, arms: tuple[Series, Series], rng: np.random.Generator
) -> None:
    """Equal arms as files of other people hold them, read and judged as the command does."""
    text_of = _series if measured == SERIES else _sweep
    for moved_by in (0.0, SCATTER):
        levels = rng.normal(0, RUNS_APART, 2)
        texts = text_of(arms, levels, moved_by)
        sheets = [
            (name, read_sheet(source_of(text.encode(), "f"), alone=len(texts) == 1))
            for name, text in zip(("a", "b") if len(texts) > 1 else (None,), texts, strict=True)
        ]
        (contrast,) = judge_numbers(compare(sheets, Options()), MARGIN).contrasts
        kind = contrast.verdict.kind
        differs = kind in (VerdictKind.SLOWER, VerdictKind.FASTER)
        if moved_by:
            counts.seen += differs
            continue
        withheld = kind is VerdictKind.INVALID or contrast.details.look == Stage.TOO_FEW
        counts.withheld += withheld
        counts.missed += not withheld and 0.0 not in contrast.estimate.interval
        counts.different += differs


def _series(arms: tuple[Series, Series], levels: Floats, moved_by: float) -> tuple[str, ...]:
    """A file an arm: the seconds of a run, whose level is its own."""
    moves = levels + np.array([0.0, moved_by])
    return tuple(
        "second,tps\n"
        + "".join(f"{n},{v:.3f}\n" for n, v in enumerate(arm.values * np.exp(move), start=1))
        for arm, move in zip(arms, moves, strict=True)
    )


def _sweep(arms: tuple[Series, Series], levels: Floats, moved_by: float) -> tuple[str, ...]:
    """Arms by turns, each number of clients in turn; the control with 64 clients too."""
    clients = list(LEVELS)
    rows = []
    for k in range(len(arms[0].values)):
        count = clients[k % len(clients)]
        for arm, effect in zip(arms, (0.0, moved_by), strict=True):
            tps = LEVELS[count] * float(arm.values[k]) / 100 * np.exp(effect)
            rows.append(f"{arm.arm},{count},{k // len(clients)},{tps:.3f}\n")
        if count == clients[-1]:
            rows.append(f"a,64,{k // len(clients)},{9_000 + k}.5\n")
    return ("version,clients,run,tps\n" + "".join(rows),)


@dataclass(frozen=True)
class ForeignCase:
    """One cell."""

    measured: str
    kind: str
    rows: int

    @property
    def key(self) -> str:
        return f"judge/{self.measured}/{self.kind}/{self.rows}"

    @property
    def cost(self) -> float:
        return CELLS[self.measured][2] * _SECONDS[self.measured]

    def work(self) -> Mapping[str, Any]:
        """The counts of the cell."""
        times = CELLS[self.measured][2]
        counts = count(self.measured, self.kind, generator(self.key), self.rows, times)
        return {
            "measured": self.measured,
            "kind": self.kind,
            "rows": self.rows,
            "counts": asdict(counts),
        }


def cases() -> Iterator[ForeignCase]:
    """Every cell."""
    for measured, (kinds, numbers, _) in CELLS.items():
        yield from (ForeignCase(measured, kind, rows) for kind in kinds for rows in numbers)
