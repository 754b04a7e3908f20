"""Offset of another machine's clock from one exchange of four stamps, with its bound.

NTP's four stamps (RFC 5905, section 8): sent and back by our clock, received and answered by
theirs. All are CLOCK_MONOTONIC of their machine, whose zero is its own: offsets of hours are usual.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_DRIFT = 500e-6
"""Most that one clock gains on another in a second, in seconds: the kernel lets NTP correct a clock
by no more (MAXFREQ of include/linux/timex.h), and quartz is an order of magnitude better."""


@dataclass(frozen=True, slots=True)
class Offset:
    """Their clock less ours at a time, in ns; the truth lies within the bound."""

    value_ns: float
    bound_ns: float

    def agrees_with(self, other: Offset) -> bool:
        """Whether both can be true of one moment."""
        return abs(self.value_ns - other.value_ns) <= self.bound_ns + other.bound_ns


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, each stamped at both ends, in ns."""

    sent_ns: int
    received_ns: int
    """By their clock."""
    answered_ns: int
    """By their clock."""
    back_ns: int

    @property
    def middle_ns(self) -> float:
        """The moment of the exchange, by our clock."""
        return (self.sent_ns + self.back_ns) / 2

    @property
    def round_trip_ns(self) -> int:
        """Time on the way there and back, without what it took to answer; 0 or more."""
        away_ns = self.answered_ns - self.received_ns
        return max(0, self.back_ns - self.sent_ns - away_ns)

    def offset(self, at_ns: float, most_drift: float = MOST_DRIFT) -> Offset:
        """Their clock less ours at a moment of ours, before or after the exchange.

        Its bound is half the round trip, since the question may have taken all of it or nothing,
        and what the clocks may have drifted meanwhile and since.
        """
        value_ns = ((self.received_ns - self.sent_ns) + (self.answered_ns - self.back_ns)) / 2
        meanwhile_ns = self.back_ns - self.sent_ns
        since_ns = abs(at_ns - self.middle_ns)
        drift_ns = most_drift * (meanwhile_ns + since_ns)
        return Offset(value_ns, self.round_trip_ns / 2 + drift_ns)
