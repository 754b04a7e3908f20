"""Keeps what probes found in the cache, one file a device, for the records of later weighings.

A device is known by its name and by what it says of itself: a name may be another device's later.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

from steelyard.model.errors import RecordError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.record.machine.probe import Probe
from steelyard.telemetry.devices import device_identity, devices_beneath


def save_probe(probe: Probe, cache: Path) -> Path | None:
    """Keep it as the last of its device; its file. None where there is no device to know it by."""
    if not probe.device:
        return None
    file = _file(probe.device, cache)
    OwnDirectory.make(file.parent)
    write_whole(file, json.dumps(probe.to_json()))
    return file


def last_probe(directory: Path, cache: Path) -> Probe | None:
    """The last probe of the device beneath a directory; None: there is none that can be read."""
    device = devices_beneath(directory).top
    if not device:
        return None
    file = _file(device, cache)
    try:
        return Probe.of_json(read_json(file), str(file))
    except (OSError, ValueError, RecordError):
        return None


def why_not_cached(directory: Path) -> str:
    """Why probes of a directory cannot be kept: there is no device to know them by; empty: they
    can."""
    return devices_beneath(directory).unmapped


def age_s(probe: Probe, now: datetime) -> int:
    """Seconds since it was taken; 0 where that is not known, since the clock was set back."""
    return max(0, round((now - datetime.fromisoformat(probe.taken)).total_seconds()))


def probe_facts(directory: Path, cache: Path, now: datetime) -> dict[str, object]:
    """The last probe of a directory's device and its age, as a record's environment has them; empty
    where none is kept."""
    probe = last_probe(directory, cache)
    if probe is None:
        return {}
    return {"probe": probe.to_json(), "probe_age_seconds": age_s(probe, now)}


def _file(device: str, cache: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", device)
    return cache / "probes" / f"{name}-{device_identity(device)}.json"
