"""Reads what a job of fio was asked to do: version, access, block size, depth, workers, syncs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DEFAULTS = {
    "rw": "read",
    "rwmixread": "50",
    "bs": "4k",
    "size": "",
    "ioengine": "psync",
    "direct": "0",
    "iodepth": "1",
    "numjobs": "1",
    "sync": "0",
    "fsync": "0",
    "fdatasync": "0",
    "runtime": "0",
    "rate": "",
    "rate_iops": "",
}
"""What fio takes on Linux where an option is not given (HOWTO.rst of 3.33); empty: none."""
LOADS = frozenset(
    {
        "rw",
        "rwmixread",
        "bs",
        "iodepth",
        "numjobs",
        "fsync",
        "fdatasync",
        "sync",
        "rate",
        "rate_iops",
    }
)
"""Other requests, or others at once: a difference in one of them explains any other."""
_SIZES = ("bs", "size")
_SIZE = re.compile(r"([0-9]{1,15})([kmgt]?)(?:i?b)?")
_UNITS = "kmgt"


def conditions_of(value: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str]:
    """What makes figures of a job comparable with those of another: name → value in words."""
    options = _options_of(value, job)
    version = value.get("fio version")
    found = {"fio version": version.removeprefix("fio-")} if isinstance(version, str) else {}
    for name, default in _DEFAULTS.items():
        given = options.get(name, default).strip().lower()
        found[name] = ",".join(map(_size, given.split(","))) if name in _SIZES else given
    return found


def has_rate(value: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether the job was held to a rate, so that its throughput was given."""
    options = _options_of(value, job)
    return bool(options.get("rate") or options.get("rate_iops"))


def _options_of(value: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str]:
    """The options of a job, its own before those of all."""
    every = (value.get("global options"), job.get("job options"))
    return {
        name: option
        for some in every
        if isinstance(some, dict)
        for name, option in some.items()
        if isinstance(option, str)
    }


def _size(text: str) -> str:
    """A size as the largest unit that it is a whole number of: "4k" of "4096" and of "4KiB"."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return text
    size, power = int(match[1]) * 1024 ** (_UNITS.find(match[2]) + 1 if match[2] else 0), 0
    while size and size % 1024 == 0 and power < len(_UNITS):
        size, power = size // 1024, power + 1
    return f"{size}{_UNITS[power - 1] if power else ''}"
