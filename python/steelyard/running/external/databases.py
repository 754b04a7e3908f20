"""Stands in for the slots where arms are databases of ours on a server that is not.

There is a database a slot, made and loaded alike when arms are first started. In every epoch which
arm works in which database is drawn anew; it is set as its arm says and rewritten, so that its
pages carry that. At the end each is read as a whole and dropped, where it is still ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from steelyard.engines.capabilities.external import DatabaseHost, OwnDatabase
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError, ServerError
from steelyard.record.plan import Residency, Upkeep
from steelyard.running.external.sessions import Sessions
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.stopwatch import Progress, Stopwatch

Fill = Callable[[Instance, Callable[[str], None]], None]


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
