"""A role with REPLICATION alone can have its server copied; what it may not read is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from own_cache import open_directory
from steelyard.engines.postgres.intake.running import (
    RunningServer,
    ask_running,
    reported_settings,
)
from steelyard.model.errors import ServerError, UsageError

pytestmark = pytest.mark.postgres

STARTED = ("random_page_cost=1.5", "shared_preload_libraries=plpgsql",
           "archive_command=S3cret")  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Original]:
    """A server that runs, with two databases and a role that may replicate."""
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running(*STARTED):
            original.ask("CREATE DATABASE shop")
            original.ask("CREATE DATABASE empty")
            original.ask("CREATE ROLE replicator LOGIN REPLICATION")
            original.ask("ALTER ROLE dba SET work_mem = '1MB'")
            yield original


def target(server: Original, role: str, database: str = "shop") -> str:
    return f"host={server.sockets} port=54399 user={role} dbname={database}"


def test_replication_alone_is_enough_and_what_to_grant_is_said(server: Original) -> None:
    asked = ask_running(target(server, "replicator"))
    assert asked.bytes is None
    assert {name for name, _ in asked.databases} == {"postgres", "shop", "empty"}
    assert asked.settings["random_page_cost"] == "1.5"
    assert "shared_preload_libraries" not in asked.settings
    assert 'GRANT pg_read_all_settings TO "replicator"' in asked.partial


def test_with_that_right_all_settings_are_read(server: Original) -> None:
    server.ask("GRANT pg_read_all_settings TO replicator")
    try:
        asked = ask_running(target(server, "replicator"))
    finally:
        server.ask("REVOKE pg_read_all_settings FROM replicator")
    assert asked.partial == ""
    assert asked.settings["shared_preload_libraries"] == "plpgsql"


def test_settings_are_those_of_the_server_and_not_of_its_role(server: Original) -> None:
    server.ask("ALTER SYSTEM SET work_mem = '9MB'")
    server.ask("SELECT pg_reload_conf(), pg_sleep(0.5)")
    asked = ask_running(target(server, "dba"))
    assert asked.bytes is not None
    assert asked.bytes > 10_000_000
    kept = reported_settings(asked)
    assert kept["archive_command"] == ""
    assert "S3cret" not in f"{asked!r} {kept}"
    assert kept["work_mem"] == "9MB"  # not the 1MB of the role itself


@pytest.mark.parametrize(
    ("service", "environment", "chosen"),
    [
        ("dbname=shop", {"PGDATABASE": "empty"}, "shop"), ("dbname=shop", {}, "shop"),
        ("", {"PGDATABASE": "empty"}, "empty"), ("", {}, "postgres"),
        ("dbname=nosuch", {"PGDATABASE": "empty"}, "nosuch"),
    ],
)  # fmt: skip
def test_a_database_that_a_service_names_goes_before_that_of_the_environment(
    server: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    service: str, environment: dict[str, str], chosen: str,
) -> None:  # fmt: skip
    file = tmp_path / "services.conf"
    file.write_text(f"[prod]\nhost={server.sockets}\nport=54399\nuser=dba\n{service}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    running = ask_running("service=prod")
    assert running.connected == chosen
    if chosen == "nosuch":
        with pytest.raises(UsageError, match='no database "nosuch"'):
            running.require_database(None)


@pytest.mark.parametrize(
    ("database", "named", "chosen"),
    [("shop", None, "shop"), ("postgres", "empty", "empty"), ("shop", "empty", "empty")],
)
def test_the_database_is_the_one_that_is_named_else_that_of_the_string(
    server: Original, database: str, named: str | None, chosen: str
) -> None:
    assert ask_running(target(server, "dba", database)).require_database(named) == chosen


@pytest.mark.parametrize(
    ("database", "named", "words"),
    [("postgres", None, "cannot choose"), ("postgres", "shp", 'no database "shp"')],
)
def test_the_databases_are_listed_before_anything_is_copied(
    server: Original, database: str, named: str | None, words: str
) -> None:
    asked = ask_running(target(server, "dba", database))
    with pytest.raises(UsageError, match=words) as refused:
        asked.require_database(named)
    assert "shop (" in str(refused.value.detail)
    assert "empty (" in str(refused.value.detail)


def test_the_only_database_need_not_be_named() -> None:
    alone = RunningServer("", None, "18.4", 1, (), (("postgres", 1), ("shop", 2)), "postgres", {})
    assert alone.require_database(None) is None


def test_a_database_that_is_not_there_is_said_with_those_that_are(server: Original) -> None:
    with pytest.raises(UsageError, match='no database "shp"') as refused:
        ask_running(target(server, "replicator", "shp"))
    assert "empty, postgres, shop" in str(refused.value.detail)


def test_only_a_server_that_is_not_reached_is_called_so(server: Original) -> None:
    with pytest.raises(ServerError, match="could not log in"):
        ask_running(target(server, "nobody"))
    with pytest.raises(ServerError, match="could not reach"):
        ask_running("host=/nonexistent port=1 user=nobody dbname=postgres")
