"""The laboratory of this machine: database servers, loaded data, the driver's process, the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType

from steelyard import _core
from steelyard.driver.client import Driver
from steelyard.driver.plan import DrivePlan, Replay
from steelyard.engines.account import choose_account
from steelyard.engines.adapters import adapter
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import cache_root, free_bytes, open_cache, require_room
from steelyard.engines.capabilities.external import TCP, TLS
from steelyard.engines.capabilities.memory import DiskLimits, HeldBy, MemoryCap
from steelyard.engines.copying import write_back
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.engines.intake import ServerSettings
from steelyard.engines.loading import DATABASE, TemplateEngine, database_of
from steelyard.engines.memory.rights import choose_cap
from steelyard.engines.page_cache import Evicted, evict
from steelyard.engines.registry import Run, open_run
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.model.units import NS_PER_S
from steelyard.record.environment import Environment
from steelyard.record.epoch import OtherLoadLine
from steelyard.record.machine import DriveHealth
from steelyard.running.external_slots import servers
from steelyard.running.laboratory import Laboratory, LoadDrivers, ReportsStage
from steelyard.running.replaying import replay_of
from steelyard.study.study import Study
from steelyard.telemetry.capacity import allowed_processors
from steelyard.telemetry.devices import device_numbers, leaves_beneath
from steelyard.telemetry.drive_health import read_drives
from steelyard.telemetry.environment import environment
from steelyard.telemetry.host import (
    HostSample,
    huge_pages_free,
    other_loads,
    sample_host,
    suspended_ns,
    waiting_bytes,
)
from steelyard.telemetry.slice_counters import MachineCounters
from steelyard.telemetry.sources import built_in_sources
from steelyard.tuning.probing import probe_facts
from steelyard.workloads.checks import check, count_work, explain_probes
from steelyard.workloads.loading.imported_data import drop_backup, import_template, server_settings
from steelyard.workloads.loading.load import before_clients, load, loaded_workload, require_workload
from steelyard.workloads.loading.template import description, template, template_after_sql
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload

WAL_RESERVE_BYTES = 1 << 30
"""Room each arm is given for its write-ahead log beside its copy of the data."""
LOG_TAIL = 20_000
"""Characters of a server's log that are kept."""


class LocalLaboratory:
    """Opens the laboratory of this machine; what was made in it is removed at the end. `drivers`
    put the load on in place of those of this machine."""

    def __init__(self, account: str | None = None, drivers: LoadDrivers | None = None) -> None:
        self._account_name = account
        self._drivers = drivers
        self._stack = ExitStack()

    def __enter__(self) -> Laboratory:
        return Laboratory(
            engines=LocalEngines(self._account_name, self._run),
            data=LocalData(),
            drivers=self._drivers or LocalDrivers(self._stack),
            host=LocalHost(self._run),
            clock=SystemClock(),
            sources=built_in_sources(),
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What ended it is not replaced: what cannot be removed the next start removes.
        with suppress(EngineError) if value else nullcontext(), defer_signals(at_the_end=True):
            self._stack.close()
        run = self.__dict__.get("_opened")
        if isinstance(value, ServerError) and run and str(run.directory) in (value.hint or ""):
            value.hint = None  # it named a log that is removed now

    def _run(self) -> Run:
        return self._opened

    @cached_property
    def _opened(self) -> Run:
        account = choose_account(self._account_name)
        return self._stack.enter_context(open_run(open_cache(), account))


class LocalEngines:
    """Builds that are found on this machine, run in a private place of the cache."""

    def __init__(self, account: str | None, run: Callable[[], Run]) -> None:
        self._account = account
        self._run = run
        self._cap: MemoryCap | None = None
        self._listens = False

    def of_arms(self, study: Study) -> dict[str, Engine]:
        """Arm → the build it names, of one builder if that can be; EngineError: what there is."""
        requests = [BuildRequest(arm.version, arm.bindir) for arm in study.every_arm]
        contrib = study.contrib or study.statement_counters
        self._listens = any(arm.connect in (TCP, TLS) for arm in study.every_arm)
        engines = adapter(study.engine).find_arms(requests, self._account, contrib=contrib)
        return {arm.name: engine for arm, engine in zip(study.every_arm, engines, strict=True)}

    def reach(self, study: Study, database: str | None) -> dict[str, Instance]:
        """Arm → its server; what a server of one arm alone counts is that arm's."""
        kind = adapter(study.engine)
        instances: dict[str, Instance] = {
            arm.name: kind.reach(study.address, arm.address, study.settings_of(arm), database)
            for arm in study.every_arm
        }
        alone = len(servers(instances)) == len(instances)
        return {
            name: kind.count_alone(instance) if alone else instance
            for name, instance in instances.items()
        }

    def slot(self, number: int) -> Slot:
        """The slot of a number in this weighing's private place."""
        return replace(self._run().slot(number, listens=self._listens), memory=self._cap)

    def place(self, name: str) -> Path:
        """A private directory in a place of the user's."""
        return self._run().place(name)

    def cap_memory(self, size_bytes: int, disk: DiskLimits | None = None) -> HeldBy:
        """A control group for every server that is started in a slot from now on."""
        run = self._run()
        self._cap = choose_cap(size_bytes, run.account, run.directory, disk=disk)
        return self._cap.by

    def devices(self) -> Mapping[str, str]:
        """Those that the slots and the arms' own places rest on."""
        run = self._run()
        return device_numbers(leaves_beneath((run.directory, *run.places)))

    def evict(self, directories: Sequence[Path]) -> Evicted:
        """Drop files from the page cache; what stayed is counted."""
        return evict(directories, self._run().account)

    def write_back(self) -> None:
        """syncfs(2) of the file systems that the slots and the arms' own places are on."""
        for directory in (self._run().directory, *self._run().places):
            write_back(directory)

    def server_logs(self) -> dict[str, str]:
        """Slot → the end of its server's log."""
        run = self._run()
        ends = {path: path.read_text(errors="replace")[-LOG_TAIL:] for path in run.logs()}
        return {"-".join(p.parent.relative_to(run.directory).parts): end for p, end in ends.items()}


class LocalData:
    """Workloads from their folders."""

    def open(self, study: Study) -> LoadedWorkload:
        """Read the workload of a study."""
        return LoadedWorkload(study)


class LoadedWorkload:
    """The workload of a study, read once from its folder."""

    def __init__(self, study: Study) -> None:
        resolved = resolve(study.workload, study.engine)
        self._workload, self._scale = resolved.workload, resolved.scale
        self._arms, self._choice = len(study.every_arm), study.workload
        self._source, self._kind = study.source, study.engine
        if self._source is None and not self._workload.loaded and not study.is_external:
            raise UsageError(
                f'workload "{self._workload.name}" has no data of its own',
                hint="--from brings them: a data directory, a base backup, or a dump.",
            )
        self.variables = resolved.variables
        self.scripts: tuple[Script, ...] = resolved.scripts
        self.tables = resolved.workload.draws
        self.tried_first = resolved.workload.tried_first
        self.failing = resolved.failing
        self.timed = resolved.timed

    def replay(self, pace: float) -> Replay:
        """Its recorded arrivals of the scripts that are driven, at so many times their pace.
        UsageError: it has none."""
        return replay_of(self._workload, self.scripts, pace)

    def without(self, scripts: Collection[str]) -> LoadedWorkload:
        """The same workload, these scripts of it left out."""
        rest = copy(self)
        rest.scripts = tuple(script for script in self.scripts if script.name not in scripts)
        return rest

    @property
    def database(self) -> str | None:
        """ "steelyard" for what Steelyard loads."""
        return DATABASE if self._workload.loaded else None

    def require_loaded(self, instance: Instance) -> None:
        """UsageError where it was loaded with something else, or not at all."""
        if self._workload.loaded:
            mark = loaded_workload(database_of(instance))
            require_workload(self._workload, self._scale, mark, instance.address.host)

    def fill(self, instance: Instance, report: ReportsStage) -> None:
        """Load it into a database that was made for it."""
        if not self._workload.loaded:
            raise UsageError(
                f'workload "{self._workload.name}" has no data of its own',
                hint="Arms are databases of ours here: name a workload that is loaded into them.",
            )
        workload = self._read_for(instance.identity.kind)
        load(workload, database_of(instance), self._scale, report)

    def template(self, engine: Engine, report: ReportsStage, *, number: int, copies: int) -> Path:
        """A loaded, cleanly stopped cluster for this engine, made where missing."""
        if not isinstance(engine, TemplateEngine):
            raise UsageError(f'cannot load data into engine "{engine.identity.kind}"')
        if self._source is not None:
            return import_template(
                engine, self._kind, self._source, report, copies=copies, number=number
            )
        workload, scale = self._read_for(engine.identity.kind), self._scale
        path = template(engine, workload, scale, report, copies=copies, number=number)
        self._require_room(copies)
        return path

    def release_source(self) -> None:
        """A base backup that was taken for this weighing goes."""
        if self._source is not None:
            drop_backup(self._source)

    def server_settings(self) -> ServerSettings | None:
        """Of the study's source; None where it has none."""
        return None if self._source is None else server_settings(self._kind, self._source)

    def _read_for(self, kind: str) -> Workload:
        """The workload by an engine's own files: two products may be weighed against each other."""
        if kind == self._workload.kind:
            return self._workload
        return resolve(self._choice, kind).workload

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
        if not isinstance(engine, TemplateEngine):
            raise UsageError(f'cannot load data into engine "{engine.identity.kind}"')
        return template_after_sql(engine, template, statements, arm, report, copies=copies)

    def _require_room(self, copies: int) -> None:
        reserved = self._arms * WAL_RESERVE_BYTES
        needed = copies * self._workload.bytes_at(self._scale) + reserved
        free = free_bytes(open_cache().runs)
        fits = max(1, self._workload.largest_scale((free - reserved) // max(1, copies)))
        require_room(
            f"could not weigh at scale {self._scale}",
            needed,
            free,
            detail=f'Needed under "{open_cache().root}" for {copies} copies and their WAL.',
            hint=f"Free some room, or choose a smaller scale: --set workload.scale={fits}",
        )

    def before_clients(self, instance: Instance) -> None:
        """`before.sql` of the workload."""
        workload = self._read_for(instance.identity.kind)
        before_clients(workload, database_of(instance), self._scale)

    def violations(self, instance: Instance) -> Sequence[str]:
        """What the workload's checks find wrong; work that writes nothing leaves nothing wrong."""
        if not any(script.writes for script in self.scripts):
            return []
        workload = self._read_for(instance.identity.kind)
        return check(workload, database_of(instance), self._scale, self.scripts)

    def work_counts(self, instance: Instance) -> Mapping[str, float]:
        """What the workload counts of the work that was done so far, by name."""
        return count_work(self._read_for(instance.identity.kind), database_of(instance))

    def probes(self, instance: Instance) -> Mapping[str, Mapping[str, float]]:
        """What the workload's probes count, explained on the server."""
        return explain_probes(self._workload, database_of(instance), self._scale)


class LocalDrivers:
    """Load drivers, each in a process of its own on this machine."""

    machines = 1

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, plan: DrivePlan) -> Driver:
        """A load driver in its own process, connected to every arm."""
        driver = Driver.start(plan)
        self._stack.callback(driver.kill)  # in case closing it is interrupted
        return driver

    def build_profile(self) -> str:
        """ "release" or "debug"."""
        return _core.build_profile()


class LocalHost:
    """This machine."""

    def __init__(self, run: Callable[[], Run]) -> None:
        self._run = run

    def processors(self) -> Sequence[int]:
        """Processors this process may use, second threads of a core last."""
        return allowed_processors()

    def sample(self) -> HostSample:
        """The state of the machine and of the disk that the slots are on."""
        return sample_host(self._run().directory, places=self._run().places)

    def huge_pages_free(self) -> int:
        """Of /proc/meminfo, less those that are promised."""
        return huge_pages_free()

    def waiting_bytes(self) -> int:
        """Dirty and Writeback of /proc/meminfo."""
        return waiting_bytes()

    def in_slices(self) -> MachineCounters:
        """The devices beneath the slots, pressure, refaults, the quota of this group."""
        return MachineCounters(self._run().directory, places=self._run().places)

    def environment(
        self, arms: Mapping[str, Instance], scripts: Sequence[Script], template: Path | None
    ) -> Environment:
        """Machine, builds, settings as the servers report them, hashes of files."""
        texts, directory = {script.name: script.text for script in scripts}, self._run().directory
        facts = environment(arms, scripts=texts, directory=directory, template=template)
        described = None if template is None else description(template)
        facts |= {"source": None if described is None else _taken_from(described.source)}
        facts |= probe_facts(directory, cache_root(), datetime.now(UTC))
        return Environment.of_json(facts, "the environment")

    def other_loads(self) -> tuple[OtherLoadLine, ...]:
        """By /proc, of every account."""
        return other_loads()

    def drives(self) -> tuple[DriveHealth, ...]:
        """By smartctl and nvme-cli, as far as there are rights."""
        return read_drives(self._run().directory)


class SystemClock:
    """The clocks of this machine."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def pause(self, duration_ns: int) -> None:
        """Sleep."""
        time.sleep(duration_ns / NS_PER_S)

    def suspended_ns(self) -> int:
        """CLOCK_BOOTTIME − CLOCK_MONOTONIC."""
        return suspended_ns()


def _taken_from(source: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """What a template says of its data's source. Dumps once had their file's name as database."""
    if source is None or source["kind"] != "dump" or source["database"] != source["name"]:
        return source
    return {**source, "database": ""}
