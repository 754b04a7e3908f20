"""Says what the machine's own readings show, and what its drives report."""

from __future__ import annotations

from steelyard.evaluation.threats import machine as seen
from steelyard.model.units import counted, format_bytes, format_duration
from steelyard.wording.threats.advice import QUOTED, Texts

_HOW = {"light": "lightly", "heavy": "heavily"}


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


TEXTS: Texts = {
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
}
