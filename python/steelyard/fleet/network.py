"""Reads the counters of this machine's network interfaces, loopback left out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

_INTERFACES = Path("/sys/class/net")


@dataclass(frozen=True, slots=True)
class NicCounters:
    """Since the interface came up (Documentation/ABI/testing/sysfs-class-net-statistics)."""

    rx_bytes: int
    tx_bytes: int
    rx_errors: int
    tx_errors: int
    rx_dropped: int
    tx_dropped: int

    def since(self, earlier: Self) -> Self:
        """What was counted after `earlier`."""
        return type(self)(
            *(getattr(self, field.name) - getattr(earlier, field.name) for field in fields(self))
        )

    @property
    def faults(self) -> int:
        """Packets that were damaged or dropped, either way."""
        return self.rx_errors + self.tx_errors + self.rx_dropped + self.tx_dropped


@dataclass(frozen=True, slots=True)
class Nic:
    """An interface: its counters, and how fast its link is."""

    counters: NicCounters
    bytes_per_s: int | None
    """Each way; None: it does not report it, as most virtual ones."""


def read_nics(interfaces: Path = _INTERFACES) -> Mapping[str, Nic]:
    """Name → interface, of those that carry anything; none where /sys is not to be read."""
    nics: dict[str, Nic] = {}
    with suppress(OSError):
        for interface in sorted(interfaces.iterdir()):
            if interface.name != "lo":
                with suppress(OSError, ValueError):  # it has just gone
                    nics[interface.name] = _nic(interface)
    return nics


def _nic(interface: Path) -> Nic:
    names = (field.name for field in fields(NicCounters))
    counters = (int((interface / "statistics" / name).read_text()) for name in names)
    return Nic(NicCounters(*counters), _bytes_per_s(interface))


def _bytes_per_s(interface: Path) -> int | None:
    try:
        megabits = int((interface / "speed").read_text())
    except (OSError, ValueError):  # EINVAL: the driver does not know
        return None
    return megabits * 125_000 if megabits > 0 else None
