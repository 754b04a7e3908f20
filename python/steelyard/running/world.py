"""The laboratory as it really is: PostgreSQL servers, the driver's process, this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from steelyard import _core
from steelyard.driver.client import Driver
from steelyard.driver.plan import DrivePlan
from steelyard.engines.account import choose_account
from steelyard.engines.cache import free_bytes, open_cache, write_back
from steelyard.engines.defer_signals import undisturbed
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.engines.loading import DATABASE, TemplateEngine, database_of
from steelyard.engines.postgres.builds.find import Wanted, find_alike
from steelyard.engines.postgres.sql.counters import (
    KINDS,
    connect,
    read_counters,
    wait_until_flushed,
)
from steelyard.engines.postgres.sql.plans import read_plans
from steelyard.engines.postgres.sql.waits import WaitSampler
from steelyard.engines.registry import Run, open_run
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.kind import Sample
from steelyard.model.units import format_bytes
from steelyard.running.laboratory import SaysStage
from steelyard.study.study import Study
from steelyard.telemetry.arm_sources import ProcessTree, ServerCounters
from steelyard.telemetry.environment import environment
from steelyard.telemetry.host import HostSample, sample_host, suspended_ns
from steelyard.telemetry.processors import allowed_processors
from steelyard.telemetry.source import Source
from steelyard.workloads.checking.checks import check, count_work
from steelyard.workloads.checking.probes import explain_probes
from steelyard.workloads.loading.load import before_clients
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.resolved import ResolvedWorkload, resolve
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload

if TYPE_CHECKING:
    import psycopg

OLDEST = 140000
"""The first version with pg_stat_wal."""
WAL_RESERVE_BYTES = 1 << 30
"""Room each arm is given for its write-ahead log beside its copy of the data."""


class World:
    """A Laboratory on this machine; what it made is gone when it is left."""

    def __init__(self, account: str | None = None) -> None:
        self._account_name = account
        self._stack = ExitStack()
        self._workloads: dict[str, ResolvedWorkload] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with undisturbed(at_the_end=True):
            self._stack.close()

    @cached_property
    def _run(self) -> Run:
        account = choose_account(self._account_name)
        return self._stack.enter_context(open_run(open_cache(), account))

    def engines(self, study: Study) -> dict[str, Engine]:
        """Arm → the build it names, of one builder if that can be; EngineError: what there is."""
        wanted = [Wanted(arm.version, arm.bindir) for arm in study.every_arm]
        found = find_alike(wanted, self._account_name, contrib=study.contrib)
        for identity in (engine.identity for engine in found):
            if identity.version_number < OLDEST:
                raise EngineError(
                    f"cannot weigh PostgreSQL {identity.version}: 14 is the oldest that can be",
                    detail="Older servers do not tell how much write-ahead log they wrote.",
                )
        return {arm.name: engine for arm, engine in zip(study.every_arm, found, strict=True)}

    def scripts(self, study: Study) -> tuple[Script, ...]:
        """The scripts of the study's workload, each compiled and evaluated once."""
        return self._resolved(study).scripts

    def _resolved(self, study: Study) -> ResolvedWorkload:
        """The study's workload as its folder was when it was first needed."""
        choice = study.workload.model_dump_json()
        if choice not in self._workloads:
            self._workloads[choice] = resolve(study.workload)
        return self._workloads[choice]

    def template(
        self, engine: Engine, study: Study, say: SaysStage, *, number: int, copies: int
    ) -> Path:
        """A loaded, cleanly stopped cluster for this engine and workload, made where missing."""
        if not isinstance(engine, TemplateEngine):
            raise UsageError(f'cannot load data into engine "{engine.identity.kind}"')
        asked = self._resolved(study)
        found = template(engine, asked.workload, asked.scale, say, copies=copies, number=number)
        self._require_room(asked.workload, asked.scale, len(study.every_arm), copies)
        return found

    def _require_room(self, workload: Workload, scale: int, arms: int, copies: int) -> None:
        reserved = arms * WAL_RESERVE_BYTES
        needed = copies * workload.bytes_at(scale) + reserved
        free = free_bytes(open_cache().runs)
        if free < needed:
            fits = max(1, workload.largest_scale((free - reserved) // max(1, copies)))
            raise EngineError(
                f"could not weigh at scale {scale}: "
                f"{format_bytes(needed)} are needed, {format_bytes(free)} are free",
                detail=f'Needed under "{open_cache().root}" for {copies} copies and their WAL.',
                hint=f"Free some room, or choose a smaller scale: --set workload.scale={fits}",
            )

    def slot(self, number: int) -> Slot:
        """The slot of a number in this weighing's private place."""
        return self._run.slot(number)

    def write_back(self) -> None:
        """syncfs(2) of the file system the slots stand on."""
        write_back(self._run.directory)

    def variables(self, study: Study) -> Mapping[str, str | int | float]:
        """Variables that every script sees, `scale` and the number of `clients` among them."""
        return self._resolved(study).variables

    def before_clients(self, instance: Instance, study: Study) -> None:
        """`before.sql` of the study's workload."""
        asked = self._resolved(study)
        before_clients(asked.workload, database_of(instance), asked.scale)

    def drive(self, plan: DrivePlan) -> Driver:
        """A load driver in its own process, connected to every arm."""
        driver = Driver.start(plan)
        self._stack.callback(driver.kill)  # should whoever drives be interrupted in closing it
        return driver

    def creditor(self, instance: Instance) -> Checkpointer:
        """Who makes an arm pay for what it left to the background."""
        return Checkpointer(connect(_database(instance)))

    def sources(self) -> Sequence[Source]:
        """What is read of every arm beside the load."""
        return (ProcessTree(), ServerCounters(KINDS, self._count))

    def _count(self, instance: Instance) -> Sample:
        """The server's cumulative counters, once every load connection has closed."""
        number = instance.identity.version_number
        flushed = wait_until_flushed(_database(instance), number)
        counted = read_counters(_database(instance), number)
        return Sample(counted, "" if flushed else "statistics were not flushed within 10 s")

    def wal_flush_share(self, instances: Sequence[Instance]) -> Watch:
        """Begin to watch what the backends wait for."""
        return Watch([WaitSampler(_database(instance)) for instance in instances])

    def violations(
        self, instance: Instance, study: Study, scripts: Sequence[Script]
    ) -> Sequence[str]:
        """What the workload's checks find wrong; work that writes nothing leaves nothing wrong."""
        if not any(script.writes for script in scripts):
            return []
        asked = self._resolved(study)
        return check(asked.workload, database_of(instance), asked.scale, scripts)

    def work_counts(self, instance: Instance, study: Study) -> Mapping[str, float]:
        """What the workload counts of the work that was done so far, by name."""
        return count_work(self._resolved(study).workload, database_of(instance))

    def probes(self, instance: Instance, study: Study) -> Mapping[str, Mapping[str, float]]:
        """What the workload's probes count, explained on the server."""
        asked = self._resolved(study)
        return explain_probes(asked.workload, database_of(instance), asked.scale)

    def plans(self, instance: Instance, scripts: Sequence[Script]) -> Mapping[str, str]:
        """Statement → its generic plan on this arm."""
        return read_plans(_database(instance), {script.name: script.text for script in scripts})

    def environment(
        self,
        standing: Mapping[str, Instance],
        study: Study,
        scripts: Sequence[Script],
        template: Path,
    ) -> Mapping[str, Any]:
        """Machine, builds, settings as the servers report them, hashes of files."""
        texts = {script.name: script.text for script in scripts}
        place = self._run.directory
        seen = environment(standing, scripts=texts, directory=place, template=template)
        return {**seen, "workload": study.workload.model_dump(mode="json")}

    def processors(self) -> Sequence[int]:
        """Processors this process may use, second threads of a core last."""
        return allowed_processors()

    def host(self) -> HostSample:
        """What the machine looks like now."""
        return sample_host(self._run.directory)

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def suspended_ns(self) -> int:
        """By CLOCK_BOOTTIME and CLOCK_MONOTONIC."""
        return suspended_ns()

    def build_profile(self) -> str:
        """ "release" or "debug"."""
        return _core.build_profile()

    def server_logs(self) -> dict[str, str]:
        """Slot → the end of its server's log, to be kept when something went wrong."""
        return {
            path.parent.name: path.read_text(errors="replace")[-LOG_TAIL:]
            for path in self._run.logs()
        }


LOG_TAIL = 20_000
"""Characters of a server's log that are kept."""


class Checkpointer:
    """Makes an arm pay by CHECKPOINT: its dirty pages and its WAL reach the disk."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def collect(self) -> int:
        """Nanoseconds the checkpoint took; 0 when the server is gone, which others will say."""
        import psycopg

        started = time.monotonic_ns()
        try:
            self._connection.execute("CHECKPOINT")
        except psycopg.OperationalError:
            return 0
        return time.monotonic_ns() - started

    def close(self) -> None:
        """Give the connection up."""
        self._connection.close()


class Watch:
    """Wait samplers on every arm, from their start to `stop`."""

    def __init__(self, samplers: Sequence[WaitSampler]) -> None:
        self._stack = ExitStack()
        self._samplers = [self._stack.enter_context(sampler) for sampler in samplers]

    def stop(self) -> float:
        """Share of the active backends seen that waited for the WAL to reach the disk."""
        self._stack.close()
        waits = [sampler.waits for sampler in self._samplers]
        active = sum(each.active for each in waits)
        return sum(each.wal_flush_share * each.active for each in waits) / active if active else 0.0


def _database(instance: Instance) -> str:
    return replace(instance.address, database=DATABASE).conninfo()
