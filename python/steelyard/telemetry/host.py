"""Samples the machine beside the load, and finds other measurements that are under way on it.

A sample reads a dozen small files of /proc and /sys (proc_stat(5), kernel's accounting/psi.rst)
and takes about half a millisecond. Everything cumulative is in nanoseconds since boot.

Other measurements share processors, memory and storage with this one, in another cache as well as
in the same, and so are looked for among the processes that /proc shows, not in a registry.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.memory.control_groups import ROOT, entries_of
from steelyard.model.readings import Reading
from steelyard.model.units import NS_PER_MS, NS_PER_S, NS_PER_US
from steelyard.telemetry.capacity import space, throttling, tightest_memory
from steelyard.telemetry.devices import (
    DeviceCounts,
    device_counts,
    device_use,
    leaves_beneath,
    named_counts,
)

if TYPE_CHECKING:
    from steelyard.record.epoch import OtherLoadLine

PRESSURES = ("cpu", "io", "memory")
"""What tasks may stand still for: /proc/pressure."""
_TICK_NS = NS_PER_S // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class HostSample:
    """The machine at one moment; `since` makes of two samples what happened between them."""

    monotonic_ns: int
    boot_id: str
    busy_ns: dict[int, int]  # by processor: all but idle, waiting for I/O and stolen
    steal_ns: int  # runnable, but another guest had the processor: of those that we may use
    throttled_ns: int  # this control group was stopped by its quota
    throttled_periods: int
    pressure_ns: dict[str, int]  # "cpu some", "io full", ...: time that tasks stood still for it
    memory_available_bytes: int
    memory_total_bytes: int
    swap_used_bytes: int
    disk_free_bytes: int
    disk_total_bytes: int
    load_1: float
    suspended_ns: int  # CLOCK_BOOTTIME − CLOCK_MONOTONIC: time the machine slept since boot
    devices: dict[str, DeviceCounts] = field(default_factory=dict)
    """By name: those that the path rests on in the end."""
    usable_processors: int = 0
    """Of all, those that this process and its servers may use (affinity, cpuset); 0: all."""
    memory_room_bytes: int = 0
    """What the available memory is left of: all of the machine's, or the limit of a control group
    that allows less than there is."""

    @property
    def memory_share(self) -> float:
        """Of the memory, that is available; 1 where it is not known how much there is."""
        room = self.memory_room_bytes or self.memory_total_bytes
        return self.memory_available_bytes / room if room else 1.0

    def since(self, earlier: HostSample) -> HostUse:
        """What happened between `earlier` and this sample."""
        return HostUse(
            elapsed_ns=self.monotonic_ns - earlier.monotonic_ns,
            busy_ns={p: ns - earlier.busy_ns.get(p, 0) for p, ns in self.busy_ns.items()},
            steal_ns=self.steal_ns - earlier.steal_ns,
            usable_processors=self.usable_processors or len(self.busy_ns),
            throttled_ns=self.throttled_ns - earlier.throttled_ns,
            throttled_periods=self.throttled_periods - earlier.throttled_periods,
            pressure_ns={
                name: ns - earlier.pressure_ns.get(name, 0) for name, ns in self.pressure_ns.items()
            },
            swapped_bytes=self.swap_used_bytes - earlier.swap_used_bytes,
            suspended_ns=self.suspended_ns - earlier.suspended_ns,
            devices=dict(self._used_devices(earlier)),
        )

    def _used_devices(self, earlier: HostSample) -> Iterator[tuple[str, DeviceCounts]]:
        """What the devices did that were there all the time."""
        for name, counts in self.devices.items():
            before = earlier.devices.get(name)
            use = None if before is None else device_use(before, counts)
            if use is not None:
                yield name, use


@dataclass(frozen=True)
class HostUse:
    """What the machine did in a span of time."""

    elapsed_ns: int
    busy_ns: dict[int, int] = field(default_factory=dict)
    steal_ns: int = 0
    usable_processors: int = 0
    throttled_ns: int = 0
    throttled_periods: int = 0
    pressure_ns: dict[str, int] = field(default_factory=dict)
    swapped_bytes: int = 0  # growth of the swap in use; negative when it shrank
    suspended_ns: int = 0
    devices: dict[str, DeviceCounts] = field(default_factory=dict)


def host_readings(
    before: HostSample, after: HostSample, loaded: HostSample | None = None
) -> tuple[Reading, ...]:
    """What happened to the machine between two samples, as numbers with their units; `loaded`: a
    sample between them, while there were servers whose memory is free again afterwards."""
    use = after.since(before)
    scarce = after if loaded is None else min(loaded, after, key=lambda sample: sample.memory_share)
    values: dict[str, tuple[str, float]] = {
        "elapsed_ns": ("ns", use.elapsed_ns),
        "processors": ("processors", len(after.busy_ns)),
        "processors_before": ("processors", len(before.busy_ns)),
        "usable_processors": ("processors", use.usable_processors),
        "busy_ns": ("ns", sum(use.busy_ns.values())),
        "steal_ns": ("ns", use.steal_ns),
        "throttled_ns": ("ns", use.throttled_ns),
        "throttled_periods": ("periods", use.throttled_periods),
        "memory_available_bytes": ("bytes", scarce.memory_available_bytes),
        "memory_total_bytes": ("bytes", after.memory_total_bytes),
        "memory_total_before_bytes": ("bytes", before.memory_total_bytes),
        "memory_room_bytes": ("bytes", scarce.memory_room_bytes or scarce.memory_total_bytes),
        "swapped_bytes": ("bytes", use.swapped_bytes),
        "disk_free_bytes": ("bytes", after.disk_free_bytes),
        "disk_total_bytes": ("bytes", after.disk_total_bytes),
        "suspended_ns": ("ns", use.suspended_ns),
        "started_anew": ("times", float(before.boot_id != after.boot_id)),
        "same_processors": ("times", float(before.busy_ns.keys() == after.busy_ns.keys())),
    }
    for device, counts in use.devices.items():
        values |= named_counts(device, counts)
    for name, stalled_ns in use.pressure_ns.items():
        values[f"pressure_{name.replace(' ', '_')}_ns"] = "ns", stalled_ns
    return tuple(Reading(name, unit, value) for name, (unit, value) in values.items())


_LEVELS = frozenset({"processors", "usable_processors", "memory_total_bytes"})
_LEFT_OF = {"memory_available_bytes": "memory_room_bytes", "disk_free_bytes": "disk_total_bytes"}
"""What is left → what it is left of."""
_FIRST = frozenset({"processors_before", "memory_total_before_bytes"})


def joined(parts: Sequence[Sequence[Reading]]) -> tuple[Reading, ...]:
    """What happened to the machine in several spans together: amounts are summed; of a level the
    last counts, of what was before the first, and of what was left the least."""
    every: dict[str, list[Reading]] = {}
    for part in parts:
        for reading in part:
            every.setdefault(reading.name, []).append(reading)
    least = {reading.name: reading for pair in _LEFT_OF.items() for reading in _least(parts, *pair)}
    return tuple(least.get(name) or _joined(readings) for name, readings in every.items())


def _least(parts: Sequence[Sequence[Reading]], left: str, of: str) -> tuple[Reading, ...]:
    """What was left of something and how much there was, in the span that had least of it; none
    where no span says both."""
    spans = [{reading.name: reading for reading in part} for part in parts]
    pairs = [(span[left], span[of]) for span in spans if {left, of} <= span.keys()]
    return min(pairs, key=lambda pair: (pair[0].value or 0) / (pair[1].value or 1), default=())


def _joined(readings: Sequence[Reading]) -> Reading:
    name, values = (
        readings[0].name,
        [reading.value for reading in readings if reading.value is not None],
    )
    if name in _LEVELS or not values:
        return readings[-1]
    if name in _FIRST:
        return readings[0]
    value = min(values) if name == "same_processors" else sum(values)
    return replace(readings[0], value=value)


def sample_host(path: Path, root: Path = ROOT, places: Sequence[Path] = ()) -> HostSample:
    """Sample the machine now; `path` stands on the disk whose room is of interest. `places`: what
    else is on a disk that is used; of all the fullest counts."""
    busy_ns, stolen_ns = _processor_time(root)
    # A container may number its processors anew in /proc/stat: then all of them are its own.
    usable = (os.sched_getaffinity(0) & stolen_ns.keys()) or stolen_ns.keys()
    memory = memory_bytes(root)
    available, total = memory.get("MemAvailable", 0), memory.get("MemTotal", 0)
    room = min((available, total), tightest_memory(root) or (available, total))
    stopped = throttling(root)
    disk = min(map(space, (path, *places)), key=lambda room: room.free_share)
    return HostSample(
        monotonic_ns=time.monotonic_ns(),
        boot_id=_text(root / "proc/sys/kernel/random/boot_id").strip(),
        busy_ns=busy_ns,
        steal_ns=sum(stolen_ns[processor] for processor in usable),
        usable_processors=len(usable),
        throttled_ns=stopped.throttled_ns,
        throttled_periods=stopped.periods,
        pressure_ns=_pressure(root),
        memory_available_bytes=room[0],
        memory_total_bytes=total,
        swap_used_bytes=memory.get("SwapTotal", 0) - memory.get("SwapFree", 0),
        disk_free_bytes=disk.free_bytes,
        disk_total_bytes=disk.total_bytes,
        load_1=float((_text(root / "proc/loadavg").split() or ["0"])[0]),
        suspended_ns=suspended_ns(),
        devices={
            name: counts
            for name in leaves_beneath((path, *places), root)
            if (counts := device_counts(name, root)) is not None
        },
        memory_room_bytes=room[1],
    )


def _processor_time(root: Path) -> tuple[dict[int, int], dict[int, int]]:
    """Busy nanoseconds by processor, and stolen ones (proc_stat(5))."""
    busy_ns: dict[int, int] = {}
    stolen_ns: dict[int, int] = {}
    for line in _text(root / "proc/stat").splitlines():
        name, *ticks = line.split()
        if not name.startswith("cpu") or name == "cpu":
            continue
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(t) for t in ticks[:8])
        busy_ns[int(name[3:])] = (user + nice + system + irq + softirq) * _TICK_NS
        stolen_ns[int(name[3:])] = steal * _TICK_NS
    return busy_ns, stolen_ns


def memory_bytes(root: Path = ROOT) -> dict[str, int]:
    """/proc/meminfo in bytes; huge pages are counted, not in bytes."""
    lines = (line.split() for line in _text(root / "proc/meminfo").splitlines())
    return {
        fields[0].rstrip(":"): int(fields[1]) * (1024 if fields[2:] == ["kB"] else 1)
        for fields in lines
        if len(fields) >= 2
    }


def waiting_bytes(root: Path = ROOT) -> int:
    """Dirty pages of the whole machine, and those under write-back now."""
    memory = memory_bytes(root)
    return memory.get("Dirty", 0) + memory.get("Writeback", 0)


def huge_pages_free(root: Path = ROOT) -> int:
    """Huge pages of the default size in the pool of the kernel that are neither in use nor promised
    to a process that has not touched them yet (HugePages_Rsvd)."""
    memory = memory_bytes(root)
    return max(0, memory.get("HugePages_Free", 0) - memory.get("HugePages_Rsvd", 0))


def _pressure(root: Path) -> dict[str, int]:
    """Pressure stall totals; empty where the kernel keeps none."""
    return {
        f"{resource} {kind}": stalled_ns
        for resource in PRESSURES
        for kind, stalled_ns in stalled_of(_text(root / "proc/pressure" / resource)).items()
    }


def stalled_of(text: str) -> dict[str, int]:
    """Kind ("some", "full") → ns that tasks stood still so far, from a file of /proc/pressure."""
    lines = (line.split() for line in text.splitlines())
    return {kind: int(fields[-1].partition("=")[2]) * NS_PER_US for kind, *fields in lines}


def suspended_ns() -> int:
    """Time the machine slept since boot: the one clock counts it, the other does not.

    Read again where the processor was taken away between the two: that is no sleep.
    """
    while True:
        before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        if time.clock_gettime_ns(time.CLOCK_MONOTONIC) - before_ns < NS_PER_MS:
            return boot_ns - before_ns


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_MEASURES = frozenset(
    {"weigh", "calibrate", "drive", "drill", "probe", "checksums", "tune", "reproduce", "bisect"}
)
_STUDY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_PROC = Path("/proc")


_FIRST_NAMESPACE = "pid:[4026531836]"
"""Of every kernel's first process (PROC_PID_INIT_INO, linux/proc_ns.h)."""


def hidden_processes(proc: Path) -> str:
    """Why there may be processes that /proc does not show; empty: it shows all, or is not that of a
    kernel."""
    try:
        namespace = os.readlink(proc / "self/ns/pid")
    except OSError:
        return ""
    if namespace != _FIRST_NAMESPACE:
        return "a process namespace, as a container's, shows its own processes alone"
    try:
        (proc / "1/stat").read_bytes()
    except OSError:  # hidepid= of proc(5)
        return "/proc shows this account's processes alone (hidepid)"
    return ""


def other_loads(proc: Path = _PROC, own: int | None = None) -> tuple[OtherLoadLine, ...]:
    """The measurements but this one, what it was begun by, and what it began; by process id.

    Of a command line only the command and the name of a study are kept: the rest may hold secrets.
    """
    from steelyard.record.epoch import OtherLoadLine

    pid = os.getpid() if own is None else own
    parents: dict[int, int] = {}
    measuring: dict[int, str] = {}
    for entry in entries_of(proc):
        if not entry.name.isdecimal():
            continue
        try:
            stat = (entry / "stat").read_text(errors="replace")
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended, or is not to be seen
            continue
        parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        if what := _measured(arguments):
            measuring[int(entry.name)] = what
    above = set(_line(pid, parents))
    others = [
        OtherLoadLine(pid=other, command=what)
        for other, what in sorted(measuring.items())
        if other not in above and pid not in _line(other, parents)
    ]
    # One that runs another by a process of its own is that one.
    begun = {ancestor for load in others for ancestor in _line(load.pid, parents)[1:]}
    return tuple(load for load in others if load.pid not in begun)


def _line(pid: int, parents: dict[int, int]) -> list[int]:
    """A process, its parent, and so on."""
    line = [pid]
    while (above := parents.get(line[-1], 0)) and above not in line:
        line.append(above)
    return line


def _measured(arguments: list[str]) -> str:
    """`"weigh checksums"` of a command line; empty where nothing is measured."""
    for index, word in enumerate(arguments[:8]):
        if os.path.basename(word) != "steelyard":
            continue
        rest = arguments[index + 1 :]
        command = next((argument for argument in rest[:2] if argument in _MEASURES), "")
        if not command or "--help" in rest:
            return ""
        study = rest[rest.index(command) + 1] if command != rest[-1] else ""
        return f"{command} {study}" if _STUDY.fullmatch(study) else command
    return ""
