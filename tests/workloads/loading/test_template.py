"""A template is made once, whole or not at all, and found again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from folders import write_folder

import steelyard.workloads.loading.template as template_module
from steelyard._core import read_control
from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres, catalogue_edition
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected, value
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.model.identity import Identity
from steelyard.workloads.loading import disk_space
from steelyard.workloads.loading.load import LoadReport
from steelyard.workloads.loading.template import own_key, template, template_key, trusted
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload
from story.noop.journal import NOOP_IDENTITY
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
LZ4 = Path("/usr/lib/postgresql/15/bin/postgres")


@pytest.mark.long
@pytest.mark.postgres
def test_a_template_is_described_and_cleanly_stopped(loaded: Path) -> None:
    described = json.loads((loaded.parent / "template.json").read_text())
    assert described["rows"] == 100_011
    assert described["tables"]["pgbench_accounts"] == 100_000
    assert described["seconds"] > 0
    assert described["bytes"] > 10_000_000
    control = read_control(loaded / "global" / "pg_control")
    assert (control["state"], control["checksum_version"]) == ("shut down", 1)


@pytest.mark.long
@pytest.mark.postgres
def test_what_is_loaded_is_not_logged_and_no_disk_is_waited_for(
    engine18: Postgres,
    pgbench: Workload,
    place: Path,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("wal_level", "fsync", "synchronous_commit", "full_page_writes", "autovacuum")
    shown: dict[str, str] = {}
    sizes: list[int] = []
    real = template_module.load

    def observed(workload: Workload, database: PostgresDatabase, *rest: Any) -> LoadReport:
        server = Endpoint(database.host, 5432, "postgres", "postgres")
        with connected(server) as connection:
            for name in names:
                shown[name] = str(connection.execute(f"SHOW {name}".encode()).fetchall()[0][0])
            before = value(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'")
            report = real(workload, database, *rest)
            logged = value(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'") - before
        sizes.extend([logged, report.bytes])
        return report

    monkeypatch.setattr(template_module, "load", observed)
    data = template(engine18, pgbench, 5)
    assert shown == {**dict.fromkeys(names, "off"), "wal_level": "minimal"}
    logged, loaded = sizes
    assert logged < loaded / 10
    with (  # an arm has settings of its own
        serve(engine18.open(data).clone(place / "clone")) as address,
        connected(address) as connection,
    ):
        own = connection.execute(b"SHOW wal_level").fetchall()
    assert own == [("replica",)]


@pytest.mark.postgres
def test_a_template_is_made_once(engine: Postgres, loaded: Path, pgbench: Workload) -> None:
    said: list[str] = []
    assert template(engine, pgbench, 1, said.append) == loaded
    assert said == []


@pytest.mark.long
@pytest.mark.postgres
def test_two_who_ask_at_once_get_one_template(
    engine18: Postgres, pgbench: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    real = template_module.load

    def counted(*arguments: object) -> object:
        made.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(template_module, "load", counted)
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(template(engine18, pgbench, 2)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert len(set(found)) == 1
    assert made == [1]


@pytest.mark.long
@pytest.mark.postgres
def test_a_load_that_fails_leaves_no_template_and_no_server(
    engine18: Postgres, pgbench: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ServerError("could not load: no")

    monkeypatch.setattr(template_module, "load", refuse)
    with pytest.raises(ServerError, match="could not load: no"):
        template(engine18, pgbench, 3)
    cache = open_cache()
    key = template_key(engine18.identity, pgbench, 3)
    assert not (cache.templates / key).exists()
    assert [path for path in cache.runs.iterdir() if path.is_dir()] == []


@pytest.mark.postgres
@thinned("stage", ["load: ", "make keys", "check"], 1)
def test_an_interrupted_load_leaves_no_template_and_no_server(
    stage: str, engine18: Postgres, pgbench: Workload
) -> None:
    def interrupted(said: str) -> None:
        if said.startswith(stage):
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.workloads.loading.disk_space._EVERY_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            template(engine18, pgbench, 7, interrupted)
    cache = open_cache()
    assert not (cache.templates / template_key(engine18.identity, pgbench, 7)).exists()
    assert [path for path in cache.runs.iterdir() if path.is_dir()] == []


@pytest.mark.long
@pytest.mark.postgres
def test_a_template_that_is_not_whole_is_made_anew(engine18: Postgres, pgbench: Workload) -> None:
    data = template(engine18, pgbench, 4)
    (data.parent / "template.json").write_text("{")
    assert not trusted(engine18, data.parent)
    assert template(engine18, pgbench, 4) == data
    assert trusted(engine18, data.parent)
    control = data / "global" / "pg_control"
    damaged = bytearray(control.read_bytes())
    damaged[40] ^= 1
    control.write_bytes(damaged)
    assert not trusted(engine18, data.parent)


def test_too_little_room_is_said_before_anything_is_made(
    engine18: Postgres, pgbench: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 1_000_000_000)
    with pytest.raises(EngineError, match="are needed, 954 MB are free") as refused:
        template(engine18, pgbench, 50)
    assert "2 copies" in str(refused.value)


@pytest.mark.long
@pytest.mark.postgres
def test_a_template_is_about_as_large_as_was_said_and_keeps_one_segment_of_log(
    engine18: Postgres,
) -> None:
    workload = find_workload("insert-read", {"added": 400})
    data = template(engine18, workload, 60)
    described = json.loads((data.parent / "template.json").read_text())
    assert described["rows"] == 300_000
    assert 0.9 < workload.bytes_at(60) / described["database_bytes"] < 1.1
    segments = [path for path in (data / "pg_wal").iterdir() if path.is_file()]
    assert len(segments) == 1


@pytest.mark.postgres
def test_a_template_of_another_layout_is_not_used(
    engine18: Postgres, loaded: Path, pgbench: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trusted(engine18, loaded.parent)
    key = template_key(engine18.identity, pgbench, 1)
    monkeypatch.setattr(template_module, "FORMAT", template_module.FORMAT + 1)
    assert not trusted(engine18, loaded.parent)
    assert template_key(engine18.identity, pgbench, 1) != key


def test_rows_that_nobody_makes_are_told_before_a_cluster_is_made(
    engine18: Postgres, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, toml='[[tables]]\nname = "more"\ngenerator = "nobody"\n')
    said: list[str] = []
    with pytest.raises(UsageError, match='there is no generator "nobody"'):
        template(engine18, find_workload(str(folder)), 1, said.append)
    assert said == []


def test_the_key_follows_whatever_decides_the_bytes(engine18: Postgres, pgbench: Workload) -> None:
    identity = engine18.identity
    keys = {
        template_key(identity, pgbench, 1),
        template_key(identity, pgbench, 2),
        template_key(replace(identity, builder="another compiler"), pgbench, 1),
        template_key(replace(identity, version_number=180005), pgbench, 1),
    }
    assert len(keys) == 4


def test_separate_loads_and_builds_that_are_being_written_have_templates_of_their_own(
    pgbench: Workload, tmp_path: Path
) -> None:
    def key_of(identity: Identity, number: int = 0) -> str:
        return template_key(identity, pgbench, 1, number, catalogue_edition(identity))

    identity = replace(NOOP_IDENTITY, version="19devel", bindir=str(tmp_path))
    (tmp_path / "postgres").write_bytes(b"one")
    first = key_of(identity)
    assert key_of(identity, number=2) == f"{first}-load3"
    (tmp_path / "postgres").write_bytes(b"built again")
    assert key_of(identity) != first
    released = replace(identity, version="18.4")
    before = key_of(released)
    (tmp_path / "postgres").write_bytes(b"installed again")
    assert key_of(released) == before


WIDE = "INSERT INTO things SELECT n, repeat(md5(n::text), 200) FROM generate_series(1, 9) AS n;\n"


@pytest.mark.postgres
@pytest.mark.skipif(not LZ4.is_file(), reason="Debian's PostgreSQL 15, which has lz4, is not here")
@thinned(
    ("settings", "method"),
    [({}, "pglz"), ({"default_toast_compression": "lz4"}, "lz4")],
    1,
)
def test_values_are_stored_as_the_engine_says_and_kept_by_a_name_of_their_own(
    settings: dict[str, str], method: str, place: Path, serve: Serve, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, schema="CREATE TABLE things (n int, t text);\n", load=WIDE)
    workload = find_workload(str(folder))
    plain = find_postgres("15")
    chosen = plain.storing(settings)
    made = template(chosen, workload, 1)
    assert (made == template(plain, workload, 1)) is (not settings)
    with (
        serve(chosen.open(made).clone(place / "clone")) as address,
        connected(replace(address, database=DATABASE)) as connection,
    ):
        rows = connection.execute(b"SELECT DISTINCT pg_column_compression(t) FROM things")
        assert rows.fetchall() == [(method,)]


def test_an_account_that_was_chosen_has_templates_of_its_own() -> None:
    account = choose_account()
    assert own_key("pgbench-1", account) == "pgbench-1"
    assert own_key("pgbench-1", replace(account, name="other")) == "pgbench-1-as-other"
