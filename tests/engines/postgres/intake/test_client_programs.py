"""Client programs are taken from every build that is known here, the newest that can do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from own_cache import open_directory
from steelyard.engines.account import Account, choose_account
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.builds.find import DiscoveredBuild
from steelyard.engines.postgres.intake import client_programs
from steelyard.engines.postgres.intake.client_programs import clients, newest_client
from steelyard.engines.postgres.intake.dumps import archive
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity
from thinned import thinned

NO_ZSTD = (
    "pg_restore: warning: archive is compressed, but this installation does not support compression"
    " (this build does not support compression with zstd) -- no data will be available"
)
TOO_OLD = "pg_restore: error: unsupported version (1.16) in file header"
DAMAGED = "pg_restore: error: corrupt tar header found"


def program(home: Path, words: str) -> Path:
    """A pg_restore that reads some of the archive and refuses it."""
    file = home / f"refusing-{len(list(home.iterdir()))}"
    file.write_text(f"#!/bin/sh\nhead -c 7 >/dev/null\necho '{words}' >&2\nexit 1\n")
    file.chmod(0o755)
    return file


def builds(home: Path, *versions: str) -> list[DiscoveredBuild]:
    """Builds with one program, pg_basebackup, that says their version."""
    made = []
    for version in versions:
        bindir = home / version
        bindir.mkdir(mode=0o755)
        client = bindir / "pg_basebackup"
        client.write_text(f"#!/bin/sh\necho 'pg_basebackup (PostgreSQL) {version}'\n")
        client.chmod(0o755)
        number = int(version.split(".")[0]) * 10000 + int(version.split(".")[1])
        identity = Identity("postgres", version, number, "", "", "", "system", str(bindir), False)
        made.append(DiscoveredBuild(f"debian-{version}", Build(bindir, "system"), identity))
    return made


def test_programs_of_every_known_build_count_the_newest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of those that were added too: the bundled ones copy no server of a later version."""
    account = choose_account()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with open_directory() as home:
        made = builds(home, "18.4", "19.1", "15.13", "18.6")
        (home / "18.6/pg_basebackup").chmod(0o644)  # it cannot be executed
        monkeypatch.setattr(client_programs, "discovered", lambda: made)
        paths = [Path(path).parent.name for path, _ in clients("pg_basebackup", None, account)]
        assert paths == ["19.1", "18.4", "15.13"]
        assert newest_client("pg_basebackup", account)[0] == str(home / "19.1/pg_basebackup")
        own = replace(made[0].build, bindir=home / "own")
        (home / "18.4").rename(home / "own")
        monkeypatch.setattr(client_programs, "discovered", lambda: made[3:])
        assert [path for path, _ in clients("pg_basebackup", own, account)] == [
            str(home / "own/pg_basebackup")
        ]
        with pytest.raises(EngineError, match="no pg_restore on this machine"):
            newest_client("pg_restore", account)


def test_each_program_is_run_for_its_version_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the build, of those that were found, and of the machine's path alike."""
    runs = Counter[str]()

    def counting(account: Account, command: list[str], **options: Any) -> tuple[int, str]:
        runs[command[0]] += 1
        return run(account, command, **options)

    monkeypatch.setattr(client_programs, "run", counting)
    account = choose_account()
    with open_directory() as home:
        own, newest, machine = builds(home, "17.2", "18.4", "16.9")
        monkeypatch.setattr(client_programs, "discovered", lambda: [newest])
        on_path = str(home / "16.9/pg_basebackup")
        monkeypatch.setattr("shutil.which", lambda _: on_path)
        paths = [path for path, _ in clients("pg_basebackup", own.build, account)]
        assert [Path(path).parent.name for path in paths] == ["18.4", "17.2", "16.9"]
        assert runs == dict.fromkeys(paths, 1)
    assert machine.build.program("pg_basebackup") == on_path


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    """With a dump of a table in each format of archives."""
    with restore_server() as running:
        running.ask("CREATE DATABASE shop")
        running.ask("CREATE TABLE t AS SELECT 7 AS a", "shop")
        for form in ("c", "d", "t"):
            running.program("pg_dump", "-F", form, "-f", str(running.directory / form), "shop")
        yield running


@pytest.mark.postgres
@thinned("form", ["c", "d", "t"], 1)
@pytest.mark.parametrize("refusals", [(NO_ZSTD,), (NO_ZSTD, TOO_OLD)])
def test_an_archive_is_read_by_the_newest_program_that_can(
    monkeypatch: pytest.MonkeyPatch, server: RestoreServer, form: str, refusals: tuple[str, ...]
) -> None:
    """The bundled one is the newest, and was built without zstd; the machine's has it."""
    with open_directory() as home:
        refusing = [(str(program(home, words)), {}) for words in refusals]
        able = (server.build.program("pg_restore"), server.build.environment)
        monkeypatch.setattr(archive, "clients", lambda *_: iter([*refusing, able]))
        server.restore(server.directory / form)
        assert server.rows("SELECT a FROM t") == [(7,)]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("programs", "words", "hint"),
    [((NO_ZSTD, TOO_OLD), "with zstd", "pg_dump -Fc -Z gzip"), ((DAMAGED, TOO_OLD), DAMAGED, None)],
)
def test_where_none_can_the_newest_says_why(
    monkeypatch: pytest.MonkeyPatch,
    server: RestoreServer,
    programs: tuple[str, ...],
    words: str,
    hint: str | None,
) -> None:
    with open_directory() as home:
        refusing = [(str(program(home, each)), {}) for each in programs]
        monkeypatch.setattr(archive, "clients", lambda *_: iter(refusing))
        with pytest.raises(ServerError) as refused:
            server.restore(server.directory / "c")
        assert words in str(refused.value.detail)
        assert (hint is None) == (refused.value.hint is None)
        assert hint is None or hint in str(refused.value.hint)
