"""Judges by negative controls: rules that are known to fail, and must fail here too.

A simulation in which nothing can fail proves nothing. Each control is the worlds, or the traces, of
this validation judged by a rule that METHODOLOGY.md rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.epoch_reading import typical
from steelyard.analysis.decision.sign_flip import confidence_set
from validation.cases.case import generator
from validation.cases.replay import every_epoch
from validation.worlds.bench import Layout, Work, jitter, lay_out, read, steady
from validation.worlds.lives import wander
from validation.worlds.machine import period, storm
from validation.worlds.stalls import TRUTH, stalling
from validation.worlds.world import Bools, Floats, draw_slots, signs

WEIGHINGS = 1_000
SLICES = 200
"""Slices of either arm where a control knows no epochs."""
EPOCHS = 12
LEVEL = 0.05
FIRST_LOOK = 5
"""Pairs before somebody looks for the first time."""
READING_EPOCHS = 30
"""Epochs of the weighings that are read otherwise: what a bias costs shows with many."""
STALLING_CLIENTS = 2
"""With two clients a stall takes most of its slice, and 5 % of the arm's slices have one."""


@dataclass(frozen=True)
class Erring:
    """What a control did."""

    erred: Bools
    """Whether each weighing erred."""
    reads: float | None = None
    """The mean log ratio it read, where the truth is that of an arm that stalls."""


def t_test(values: Floats) -> Floats:
    """Two-sided p-values of one-sample t tests along the last axis."""
    from scipy.stats import ttest_1samp

    return np.asarray(ttest_1samp(values, 0.0, axis=-1).pvalue)


def all_a_then_all_b(rng: np.random.Generator) -> Erring:
    """All of A, then all of B, Welch's t on slices, in a storm."""
    from scipy.stats import ttest_ind

    path = storm(rng, WEIGHINGS, 2 * SLICES) + 0.03 * rng.standard_normal((WEIGHINGS, 2 * SLICES))
    test = ttest_ind(path[:, :SLICES], path[:, SLICES:], axis=1, equal_var=False)
    return Erring(np.asarray(test.pvalue < LEVEL))


def peeking(rng: np.random.Generator) -> Erring:
    """Random pairs of slices in a storm, a paired t after every pair until it is significant."""
    path = storm(rng, WEIGHINGS, 2 * SLICES) + 0.03 * rng.standard_normal((WEIGHINGS, 2 * SLICES))
    sign = signs(rng.random((WEIGHINGS, SLICES)) < 0.5)
    pairs = sign * (path[:, ::2] - path[:, 1::2])
    alarmed = np.zeros(WEIGHINGS, dtype=np.bool_)
    for count in range(FIRST_LOOK, SLICES + 1):
        alarmed |= t_test(pairs[:, :count]) < LEVEL
    return Erring(alarmed)


def fixed_order(rng: np.random.Generator) -> Erring:
    """A, B, A, B … in a fixed order while every other slice of the machine is slow; paired t."""
    path = period(rng, WEIGHINGS, 2 * SLICES) + 0.03 * rng.standard_normal((WEIGHINGS, 2 * SLICES))
    return Erring(t_test(path[:, ::2] - path[:, 1::2]) < LEVEL)


def _wandering_blocks(rng: np.random.Generator) -> Floats:
    """Block log ratios of equal arms whose servers wander, shape (weighings, epochs, blocks)."""
    layout = lay_out(rng, draw_slots(rng, WEIGHINGS, EPOCHS))
    sides = [wander(rng, layout) + jitter(rng, layout) for _ in range(2)]
    return sides[0] - sides[1]


def blocks_by_t(rng: np.random.Generator) -> Erring:
    """Blocks as replicates, t test, where servers wander over their lives."""
    return Erring(t_test(_wandering_blocks(rng).reshape(WEIGHINGS, -1)) < LEVEL)


def blocks_by_flips(rng: np.random.Generator) -> Erring:
    """Blocks as replicates, sign changes, where servers wander over their lives."""
    blocks = _wandering_blocks(rng)
    rows = blocks.reshape(len(blocks), -1)
    return Erring(np.array([0.0 not in confidence_set(row, LEVEL).interval for row in rows]))


def _traced_blocks(rng: np.random.Generator, placement: str) -> Iterator[Floats]:
    """Block log ratios of virtual weighings of neighbouring epochs of the traces, arms redrawn."""
    pool = every_epoch(placement)
    for _ in range(WEIGHINGS if len(pool) >= EPOCHS else 0):
        start = int(rng.integers(len(pool) - EPOCHS + 1))
        sign = signs(draw_slots(rng, 1, EPOCHS))[0]
        yield np.concatenate(
            [s * np.array(pool[start + i].blocks) for i, s in enumerate(sign.tolist())]
        )


def traced_blocks_symmetric(rng: np.random.Generator) -> Erring:
    """Blocks as replicates, sign changes, on the traces with symmetric placement."""
    return _traced_flips(rng, "symmetric")


def traced_blocks_free(rng: np.random.Generator) -> Erring:
    """Blocks as replicates, sign changes, on the traces with free placement."""
    return _traced_flips(rng, "free")


def _traced_flips(rng: np.random.Generator, placement: str) -> Erring:
    rejections = [
        0.0 not in confidence_set(blocks, LEVEL).interval
        for blocks in _traced_blocks(rng, placement)
    ]
    return Erring(np.array(rejections, dtype=np.bool_))


def _misses(rng: np.random.Generator, reading: Callable[[Work, Work], Floats]) -> Erring:
    """Whether the set of an arm that stalls misses the truth, by another reading of its epochs."""
    layout: Layout = lay_out(rng, draw_slots(rng, WEIGHINGS, READING_EPOCHS))
    arm = stalling(rng, jitter(rng, layout), reading is not hidden, STALLING_CLIENTS)
    d = reading(arm, steady(jitter(rng, layout)))
    missed = np.array([TRUTH not in confidence_set(row, LEVEL).interval for row in d])
    return Erring(missed, reads=float(d.mean()))


def hidden(arm: Work, control: Work) -> Floats:
    """Totals; but the border dropped what straddled the bell before they were made."""
    return read(arm, control)


def trimmed(arm: Work, control: Work) -> Floats:
    """The typical slice instead of totals, by the product's own trimming."""
    ratios = np.log(arm.transactions / arm.busy_ns) - np.log(control.transactions / control.busy_ns)
    return np.array([[typical(epoch) for epoch in weighing] for weighing in ratios.tolist()])


def hiding_border(rng: np.random.Generator) -> Erring:
    """An arm that stalls, read by a border that drops what straddles the bell: truth missed."""
    return _misses(rng, hidden)


def trimmed_reading(rng: np.random.Generator) -> Erring:
    """An arm that stalls, read by trimmed means of block ratios: truth missed."""
    return _misses(rng, trimmed)


@dataclass(frozen=True)
class Control:
    """A rule that METHODOLOGY.md rejects."""

    rule: Callable[[np.random.Generator], Erring]
    expected: str
    """What earlier simulations and traces gave."""
    must_fail: bool = True
    """Not: it is shown for what it says of the machine."""

    @property
    def name(self) -> str:
        """The name of its rule."""
        return self.rule.__name__

    @property
    def title(self) -> str:
        """What it does wrong: the first line of its docstring."""
        return (self.rule.__doc__ or "").splitlines()[0].rstrip(".")


CONTROLS = (
    Control(all_a_then_all_b, "81 %"),
    Control(peeking, "34–41 %"),
    Control(fixed_order, "all"),
    Control(blocks_by_t, "33–36 % on other traces"),
    Control(blocks_by_flips, "33–36 % on other traces"),
    Control(traced_blocks_symmetric, "little: backends do not move", must_fail=False),
    Control(traced_blocks_free, "35 % on other traces"),
    Control(hiding_border, "all"),
    Control(trimmed_reading, "most"),
)


@dataclass(frozen=True)
class ControlCase:
    """One control."""

    name: str

    @property
    def key(self) -> str:
        return f"control/{self.name}"

    @property
    def cost(self) -> float:
        return 6.0

    def work(self) -> Mapping[str, Any]:
        """How many of how many weighings erred; none where there are no traces."""
        [control] = [candidate for candidate in CONTROLS if candidate.name == self.name]
        erring = control.rule(generator(self.key))
        return {
            "control": self.name,
            "erred": int(erring.erred.sum()),
            "weighings": len(erring.erred),
            "reads": erring.reads,
        }


def cases() -> Iterator[ControlCase]:
    """Every control."""
    return (ControlCase(control.name) for control in CONTROLS)
