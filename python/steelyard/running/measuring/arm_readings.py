"""Reads standing arms beside their load: telemetry, the work that was counted, probes, checks.

Reads how many transactions the servers ended while a load by several machines was connected.

Drivers count the answers that they got; on one machine their sums are the load's by construction,
on several they are compared with the servers' own counts.

Reads what servers count of each statement over the measured slices, and what an archive of their
log would take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from steelyard.engines.capabilities.counters import (
    ArchivedLog,
    CountedStatements,
    CountedTransactions,
)
from steelyard.engines.engine import Instance
from steelyard.engines.loading import DATABASE
from steelyard.evaluation.workload_rows import work_per_minute
from steelyard.model.errors import EngineError
from steelyard.model.readings import (
    ARCHIVE_BYTES,
    ENDED_TRANSACTIONS,
    WAL_BYTES,
    Reading,
    StatementCounts,
    between,
)
from steelyard.record.epoch import (
    ArmLine,
    PartLine,
    ReadingLine,
    StatementLine,
    StatementsLine,
    WaitsLine,
)
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.arm_loss import require_streaming
from steelyard.running.preparing.setup import Setup
from steelyard.telemetry.host import HostSample
from steelyard.telemetry.source import EpochTelemetry


class StatementReadings:
    """Of the arms whose statements are to be counted: made before the load connects.

    EngineError: the build of an arm cannot count them.
    """

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        self._standing = {
            arm: instance
            for arm, instance in instances.items()
            if isinstance(instance, CountedStatements)
        }
        self._before: dict[str, StatementCounts] = {}
        self._after: dict[str, StatementCounts] = {}
        for instance in self._standing.values():
            instance.prepare_statement_counts()

    def border(self, arms: Collection[str]) -> None:
        """At a border of the measured slices of these arms; only the first is read."""
        self._before |= self._counts(set(arms) - self._before.keys())

    def end(self, arm: str) -> None:
        """At the last border of an arm that goes on afterwards."""
        self._after |= self._counts((arm,))

    def lines(self) -> dict[str, StatementsLine]:
        """Arm → what was counted since its first border, to its end or, once the load has gone,
        until now."""
        after = self._after | self._counts(self._before.keys() - self._after.keys())
        return {arm: _line(between(self._before[arm], after[arm])) for arm in self._before}

    def _counts(self, arms: Collection[str]) -> dict[str, StatementCounts]:
        return {arm: _read(instance) for arm, instance in self._standing.items() if arm in arms}


def _read(instance: CountedStatements) -> StatementCounts:
    """What a server tells; nothing, with its reason, where it does not."""
    try:
        return instance.statement_counts(DATABASE)
    except EngineError as reason:
        return StatementCounts(missing=reason.primary)


def _line(statement_counts: StatementCounts) -> StatementsLine:
    counts = tuple(
        StatementLine(**asdict(statement)) for statement in statement_counts.by_text.values()
    )
    return StatementsLine(missing=statement_counts.missing, counts=counts)


_UNTOLD = "a server does not tell, or sessions stayed"


class EndedTransactions:
    """What the databases of all arms have counted since this was made."""

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        counted = [
            instance for instance in instances.values() if isinstance(instance, CountedTransactions)
        ]
        self._databases = {tuple(instance.counted_in()): instance for instance in counted}
        self._whole = len(counted) == len(instances)
        self._before = self._counts()

    def reading(self) -> Reading:
        """Transactions of all of them together, ours and others'."""
        before, after = self._before, self._counts()
        if before is None or after is None or after < before:  # or its statistics were reset
            return Reading(ENDED_TRANSACTIONS, "transactions", None, _UNTOLD)
        return Reading(ENDED_TRANSACTIONS, "transactions", after - before)

    def _counts(self) -> int | None:
        counts = [instance.ended_transactions() for instance in self._databases.values()]
        reported = [count for count in counts if count is not None]
        return sum(reported) if self._whole and len(reported) == len(counts) else None


class ArchiveReadings:
    """What an archive of the log that arms write from the first border on would take."""

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        self._standing = {
            arm: server for arm, server in instances.items() if isinstance(server, ArchivedLog)
        }
        self._first: dict[str, str] = {}
        for server in self._standing.values():
            # At a border a server's processes may stand still, those that read for sessions too:
            # what the first session in a database reads is read before.
            server.log_segment()

    def border(self, arms: Collection[str] | None = None) -> None:
        """At a border of the measured slices, of all arms or of these; only the first is read."""
        for arm, server in self._standing.items():
            if arm not in self._first and (arms is None or arm in arms):
                self._first[arm] = server.log_segment()

    def readings(self, arm: str, log: Sequence[Reading]) -> list[Reading]:
        """The reading of an arm, whose log is among its others; none where it is not asked for."""
        instance = self._standing.get(arm)
        written = next((reading for reading in log if reading.name == WAL_BYTES), None)
        if instance is None or written is None:
            return []
        try:
            share = instance.archive_share(self._first[arm], instance.log_segment())
            missing = written.missing or "no whole segment of log was written"
        except EngineError as reason:
            share, missing = None, reason.primary
        if share is None or written.value is None:
            return [replace(written, name=ARCHIVE_BYTES, value=None, missing=missing)]
        return [replace(written, name=ARCHIVE_BYTES, value=share * written.value)]


@dataclass(frozen=True)
class SliceReadings:
    """What was seen during the measured slices of each arm."""

    waits: Mapping[str, WaitsLine] = field(default_factory=dict)
    machine: Mapping[str, Sequence[Reading]] = field(default_factory=dict)


NO_READINGS = SliceReadings()


@dataclass(frozen=True)
class EpochReadings:
    """What was read of arms that were measured to their end."""

    arms: Mapping[str, ArmLine] = field(default_factory=dict)
    violations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ended: tuple[ReadingLine, ...] = ()
    """Transactions by the servers' own count, where several machines drove them."""
    host: HostSample | None = None
    """The machine while the arms still stood; None: they did not to the end."""


class ArmReadings:
    """Readings of standing arms, from before the load connects until after it has gone."""

    def __init__(self, setup: Setup, instances: Mapping[str, Instance]) -> None:
        self._setup = setup
        self._data = setup.data
        self._standing = instances
        counted = instances if setup.study.statement_counters else {}
        with setup.phase("read"):
            self._statements = StatementReadings(counted)
            self._archive = ArchiveReadings(instances if setup.study.archive else {})
            self._telemetry = EpochTelemetry(setup.laboratory.sources, instances)
            self._done: dict[str, Mapping[str, float]] = {}
            self._done_at_end: dict[str, Mapping[str, float]] = {}
            several = setup.laboratory.drivers.machines > 1
            self._ended = EndedTransactions(instances) if several else None

    def border(self) -> None:
        """Read what is read at a border of the measured slices; first at their beginning."""
        self._border(self._standing)

    def border_of(self, arm: str) -> None:
        """The same where the measured slices of an arm begin, and where they end: other slices of
        it come before and after them, and what is done in those is in no figure of it. Others may
        stand still meanwhile."""
        ends = arm in self._done
        self._border({arm: self._standing[arm]})
        if ends:
            with self._setup.phase("read"):
                self._statements.end(arm)
                self._done_at_end |= self._counts((arm,))

    def _border(self, arms: Mapping[str, Instance]) -> None:
        with self._setup.phase("read"):
            require_streaming(arms)
            self._telemetry.border(arms)
            self._statements.border(arms)
            self._archive.border(arms)
            self._done |= self._counts(arms.keys() - self._done.keys())

    def close(
        self,
        lines: Iterable[SliceLine],
        borders: Sequence[int] = (),
        slice_readings: SliceReadings = NO_READINGS,
    ) -> EpochReadings:
        """Read what is read once the load has gone. `lines`: of all arms; `borders`: the first
        block of each part, where parts are to be kept; `slice_readings`: what was seen in the
        slices."""
        with self._setup.phase("read"):
            return self._close(lines, borders, slice_readings)

    def _close(
        self, lines: Iterable[SliceLine], borders: Sequence[int], slice_readings: SliceReadings
    ) -> EpochReadings:
        host = self._setup.laboratory.host.sample()
        ended = () if self._ended is None else reading_lines([self._ended.reading()])
        self._telemetry.close()
        counted = self._statements.lines()
        going = self._standing.keys() - self._done_at_end.keys()
        done = self._done_at_end | self._counts(going)
        every = list(lines)
        arms = {}
        for arm, instance in self._standing.items():
            arm_lines = [line for line in every if line.arm == arm]
            line = self._line(arm, arm_lines, borders)
            arms[arm] = line.model_copy(
                update={
                    "work_per_minute": work_per_minute(self._done[arm], done[arm], arm_lines),
                    "probes": self._data.probes(instance),
                    "readings": (
                        *line.readings,
                        *reading_lines(slice_readings.machine.get(arm, ())),
                    ),
                    **({"waits": slice_readings.waits[arm]} if arm in slice_readings.waits else {}),
                    **({"statements": counted[arm]} if arm in counted else {}),
                }
            )
        violations = {
            arm: tuple(self._data.violations(instance)) for arm, instance in self._standing.items()
        }
        return EpochReadings(arms, violations, ended, host)

    def _counts(self, arms: Collection[str]) -> dict[str, Mapping[str, float]]:
        return {
            arm: self._data.work_counts(instance)
            for arm, instance in self._standing.items()
            if arm in arms
        }

    def _line(self, arm: str, lines: Sequence[SliceLine], borders: Sequence[int]) -> ArmLine:
        measured = [line for line in lines if line.kind == "measured"]
        parts, readings = self._telemetry.parts(arm), self._telemetry.readings(arm)
        return ArmLine(
            driver_cpu_ns=sum(line.driver_cpu_ns for line in measured),
            transactions=sum(line.transactions for line in measured),
            all_transactions=sum(line.transactions for line in lines),
            readings=reading_lines([*readings, *self._archive.readings(arm, readings)]),
            parts=tuple(
                PartLine(first_block=first, values=values)
                for first, values in zip(borders, parts, strict=False)
            ),
        )


def reading_lines(readings: Iterable[Reading]) -> tuple[ReadingLine, ...]:
    """Readings as lines, without what says nothing; a value of 0 is one."""
    rows = (
        {
            name: value
            for name, value in asdict(reading).items()
            if value != "" and value is not False
        }
        for reading in readings
    )
    return tuple(ReadingLine.model_validate(row) for row in rows)
