"""Only what was made here is dropped: also where the server's answers do not fit any more."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from driver.sqlserver import tokens
from engines.sqlserver.instance import Database, Instance
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.sqlserver import owned
from steelyard.engines.sqlserver.owned import OwnedDatabase
from steelyard.engines.sqlserver.uri import read_uri
from steelyard.model.errors import EngineError, ServerError

Lie = Callable[[Instance, str], None]


@pytest.fixture
def instance() -> Iterator[Instance]:
    with Instance().running() as running:
        yield running
        running.require_harmless()


def drawn(instance: Instance) -> OwnedDatabase:
    return OwnedDatabase.draw(read_uri(instance.uri))


def made_on(instance: Instance) -> OwnedDatabase:
    database = drawn(instance)
    database.make()
    return database


def drop_database(instance: Instance, name: str) -> None:
    del instance.databases[name]


def created_anew(instance: Instance, name: str) -> None:
    instance.databases[name].created = "2026-11-24 09:00:00.000"


def another_one(instance: Instance, name: str) -> None:
    number = next(instance.numbers)
    instance.databases[name] = Database(number, instance.databases[name].created)


def unmarked(instance: Instance, name: str) -> None:
    instance.databases[name].marker = None


def marked_otherwise(instance: Instance, name: str) -> None:
    instance.databases[name].marker = "0" * 32


LIES: list[tuple[Lie, str]] = [
    (Instance.rename, "another session renamed or dropped it"),
    (drop_database, "another session renamed or dropped it"),
    (created_anew, "created at 2026-11-24 09:00:00.000, has its name"),
    (another_one, "has its name; ours was database"),
    (unmarked, "its marker is gone"),
    (marked_otherwise, "its marker is another one"),
]


def make_and_drop(instance: Instance, made: list[OwnedDatabase]) -> None:
    made.append(made_on(instance))
    made[0].drop()


def opened(database: OwnedDatabase) -> None:
    with database.opened():
        raise AssertionError("it was opened")


def test_a_database_is_made_with_its_marker_in_one_call_and_dropped(instance: Instance) -> None:
    database = made_on(instance)
    [text] = instance.double.texts
    assert text.startswith(f"CREATE DATABASE [{database.name}]")
    assert instance.databases[database.name].marker == database.token
    with database.opened() as session:
        session.execute("CHECKPOINT;")
    assert instance.double.logins[-1]["database"] == database.name
    database.check()
    database.drop()
    assert instance.dropped == [database.name]
    assert set(instance.databases) == {"master", "tempdb", "shop"}


def test_no_two_have_the_same_name_or_token(instance: Instance) -> None:
    one, other = made_on(instance), made_on(instance)
    assert (one.name, one.token) != (other.name, other.token)
    one.drop()
    assert list(instance.ours) == [other.name]


@pytest.mark.parametrize("act", [OwnedDatabase.drop, OwnedDatabase.check, opened])
@pytest.mark.parametrize(("lie", "said"), LIES, ids=[lie.__name__ for lie, _ in LIES])
def test_what_is_not_exactly_what_was_made_is_left_and_said(
    instance: Instance, lie: Lie, said: str, act: Callable[[OwnedDatabase], None]
) -> None:
    database = made_on(instance)
    lie(instance, database.name)
    before = set(instance.databases)
    with pytest.raises(EngineError, match=said) as raised:
        act(database)
    assert "is not the one that Steelyard made" in raised.value.primary
    assert raised.value.detail == "Nothing was done to it."
    assert (instance.dropped, set(instance.databases)) == ([], before)
    instance.made.discard(database.name)  # what has the name now was not made here
    texts = [text for text in instance.double.texts[1:] if "DROP" in text or "DBCC" in text]
    assert not texts


@pytest.mark.parametrize("lie", [created_anew, another_one])
def test_the_server_looks_once_more_itself_before_it_drops(instance: Instance, lie: Lie) -> None:
    database = made_on(instance)

    def between(text: str) -> bytes | None:
        if "DROP" in text:
            lie(instance, database.name)
        return None

    instance.before = between
    with pytest.raises(EngineError, match="changed while it was to be dropped"):
        database.drop()
    assert instance.dropped == []
    assert database.name in instance.databases


def test_a_name_that_somebody_has_taken_is_theirs(instance: Instance) -> None:
    def taken(text: str) -> bytes | None:
        name = text.partition("[")[2].partition("]")[0]
        instance.databases[name] = Database(next(instance.numbers), "2026-11-24 00:00:00.000")
        return None

    instance.before = taken
    with pytest.raises(EngineError, match="could not make a database") as raised:
        made_on(instance)
    assert "already exists. (1801)" in (raised.value.detail or "")
    assert len(instance.databases) == 4
    assert instance.dropped == []


@pytest.mark.parametrize("moment", ["CREATE DATABASE", "sys.databases WHERE name", "DROP"])
def test_a_connection_that_is_lost_in_the_middle_is_an_error_in_words(
    instance: Instance, moment: str
) -> None:
    def lost(text: str) -> bytes | None:
        return b"" if moment in text and (made or moment.startswith("C")) else None

    made: list[OwnedDatabase] = []
    instance.before = lost
    with pytest.raises(EngineError, match="could not") as raised:
        make_and_drop(instance, made)
    assert "the connection was lost" in (raised.value.detail or "")
    assert instance.dropped == []
    if not made:
        assert "drop it by hand" in (raised.value.hint or "")
        assert len(instance.double.texts) == 1


def lose(instance: Instance, *, after: bool) -> None:
    """The answer to CREATE DATABASE is lost, the database made or not."""

    def lost(text: str) -> bytes | None:
        if not text.startswith("CREATE DATABASE"):
            return None
        if after:
            instance.before = None
            instance.answer(text, "")
        return b""

    instance.before = lost


def test_a_database_whose_making_was_never_answered_is_dropped_by_its_marker(
    instance: Instance,
) -> None:
    database = drawn(instance)
    lose(instance, after=True)
    with pytest.raises(EngineError, match="could not make a database"):
        database.make()
    assert list(instance.ours) == [database.name]
    database.drop()
    assert instance.dropped == [database.name]


def test_a_database_that_was_never_made_is_not_dropped_and_no_error(instance: Instance) -> None:
    database = drawn(instance)
    database.drop()
    lose(instance, after=False)
    with pytest.raises(EngineError, match="could not make a database"):
        database.make()
    instance.before = None
    database.drop()
    assert not [text for text in instance.double.texts if "DROP" in text]


@pytest.mark.parametrize(
    ("lie", "said"), [(unmarked, "it has no marker"), (marked_otherwise, "marker is another one")]
)
def test_what_may_be_of_another_session_is_left_where_the_making_was_never_answered(
    instance: Instance, lie: Lie, said: str
) -> None:
    database = drawn(instance)
    lose(instance, after=True)
    with pytest.raises(EngineError, match="could not make a database"):
        database.make()
    lie(instance, database.name)
    with pytest.raises(EngineError, match=said):
        database.drop()
    assert instance.dropped == []


def test_ctrl_c_while_it_is_made_leaves_what_can_be_dropped(instance: Instance) -> None:
    def interrupt(text: str) -> bytes | None:
        if text.startswith("CREATE DATABASE"):
            instance.before = None
            instance.answer(text, "")
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return None

    database = drawn(instance)
    instance.before = interrupt
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            database.make()
    finally:
        signal.signal(signal.SIGINT, before)
    database.drop()
    assert instance.dropped == [database.name]


def test_a_session_that_the_server_still_sees_there_is_waited_for(instance: Instance) -> None:
    database = made_on(instance)
    instance.in_use = 2
    database.drop()
    assert instance.dropped == [database.name]


def test_a_drop_that_is_never_answered_ends_although_signals_are_deferred(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = made_on(instance)
    ended = threading.Event()

    def hold(text: str) -> bytes | None:
        if "DROP" not in text:
            return None
        ended.wait(60)
        return b""

    monkeypatch.setattr(owned, "_IN_USE_S", 0.2)
    instance.before = hold
    try:
        with defer_signals(), pytest.raises(ServerError, match="could not drop database") as late:
            database.drop()
    finally:
        ended.set()
    assert "it took more than 0.6 s" in late.value.primary
    assert instance.dropped == []


def test_a_refusal_of_the_drop_is_told_in_the_servers_words(instance: Instance) -> None:
    database = made_on(instance)
    instance.before = lambda text: tokens.error(3701, "You may not.") if "DROP" in text else None
    with pytest.raises(EngineError) as raised:
        database.drop()
    assert "You may not. (3701)" in (raised.value.detail or "")
    assert list(instance.ours) == [database.name]


def test_damage_that_the_server_finds_is_an_error_with_its_words(instance: Instance) -> None:
    database = made_on(instance)
    instance.damaged = True
    with pytest.raises(EngineError, match="DBCC CHECKDB of database") as raised:
        database.check()
    assert "page (1:99)" in (raised.value.detail or "")
    assert "left for you to look at" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "why",
    [
        (7983, "User 'app' does not have permission to run DBCC CHECKDB."),
        (5030, "The database could not be exclusively locked to perform the operation."),
    ],
    ids=["no right", "no lock"],
)
def test_a_check_that_never_began_is_no_damage(instance: Instance, why: tuple[int, str]) -> None:
    database = made_on(instance)
    instance.unchecked = why
    with pytest.raises(ServerError, match="could not check database") as raised:
        database.check()
    assert why[1] in (raised.value.detail or "")


@pytest.mark.parametrize(
    "why",
    [
        (0, ""),
        *((number, "Inconsistent.") for number in (824, 2533, 5228, 5242, 5250, 5274, 8939)),
        (8921, "Check terminated. Possibly tempdb out of space."),
        (8967, "An internal error occurred in DBCC."),
        (1823, "A database snapshot cannot be created because it failed to start."),
    ],
    ids=lambda why: f"error {why[0]}" if why[0] else "lost",
)
def test_a_check_that_ends_in_any_other_error_leaves_the_database_to_be_looked_at(
    instance: Instance, why: tuple[int, str]
) -> None:
    """What was never checked is dropped (a ServerError), and what may be damaged left."""
    database = made_on(instance)
    instance.unchecked = why
    with pytest.raises(EngineError, match="DBCC CHECKDB of database") as raised:
        database.check()
    assert not isinstance(raised.value, ServerError)
    assert (why[1] or "the connection was lost") in (raised.value.detail or "")
