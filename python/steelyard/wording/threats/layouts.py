"""Says what epochs, turns and cycles show: places, counts, crashes, shape and plan of epochs, and
what was not alike for arms alone, or in their own time.
"""

from __future__ import annotations

import math

from steelyard.analysis.checks.slots import ALPHA, PlaceCheck
from steelyard.evaluation.threats import epochs as seen
from steelyard.evaluation.threats.cycles import (
    LogSpacesCheckpoints,
    ProcessesMoved,
    TimerUnscaled,
    WindowsCut,
    WriteBackShared,
)
from steelyard.evaluation.threats.turn_facts import (
    CountedTurns,
    DebtGrew,
    DeviceWasBusy,
    DirectoryNotDrawn,
    FilesStayedResident,
    LogGrew,
    MeasuredTime,
    NoPauseBetweenCheckpoints,
    ReadingAged,
    ResidencyUnknown,
    TurnsCutOff,
    TurnsNotLevel,
    TurnsUnequal,
    WaitingBytesGrew,
)
from steelyard.evaluation.threats.turns import RESIDENT_SHARE
from steelyard.model.units import (
    NS_PER_S,
    counted,
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
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


def _directory_not_drawn(observed: DirectoryNotDrawn) -> str:
    return (
        f"{observed.arm} had the same directory in all {observed.epochs} epochs, and "
        f"{observed.control} the other, though they were to be drawn"
    )


def _residency_unknown(_: ResidencyUnknown) -> str:
    return "the kernel does not tell what of the arms' files stayed in the page cache"


def _stayed_resident(observed: FilesStayedResident) -> str:
    differ = "; that differs between the arms beyond chance" if observed.arms_differ else ""
    return (
        f"up to {format_digits(100 * observed.share, 2)} % of the arms' files were "
        f"still in the page cache after eviction, more than {100 * RESIDENT_SHARE:g} % before "
        f"{_counted(observed)}{differ}"
    )


def _device_was_busy(observed: DeviceWasBusy) -> str:
    differ = "; more often before one arm than chance has it: what the other arm left behind"
    return (
        f"up to {format_bytes(observed.waiting_bytes)} were still to be written to the disk when a "
        f"server was started, before {_counted(observed)}{differ if observed.arms_differ else ''}"
    )


def _counted(observed: CountedTurns) -> str:
    """`0 of 10 turns of on and 8 of 10 of off`."""
    (of_control, of_arm), turns = observed.counts, observed.turns
    control = f"{of_control} of {turns} turns of {observed.control}"
    return f"{control} and {of_arm} of {turns} of {observed.arm}"


def _not_level(observed: TurnsNotLevel) -> str:
    return (
        f"throughput or reads of {observed.arm} were not level yet when {observed.not_level} of "
        f"{observed.turns} turns began to be measured"
    )


def _cut_off(observed: TurnsCutOff) -> str:
    after = "" if observed.median_ns is None else f" of {format_duration(observed.median_ns)}"
    sentence = (
        f"{observed.longest} of {observed.turns} turns of {observed.arm} were measured for the "
        f"longest turn{after}, with {_range(*observed.completed)} completed"
    )
    if observed.within_cycle:
        sentence += f"; {observed.within_cycle} of them did not begin at the end of one"
    if observed.arms_differ:
        sentence += "; that differs between the arms beyond chance, and both were to have theirs"
    return sentence


def _range(fewest: int, most: int) -> str:
    if fewest == most:
        return {0: "no checkpoint", 1: "one checkpoint"}.get(most, f"{most} checkpoints")
    return f"{fewest} to {most} checkpoints"


def _unequal(observed: TurnsUnequal) -> str:
    return f"{_measured(observed.control)}, {_measured(observed.arm)} (medians)"


def _measured(time: MeasuredTime) -> str:
    after = "" if time.age_ns is None else f" after {format_duration(time.age_ns)} under load"
    return f"{time.arm} was measured for {format_duration(time.length_ns)}{after}"


def _no_pause(observed: NoPauseBetweenCheckpoints) -> str:
    return (
        f"a checkpoint of {observed.arm} began every {format_duration(observed.cycle_ns)}, "
        f"{format_duration(max(observed.pause_ns, 0.0))} after the end of the one before it "
        f"(medians of {observed.cycles} cycles)"
    )


def _log_grew(observed: LogGrew) -> str:
    return f"log written since the begin of a checkpoint {_grew(observed)}"


def _waiting_bytes_grew(observed: WaitingBytesGrew) -> str:
    return f"what waits to be written to the disk {_grew(observed)}"


def _grew(observed: DebtGrew) -> str:
    of_arm, of_control = (
        format_percent(100 * share, 1) for share in (observed.growth.arm, observed.growth.control)
    )
    return (
        f"changed over a turn by {of_arm} of the turn's log in {observed.arm}, and by {of_control} "
        f"in {observed.control}"
    )


def _aged(observed: ReadingAged) -> str:
    return (
        f"the reading moved by {format_percent(percent_of_log(observed.log_change))} from the "
        f"first epoch to the last, more than 99 of 100 orders of {observed.epochs} epochs give"
    )


def _moved(observed: ProcessesMoved) -> str:
    return (
        f"processes of {observed.arm} used up to {format_duration(observed.most_ns)} of processor "
        f"time while they were to stand still, in {observed.moved} of {observed.epochs} epochs"
    )


def _cut(observed: WindowsCut) -> str:
    missed = "without a checkpoint before them"
    if math.isfinite(observed.most_ns):
        most = format_duration(round(observed.most_ns))
        missed = f"up to {most} from the begin of a checkpoint"
    return f"{observed.cut} of {observed.windows} windows of {observed.arm} began or ended {missed}"


def _timer_unscaled(observed: TimerUnscaled) -> str:
    every, planned = (
        format_duration(round(seconds * NS_PER_S))
        for seconds in (observed.every_s, observed.planned_s)
    )
    return (
        f"timed checkpoints of {observed.arm} began every {every} of its own time (median), where "
        f"the plan has {planned}"
    )


def _write_back_shared(observed: WriteBackShared) -> str:
    each = " and ".join(
        f"{format_bytes(dirtied)} of {arm}, of which the devices wrote {format_bytes(written)} "
        "in its slices"
        for arm, dirtied, written in zip(
            observed.arms, observed.dirtied_bytes, observed.written_bytes, strict=True
        )
    )
    return (
        f"a transaction dirtied {each}, with {observed.queue:.1f} requests under way: the "
        f"difference may be understated by up to {100 * observed.share:.0f} % of the device's part"
    )


def _log_spaces(observed: LogSpacesCheckpoints) -> str:
    nearer_every, farther_every = (
        format_duration(round(seconds, 1) * NS_PER_S)
        for seconds in (observed.nearer_s, observed.farther_s)
    )
    return (
        f"a checkpoint of {observed.nearer} began every {nearer_every}, {observed.by_size} of "
        f"{observed.begun} of them by the size of the log, and one of {observed.farther} every "
        f"{farther_every}"
    )


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
    DirectoryNotDrawn: _directory_not_drawn,
    ResidencyUnknown: _residency_unknown,
    FilesStayedResident: _stayed_resident,
    DeviceWasBusy: _device_was_busy,
    TurnsNotLevel: _not_level,
    TurnsCutOff: _cut_off,
    TurnsUnequal: _unequal,
    NoPauseBetweenCheckpoints: _no_pause,
    LogGrew: _log_grew,
    WaitingBytesGrew: _waiting_bytes_grew,
    ReadingAged: _aged,
    ProcessesMoved: _moved,
    WindowsCut: _cut,
    TimerUnscaled: _timer_unscaled,
    WriteBackShared: _write_back_shared,
    LogSpacesCheckpoints: _log_spaces,
}
