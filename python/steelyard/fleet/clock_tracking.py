"""Follows the clock of another machine: its offset from one exchange, drift and jumps over all.

NTP's four stamps (RFC 5905, section 8): sent and back by our clock, received and answered by
theirs. All are CLOCK_MONOTONIC of their machine, whose zero is its own: offsets of hours are usual.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from steelyard.model.errors import DriverError

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


RECENT = 30
"""Exchanges whose round trips show how long one takes now."""
MOST_KEPT = 64
"""Exchanges that are kept; of more, the one with the widest bound now is dropped."""


@dataclass(frozen=True, slots=True)
class ClockDrift:
    """How fast another clock gains on ours, in ns a second (1000: 1 ppm), and within what."""

    ns_per_s: float
    bound_ns_per_s: float


class ClockJumpError(DriverError):
    """Two exchanges with one clock contradict each other: it was set, or its machine slept."""


class ClockTrack:
    """What is known of one machine's clock.

    `most_drift`: how much it may gain on ours in a second, in seconds.
    """

    def __init__(self, name: str, most_drift: float = MOST_DRIFT) -> None:
        self._name = name
        self._most_drift = most_drift
        self._kept: list[Exchange] = []
        self._first: Exchange | None = None
        self._drift: ClockDrift | None = None
        self._taken = 0
        self._round_trips_ns: deque[int] = deque(maxlen=RECENT)

    def add(self, exchange: Exchange) -> None:
        """Take one more exchange; ClockJumpError where it contradicts what was known."""
        at_ns = exchange.middle_ns
        if self._kept:
            new, expected = exchange.offset(at_ns, self._most_drift), self.offset(at_ns)
            if not new.agrees_with(expected):
                raise ClockJumpError(
                    f'the clock of machine "{self._name}" has jumped',
                    detail=f"It lay {expected.value_ns / 1e6:.3f} ± "
                    f"{expected.bound_ns / 1e6:.3f} ms from this machine's, and now "
                    f"{new.value_ns / 1e6:.3f} ± "
                    f"{new.bound_ns / 1e6:.3f} ms: its machine was suspended, or was another.",
                )
        self._round_trips_ns.append(exchange.round_trip_ns)
        self._follow_drift(exchange)
        self._kept.append(exchange)
        if len(self._kept) > MOST_KEPT:
            self._kept.remove(
                max(self._kept, key=lambda candidate: self._bound_ns(candidate, at_ns))
            )

    def offset(self, at_ns: float) -> Offset:
        """Their clock less ours at a moment of ours, by the exchange that bounds it most tightly:
        that of the smallest round trip, unless it is too long ago. DriverError: none was made."""
        if not self._kept:
            raise DriverError(f'the clock of machine "{self._name}" was never compared')
        best = min(self._kept, key=lambda candidate: self._bound_ns(candidate, at_ns))
        return best.offset(at_ns, self._most_drift)

    def theirs_ns(self, ours_ns: float) -> int:
        """Their reading at a moment of our clock."""
        return round(ours_ns + self.offset(ours_ns).value_ns)

    def ours_ns(self, theirs_ns: float) -> int:
        """Our reading at a moment of theirs."""
        near_ns = theirs_ns - self.offset(self._kept[-1].middle_ns if self._kept else 0).value_ns
        return round(theirs_ns - self.offset(near_ns).value_ns)

    @property
    def longest_round_trip_ns(self) -> int:
        """Of the last exchanges; 0 of none."""
        return max(self._round_trips_ns, default=0)

    @property
    def drift(self) -> ClockDrift | None:
        """The mean drift between two exchanges, those that bound it most tightly; None of one."""
        return self._drift

    def _bound_ns(self, exchange: Exchange, at_ns: float) -> float:
        return exchange.offset(at_ns, self._most_drift).bound_ns

    def _follow_drift(self, exchange: Exchange) -> None:
        first = self._first
        if first is not None:
            apart_s = (exchange.middle_ns - first.middle_ns) / 1e9
            then = first.offset(first.middle_ns, self._most_drift)
            now = exchange.offset(exchange.middle_ns, self._most_drift)
            if apart_s > 0:
                gained_ns = (now.value_ns - then.value_ns) / apart_s
                drift = ClockDrift(gained_ns, (then.bound_ns + now.bound_ns) / apart_s)
                if self._drift is None or drift.bound_ns_per_s < self._drift.bound_ns_per_s:
                    self._drift = drift
        self._taken += 1
        early = self._taken <= MOST_KEPT
        if first is None or (early and exchange.round_trip_ns < first.round_trip_ns):
            self._first = exchange
