"""`steelyard engines`: what it lists and what it clears."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from steelyard.cli.engines import register
from steelyard.engines.account import choose_account
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.postgres.bundle import bundled_builds
from steelyard.engines.registry import open_run
from steelyard.errors import EngineError

app = typer.Typer()
register(app)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    # Not pytest's own directory: a server's account may have to read a copied build there.
    home = Path(tempfile.mkdtemp(prefix="sytest"))
    home.chmod(0o711)
    monkeypatch.setenv("STEELYARD_CACHE", str(home))
    cache = open_cache()
    (cache.templates / "18.4-pgbench-50").mkdir()
    (cache.templates / "18.4-pgbench-50" / "base").write_bytes(b"x" * 50_000)
    yield cache
    shutil.rmtree(home)


def leave_behind(cache: Cache) -> Path:
    directory = cache.runs / "20260101T000000Z-1-abcd"
    directory.mkdir()
    return directory


def ask(*arguments: str) -> str:
    answer = CliRunner().invoke(app, ["engines", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


def test_the_table_tells_version_origin_flags_builder_and_path(cache: Cache) -> None:
    lines = ask().splitlines()
    assert lines[0].split() == ["version", "origin", "flags", "builder", "path"]
    (row,) = [line for line in lines if line.startswith("18.4 ") and " bundle " in line]
    assert " -O2 " in row
    assert " gcc " in row
    assert row.endswith("pginstall18/bin")
    assert ask("list") == ask()


def test_json_is_one_object_with_engines_and_cache(cache: Cache) -> None:
    left = leave_behind(cache)
    said = json.loads(ask("--json"))
    bundled = [e for e in said["engines"] if e["origin"] == "bundle"]
    assert {e["version"] for e in bundled} == {"18.4", "16.14"}
    assert said["cache"]["templates"][0]["name"] == "18.4-pgbench-50"
    assert said["cache"]["templates"][0]["bytes"] >= 50_000
    assert [each["path"] for each in said["cache"]["leftovers"]] == [str(left)]


def test_an_explicit_directory_is_identified_too(cache: Cache) -> None:
    directory = bundled_builds()[0].bindir
    said = json.loads(ask("list", "--bindir", str(directory), "--json"))
    assert [e["origin"] for e in said["engines"]].count("bindir") == 1


def test_listing_makes_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "none"))
    assert "templates: 0" in ask()
    assert not (tmp_path / "none").exists()


def test_clearing_removes_leftovers_and_keeps_templates(cache: Cache) -> None:
    left = leave_behind(cache)
    assert json.loads(ask("clear", "--json"))["leftovers"] == [str(left)]
    assert not left.exists()
    assert (cache.templates / "18.4-pgbench-50").exists()


def test_templates_go_when_they_are_named(cache: Cache) -> None:
    assert json.loads(ask("clear", "--templates", "--json"))["freed_bytes"] >= 50_000
    assert list(cache.templates.iterdir()) == []


def test_nothing_is_cleared_under_a_weighing_that_runs(cache: Cache) -> None:
    with open_run(cache, choose_account()), pytest.raises(EngineError, match="under way"):
        ask("clear", "--all")
    assert (cache.templates / "18.4-pgbench-50").exists()
