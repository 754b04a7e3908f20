"""Says what turns show: what was not alike for both arms when each ran alone."""

from __future__ import annotations

from steelyard.evaluation.observations import turns as seen
from steelyard.evaluation.threats.turns import RESIDENT_SHARE
from steelyard.model.units import (
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.wording.threats.advice import Texts


def _directory_not_drawn(observed: seen.DirectoryNotDrawn) -> str:
    return (
        f"{observed.arm} had the same directory in all {observed.epochs} epochs, and "
        f"{observed.control} the other, though they were to be drawn"
    )


def _residency_unknown(_: seen.ResidencyUnknown) -> str:
    return "the kernel does not tell what of the arms' files stayed in the page cache"


def _stayed_resident(observed: seen.FilesStayedResident) -> str:
    differ = "; that differs between the arms beyond chance" if observed.arms_differ else ""
    return (
        f"up to {format_digits(100 * observed.share, 2)} % of the arms' files were "
        f"still in the page cache after eviction, more than {100 * RESIDENT_SHARE:g} % before "
        f"{_counted(observed)}{differ}"
    )


def _device_was_busy(observed: seen.DeviceWasBusy) -> str:
    differ = "; more often before one arm than chance has it: what the other arm left behind"
    return (
        f"up to {format_bytes(observed.waiting_bytes)} were still to be written to the disk when a "
        f"server was started, before {_counted(observed)}{differ if observed.arms_differ else ''}"
    )


def _counted(observed: seen.CountedTurns) -> str:
    """`0 of 10 turns of on and 8 of 10 of off`."""
    (of_control, of_arm), turns = observed.counts, observed.turns
    control = f"{of_control} of {turns} turns of {observed.control}"
    return f"{control} and {of_arm} of {turns} of {observed.arm}"


def _not_level(observed: seen.TurnsNotLevel) -> str:
    return (
        f"throughput or reads of {observed.arm} were not level yet when {observed.not_level} of "
        f"{observed.turns} turns began to be measured"
    )


def _cut_off(observed: seen.TurnsCutOff) -> str:
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


def _unequal(observed: seen.TurnsUnequal) -> str:
    return f"{_measured(observed.control)}, {_measured(observed.arm)} (medians)"


def _measured(time: seen.MeasuredTime) -> str:
    after = "" if time.age_ns is None else f" after {format_duration(time.age_ns)} under load"
    return f"{time.arm} was measured for {format_duration(time.length_ns)}{after}"


def _no_pause(observed: seen.NoPauseBetweenCheckpoints) -> str:
    return (
        f"a checkpoint of {observed.arm} began every {format_duration(observed.cycle_ns)}, "
        f"{format_duration(max(observed.pause_ns, 0.0))} after the end of the one before it "
        f"(medians of {observed.cycles} cycles)"
    )


def _log_grew(observed: seen.LogGrew) -> str:
    return f"log written since the begin of a checkpoint {_grew(observed)}"


def _waiting_bytes_grew(observed: seen.WaitingBytesGrew) -> str:
    return f"what waits to be written to the disk {_grew(observed)}"


def _grew(observed: seen.DebtGrew) -> str:
    of_arm, of_control = (
        format_percent(100 * share, 1) for share in (observed.growth.arm, observed.growth.control)
    )
    return (
        f"changed over a turn by {of_arm} of the turn's log in {observed.arm}, and by {of_control} "
        f"in {observed.control}"
    )


def _aged(observed: seen.ReadingAged) -> str:
    return (
        f"the reading moved by {format_percent(percent_of_log(observed.log_change))} from the "
        f"first epoch to the last, more than 99 of 100 orders of {observed.epochs} epochs give"
    )


TEXTS: Texts = {
    seen.DirectoryNotDrawn: _directory_not_drawn,
    seen.ResidencyUnknown: _residency_unknown,
    seen.FilesStayedResident: _stayed_resident,
    seen.DeviceWasBusy: _device_was_busy,
    seen.TurnsNotLevel: _not_level,
    seen.TurnsCutOff: _cut_off,
    seen.TurnsUnequal: _unequal,
    seen.NoPauseBetweenCheckpoints: _no_pause,
    seen.LogGrew: _log_grew,
    seen.WaitingBytesGrew: _waiting_bytes_grew,
    seen.ReadingAged: _aged,
}
