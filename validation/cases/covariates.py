"""Adjusts epochs by what the arms do not move, and says how much narrower they become.

The log ratio d of an epoch is adjusted by a covariate x, the contrast of something that no arm can
move, as d − βx. β is fitted through the origin on the other epochs, so that the ratio of variances
is not that of the fit to itself. A sign change of an epoch changes d − θ and x alike, and so leaves
β: the test of METHODOLOGY.md, section 3, stays exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from validation.cases.case import generator
from validation.results import FOLDER
from validation.traces import FOLDER as TRACES
from validation.traces import traces
from validation.worlds.cycles import LUCK_SD, SLICE_S, SLICE_SD, wandering
from validation.worlds.world import signs

RESAMPLES = 2_000
WEIGHINGS = 2_000
EPOCHS = 10
ALPHA = 0.05
LEVEL_SLICES = 4
"""Neighbouring slices on either side whose mean is the machine's level about a slice."""
SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the variance of the machine's level, what a loop of work on its processors sees."""
SPIN_SD = 0.03
"""Standard deviation of the log time of one loop of 20 ms, beside the machine's level."""
SIMULATED = 250
"""Weighings of 8 epochs a machine."""
MACHINES = {"drift over minutes": (0.1, 180.0), "gusts": (0.15, 5.0)}
"""Sd of a machine's log speed, and over how many seconds it is correlated."""
SLICES_A_WINDOW = 120
SLICES_BETWEEN = 100
"""Of two turns: a restart and a warm-up."""
Adjusted = tuple[Floats, Floats, list[int]]
"""Log ratios, contrasts of the covariate, and the weighing that each epoch is of."""


@dataclass(frozen=True)
class CovariateCase:
    """One covariate on one source of epochs."""

    covariate: str
    source: str

    @property
    def key(self) -> str:
        return f"covariates/{self.covariate}/{self.source}"

    @property
    def cost(self) -> float:
        return 20.0

    def work(self) -> Mapping[str, Any]:
        """The ratio of variances with its interval, the correlation, and false alarms."""
        rng = generator(self.key)
        d, x, weighing = _epochs(self, rng)
        centred = _without_means(d, weighing)
        adjusted = _adjusted(centred, x)
        ratios = _resampled(rng, centred, adjusted)
        return {
            "covariate": self.covariate,
            "source": self.source,
            "epochs": len(d),
            "weighings": len(set(weighing)),
            "sd": float(centred.std()),
            "ratio": float(adjusted.var() / centred.var()),
            "ratio_low": float(np.quantile(ratios, 0.025)),
            "ratio_high": float(np.quantile(ratios, 0.975)),
            "correlation": float(np.corrcoef(centred, x)[0, 1]) if x.std() else 0.0,
            "false": _false_alarms(rng, centred, x),
            "virtual": WEIGHINGS,
        }


def _epochs(case: CovariateCase, rng: np.random.Generator) -> Adjusted:
    if case.source.startswith("traces"):
        return _of_traces(case.source.rpartition(" ")[2])
    if case.source == "turns":
        return _of_turns()
    layout, machine, share = case.source.split(", ")
    return _simulated(rng, layout, machine, float(share.rstrip(" %")) / 100)


def _without_means(d: Floats, weighing: Sequence[int]) -> Floats:
    """d less the mean of its weighing, whose effect is another matter."""
    groups = np.array(weighing)
    centred = d.copy()
    for group in np.unique(groups):
        centred[groups == group] -= d[groups == group].mean()
    return centred


def _adjusted(d: Floats, x: Floats) -> Floats:
    """d less what the covariate tells of it, β from all other epochs."""
    products, squares = d * x, x * x
    slopes = (products.sum() - products) / np.maximum(squares.sum() - squares, 1e-300)
    adjusted: Floats = d - slopes * x
    return adjusted


def _resampled(rng: np.random.Generator, before: Floats, after: Floats) -> Floats:
    chosen = rng.integers(len(before), size=(RESAMPLES, len(before)))
    ratios: Floats = after[chosen].var(axis=1) / before[chosen].var(axis=1)
    return ratios


def _false_alarms(rng: np.random.Generator, d: Floats, x: Floats) -> int:
    """Of virtual weighings of equal arms, epochs chosen at random and arms drawn anew: how many
    reject at 5 %, adjusted, by the exact test over all sign changes."""
    flips = 1 - 2 * ((np.arange(2**EPOCHS)[:, None] >> np.arange(EPOCHS)) & 1)
    false = 0
    for _ in range(WEIGHINGS):
        chosen = rng.integers(len(d), size=EPOCHS)
        drawn = signs(rng.random(EPOCHS) < 0.5)
        some, moved = drawn * d[chosen], drawn * x[chosen]
        slope = some @ moved / (moved @ moved) if moved.any() else 0.0
        means = np.abs(flips @ (some - slope * moved))
        false += float((means >= means[0] - 1e-12).mean()) <= ALPHA
    return false


def _of_traces(placement: str) -> Adjusted:
    """The machine's level about every slice, by the slices before and after it, of either arm."""
    d, x, weighing = [], [], []
    chosen = [trace for trace in traces(TRACES) if trace.placement == placement]
    for number, trace in enumerate(chosen):
        for epoch in trace.epochs:
            rows = sorted(
                (totals.block, totals.position, name, totals.transactions, totals.busy_ns)
                for name, arm in epoch.arms.items()
                for totals in arm.slices
            )
            names = sorted(epoch.arms)
            arms = np.array([names.index(row[2]) for row in rows])
            work = np.array([row[3] for row in rows], dtype=np.float64)
            busy = np.array([row[4] for row in rows], dtype=np.float64)
            rate = np.log(np.maximum(work, 1) / busy)
            rate -= np.array([rate[arms == arm].mean() for arm in (0, 1)])[arms]
            level = _about(rate)
            d.append(_log_ratio(work, busy, arms))
            x.append(float(level[arms == 1].mean() - level[arms == 0].mean()))
            weighing.append(number)
    return np.array(d), np.array(x), weighing


def _log_ratio(work: Floats, busy: Floats, own: np.ndarray) -> float:
    rates = [work[own == arm].sum() / busy[own == arm].sum() for arm in (0, 1)]
    return float(np.log(rates[1] / rates[0]))


def _about(rate: Floats) -> Floats:
    """Mean of the neighbours on both sides of each, without itself."""
    weights = np.ones(2 * LEVEL_SLICES + 1)
    weights[LEVEL_SLICES] = 0
    near: Floats = np.convolve(rate, weights, "same") / np.convolve(
        np.ones(len(rate)), weights, "same"
    )
    return near


def _of_turns() -> Adjusted:
    """The level of the machine about a turn, by the nearest turn of another epoch on its side: of
    the first turn of an epoch the last one before it, of the last the first one after it; each
    less the mean of its arm."""
    d, x, weighing = [], [], []
    for number, (control, arm, epochs) in enumerate(_recorded_turns()):
        level = {
            name: np.log([epoch["throughput"][name] for epoch in epochs]) for name in (control, arm)
        }
        rest = {name: logs - logs.mean() for name, logs in level.items()}
        for index in range(1, len(epochs) - 1):
            order = [name for name in epochs[index]["order"] if name in (control, arm)]
            before = [n for n in epochs[index - 1]["order"] if n in (control, arm)][-1]
            after = next(n for n in epochs[index + 1]["order"] if n in (control, arm))
            near = {order[0]: rest[before][index - 1], order[1]: rest[after][index + 1]}
            d.append(level[arm][index] - level[control][index])
            x.append(near[arm] - near[control])
            weighing.append(number)
    return np.array(d), np.array(x), weighing


def _recorded_turns() -> Iterator[tuple[str, str, list[Any]]]:
    """Control, arm and complete epochs of contrasts that reproductions weighed in turns, before
    some of them were weighed in cycles."""
    for line in (FOLDER / "turns_recorded.jsonl").read_text(encoding="utf-8").splitlines():
        contrast = json.loads(line)
        whole = [epoch for epoch in contrast["epochs"] if epoch["outcome"] == "complete"]
        if len(whole) >= EPOCHS - 2:
            yield contrast["control"], contrast["arm"], whole


def _simulated(rng: np.random.Generator, layout: str, machine: str, share: float) -> Adjusted:
    """What a loop at the borders of slices would tell, where it sees a share of what the machine
    does; each slice has the mean of the loops before and after it."""
    sd, correlated_s = MACHINES[machine]
    d, x, weighing = [], [], []
    for number in range(SIMULATED):
        for _ in range(8):
            arms = _arms_of_slices(rng, layout)
            visible, hidden = (
                sd * np.sqrt(part) * wandering(rng, len(arms) + 1, correlated_s / SLICE_S)
                for part in (share, 1 - share)
            )
            loops = visible + SPIN_SD * rng.standard_normal(len(arms) + 1)
            level = visible[:-1] + hidden[:-1] + LUCK_SD * rng.standard_normal(2)[arms]
            speed = np.exp(level + SLICE_SD * rng.standard_normal(len(arms)))
            covariate = (loops[:-1] + loops[1:]) / 2
            d.append(float(np.log(speed[arms == 1].mean() / speed[arms == 0].mean())))
            x.append(float(covariate[arms == 1].mean() - covariate[arms == 0].mean()))
            weighing.append(number)
    return np.array(d), np.array(x), weighing


def _arms_of_slices(rng: np.random.Generator, layout: str) -> np.ndarray:
    """Whose each slice of an epoch is, 0 or 1; −1 while nothing is measured."""
    order = np.arange(2) if rng.random() < 0.5 else np.arange(2)[::-1]
    if layout == "turns":
        return np.repeat(
            [order[0], -1, order[1]], [SLICES_A_WINDOW, SLICES_BETWEEN, SLICES_A_WINDOW]
        )
    blocks = [order if lead else order[::-1] for lead in rng.random(SLICES_A_WINDOW) < 0.5]
    return np.concatenate(blocks)


def cases() -> Iterator[CovariateCase]:
    """Every covariate on every source that can tell it."""
    for placement in ("free", "symmetric"):
        yield CovariateCase("neighbours' rate", f"traces, placement {placement}")
    yield CovariateCase("neighbours' rate", "turns")
    for layout in ("cycles", "turns"):
        for machine in MACHINES:
            for share in SHARES:
                source = f"{layout}, {machine}, {100 * share:g} %"
                yield CovariateCase("loop at borders", source)
