"""A laboratory in memory: the no-op engine, a driver by a script, and a clock that slices move."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.driver.plan import DrivePlan, Replay
from steelyard.engines.capabilities.checkpoints import Cycle, WalCounters
from steelyard.engines.capabilities.counters import SessionWaits
from steelyard.engines.capabilities.memory import HeldBy, MemoryCap
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.engines.intake import ServerSettings
from steelyard.model.endpoint import Endpoint
from steelyard.model.turn import Checkpoint
from steelyard.record.environment import Environment
from steelyard.record.epoch import OtherLoadLine
from steelyard.record.machine import DriveHealth
from steelyard.running.laboratory import Laboratory
from steelyard.study.study import Failing, Study
from steelyard.telemetry.host import HostSample
from steelyard.telemetry.slice_counters import MachineCounters
from steelyard.telemetry.source import TelemetrySource
from steelyard.telemetry.sources import built_in_sources
from steelyard.workloads.reading.scripts import Script
from story.noop.engine import NoopEngine, NoopInstance
from story.noop.journal import Answers
from story.noop.own_time import OWN_TIME
from story.noop.sessions import NoopExternal
from story.scripted_clock import ScriptedClock
from story.scripted_driver import ScriptedDrivers
from story.scripted_engines import ScriptedEngines

Speed = Callable[[str, int], float]
"""Arm name and number of the driver's life → transactions per second under load."""
Distort = Callable[[dict[str, Any]], None]
"""Changes the driver's answer to a slice."""

EMPTY_HISTOGRAM = ""  # an empty text


@dataclass
class Clock:
    """Nanoseconds since the world began."""

    now: int = 0


@dataclass
class ScriptedWorld:
    """The state of a laboratory in memory; a test changes it, or overrides what it gives."""

    directory: Path
    speed: Speed = lambda arm, life: 4000.0
    noise: float = 0.05
    writes: bool = False
    tried_first: bool = False
    failing: Failing | None = None
    waiting_share: float = 0.0
    debt_ns: int = 50_000_000
    profile: str = "release"
    stolen_share: float = 0.0
    uncounted: str = ""
    """Why the server's counters cannot be read."""
    wrong_rows: dict[str, int] = field(default_factory=dict)
    broken: dict[str, list[str]] = field(default_factory=dict)
    plans_by_port: dict[int, str] = field(default_factory=dict)
    events: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    """Number of a slice (from 1) → what happens before it is driven."""
    distort: Distort = lambda answer: None
    cycle_ns: int = 15_000_000_000
    """With layout "turns": from the begin of one checkpoint to the begin of the next; 0: none."""
    checkpoint_lasts_ns: int = 9_000_000_000
    file_bytes: int = 1 << 30
    """Of all arms' directories."""
    resident_bytes: int | None = 0
    """Of them, after eviction."""
    waiting: Callable[[], int] = lambda: 0
    """Bytes that wait for the device."""
    drives: tuple[DriveHealth, ...] = ()
    other_loads: tuple[OtherLoadLine, ...] = ()
    paused_ns: int = 0
    evicted: list[tuple[Path, ...]] = field(default_factory=list)
    held_by: HeldBy = "v2"
    """What holds caps on memory."""
    huge_pages_free: int = 0
    devices: dict[str, str] = field(default_factory=lambda: {"vda": "254:0"})
    cap: MemoryCap | None = None
    """Of every slot, once a study asked for it."""
    slept_ns: int = 0
    rate: float | None = None
    """Arrivals a second of the slice that is driven."""
    previous: str = ""
    """Arm of the slice before."""
    histogram: str = EMPTY_HISTOGRAM
    clock: Clock = field(default_factory=Clock)
    noop: NoopEngine = field(default_factory=NoopEngine)
    slices: int = 0
    awake: list[tuple[str, ...]] = field(default_factory=list)
    """Arms that were not suspended, at each slice."""
    lives: int = 0
    written_back: int = 0
    plans_driven: list[DrivePlan] = field(default_factory=list)
    begun: list[tuple[int, int]] = field(default_factory=list)
    """Ports of servers on which the workload has begun, and how many drivers there had been."""
    running_arms: dict[str, NoopInstance] = field(default_factory=dict)
    far: dict[str, NoopExternal] = field(default_factory=dict)
    """Arm → its server that somebody else runs."""
    required: list[str] = field(default_factory=list)
    """Hosts that were asked whether they hold the data."""

    def __post_init__(self) -> None:
        self.draw = random.Random(7)
        self.template_directory = self.directory / "template"
        self.noop.create(self.template_directory, protection="checksums")
        self.noop.journal.answers = Answers(
            counters=lambda: {"wal_bytes": 100.0 * self.slices, "blocks_read": 10.0 * self.slices},
            waits=lambda: SessionWaits(1000, round(1000 * self.waiting_share)),
            plan=lambda instance: self.plans_by_port.get(instance.address.port, "Result"),
            checkpoint_ns=self._checkpoint,
            uncounted=self.uncounted,
            checkpoints=self._checkpoints,
            pulse=self._pulse,
            cycle=lambda settings: Cycle(self.cycle_ns or 10**15, 1e15, 10.0),
        )

    @property
    def laboratory(self) -> Laboratory:
        """What a weighing is given of this world."""
        return Laboratory(
            engines=ScriptedEngines(self),
            data=ScriptedData(self),
            drivers=ScriptedDrivers(self),
            host=ScriptedHost(self),
            clock=ScriptedClock(self),
            sources=self.sources(),
        )

    def sources(self) -> tuple[TelemetrySource, ...]:
        return built_in_sources()

    def _checkpoints(
        self, instance: NoopInstance, began_ns: int, now_ns: int
    ) -> Sequence[Checkpoint]:
        """One every cycle after the watch began, each lasting for a part of it."""
        nearer = float(instance.settings().get("nearer", "1")) if instance.running else 1.0
        arms = float(instance.settings().get(OWN_TIME, "1")) if instance.running else 1.0
        every = round(self.cycle_ns / nearer * arms)
        starts = range(began_ns + every, now_ns + 1, every) if every else ()
        lasts = round(self.checkpoint_lasts_ns / nearer)
        return [
            Checkpoint(start, start + lasts if start + lasts <= now_ns else None, "time")
            for start in starts
        ]

    def _pulse(self, instance: NoopInstance) -> WalCounters:
        written = self.clock.now / 1000 if self.writes else 0.0
        return WalCounters(wal_bytes=written, images=self.clock.now / 1e8, owed_bytes=1000.0)

    def debt_of(self, instance: NoopInstance) -> int:
        """How long an arm's checkpoint takes."""
        return self.debt_ns

    def _checkpoint(self, instance: NoopInstance) -> int:
        assert not instance.frozen, "an arm pays its debt while it is thawed"
        debt_ns = self.debt_of(instance)
        self.clock.now += debt_ns
        return debt_ns

    def slot_of(self, arm: str) -> int:
        """Number of the slot in which an arm stands."""
        return self.running_arms[arm].address.port - self.slot(0).port

    def started_first(self) -> str:
        """The arm that was started before the others of this epoch."""
        starts = [call.arguments[0] for call in self.noop.calls if call.action == "start"]
        slots = {self.slot_of(arm): arm for arm in self.running_arms}
        return slots[starts[-len(slots)]]

    def alive(self, arm: str) -> bool:
        return self.far[arm].running if self.far else self.running_arms[arm].running

    def engines(self, study: Study) -> Mapping[str, Engine]:
        return {arm.name: self.noop for arm in study.every_arm}

    def reached(self, study: Study, database: str | None) -> Mapping[str, Instance]:
        """Every arm at its address, or at the study's; an address is its server's name."""
        for arm in study.every_arm:
            host = arm.address or study.address or ""
            where = Endpoint(host, 5432, "app", database or "shop")
            settings = study.settings_of(arm)
            self.far[arm.name] = self.noop.reach(where, settings)
        return dict(self.far)

    def scripts(self, study: Study) -> tuple[Script, ...]:
        return (Script("scripted", "SELECT 1;", 1, 1, self.writes),)

    def template(
        self, engine: Engine, study: Study, say: Callable[[str], None], *, number: int, copies: int
    ) -> Path:
        say("load nothing")
        made = self.template_directory.with_name(f"template{number or ''}")
        if number and made not in self.noop.journal.stopped:
            self.noop.create(made, protection="checksums")
        return made

    def slot(self, number: int) -> Slot:
        return Slot(number, self.directory / f"slot{number}", self.directory, 54320 + number)

    def environment(self) -> Mapping[str, Any]:
        return {"machine": {"hostname": "scripted"}}


@dataclass(frozen=True)
class ScriptedData:
    """Workloads without data."""

    world: ScriptedWorld

    def open(self, study: Study) -> ScriptedWorkload:
        return ScriptedWorkload(self.world, study, self.world.scripts(study))


@dataclass(frozen=True)
class ScriptedWorkload:
    """A workload whose checks find what the world says."""

    world: ScriptedWorld
    study: Study
    scripts: tuple[Script, ...]

    @property
    def variables(self) -> Mapping[str, str | int | float]:
        return {"scale": self.study.workload.scale or 1}

    @property
    def tables(self) -> Mapping[str, Sequence[Sequence[str | None]]]:
        return {}

    @property
    def tried_first(self) -> bool:
        return self.world.tried_first

    @property
    def failing(self) -> Failing | None:
        return self.world.failing

    @property
    def timed(self) -> bool:
        return bool(self.study.workload.timed)

    def replay(self, pace: float) -> Replay:
        return Replay([(0, 0)], 1)

    def without(self, scripts: Collection[str]) -> ScriptedWorkload:
        rest = tuple(one for one in self.scripts if one.name not in scripts)
        return replace(self, scripts=rest)

    def template(
        self, engine: Engine, report: Callable[[str], None], *, number: int, copies: int
    ) -> Path:
        return self.world.template(engine, self.study, report, number=number, copies=copies)

    def release_source(self) -> None:
        """It has none."""

    def server_settings(self) -> ServerSettings | None:
        return None

    @property
    def database(self) -> str | None:
        return None

    def require_loaded(self, instance: Instance) -> None:
        self.world.required.append(instance.address.host)

    def fill(self, instance: Instance, report: Callable[[str], None]) -> None:
        self.world.required.append(f"fill {instance.address.host}")

    def with_arm_sql(
        self,
        engine: Engine,
        template: Path,
        statements: Sequence[str],
        arm: str,
        report: Callable[[str], None],
        *,
        copies: int,
    ) -> Path:
        report(f'execute the sql of arm "{arm}"')
        made = template.with_name(f"{template.name}-{'-'.join(statements).replace(' ', '_')}")
        if made not in self.world.noop.journal.stopped:
            self.world.noop.create(made, protection="checksums")
        return made

    def before_clients(self, instance: Instance) -> None:
        assert instance.running
        self.world.begun.append((instance.address.port, self.world.lives))

    def violations(self, instance: Instance) -> Sequence[str]:
        names = [arm for arm, stands in self.world.running_arms.items() if stands is instance]
        return self.world.broken.get(names[0], []) if names else []

    def work_counts(self, instance: Instance) -> Mapping[str, float]:
        return {"orders": 6.0 * self.world.slices}

    def probes(self, instance: Instance) -> Mapping[str, Mapping[str, float]]:
        return {"first_touch": {"wal_bytes": 80_000.0}}


@dataclass(frozen=True)
class ScriptedHost:
    """A machine that does what the world says."""

    world: ScriptedWorld

    def processors(self) -> Sequence[int]:
        return [0, 1]

    def sample(self) -> HostSample:
        """Of each second a share is stolen."""
        return HostSample(
            monotonic_ns=self.world.clock.now,
            boot_id="scripted",
            busy_ns={0: 0, 1: 0},
            steal_ns=round(2 * self.world.stolen_share * self.world.clock.now),
            throttled_ns=0,
            throttled_periods=0,
            pressure_ns={},
            memory_available_bytes=8 << 30,
            memory_total_bytes=16 << 30,
            swap_used_bytes=0,
            disk_free_bytes=8 << 30,
            disk_total_bytes=16 << 30,
            load_1=0.0,
            suspended_ns=0,
        )

    def huge_pages_free(self) -> int:
        return self.world.huge_pages_free

    def waiting_bytes(self) -> int:
        return self.world.waiting()

    def in_slices(self) -> MachineCounters:
        return MachineCounters(self.world.directory, self.world.directory / "no-machine")

    def environment(
        self, arms: Mapping[str, Instance], scripts: Sequence[Script], template: Path
    ) -> Environment:
        return Environment.of_json(self.world.environment(), "the environment")

    def other_loads(self) -> tuple[OtherLoadLine, ...]:
        return self.world.other_loads

    def drives(self) -> tuple[DriveHealth, ...]:
        return self.world.drives
