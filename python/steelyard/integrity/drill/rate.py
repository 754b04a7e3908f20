"""Holds how often a check noticed a fault, with its exact interval."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95


def interval(noticed: int, times: int) -> tuple[float, float]:
    """Of the share that `noticed` is of `times`."""
    return Rate(noticed, times).interval()


@dataclass(frozen=True)
class Rate:
    """`noticed` of `times` that a fault was planted."""

    noticed: int
    times: int

    def interval(self) -> tuple[float, float]:
        """Of the share, at 95 %: Clopper & Pearson, Biometrika 26 (1934) 404; (0, 1) of none."""
        from scipy.stats import beta

        tail, missed = (1 - CONFIDENCE) / 2, self.times - self.noticed
        low = float(beta.ppf(tail, self.noticed, missed + 1)) if self.noticed else 0.0
        high = float(beta.ppf(1 - tail, self.noticed + 1, missed)) if missed else 1.0
        return low, high

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.noticed + other.noticed, self.times + other.times)

    def to_json(self) -> dict[str, float]:
        """Counts, share and interval."""
        low, high = self.interval()
        share = self.noticed / self.times if self.times else 0.0
        return {
            "noticed": self.noticed,
            "times": self.times,
            "share": share,
            "low": low,
            "high": high,
        }
