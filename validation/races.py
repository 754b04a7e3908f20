"""Simulates rounds of `tune --search` whose best candidate is known: how rarely it is dropped.

    python -m validation.races [--rounds N]

Candidates differ by normal effects, every arm has luck of its own in every epoch. Beside the rule
stands what halving does: the better half of all goes on after two epochs (Jamieson & Talwalkar,
2016). The table of docs/reference/tune.md; seconds on one processor, with a fixed seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.tuning.search.race import BATCH, STEP_EPOCHS, STEPS
from steelyard.tuning.search.trial import Ratios, dropped

Drop = Callable[[Mapping[str, Ratios], int], set[str]]
"""Contestants and the number of the step → those that go."""
CONTROL = "control"
EFFECT = 5.0
"""Sd of the candidates' true effects, percent."""
WORLDS = (("1 %", 1.0, 1.0), ("3 %", 3.0, 1.0), ("5 %", 5.0, 1.0), ("3 %, one arm 9 %", 3.0, 3.0))
"""Name, sd of an epoch of an arm in percent, times that of one candidate."""


@dataclass
class Tally:
    """What came of rounds whose best candidate is better than the control."""

    rounds: int = 0
    dropped: int = 0
    chosen: int = 0
    given_up: float = 0.0
    arm_epochs: int = 0

    def row(self) -> str:
        """Cells of a table."""
        return (
            f"{self.dropped / self.rounds:.1%} | {self.chosen / self.rounds:.0%} | "
            f"{100 * self.given_up / self.rounds:.2f} % | {self.arm_epochs / self.rounds:.1f}"
        )


def by_intervals(contestants: Mapping[str, Ratios], step: int) -> set[str]:
    """The rule as it is."""
    return set(dropped(contestants, CONTROL))


def by_halves(contestants: Mapping[str, Ratios], step: int) -> set[str]:
    """The worse half, once."""
    ranked = sorted(contestants, key=lambda name: -float(np.mean(list(contestants[name].values()))))
    return set(ranked[(len(ranked) + 1) // 2 :]) if step == 0 else set()


def play(tally: Tally, drop: Drop, sd: float, times: float, draw: np.random.Generator) -> None:
    """One round, added to the tally."""
    effects = draw.normal(0, EFFECT / 100, BATCH)
    spread = np.full(BATCH + 1, sd / 100)
    spread[1 + draw.integers(BATCH)] *= times
    read = draw.normal([0.0, *effects], spread, (STEP_EPOCHS * STEPS, BATCH + 1))
    ratios = read[:, 1:] - read[:, :1]
    contestants = {str(n): dict[str, float]() for n in range(BATCH)}
    best = str(np.argmax(effects))
    if effects.max() <= 0:
        return
    for step in range(STEPS):
        epochs = range(step * STEP_EPOCHS, (step + 1) * STEP_EPOCHS)
        for name, by_epoch in contestants.items():
            by_epoch |= {f"{epoch}": float(ratios[epoch, int(name)]) for epoch in epochs}
        tally.arm_epochs += STEP_EPOCHS * (len(contestants) + 1)
        gone = drop(contestants, step)
        left = 1 + len(contestants) - len(gone)
        contestants = {name: by_epoch for name, by_epoch in contestants.items() if name not in gone}
        if left == 1 or not contestants:
            break
    tally.rounds += 1
    tally.dropped += best not in contestants
    means = {
        name: float(np.mean(list(by_epoch.values()))) for name, by_epoch in contestants.items()
    }
    chosen = max((CONTROL, *means), key=lambda name: means.get(name, 0.0))
    tally.chosen += chosen == best
    tally.given_up += effects.max() - (0.0 if chosen == CONTROL else effects[int(chosen)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    rounds = parser.parse_args().rounds
    print("| an epoch's sd | rule | best dropped | best chosen | given up | arm-epochs |")
    print("|---|---|---|---|---|---|")
    for name, sd, times in WORLDS:
        for rule, drop in (("clearly worse", by_intervals), ("halves", by_halves)):
            tally, draw = Tally(), np.random.default_rng([1, round(10 * sd), round(times)])
            for _ in range(rounds):
                play(tally, drop, sd, times, draw)
            print(f"| {name} | {rule} | {tally.row()} |")


if __name__ == "__main__":
    main()
