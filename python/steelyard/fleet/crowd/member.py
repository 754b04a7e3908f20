"""Names what a machine of a crowd does: takes its share of a plan, and drives slices of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.fleet.checking.network import Nic
from steelyard.model.errors import DriverError


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What must be known of a machine before it gets a share."""

    host: str
    boot: str
    """One start of one kernel (boot_id of Linux): two machines never have the same."""
    machine_id: str
    """Of the installation (/etc/machine-id), which a restart does not change; empty: it has none,
    as most containers."""
    processors: int
    """That its driver may use."""
    version: str
    """Of Steelyard there."""
    build_profile: str
    """ "release" or "debug": how the load driver was built there."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Words of which two machines have none in common, and one machine the same as before,
        whatever is started on it: its boot, and, since images carry machine ids, with its name that
        of its installation."""
        installed = (f"{self.host} {self.machine_id}",) if self.machine_id else ()
        return (self.boot, *installed)


@dataclass(frozen=True, slots=True)
class Opened:
    """A driver that is connected to every arm of its share."""

    connected: Mapping[str, Sequence[int]]
    """Arm name → process ids of its backends, in the order of its clients."""
    io: str


@dataclass(frozen=True, slots=True)
class Driven:
    """A slice that a machine drove, between two stamps of its clock."""

    received_ns: int
    answered_ns: int
    answer: SliceAnswer


class LostError(DriverError):
    """A machine is gone: its process, itself, or the network to it."""


class Member(Protocol):
    """One machine of a crowd, seen from the coordinator. Every call waits for its answer.

    DriverError: it could not do that, or is gone; only `close` is called then.
    """

    @property
    def name(self) -> str:
        """Unlike that of every other member."""

    @property
    def facts(self) -> MachineFacts:
        """What was found when it joined."""

    def read_clock(self) -> tuple[int, int]:
        """CLOCK_MONOTONIC of the machine, when it was asked and when it answered, in ns."""

    def network(self) -> Mapping[str, Nic]:
        """Its network interfaces by name, as they stand now."""

    def open(self, plan: DrivePlan) -> Opened:
        """Start a driver on the machine, connected to every arm of its share. The plan holds no
        password: the machine has its own."""

    def drive(self, request: SliceRequest, patience_s: float | None) -> Driven:
        """Drive one slice; a driver that has not answered by then is ended. None: however long it
        takes, a driver that is not heard of meanwhile is ended."""

    def close(self) -> None:
        """End the driver; safe to call twice, and of a machine that is gone."""
