"""Probes the storage beneath a directory: lays files out, finds fio's engine, runs every job."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from steelyard.model.errors import EngineError
from steelyard.record.probe import IoEngine, Probe, ProbeFigure
from steelyard.telemetry.capacity import allowed_processors, filesystem
from steelyard.telemetry.cgroup import ROOT
from steelyard.telemetry.devices import devices_beneath
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
TRIAL = Job("trial", "randread")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """How long each job is measured, after what time, and on how much data."""

    seconds: float = 9.0
    ramp_s: float = 2.0
    size_bytes: int | None = None


def probe(directory: Path, wish: Wish, say: Say) -> Probe:
    """What the storage beneath a directory does; `say` is told each job before it runs.

    UsageError: there is no fio, or the directory cannot be probed; EngineError: fio failed.
    """
    require_directory(directory)
    directory = directory.resolve()  # fio runs in a directory of its own
    size_bytes = size_to_use(directory, wish.size_bytes)
    fio, began = find_fio(), time.monotonic()
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    with private_place(directory) as place:
        direct = takes_direct(place)
        say("lay out the files")
        for file, amount in ((DATA, size_bytes), (LOG, LOG_BYTES)):
            text = job_file("lay out", layout_options(file, amount, SEED), str(place))
            run_job(fio, place, text, seconds=amount / 10e6)
        engine = _engine(fio, place, size_bytes, direct=direct)
        figures = []
        every = jobs(len(allowed_processors()))
        for number, job in enumerate(every, start=1):
            say(f"{number} of {len(every)}: {job.name}")
            figures.append(_figure(fio, place, job, engine, size_bytes, wish, direct=direct))
    return Probe(
        directory=str(directory),
        device=devices_beneath(directory).top,
        file_system=filesystem(directory).get("type", ""),
        fio=fio.version,
        engine=engine,
        direct=direct,
        size_bytes=size_bytes,
        memory_bytes=_memory_bytes(),
        taken=taken,
        seconds=round(time.monotonic() - began, 1),
        figures=tuple(figures),
    )


def _engine(fio: Fio, place: Path, size_bytes: int, *, direct: bool) -> IoEngine:
    """The first of fio's engines that works here. libaio waits where the cache is not bypassed."""
    last: EngineError | None = None
    for engine in ENGINES:
        if engine == "libaio" and not direct:
            continue
        given = options(
            TRIAL, engine, direct=direct, size_bytes=size_bytes, seconds=1, ramp_s=0, seed=SEED
        )
        try:
            run_job(fio, place, job_file(TRIAL.name, given, str(place)), seconds=1)
        except EngineError as failure:
            last = failure
        else:
            return engine
    assert last is not None  # ENGINES is not empty
    raise last


def _figure(
    fio: Fio,
    place: Path,
    job: Job,
    engine: IoEngine,
    size_bytes: int,
    wish: Wish,
    *,
    direct: bool,
) -> ProbeFigure:
    given = options(
        job,
        engine,
        direct=direct,
        size_bytes=size_bytes,
        seconds=wish.seconds,
        ramp_s=wish.ramp_s,
        seed=SEED,
    )
    text = job_file(job.name, given, str(place))
    return figure_of(job, engine, run_job(fio, place, text, wish.seconds + wish.ramp_s))


def _memory_bytes(root: Path = ROOT) -> int:
    text = (root / "proc/meminfo").read_text(encoding="ascii")
    return int(text.split("MemTotal:", 1)[1].split(maxsplit=1)[0]) * 1024
