"""Names what a weighing needs from the world, so that a test can give it another world.

The real one starts PostgreSQL servers and driver processes; the tests' one is an in-memory engine,
a scripted driver and a scripted clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.study.study import Study
from steelyard.telemetry.host import HostSample
from steelyard.telemetry.source import Source
from steelyard.workloads.reading.scripts import Script


class LoadDriver(Protocol):
    """Open connections to all arms, and the load that is moved between them."""

    @property
    def connected(self) -> Mapping[str, Sequence[int]]:
        """Arm name → process ids of its backends, in the order of the clients."""

    @property
    def io(self) -> str:
        """How bytes come and go, in a word."""

    def run(self, slices: Sequence[SliceRequest]) -> Iterator[dict[str, Any]]:
        """Run slices in order, yielding the driver's answer to each as it ends."""

    def close(self) -> None:
        """Disconnect and end; safe to call twice."""


SaysStage = Callable[[str], None]
"""Told what a long step is doing just now."""


class Laboratory(Protocol):
    """Everything a weighing asks of the world."""

    def engines(self, study: Study) -> Mapping[str, Engine]:
        """Arm → the engine it names, of one builder if that can be; EngineError: what there is."""

    def scripts(self, study: Study) -> tuple[Script, ...]:
        """The scripts of the study's workload."""

    def template(
        self, engine: Engine, study: Study, say: SaysStage, *, number: int, copies: int
    ) -> Path:
        """A loaded, cleanly stopped cluster for this engine and workload, made where missing.

        `number` tells separate loads apart; `copies`: how many clones there must be room for.
        """

    def slot(self, number: int) -> Slot:
        """The slot of a number, in a private place that is removed when the weighing ends."""

    def write_back(self) -> None:
        """Wait until copied files are on disk, so that nobody's slice pays for writing them."""

    def variables(self, study: Study) -> Mapping[str, str | int | float]:
        """Variables that every script sees, `scale` among them."""

    def before_clients(self, instance: Instance, study: Study) -> None:
        """What the workload does on a server that has just been started, before any client."""

    def drive(self, plan: DrivePlan) -> LoadDriver:
        """A load driver connected to every arm of the plan."""

    def creditor(self, instance: Instance) -> Creditor:
        """Who makes an arm pay for what it left to the background."""

    def sources(self) -> Sequence[Source]:
        """What is read of every arm beside the load."""

    def wal_flush_share(self, instances: Sequence[Instance]) -> WaitWatch:
        """Begin to watch what the backends wait for."""

    def violations(
        self, instance: Instance, study: Study, scripts: Sequence[Script]
    ) -> Sequence[str]:
        """What the workload's own checks find wrong with the work that was done."""

    def work_counts(self, instance: Instance, study: Study) -> Mapping[str, float]:
        """What the workload counts of the work that was done so far, by name."""

    def probes(self, instance: Instance, study: Study) -> Mapping[str, Mapping[str, float]]:
        """What single accesses cost on rows that nobody timed: probe → counter → amount."""

    def environment(
        self,
        standing: Mapping[str, Instance],
        study: Study,
        scripts: Sequence[Script],
        template: Path,
    ) -> Mapping[str, Any]:
        """Where this weighing takes place: machine, builds, settings, hashes of files."""

    def plans(self, instance: Instance, scripts: Sequence[Script]) -> Mapping[str, str]:
        """Statement → its query plan on this arm."""

    def processors(self) -> Sequence[int]:
        """Processors this process may use, second threads of a core last."""

    def host(self) -> HostSample:
        """What the machine looks like now; two of these are compared."""

    def now_ns(self) -> int:
        """A monotonic clock."""

    def server_logs(self) -> Mapping[str, str]:
        """Slot → the end of its server's log, to be kept when something went wrong."""

    def suspended_ns(self) -> int:
        """Nanoseconds that the machine slept so far; cheap enough to be asked after every slice."""

    def build_profile(self) -> str:
        """ "release" or "debug": how the load driver was built."""


class Creditor(Protocol):
    """Collects the debt of one arm, on a connection that stays open between visits."""

    def collect(self) -> int:
        """Make the arm pay; nanoseconds it took."""

    def close(self) -> None:
        """Give the connection up; safe to call twice."""


class WaitWatch(Protocol):
    """A look at wait events that goes on until it is stopped."""

    def stop(self) -> float:
        """Share of the backends' looked-at moments that waited for the WAL to reach the disk."""
