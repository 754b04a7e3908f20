"""Caps the memory of all arms alike, or refuses a cap that cannot hold or that an arm would escape.

A cap holds shared buffers, which nothing can drop, some memory of each backend, and page cache in
what is left. Below the first two the kernel has nothing to free and kills.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.engines.cache import require_room
from steelyard.engines.capabilities.memory import DiskLimits, MemoryNeed, NeedsMemory
from steelyard.engines.engine import Engine
from steelyard.model.errors import EngineError, StudyError
from steelyard.model.units import format_bytes
from steelyard.record.machine import DiskPlan, MemoryPlan
from steelyard.running.laboratory import Laboratory
from steelyard.study.disk import DiskRates
from steelyard.study.study import Study

CLIENT_BYTES = 10 << 20
"""Of a backend's own memory, with its page tables; without huge pages these are 2 MB more for each
GB of shared buffers that it has touched."""
_STEP_BYTES = 1 << 20


def cap_memory(
    study: Study, engines: Mapping[str, Engine], laboratory: Laboratory, *, at_once: int
) -> MemoryPlan | None:
    """Hold every slot's server under the study's cap from now on; None where it has none.

    `at_once`: servers that are under load at a time. StudyError: the cap cannot be, with what would
    work; EngineError: this process has no right to hold it.
    """
    size = study.memory
    if size is None:
        _require_no_disk(study)
        return None
    for arm in study.every_arm:
        engine = engines[arm.name]
        if not isinstance(engine, NeedsMemory):
            raise StudyError(
                f'engine "{engine.identity.kind}" cannot cap the memory of its servers',
                hint='Leave out "memory".',
            )
        need = engine.memory_need(study.settings_of(arm))
        _require_pool(study, arm.name, need, size)
        _require_no_escape(arm.name, need, laboratory.host.huge_pages_free())
    _require_room(size, laboratory, at_once)
    if study.disk is None:
        return MemoryPlan(cap_bytes=size, held_by=laboratory.engines.cap_memory(size))
    return _with_disk(size, study.disk, laboratory)


def _require_no_disk(study: Study) -> None:
    if study.disk is not None:
        raise StudyError(
            '"disk" needs "memory": without a cap the page cache answers, and no request waits',
            hint="--set memory=400MB, less than the data of an arm",
        )


def _with_disk(size: int, rates: DiskRates, laboratory: Laboratory) -> MemoryPlan:
    """Memory and disk held together. EngineError: no device, or no group holds what is asked."""
    devices = laboratory.engines.devices()
    if not devices:
        raise EngineError(
            "cannot hold the disk of the arms to a rate: their file system has no block device "
            "to be seen",
            hint="--set directory=DIR, on a file system of a disk",
        )
    disk = DiskPlan(devices=tuple(devices), **rates.model_dump())
    by = laboratory.engines.cap_memory(size, DiskLimits(devices, disk.rates))
    if by == "v1" and (disk.write_iops or disk.write_rate):
        raise StudyError(
            "control groups of version 1 cannot hold writes to a rate: the page cache takes them",
            hint="Hold reads alone (disk.read_iops, disk.read_rate), or boot with version 2.",
        )
    return MemoryPlan(cap_bytes=size, held_by=by, disk=disk)


def _require_pool(study: Study, arm: str, need: MemoryNeed, size: int) -> None:
    clients = study.workload.clients
    least = need.pool_bytes + clients * CLIENT_BYTES
    if size >= least:
        return
    hint = f"--set memory={_megabytes(least)}"
    left = size - clients * CLIENT_BYTES
    if left >= _STEP_BYTES:
        hint += f", or --set settings.{need.settings.pool_of(left // _STEP_BYTES)}"
    raise StudyError(
        f'"memory" is too small for arm "{arm}": {format_bytes(size)}, '
        f"and it needs at least {format_bytes(least)}",
        detail=f"{need.settings.pool} takes {format_bytes(need.pool_bytes)}, "
        f"{clients} clients about {format_bytes(CLIENT_BYTES)} each.",
        hint=hint,
    )


def _require_no_escape(arm: str, need: MemoryNeed, free: int) -> None:
    if need.huge_pages == "off" or (need.huge_pages == "try" and not free):
        return
    clause = f", and {free} huge pages are free" if need.huge_pages == "try" else ""
    setting = need.settings.huge_pages
    raise StudyError(
        f'"memory" would not hold arm "{arm}": {setting} is {need.huge_pages}{clause}',
        detail=f"No cap counts huge pages: the arm would have its {need.settings.pool} beside it.",
        hint=f"--set settings.{setting}=off",
    )


def _require_room(size: int, laboratory: Laboratory, at_once: int) -> None:
    host = laboratory.host.sample()
    if size > host.memory_total_bytes:
        raise StudyError(
            f'"memory" is more than this machine has: {format_bytes(size)} '
            f"of {format_bytes(host.memory_total_bytes)}",
            hint='Leave out "memory": without it an arm may have what there is.',
        )
    free = host.memory_available_bytes
    servers = "one server" if at_once == 1 else f"{at_once} servers at once"
    fits = _megabytes(free // at_once // _STEP_BYTES * _STEP_BYTES)
    require_room(
        f'"memory" does not fit {servers}',
        at_once * size,
        free,
        detail="A cap that the machine cannot give is not the same for all arms.",
        hint=f"--set memory={fits}"
        + (", or one arm at a time: --set layout=turns" if at_once > 1 else ""),
        error=StudyError,
    )


def _megabytes(size: int) -> str:
    """As a study has it, rounded up."""
    return f"{-(-size // _STEP_BYTES)}MB"
