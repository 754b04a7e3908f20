"""Writes down where a weighing took place: machine, kernel, builds, settings, files' hashes.

Enough to say years later what was compared, and to notice at a resume that the machine is not
the same any more. Nothing personal is kept: no user, no environment variables, no passwords,
no serial numbers.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.engines.capabilities.external import ExternalServer, Noticed
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Instance
from steelyard.engines.memory.control_groups import ROOT
from steelyard.model.files.printable import apart
from steelyard.model.secrets.redaction import hidden_settings
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import OF_SCRIPT, DiskFacts, Environment
from steelyard.telemetry.capacity import (
    allowed_processors,
    core_of,
    filesystem,
    memory_limit,
    processor_quota,
    space,
)
from steelyard.telemetry.devices import devices_beneath, uncounted
from steelyard.telemetry.doctor.examine import examine
from steelyard.telemetry.doctor.finding import HostFacts, Lately
from steelyard.telemetry.doctor.memory import HUGE_PAGES
from steelyard.telemetry.doctor.processors import CLOCK_SOURCE, CPU
from steelyard.telemetry.drive_health import read_drives

_SAME_MACHINE = ("hostname", "kernel", "processor", "processors", "memory_bytes", "boot_id")
_SAME_WHERE_KNOWN = (
    *("distribution", "governor", "clocksource", "huge_pages"),
    *("allowed_processors", "processor_quota", "memory_limit_bytes"),
)
"""What a kernel need not report, nor an older record hold."""
_UNKNOWN: tuple[object, ...] = ("", (), [], 0)
_MOST_SETTINGS = 4
_MOST_LETTERS = 40
"""Settings, and letters of the value of each, that are named of those that changed."""


def environment(
    instances: Mapping[str, Instance],
    *,
    scripts: Mapping[str, str],
    directory: Path,
    template: Path | None = None,
) -> dict[str, Any]:
    """Everything about where the arms stand, ready for environment.json.

    `instances`: by name of the arm; settings are read of those that are running.
    `scripts`: name -> text. `directory`: where data directories stand. `template`: the data
    directory that the arms were cloned from.
    """
    drives, beneath = read_drives(directory), devices_beneath(directory)
    settings = hidden_settings({arm: _settings(instance) for arm, instance in instances.items()})
    return {
        "steelyard": steelyard(),
        "machine": machine(),
        "disk": {
            **filesystem(directory),
            **asdict(space(directory)),
            "devices": beneath.leaves,
            "unmapped": beneath.unmapped or uncounted(beneath.leaves),
        },
        "arms": {arm: _arm(instance, settings[arm]) for arm, instance in instances.items()},
        "files": _hashes(scripts, template),
        "findings": [finding.to_json() for finding in examine(directory, Lately(), drives)],
        "drives": [drive.to_json() for drive in drives],
    }


def steelyard() -> dict[str, Any]:
    """The version of the tool, and how its extension was built (a debug build may not judge)."""
    from steelyard import _core

    return {
        "version": __version__,
        "build_profile": _core.build_profile(),
        "driver_sha256": file_sha256(Path(str(_core.__file__))),
        "python": sys.version.split()[0],
    }


def machine(root: Path = ROOT) -> dict[str, Any]:
    """The hardware and kernel as the kernel reports them."""
    system, host = os.uname(), HostFacts(root, root)
    processors = sorted(os.sched_getaffinity(0))
    return {
        "hostname": system.nodename,
        "kernel": f"{system.sysname} {system.release}",
        "architecture": system.machine,
        "distribution": _distribution(),
        "processor": _processor_model(root),
        "processors": os.cpu_count(),
        "allowed_processors": allowed_processors(root),
        "cores": len({core_of(processor, root) for processor in processors}),
        "processor_quota": processor_quota(root),
        "virtual": _is_virtual(host),
        "governor": host.text(f"{CPU}/cpu0/cpufreq/scaling_governor") or "",
        "clocksource": host.text(CLOCK_SOURCE) or "",
        "huge_pages": host.text(HUGE_PAGES) or "",
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "memory_limit_bytes": memory_limit(root),
        "boot_id": host.text("proc/sys/kernel/random/boot_id") or "",
    }


def machines_differ(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of `machine()` is no longer as a record has it, as plain facts; empty: the same."""
    known = (name for name in _SAME_WHERE_KNOWN if before.get(name, "") not in _UNKNOWN)
    return [
        f"{name.replace('_', ' ')} was {_plain(before.get(name))}, is {_plain(now.get(name))}"
        for name in (*_SAME_MACHINE, *known)
        if _plain(before.get(name)) != _plain(now.get(name))
    ]


def _plain(value: object) -> str:
    """Processors as the kernel lists them, whatever their order: `"0-3,8"`."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return str(value)
    ranges: list[list[int]] = []
    for number in sorted(value):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ",".join("-".join(map(str, each)) for each in ranges)


def disks_differ(before: DiskFacts, now: DiskFacts) -> Iterator[str]:
    """That the slots stand on another file system than a record has it, as where STEELYARD_CACHE is
    not what it was; nothing where that is not known."""
    ours, theirs = ((each.mount, each.type, each.device) for each in (before, now))
    if all(ours) and ours != theirs:
        words = (f"{each.type} on {each.device}, {each.mount}" for each in (before, now))
        yield "the slots were on {}, are on {}".format(*words)


def settings_differ(before: Environment, now: Environment, rules: SettingRules) -> Iterator[str]:
    """Settings that the arms' servers report otherwise than a record has them, and what they were
    and are; of all arms where it is the same for all."""
    settled = rules.slot | rules.places | {name for name, by in rules.derived.items() if not by}
    changes: dict[tuple[str, str, str], list[str]] = {}
    for arm in before.arms:
        ours, theirs = before.settings(arm), now.settings(arm)
        for name in sorted(ours.keys() & theirs.keys() - settled):
            if ours[name] != theirs[name]:
                changes.setdefault((name, ours[name], theirs[name]), []).append(arm)
    for (name, *values), arms in [*changes.items()][:_MOST_SETTINGS]:
        of_arms = "" if len(arms) == len(before.arms) else f" of {' and '.join(arms)}"
        yield "{}{} was {}, is {}".format(name, of_arms, *apart(values, _MOST_LETTERS))
    if len(changes) > _MOST_SETTINGS:
        yield f"{len(changes) - _MOST_SETTINGS} more settings are not what they were"


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """The SHA-256 of a text's UTF-8 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _settings(instance: Instance) -> dict[str, str]:
    return instance.settings() if isinstance(instance, Tunable) and instance.running else {}


def _arm(instance: Instance, settings: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {"build": asdict(instance.identity), "settings": settings}
    if isinstance(instance, ExternalServer):
        facts["round_trip_us"] = round(instance.round_trip_ns() / NS_PER_US, 1)
    if isinstance(instance, Noticed):
        facts["notices"] = list(instance.notices)
    return facts


def _hashes(scripts: Mapping[str, str], template: Path | None) -> dict[str, str]:
    hashes = {f"{OF_SCRIPT}{name}": text_sha256(text) for name, text in scripts.items()}
    if template is not None and (control := template / "global" / "pg_control").is_file():
        hashes["template pg_control"] = file_sha256(control)
    return hashes


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _processor_model(root: Path) -> str:
    """x86 prints a model name; Arm only numbers of implementer and part."""
    model = _first_value(root / "proc/cpuinfo", "model name")
    part = _first_value(root / "proc/cpuinfo", "CPU part")
    return model or (f"CPU part {part}" if part else platform.processor())


_VIRTUAL = (
    *("QEMU", "KVM", "Virtual Machine", "VMware", "VirtualBox", "Parallels", "Xen", "OpenStack"),
    *("Amazon EC2", "Google Compute Engine", "Alibaba Cloud ECS", "Droplet", "vServer"),
    "Apple Virtualization",
)
"""In what hypervisors and clouds call their machines: the firmware's vendor and product."""
_DMI = "sys/class/dmi/id"


def _is_virtual(host: HostFacts) -> bool:
    """Whether a hypervisor is beneath: x86 has it among its flags; of Arm the firmware tells."""
    flags = _first_value(host.root / "proc/cpuinfo", "flags")
    if flags:
        return "hypervisor" in flags.split()
    if os.path.exists(host.root / "proc/device-tree/hypervisor"):
        return True
    vendor, product = (host.text(f"{_DMI}/{file}") or "" for file in ("sys_vendor", "product_name"))
    bare = ".metal" in product  # Amazon's whole machines: m6g.metal, m8g.metal-24xl
    return not bare and any(word in f"{vendor} {product}" for word in _VIRTUAL)


def _first_value(path: Path, key: str) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
