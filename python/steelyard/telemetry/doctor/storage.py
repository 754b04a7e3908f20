"""Checks of the storage beneath a directory for data: device, file system, room, durable writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Set

from steelyard.model.units import NS_PER_US, format_bytes, format_duration
from steelyard.record.machine import ONCE_AT_THRESHOLD, DriveHealth
from steelyard.telemetry.capacity import filesystem, space
from steelyard.telemetry.devices import device_counts, devices_beneath, uncounted
from steelyard.telemetry.doctor.finding import Check, HostFacts, HostFinding, Level, bracketed_word

FASTEST_SYNC_US = 20.0
SLOWEST_SYNC_US = 5000.0
LEAST_ROOM_BYTES = 5 << 30
WORN_PERCENT = 100
"""Of its endurance: a drive that has used all of it may go on working, or not."""
_NVME, _DISK = ("none", "noop"), ("mq-deadline", "deadline")
"""Schedulers, the better one first: those without mq- are of kernels before 5.0."""
_COPIES = frozenset({"btrfs", "zfs", "bcachefs"})
_NO_DISK = frozenset({"tmpfs", "ramfs", "devtmpfs", "proc", "sysfs"})
_ELSEWHERE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "overlay", "ceph", "lustre", "afs", "vboxsf"}
)
_BY_A_PROGRAM = ("fuse", "fuseblk")
_UNSAFE = frozenset({"nobarrier", "barrier=0", "data=writeback"})
_SLOW = frozenset({"sync", "discard", "strictatime"})


def scheduler(host: HostFacts) -> HostFinding:
    """The I/O scheduler of every device beneath."""
    devices = devices_beneath(host.directory, host.root)
    offered = {
        name: host.text(f"sys/class/block/{name}/queue/scheduler") for name in devices.leaves
    }
    modes = {name: bracketed_word(text) for name, text in offered.items()}
    level: Level = "good"
    if not devices.leaves:
        level = "unseen"
    elif "bfq" in modes.values():
        level = "warning"
    elif any(
        name.startswith("nvme") and mode not in (*_NVME, None) for name, mode in modes.items()
    ):
        level = "note"
    state = ", ".join(f"{name}: {mode or 'none to choose'}" for name, mode in modes.items())
    advice = "; ".join(
        f"echo {better} > /sys/class/block/{name}/queue/scheduler"
        for name, text in offered.items()
        if (better := _better_scheduler(name, modes[name], text or "")) is not None
    )
    return HostFinding(
        "I/O scheduler",
        level,
        state or devices.unmapped,
        "work that waits for the disk: bfq is fair between processes at a cost in requests a "
        "second, and NVMe needs none of them",
        advice or "none needed",
        "Documentation/block; postgresqltuner",
    )


def _better_scheduler(name: str, mode: str | None, offered: str) -> str | None:
    """The best that a device offers; None: it has that, or what is as good."""
    nvme = name.startswith("nvme")
    if mode is None or mode in _NVME or (not nvme and mode in _DISK):
        return None
    words = offered.replace("[", "").replace("]", "").split()
    return next((word for word in (_NVME if nvme else (*_DISK, *_NVME)) if word in words), None)


def file_system(host: HostFacts) -> HostFinding:
    """The file system and its options."""
    mounted = filesystem(host.directory, host.root)
    kind, options = mounted.get("type", ""), set(mounted.get("options", "").split(","))
    level: Level = "good"
    if not kind:
        level = "unseen"
    elif _is_elsewhere(kind) or options & _UNSAFE:
        level = "warning"
    elif kind in _COPIES or options & _SLOW or not options & {"noatime", "relatime"}:
        level = "note"
    odd = sorted(options & (_UNSAFE | _SLOW))
    return HostFinding(
        "file system",
        level,
        f"{kind} on {mounted.get('mount')}{': ' if odd else ''}{', '.join(odd)}"
        if kind
        else "unknown",
        "work that writes: tmpfs has no disk to wait for; overlay copies a file at its first "
        "change; copy-on-write scatters what is overwritten; discard sends one for every log "
        "segment that is removed; without barriers a commit is not durable",
        _mount_advice(kind, options, mounted.get("mount", "")),
        "PostgreSQL docs, 29.1; ext4(5), xfs(5)",
    )


def _is_elsewhere(kind: str) -> bool:
    """Whether writes go to memory, another machine, another file system, or through a program."""
    return kind in _NO_DISK | _ELSEWHERE or kind.partition(".")[0] in _BY_A_PROGRAM


def _mount_advice(kind: str, options: Set[str], mount: str) -> str:
    """What to do about a file system, or about options of one that is right."""
    if _is_elsewhere(kind) or kind in _COPIES:
        return "ext4 or xfs on the device that is asked about: STEELYARD_CACHE names the place"
    advice = []
    if odd := sorted(options & (_UNSAFE | _SLOW)):
        advice.append(f"mount {mount} without {', '.join(odd)}")
    if "discard" in options:
        advice.append("fstrim once a week does the same (fstrim.timer)")
    if not options & {"noatime", "relatime"}:
        advice.append(f"mount -o remount,noatime {shlex.quote(mount)}")
    return "; ".join(advice) or "none needed"


def write_cache(host: HostFacts) -> HostFinding:
    """Whether the device keeps writes in a cache, and is told to flush it."""
    leaves = devices_beneath(host.directory, host.root).leaves
    modes = {name: host.text(f"sys/class/block/{name}/queue/write_cache") for name in leaves}
    cached = [name for name, mode in modes.items() if mode == "write back"]
    counts = {name: device_counts(name, host.root) for name in cached}
    unflushed = [
        name for name, count in counts.items() if count and count.writes and count.flushes == 0
    ]
    unknown = [name for name, count in counts.items() if count and count.flushes is None]
    silent = uncounted(leaves, host.root)
    level: Level = "unseen" if unknown or silent or not any(modes.values()) else "good"
    level = "warning" if unflushed else level
    clauses = [", ".join(f"{name}: {mode}" for name, mode in modes.items() if mode)]
    if unflushed:
        clauses.append(f"no flush ever on {', '.join(unflushed)}")
    if unknown:
        clauses.append(
            f"this kernel does not count flushes of {', '.join(unknown)} (Linux 5.5 and later do)"
        )
    state = "; ".join(filter(None, (*clauses, silent)))
    return HostFinding(
        "write cache",
        level,
        state or "it cannot be seen",
        "durable commits: a cache that is never flushed says durable and is not, and every figure "
        "of commits is too good",
        "mount with barriers; a device with power-loss protection may say write through",
        "Documentation/block/writeback_cache_control.rst",
    )


def drive_health(host: HostFacts) -> HostFinding:
    """What the drives say of their own health."""
    drives = [drive for drive in host.drives if drive.source]
    level: Level = "unseen"
    if any({*drive.warnings} - {ONCE_AT_THRESHOLD} for drive in drives):
        level = "warning"
    elif any(_has_suffered(drive) for drive in drives):
        level = "note"
    elif any("warnings" in drive.model_fields_set for drive in drives):
        level = "good"
    state = "; ".join(", ".join(_health_words(drive)) for drive in host.drives)
    return HostFinding(
        "drive health",
        level,
        state or "it was not read",
        "work that waits for the disk: a hot drive slows itself down, a worn or failing one "
        "repeats and repairs, both at times of their own",
        "cool it, or save what is on it and take another; `smartctl -x` tells more",
        "NVMe base specification, SMART / health information; smartctl(8)",
    )


def _has_suffered(drive: DriveHealth) -> bool:
    """Whether there is something in its life that a weighing should know of."""
    worn = (drive.used_percent or 0) >= WORN_PERCENT
    hot = drive.warning_temperature_min or drive.critical_temperature_min
    throttled = drive.light_throttling_count or drive.heavy_throttling_count
    return bool(worn or hot or throttled or drive.media_errors or drive.warnings)


def _health_words(drive: DriveHealth) -> Iterator[str]:
    """A drive in a few words; what is zero is left out."""
    yield ": ".join(part for part in (drive.device or "no drive", drive.model) if part)
    if drive.temperature_celsius is not None:
        yield f"{drive.temperature_celsius} °C"
    if drive.used_percent is not None:
        yield f"{drive.used_percent} % of its endurance used"
    if drive.spare_percent is not None:
        yield f"spare {drive.spare_percent} %"
    for count, label in (
        (drive.media_errors, "media errors"),
        (drive.light_throttling_count, "times throttled lightly"),
        (drive.heavy_throttling_count, "times throttled heavily"),
        (drive.warning_temperature_min, "min above its warning temperature"),
        (drive.critical_temperature_min, "min above its critical temperature"),
    ):
        if count:
            yield f"{count} {label}"
    yield from drive.warnings
    if drive.why_not:
        yield drive.why_not


def durable_write(host: HostFacts) -> HostFinding:
    """How long a write takes until it is safe on the device."""
    took = host.lately.sync_us
    level: Level = "unseen"
    state = "it was not measured"
    if took is not None:
        level = (
            "warning" if took < FASTEST_SYNC_US else "note" if took > SLOWEST_SYNC_US else "good"
        )
        state = f"{format_duration(took * NS_PER_US)} (median) for 8 kB"
    return HostFinding(
        "durable write",
        level,
        state,
        "work that commits: below 20 µs nothing reached a device; above 5 ms commits are all that "
        "is measured, and what an arm costs on a processor is lost in them",
        "look at write cache and file system, above"
        if level == "warning"
        else "a device with power-loss protection, or synchronous_commit = off in all arms where "
        "durability is not the question",
        "pg_test_fsync: fdatasync of an overwritten block",
    )


def room(host: HostFacts) -> HostFinding:
    """Room for data directories."""
    disk = space(host.directory)
    level: Level = "warning" if disk.free_bytes < LEAST_ROOM_BYTES else "good"
    return HostFinding(
        "room on disk",
        level,
        f"{format_bytes(disk.free_bytes)} of {format_bytes(disk.total_bytes)} free",
        "work that writes: each arm has a data directory and log of its own, and a full disk ends "
        "the weighing",
        "free some, or set STEELYARD_CACHE to a place that has it",
        "5 GB: two copies of 750 MB with their log",
    )


def open_files(host: HostFacts) -> HostFinding:
    """How many files a process may have open."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    level: Level = "warning" if hard != resource.RLIM_INFINITY and hard < 1024 else "good"
    return HostFinding(
        "open files",
        level,
        f"{soft}, at most {'any' if hard == resource.RLIM_INFINITY else hard}",
        "loads with many clients: the driver needs one a connection, a server some dozens each",
        "ulimit -n, LimitNOFILE= in a unit",
        "getrlimit(2)",
    )


def rights(host: HostFacts) -> HostFinding:
    """Whether servers can be placed, and their use be read."""
    root, state = os.geteuid() == 0, "root"
    level: Level = "good"
    if not root:
        level, state = "note", "an ordinary user: servers run under it too"
    scope = host.number("proc/sys/kernel/yama/ptrace_scope")
    paranoid = host.number("proc/sys/kernel/perf_event_paranoid")
    state += "" if scope is None else f", ptrace_scope {scope}"
    state += "" if paranoid is None else f", perf_event_paranoid {paranoid}"
    return HostFinding(
        "rights",
        level,
        state,
        "reading what servers of another account use; as an ordinary user everything but clearing "
        "other accounts' caches is there",
        "none needed",
        "proc(5): /proc/PID/io; perf_event_open(2)",
    )


def pressure(host: HostFacts) -> HostFinding:
    """Whether the kernel tells how long tasks stood still for want of something."""
    files = host.every("proc/pressure/*")
    return HostFinding(
        "pressure (PSI)",
        "good" if files else "unseen",
        ", ".join(path.rpartition("/")[2] for path in files)
        or "this kernel keeps none, or hides it",
        "doubts about the machine: without it only stolen and throttled time tell that others "
        "were in the way",
        "boot with psi=1",
        "Documentation/accounting/psi.rst",
    )


CHECKS: tuple[Check, ...] = (
    *(scheduler, file_system, write_cache, drive_health, durable_write, room),
    *(open_files, rights, pressure),
)
