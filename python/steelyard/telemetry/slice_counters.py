"""Adds up what the machine did in the measured slices of each arm, by files read at their borders.

One device serves all arms: what an arm's background work leaves to the kernel is written later, in
slices of others too, and a request counts when it ends. So these figures say what happened while an
arm was driven, and not what it caused.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT, pairs_of
from steelyard.model.readings import SLICES_NS, Reading
from steelyard.telemetry.capacity import statistics_file, throttling_of
from steelyard.telemetry.devices import (
    DeviceCounts,
    added,
    device_use,
    devices_beneath,
    named_counts,
    parse_device_counts,
    stat_files,
    uncounted,
)
from steelyard.telemetry.host import PRESSURES, stalled_of

Amounts = Mapping[str, tuple[str, float]]
"""Name of a reading → its unit and what was added to it."""
_Parse = Callable[[str, str], Amounts]
UNREAD = "it was not read at the borders of every slice"
_OF_MEMORY = ("workingset_refault_anon", "workingset_refault_file", "pgmajfault")


class MachineCounters:
    """Sums by arm. Files that are not there give nothing."""

    def __init__(self, directory: Path, root: Path = ROOT, places: Sequence[Path] = ()) -> None:
        """`places`: where files of arms are that are not below the directory."""
        beneath = [devices_beneath(each, root) for each in (directory, *places)]
        every = dict.fromkeys(leaf for each in beneath for leaf in each.leaves)
        leaves = () if uncounted(every, root) else (*every,)  # a part of them would pass for all
        members = (member for each in beneath for member in each.members)
        files = {device: stat_files(device, root) for device in (*leaves, *members)}
        drives = {str(file) for leaf in leaves for file in files[leaf]}
        parsers: dict[str, _Parse] = {}
        for device, own in files.items():
            parsers |= {str(file): _of_device(device) for file in own}
        for resource in PRESSURES:
            parsers[str(root / "proc/pressure" / resource)] = _of_pressure(resource)
        parsers[str(root / "proc/vmstat")] = _of_memory
        group = statistics_file("cpu", root)
        if group is not None:
            parsers[str(group)] = _of_quota
        self._parsers = {path: parse for path, parse in parsers.items() if os.path.exists(path)}
        self._of_drives = [index for index, path in enumerate(self._parsers) if path in drives]
        self._sums: dict[str, dict[str, tuple[str, float]]] = defaultdict(dict)
        self._names: dict[str, set[str]] = defaultdict(set)
        """File → the readings that it gives."""
        self._unread: dict[str, set[str]] = defaultdict(set)
        """Arm → files that gave nothing in a slice of it: their sums lack that slice."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order in which `add` expects them."""
        return tuple(self._parsers)

    def add(self, arm: str, before: Sequence[str], after: Sequence[str], elapsed_ns: int) -> None:
        """One slice of an arm: the files' texts at its borders."""
        self._count(arm, {SLICES_NS: ("ns", elapsed_ns)})
        for (file, parse), first, last in zip(self._parsers.items(), before, after, strict=True):
            amounts = parse(first, last) if first and last else {}
            self._names[file] |= amounts.keys()
            self._count(arm, amounts)
            if not amounts:
                self._unread[arm].add(file)

    def _count(self, arm: str, amounts: Amounts) -> None:
        sums = self._sums[arm]
        for name, (unit, amount) in amounts.items():
            sums[name] = unit, sums.get(name, (unit, 0))[1] + amount

    def devices_between(self, before: Sequence[str], after: Sequence[str]) -> DeviceCounts | None:
        """What the drives did in one slice, added up; None: there is none, or one was not read, or
        counts nothing."""
        return added([_used(before[index], after[index]) for index in self._of_drives])

    def readings(self, arm: str) -> tuple[Reading, ...]:
        """What happened in the slices of an arm so far; missing where a slice is not in it."""
        unread = {name for file in self._unread[arm] for name in self._names[file]}
        return tuple(
            Reading(name, unit, None, UNREAD, measured=True)
            if name in unread
            else Reading(name, unit, value, measured=True)
            for name, (unit, value) in self._sums[arm].items()
        )


def _of_device(device: str) -> _Parse:
    def parse(before: str, after: str) -> Amounts:
        use = _used(before, after)
        return {} if use is None else named_counts(device, use)

    return parse


def _used(before: str, after: str) -> DeviceCounts | None:
    """What a device did between two texts of its file; None: one of them was not read, or the
    device was taken away meanwhile."""
    if not before or not after:
        return None
    return device_use(parse_device_counts(before), parse_device_counts(after))


def _of_pressure(resource: str) -> _Parse:
    """Time that some, or all, tasks stood still for want of it: accounting/psi.rst."""

    def parse(before: str, after: str) -> Amounts:
        first, last = stalled_of(before), stalled_of(after)
        return {
            f"pressure_{resource}_{kind}_ns": ("ns", last[kind] - first[kind])
            for kind in first.keys() & last.keys()
        }

    return parse


def _of_memory(before: str, after: str) -> Amounts:
    """Pages that had been dropped from memory and were read again, and faults that waited for a
    disk."""
    first, last = pairs_of(before), pairs_of(after)
    names = [name for name in _OF_MEMORY if name in first and name in last]
    return {name: ("pages", last[name] - first[name]) for name in names}


def _of_quota(before: str, after: str) -> Amounts:
    """How often, and for how long, the quota of this control group stopped it."""
    first, last = throttling_of(before), throttling_of(after)
    if first is None or last is None:
        return {}
    return {
        "throttled_periods": ("periods", last.periods - first.periods),
        "throttled_ns": ("ns", last.throttled_ns - first.throttled_ns),
    }
