"""An upgrade is rehearsed by the real pg_upgrade, and the original stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.postgres.intake.original import Original
from engines.postgres.upgrade.rehearsing import has, rehearsed, silent
from engines.postgres.upgrade.rich_cluster import rich_cluster
from steelyard.engines.postgres.upgrade import rehearsal
from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest, rehearse
from steelyard.model.errors import EngineError, UsageError

pytestmark = pytest.mark.postgres


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "extension"),
    [("16", "18", "vector"), ("15", "18", None), ("15", "16", None), ("18", "19", None)],
)
def test_a_rich_cluster_is_upgraded_in_every_way_and_stays_as_it_was(
    old: str, new: str, extension: str | None, home: Path, request: pytest.FixtureRequest
) -> None:
    name = "cache_with_19" if new == "19" else "cache_of_upgrades"
    cache_of_upgrades: Path = request.getfixturevalue(name)
    has(old)
    has(new)
    with rich_cluster(home, old, extension=extension, prepared=True) as original:
        outcome = rehearsed(original, new, cache_of_upgrades, "copy", "link", "swap")
    assert outcome.answer == "after", outcome
    [blocking] = outcome.blocking
    assert 'prepared transaction "order 7" in database "shop"' in blocking.what
    assert any("standby1" in each.what for each in outcome.findings)
    assert any("tablespace" in each.what for each in outcome.findings)
    assert (outcome.owner, outcome.large_objects) == ("dba", 3)
    ways = [(each.way, each.checksums) for each in outcome.upgrades]
    statistics = outcome.statistics
    assert statistics is not None
    assert statistics.old_extended == 1
    if int(new) >= 18:
        assert "checksums" in outcome.mismatch or int(old) >= 18
        wanted = [("copy", False), ("link", False), ("swap", False), ("copy", True)]
        assert ways == wanted or int(old) >= 18
        assert statistics.carried_columns == statistics.old_columns > 0
        assert statistics.carried_extended == int(int(new) >= 19)
        assert "--missing-stats-only" in statistics.analyzed[0].command
    else:
        assert ways == [("copy", False), ("link", False)]
        assert statistics.carried_columns == 0
        assert any("no --swap" in each.what for each in outcome.findings)
    space = {each.way: each.needs_bytes for each in outcome.upgrades}
    assert space["link"] < space["copy"]
    assert all(abs(sum(a.parts.values()) - a.seconds) < 0.1 for a in outcome.upgrades)


@pytest.mark.long
def test_an_extension_that_the_new_build_lacks_is_named_and_pg_upgrade_refuses_it(
    home: Path, cache_of_upgrades: Path
) -> None:
    has("15")
    with rich_cluster(home, "15", extension="hstore") as original:
        outcome = rehearsed(original, "18", cache_of_upgrades)
    assert outcome.answer == "no"
    named, refused = outcome.blocking
    assert named.what.startswith('extension "hstore"')
    assert "DROP EXTENSION" in named.commands[0]
    assert "loadable libraries" in refused.detail
    assert "hstore" in outcome.attempts[-1].noted


@pytest.mark.long
def test_a_crashed_cluster_is_recovered_in_the_copy_and_said(
    home: Path, cache_of_upgrades: Path
) -> None:
    with rich_cluster(home, "16") as original:
        with pytest.raises(AssertionError, match="PID file"):
            _crash(original)
        original.configure()
        outcome = rehearsed(original, "18", cache_of_upgrades)
    assert outcome.answer == "after"
    assert outcome.blocking[0].what == "it was not shut down cleanly"
    [library] = [each for each in outcome.settings if each.kind == "library"]
    assert library.old == "no_such_library"


@pytest.mark.long
def test_an_interrupted_drop_and_a_closed_database_are_resolved_in_the_copy_alone(
    home: Path, cache_of_upgrades: Path
) -> None:
    with rich_cluster(home, "16", prepared=True) as original:
        with original.running():
            original.ask("CREATE DATABASE half_gone")
            # What an interrupted DROP DATABASE leaves (dropdb, src/backend/commands/dbcommands.c).
            original.ask("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half_gone'")
            original.ask("ALTER DATABASE shop ALLOW_CONNECTIONS false")
        outcome = rehearsed(original, "18", cache_of_upgrades)
        with original.running():
            left = original.ask("SELECT datname FROM pg_database WHERE datconnlimit = -2")
            assert left == [("half_gone",)], "the original was left alone"
    assert outcome.answer == "after", outcome
    blocking = {each.what for each in outcome.blocking}
    assert any('"half_gone" is invalid' in what for what in blocking)
    assert any('prepared transaction "order 7"' in what for what in blocking)
    assert 'database "shop" admits no connections' in blocking


def _crash(original: Original) -> None:
    """Start its server, write, and stop it at once; AssertionError: none is left to stop."""
    with original.running():
        original.ask("INSERT INTO items (words) VALUES ('last')", "shop")
        original.program("pg_ctl", "-D", str(original.directory), "-m", "immediate", "stop")


def test_no_upgrade_is_begun_where_there_is_none_or_no_room(
    home: Path, cache_of_upgrades: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rich_cluster(home, "16") as original:
        for version, words in (("16", "no later major version"), ("15.2", "no PostgreSQL")):
            with pytest.raises((UsageError, EngineError), match=words):
                rehearsed(original, version, cache_of_upgrades)
        monkeypatch.setattr(rehearsal, "discovered", list)
        with pytest.raises(EngineError, match="no engine of PostgreSQL 16 is listed"):
            rehearsed(original, "18", cache_of_upgrades, weighs=True)
        monkeypatch.undo()
        monkeypatch.setenv("STEELYARD_CACHE", str(cache_of_upgrades))
        monkeypatch.setattr(rehearsal, "free_bytes", lambda _: 1 << 20)
        with pytest.raises(EngineError, match="are needed, 1024 kB are free"):
            rehearsed(original, "18", cache_of_upgrades)
        monkeypatch.setattr(rehearsal, "free_bytes", lambda _: 3 * 45_000_000 + (256 << 20))
        with pytest.raises(EngineError, match="are needed") as refused:
            rehearsed(original, "18", cache_of_upgrades, weighs=True)
        assert "10 copies" in str(refused.value.detail)
        monkeypatch.undo()
    dump = home / "shop.sql"
    dump.write_text("-- PostgreSQL database dump\nSELECT 1;\n")
    with pytest.raises(UsageError, match="it is a dump"):
        rehearse(UpgradeRequest(dump, "18", ("copy",)), silent)
