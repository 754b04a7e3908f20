"""Copies of servers that were not stopped are doubted; a standby's without its log are refused."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from engines.postgres.intake.test_taking import rows, take
from engines.postgres.intake.test_unlogged import _snapshot
from own_cache import open_directory
from steelyard._core import read_control
from steelyard.engines.engine import Slot
from steelyard.engines.local.owned_files import overwrite
from steelyard.engines.postgres.intake.running import ask_running, back_up
from steelyard.model.errors import EngineError
from thinned import thinned

pytestmark = pytest.mark.postgres

NOT_STOPPED = "its server had not been stopped"
SEGMENT_BYTES = 16 << 20


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, Path]]:
    """The same data: stopped, as after a crash, of a base backup, of a stopped standby."""
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            original.ask("CREATE TABLE lines AS SELECT generate_series(1, 1000) AS id", "shop")
            original.ask("CHECKPOINT")
            back_up(ask_running(original.target), home / "backup")
            crashed = _snapshot(original, home / "crashed")
            back_up(ask_running(original.target), home / "standby")
            standby = replace(original, directory=home / "standby/data", sockets=home / "sockets")
            original.account.make_directory(standby.sockets)
            _follow(standby, original)
        yield {
            "stopped": original.directory,
            "crashed": crashed,
            "backup": home / "backup/data",
            "standby": standby.directory,
        }


def _follow(standby: Original, original: Original) -> None:
    """Let a standby replay some segments behind its last restartpoint, and stop it."""
    overwrite(standby.account, standby.directory / "standby.signal", b"")
    with standby.running("hot_standby=on", f"primary_conninfo={original.target}"):
        for _ in range(3):
            original.ask("INSERT INTO lines SELECT generate_series(1, 1000)", "shop")
            original.ask("SELECT pg_switch_wal()")
        [(written,)] = original.ask("SELECT pg_current_wal_flush_lsn()::text")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
        for _ in range(600):
            if standby.ask(query) == [(True,)]:
                return
            time.sleep(0.1)
        pytest.fail("the standby does not follow")


@thinned(
    ("place", "lines", "doubted"),
    [("stopped", 4000, False), ("crashed", 1000, True), ("backup", 1000, False),
     ("standby", 4000, False)], 1,
)  # fmt: skip
def test_files_of_a_running_server_are_doubted_and_no_others(
    made_of: Callable[..., object],
    slot: Slot,
    places: dict[str, Path],
    place: str,
    lines: int,
    doubted: bool,
) -> None:
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, copy = take(engine, places[place], slot)
    assert [doubt.startswith(NOT_STOPPED) for doubt in imported.doubts].count(True) == doubted
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT count(*) FROM lines") == [(lines,)]
    finally:
        copy.stop()


@pytest.mark.long
def test_a_standby_without_the_end_of_its_log_is_half(
    made_of: Callable[..., object], slot: Slot, places: dict[str, Path]
) -> None:
    """Its server itself would open: pages of after the end of the log beside others of before."""
    engine = made_of("18").engine  # type: ignore[attr-defined]
    with open_directory() as home:
        half = home / "half"
        shutil.copytree(places["standby"], half)
        control = read_control(half / "global/pg_control")
        assert control["state"] == "shut down in recovery"
        first = f"{control['redo'] // SEGMENT_BYTES:08X}"
        assert control["min_recovery_point"] // SEGMENT_BYTES > int(first, 16)
        for segment in (half / "pg_wal").glob("0000000100000000????????"):
            if segment.name[16:] > first:
                segment.unlink()
        for path in (half, *half.rglob("*")):
            engine.account.own(path)
        with pytest.raises(EngineError, match=r"ends too early|half a backup") as refused:
            take(engine, half, slot)
        assert "pg_basebackup -X stream" in str(refused.value.hint)
