"""Names what a weighing uses of the world: engines, data, load driver, host and clock.

The real ones are in world.py; the story's tests have scripted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DrivePlan, Replay, SliceRequest
from steelyard.engines.capabilities.memory import DiskLimits, HeldBy
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.engines.intake import ServerSettings
from steelyard.engines.page_cache import Evicted
from steelyard.record.environment import Environment
from steelyard.record.epoch import OtherLoadLine
from steelyard.record.machine import DriveHealth
from steelyard.study.study import Failing, Study
from steelyard.telemetry.host import HostSample
from steelyard.telemetry.slice_counters import MachineCounters
from steelyard.telemetry.source import TelemetrySource
from steelyard.workloads.reading.scripts import Script

ReportsStage = Callable[[str], None]
"""Is called with what a long step does now."""


class Engines(Protocol):
    """Builds of databases, and the places where their servers run."""

    def of_arms(self, study: Study) -> Mapping[str, Engine]:
        """Arm → the engine it names, of one builder if that can be; EngineError: what there is."""

    def reach(self, study: Study, database: str | None) -> Mapping[str, Instance]:
        """Arm → its server at its address, Reached; `database` in place of the address's own.
        ServerError: one takes no connection."""

    def slot(self, number: int) -> Slot:
        """The slot of a number, in a private place that is removed when the weighing ends."""

    def place(self, name: str) -> Path:
        """A private directory in a place of the user's, for an arm's files, removed when the
        weighing ends. UsageError, EngineError: it cannot be used."""

    def cap_memory(self, size_bytes: int, disk: DiskLimits | None = None) -> HeldBy:
        """From now on every slot's server may have so much in memory, and of its disk so much a
        second; what holds it there. EngineError: this process cannot, with what it was refused."""

    def devices(self) -> Mapping[str, str]:
        """The devices beneath the arms' files, by name → number, "254:0"."""

    def evict(self, directories: Sequence[Path]) -> Evicted:
        """Drop stopped servers' files from the kernel's page cache; what stayed is counted."""

    def write_back(self) -> None:
        """Wait until copied files are on disk, so that no slice is charged for writing them."""

    def server_logs(self) -> Mapping[str, str]:
        """Slot → the end of its server's log, for the record of a failure."""


class WorkloadData(Protocol):
    """The workload of one study, read once: its data, its scripts and its checks."""

    @property
    def scripts(self) -> tuple[Script, ...]:
        """Its scripts, each compiled and evaluated once."""

    @property
    def variables(self) -> Mapping[str, str | int | float]:
        """Variables that every script sees, `scale` and `clients` among them."""

    @property
    def tried_first(self) -> bool:
        """Whether its scripts are tried on a copy before they are weighed."""

    @property
    def failing(self) -> Failing | None:
        """What becomes of a script that fails when it is executed once before any load; None: they
        come with Steelyard, and are not executed."""

    @property
    def timed(self) -> bool:
        """Whether every statement is timed by itself."""

    def without(self, scripts: Collection[str]) -> WorkloadData:
        """The same workload, these scripts of it left out."""

    @property
    def tables(self) -> Mapping[str, Sequence[Sequence[str | None]]]:
        """Rows that its scripts draw from, by name."""

    def replay(self, pace: float) -> Replay:
        """Its recorded arrivals at so many times their pace. UsageError: it has none."""

    def template(self, engine: Engine, report: ReportsStage, *, number: int, copies: int) -> Path:
        """A loaded, cleanly stopped cluster for this engine, made where missing.

        `number` tells separate loads apart; `copies`: how many clones there must be room for.
        """

    def release_source(self) -> None:
        """Every arm has its data: what was made to be taken in goes."""

    def server_settings(self) -> ServerSettings | None:
        """The settings of the server that its data belonged to, read now; None: it loads its own
        data. EngineError: they are not those of the study, or cannot be read."""

    @property
    def database(self) -> str | None:
        """The database that it is loaded into; None: it is driven on whichever there is."""

    def require_loaded(self, instance: Instance) -> None:
        """UsageError where a server that is not ours does not hold what the scripts work on."""

    def fill(self, instance: Instance, report: ReportsStage) -> None:
        """Load it into the database of an arm that was made for it, on a server that is not ours.
        UsageError: it has no data of its own."""

    def with_arm_sql(
        self,
        engine: Engine,
        template: Path,
        statements: Sequence[str],
        arm: str,
        report: ReportsStage,
        *,
        copies: int,
    ) -> Path:
        """A template of this one with an arm's own SQL executed in it, made where missing."""

    def before_clients(self, instance: Instance) -> None:
        """What the workload does on a server that has just been started, before any client."""

    def violations(self, instance: Instance) -> Sequence[str]:
        """What the workload's own checks find wrong with the work that was done."""

    def work_counts(self, instance: Instance) -> Mapping[str, float]:
        """What the workload counts of the work that was done so far, by name."""

    def probes(self, instance: Instance) -> Mapping[str, Mapping[str, float]]:
        """What single accesses cost on rows outside the timed workload: probe → counter →
        amount."""


class Data(Protocol):
    """The workloads that can be loaded."""

    def open(self, study: Study) -> WorkloadData:
        """Read the workload of a study; StudyError: it cannot be driven as the study says."""


class LoadDriver(Protocol):
    """Open connections to all arms, and the load that is moved between them."""

    @property
    def connected(self) -> Mapping[str, Sequence[int]]:
        """Arm name → process ids of its backends, in the order of the clients."""

    @property
    def io(self) -> str:
        """The I/O backend, in a word."""

    def run(self, slices: Sequence[SliceRequest]) -> Iterator[SliceAnswer]:
        """Run slices in order, yielding the driver's answer to each as it ends."""

    def close(self) -> None:
        """Disconnect and end; safe to call twice."""


class LoadDrivers(Protocol):
    """Starts load drivers."""

    @property
    def machines(self) -> int:
        """Over how many machines each of them deals its clients."""

    def start(self, plan: DrivePlan) -> LoadDriver:
        """A load driver connected to every arm of the plan."""

    def build_profile(self) -> str:
        """ "release" or "debug": how the load driver was built."""


class Host(Protocol):
    """The machine that servers and driver run on."""

    def processors(self) -> Sequence[int]:
        """Processors this process may use, second threads of a core last."""

    def sample(self) -> HostSample:
        """The state of the machine now; two of these are compared."""

    def huge_pages_free(self) -> int:
        """Huge pages that were reserved and that nothing uses yet."""

    def in_slices(self) -> MachineCounters:
        """What will be read of the machine at the borders of slices, nothing of it yet."""

    def waiting_bytes(self) -> int:
        """Dirty and under write-back in the page cache of the whole machine."""

    def environment(
        self, arms: Mapping[str, Instance], scripts: Sequence[Script], template: Path | None
    ) -> Environment:
        """Where this weighing takes place: machine, builds, settings, hashes of files."""

    def other_loads(self) -> tuple[OtherLoadLine, ...]:
        """Other measurements of Steelyard that are under way on this machine."""

    def drives(self) -> tuple[DriveHealth, ...]:
        """What the drives beneath the slots say of their health; it takes seconds at most."""


class Clock(Protocol):
    """Time."""

    def now_ns(self) -> int:
        """A monotonic clock."""

    def pause(self, duration_ns: int) -> None:
        """Let time pass."""

    def suspended_ns(self) -> int:
        """Time that the machine was suspended so far; cheap enough to be read after every slice."""


@dataclass(frozen=True)
class Laboratory:
    """Everything that a weighing uses of the world."""

    engines: Engines
    data: Data
    drivers: LoadDrivers
    host: Host
    clock: Clock
    sources: tuple[TelemetrySource, ...]
    """Telemetry: what is read of every arm beside the load."""
