"""Shares of rows are copied once each, whenever a machine dies and whatever it was doing."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from steelyard.engines.loading import RowShare
from steelyard.fleet import row_copying
from steelyard.fleet.load_generators.load_agent import LostError, machine_facts
from steelyard.fleet.row_copying import SESSIONS, LoadMachines
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, ServerError
from steelyard.model.secrets.secret import Secret

TARGET = Endpoint("db1", 5432, "app", "postgres")


def share(number: int) -> RowShare:
    return RowShare("t", (), "pgbench", 1, {}, 0, "copy", first=number, chunks=1)


@dataclass
class MemoryServer:
    """What was committed, and by whom; a key that is there refuses a second copy."""

    committed: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def commit(self, number: int, session: int) -> None:
        with self.lock:
            if number in self.committed:
                raise ServerError("duplicate key")
            if session in self.ended:
                raise ServerError("this session was ended")
            self.committed.append(number)

    def there(self) -> list[tuple[str, int]]:
        with self.lock:
            return [("t", one) for one in self.committed]

    def end(self, _: Endpoint, sessions: tuple[int, ...]) -> None:
        with self.lock:
            self.ended.extend(one for one in sessions if one not in self.ended)


@dataclass
class MemoryCopier:
    """A machine; `dies` says of the number of its copies whether it dies before or after it."""

    server: MemoryServer
    number: int
    dies: Callable[[int], str] = lambda _: ""
    copies: int = 0
    dead: bool = False
    facts = machine_facts()

    @property
    def name(self) -> str:
        return f"machine {self.number}"

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        assert target.password is None
        return tuple(100 * self.number + one for one in range(sessions))

    def copy(self, share: RowShare, session: int) -> int:
        if self.dead:
            raise LostError("its Ray actor is gone")
        self.copies += 1
        when = self.dies(self.copies)
        if when != "before":
            self.server.commit(share.first, 100 * self.number + session)
        if when:
            self.dead = True
            raise LostError("its Ray actor is gone")
        return 10

    def disconnect(self) -> None:
        """Nothing is held open."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> MemoryServer:
    made = MemoryServer()
    monkeypatch.setattr(row_copying, "end_sessions", made.end)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_every_share_is_there_once_whenever_machines_die(server: MemoryServer, seed: int) -> None:
    draw = random.Random(seed)
    machines, shares = draw.randint(2, 4), draw.randint(1, 60)
    dying = {  # all but one at most
        number: (draw.randint(1, max(1, shares // machines)), draw.choice(["before", "after"]))
        for number in draw.sample(range(machines), draw.randint(1, machines - 1))
    }

    def dies(number: int) -> Callable[[int], str]:
        at, when = dying.get(number, (0, ""))
        return lambda copy: when if copy == at else ""

    copiers = [MemoryCopier(server, number, dies(number)) for number in range(machines)]
    told: list[str] = []
    load = LoadMachines(copiers, TARGET, told.append)
    load.copy([share(one) for one in range(shares)], server.there, lambda _: None)
    assert sorted(server.committed) == list(range(shares))
    assert sorted(load.lost) == sorted(one.name for one in copiers if one.dead)
    for name in load.lost:
        assert any(f'"{name}" is lost' in line for line in told)
    own = {100 * one.number + n for one in copiers if one.dead for n in range(SESSIONS)}
    assert set(server.ended) == own, "sessions of the living go on"


def test_a_load_without_any_machine_left_says_so(server: MemoryServer) -> None:
    copiers = [MemoryCopier(server, number, lambda _: "before") for number in range(2)]
    load = LoadMachines(copiers, TARGET, lambda _: None)
    with pytest.raises(DriverError, match="all load machines are lost"):
        load.copy([share(one) for one in range(9)], server.there, lambda _: None)
    assert server.committed == []


def test_what_a_machine_says_ends_the_load_with_its_name(server: MemoryServer) -> None:
    server.committed.append(3)  # somebody else's: the key refuses it
    copiers = [MemoryCopier(server, number) for number in range(2)]
    load = LoadMachines(copiers, TARGET, lambda _: None)
    with pytest.raises(DriverError, match=r'load machine "machine \d": duplicate key'):
        load.copy([share(one) for one in range(9)], server.there, lambda _: None)


def test_sessions_that_do_not_end_end_the_load(
    server: MemoryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they have begun could still be committed, beside what is made again."""

    def refuse(*_: object) -> None:
        raise ServerError("could not end sessions of a lost machine", detail="no route to host")

    monkeypatch.setattr(row_copying, "end_sessions", refuse)
    copiers = [MemoryCopier(server, 0, lambda _: "before"), MemoryCopier(server, 1)]
    load = LoadMachines(copiers, TARGET, lambda _: None)
    with pytest.raises(DriverError, match='"machine 0": could not end sessions') as failed:
        load.copy([share(one) for one in range(99)], server.there, lambda _: None)
    assert failed.value.detail == "no route to host"


def test_a_connection_string_crosses_without_its_password() -> None:
    from steelyard.engines.adapters import crossing
    from steelyard.engines.postgres.libpq.connection_string import GivenAddress

    words = "host=db1 user=app password=secret sslmode=verify-full"
    crossed = crossing(
        GivenAddress("db1", 5432, "app", "postgres", password=Secret("secret"), words=words)
    )
    assert isinstance(crossed, GivenAddress)
    assert "secret" not in repr((crossed, crossed.words, crossed.password))
    assert "sslmode=verify-full" in crossed.words
    assert "application_name=steelyard" in crossed.words
    mysql = Endpoint("db1", 3306, "app", "d", password=Secret("secret"), protocol="mysql")
    assert crossing(mysql).password is None
