"""Names the readings of what devices did: `device_NAME_reads`, `device_NAME_write_ms`, ..."""

from __future__ import annotations

from collections.abc import Iterable

SLICES_NS = "slices_ns"
"""The reading of an arm that has the time of its slices, of which the counts are."""
_PREFIX = "device_"


def device_reading(device: str, counted: str) -> str:
    """The name of the reading of one count of a device."""
    return f"{_PREFIX}{device}_{counted}"


def device_names(known: Iterable[str]) -> list[str]:
    """The devices that readings are of, in their order, each once; `known`: names of readings."""
    end = "_reads"
    return [
        name.removeprefix(_PREFIX).removesuffix(end)
        for name in dict.fromkeys(known)
        if name.startswith(_PREFIX) and name.endswith(end)
    ]
