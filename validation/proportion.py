"""Computes the exact interval of a count out of a number of trials."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Proportion:
    """How often something happened: `count` of `trials` independent trials."""

    count: int
    trials: int

    @property
    def value(self) -> float:
        """The share itself; NaN without trials."""
        return self.count / self.trials if self.trials else float("nan")

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Clopper & Pearson, Biometrika 26 (1934) 404; (0, 1) without trials."""
        from scipy.stats import beta

        tail = (1 - confidence) / 2
        low = float(beta.ppf(tail, self.count, self.trials - self.count + 1)) if self.count else 0.0
        missed = self.trials - self.count
        high = float(beta.ppf(1 - tail, self.count + 1, missed)) if missed else 1.0
        return low, high

    def exceeds(self, bound: float, confidence: float = CONFIDENCE) -> bool:
        """Whether the whole interval lies above a bound: only then is it said to be missed."""
        return self.interval(confidence)[0] > bound

    def __add__(self, other: Proportion) -> Proportion:
        return Proportion(self.count + other.count, self.trials + other.trials)

    def __str__(self) -> str:
        """In percent with its interval: `3.9 [3.1, 4.8]`."""
        low, high = self.interval()
        return f"{100 * self.value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
