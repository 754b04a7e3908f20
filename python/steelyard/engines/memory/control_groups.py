"""Finds the control groups of this process, v1 and v2, reads their files, and writes the rates that
they hold the disk of a server to.

Inside a container the path that /proc/self/cgroup names may lie above the mount that is seen;
then the root of that mount is the group.

In version 2 and in scopes of systemd memory and disk are limits of one group. In version 1 the disk
has a group of its own, into which a server's processes are moved when it has started: those that
are forked later begin there. Source: Documentation/admin-guide/cgroup-v2.rst (io.max),
cgroup-v1/blkio-controller.rst, systemd.resource-control(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from steelyard.engines.capabilities.memory import DiskLimits

ROOT = Path("/")


def own_groups(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """The directories of this process's group for a controller, then its ancestors', v1 and v2."""
    return groups_in(text_of(root / "proc/self/cgroup"), controller, root)


def groups_in(listing: str, controller: str, root: Path = ROOT) -> Iterator[Path]:
    """The same of the process whose /proc/PID/cgroup is `listing`."""
    base = root / "sys/fs/cgroup"
    for line in listing.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [base, base / "unified"]
        elif controller in controllers.split(","):
            mounts = [base / controllers, base / controller]
        else:
            continue
        mount = next((each for each in mounts if os.path.exists(each / "cgroup.procs")), None)
        if mount is not None:
            yield from _ancestry(mount, path.strip("/"))


def _ancestry(mount: Path, path: str) -> Iterator[Path]:
    group = mount / path
    while group != mount:
        if os.path.isdir(group):
            yield group
        group = group.parent
    yield mount


def entries_of(directory: Path) -> list[Path]:
    """What a directory of the kernel holds, by name; nothing where it cannot be read, as a
    container's runtime hides parts of /sys and /proc."""
    try:
        return [directory / name for name in sorted(os.listdir(directory))]
    except OSError:
        return []


def matching(directory: Path, pattern: str) -> list[Path]:
    """What the kernel has below a directory by a pattern of glob(7), by name; what is hidden is
    left out, as `Path.glob` does not everywhere."""
    return [directory / name for name in sorted(glob(pattern, root_dir=directory))]


def text_of(path: Path) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def words_of(path: Path) -> list[str]:
    """A file's words; none where it cannot be read."""
    return text_of(path).split()


def pairs_of(text: str) -> dict[str, int]:
    """`name value` lines; others are passed over."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


_V1 = {
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
    "read_rate": "blkio.throttle.read_bps_device",
    "write_rate": "blkio.throttle.write_bps_device",
}
_V2 = {"read_iops": "riops", "write_iops": "wiops", "read_rate": "rbps", "write_rate": "wbps"}
_SYSTEMD = {
    "read_iops": "IOReadIOPSMax",
    "write_iops": "IOWriteIOPSMax",
    "read_rate": "IOReadBandwidthMax",
    "write_rate": "IOWriteBandwidthMax",
}


def v1_limits(limits: DiskLimits) -> Iterator[tuple[str, str]]:
    """File of a group of version 1 → what is written to it, each by itself."""
    for name, value in limits.rates.items():
        for number in limits.devices.values():
            yield _V1[name], f"{number} {value}"


def v2_limits(limits: DiskLimits) -> Iterator[tuple[str, str]]:
    """The same of version 2: a line a device."""
    rates = " ".join(f"{_V2[name]}={value}" for name, value in limits.rates.items())
    for number in limits.devices.values():
        yield "io.max", f"{number} {rates}"


def scope_properties(limits: DiskLimits) -> list[str]:
    """Options of systemd-run."""
    return [
        f"--property={_SYSTEMD[name]}=/dev/{device} {value}"
        for name, value in limits.rates.items()
        for device in limits.devices
    ]


def lacking_rates(limits: DiskLimits, group: Path) -> list[str]:
    """What a group of version 2 does not hold of the rates, as its io.max would have it: a manager
    that was not handed the io controller leaves them out, with a warning at most."""
    try:
        lines = (group / "io.max").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    by_device = (line.partition(" ")[::2] for line in lines)
    limits_of = {number: rest.split() for number, rest in by_device}
    rates = [f"{_V2[name]}={value}" for name, value in limits.rates.items()]
    return [
        f"{number} {rate}"
        for number in limits.devices.values()
        for rate in rates
        if rate not in limits_of.get(number, ())
    ]


def admit(members: Path, group: Path) -> None:
    """Move every process of a group into another of version 1. OSError.

    One that is forked meanwhile by a process that was not moved yet is seen in the next round.
    """
    while waiting := _processes(members) - _processes(group):
        for pid in waiting:
            try:
                (group / "cgroup.procs").write_text(str(pid))
            except ProcessLookupError:  # it has ended
                continue


def _processes(group: Path) -> set[int]:
    return {int(word) for word in (group / "cgroup.procs").read_text().split()}
