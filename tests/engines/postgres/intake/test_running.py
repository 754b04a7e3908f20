"""A role with REPLICATION alone can have its server copied; what it may not read is said."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from own_cache import open_directory
from steelyard.engines.account import Account, choose_account
from steelyard.engines.intake import SettingsPlace
from steelyard.engines.postgres.intake import running
from steelyard.engines.postgres.intake.configuration import neutralise
from steelyard.engines.postgres.intake.running import (
    RunningServer,
    ask_running,
    back_up,
    reported_settings,
)
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.libpq.connection_words import connection_words
from steelyard.engines.postgres.life.configuration_text import configuration_text
from steelyard.engines.postgres.life.control import read_beginning
from steelyard.model.errors import ServerError, UsageError
from thinned import thinned

pytestmark = pytest.mark.postgres

STARTED = ("random_page_cost=1.5", "shared_preload_libraries=plpgsql",
           "archive_command=S3cret", "geqo_seed=0.25", "app.tenant=7")  # fmt: skip


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
            original.ask("ALTER ROLE dba SET geqo_seed = 0.5")
            yield original


def target(server: Original, role: str, database: str = "shop") -> str:
    return f"host={server.sockets} port=54399 user={role} dbname={database}"


@pytest.mark.long
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
    assert kept["geqo_seed"] == "0.25"  # of its command line, which no file has
    assert kept["app.tenant"] == "7"
    assert asked.partial_for("shop") == ""


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


@pytest.fixture
def services(server: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A service file of the caller's, which the servers' account has not."""
    file = tmp_path / "services.conf"
    file.write_text(f"[prod]\nhost={server.sockets}\nport=54399\nuser=dba\nsslpassword=S3cret\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    return file


NAMED = {"PGHOST": "{sockets}", "PGPORT": "54399", "PGUSER": "dba"}


@thinned(
    ("words", "environment"),
    [
        ("dbname=shop", NAMED),
        ("service=prod", {}),
        ("dbname=shop", {"PGSERVICE": "prod"}),
        ("host=/nonexistent,{sockets} port=1,54399 user=dba", {}),
        ("postgresql://dba@/shop?host={sockets}", {"PGPORT": "54399"}),
    ],
    3,
)
def test_the_server_that_answered_is_the_one_that_is_copied(
    server: Original, services: Path, monkeypatch: pytest.MonkeyPatch,
    words: str, environment: dict[str, str],
) -> None:  # fmt: skip
    services.write_text(services.read_text().replace("sslpassword=S3cret\n", ""))
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(sockets=server.sockets))
    asked = ask_running(words.format(sockets=server.sockets))
    [(identifier,)] = server.ask("SELECT system_identifier FROM pg_control_system()")
    assert asked.identifier == identifier
    with open_directory() as home:
        back_up(asked, home / "backup")
        assert read_beginning(home / "backup" / "data").system_identifier == identifier


@pytest.mark.long
def test_a_copy_of_another_server_is_refused(server: Original) -> None:
    asked = ask_running(target(server, "dba"))
    with open_directory() as home, pytest.raises(ServerError, match="another one was copied"):
        back_up(replace(asked, identifier=1), home / "backup")


@pytest.mark.parametrize("named", [False, True])
def test_the_copied_server_is_verified_by_what_the_one_that_was_asked_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: bool
) -> None:
    """The account that copies has another home, and may not read ours."""
    home = tmp_path / "home/.postgresql"
    home.mkdir(parents=True)
    roots = tmp_path / "named.crt" if named else home / "root.crt"
    roots.write_text("ours")
    roots.chmod(0o600)
    (home / "postgresql.key").write_text("S3cret")
    monkeypatch.setenv("HOME", str(home.parent))
    used: list[tuple[dict[str, str], str]] = []

    def copy(account: Account, command: list[str], *_: object, **__: object) -> tuple[int, str]:
        words = connection_words(command[command.index("-d") + 1])
        used.append((words, account.call(Path(words["sslrootcert"]).read_text)))
        return 1, "FATAL:  connection requires a valid client certificate"

    monkeypatch.setattr(running, "run_backup", copy)
    monkeypatch.setattr(running, "newest_client", lambda *_: ("pg_basebackup", {}))
    words = f"host=db sslmode=require {f'sslrootcert={roots}' if named else ''}"
    asked = RunningServer(words, None, "18.4", 1, (), (), "postgres", {})
    with open_directory() as place, pytest.raises(ServerError) as refused:
        back_up(asked, place / "backup")
    [(words_used, content)] = used
    assert content == "ours"
    assert not {"sslcrl", "sslcert", "sslkey"} & {*words_used}
    assert ("sslkey=FILE" in str(refused.value.hint)) == choose_account().switched


def test_where_the_server_is_newer_than_the_programs_here_it_is_said_what_brings_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "pg_basebackup: error: incompatible server version 19.1"
    monkeypatch.setattr(running, "run_backup", lambda *_, **__: (1, words))
    monkeypatch.setattr(running, "newest_client", lambda *_: ("pg_basebackup", {}))
    asked = RunningServer("host=db", None, "19.1", 1, (), (), "postgres", {})
    with open_directory() as place, pytest.raises(ServerError) as refused:
        back_up(asked, place / "backup")
    assert refused.value.hint == (
        "Bring the programs of its version: steelyard engines add debian-19"
    )


def test_what_is_said_elsewhere_of_the_server_holds_for_the_copy_and_of_sessions_does_not(
    server: Original, services: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"PGSSLMODE": "disable", "PGREQUIREAUTH": "none", "PGPASSWORD": "S3cret"}
    sessions = {"PGOPTIONS": "-c work_mem=1MB", "PGAPPNAME": "mine", "PGDATABASE": "empty"}
    for name, value in (said | sessions).items():
        monkeypatch.setenv(name, value)
    asked = ask_running("service=prod target_session_attrs=read-write")
    words = connection_words(asked.target)
    assert words == {
        "service": "prod",  # which alone has sslpassword
        "sslmode": "disable",
        "require_auth": "none",
        "user": "dba",
        "host": str(server.sockets),
        "port": "54399",
    }
    services.write_text(services.read_text().replace("sslpassword=S3cret\n", ""))
    assert connection_words(ask_running("service=prod").target) == {
        word: value for word, value in words.items() if word != "service"
    }


def test_a_role_that_nothing_names_is_each_accounts_own(server: Original) -> None:
    """By a socket a server lets each account in as itself."""
    login = pwd.getpwuid(os.geteuid()).pw_name
    server.ask(f'CREATE ROLE "{login}" LOGIN REPLICATION')
    try:
        words = f"host={server.sockets} port=54399 dbname=shop"
        assert connection_words(ask_running(words).target) == connection_words(words)
        named = ask_running(f"{words} user={login}")
        assert connection_words(named.target)["user"] == login
    finally:
        server.ask(f'DROP ROLE "{login}"')


@pytest.fixture
def granted(server: Original) -> Iterator[Original]:
    """The server, whose role "replicator" may read all settings and is no superuser."""
    server.ask("GRANT pg_read_all_settings TO replicator")
    yield server
    server.ask("REVOKE pg_read_all_settings FROM replicator")
    server.ask("ALTER ROLE replicator RESET ALL")
    server.ask("ALTER ROLE replicator IN DATABASE shop RESET ALL")
    server.ask("ALTER DATABASE shop RESET ALL")


@pytest.mark.parametrize(
    ("statement", "options", "weighed", "words"),
    [
        ("ALTER ROLE replicator SET random_page_cost = 9", "", "shop", 'role "replicator"'),
        (
            "ALTER ROLE replicator IN DATABASE shop SET random_page_cost = 9",
            *("", "shop", 'role "replicator"'),
        ),
        ("ALTER DATABASE shop SET random_page_cost = 9", "", "empty", 'database "shop"'),
        ("ALTER DATABASE shop SET random_page_cost = 9", "", "shop", ""),
        ("ALTER ROLE replicator SET password_encryption = 'md5'", "", "shop", ""),
        ("SELECT 1", "-c random_page_cost=9", "shop", "or its session"),
    ],
)
def test_what_the_session_has_in_place_of_the_server_is_said(
    granted: Original, statement: str, options: str, weighed: str, words: str
) -> None:
    granted.ask(statement)
    asked = ask_running(f"{target(granted, 'replicator')} options='{options}'")
    partial = asked.partial_for(weighed)
    if words:
        assert "random_page_cost" not in asked.settings
        assert words in partial
        assert "sets random_page_cost in place of the server" in partial
        assert "--config FILE" in partial
    else:
        assert partial == ""


def test_options_of_the_environment_are_in_place_of_nothing(
    granted: Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c random_page_cost=9")
    asked = ask_running(target(granted, "replicator"))
    assert asked.settings["random_page_cost"] == "1.5"
    assert asked.partial_for("shop") == ""


@pytest.mark.long
def test_a_tablespace_that_stands_within_the_data_is_backed_up_with_them(server: Original) -> None:
    """Its location is no absolute path, which pg_basebackup does not map."""
    server.ask("ALTER ROLE dba SET allow_in_place_tablespaces = on")
    try:
        server.ask("CREATE TABLESPACE within LOCATION ''")
        with open_directory() as home:
            back_up(ask_running(target(server, "dba", "postgres")), home / "backup")
            [space] = (home / "backup/data/pg_tblspc").iterdir()
            assert space.is_dir()
            assert not space.is_symlink()
    finally:
        server.ask("DROP TABLESPACE IF EXISTS within")
        server.ask("ALTER ROLE dba RESET allow_in_place_tablespaces")


NAMES = ("app.jwt_secret", "my.endpoint", "vault.key", "archive_command", "primary_conninfo",
         "work_mem", "log_min_messages", "shared_preload_libraries")  # fmt: skip
VALUES = ("S3cret", "", "https://u:S3cret@h/", "password=S3cret", "9MB", "fatal", "/opt/x, auto")


@pytest.mark.long
@given(offered=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES)))
@settings(deadline=None)
def test_settings_that_are_kept_are_read_again_as_they_were_without_their_secrets(
    offered: dict[str, str],
) -> None:
    whole = neutralise(offered)
    server = RunningServer("", None, "18.4", 1, (), (), "postgres", offered)
    with open_directory() as home:
        file = home / "kept.conf"
        file.write_text(configuration_text(reported_settings(server)))
        place = SettingsPlace(home, "base backup", file, reported=True)
        again = read_server_settings(place)
        assert (again.settings, again.neutralised) == (whole.settings, whole.neutralised)
        assert ("S3cret" in file.read_text()) == ("S3cret" in str(dict(whole.settings)))
