"""Says how much room a file system has, and what kind it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from steelyard.telemetry.cgroup import ROOT


@dataclass(frozen=True)
class Space:
    """Bytes of the file system that a path stands on; `free` is what this user may take."""

    free_bytes: int
    total_bytes: int


def space(path: Path) -> Space:
    """Room where `path` is or would be: that of its nearest existing ancestor."""
    status = os.statvfs(_standing(path))
    return Space(
        free_bytes=status.f_bavail * status.f_frsize,
        total_bytes=status.f_blocks * status.f_frsize,
    )


def filesystem(path: Path, root: Path = ROOT) -> dict[str, str]:
    """`{"mount", "type", "device", "options"}` of the mount `path` is on; empty when unknown.

    Source: /proc/self/mountinfo (proc_pid_mountinfo(5)); the longest mount point wins, and of
    equals the last, which covers those before it.
    """
    target = _standing(path).resolve()
    best: dict[str, str] = {}
    try:
        lines = (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return best
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ")
        if not target.is_relative_to(mount) or len(mount) < len(best.get("mount", "")):
            continue
        kind, device, *options = after.split()
        best = {
            "mount": mount,
            "type": kind,
            "device": device,
            "options": ",".join([before.split()[5], *options]),
        }
    return best


def _standing(path: Path) -> Path:
    absolute = path.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())
