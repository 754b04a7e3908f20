"""Sessions that `drive` opens are those that libpq's own clients would open on the same words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from driver.served import Server
from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.model.errors import DriverError
from thinned import thinned

pytestmark = pytest.mark.postgres

START = "from steelyard.cli.app import main; main()"
SETTINGS = ("client_encoding", "DateStyle", "TimeZone", "geqo", "application_name", "work_mem")


def _drive(
    conninfo: str, *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.run(
        [sys.executable, "-c", START, "drive", conninfo, *words],
        capture_output=True,
        text=True,
        check=False,
        env=own | (environment or {}),
    )


def _settings_of_psql(conninfo: str, environment: dict[str, str]) -> dict[str, str]:
    """What a session has that libpq itself opened, in a process of its own environment."""
    code = (
        "import json, psycopg, sys\n"
        "with psycopg.connect(sys.argv[1], autocommit=True) as session:\n"
        "    print(json.dumps({name: session.execute(f'SHOW {name}').fetchone()[0]"
        " for name in sys.argv[2:]}))\n"
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [sys.executable, "-c", code, conninfo, *SETTINGS],
        capture_output=True,
        text=True,
        check=True,
        env=own | environment,
    )
    return dict(json.loads(done.stdout))


@thinned(
    ("words", "environment"),
    [
        ("client_encoding=LATIN1", {}),
        ("client_encoding=EUC_JP application_name=mine", {}),
        ("", {"PGGEQO": "off"}),
        ("", {"PGTZ": "Asia/Tokyo", "PGDATESTYLE": "German"}),
        ("", {"PGCLIENTENCODING": "LATIN1", "PGOPTIONS": "-c work_mem=5MB"}),
        ("options='-c geqo=on -c work_mem=3MB'", {"PGGEQO": "off"}),
    ],
    2,
)
def test_a_session_has_the_settings_of_libpqs(
    server: Server, tmp_path: Path, words: str, environment: dict[str, str]
) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE noted (name text, value text)")
    try:
        script = tmp_path / "note.sql"
        script.write_text(
            "".join(
                f"INSERT INTO noted VALUES ('{name}', current_setting('{name}'));\n"
                for name in SETTINGS
            )
        )
        conninfo = f"{server.conninfo} {words}"
        done = _drive(conninfo, "-f", str(script), "-t", "1", environment=environment)
        assert done.returncode == 0, done.stderr
        with server.connect() as connection:
            rows: list[Any] = connection.execute("SELECT name, value FROM noted").fetchall()
    finally:
        with server.connect() as connection:
            connection.execute("DROP TABLE noted")
    expected = _settings_of_psql(conninfo, environment)
    if expected["application_name"] == "":
        expected["application_name"] = "steelyard"
    assert dict(rows) == expected


@thinned("script", ["SELECT 'ä';\n", "SELECT chr(228) AS a \\gset\n", "SELECT :a;\n"], 1)
def test_texts_that_another_encoding_would_garble_are_refused(
    server: Server, tmp_path: Path, script: str
) -> None:
    file = tmp_path / "script.sql"
    file.write_text(script, encoding="utf-8")
    defined = ["-D", "a='ä'"] if ":a" in script else []
    load = ["-f", str(file), "-t", "1", *defined]
    done = _drive(f"{server.conninfo} client_encoding=LATIN1", *load)
    assert done.returncode == 2
    assert 'cannot drive by client_encoding "LATIN1"' in done.stderr
    done = _drive(f"{server.conninfo} client_encoding=utf-8", *load)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wanted", ["standby", "read-only"])
def test_a_server_of_the_wrong_state_is_not_driven(
    server: Server, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.address
    for conninfo in (
        f"{server.conninfo} target_session_attrs={wanted}",
        f"postgresql://{address.user}@127.0.0.1:{address.port}/{address.database}"
        f"?target_session_attrs={wanted}",
    ):
        with pytest.raises(DriverError, match="could not connect to the server") as refused:
            read_target(conninfo)
        assert "session is not read-only" in str(refused.value) or "standby" in str(refused.value)
    monkeypatch.setenv("PGTARGETSESSIONATTRS", wanted)
    with pytest.raises(DriverError):
        read_target(server.conninfo)


@thinned("wanted", ["any", "primary", "read-write", "prefer-standby"], 1)
def test_a_server_of_the_right_state_is_driven(server: Server, wanted: str) -> None:
    conninfo = f"{server.conninfo} target_session_attrs={wanted}"
    target = read_target(conninfo)
    assert (target.host, target.port) == (server.address.host, server.address.port)
    done = _drive(conninfo, "-S", "-t", "2")
    assert done.returncode == 0, done.stderr
