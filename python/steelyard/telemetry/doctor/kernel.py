"""Checks of the kernel: how it preempts, whether io_uring may be used, what else is measured."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource

from steelyard.engines.memory.control_groups import ROOT
from steelyard.model.units import format_bytes
from steelyard.telemetry.doctor.finding import Check, HostFacts, HostFinding, Lately, Level
from steelyard.telemetry.host import hidden_processes, memory_bytes, other_loads

LAZY_BY_DEFAULT = (7, 0)
"""From this Linux on processors of most kinds have full and lazy preemption alone."""
CHARGED_TO_GROUPS = (5, 12)
"""From this Linux on rings are charged to the control group, and no longer to RLIMIT_MEMLOCK."""
RING_BYTES = 16 << 10
"""Of one process, with the 64 requests that io_max_concurrency allows at most by itself."""
PROCESSES = 150
_MEMLOCK = (
    f"ulimit -l {PROCESSES * RING_BYTES >> 10}, LimitMEMLOCK= in a unit, "
    "docker run --ulimit memlock=-1, or Linux 5.12 or later"
)
_UNFILTERED = (
    "in a container: --security-opt seccomp=unconfined, or a profile that allows "
    "io_uring_setup, io_uring_enter and io_uring_register"
)
_PREEMPT = "sys/kernel/debug/sched/preempt"
_MODES = ("none", "voluntary", "full", "lazy")
_SETUP = 425
"""io_uring_setup(2), by the same number on every architecture but alpha."""
_PARAMETERS_BYTES = 120


def preemption(host: HostFacts) -> HostFinding:
    """Whether the kernel takes the processor from a server that holds a spinlock."""
    mode, seen_in = _preemption_mode(host)
    release = _release(host)
    new = release is not None and release >= LAZY_BY_DEFAULT
    pages = memory_bytes(host.root).get("HugePages_Total", 0)
    level: Level = "unseen" if mode is None and not new else "good"
    if mode == "realtime":
        level = "warning"
    elif (new or mode == "lazy") and mode not in ("none", "voluntary"):
        level = "good" if pages else "warning"
    name = mode or ("lazy or full" if new else "the mode cannot be seen")
    kernel = "" if release is None else f", Linux {release[0]}.{release[1]}"
    clause = f", {pages or 'no'} huge pages" if new or mode in ("lazy", "realtime") else ""
    return HostFinding(
        "preemption",
        level,
        f"{name}{f' ({seen_in})' if seen_in else ''}{kernel}{clause}",
        "many clients on many processors with large shared_buffers and no huge pages: a process "
        "that waits for a page of the pool while it holds a spinlock loses its processor, and all "
        "others spin. From 98,565 to 50,751 transactions a second on 96 processors, in one report; "
        "on a few processors there was none",
        _preemption_advice(mode, level),
        "linux-kernel mailing list, 3 April 2026 (PREEMPT_LAZY, Linux 7.0); kernel-parameters.txt",
    )


def _preemption_advice(mode: str | None, level: Level) -> str:
    if level == "unseen":
        return f"as root: mount -t debugfs none /sys/kernel/debug; cat /{_PREEMPT}"
    if mode == "realtime":
        return "a kernel without PREEMPT_RT: it preempts holders of nearly every lock"
    if level == "warning":
        return "huge pages for the servers, as below, and huge_pages = on in every arm"
    return "none needed"


def _preemption_mode(host: HostFacts) -> tuple[str | None, str]:
    """The mode, and the file that says it; None: none does."""
    if host.number("sys/kernel/realtime") == 1:
        return "realtime", "/sys/kernel/realtime"
    if "PREEMPT_RT" in (host.text("proc/sys/kernel/version") or ""):
        return "realtime", "uname -v"  # whatever its configuration says of other kinds
    chosen = re.search(r"\((\w+)\)", host.text(_PREEMPT) or "")
    if chosen:
        return chosen[1], f"/{_PREEMPT}"
    booted = re.findall(r"(?:^|\s)preempt=(\w+)", host.text("proc/cmdline") or "")
    if booted and booted[-1] in _MODES:
        return booted[-1], "preempt= of the kernel's command line"
    config = f"boot/config-{host.text('proc/sys/kernel/osrelease')}"
    built = re.search(
        r"^CONFIG_PREEMPT(_NONE|_VOLUNTARY|_LAZY|)=y$", host.text(config) or "", re.MULTILINE
    )
    if built:
        return (built[1].lstrip("_").lower() or "full"), f"/{config}"
    return None, ""


def _release(host: HostFacts) -> tuple[int, int] | None:
    """(major, minor) of the kernel; None: it cannot be read."""
    numbers = re.match(r"(\d+)\.(\d+)", host.text("proc/sys/kernel/osrelease") or "")
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


def io_uring(host: HostFacts) -> HostFinding:
    """Whether a server may use io_uring here, and which builds have it."""
    why, remedy = _io_uring_refusal(host)
    level: Level = "note" if why else "good"
    if (
        not why
        and host.lately.io_uring is None
        and host.number("proc/sys/kernel/io_uring_disabled") is None
    ):
        level, why = "unseen", "this kernel has no kernel.io_uring_disabled, and it was not tried"
    builds = [f"{name} {'has' if has else 'lacks'} it" for name, has in host.io_uring.items()]
    return HostFinding(
        "io_uring",
        level,
        "; ".join([why or "allowed", *builds]),
        "arms with io_method = io_uring: their server does not start where it is forbidden, or was "
        "built without liburing",
        remedy
        or "none needed: `steelyard engines add 19` brings a build with it where none here has",
        "PostgreSQL's method_io_uring.c; kernel.io_uring_disabled; moby's default seccomp profile",
    )


def io_uring_refusal() -> tuple[str, str] | None:
    """Why a server of this machine cannot use io_uring, and what to type; None: it can."""
    lately = Lately(io_uring=ring_refusal(), locked_bytes=locked_bytes())
    why, remedy = _io_uring_refusal(HostFacts(ROOT, lately=lately))
    return (why, remedy) if why else None


def _io_uring_refusal(host: HostFacts) -> tuple[str, str]:
    """Why a server cannot use it, and what to type; empty: nothing speaks against it."""
    allow = "as root: sysctl -w kernel.io_uring_disabled=0"
    switch = host.number("proc/sys/kernel/io_uring_disabled")
    if switch == 2:
        return "forbidden to all: kernel.io_uring_disabled is 2", allow
    if switch == 1:
        group = host.number("proc/sys/kernel/io_uring_group")
        members = "" if group in (None, -1) else f" and group {group}"
        return (
            f"allowed to root{members} alone: kernel.io_uring_disabled is 1",
            f"{allow}, or kernel.io_uring_group to a group of the servers' account",
        )
    if host.lately.io_uring:
        return _refused_with(host.lately.io_uring, host)
    return _locked_out(host)


def _refused_with(error: str, host: HostFacts) -> tuple[str, str]:
    """What a refusal of the kernel means, and what to type."""
    filtered = re.search(r"^Seccomp:\s*2$", host.text("proc/self/status") or "", re.MULTILINE)
    built = "a kernel with CONFIG_IO_URING=y"
    meanings = {
        "EPERM": (
            f"refused {'by a seccomp filter, as of a container' if filtered else 'with EPERM'}",
            _UNFILTERED,
        ),
        # Profiles of Podman and of old libraries answer so for what they do not know.
        "ENOSYS": (
            "refused with ENOSYS, by a seccomp filter or a kernel that was built without it",
            f"{_UNFILTERED}; else {built}",
        )
        if filtered
        else ("this kernel was built without it", built),
        "ENOMEM": ("refused with ENOMEM", _MEMLOCK),
    }
    return meanings.get(error, (f"refused with {error}", "io_method = worker"))


def _locked_out(host: HostFacts) -> tuple[str, str]:
    """Whether the rings of a server would be more than may be locked, where that is counted."""
    limit, release = host.lately.locked_bytes, _release(host)
    needed = PROCESSES * RING_BYTES
    old = release is not None and release < CHARGED_TO_GROUPS
    if not old or limit is None or limit >= needed:
        return "", ""
    return (
        f"{format_bytes(limit)} may be locked (RLIMIT_MEMLOCK): {PROCESSES} processes with a ring "
        f"each need {format_bytes(needed)} before Linux 5.12",
        _MEMLOCK,
    )


def ring_refusal() -> str:
    """Makes a ring of io_uring and closes it: what the kernel refuses it with ("EPERM"), or ""."""
    library = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
    descriptor = library.syscall(_SETUP, 8, parameters)
    if descriptor < 0:
        number = ctypes.get_errno()
        return errno.errorcode.get(number, str(number))
    os.close(descriptor)
    return ""


def locked_bytes() -> int | None:
    """What a process may lock of its memory; None: any number."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


def other_measurements(host: HostFacts) -> HostFinding:
    """What else is measured on this machine now."""
    proc = host.root / "proc"
    others = other_loads(proc)
    hidden = hidden_processes(proc)
    state = ", ".join(f"{other.command} (process {other.pid})" for other in others)
    none = f"none by Steelyard that is to be seen: {hidden}" if hidden else "none by Steelyard"
    return HostFinding(
        "other measurements",
        "warning" if others else "unseen" if hidden else "good",
        state or none,
        "both: two weighings at once slow each other at times of their own, and the verdicts of "
        "both say so",
        "wait for it to end, or end it by its process id",
        "the process table; BIAS.md",
    )


CHECKS: tuple[Check, ...] = (preemption, io_uring, other_measurements)
