"""Error rates of `steelyard judge` in worlds where the truth is known: the table of METHODOLOGY.

    .venv/bin/python -m validation.foreign_rates [WORLDS [NUMBER OF A WORLD]...]

Two equal arms (and, for power, one 1 sd better), rows of many kinds, the product's own sets and
rule. Printed as rows of Markdown; minutes on one processor with 1,000 worlds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.readings.foreign.comparison import Comparison
from steelyard.readings.foreign.metric import Metric
from steelyard.readings.foreign.series import Order, Rows, Series
from steelyard.verdict.judge_numbers import judge_numbers
from steelyard.verdict.rule import VerdictKind
from validation.proportion import Proportion

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SCATTER = 0.03
"""Of a row of one arm, log."""


def autoregressive(phi: float) -> Draw:
    """Unit variance, correlation φ from one row to the next."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        steps = rng.normal(size=n) * np.sqrt(1 - phi**2)
        rows = np.empty(n)
        rows[0] = rng.normal()
        for i in range(1, n):
            rows[i] = phi * rows[i - 1] + steps[i]
        return rows

    return draw


def _spikes(rng: np.random.Generator, n: int) -> Floats:
    rows = rng.normal(size=n)
    struck = rng.random(n) < 0.1
    rows[struck] += rng.exponential(5.0, int(struck.sum()))
    return rows


def _storm(rng: np.random.Generator, n: int) -> Floats:
    rows = rng.normal(size=n)
    length = max(2, n // 8)
    at = int(rng.integers(0, n - length))
    rows[at : at + length] += 4.0
    return rows


def _slow(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray((rng.normal(size=n) + autoregressive(0.95)(rng, n)) / np.sqrt(2))


ROWS: dict[str, Draw] = {
    "independent": lambda rng, n: rng.normal(size=n),
    "10 % one-sided spikes": _spikes,
    "AR(1) .3": autoregressive(0.3),
    "AR(1) .5": autoregressive(0.5),
    "AR(1) .7": autoregressive(0.7),
    "AR(1) .9": autoregressive(0.9),
    "half white, half AR(1) .95": _slow,
}


@dataclass(frozen=True)
class World:
    """How rows of two arms come about."""

    name: str
    own: Draw
    """What each arm has for itself."""
    shared: Draw | None
    """What both arms of a row share, as large as the rest; None: rows stand apart."""
    order: Order


def worlds() -> Iterator[World]:
    """Every world of the table."""
    for name, draw in ROWS.items():
        yield World(f"in one row, sharing storms: {name}", draw, _storm, Order.UNKNOWN)
    for name, draw in ROWS.items():
        yield World(f"rows apart: {name}", draw, None, Order.UNKNOWN)
    for name in ("independent", "AR(1) .5", "AR(1) .9"):
        yield World(f"one arm after the other: {name}", ROWS[name], None, Order.SEQUENTIAL)


def numbers(world: World, rng: np.random.Generator, n: int, effect: float) -> Comparison:
    """Two arms of n rows; the second is `effect` (log) above the first."""
    if world.order is Order.SEQUENTIAL:
        both = np.split(world.own(rng, 2 * n), 2)  # one course of time, cut in the middle
    else:
        both = [world.own(rng, n), world.own(rng, n)]
    common = world.shared(rng, n) if world.shared else np.zeros(n)
    arms = tuple(
        Series(name, 100 * np.exp(SCATTER * (own + common) + shift))
        for name, own, shift in zip(("a", "b"), both, (0.0, effect), strict=True)
    )
    rows = Rows.BESIDE if world.shared else Rows.APART
    return Comparison((), "", Metric("time", "s", False), arms, world.order, rows)


def rates(world: World, n: int, effect: float, count: int, seed: int) -> dict[str, Proportion]:
    """How often a verdict says "slower" or "faster", and how often nothing is said."""
    rng = np.random.default_rng([seed, n])
    said = {"different": 0, "withheld": 0, "covered": 0}
    for _ in range(count):
        (contrast,) = judge_numbers(numbers(world, rng, n, effect)).contrasts
        kind = contrast.verdict.kind
        said["different"] += kind in (VerdictKind.SLOWER, VerdictKind.FASTER)
        said["withheld"] += kind is VerdictKind.INVALID or contrast.details["look"] == "too few"
        said["covered"] += effect in contrast.estimate.interval
    return {name: Proportion(hits, count) for name, hits in said.items()}


def main() -> None:
    """Print the table, or the rows of one world."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    wanted = [int(number) for number in sys.argv[2:]]
    if not wanted:
        print("| rows | n | false verdicts % | withheld % | 1 sd of a row seen % |")
        print("|---|---|---|---|---|")
    for number, world in enumerate(worlds()):
        if wanted and number not in wanted:
            continue
        for n in (10, 30, 100):
            none = rates(world, n, 0.0, count, number)
            some = rates(world, n, SCATTER, count // 4, number)
            cells = (none["different"], none["withheld"], some["different"])
            figures = " | ".join(f"{100 * cell.value:.1f}" for cell in cells)
            print(f"| {world.name} | {n} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
