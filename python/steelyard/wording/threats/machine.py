"""Says what the machine and the servers on it show: what was inspected before (builds, plans, the
ledger, settings, places), readings of machine and drives, memory, caches and checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from steelyard.analysis.calibration import OFF_BALANCE
from steelyard.evaluation.threats import inspection as inspected
from steelyard.evaluation.threats import machine as seen
from steelyard.evaluation.threats.checkpoint_distance import CheckpointsNearer, Distance, Images
from steelyard.evaluation.threats.inspection import DirectoriesTied, PagesMayTear
from steelyard.evaluation.threats.memory import (
    RESIDENT_SHARE,
    FilesStayedCached,
    HardlyRead,
    PageCacheBypassed,
    ReadsOfArm,
    TimeOnProcessors,
    TimesOfArm,
    WritesUnderV1,
)
from steelyard.evaluation.threats.pool_warmth import ContrastMoved, PoolNotWarm, ReadsFell
from steelyard.model.units import NS_PER_S, counted, format_bytes, format_digits, format_duration
from steelyard.wording.threats.advice import QUOTED, OwnAdvice, Texts, ThreatWords

MOST_STATEMENTS = 3
MOST_WORDS = 160
"""Statements, and characters of each, that a threat names."""
MOST_FLIPS = 2
"""Flips of each."""
_HOW = {"light": "lightly", "heavy": "heavily"}
_AS_SAID = 'the study says bound = "storage"'


def _machine_changed(observed: inspected.MachineChanged) -> str:
    return "; ".join(observed.changes)


def _debug_build(_: inspected.DebugBuild) -> str:
    return "the load driver is a debug build"


def _ledger(observed: inspected.LedgerOffBalance) -> str:
    times = "1 weighing" if observed.weighings == 1 else f"{observed.weighings} weighings"
    return (
        f"{times} of equal arms on this machine reached an e-value of "
        f"{format_digits(observed.largest_e_value, 3)}; "
        f"equal arms reach {OFF_BALANCE:g} on 1 machine of 100 at most, however often one looks"
    )


def _builds_differ(observed: inspected.BuildsDiffer) -> str:
    """`on and off: origin: bundle and npm; cflags: -O2 and -Os`: the control's value first."""
    differences = "; ".join(
        f"{name}: {ours} and {theirs}" for name, ours, theirs in observed.differences
    )
    return f"{observed.control} and {observed.arm}: {differences}"


def _plans_differ(observed: inspected.PlansDiffer) -> str:
    """The first few, those with a flip before the others, each cut to what distinguishes it and
    with what flipped; and how many more there are."""
    ordered = sorted(observed.statements, key=lambda statement: not statement[1])
    listed = "; ".join(_with_flips(text, flips) for text, flips in ordered[:MOST_STATEMENTS])
    more = len(ordered) - MOST_STATEMENTS
    rest = f"; and {more} more" if more > 0 else ""
    return f"{observed.control} and {observed.arm}: {listed}{rest}"


def _with_flips(statement: str, flips: Sequence[str]) -> str:
    shortened = shorten(statement, MOST_WORDS, placeholder=" …")
    if not flips:
        return shortened
    more = len(flips) - MOST_FLIPS
    listed = ", ".join(flips[:MOST_FLIPS]) + (f" and {more} more" if more > 0 else "")
    return f"{shortened} flipped: {listed}"


def _settings_missing(observed: inspected.SettingsMissing) -> str:
    return observed.why


def _setting_replaced(observed: inspected.SettingReplaced) -> str:
    return (
        f"{observed.setting} is {observed.theirs} there, and {observed.used} here: {observed.why}"
    )


_TIED_CAUSE = (
    "the study puts each arm's files in a place of its own: the place is the treatment, with "
    "whatever else is tied to it, such as this device and how full and how old its file system is"
)
_TIED_ADVICE = (
    "read it as a figure of these places as they are; for a kind of file system make each anew on "
    "the same device, and for a kind of device weigh on several (steelyard fleet)"
)


def _tied(observed: DirectoriesTied) -> str:
    return " | ".join(f"{arm}: {places.words}" for arm, places in observed.places.items())


def _tied_advice(_: DirectoriesTied) -> ThreatWords:
    return ThreatWords(_TIED_CAUSE, _TIED_ADVICE)


def _torn(observed: PagesMayTear) -> str:
    place = observed.place
    where = f"{place.type or 'an unknown file system'} on {place.source or 'no device'}"
    off = f"{observed.setting} = off on {where}"
    return f"{observed.arm} has {off}, which does not promise whole pages"


def _stolen(observed: seen.ProcessorTimeStolen) -> str:
    return f"{observed.share:.1%} of processor time was stolen by other guests"


def _throttled(observed: seen.GroupThrottled) -> str:
    throttled, elapsed = observed.throttled_ns, observed.elapsed_ns
    return (
        f"the control group was throttled for {format_duration(throttled)} "
        f"of {format_duration(elapsed)}"
    )


def _little_memory(observed: seen.LittleMemoryLeft) -> str:
    return f"{format_bytes(observed.available_bytes)} of memory available"


def _swapped_out(observed: seen.SwappedOut) -> str:
    return f"{format_bytes(observed.swapped_bytes)} were swapped out"


def _stood_still(observed: seen.StoodStillForMemory) -> str:
    return f"everything stood still for memory for {format_duration(observed.stalled_ns)}"


def _little_disk(observed: seen.LittleDiskLeft) -> str:
    return f"{format_bytes(observed.free_bytes)} of disk free"


def _started_anew(_: seen.StartedAnew) -> str:
    return "the machine was started anew, or is another one"


def _suspended(observed: seen.Suspended) -> str:
    return f"the machine was suspended for {format_duration(observed.suspended_ns)}"


def _processors_changed(observed: seen.ProcessorsChanged) -> str:
    return f"{observed.before} processors were online, then {observed.after}"


def _memory_changed(observed: seen.MemoryChanged) -> str:
    before, after = format_bytes(observed.before_bytes), format_bytes(observed.after_bytes)
    return f"memory was {before}, then {after}"


def _processor_shared(observed: seen.ProcessorShared) -> str:
    return f"driver and servers share processor {observed.processor}"


def _other_loads(observed: seen.OtherLoads) -> str:
    each = (f"{load.command} (process {load.pid})" for load in observed.loads)
    return f"under way on this machine too: {', '.join(each)}"


def _in_epochs(observed: seen.InEpochs) -> str:
    once, times = observed.observation, observed.times
    sentence = {**QUOTED, **TEXTS}[type(once)](once)
    where = "every epoch" if times == observed.epochs else counted(times, "epochs")
    return f"{sentence} (epoch {observed.first + 1}; seen in {where})"


def _drives(observed: seen.DrivesHot | seen.DrivesFailing) -> str:
    return ", ".join(f"{symptom.device} {_symptom(symptom)}" for symptom in observed.symptoms)


def _symptom(symptom: seen.HeatSymptom | seen.FailureSymptom) -> str:
    match symptom:
        case seen.SlowedDown(_, how, times, seconds):
            often = "once" if times == 1 else f"{times} times"
            return f"slowed itself down {_HOW[how]} {often}, for {seconds} s in all"
        case seen.AboveTemperature(_, limit, minutes):
            return f"was above its {limit} temperature for {minutes} min"
        case seen.MediaErrors(_, errors):
            return f"found {errors} media error{'' if errors == 1 else 's'}"
        case seen.DriveWarning(_, warning, new):
            return f"warns: {warning}{'' if new else ', as it did before the weighing'}"


def _hardly_read(observed: HardlyRead) -> str:
    each = " and ".join(_reads(reads, observed.cap_bytes) for reads in observed.reads)
    return f"{each}; {_AS_SAID}"


def _reads(reads: ReadsOfArm, cap_bytes: int | None) -> str:
    read = format_digits(reads.read_bytes, 3)
    sentence = f"{reads.arm} read {read} bytes a transaction from the device"
    if cap_bytes is None or reads.cache_bytes is None:
        return sentence
    cache, cap = format_bytes(reads.cache_bytes), format_bytes(cap_bytes)
    return f"{sentence} (page cache {cache} under a cap of {cap})"


def _time_on_processors(observed: TimeOnProcessors) -> str:
    return f"{' and '.join(_times(times) for times in observed.times)}; {_AS_SAID}"


def _times(times: TimesOfArm) -> str:
    processor, storage = format_duration(times.processor_ns), format_duration(times.storage_ns)
    return (
        f"a transaction of {times.arm} took {processor} on a processor or waiting for one, and "
        f"{storage} reading blocks and in the log"
    )


def _writes_under_v1(observed: WritesUnderV1) -> str:
    cap = format_bytes(observed.cap_bytes)
    return f"the work writes, and control groups of version 1 hold each arm under {cap}"


def _page_cache_bypassed(observed: PageCacheBypassed) -> str:
    return " and ".join(
        f'{observed.setting} is "{value}" in {arm}' for arm, value in observed.values
    )


def _stayed_cached(observed: FilesStayedCached) -> str:
    percent = format_digits(100 * observed.largest_share, 2)
    return (
        f"up to {percent} % of the arms' files were still in the page cache after eviction, more "
        f"than {100 * RESIDENT_SHARE:g} % before {observed.times} of {observed.epochs} "
        "epochs: reading them is charged to no arm's memory"
    )


def _not_warm(observed: PoolNotWarm) -> str:
    return " and ".join(map(_fall, observed.falls)) + _moved(observed.moved)


def _fall(fall: ReadsFell) -> str:
    fell = f"blocks read per transaction of {fall.arm} fell from"
    if fall.level is None:
        first, last = _apart(fall.first, fall.last)
        return f"{fell} {first} to {last} from the first half of a turn to the second"
    first, last, level = _apart(fall.first, fall.last, fall.level)
    return f"{fell} {first} to {last} within the measured part of an epoch, towards {level}"


def _apart(*values: float) -> list[str]:
    """`["0.8", "0.38"]`: with as many digits as tell each from the others, at least two."""
    for digits in range(2, 7):
        texts = [format_digits(value, digits) for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _moved(moved: ContrastMoved | None) -> str:
    if moved is None:
        return ""
    if moved.share is None:
        return "; what a read takes cannot be told from what else scatters"
    return f"; that moves the contrast by about {format_digits(100 * moved.share, 2)} %"


def _nearer(observed: CheckpointsNearer) -> str:
    (every, wal), (settings_every, settings_wal) = map(
        _distance, (observed.weighed, observed.configured)
    )
    sentence = (
        f"as weighed a checkpoint of {observed.arm} every {every} and {wal} of WAL, where its "
        f"settings give one every {settings_every} or {settings_wal}; "
        f"{' and '.join(map(_images, observed.images))}"
    )
    if observed.through:
        acts = "acts" if len(observed.through) == 1 else "act"
        sentence += (
            f"; {' and '.join(observed.through)} {acts} through these: the figure is of that "
            "distance"
        )
    return sentence


def _distance(distance: Distance) -> tuple[str, str]:
    every = format_duration(round(distance.seconds * NS_PER_S))
    return every, format_bytes(round(distance.wal_bytes))


def _images(images: Images) -> str:
    return (
        f"{format_digits(images.per_transaction, 2)} full-page images a transaction of "
        f"{images.arm}, up to {100 * images.share_of_wal:.0f} % of its WAL"
    )


TEXTS: Texts = {
    inspected.MachineChanged: _machine_changed,
    inspected.DebugBuild: _debug_build,
    inspected.LedgerOffBalance: _ledger,
    inspected.BuildsDiffer: _builds_differ,
    inspected.PlansDiffer: _plans_differ,
    inspected.SettingsMissing: _settings_missing,
    inspected.SettingReplaced: _setting_replaced,
    DirectoriesTied: _tied,
    PagesMayTear: _torn,
    seen.ProcessorTimeStolen: _stolen,
    seen.GroupThrottled: _throttled,
    seen.LittleMemoryLeft: _little_memory,
    seen.SwappedOut: _swapped_out,
    seen.StoodStillForMemory: _stood_still,
    seen.LittleDiskLeft: _little_disk,
    seen.StartedAnew: _started_anew,
    seen.Suspended: _suspended,
    seen.ProcessorsChanged: _processors_changed,
    seen.MemoryChanged: _memory_changed,
    seen.ProcessorShared: _processor_shared,
    seen.OtherLoads: _other_loads,
    seen.InEpochs: _in_epochs,
    seen.DrivesHot: _drives,
    seen.DrivesFailing: _drives,
    HardlyRead: _hardly_read,
    TimeOnProcessors: _time_on_processors,
    WritesUnderV1: _writes_under_v1,
    PageCacheBypassed: _page_cache_bypassed,
    FilesStayedCached: _stayed_cached,
    PoolNotWarm: _not_warm,
    CheckpointsNearer: _nearer,
}
OWN_ADVICE: OwnAdvice = {DirectoriesTied: _tied_advice}
