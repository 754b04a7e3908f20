"""Logical slots are carried into the copy and over, and what pg_upgrade refuses of them is said."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import psycopg
import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from engines.postgres.upgrade.rehearsing import rehearsed
from steelyard.cli.views.upgrades.sections import Commands
from steelyard.cli.views.upgrades.upgrade_view import upgrade_steps
from steelyard.engines.account import Account
from steelyard.engines.intake import DataPlace
from steelyard.engines.postgres.upgrade.copies import CopyHome
from steelyard.engines.postgres.upgrade.slots import (
    copy_slots,
    refused_slot_finding,
    refused_slots,
    slot_settings,
)

pytestmark = pytest.mark.postgres
NOTED = """
invalid_logical_slots.txt:
The slot "torn" is invalid
The slot "late" has not consumed the WAL yet
The slot "late" has not consumed the WAL yet
"""


def test_the_list_of_pg_upgrade_is_read_and_each_slot_has_what_to_type() -> None:
    refused = refused_slots(NOTED)
    assert refused == [("torn", "is invalid"), ("late", "has not consumed the WAL yet")]
    torn, late = (refused_slot_finding(name, why) for name, why in refused)
    assert (torn.level, late.level) == ("blocks", "blocks")
    assert shlex.split(torn.commands[0])[-1] == "SELECT pg_drop_replication_slot('torn')"
    assert len(late.commands) == 2
    assert refused_slots("database late has not consumed anything") == []


def test_servers_with_slots_have_room_for_them() -> None:
    assert slot_settings((), {"max_replication_slots": "3"}) == {}
    few = slot_settings(("a", "b"), {})
    assert few == {"wal_level": "logical", "max_replication_slots": "10"}
    many = slot_settings([f"s{n}" for n in range(12)], {"max_replication_slots": "4"})
    assert many["max_replication_slots"] == "12"


def with_slots(home: Path) -> Original:
    """A cluster of 18 with a slot that has caught up, one that has not, and an invalid one."""
    original = original_at(home, "18")
    original.make()
    create = "SELECT pg_create_logical_replication_slot('{}', 'pgoutput')"
    with original.running("wal_level=logical", "max_slot_wal_keep_size=1MB"):
        original.ask("CREATE TABLE items (id int)")
        original.ask(create.format("torn"))
        for _ in range(3):
            original.ask("INSERT INTO items SELECT generate_series(1, 1000)")
            original.ask("SELECT pg_switch_wal()")
        original.ask("CHECKPOINT")
        assert original.ask("SELECT wal_status FROM pg_replication_slots") == [("lost",)]
    with original.running("wal_level=logical"):
        for name in ("fed", "late"):
            original.ask(create.format(name))
        original.ask("INSERT INTO items VALUES (7)")
        original.ask("SELECT pg_replication_slot_advance('fed', pg_current_wal_lsn())")
    return original


@pytest.mark.long
def test_slots_are_carried_over_and_those_that_block_are_named(
    home: Path,
    cache_with_19: Path,
) -> None:
    original = with_slots(home)
    outcome = rehearsed(original, "19", cache_with_19, "copy", "link")
    assert outcome.answer == "after", outcome
    assert outcome.slots == ("fed",)
    blocking = sorted(each.what for each in outcome.blocking)
    assert [" ".join(what.split()[:4]) for what in blocking] == [
        "logical replication slot late",
        "logical replication slot torn",
    ]
    assert any("(logical) is carried over" in each.what for each in outcome.findings)
    assert [each.way for each in outcome.upgrades] == ["copy", "link"]
    blocks = [
        block for block in upgrade_steps(outcome, outcome.upgrades[0], "OLD_DATA")
        if isinstance(block, Commands)
    ]  # fmt: skip
    assert "wal_level = logical" in blocks[0].lines[1]
    with original.running("wal_level=logical"):
        left = original.ask("SELECT slot_name FROM pg_replication_slots ORDER BY 1")
    assert left == [("fed",), ("late",), ("torn",)]


def test_slots_come_with_the_snapshots_that_decoding_begins_by(tmp_path: Path) -> None:
    original, home = tmp_path / "original", CopyHome(tmp_path / "copy")
    for name in ("pg_replslot/late", "pg_logical/snapshots"):
        (original / name).mkdir(parents=True)
    (original / "pg_replslot/late/state").write_bytes(b"slot")
    for name in ("0-1A2B3C.snap", "0-1A2B3C.snap.17.tmp", "notes"):
        (original / "pg_logical/snapshots" / name).write_bytes(b"snapshot")
    for name in ("pg_replslot", "pg_logical/snapshots"):
        (home.data / name).mkdir(parents=True)
    place = DataPlace(original, "data directory", "18", 1, "digest")
    account = Account("", os.geteuid(), os.getegid())
    copy_slots(place, home, (), account)
    assert list((home.data / "pg_logical/snapshots").iterdir()) == []
    copy_slots(place, home, ("late",), account)
    [snapshot] = (home.data / "pg_logical/snapshots").iterdir()
    assert (snapshot.name, snapshot.read_bytes()) == ("0-1A2B3C.snap", b"snapshot")
    assert (home.data / "pg_replslot/late/state").read_bytes() == b"slot"
    shutil.rmtree(original / "pg_logical")
    copy_slots(place, home, ("late",), account)


def behind_a_transaction(home: Path) -> Original:
    """A cluster of 18 whose slot begins where a transaction ran, and lacks what was committed
    then."""
    original = original_at(home, "18")
    original.make()
    with original.running("wal_level=logical"):
        original.ask("CREATE TABLE items (id int)")
        original.ask("SELECT pg_create_logical_replication_slot('late', 'pgoutput')")
        with psycopg.connect(original.target) as long:
            long.execute("SELECT pg_current_xact_id()")
            for _ in range(3):  # each lets the slot begin at the one before
                original.ask("SELECT pg_log_standby_snapshot()")
                original.ask("SELECT pg_replication_slot_advance('late', pg_current_wal_lsn())")
            original.ask("INSERT INTO items VALUES (7)")
    return original


@pytest.mark.long
def test_a_slot_that_begins_in_a_transaction_has_not_consumed_what_followed(
    home: Path, cache_with_19: Path
) -> None:
    """As in the original, where the snapshot of that moment is beside the slot."""
    outcome = rehearsed(behind_a_transaction(home), "19", cache_with_19, "copy")
    assert outcome.answer == "after", outcome
    [blocking] = outcome.blocking
    assert "late has not consumed the whole log" in blocking.what
