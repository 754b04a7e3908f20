"""Adds up what the machine did in the measured slices of each arm, by files read at their borders.

One device serves all arms: what an arm's background work leaves to the kernel is written later, in
slices of others too, and a request counts when it ends. So these figures say what happened while an
arm was driven, and not what it caused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from steelyard.model.readings import Reading
from steelyard.model.units import NS_PER_US
from steelyard.telemetry.cgroup import ROOT, statistics_file
from steelyard.telemetry.devices import (
    DeviceCounts,
    device_use,
    devices_beneath,
    parse_device_counts,
    stat_file,
)

ELAPSED = "slices_ns"
"""Time of the slices, from the first client's start until the last was back."""
Amounts = Mapping[str, float]
_Parse = Callable[[str, str], Amounts]
_PRESSURES = ("cpu", "io", "memory")
_OF_MEMORY = ("workingset_refault_anon", "workingset_refault_file", "pgmajfault")


class MachineInSlices:
    """Sums by arm. Files that are not there give nothing."""

    def __init__(self, directory: Path, root: Path = ROOT) -> None:
        parsers: dict[str, _Parse] = {}
        for device in devices_beneath(directory, root).leaves:
            parsers[str(stat_file(device, root))] = _of_device(device)
        for resource in _PRESSURES:
            parsers[str(root / "proc/pressure" / resource)] = _of_pressure(resource)
        parsers[str(root / "proc/vmstat")] = _of_memory
        group = statistics_file("cpu", root)
        if group is not None:
            parsers[str(group)] = _of_quota
        self._parsers = {path: parse for path, parse in parsers.items() if Path(path).exists()}
        self._sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order in which `add` expects them."""
        return tuple(self._parsers)

    def add(self, arm: str, before: Sequence[str], after: Sequence[str], elapsed_ns: int) -> None:
        """One slice of an arm: the files' texts at its borders."""
        sums = self._sums[arm]
        sums[ELAPSED] += elapsed_ns
        for parse, first, last in zip(self._parsers.values(), before, after, strict=True):
            for name, amount in parse(first, last).items():
                sums[name] += amount

    def readings(self, arm: str) -> tuple[Reading, ...]:
        """What happened in the slices of an arm so far."""
        return tuple(
            Reading(name, _unit(name), value, measured=True)
            for name, value in self._sums[arm].items()
        )


def _of_device(device: str) -> _Parse:
    def parse(before: str, after: str) -> Amounts:
        first, last = parse_device_counts(before), parse_device_counts(after)
        use = None if first is None or last is None else device_use(first, last)
        if use is None:
            return {}
        counts = asdict(use)
        del counts["in_flight"]  # a level
        return {f"device_{device}_{name}": number for name, number in counts.items()}

    return parse


def _of_pressure(resource: str) -> _Parse:
    """Time that some, or all, tasks stood still for want of it: accounting/psi.rst."""

    def parse(before: str, after: str) -> Amounts:
        first, last = _stalled_us(before), _stalled_us(after)
        return {
            f"pressure_{resource}_{kind}_ns": (last[kind] - first[kind]) * NS_PER_US
            for kind in first.keys() & last.keys()
        }

    return parse


def _stalled_us(text: str) -> dict[str, int]:
    lines = (line.split() for line in text.splitlines())
    return {words[0]: int(words[-1].partition("=")[2]) for words in lines if len(words) > 1}


def _of_memory(before: str, after: str) -> Amounts:
    """Pages that had been dropped from memory and were read again, and faults that waited for a
    disk."""
    first, last = _pairs(before), _pairs(after)
    return {name: last[name] - first[name] for name in _OF_MEMORY if name in first and name in last}


def _of_quota(before: str, after: str) -> Amounts:
    """How often, and for how long, the quota of this control group stopped it."""
    first, last = _pairs(before), _pairs(after)
    found: dict[str, float] = {}
    for name, known, scale in (
        ("throttled_periods", "nr_throttled", 1),
        ("throttled_ns", "throttled_usec", NS_PER_US),
        ("throttled_ns", "throttled_time", 1),
    ):
        if known in first and known in last:
            found[name] = (last[known] - first[known]) * scale
    return found


def _pairs(text: str) -> dict[str, int]:
    words = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}


_COUNTED = {one.name for one in fields(DeviceCounts)}


def _unit(name: str) -> str:
    for end, unit in (("_ns", "ns"), ("_ms", "ms"), ("_bytes", "bytes"), ("_periods", "periods")):
        if name.endswith(end):
            return unit
    return "requests" if name.rpartition("_")[2] in _COUNTED else "pages"
