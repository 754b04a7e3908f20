"""Names the readings of what devices did: `device_NAME_reads`, `device_NAME_write_ms`, ..."""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "device_"


def device_names(known: Iterable[str]) -> list[str]:
    """The devices that readings are of, in their order, each once; `known`: names of readings."""
    end = "_reads"
    return [
        name.removeprefix(PREFIX).removesuffix(end)
        for name in dict.fromkeys(known)
        if name.startswith(PREFIX) and name.endswith(end)
    ]
