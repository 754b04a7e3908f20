"""Probes the storage beneath a directory: makes a private directory in it, lays files out, finds
fio's engine, runs every job, and removes all of it; and keeps what it found in the cache, one file
a device, for the records of later weighings.

Nothing that is there is touched: fio is only ever given files that were created in a directory of
our own. One that a killed probe left is known by its marker, which a living probe holds locked.

A device is known by its name and by what it says of itself: a name may be another device's later.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.engines.file_lock import hold, is_locked
from steelyard.model.errors import EngineError, RecordError, UsageError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.record.machine import IoEngine, Probe
from steelyard.telemetry.capacity import allowed_processors, filesystem, processor_quota, space
from steelyard.telemetry.devices import device_identity, devices_beneath
from steelyard.telemetry.drive_health import LONGEST_S, read_drives
from steelyard.telemetry.host import memory_bytes
from steelyard.tuning.fio import (
    DATA,
    ENGINES,
    LOG,
    LOG_BYTES,
    Fio,
    Job,
    figure_of,
    find_fio,
    job_file,
    jobs,
    layout_options,
    options,
    run_job,
)

SEED = 20260101
SLOWEST_BYTES_PER_S = 10e6
"""At which files are laid out at the slowest, before a device counts as stuck."""
LAY_OUT_S = 40.0
"""For laying files out: what is not written by then the jobs do without."""
SLACK_S = 10.0
"""For starting fio a dozen times, and for requests under way when a job's time is over. With both
and the jobs' own time a probe of the default seconds ends within three minutes, reading the drives
included."""
LEAST_JOB_S = 1.0
LEAST_PART, MOST_PART = 64 << 20, 256 << 20
"""Bytes of the data file that are written at once: a drive that slows down when its cache is full
is found out after one of them."""
TRIAL = Job("trial", "randread")
Say = Callable[[str], None]
MOST_BYTES = 4 << 30
"""Of both files, the log's included."""
LEAST_BYTES = 1 << 30
LEAST_ASKED_BYTES = 32 << 20
"""With --size: as much as the workers of the sequential jobs need to have a part each."""
SHARE_OF_FREE = 10
"""A tenth of what is free."""
PREFIX = "steelyard-probe-"
MARKER = "steelyard-probe.lock"
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_OWN_CACHE = frozenset({"zfs"})
"""File systems that take O_DIRECT and answer from a cache of their own all the same: before OpenZFS
2.3 for whatever is read, since then (zfsprops(7), `direct`) for what the cache holds, as it does
files that were written through it."""


@dataclass(frozen=True)
class ProbeRequest:
    """How long each job is measured, after what time, and on how much data. More seconds than by
    default make a probe longer than three minutes, which it says before it begins."""

    seconds: float = 9.0
    ramp_s: float = 2.0
    size_bytes: int | None = None

    def within(self, seconds: float) -> ProbeRequest:
        """A job shortened to so many seconds, its ramp included, where it would take more."""
        whole = self.seconds + self.ramp_s
        share = min(1.0, max(seconds, LEAST_JOB_S) / whole)
        return replace(self, seconds=self.seconds * share, ramp_s=self.ramp_s * share)


@dataclass(frozen=True)
class _Bench:
    """fio in a place of our own, and the files that it is given there."""

    fio: Fio
    place: Path
    size_bytes: int
    direct: bool

    def lay_out(self, ends: float) -> _Bench:
        """Write the files that all jobs use, the data file as far as the time goes; `ends`: by
        time.monotonic()."""
        taken_s = self._write(LOG, 0, LOG_BYTES)
        written, part = 0, LOG_BYTES
        while written < self.size_bytes:
            left = int((ends - time.monotonic()) * part / taken_s) >> 20 << 20
            if written and left < LEAST_PART:
                break
            part = min(self.size_bytes - written, MOST_PART, max(LEAST_PART, left))
            taken_s = self._write(DATA, written, part)
            written += part
        return replace(self, size_bytes=written)

    def _write(self, file: str, begin: int, amount: int) -> float:
        """Add bytes to a file; the seconds that it took until they were safe."""
        path = self.place / file
        path.touch()
        os.truncate(path, begin + amount)  # else fio makes the file anew
        job_options = {**layout_options(file, amount, SEED + begin), "offset": str(begin)}
        began = time.monotonic()
        text = job_file("lay out", job_options, str(self.place))
        run_job(self.fio, self.place, text, seconds=amount / SLOWEST_BYTES_PER_S)
        return max(time.monotonic() - began, 1e-3)

    def run(self, job: Job, engine: IoEngine, seconds: float, ramp_s: float) -> Mapping[str, Any]:
        """What fio says of a job."""
        job_options = options(
            job,
            engine,
            direct=self.direct,
            size_bytes=self.size_bytes,
            seconds=seconds,
            ramp_s=ramp_s,
            seed=SEED,
        )
        text = job_file(job.name, job_options, str(self.place))
        return run_job(self.fio, self.place, text, seconds + ramp_s)


def probe(directory: Path, wish: ProbeRequest, say: Say) -> Probe:
    """What the storage beneath a directory does; `say` is called with each job before it runs.

    UsageError: there is no fio, or the directory cannot be probed; EngineError: fio failed.
    """
    began, processors = time.monotonic(), len(allowed_processors())
    every = jobs(processors)
    longest_s = LAY_OUT_S + len(every) * (wish.seconds + wish.ramp_s) + SLACK_S
    ends = began + longest_s
    require_directory(directory)
    directory = directory.resolve()  # fio runs in a directory of its own
    size_bytes = size_to_use(directory, wish.size_bytes)
    fio, beneath, drives = find_fio(), devices_beneath(directory), read_drives(directory)
    timestamp = datetime.now(UTC).isoformat(timespec="seconds")
    if wish.size_bytes is not None and size_bytes + (1 << 20) <= wish.size_bytes:
        say(
            f"probes with {format_bytes(size_bytes)}, not {format_bytes(wish.size_bytes)}: with "
            f"its log at most a tenth of what is free, and {format_bytes(MOST_BYTES)}"
        )
    say(f"takes up to {format_duration((longest_s + LONGEST_S) * NS_PER_S)}")
    if beneath.unmapped:
        say(f"will not be kept for `tune` and later weighings: {beneath.unmapped}")
    with private_place(directory) as place:
        say("lay out the files")
        whole = _Bench(fio, place, size_bytes, takes_direct(place))
        bench = whole.lay_out(began + LAY_OUT_S)
        if bench.size_bytes < size_bytes:
            say(f"no more than {format_bytes(bench.size_bytes)} were written in {LAY_OUT_S:.0f} s")
        engine = _engine(bench)
        figures = []
        for number, job in enumerate(every, start=1):
            say(f"{number} of {len(every)}: {job.name}")
            now = wish.within((ends - time.monotonic()) / (len(every) - number + 1))
            report = bench.run(job, engine, now.seconds, now.ramp_s)
            figures.append(figure_of(job, engine, report, processors_worth()))
    return Probe(
        directory=str(directory),
        device=beneath.top,
        members=beneath.members,
        file_system=filesystem(directory).get("type", ""),
        fio=fio.version,
        engine=engine,
        direct=bench.direct,
        size_bytes=bench.size_bytes,
        memory_bytes=memory_bytes().get("MemTotal", 0),
        taken=timestamp,
        seconds=round(time.monotonic() - began, 1),
        figures=tuple(figures),
        drives_before=drives,
        drives_after=read_drives(directory),
    )


def processors_worth() -> float:
    """How many processors' worth of time fio may use at once: a quota may allow a part of one."""
    processors, quota = float(len(allowed_processors())), processor_quota()
    return processors if quota is None else min(processors, quota)


def _engine(bench: _Bench) -> IoEngine:
    """The first of fio's engines that works here. libaio waits where the cache is not bypassed."""
    last: EngineError | None = None
    for engine in ENGINES:
        if engine == "libaio" and not bench.direct:
            continue
        try:
            bench.run(TRIAL, engine, seconds=1, ramp_s=0)
        except EngineError as failure:
            last = failure
        else:
            return engine
    assert last is not None  # ENGINES is not empty
    raise last


def require_directory(directory: Path) -> None:
    """UsageError where it is none that can be probed: a device, a file, in memory, read-only."""
    try:
        mode = directory.stat().st_mode
    except OSError as error:
        raise UsageError(f'could not probe "{directory}": {error.strerror}') from error
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
        raise UsageError(
            f'"{directory}" is a device: probing it would overwrite what is on it',
            hint="Name a directory of a file system on it.",
        )
    if not stat.S_ISDIR(mode):
        raise UsageError(f'"{directory}" is no directory')
    mount = filesystem(directory)
    if mount.get("type") in _IN_MEMORY:
        raise UsageError(
            f'"{directory}" is in memory ({mount["type"]}): there is no storage to probe',
            hint="Name a directory on the device that data would stand on.",
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        read_only = "ro" in mount.get("options", "").split(",")
        reason = "its file system is mounted read-only" if read_only else "it may not be written to"
        raise UsageError(f'could not probe "{directory}": {reason}')


def size_to_use(directory: Path, asked_bytes: int | None = None) -> int:
    """Bytes of the data file; UsageError where there is no room for one that tells anything.

    `asked_bytes`: no more than so many; then less does than a probe needs by itself.
    """
    if asked_bytes is not None and asked_bytes < LEAST_ASKED_BYTES:
        raise UsageError(
            f"{format_bytes(asked_bytes)} are too few to probe with: "
            f"{format_bytes(LEAST_ASKED_BYTES)} are the least"
        )
    free = space(directory).free_bytes
    least = LEAST_BYTES if asked_bytes is None else LEAST_ASKED_BYTES
    size = min(MOST_BYTES, free // SHARE_OF_FREE) - LOG_BYTES
    if asked_bytes is not None:
        size = min(size, asked_bytes)
    if size < least:
        smaller = "or name a smaller file with --size; caches then tell more of it."
        raise UsageError(
            f'"{directory}" has {format_bytes(free)} free, and a probe needs '
            f"{format_bytes(SHARE_OF_FREE * (least + LOG_BYTES))}: its data file of at least "
            f"{format_bytes(least)} and its log of {format_bytes(LOG_BYTES)} take a tenth of what "
            "is free at the most",
            hint="Free some." if asked_bytes is not None else f"Free some, {smaller}",
        )
    return size // (1 << 20) * (1 << 20)


@contextmanager
def private_place(directory: Path) -> Iterator[Path]:
    """A directory of our own inside it, removed at the end whatever happens."""
    _remove_left_behind(directory)
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
    lock = hold(place / MARKER)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        lock.close()


def takes_direct(place: Path) -> bool:
    """Whether the file system opens files past the page cache, and has no other."""
    if filesystem(place).get("type") in _OWN_CACHE:
        return False
    trial = place / "direct"
    try:
        os.close(os.open(trial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_DIRECT, 0o600))
    except OSError:
        return False
    finally:
        trial.unlink(missing_ok=True)
    return True


def _remove_left_behind(directory: Path) -> None:
    for leftover in directory.glob(f"{PREFIX}*"):
        if _is_left_behind(leftover):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_left_behind(place: Path) -> bool:
    marker = place / MARKER
    try:
        ours = place.is_dir() and not place.is_symlink() and marker.is_file()
        return ours and not is_locked(marker)
    except PermissionError:  # another account's, whose next probe removes it
        return False


def save_probe(probe: Probe, cache: Path) -> Path | None:
    """Keep it as the last of its device; its file. None where there is no device to know it by."""
    if not probe.device:
        return None
    file = _file(probe.device, cache)
    OwnDirectory.make(file.parent)
    write_whole(file, json.dumps(probe.to_json()))
    return file


def last_probe(directory: Path, cache: Path) -> Probe | None:
    """The last probe of the device beneath a directory; None: there is none that can be read."""
    device = devices_beneath(directory).top
    if not device:
        return None
    file = _file(device, cache)
    try:
        return Probe.of_json(read_json(file), str(file))
    except (OSError, ValueError, RecordError):
        return None


def why_not_cached(directory: Path) -> str:
    """Why probes of a directory cannot be kept: there is no device to know them by; empty: they
    can."""
    return devices_beneath(directory).unmapped


def age_s(probe: Probe, now: datetime) -> int:
    """Seconds since it was taken; 0 where that is not known, since the clock was set back."""
    return max(0, round((now - datetime.fromisoformat(probe.taken)).total_seconds()))


def probe_facts(directory: Path, cache: Path, now: datetime) -> dict[str, object]:
    """The last probe of a directory's device and its age, as a record's environment has them; empty
    where none is kept."""
    probe = last_probe(directory, cache)
    if probe is None:
        return {}
    return {"probe": probe.to_json(), "probe_age_seconds": age_s(probe, now)}


def _file(device: str, cache: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", device)
    return cache / "probes" / f"{name}-{device_identity(device)}.json"
