"""Finds the block devices beneath a directory, reads what the kernel counts of them, and the
attributes that a directory hands on to what is made in it (chattr(1)).

Two directories of one file system may have other attributes, so that files in them are stored
otherwise: `chattr +C` has btrfs write in place, without checksums, as the mount option nodatacow
does for all.

Sources: Documentation/admin-guide/iostats.rst, Documentation/ABI/stable/sysfs-block;
ioctl_iflags(2), btrfs(5), btrfs-property(8).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from steelyard.engines.memory.control_groups import ROOT, entries_of, matching, text_of
from steelyard.model.readings import device_reading
from steelyard.telemetry.capacity import existing_ancestor, filesystem

SECTOR_BYTES = 512
"""Whatever the block size of the device is."""
_WRAP_MS = 1 << 32
"""Counters of milliseconds have 32 bits."""


@dataclass(frozen=True)
class Devices:
    """The devices beneath a directory: the one that the file system is on, and those it rests on
    in the end; a reason where they cannot be told."""

    top: str = ""
    leaves: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """Those whose requests add up to the file system's own: the top, or every device of a btrfs.
    Leaves count otherwise: a mirror's write on each, a parity's with what it reads."""
    unmapped: str = ""


def devices_beneath(directory: Path, root: Path = ROOT) -> Devices:
    """The devices of the file system that a directory stands on, through partitions, dm and md.

    A file system without a block device of its own number (overlay, tmpfs, nfs, zfs) has none; of
    btrfs the devices of its mount's source are taken.
    """
    mounted = filesystem(directory, root)
    number = os.stat(existing_ancestor(directory)).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    device = root / "sys/dev/block" / name
    visible = os.path.exists(device)  # what a container hides is as what there is not
    if not visible and mounted.get("type") == "btrfs":
        return _of_btrfs(mounted.get("device", ""), root)
    if not visible:
        kind = mounted.get("type", "unknown")
        return Devices(unmapped=f"a file system of type {kind} has no block device to be seen")
    top = _whole(device.resolve())
    return Devices(top.name, tuple(dict.fromkeys(_leaves(top, root))), (top.name,))


def leaves_beneath(directories: Sequence[Path], root: Path = ROOT) -> tuple[str, ...]:
    """The devices that several directories rest on in the end, each once."""
    every = (devices_beneath(directory, root).leaves for directory in directories)
    return tuple(dict.fromkeys(leaf for leaves in every for leaf in leaves))


def device_numbers(names: Sequence[str], root: Path = ROOT) -> dict[str, str]:
    """Device → its number, "254:0"; one that has none is left out."""
    numbers = {name: text_of(root / "sys/class/block" / name / "dev").strip() for name in names}
    return {name: number for name, number in numbers.items() if number}


_IDENTITIES = (
    *("wwid", "device/wwid", "dm/uuid", "md/uuid", "loop/backing_file"),
    *("serial", "device/serial", "device/cid"),
)
"""Files below a block device that name it for good: NVMe, SCSI, a volume, an array, a file; then
virtio, old NVMe, a card."""
_MACHINE = "etc/machine-id"


def device_identity(name: str, root: Path = ROOT) -> str:
    """A digest by which a device of this machine is known again: its name may be another's after
    the next boot, or where the same home directory is mounted elsewhere.

    Of a device that says nothing of itself its size counts; of one that rests on others, theirs.
    """
    machine = text_of(root / _MACHINE).strip()
    return hashlib.sha256(f"{machine} {_identity(name, root)}".encode()).hexdigest()[:16]


def _identity(name: str, root: Path) -> str:
    device = root / "sys/class/block" / name
    texts = (text_of(device / file).strip() for file in _IDENTITIES)
    if own := next(filter(None, texts), ""):
        return own
    beneath = [leaf for leaf in _leaves(device.resolve(), root) if leaf != name]
    return " ".join(sorted(_identity(leaf, root) for leaf in beneath)) or text_of(device / "size")


def _whole(device: Path) -> Path:
    """The device that a partition is a part of."""
    return device.parent if os.path.exists(device / "partition") else device


def _leaves(device: Path, root: Path) -> Iterator[str]:
    parts = entries_of(device / "slaves")
    if not parts:
        yield device.name
    for part in parts:
        yield from _leaves(_whole((root / "sys/class/block" / part.name).resolve()), root)


def _kernel_name(source: str, root: Path) -> str:
    """What the kernel calls a device: "dm-0" of "/dev/mapper/luks-1", "sda2" of
    "/dev/disk/by-label/data"."""
    volume = source.removeprefix("/dev/mapper/")
    for name in matching(root / "sys/class/block", "dm-*/dm/name"):
        if volume != source and text_of(name).strip() == volume:
            return name.parents[1].name
    return (root / source.lstrip("/")).resolve().name


def _of_btrfs(source: str, root: Path) -> Devices:
    """All devices of the btrfs that has a partition or a volume as its source."""
    name = _kernel_name(source, root)
    for members in matching(root / "sys/fs/btrfs", "*/devices"):
        names = [member.name for member in entries_of(members)]
        if name in names:
            block = root / "sys/class/block"
            wholes = [_whole((block / member).resolve()) for member in names]
            leaves = dict.fromkeys(leaf for whole in wholes for leaf in _leaves(whole, root))
            top = _whole((block / name).resolve()).name
            return Devices(top, tuple(leaves), tuple(dict.fromkeys(whole.name for whole in wholes)))
    return Devices(unmapped=f'btrfs of "{source}" is not in /sys/fs/btrfs')


@dataclass(frozen=True)
class DeviceCounts:
    """What a device has counted since it was there: requests, bytes, milliseconds."""

    reads: int = 0
    read_bytes: int = 0
    read_ms: int = 0
    writes: int = 0
    written_bytes: int = 0
    write_ms: int = 0
    in_flight: int = 0
    busy_ms: int = 0
    queued_ms: int = 0
    discards: int | None = 0
    """None, here and below: this kernel does not count them."""
    discarded_bytes: int | None = 0
    discard_ms: int | None = 0
    flushes: int | None = 0
    flush_ms: int | None = 0


def stat_files(name: str, root: Path = ROOT) -> tuple[Path, ...]:
    """Where the kernel keeps the counts of a device; empty where they are turned off
    (`queue/iostats`).

    Before Linux 6.4 an NVMe drive that may have several paths counts nothing, and each of its paths
    what goes through it (d4d957b53d91). The switch is obeyed by devices that have queues of their
    own (blk-mq); volumes count whatever it says.
    """
    block = root / "sys/class/block"
    own = block / name
    if _counts(own):
        return (own / "stat",)
    paths = _nvme_paths(name, block)
    if paths:
        return tuple(path / "stat" for path in paths) if all(map(_counts, paths)) else ()
    return () if os.path.isdir(own / "mq") else (own / "stat",)


def uncounted(names: Iterable[str], root: Path = ROOT) -> str:
    """Which devices count nothing, and what to type; empty: all count."""
    return "; ".join(
        f"{name} counts nothing: echo 1 > /sys/class/block/{name}/queue/iostats"
        for name in names
        if not stat_files(name, root)
    )


def _counts(device: Path) -> bool:
    return text_of(device / "queue/iostats").strip() != "0"


def _nvme_paths(name: str, block: Path) -> list[Path]:
    """The hidden devices of an NVMe drive's paths: nvme0c0n1, nvme0c1n1 of nvme0n1."""
    head = re.fullmatch(r"(nvme[0-9]+)(n[0-9]+)", name)
    return [] if head is None else matching(block, f"{head[1]}c[0-9]*{head[2]}")


def device_counts(name: str, root: Path = ROOT) -> DeviceCounts | None:
    """The counts of a device by its name; None where there is none, or it counts nothing."""
    try:
        return added(
            [
                parse_device_counts(file.read_text(encoding="utf-8"))
                for file in stat_files(name, root)
            ]
        )
    except OSError:
        return None


def parse_device_counts(text: str) -> DeviceCounts:
    """The counts of a stat file.

    Kernels before 4.18 count no discards, before 5.5 no flushes: how many there were is not known.
    """
    numbers = [*map(int, text.split())]
    n, later = [*numbers, *[0] * 11], _later(numbers[11:])
    discards, _, discarded, discard_ms, flushes, flush_ms = later
    return DeviceCounts(
        reads=n[0],
        read_bytes=n[2] * SECTOR_BYTES,
        read_ms=n[3],
        writes=n[4],
        written_bytes=n[6] * SECTOR_BYTES,
        write_ms=n[7],
        in_flight=n[8],
        busy_ms=n[9],
        queued_ms=n[10],
        discards=discards,
        discarded_bytes=None if discarded is None else discarded * SECTOR_BYTES,
        discard_ms=discard_ms,
        flushes=flushes,
        flush_ms=flush_ms,
    )


_LATER_FIELDS = 6
"""Of a stat file, from the twelfth on: four of discards, and two of flushes."""


def _later(numbers: Sequence[int]) -> list[int | None]:
    """What newer kernels count; None where this one does not."""
    return [*numbers, *[None] * _LATER_FIELDS][:_LATER_FIELDS]


def device_use(before: DeviceCounts, after: DeviceCounts) -> DeviceCounts | None:
    """What happened between two readings, with `in_flight` as it stood at the end; None where the
    device was taken away meanwhile, so that its counts began anew."""
    change: dict[str, Any] = {}
    for field in fields(DeviceCounts):
        first, last = getattr(before, field.name), getattr(after, field.name)
        if field.name == "in_flight" or first is None or last is None:
            change[field.name] = last if field.name == "in_flight" else None
            continue
        wraps = field.name.endswith("_ms") and last < first
        change[field.name] = last - first + (_WRAP_MS if wraps else 0)
    began_anew = any(number is not None and number < 0 for number in change.values())
    return None if began_anew else DeviceCounts(**change)


def added(uses: Sequence[DeviceCounts | None]) -> DeviceCounts | None:
    """What several devices did in the same time, added up; None where there is none, or where it is
    not known of one."""
    counts = [use for use in uses if use is not None]
    if not counts or len(counts) < len(uses):
        return None
    total: dict[str, Any] = {}
    for field in fields(DeviceCounts):
        numbers = [getattr(use, field.name) for use in counts]
        total[field.name] = None if None in numbers else sum(numbers)
    return DeviceCounts(**total)


def named_counts(device: str, counts: DeviceCounts) -> dict[str, tuple[str, int]]:
    """Name of a reading → its unit and number, of everything that a device counts.

    What is under way is a level and no count; what this kernel does not count is no reading.
    """
    return {
        device_reading(device, field.name): (_unit(field.name), number)
        for field in fields(DeviceCounts)
        if field.name != "in_flight" and (number := getattr(counts, field.name)) is not None
    }


def _unit(counted: str) -> str:
    end = counted.rpartition("_")[2]
    return end if end in ("bytes", "ms") else "requests"


_GET_FLAGS = 0x80086601
"""FS_IOC_GETFLAGS of 64-bit kernels; alpha, mips, powerpc and sparc have another number."""
_FLAGS = {
    0x00000004: "compress",
    0x00000008: "sync",
    0x00000080: "noatime",
    0x00000400: "nocompress",
    0x00000800: "encrypted",
    0x00004000: "journal-data",
    0x00010000: "dirsync",
    0x00800000: "nocow",
    0x02000000: "dax",
    0x40000000: "casefold",
}
"""Those that are handed on, by their bits in linux/fs.h."""
_PROPERTIES = ("btrfs.", "bcachefs.")
"""Extended attributes by which a file system is told how to store what is in a directory."""


def handed_on(directory: Path) -> tuple[str, ...]:
    """`("nocow",)`: what files in a directory will have of it; empty where it cannot be told."""
    return (*_flags(directory), *_properties(directory))


def _flags(directory: Path) -> list[str]:
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        answer = fcntl.ioctl(opened, _GET_FLAGS, bytes(8))
    except OSError:  # this file system has none
        return []
    finally:
        os.close(opened)
    flags: int = struct.unpack("=I", answer[:4])[0]  # the kernel writes an int
    return [name for bit, name in _FLAGS.items() if flags & bit]


def _properties(directory: Path) -> list[str]:
    try:
        names = [name for name in os.listxattr(directory) if name.startswith(_PROPERTIES)]
        values = {name: os.getxattr(directory, name) for name in sorted(names)}
    except OSError:
        return []
    return [f"{name}={value.decode(errors='replace')}" for name, value in values.items()]
