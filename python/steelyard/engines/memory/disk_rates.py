"""Holds a server to rates of its disk by the control group that holds its memory.

In version 2 and in scopes of systemd memory and disk are limits of one group. In version 1 the disk
has a group of its own, into which a server's processes are moved when it has started: those that
are forked later begin there. Source: Documentation/admin-guide/cgroup-v2.rst (io.max),
cgroup-v1/blkio-controller.rst, systemd.resource-control(5).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.engines.capabilities.memory import DiskLimits

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
