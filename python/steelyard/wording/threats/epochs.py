"""Says what the epochs themselves show: places, counts, crashes, shape, plan."""

from __future__ import annotations

import math

from steelyard.analysis.checks.slots import ALPHA, PlaceCheck
from steelyard.evaluation.threats import epochs as seen
from steelyard.model.units import counted, format_percent, percent_of_log
from steelyard.wording.threats.advice import Texts


def _slots_differ(observed: seen.SlotsDiffer) -> str:
    return f"the reading moves by {_size(observed.check)} with the slots of the arms"


def _start_order_matters(observed: seen.StartOrderMatters) -> str:
    return f"the reading moves by {_size(observed.check)} with which arm was started first"


def _carried_over(observed: seen.CarriedOver) -> str:
    return (
        f"{observed.arm} changes by {_size(observed.check)} more than {observed.control} when it "
        "follows another arm"
    )


def _size(check: PlaceCheck) -> str:
    """`+2.31 % [+0.80, +3.85] (99 % interval)`; between many places there is no interval."""
    size = format_percent(percent_of_log(check.effect))
    if not math.isfinite(check.interval.width):
        return f"up to {size}, more than 99 of 100 draws give,"
    low, high = (
        format_percent(percent_of_log(end)).removesuffix(" %")
        for end in (check.interval.low, check.interval.high)
    )
    return f"{size} [{low}, {high}] ({100 * (1 - ALPHA):g} % interval)"


def _unequal_drops(observed: seen.UnequalDrops) -> str:
    of_arm, of_control = observed.counts
    were = "was" if of_arm == 1 else "were"
    slices = f"{counted(of_arm, 'slices')} of {observed.arm}"
    return f"{slices} {were} dropped and {of_control} of {observed.control}"


def _unequal_failures(observed: seen.UnequalFailures) -> str:
    (of_arm, of_control), (tried, tried_control) = observed.counts, observed.out_of
    return (
        f"{of_arm} of {tried} transactions of {observed.arm} failed or were retried, "
        f"and {of_control} of {tried_control} of {observed.control}"
    )


def _given_up(observed: seen.CountsOfArms) -> str:
    (of_arm, of_control), (turns, turns_control) = observed.counts, observed.out_of
    return (
        f"clients of {observed.arm} were not back in time after {of_arm} of {turns} turns and were "
        f"given up, those of {observed.control} after {of_control} of {turns_control}"
    )


def _given_up_by_both(observed: seen.ClientsGivenUp) -> str:
    return f"{_given_up(observed)}: what they waited for is cut off there"


def _arm_did_not_complete(observed: seen.ArmDidNotComplete) -> str:
    listed = ", ".join(f"{epoch + 1} ({way})" for epoch, way in observed.lost)
    count = f"{len(observed.lost)} of {observed.epochs} epochs"
    return f"{observed.arm} did not complete {count}: {listed}"


def _without_reading(observed: seen.EpochsWithoutReading) -> str:
    epoch, outcome = observed.lost[0]
    return (
        f"{len(observed.lost)} of {observed.epochs} epochs were lost and have no reading; "
        f"epoch {epoch + 1}: {outcome}"
    )


def _latencies_fill(observed: seen.LatenciesFill) -> str:
    share = f"{100 * observed.share:.1f} %"
    return f"the latencies of {observed.arm} fill {share} of its time under load"


def _stalls_at_border(observed: seen.StallsAtBorder) -> str:
    return (
        f"{100 * observed.share:.1f} % of the time of {observed.arm} came after the bell and was "
        "charged to no client: stalls at the border are not counted"
    )


def _skewed(observed: seen.EpochsSkewed) -> str:
    less = "less" if observed.side < 0 else "more"
    return (
        f"two or more epochs read far {less} of {observed.arm} against {observed.control} than the "
        "others, and none as far on the other side"
    )


def _too_few(observed: seen.TooFewEpochs) -> str:
    has = "has" if observed.usable == 1 else "have"
    return (
        f"{counted(observed.usable, 'epochs')} {has} a reading; a verdict needs {observed.needed}"
    )


def _weighed_before(observed: seen.WeighedBefore) -> str:
    return f"this is attempt {observed.attempt}"


def _judged_before(observed: seen.JudgedBefore) -> str:
    times = "once" if observed.times == 1 else f"{observed.times} times"
    return f"it was interrupted and judged {times} before it went on"


TEXTS: Texts = {
    seen.SlotsDiffer: _slots_differ,
    seen.StartOrderMatters: _start_order_matters,
    seen.CarriedOver: _carried_over,
    seen.UnequalDrops: _unequal_drops,
    seen.UnequalFailures: _unequal_failures,
    seen.UnequalClientsGivenUp: _given_up,
    seen.ClientsGivenUp: _given_up_by_both,
    seen.ArmDidNotComplete: _arm_did_not_complete,
    seen.EpochsWithoutReading: _without_reading,
    seen.LatenciesFill: _latencies_fill,
    seen.StallsAtBorder: _stalls_at_border,
    seen.EpochsSkewed: _skewed,
    seen.TooFewEpochs: _too_few,
    seen.WeighedBefore: _weighed_before,
    seen.JudgedBefore: _judged_before,
}
