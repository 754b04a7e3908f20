"""Examines a host: measures for some seconds what can only be measured, then asks every check."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT
from steelyard.model.units import NS_PER_S, NS_PER_US
from steelyard.record.machine import DriveHealth
from steelyard.telemetry.capacity import existing_ancestor
from steelyard.telemetry.doctor import kernel, memory, processors, storage
from steelyard.telemetry.doctor.finding import Check, HostFacts, HostFinding, Lately
from steelyard.telemetry.host import HostSample, sample_host

CHECKS = (*processors.CHECKS, *kernel.CHECKS, *memory.CHECKS, *storage.CHECKS)
_READINGS = 20_000
_SYNCS = 50
_LONGEST_SYNCING_S = 2.0
_BLOCK = bytes(8192)


def examine(
    directory: Path, lately: Lately, drives: tuple[DriveHealth, ...] = (), root: Path = ROOT
) -> list[HostFinding]:
    """Every check of a host whose data directories would stand in `directory`; `drives`: what the
    drives beneath it say of themselves."""
    return findings(HostFacts(directory, root, lately, drives))


def findings(host: HostFacts) -> list[HostFinding]:
    """Every check of a host."""
    return [_finding(check, host) for check in CHECKS]


def _finding(check: Check, host: HostFacts) -> HostFinding:
    """What a check finds; files that are not as the kernel writes them cost that check alone."""
    try:
        return check(host)
    except (OSError, ValueError, IndexError) as reason:
        name = check.__name__.replace("_", " ")
        return HostFinding(name, "unseen", f"could not be read: {reason}", "", "", "")


def sample_recent_load(
    directory: Path,
    seconds: float,
    *,
    write: bool,
    pause: Callable[[float], None] = time.sleep,
    root: Path = ROOT,
) -> Lately:
    """What the host did for some seconds in which we slept, what the clock costs and, with `write`,
    a durable write in `directory`."""
    began, used_s = _sample(directory, root), time.process_time()
    heat = _heat(root)
    pause(seconds)
    ended, own_ns = _sample(directory, root), (time.process_time() - used_s) * NS_PER_S
    lately = Lately(
        heat_events=_grown(heat, _heat(root)),
        clock_ns=clock_cost_ns(),
        sync_us=sync_time_us(directory) if write else None,
        io_uring=kernel.ring_refusal(),
        locked_bytes=kernel.locked_bytes(),
    )
    if isinstance(began, str) or isinstance(ended, str):
        unread = began if isinstance(began, str) else ended
        return replace(lately, why_not=f"could not be read: {unread}")
    use = ended.since(began)
    whole_ns = use.elapsed_ns * max(1, use.usable_processors)
    return replace(
        lately,
        steal_share=use.steal_ns / whole_ns,
        throttled_share=use.throttled_ns / use.elapsed_ns,
        busy_processors=max(0.0, sum(use.busy_ns.values()) - own_ns) / use.elapsed_ns,
    )


def _sample(directory: Path, root: Path) -> HostSample | str:
    """The machine now, or why it cannot be read."""
    try:
        return sample_host(directory, root)
    except (OSError, ValueError, IndexError) as reason:
        return str(reason)


def _heat(root: Path) -> Mapping[str, int | None]:
    return HostFacts(root, root).numbers(processors.THROTTLE_COUNTS)


def _grown(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> int | None:
    """By how much counters grew that were read both times; None: there are none."""
    grown = [
        count - earlier
        for name, count in after.items()
        if count is not None and (earlier := before.get(name)) is not None
    ]
    return sum(grown) if grown else None


def clock_cost_ns() -> float:
    """What a reading of the monotonic clock takes, in ns, less what the loop around it does."""
    numbers: Sequence[int] = range(_READINGS)
    began = time.perf_counter_ns()
    for _ in numbers:
        pass
    empty = time.perf_counter_ns() - began
    read = time.monotonic_ns
    began = time.perf_counter_ns()
    for _ in numbers:
        read()
    return max(0, time.perf_counter_ns() - began - empty) / _READINGS


def sync_time_us(directory: Path) -> float | None:
    """Median time of writing 8 kB over a file and fdatasync, in µs; None where we may not write.

    The file is made beside the data directories and removed; it is overwritten once before, since
    the first write of a block changes the file's size.
    """
    ancestor = existing_ancestor(directory)
    try:
        with tempfile.TemporaryFile(dir=ancestor, prefix="steelyard-doctor-") as file:
            number = file.fileno()
            os.pwrite(number, _BLOCK, 0)
            os.fsync(number)
            times_ns: list[int] = []
            began = time.perf_counter_ns()
            while len(times_ns) < _SYNCS and sum(times_ns) < _LONGEST_SYNCING_S * NS_PER_S:
                began = time.perf_counter_ns()
                os.pwrite(number, _BLOCK, 0)
                os.fdatasync(number)
                times_ns.append(time.perf_counter_ns() - began)
    except OSError:
        return None
    return statistics.median(times_ns) / NS_PER_US
