"""Does on a machine what the coordinator of a load orders: a driver of its own, and stamps.

What it does is the same wherever its orders come from: another thread, or another machine.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Timer
from typing import Protocol, Self

from steelyard import __version__, _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, SliceRequest
from steelyard.engines.adapters import own_password
from steelyard.fleet.network import Nic, read_nics
from steelyard.model.errors import DriverError
from steelyard.model.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class LoadMachineFacts:
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
class OpenedDriver:
    """A driver that is connected to every arm of its share."""

    connected: Mapping[str, Sequence[int]]
    """Arm name → process ids of its backends, in the order of its clients."""
    io: str


@dataclass(frozen=True, slots=True)
class DrivenSlice:
    """A slice that a machine drove, between two stamps of its clock."""

    received_ns: int
    answered_ns: int
    answer: SliceAnswer


class LostError(DriverError):
    """A machine is gone: its process, itself, or the network to it."""


class LoadGenerator(Protocol):
    """One load machine, as the coordinator calls it. Every call waits for its answer.

    DriverError: it could not do that, or is gone; only `close` is called then.
    """

    @property
    def name(self) -> str:
        """Unlike that of every other machine."""

    @property
    def facts(self) -> LoadMachineFacts:
        """What was found when it joined."""

    def read_clock(self) -> tuple[int, int]:
        """CLOCK_MONOTONIC of the machine, when it was asked and when it answered, in ns."""

    def network(self) -> Mapping[str, Nic]:
        """Its network interfaces by name, as they stand now."""

    def open(self, plan: DrivePlan) -> OpenedDriver:
        """Start a driver on the machine, connected to every arm of its share. The plan holds no
        password: the machine has its own."""

    def drive(self, request: SliceRequest, patience_s: float | None) -> DrivenSlice:
        """Drive one slice; a driver that has not answered by then is ended. None: however long it
        takes, a driver that is not heard of meanwhile is ended."""

    def close(self) -> None:
        """End the driver; safe to call twice, and of a machine that is gone."""


HEARD_NS = NS_PER_S
"""Interval of a driver's signs of life in a slice that ends by a count, not by a time."""
SILENT_S = 5.0
"""Without a sign of life for so long, the driver of such a slice is ended. Driver threads that only
wait are woken to give one."""
_MACHINE_ID = Path("/etc/machine-id")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def machine_facts() -> LoadMachineFacts:
    """Of the machine this is executed on."""
    return LoadMachineFacts(
        host=socket.gethostname(),
        boot=_BOOT.read_text(encoding="utf-8").strip(),
        machine_id=_machine_id(),
        processors=len(os.sched_getaffinity(0)),
        version=__version__,
        build_profile=_core.build_profile(),
    )


class LoadAgent:
    """The load of one machine of a group; implements LoadGenerator where it is one process away."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts = machine_facts()
        self._driver: Driver | None = None
        self._driving = Lock()

    @property
    def driver_pid(self) -> int | None:
        """The process of its driver; None: it has none."""
        return None if self._driver is None else self._driver.pid

    def read_clock(self) -> tuple[int, int]:
        """CLOCK_MONOTONIC, twice."""
        return time.monotonic_ns(), time.monotonic_ns()

    def network(self) -> Mapping[str, Nic]:
        """Of this machine."""
        return read_nics()

    def open(self, plan: DrivePlan) -> OpenedDriver:
        """Start the driver with this machine's passwords; DriverError: it could not connect."""
        self.close()
        arms = tuple(_with_own_password(arm) for arm in plan.arms)
        self._driver = Driver.start(replace(plan, arms=arms))
        return OpenedDriver(self._driver.connected, self._driver.io)

    def drive(self, request: SliceRequest, patience_s: float | None) -> DrivenSlice:
        """Drive one slice; DriverError: the driver died, or was killed after the timeout."""
        received_ns = time.monotonic_ns()
        if self._driver is None:
            raise DriverError("the machine has no driver")
        if patience_s is None:
            request = replace(request, progress_ns=HEARD_NS)
        with self._driving, _Deadline(self._driver.pid, patience_s or SILENT_S) as deadline:
            [answer] = self._driver.run([request], lambda _: deadline.put_off())
        return DrivenSlice(received_ns, time.monotonic_ns(), answer)

    def close(self) -> None:
        """End the driver. In the middle of a slice it is killed: its backends are left."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        if not self._driving.acquire(blocking=False):
            _kill(driver.pid)
            self._driving.acquire()  # its answer has been read to the end
        try:
            driver.close()
        finally:
            self._driving.release()


def _with_own_password(arm: DriveArm) -> DriveArm:
    """With the password of this machine's environment or password file."""
    endpoint = arm.endpoint
    return replace(arm, endpoint=replace(endpoint, password=own_password(endpoint)))


class _Deadline:
    """Kills a process that is not done in time, which ends every wait for it."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid, self._seconds = pid, seconds
        self._timer = self._started()

    def _started(self) -> Timer:
        timer = Timer(self._seconds, _kill, [self._pid])
        timer.daemon = True
        timer.start()
        return timer

    def put_off(self) -> None:
        """Count the time from now on."""
        self._timer.cancel()
        self._timer = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _machine_id() -> str:
    """Empty where there is none."""
    try:
        return _MACHINE_ID.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it was just done
        os.kill(pid, signal.SIGKILL)
