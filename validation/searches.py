"""Simulates `history bisect` in rows whose changed place is known: how often it was named.

    python -m validation.searches [--searches N]

A cell is a size of the change, a number of places, and how much places differ that nothing changed
(the luck of a build). Minutes on one processor; done anew each time, with fixed seeds. The section
of docs/results/validation.md is written by `python -m validation.publish`.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.history.bisect import Bisected, BisectPlan, Sided, epochs_required, search
from steelyard.model.units import log_of_percent
from validation.results import FOLDER, Results
from validation.weigh_command import revision

RESULTS = Results(FOLDER / "searches.jsonl")
EFFECTS = (0.0, 1.0, 2.0, 5.0)
"""Percent."""
PLACES = (9, 100)
LUCKS = (0.0, 0.3)
"""Sd of a place's own level, percent."""
SD = 1.0
"""Of an epoch of one arm, percent."""
MARGIN = 1.0
SEARCHES = 400


@dataclass(frozen=True)
class Cell:
    """A kind of row."""

    effect: float
    places: int
    luck: float

    @property
    def key(self) -> str:
        """Names it among the results."""
        return f"{self.effect:g} %, {self.places} places, luck {self.luck:g} %"


CELLS = [Cell(*combination) for combination in itertools.product(EFFECTS, PLACES, LUCKS)]


def run_search(cell: Cell, seed: int) -> tuple[Bisected, int]:
    """One search, and the number of the place that changed."""
    draw = np.random.default_rng(
        [seed, cell.places, round(10 * cell.effect), round(10 * cell.luck)]
    )
    changed = int(draw.integers(1, cell.places))
    levels = draw.normal(0, cell.luck / 100, cell.places)
    levels[changed:] += log_of_percent(cell.effect)
    required = epochs_required(cell.places)
    plan = BisectPlan(
        study="simulated", key="version", places=tuple(map(str, range(cell.places))), seed=seed
    )

    def weigh(middle: int | None, attempt: int) -> Sided:
        epochs = required * (1 + attempt)
        arms = [0, *([] if middle is None else [middle]), cell.places - 1]
        read = draw.normal(levels[arms], SD / 100, (epochs, len(arms)))
        ratios = read[:, 1:] - read[:, :1]
        return Sided(
            middle=dict(enumerate(ratios[:, 0].tolist())),
            last=dict(enumerate(ratios[:, -1].tolist())),
            margin_percent=MARGIN,
        )

    return search(plan, weigh, lambda middle, attempt: "", lambda message: None), changed


def simulate(cell: Cell, searches: int) -> dict[str, Any]:
    """How often searches of a cell came to what."""
    outcomes: Counter[str] = Counter()
    steps = 0
    for seed in range(searches):
        bisected, changed = run_search(cell, seed)
        outcomes[_outcome(bisected, changed)] += 1
        steps += len(bisected.steps)
    return {
        "effect_percent": cell.effect,
        "places": cell.places,
        "luck_percent": cell.luck,
        "searches": searches,
        "weighings": steps / searches,
        "revision": revision(),
        **{name: outcomes[name] for name in OUTCOMES},
    }


OUTCOMES = ("right", "wrong", "narrowed", "narrowed wrongly", "not searched")


def _outcome(bisected: Bisected, changed: int) -> str:
    if bisected.before is None or bisected.after is None:
        return "not searched"
    right = int(bisected.before) < changed <= int(bisected.after)
    if bisected.outcome == "found":
        return "right" if right else "wrong"
    return "narrowed" if right else "narrowed wrongly"


def main(words: Sequence[str] | None = None) -> int:
    """Simulate every cell anew."""
    parser = argparse.ArgumentParser(description="searches in rows whose change is known")
    parser.add_argument("--searches", type=int, default=SEARCHES)
    searches = parser.parse_args(words).searches
    with ProcessPoolExecutor() as pool:
        for cell, result in zip(
            CELLS, pool.map(simulate, CELLS, itertools.repeat(searches)), strict=True
        ):
            RESULTS.replace(cell.key, result)
            print(f"{cell.key}: {result}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
