"""Stands in for the slots where arms are sessions of servers that are running, or databases of ours
on a server that is not.

Nothing is started or stopped. In every epoch all connections are opened afresh, and which of the
sets of connections, in the order in which they are opened, an arm gets is drawn: on one server that
makes the arms exchangeable, on several it randomises nothing but the order.

Where arms are databases there is one a slot, made and loaded alike when arms are first started. In
every epoch which arm works in which database is drawn anew; it is set as its arm says and
rewritten, so that its pages carry that. At the end each is read as a whole and dropped, where it is
still ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from steelyard.driver.read_only import ON, READ_ONLY, why_not_read_only
from steelyard.engines.capabilities.external import (
    DatabaseHost,
    ExternalServer,
    Noticed,
    OwnDatabase,
)
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Instance
from steelyard.engines.page_cache import Evicted
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.record.plan import Residency, Upkeep
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.stopwatch import Progress, Stopwatch
from steelyard.study.study import Study

Fill = Callable[[Instance, Callable[[str], None]], None]


class Sessions:
    """The arms of a weighing at addresses: what its epochs ask of `Slots`, without files."""

    template: Path | None = None
    evicted: Evicted | None = None

    def __init__(self, arms: Mapping[str, Instance]) -> None:
        """`arms`: by name, each reached at its address."""
        self._arms = dict(arms)

    @property
    def setting_rules(self) -> SettingRules:
        """Of the kind of server."""
        rules = [
            instance.setting_rules
            for instance in self._arms.values()
            if isinstance(instance, ExternalServer)
        ]
        return rules[0] if rules else SettingRules()

    @property
    def residency(self) -> Residency:
        """Whether all arms are sessions of one server."""
        return "one server" if len(servers(self._arms)) == 1 else "several servers"

    @property
    def running_arms(self) -> Mapping[str, Instance]:
        """All arms."""
        return dict(self._arms)

    def start_arms(
        self,
        slots: Mapping[str, int],
        order: Sequence[str],
        upkeep: Upkeep,
        loads: Mapping[str, int] | None = None,
    ) -> dict[str, Instance]:
        """The arms in the order in which their connections are to be opened: that of their slots.
        ArmLostError: one takes no connection, in its server's words."""
        for arm in order:
            instance = self._arms[arm]
            if isinstance(instance, ExternalServer):
                try:
                    instance.ping()
                except EngineError as failure:
                    raise ArmLostError.at_start({arm: failure}) from failure
        return {arm: self._arms[arm] for arm in sorted(order, key=lambda arm: slots[arm])}

    def stop_arms(self) -> None:
        """Nothing: the servers go on."""

    def end_arms(self, upkeep: Upkeep) -> None:
        """Nothing: the servers go on."""

    @contextmanager
    def naming_kills(self) -> Iterator[None]:
        """No server is held to a cap."""
        yield

    def exchangeable(self) -> bool:
        """There are no files."""
        return True


def servers(arms: Mapping[str, Instance]) -> set[tuple[str, ...]]:
    """The servers that arms are reached at."""
    return {
        tuple(instance.server())
        for instance in arms.values()
        if isinstance(instance, ExternalServer)
    }


def notices(arms: Mapping[str, Instance]) -> list[str]:
    """What has to be said of the servers, each once."""
    every = (
        notice
        for instance in arms.values()
        if isinstance(instance, Noticed)
        for notice in instance.notices
    )
    return list(dict.fromkeys(every))


def round_trips(arms: Mapping[str, Instance]) -> dict[str, int]:
    """Arm → nanoseconds of an empty statement, of those that are reached; none where it fails."""
    times_ns = {}
    for name, instance in arms.items():
        if isinstance(instance, ExternalServer):
            try:
                times_ns[name] = instance.round_trip_ns()
            except EngineError:
                continue
    return times_ns


def require_read_only(study: Study, arms: Mapping[str, Instance]) -> None:
    """UsageError: sessions of an arm do not begin read-only where the study says that they do, as
    captured queries are driven; asked of a session of the driver."""
    for arm in study.every_arm:
        if study.settings_of(arm).get(READ_ONLY) != ON:
            continue
        address = arms[arm.name].address
        why = why_not_read_only(address)
        if why is not None:
            raise UsageError(
                f'sessions of arm "{arm.name}" at "{address.host}" do not begin read-only',
                detail=why,
                hint="Name the server itself where this is a pooler. Say --yes if this server's "
                "data may be changed.",
            )


class Databases(Sessions):
    """The arms of a weighing as databases of one server."""

    def __init__(
        self, arms: Mapping[str, Instance], fill: Fill, stopwatch: Stopwatch, progress: Progress
    ) -> None:
        """`arms`: by name, each Housed; `fill` loads the workload into the database of one."""
        super().__init__(arms)
        self._housed = {name: cast(DatabaseHost, arm) for name, arm in arms.items()}
        self._fill, self._phase, self._progress = fill, stopwatch, progress
        self._databases: list[OwnDatabase] = []
        self._whole = False
        """All of them were made and loaded."""

    @property
    def residency(self) -> Residency:
        """Databases of ours."""
        return "own databases"

    def start_arms(
        self,
        slots: Mapping[str, int],
        order: Sequence[str],
        upkeep: Upkeep,
        loads: Mapping[str, int] | None = None,
    ) -> dict[str, Instance]:
        """The arms, each in the database of its slot, set and rewritten. EngineError: a database is
        no longer ours; ArmLostError: the server refused, or takes no connection."""
        if not self._whole:
            with self._phase("load data"):
                self._make()
        with self._phase("put back"):
            for arm in order:
                self._housed[arm].work_in(self._databases[slots[arm]])
                try:
                    self._housed[arm].settle()
                except ServerError as failure:
                    raise ArmLostError.at_start({arm: failure}) from failure
        return super().start_arms(slots, order, upkeep, loads)

    def stop_arms(self) -> None:
        """Check every database and drop it unless it may be damaged or is no longer ours; each is
        tried before the first error is raised."""
        failures: list[EngineError] = []
        retained: list[OwnDatabase] = []
        with self._phase("stop"):
            try:
                for database in self._databases if self._whole else ():
                    try:
                        database.check()
                    except ServerError as failure:
                        failures.append(failure)
                    except EngineError as failure:
                        failures.append(failure)
                        retained.append(database)
            finally:
                with defer_signals():
                    failures += self._drop(retained)
        if failures:
            raise failures[0]

    def _drop(self, retained: Sequence[OwnDatabase]) -> list[EngineError]:
        """Drop all but these; what went wrong. What is left is named."""
        failures: list[EngineError] = []
        while self._databases:
            database = self._databases.pop()
            try:
                if database not in retained:
                    database.drop()
                    continue
            except EngineError as failure:
                failures.append(failure)
            self._progress.note(f"database {database.name} is left on the server")
        self._whole = False
        return failures

    def _make(self) -> None:
        """A database an arm, all alike."""
        for number, (name, arm) in enumerate(self._housed.items()):
            self._progress.stage(f"make a database on the server, {number + 1}")
            database = arm.draw_database()
            # Named and remembered first: an interrupt may come before the server's answer.
            self._progress.note(f"make database {database.name} on the server")
            self._databases.append(database)
            database.make()
            arm.work_in(database)
            self._fill(self._arms[name], self._progress.stage)
        self._whole = True
