"""The same question by alternating pgbench runs: how much longer they take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.reproductions.reproduction import machines_words
from validation.pages.table import paragraph, table
from validation.results import Results

Json = Mapping[str, Any]
ASKED = 50.0
"""The ratio of times that is asked for."""
MOST_PAIRS = 1_000_000

_WORDS = f"""
    The question of the checksums study, answered in two ways in the same hour on the same machine:
    `steelyard weigh checksums`, and pgbench for 10 s on a server with checksums, 10 s on one
    without, and so on, with a paired t over the log ratios (`validation/paired_pgbench.py`). From
    the scatter s of the pairs follows how many of them give an interval as narrow as the
    weighing's: the smallest n with t₀.₉₇₅,ₙ₋₁ · s/√n ≤ half its width. The ratio is the pairs' time
    under load over the weighing's; asked is at least {ASKED:g}. Its interval (95 %) is that of the
    ratio of two scatters, s² of the pairs and that of the weighing's epochs (F), for Gaussian logs.
    The pairs speak of two servers that were never restarted, the weighing of restarts in general.
    *Load*: the machine's load average over the minute before. What else ran widens the pairs, and
    the weighing less: a crowded hour makes the ratio larger.
"""


@dataclass(frozen=True)
class Session:
    """One weighing and the pairs of the same hour."""

    weighing: Json
    pairs: tuple[Json, ...]

    @property
    def scatter(self) -> float:
        """Standard deviation of the pairs' log ratios."""
        return statistics.stdev(math.log(pair["off"] / pair["on"]) for pair in self.pairs)

    @property
    def half_width(self) -> float:
        """Half of the weighing's interval, log scale; infinite where it is unbounded."""
        ends = (self.weighing["low_percent"], self.weighing["high_percent"])
        if None in ends:
            return math.inf
        low, high = (math.log1p(end / 100) for end in ends)
        return (high - low) / 2

    def pairs_needed(self, scatter: float) -> int:
        """Pairs whose t interval is as narrow as the weighing's."""
        return pairs_needed(scatter, self.half_width)

    def ratio(self, scatter: float) -> float:
        """Time of the pairs that are needed ÷ time of the weighing, both under load."""
        seconds = self.pairs_needed(scatter) * self.pairs[0]["pair_seconds"]
        return float(seconds / self.weighing["measured_seconds"])

    def ratio_interval(self) -> tuple[float, float]:
        """The 95 % interval of the ratio, for Gaussian pairs and epochs.

        As many pairs are needed as s² ÷ (half-width)², and the half-width goes with the scatter of
        the epochs, which is known from a dozen of them: so the ratio of variances decides.
        """
        from scipy.stats import f

        degrees = len(self.pairs) - 1, self.weighing["epochs"] - 1
        low, high = (math.sqrt(1 / float(f.ppf(tail, *degrees))) for tail in (0.975, 0.025))
        return self.ratio(self.scatter * low), self.ratio(self.scatter * high)


def pairs_needed(scatter: float, half_width: float) -> int:
    """Smallest n ≥ 2 with t(.975, n − 1) · scatter/√n ≤ half_width."""
    from scipy.stats import t

    low, high = 1, 2
    while not _narrow(high, scatter, half_width, t):
        low, high = high, 2 * high
        if high > MOST_PAIRS:
            return MOST_PAIRS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _narrow(middle, scatter, half_width, t) else (middle, high)
    return high


def _narrow(n: int, scatter: float, half_width: float, t: Any) -> bool:
    return float(t.ppf(0.975, n - 1)) * scatter / math.sqrt(n) <= half_width


def sessions(results: Results) -> list[Session]:
    """The sessions that have a weighing and at least two pairs, in order."""
    weighings: dict[str, Json] = {}
    pairs: dict[str, list[Json]] = {}
    for result in results:
        if result["kind"] == "weighing":
            weighings[result["session"]] = result
        else:
            pairs.setdefault(result["session"], []).append(result)
    measured = [Session(weighings[s], tuple(pairs.get(s, ()))) for s in sorted(weighings)]
    return [session for session in measured if len(session.pairs) > 1]


def section(results: Results) -> str:
    """The section on paired pgbench."""
    head = ["## The same question by alternating pgbench runs", paragraph(_WORDS)]
    measured = sessions(results)
    if not measured:
        return "\n\n".join([*head, "Not yet measured."])
    sentence = f"Measured on {machines_words(each.weighing['machine'] for each in measured)}."
    return "\n\n".join([*head, sentence, _table(measured)])


def _table(measured: Sequence[Session]) -> str:
    rows = []
    for session in measured:
        least, most = session.ratio_interval()
        mean = statistics.fmean(math.log(pair["off"] / pair["on"]) for pair in session.pairs)
        low, high = session.weighing["low_percent"], session.weighing["high_percent"]
        bounds = "unbounded" if None in (low, high) else f"[{low:+.2f}, {high:+.2f}]"
        needed = session.pairs_needed(session.scatter)
        rows.append([
            session.weighing["session"][:16],
            f"{session.weighing['load_before']:.1f}",
            f"{session.weighing['estimate_percent']:+.2f} {bounds} in "
            f"{session.weighing['measured_seconds']:.0f} s",
            f"{100 * math.expm1(mean):+.2f}, scatter {100 * session.scatter:.2f}, "
            f"{len(session.pairs)} pairs",
            f"{needed:,} ({needed * session.pairs[0]['pair_seconds'] / 3600:.1f} h)",
            f"**{session.ratio(session.scatter):.0f}** [{least:.0f}, {most:.0f}]",
        ])  # fmt: skip
    head = ["session", "load", "Steelyard, %", "pairs, %", "pairs needed", "ratio of times"]
    return table(head, rows)
