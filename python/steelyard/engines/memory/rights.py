"""Finds out how this process can cap the memory of a server, by starting a program under a cap.

Where systemd manages the control groups of version 2 a scope is requested from it, since the groups
beside it are not ours to change; version 1 and machines without systemd have groups that we make. A
group of version 2 that has processes can have no capped groups beneath it, so ours stand beside it,
under the nearest ancestor that hands memory on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.memory import DiskLimits, MemoryCap
from steelyard.engines.memory.control_groups import ROOT, own_groups, words_of
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError

_DISK_HINT = (
    "Weigh as root with control groups that have the io controller (version 2: io in "
    "cgroup.subtree_control; version 1: blkio), or put all arms on a device that is slow by "
    "itself: --set directory=/mnt/slow (dm-delay, a volume of a cloud)."
)
_HINT = (
    "Weigh as root, or where systemd-run --scope can be used. Without that right "
    "--set memory=none --set settings.debug_io_direct=data bypasses the page cache in place of a "
    "cap: another system than one in use, which the report says."
)


def choose_cap(
    size_bytes: int,
    account: Account,
    directory: Path,
    root: Path = ROOT,
    disk: DiskLimits | None = None,
) -> MemoryCap:
    """A cap that was tried with a program of the account; EngineError: what was refused.

    `directory`: of the weighing, in which the trial has a place for a moment. `disk`: rates beside
    the cap.
    """
    refused = []
    for candidate in _candidates(size_bytes, root):
        cap = replace(candidate, disk=disk)
        why = _trial(cap, account, directory / "memory-trial", root)
        if not why:
            return cap
        refusal = f"{cap.by}{f' in {cap.parent}' if cap.parent else ''}: {why}"
        refused += [] if refusal in refused else [refusal]
    what = "the memory of servers" if disk is None else "the memory of servers and their disk"
    raise EngineError(
        f"cannot cap {what}: this process has no right to make a control group",
        detail="; ".join(refused) or "No control group here hands the memory controller on.",
        hint=_HINT if disk is None else _DISK_HINT,
    )


def _candidates(size_bytes: int, root: Path) -> Iterator[MemoryCap]:
    groups = list(own_groups("memory", root))
    for group in groups:
        if os.path.exists(group / "memory.limit_in_bytes"):
            yield MemoryCap(size_bytes, "v1", group)
    if _systemd_is_there(root):
        yield MemoryCap(size_bytes, "systemd-run", oom_policy=True)
        yield MemoryCap(size_bytes, "systemd-run")  # an older one, which refuses the property
    for group in groups:
        if "memory" in words_of(group / "cgroup.subtree_control"):
            yield MemoryCap(size_bytes, "v2", group)


def _systemd_is_there(root: Path) -> bool:
    """Whether the manager that serves this account runs: of the system for root, else the user's
    (sd_booted(3), systemd-run(1))."""
    if not shutil.which("systemd-run"):
        return False
    if os.geteuid() == 0:
        return os.path.isdir(root / "run/systemd/system")
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(runtime) and os.path.exists(Path(runtime) / "systemd/private")


def _trial(cap: MemoryCap, account: Account, slot: Path, root: Path) -> str:
    """Why a program cannot be started under a cap; empty: it can."""
    program = shutil.which("true") or "/bin/true"
    try:
        group = MemoryGroup.make(cap, slot, root)
        try:
            status, output = run(account, [program], group=group)
        finally:
            group.close()
    except EngineError as failure:
        refused = failure.__cause__
        by_kernel = refused.strerror if isinstance(refused, OSError) else None
        return by_kernel or failure.primary
    finally:
        shutil.rmtree(slot, ignore_errors=True)
    return "" if status == 0 else output.strip() or f"status {status}"
