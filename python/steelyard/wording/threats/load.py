"""Says what is wrong with the load: searches for a rate, and machines that put it on together."""

from __future__ import annotations

from steelyard.evaluation.rates import (
    ClientsTooFew,
    DriverLate,
    LimitNeverCrossed,
    RateIsBound,
)
from steelyard.evaluation.threats.together import (
    ClientsSlow,
    DriverUsesProcessors,
    FewerEndedThanCounted,
    MachineLate,
    MachinesApart,
    MachinesFartherApart,
)
from steelyard.model.readings import LATE_SHARE
from steelyard.model.units import format_duration
from steelyard.wording.threats.advice import Texts

_AT_END = {"slowest": "did not keep", "fastest": "kept"}
"""End of the rates of a search → what the arm did there."""


def _rate_is_bound(observed: RateIsBound) -> str:
    return (
        f"{observed.arm} {_AT_END[observed.end]} {observed.goal.words} at the {observed.end} rate "
        f"of its search in {observed.count} of {observed.epochs} epochs"
    )


def _never_crossed(observed: LimitNeverCrossed) -> str:
    return (
        f"the later ones of {observed.visits} visits to {observed.arm} never crossed the limit in "
        f"{observed.count} of {observed.epochs} epochs"
    )


def _driver_late(observed: DriverLate) -> str:
    return (
        f"transactions of {observed.arm} began {format_duration(observed.lag_ns)} late on average "
        f"near the limit, and only {100 * observed.waited / observed.begun:.0f} % of them found no "
        "idle client"
    )


def _few_clients(observed: ClientsTooFew) -> str:
    clients = f"one of {observed.clients} clients" if observed.clients > 1 else "the one client"
    return (
        f"{100 * observed.waiting_share:.0f} % of the latency of {observed.arm} was waiting for "
        f"{clients}, while processors were wanted to "
        f"{100 * observed.processor_share:.0f} %"
    )


def _apart(observed: MachinesApart) -> str:
    return (
        f"in {observed.apart} of {observed.slices} slices of {observed.arm} the machines began up "
        f"to {format_duration(observed.longest_ns)} apart, more than {LATE_SHARE:.0%} of the slice"
    )


def _farther_apart(observed: MachinesFartherApart) -> str:
    return (
        f"the machines began {observed.share:.1%} of a slice farther apart for "
        f"{observed.farther} than for {observed.nearer}"
    )


def _uses_processors(observed: DriverUsesProcessors) -> str:
    return (
        f"the driver of {observed.machine} used {observed.share:.0%} of that machine's processors"
    )


def _late(observed: MachineLate) -> str:
    return f"{observed.machine} began {observed.share:.0%} of its slices late"


def _slow(observed: ClientsSlow) -> str:
    return (
        f"a client of {observed.machine} did {observed.share:.0%} of what one of the other "
        "machines did"
    )


def _fewer_ended(observed: FewerEndedThanCounted) -> str:
    return (
        f"the machines counted {observed.counted:,.0f} transactions of all arms, of which the "
        f"servers ended {observed.ended:,.0f}"
    )


TEXTS: Texts = {
    RateIsBound: _rate_is_bound,
    LimitNeverCrossed: _never_crossed,
    DriverLate: _driver_late,
    ClientsTooFew: _few_clients,
    MachinesApart: _apart,
    MachinesFartherApart: _farther_apart,
    DriverUsesProcessors: _uses_processors,
    MachineLate: _late,
    ClientsSlow: _slow,
    FewerEndedThanCounted: _fewer_ended,
}
