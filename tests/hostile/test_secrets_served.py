"""SAFETY.md: passwords reach nothing that is printed or kept, also where real servers take part.

A server that asks for a password, one that quotes statements, the data of one whose configuration
holds secrets, and whole weighings of both.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hostile.conftest import Call, Run
from hostile.searching import files_with, require_unseen
from own_cache import open_directory, own_server
from steelyard.engines.account import Account, choose_account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import Neutralised, SettingsPlace
from steelyard.engines.postgres.intake import running
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.endpoint import Endpoint
from steelyard.study.read import read_study
from steelyard.study.study import Source
from steelyard.workloads.loading.imported_data import import_template, resolve_source

SETTINGS = ("weigh", "settings", "--set", "arm.settings.random_page_cost=3")
"""Two arms that are not equal."""
pytestmark = pytest.mark.postgres

PASSWORD = "Zq-password-of-the-role-7"
HBA = """\
local all postgres trust
host all,replication guarded 127.0.0.1/32 scram-sha-256
local all all trust
"""
SETTINGS = {"listen_addresses": "127.0.0.1", "shared_buffers": "16MB"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Endpoint]:
    """A server with a role that needs its password, by TCP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with own_server("18", SETTINGS, port=port, files={"pg_hba.conf": HBA}) as instance:
        with psycopg.connect(conninfo_of(instance.address), autocommit=True) as session:
            session.execute(
                f"CREATE ROLE guarded LOGIN SUPERUSER REPLICATION PASSWORD '{PASSWORD}'".encode()
            )
            session.execute("CREATE TABLE lines AS SELECT generate_series(1, 20000) AS id")
        yield instance.address


def _uri(server: Endpoint, password: str) -> str:
    return f"postgres://guarded:{password}@127.0.0.1:{server.port}/{server.database}"


def test_a_password_that_is_wrong_is_not_shown(
    guarded: Endpoint, token: str, run: Run, cache: Path, tmp_path: Path
) -> None:
    uri = _uri(guarded, token)
    for words in (
        ("drive", "-t", "1", uri),
        ("workloads", "load", "pgbench", uri),
        (*SETTINGS, "--yes", "--from", uri),
        (*SETTINGS, "--yes", "-b", "select-only", "--address", uri),
    ):
        printed = run(*words)
        os.environ.pop("PGPASSWORD", None)
        assert "error: " in printed
        require_unseen(token, printed, cache, tmp_path)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER ROLE nosuch PASSWORD '{t}' NOSUCH",
        "ALTER ROLE nosuch PASSWORD '{t}'",
        "SELECT dblink('host=h password={t}')",
        "DO $$ BEGIN RAISE 'could not: postgres://u:{t}@h'; END $$",
        "SELECT 'password={t}'::int",
        "CREATE USER MAPPING FOR nosuch SERVER nosuch OPTIONS (password '{t}')",
    ],
)
def test_a_statement_that_a_server_quotes_is_redacted(
    statement: str, guarded: Endpoint, token: str, run: Run, open_home: Path, tmp_path: Path
) -> None:
    script = open_home / "q.sql"
    script.write_text(f"{statement.format(t=token)};\n")
    for mode in ("simple", "prepared"):
        printed = run("drive", "-t", "1", "-M", mode, "-f", str(script), _uri(guarded, PASSWORD))
        assert "SQLSTATE" in printed
        require_unseen(token, printed, tmp_path)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "JSON"])
def test_a_statement_that_is_timed_is_shown_redacted(
    form: tuple[str, ...], guarded: Endpoint, token: str, run: Run, open_home: Path, tmp_path: Path
) -> None:
    script = open_home / "q.sql"
    script.write_text(f"SELECT set_config('my.api_token', '{token}', true);\n")
    uri = _uri(guarded, PASSWORD)
    printed = run("drive", "-t", "1", "-r", *form, "-f", str(script), uri)
    assert "set_config('my.api_token'" in printed
    require_unseen(token, printed, tmp_path)


def test_what_a_server_says_of_a_captured_statement_is_redacted(
    guarded: Endpoint, token: str, run: Run, open_home: Path
) -> None:
    pytest.importorskip("pglast")
    log = open_home / "server.log"
    log.write_text(
        "2026-11-27 10:00:00.000 UTC [10] u@d LOG:  duration: 1.5 ms  statement: "
        f"SELECT 'password={token}'::regclass\n"
        "2026-11-27 10:00:00.010 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT 1\n"
    )
    made = str(open_home / "made")
    uri = _uri(guarded, PASSWORD)
    printed = run("workloads", "capture", str(log), "-o", made, "--server", uri)
    assert "cannot be prepared" in printed
    assert token not in printed


def test_the_program_that_copies_a_server_gets_the_password_beside_its_command_line(
    guarded: Endpoint, open_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every account of the machine can read the command lines of all processes."""
    given = list[tuple[list[str], dict[str, str]]]()
    backup = running.run_backup

    def noted(
        account: Account,
        command: list[str],
        environment: dict[str, str],
        directory: Path,
        **progress: Any,
    ) -> object:
        given.append((command, environment))
        return backup(account, command, environment, directory, **progress)

    monkeypatch.setattr(running, "run_backup", noted)
    server = running.ask_running(_uri(guarded, PASSWORD))
    running.back_up(server, open_home / "backup")
    [(command, environment)] = given
    assert environment["PGPASSWORD"] == PASSWORD
    assert not [word for word in command if PASSWORD in word]
    assert PASSWORD not in repr(server)


WAYS = {
    "postgresql.conf": (
        "archive_command = 'AWS_SECRET_ACCESS_KEY={t} aws s3 cp %p s3://b'",
        "ssl_passphrase_command = 'echo {t}'",
        "my.api_token = '{t}'",
        "vault.key = {t}",
        "my.endpoint = 'https://u:{t}@h/'",
        "my.upstream = 'host=h password={t}'",
        "include 'more.conf'",
        "work_mem = 11MB",
    ),
    "more.conf": ("recovery_end_command = 'curl -H \"Authorization: Bearer {t}\" h'",),
    "postgresql.auto.conf": (
        "primary_conninfo = 'user=repl password={t} host=10.0.0.1'",
        "restore_command = 'cp {t}/%f %p'",
    ),
    "pg_ident.conf": ("# {t}",),
    "pg_hba.conf": ('host all all 10.0.0.1/32 ldap ldapbindpasswd="{t}"',),
}


@pytest.fixture
def secretive(token: str) -> Iterator[Path]:
    """A stopped data directory with database "shop", whose configuration holds the token."""
    with open_directory() as home:
        cluster = find_postgres("18").create(home / "data", protection="checksums")
        cluster.start(Slot(0, home, home / "socket", 5432), {})
        try:
            with _session(cluster.address, "postgres") as session:
                session.execute("CREATE DATABASE shop")
            with _session(cluster.address, "shop") as session:
                session.execute("CREATE TABLE lines AS SELECT generate_series(1, 20000) AS id")
        finally:
            cluster.stop()
        for name, lines in WAYS.items():
            with (home / "data" / name).open("a") as file:
                file.write("".join(f"{line.format(t=token)}\n" for line in lines))
        yield home / "data"


def _session(address: Endpoint, database: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(conninfo_of(replace(address, database=database)), autocommit=True)


@pytest.mark.long
def test_a_copy_of_a_directory_has_no_secret_of_its_configuration(
    secretive: Path, token: str, cache: Path
) -> None:
    """Relation files are copied as they are: what tables and pg_authid hold is in the copy too,
    which only the account of servers may read."""
    said = list[str]()
    study = resolve_source(
        read_study("settings", [f"source.place={secretive}", "source.database=shop"])
    )
    assert isinstance(study.source, Source)
    engine = find_postgres("18")
    data = import_template(engine, "postgres", study.source, said.append, copies=0, number=0)
    assert data.is_dir()
    offered = read_server_settings(SettingsPlace(secretive, "data directory"))
    names = {left.what for left in offered.neutralised}
    assert {"archive_command", "my.api_token", "my.upstream", "primary_conninfo"} <= names
    assert "work_mem" in offered.settings
    require_unseen(token, "\n".join([*said, repr(offered)]), cache)


def test_what_a_copy_is_without_is_a_name(token: str) -> None:
    from steelyard.record.environment import NeutralisedFact

    earlier = NeutralisedFact(what=f"primary_conninfo = password={token}", why="why")
    assert earlier.what == "primary_conninfo"
    assert token not in str(Neutralised("primary_conninfo", "why"))


@pytest.mark.long
def test_a_weighing_of_such_data_writes_no_secret_anywhere(
    secretive: Path, token: str, cache: Path, steelyard: Call, tmp_path: Path
) -> None:
    """Terminal, record, report, summary, JUnit, site, history, cache and temporary files."""
    if os.geteuid() == 0:
        shutil.chown(secretive, choose_account().name)
    script, places = tmp_path / "q.sql", tmp_path / "temporary"
    script.write_text(
        f"SELECT count(*) FROM lines WHERE id::text <> 'a' AND 'token' <> 'password={token}';\n"
        f"SELECT set_config('my.api_token', '{token}', true) FROM lines LIMIT 1;\n"
    )
    places.mkdir(mode=0o777)
    environment = {
        "TMPDIR": str(places),
        "PGPASSWORD": token,
        "AWS_SECRET_ACCESS_KEY": token,
        "GITHUB_TOKEN": token,
        "STEELYARD_CACHE": str(cache),
    }
    weighed = steelyard(
        *("weigh", "settings", "--from", str(secretive), "--database", "shop", "-f", str(script)),
        *("--set", "arm.settings.work_mem=8MB", "--budget", "20s", "--set", "budget.epochs=4"),
        *("--summary", "s.md", "--junit", "j.xml"),
        limit_s=600,
        environment=environment,
    )
    assert weighed.status == 0, weighed.output
    printed = weighed.output
    for words in (
        ("history", "list"),
        ("site", "-o", "pages"),
        ("report", "records/settings/latest"),
    ):
        shown = steelyard(*words, environment=environment)
        printed += shown.output
    assert (tmp_path / "records/settings/latest/report.html").is_file()
    script.unlink()
    require_unseen(token, printed, cache, tmp_path)


@pytest.mark.long
def test_a_weighing_at_an_address_with_a_password_writes_it_nowhere(
    guarded: Endpoint, cache: Path, steelyard: Call, tmp_path: Path
) -> None:
    (tmp_path / "q.sql").write_text("SELECT count(*) FROM lines;\n")
    weighed = steelyard(
        *("weigh", "settings", "--address", _uri(guarded, PASSWORD), "-f", "q.sql"),
        *("--set", "arm.settings.work_mem=8MB", "--budget", "20s", "--set", "budget.epochs=4"),
        limit_s=600,
        environment={"STEELYARD_CACHE": str(cache)},
    )
    assert weighed.status == 0, weighed.output
    assert "guarded" in (tmp_path / "records/settings/latest/study.toml").read_text()
    assert files_with([PASSWORD], cache, tmp_path) == []
    assert PASSWORD not in weighed.output
