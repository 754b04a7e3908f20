"""Probes the storage beneath a directory: lays files out, finds fio's engine, runs every job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.model.errors import EngineError
from steelyard.record.machine.probe import IoEngine, Probe
from steelyard.telemetry.capacity import allowed_processors, filesystem
from steelyard.telemetry.devices import devices_beneath
from steelyard.telemetry.drives.reading import read_drives
from steelyard.telemetry.host import memory_bytes
from steelyard.tuning.probe.fio import ENGINES, Fio, figure_of, find_fio, run_job
from steelyard.tuning.probe.jobs import (
    DATA,
    LOG,
    LOG_BYTES,
    Job,
    job_file,
    jobs,
    layout_options,
    options,
)
from steelyard.tuning.probe.place import private_place, require_directory, size_to_use, takes_direct

SEED = 20260101
SLOWEST_BYTES_PER_S = 10e6
"""At which files are laid out at the slowest, before a device counts as stuck."""
TRIAL = Job("trial", "randread")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """How long each job is measured, after what time, and on how much data."""

    seconds: float = 9.0
    ramp_s: float = 2.0
    size_bytes: int | None = None


@dataclass(frozen=True)
class _Bench:
    """fio in a place of our own, and the files that it is given there."""

    fio: Fio
    place: Path
    size_bytes: int
    direct: bool

    def lay_out(self) -> None:
        """Write the files that all jobs use."""
        for file, amount in ((DATA, self.size_bytes), (LOG, LOG_BYTES)):
            text = job_file("lay out", layout_options(file, amount, SEED), str(self.place))
            run_job(self.fio, self.place, text, seconds=amount / SLOWEST_BYTES_PER_S)

    def run(self, job: Job, engine: IoEngine, seconds: float, ramp_s: float) -> Mapping[str, Any]:
        """What fio says of a job."""
        given = options(
            job,
            engine,
            direct=self.direct,
            size_bytes=self.size_bytes,
            seconds=seconds,
            ramp_s=ramp_s,
            seed=SEED,
        )
        text = job_file(job.name, given, str(self.place))
        return run_job(self.fio, self.place, text, seconds + ramp_s)


def probe(directory: Path, wish: Wish, say: Say) -> Probe:
    """What the storage beneath a directory does; `say` is called with each job before it runs.

    UsageError: there is no fio, or the directory cannot be probed; EngineError: fio failed.
    """
    require_directory(directory)
    directory = directory.resolve()  # fio runs in a directory of its own
    size_bytes = size_to_use(directory, wish.size_bytes)
    fio, drives, began = find_fio(), read_drives(directory), time.monotonic()
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    with private_place(directory) as place:
        bench = _Bench(fio, place, size_bytes, takes_direct(place))
        say("lay out the files")
        bench.lay_out()
        engine = _engine(bench)
        figures = []
        every = jobs(len(allowed_processors()))
        for number, job in enumerate(every, start=1):
            say(f"{number} of {len(every)}: {job.name}")
            found = bench.run(job, engine, wish.seconds, wish.ramp_s)
            figures.append(figure_of(job, engine, found))
    return Probe(
        directory=str(directory),
        device=devices_beneath(directory).top,
        file_system=filesystem(directory).get("type", ""),
        fio=fio.version,
        engine=engine,
        direct=bench.direct,
        size_bytes=size_bytes,
        memory_bytes=memory_bytes().get("MemTotal", 0),
        taken=taken,
        seconds=round(time.monotonic() - began, 1),
        figures=tuple(figures),
        drives_before=drives,
        drives_after=read_drives(directory),
    )


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
