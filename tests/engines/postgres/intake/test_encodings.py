"""Clusters and databases are taken in whatever their texts are encoded in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.test_taking import take
from own_cache import open_directory
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.intake.running import ask_running
from steelyard.engines.postgres.sql.database import connected
from thinned import thinned

pytestmark = pytest.mark.postgres


@thinned(
    ("cluster", "database", "word"),
    [
        ("SQL_ASCII", "SQL_ASCII", "grün"),
        ("SQL_ASCII", "UTF8", "grün"),
        ("UTF8", "SQL_ASCII", "grün"),
        ("LATIN1", "LATIN1", "grün"),
        ("EUC_TW", "EUC_TW", "中"),
    ],
    2,
)
def test_a_cluster_is_taken_in_asked_and_planned_in_whatever_encoding(
    made_of: Callable[..., object], slot: Slot, cluster: str, database: str, word: str
) -> None:
    engine18 = made_of("18").engine  # type: ignore[attr-defined]
    with open_directory() as home:
        original = original_at(home)
        original.make("-E", cluster)
        with original.running():
            original.ask(f"CREATE DATABASE shop TEMPLATE template0 ENCODING '{database}'")
            original.ask("ALTER DATABASE shop SET work_mem = '5MB'")
            original.ask("CREATE TABLE words (word text)", "shop")
            server = ask_running(original.target)
        assert [name for name, _ in server.databases] == ["postgres", "shop"]
        assert server.version.startswith("18")
        imported, copy = take(engine18, original.directory, slot)
    assert imported.database == "shop"
    assert any("the database itself sets work_mem (" in doubt for doubt in imported.doubts)
    copy.start(slot, {})
    try:
        script = f"SELECT 1 FROM words WHERE word = '{word}';"
        [(name, plan)] = copy.plans("steelyard", {"q": script}).items()
        assert name == f"q: {script.removesuffix(';')}"
        assert f"Filter: (word = '{word}'::text)" in plan
        settings = copy.settings()
        assert (settings["client_encoding"], settings["server_encoding"]) == (database,) * 2
        with connected(replace(copy.address, database="steelyard")) as session:
            assert session.execute("SHOW server_encoding").fetchall() == [(database,)]
    finally:
        copy.stop()
