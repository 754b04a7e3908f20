"""An arm at a SQL Server: options of its database, counters, checkpoints, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.sqlserver import tokens
from engines.sqlserver.instance import Instance
from steelyard.engines.adapters import adapter
from steelyard.engines.sqlserver.adapter import SqlServerArm, reach
from steelyard.engines.sqlserver.database import SqlServerDatabase
from steelyard.model.errors import EngineError, ServerError, UsageError


@pytest.fixture
def instance() -> Iterator[Instance]:
    with Instance().running() as running:
        yield running
        running.require_harmless()


def arm_on(instance: Instance, **settings: str) -> SqlServerArm:
    arm = reach(instance.uri, None, settings, "steelyard")
    database = arm.draw_database()
    database.make()
    arm.work_in(database)
    return arm


def test_a_database_is_set_as_the_arm_says_and_every_option_it_does_not_name_put_back(
    instance: Instance,
) -> None:
    arm = arm_on(instance, page_verify="none", delayed_durability="FORCED")
    arm.settle()
    told = arm.settings()
    assert (told["page_verify"], told["delayed_durability"]) == ("NONE", "FORCED")
    plain = reach(instance.uri, None, {}, None)
    plain.work_in(arm.workload_database()._owned)
    plain.settle()
    found = plain.settings()
    assert [found[name] for name in ("page_verify", "delayed_durability", "recovery")] == [
        "CHECKSUM",
        "DISABLED",
        "FULL",
    ]


def test_tables_are_rebuilt_under_what_was_set_and_written_out(instance: Instance) -> None:
    arm = arm_on(instance, page_verify="TORN_PAGE_DETECTION")
    [database] = instance.ours.values()
    database.tables |= {"source_rows", "results"}
    arm.settle()
    assert database.rebuilt == ["TORN_PAGE_DETECTION"]
    assert instance.checkpoints == 1
    rebuilt = [text for text in instance.double.texts if text.startswith("ALTER INDEX")]
    assert rebuilt == [
        f"ALTER INDEX ALL ON [dbo].[{n}] REBUILD;" for n in ("results", "source_rows")
    ]


def test_nothing_is_set_in_a_database_that_is_no_more_ours(instance: Instance) -> None:
    arm = arm_on(instance, page_verify="NONE")
    [database] = instance.ours.values()
    database.marker = None
    for act in (arm.settle, lambda: arm.checkpointer("d"), arm.workload_database().create):
        with pytest.raises(EngineError, match="its marker is gone"):
            act()
    with pytest.raises(EngineError, match="its marker is gone"), arm.workload_database().loader():
        raise AssertionError("it was opened")
    assert database.options == {}
    assert instance.checkpoints == 0


def test_a_checkpoint_is_timed_and_one_of_a_server_that_died_took_nothing(
    instance: Instance,
) -> None:
    session = arm_on(instance).checkpointer("d")
    assert session.checkpoint() > 0
    assert instance.checkpoints == 1
    instance.before = lambda text: tokens.error(9002, "The log is full.")
    with pytest.raises(ServerError) as raised:
        session.checkpoint()
    assert "The log is full. (9002)" in (raised.value.detail or "")
    instance.before = lambda text: b""
    for _ in range(2):
        assert session.checkpoint() == 0
    session.close()
    session.close()


def test_a_debt_whose_connection_alone_was_lost_is_an_error_and_not_nothing(
    instance: Instance,
) -> None:
    session = arm_on(instance).checkpointer("d")
    instance.before = lambda text: b"" if text.startswith("CHECKPOINT") else None
    for _ in range(2):  # the server lives: its debt is not known
        with pytest.raises(ServerError):
            session.checkpoint()
    session.close()


def test_what_is_counted_is_of_its_database_and_missing_without_the_right(
    instance: Instance,
) -> None:
    arm = arm_on(instance)
    [(name, database)] = instance.ours.items()
    database.results = 10
    found = arm.counters("d")
    assert found.values["wal_bytes"] == 5120
    assert found.values["blocks_read"] == 1
    assert found.values["data_stall_us"] == 1000
    assert "wal_stall_us" not in found.values  # NULL
    assert set(found.values) <= {kind.name for kind in arm.counter_kinds}
    assert all(f"N'{name}'" in text for text in instance.double.texts if "dm_" in text)
    instance.blind = True
    assert "permission was denied. (300)" in arm.counters("d").missing


def test_the_instance_tells_its_version_its_start_and_the_way_there(instance: Instance) -> None:
    arm = reach(instance.uri, None, {}, None)
    assert arm.server() == ("DOUBLE", "2026-11-24 01:02:03.456", "16.0.4135.4")
    identity = arm.identity
    assert (identity.kind, identity.version_number) == ("sqlserver", 16004135)
    assert arm.round_trip_ns() > 0
    assert arm.running
    instance.before = lambda text: b""
    assert not arm.running
    with pytest.raises(ServerError):
        arm.ping()
    instance.before = None
    assert arm.running
    assert "never against the product" in arm.notices[0]


def test_a_service_that_is_no_instance_is_refused_before_anything_is_made(
    instance: Instance,
) -> None:
    instance.edition = 5
    with pytest.raises(EngineError, match="cannot weigh the server at"):
        reach(instance.uri, None, {}, None).server()
    assert not instance.made


@pytest.mark.parametrize(
    ("settings", "said"),
    [({}, False), ({"page_verify": "NONE"}, False), ({"recovery": "SIMPLE"}, True),
     ({"recovery": "full"}, True)],
)  # fmt: skip
def test_what_a_recovery_model_costs_is_said_to_be_weighed_without_backups(
    settings: dict[str, str], said: bool
) -> None:
    """A database that was never backed up keeps no log for backups, whatever its model."""
    notices = reach("sqlserver://sa@h", None, settings, None).notices
    assert any("never backed up" in notice for notice in notices) == said


@pytest.mark.parametrize("edition", [5, 6, 8, 9, 11, 12])
def test_every_service_is_refused_a_managed_instance_too(instance: Instance, edition: int) -> None:
    instance.edition = edition
    with pytest.raises(EngineError, match="cannot weigh the server at") as refused:
        reach(instance.uri, None, {}, None).server()
    assert "Instances of SQL Server can be weighed" in (refused.value.detail or "")


@pytest.mark.parametrize("edition", [2, 3, 4])
def test_an_instance_of_any_edition_is_reached(instance: Instance, edition: int) -> None:
    instance.edition = edition
    assert reach(instance.uri, None, {}, None).server()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max server memory": "1000"}, 'cannot set "max server memory" on SQL Server'),
        ({"page_verify": "CRC32"}, 'invalid value for "page_verify": "CRC32"'),
        ({"page_verify": "NONE; DROP DATABASE shop"}, "accepted: CHECKSUM"),
    ],
)
def test_only_known_options_of_a_database_are_set(settings: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        reach("sqlserver://sa@h", None, settings, None)


def test_it_is_reached_at_an_address_and_nowhere_else() -> None:
    kind = adapter("sqlserver")
    with pytest.raises(UsageError, match="at an address only"):
        kind.find_arms((), None, contrib=False)
    with pytest.raises(UsageError, match="databases on one server"):
        kind.reach("sqlserver://sa@h", "sqlserver://sa@h2", {}, None)
    with pytest.raises(UsageError, match="no address of a SQL Server"):
        kind.reach("host=h", None, {}, None)
    with pytest.raises(UsageError, match="cannot take in"):
        kind.inspect_source(Path("dump"))


def test_answers_that_are_printed_as_numbers_are_numbers(instance: Instance) -> None:
    database = arm_on(instance).workload_database()
    assert isinstance(database, SqlServerDatabase)
    rows = (("1", "1.5", "0x1", None, "12-3"),)
    instance.before = lambda text: tokens.table("abcde", *rows) if text == "ask" else None
    with database.checker() as checker:
        assert checker.rows("ask", "here") == [(1, 1.5, "0x1", None, "12-3")]
        instance.before = lambda text: tokens.error(208, "Invalid object name 't'.")
        with pytest.raises(ServerError, match="here: the server refused: Invalid object") as raised:
            checker.execute(["SELECT a\n  FROM t"], "here")
    assert raised.value.detail == "In: SELECT a FROM t"
