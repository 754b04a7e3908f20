"""Unlogged tables are empty where log was replayed, which is said, and whole where none was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from engines.postgres.intake.test_taking import rows, take
from own_cache import open_directory
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.intake.running import ask_running, back_up
from thinned import thinned

pytestmark = pytest.mark.postgres

TABLES = [f'"cache{number} \t"' for number in range(7)]
NAMED = ", ".join(f'"cache{number} \\t"' for number in range(5))
EMPTY = f"7 unlogged tables are empty in the copy, as after a crash of the server: {NAMED}, …"


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, Path]]:
    """The same data, stopped cleanly, crashed, and of a base backup."""
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            original.ask("CREATE TABLE lines AS SELECT generate_series(1, 1000) AS id", "shop")
            for table in TABLES:
                columns = "generate_series(1, 1000) AS id"
                original.ask(f"CREATE UNLOGGED TABLE {table} AS SELECT {columns}", "shop")
                original.ask(f"CREATE INDEX ON {table} (id)", "shop")
            original.ask("CHECKPOINT")
            back_up(ask_running(original.target), home / "backup")
            crashed = _snapshot(original, home / "crashed")
        yield {"stopped": original.directory, "crashed": crashed, "backup": home / "backup/data"}


def _snapshot(original: Original, directory: Path) -> Path:
    """The files of a running server that is idle, as its crash would leave them."""
    shutil.copytree(original.directory, directory)
    for name in ("postmaster.pid", "postmaster.opts"):
        (directory / name).unlink()
    for path in (directory, *directory.rglob("*")):
        original.account.own(path)
    return directory


@thinned(("place", "count"), [("stopped", 1000), ("crashed", 0), ("backup", 0)], 1)
def test_unlogged_tables_that_recovery_emptied_are_named(
    made_of: Callable[..., object], slot: Slot, places: dict[str, Path], place: str, count: int
) -> None:
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, copy = take(engine, places[place], slot)
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT count(*) FROM lines") == [(1000,)]
        for table in TABLES:
            assert rows(copy, f"SELECT count(*) FROM {table}") == [(count,)]
    finally:
        copy.stop()
    doubts = [doubt for doubt in imported.doubts if "unlogged" in doubt]
    assert [doubt.partition(";")[0] for doubt in doubts] == ([] if count else [EMPTY])
