"""Reads the health of every drive beneath a directory by programs, in a few seconds at most.

smartctl is asked first, nvme-cli for what smartctl does not say of an NVMe drive, and where neither
may or can, /sys has its model and temperature. Both send the drive commands that read; they need
root, or CAP_SYS_ADMIN (NVMe) and CAP_SYS_RAWIO (SATA), and the device's node.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT, matching
from steelyard.record.machine import DriveHealth
from steelyard.telemetry.devices import devices_beneath
from steelyard.telemetry.drive_programs import (
    NVME,
    NVME_CLI,
    SMARTCTL,
    Facts,
    nvme_cli_command,
    nvme_cli_facts,
    object_of,
    smartctl_command,
    smartctl_facts,
    smartctl_refusal,
    source_of,
)

PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Where these programs are, though an ordinary user's PATH does not name them."""
_AFTER_KILL_S = 0.2


@dataclass(frozen=True)
class ProgramOutput:
    """What a program printed, and its exit status."""

    output: str
    errors: str
    status: int


def find_program(name: str) -> str | None:
    """Where a program is; None where it is not installed."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES))
    return shutil.which(name, path=path)


def answer_of(command: Sequence[str], within_s: float) -> ProgramOutput | None:
    """The output of the program, in the C locale; None where it did not end in time.

    It has a session of its own: Ctrl-C does not reach it, and its children end with it. A command
    to a drive that hangs cannot be killed, so its end is not waited for.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return ProgramOutput("", str(error), 127)
    try:
        output, errors = process.communicate(timeout=max(0.0, within_s))
    except BaseException as interrupted:
        _leave_behind(process)
        if isinstance(interrupted, subprocess.TimeoutExpired):
            return None
        raise
    return ProgramOutput(output, errors, process.returncode)


def _leave_behind(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_AFTER_KILL_S)


LONGEST_S = 5.0
"""For all drives together: one that hangs costs a weighing no more than this."""
NOT_AVAILABLE = "not available on this device"
SYSFS = "sysfs"
_MILLI = 1000
_DENIED = ("permission denied", "operation not permitted")
_TEMPERATURES = (
    "hwmon*/temp1_input",
    "hwmon/hwmon*/temp1_input",
    "nvme*/hwmon*/temp1_input",
)
"""Below a block device's `device`: of an NVMe controller, of a SATA drive by drivetemp, of an NVMe
drive with several paths."""


def read_drives(
    directory: Path, root: Path = ROOT, longest_s: float = LONGEST_S
) -> tuple[DriveHealth, ...]:
    """The health of each drive that a directory rests on in the end; what cannot be read has a
    reason instead."""
    devices = devices_beneath(directory, root)
    if not devices.leaves:
        return (DriveHealth(why_not=f"{NOT_AVAILABLE}: {devices.unmapped}"),)
    ends = time.monotonic() + longest_s
    return tuple(_read(name, root, ends) for name in devices.leaves)


def _read(name: str, root: Path, ends: float) -> DriveHealth:
    if _is_virtual(name, root):
        return _unread(name, {}, "a virtual device keeps no health")
    node, sysfs_facts = root / "dev" / name.replace("!", "/"), _of_sysfs(name, root)  # cciss!c0d0
    if not os.path.exists(node):
        return _unread(
            name, sysfs_facts, f'"{node}" is missing: a container has it where it is given'
        )
    facts, why_not = _by_smartctl(str(node), ends)
    sources = [facts.pop("source")] if facts else []
    if name.startswith(NVME) and facts.get("light_throttling_count") is None:
        more, no_more = _by_nvme_cli(str(node), ends)
        why_not = f"its throttling is not known: {no_more}" if facts else f"{why_not}; {no_more}"
        facts = {**more, **_present(facts)}
        sources += [NVME_CLI] if more else []
        why_not = "" if more else why_not
    if not facts:
        return _unread(name, sysfs_facts, why_not)
    origin = {"source": ", ".join(sources), "why_not": why_not}
    return _health(name, {**sysfs_facts, **_present(facts), **origin})


def _by_smartctl(node: str, ends: float) -> tuple[Facts, str]:
    """What smartctl reports, or why it reports nothing."""
    program = find_program(SMARTCTL)
    if program is None:
        return {}, "smartctl is not installed (Debian: apt install smartmontools)"
    answer = answer_of(smartctl_command(program, node), ends - time.monotonic())
    if answer is None:
        return {}, "smartctl did not end in time"
    report = object_of(answer.output)
    if report is None:
        return {}, _first_line(answer, SMARTCTL)
    why_not = smartctl_refusal(report, answer.status)
    if why_not:
        return {}, _explained(why_not)
    return {**smartctl_facts(report, answer.status), "source": source_of(report)}, ""


def _by_nvme_cli(node: str, ends: float) -> tuple[Facts, str]:
    """What nvme-cli reports, or why it reports nothing."""
    program = find_program("nvme")
    if program is None:
        return {}, "nvme is not installed (Debian: apt install nvme-cli)"
    answer = answer_of(nvme_cli_command(program, node), ends - time.monotonic())
    if answer is None:
        return {}, "nvme did not end in time"
    report = object_of(answer.output)
    if report is None or answer.status:
        return {}, _first_line(answer, "nvme")
    facts = _present(nvme_cli_facts(report))
    return facts, "" if facts else "nvme's JSON has no smart log"


def _first_line(answer: ProgramOutput, program: str) -> str:
    """The first line of what a program printed in place of its report; all of an object, which
    nvme-cli prints of an error from 2.7 on."""
    words = (answer.errors or answer.output).strip()
    line = " ".join(words.split()) if words.startswith("{") else words.partition("\n")[0]
    line = line[:200] or "it said nothing"
    return _explained(f"{program} ended with status {answer.status}: {line}")


def _explained(message: str) -> str:
    denied = any(phrase in message.lower() for phrase in _DENIED)
    return f"no right to ask it, which needs root ({message})" if denied else message


def _unread(name: str, sysfs_facts: Facts, why_not: str) -> DriveHealth:
    """A drive of which there is only what /sys says, and why."""
    facts = {**sysfs_facts, "source": SYSFS} if sysfs_facts else {}
    return _health(name, {**facts, "why_not": f"{NOT_AVAILABLE}: {why_not}"})


def _health(name: str, facts: Facts) -> DriveHealth:
    return DriveHealth.model_validate({"device": name, **_present(facts)})


def _present(facts: Mapping[str, object]) -> Facts:
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _is_virtual(name: str, root: Path) -> bool:
    """Whether the kernel's driver has nothing behind it that could be asked: virtio-blk, Xen, loop,
    zram, nbd, Ceph. An NVMe drive with several paths is below `virtual` too, but not in `block`."""
    bus, room, _ = (root / "sys/class/block" / name).resolve().parts[-3:]
    block = room == "block" and bus.startswith(("virtio", "virtual", "vbd-"))
    return block or name.startswith("rbd")


def _of_sysfs(name: str, root: Path) -> Facts:
    """Model, firmware and temperature, which every user may read."""
    device = root / "sys/class/block" / name / "device"
    hot = [file for pattern in _TEMPERATURES for file in matching(device, pattern)]
    milli = _text(hot[0]) if hot else ""
    return _present(
        {
            "model": _text(device / "model"),
            "firmware": _text(device / "firmware_rev") or _text(device / "rev"),
            "temperature_celsius": round(int(milli) / _MILLI) if milli.isdigit() else None,
        }
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
