"""Databases of ours as arms: slots say which arm works in which; all are dropped at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from steelyard.engines.engine import Instance
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.running.external_slots import Databases
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.stopwatch import Stopwatch
from story.asked import Watcher
from story.noop.journal import NOOP_IDENTITY
from story.noop.sessions import NoopExternal

NAMES = ("a", "b", "c")


@dataclass
class OneDatabase:
    """A database that is told what becomes of it."""

    name: str
    calls: list[str]
    failure: EngineError | None = None
    damage: EngineError | None = None
    unmade: BaseException | None = None
    """Comes before the server's answer to its making."""

    def make(self) -> None:
        self.calls.append(f"make {self.name}")
        if self.unmade is not None:
            raise self.unmade

    def check(self) -> None:
        self.calls.append(f"check {self.name}")
        if self.damage is not None:
            raise self.damage

    def drop(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.calls.append(f"drop {self.name}")


@dataclass
class HousedArm(NoopExternal):
    """An arm of a server in memory in which databases are made."""

    arm: str = ""
    server_of: Server | None = None
    database: OneDatabase | None = None

    def draw_database(self) -> OneDatabase:
        return self._server.draw()

    def work_in(self, database: OneDatabase) -> None:
        self.database = database

    def settle(self) -> None:
        assert self.database is not None
        if self._server.failure is not None:
            raise self._server.failure
        self._server.calls.append(f"settle {self.arm} in {self.database.name}")

    @property
    def _server(self) -> Server:
        assert self.server_of is not None
        return self.server_of


@dataclass
class Server:
    """What was done to it."""

    calls: list[str] = field(default_factory=list)
    made: list[OneDatabase] = field(default_factory=list)
    most: int = 3
    unmade: BaseException = field(default_factory=lambda: ServerError("no more"))
    failure: EngineError | None = None

    def draw(self) -> OneDatabase:
        one = OneDatabase(f"d{len(self.made)}", self.calls)
        if len(self.made) == self.most:
            one.unmade = self.unmade
        self.made.append(one)
        return one

    def fill(self, instance: Instance, report: Callable[[str], None]) -> None:
        assert isinstance(instance, HousedArm)
        assert instance.database is not None
        report("load")
        self.calls.append(f"fill {instance.database.name}")


def databases_on(server: Server, watcher: Watcher | None = None) -> Databases:
    where = Endpoint("db1", 1433, "sa", "")
    arms = {
        name: HousedArm(NOOP_IDENTITY, where, ("db1",), arm=name, server_of=server)
        for name in NAMES
    }
    return Databases(arms, server.fill, Stopwatch(lambda: 0), watcher or Watcher())


def begun(databases: Databases, **slots: int) -> list[str]:
    return list(databases.start_arms(slots, NAMES, "exchange"))


def test_they_are_made_and_loaded_once_and_given_to_the_arms_by_slot() -> None:
    server = Server()
    databases = databases_on(server)
    assert databases.residency == "own databases"
    assert server.calls == []
    assert begun(databases, a=1, b=0, c=2) == ["b", "a", "c"]
    loaded = [f"{what} d{number}" for number in range(3) for what in ("make", "fill")]
    assert server.calls[:6] == loaded
    assert server.calls[6:] == ["settle a in d1", "settle b in d0", "settle c in d2"]
    begun(databases, a=2, b=1, c=0)
    assert server.calls[9:] == ["settle a in d2", "settle b in d1", "settle c in d0"]


def test_all_are_checked_before_the_first_is_dropped() -> None:
    server = Server()
    databases = databases_on(server)
    begun(databases, a=0, b=1, c=2)
    databases.stop_arms()
    assert sorted(server.calls[-6:-3]) == ["check d0", "check d1", "check d2"]
    assert sorted(server.calls[-3:]) == ["drop d0", "drop d1", "drop d2"]
    databases.stop_arms()  # nothing is left


def test_one_that_cannot_be_dropped_keeps_no_other_and_is_named() -> None:
    server, watcher = Server(), Watcher()
    databases = databases_on(server, watcher)
    begun(databases, a=0, b=1, c=2)
    server.made[2].failure = EngineError("its marker is gone")
    with pytest.raises(EngineError, match="its marker is gone"):
        databases.stop_arms()
    assert server.calls[-2:] == ["drop d1", "drop d0"]
    assert watcher.notes[-1] == "database d2 is left on the server"


def test_a_damaged_one_is_left_to_be_looked_at_and_one_unchecked_is_dropped() -> None:
    server = Server()
    databases = databases_on(server)
    begun(databases, a=0, b=1, c=2)
    server.made[0].damage = ServerError("no connection")
    server.made[1].damage = EngineError("damaged")
    with pytest.raises(EngineError, match="no connection"):
        databases.stop_arms()
    assert [call for call in server.calls if call.startswith("drop")] == ["drop d2", "drop d0"]


def test_what_was_made_before_a_failure_is_dropped_unchecked() -> None:
    server = Server(most=2)
    databases = databases_on(server)
    with pytest.raises(ServerError, match="no more"):
        begun(databases, a=0, b=1, c=2)
    databases.stop_arms()
    assert server.calls[-3:] == ["drop d2", "drop d1", "drop d0"]  # d2 may be there
    assert not [call for call in server.calls if call.startswith("check")]


def test_one_is_named_before_it_is_made_and_tried_to_be_dropped_after_an_interrupt() -> None:
    server, watcher = Server(most=1, unmade=KeyboardInterrupt()), Watcher()
    databases = databases_on(server, watcher)
    with pytest.raises(KeyboardInterrupt):
        begun(databases, a=0, b=1, c=2)
    assert watcher.notes == [f"make database d{number} on the server" for number in range(2)]
    databases.stop_arms()
    assert server.calls[-3:] == ["make d1", "drop d1", "drop d0"]


def test_a_refusal_of_the_server_loses_an_epoch_and_a_database_that_is_not_ours_ends_it() -> None:
    server = Server()
    databases = databases_on(server)
    server.failure = ServerError("the log is full")
    with pytest.raises(ArmLostError) as lost:
        begun(databases, a=0, b=1, c=2)
    assert lost.value.outcome == "could not start: a"
    server.failure = EngineError("its marker is gone")
    with pytest.raises(EngineError) as ended:
        begun(databases, a=0, b=1, c=2)
    assert not isinstance(ended.value, ServerError)
