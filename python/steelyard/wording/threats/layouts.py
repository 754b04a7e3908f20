"""Says what turns and cycles show: what was not alike for arms alone, or in their own time."""

from __future__ import annotations

import math

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
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.wording.threats.advice import Texts


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
