"""Says what is wrong with a load that several machines put on: apart, held up, counted apart."""

from __future__ import annotations

from steelyard.evaluation.threats import together as seen
from steelyard.model.readings import LATE_SHARE
from steelyard.model.units import format_duration
from steelyard.wording.threats.advice import Texts


def _apart(observed: seen.MachinesApart) -> str:
    return (
        f"in {observed.apart} of {observed.slices} slices of {observed.arm} the machines began up "
        f"to {format_duration(observed.longest_ns)} apart, more than {LATE_SHARE:.0%} of the slice"
    )


def _farther_apart(observed: seen.MachinesFartherApart) -> str:
    return (
        f"the machines began {observed.share:.1%} of a slice farther apart for "
        f"{observed.farther} than for {observed.nearer}"
    )


def _uses_processors(observed: seen.DriverUsesProcessors) -> str:
    return (
        f"the driver of {observed.machine} used {observed.share:.0%} of that machine's processors"
    )


def _late(observed: seen.MachineLate) -> str:
    return f"{observed.machine} began {observed.share:.0%} of its slices late"


def _slow(observed: seen.ClientsSlow) -> str:
    return (
        f"a client of {observed.machine} did {observed.share:.0%} of what one of the other "
        "machines did"
    )


def _fewer_ended(observed: seen.FewerEndedThanCounted) -> str:
    return (
        f"the machines counted {observed.counted:,.0f} transactions of all arms, of which the "
        f"servers ended {observed.ended:,.0f}"
    )


TEXTS: Texts = {
    seen.MachinesApart: _apart,
    seen.MachinesFartherApart: _farther_apart,
    seen.DriverUsesProcessors: _uses_processors,
    seen.MachineLate: _late,
    seen.ClientsSlow: _slow,
    seen.FewerEndedThanCounted: _fewer_ended,
}
