"""SAFETY.md: passwords, keys and tokens reach no terminal, record, report or file of the cache.

Each case brings a token that was drawn for it in by one way, and every byte that was written is
searched for it. The long weighing of the kind is in test_secrets_weighed.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hostile.conftest import Call, Run
from hostile.searching import files_with, require_unseen
from steelyard.model.errors import SteelyardError
from steelyard.report import source
from thinned import thinned

SETTINGS = ("weigh", "settings", "--set", "arm.settings.random_page_cost=3")
"""Two arms that are not equal."""
NOBODY = "127.0.0.1:1"
"""Where no server listens."""


@pytest.fixture(autouse=True)
def _no_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also removes what an address on the command line leaves for libpq."""
    for name in ("PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD", "PGPASSFILE", "PGSERVICEFILE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_the_search_sees_a_token_in_a_name_in_a_text_and_among_bytes(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_bytes(b"\0\xffZq1\0")
    (tmp_path / "deep" / "Zq1").touch()
    (tmp_path / "b").write_text("Zq")
    (tmp_path / "link").symlink_to("Zq1")
    assert files_with(["Zq1"], tmp_path) == ["Zq1: deep/Zq1", "Zq1: deep/a", "Zq1: link"]


ADDRESSES = [
    "postgres://u:{t}@" + NOBODY + "/d",
    "host=127.0.0.1 port=1 user=u password={t}",
    "host=127.0.0.1 port=1 user=u password='{t} x'",
    "postgres://u@" + NOBODY + "/d?password={t}",
    "postgres://u@" + NOBODY + "/d?pass%77ord={t}",
    "postgres://u:{t}/x@" + NOBODY + "/d",
    "postgres://u:x@{t}@" + NOBODY,
    "postgresql://u:{t}",
    "hoost=h password={t}",
    "host=h password=x {t}",
    "host=h password='{t}",
    "host=127.0.0.1 port=1 sslpassword={t}",
    "host=127.0.0.1 port=1 oauth_client_secret={t}",
    "host=127.0.0.1 port=1 options='-c my.token={t}'",
    "mysql://u:{t}@" + NOBODY + "/d",
    "mysql://u:{t}",
    "mysql://u:{t}?x@" + NOBODY,
    "mysql://u@" + NOBODY + "/d?password={t}",
    "sqlserver://u:{t}@" + NOBODY + "/d",
    "sqlserver://u:{t}@" + NOBODY + "/d?encrypt=no",
    "mongodb://u:{t}@h/d",
]
COMMANDS: list[Sequence[str]] = [
    (*SETTINGS, "-f", "q.sql", "--yes", "--address"),
    (*SETTINGS, "-f", "q.sql", "--yes", "--from"),
    (*SETTINGS, "-f", "q.sql", "--yes", "--from", "data", "--config"),
    (*SETTINGS, "--control", "address=host=h", "--arm"),
    ("weigh", "nosuch", "--set"),
    ("drive", "-t", "1"),
    ("drive", "-t", "1", "-h", "127.0.0.1", "-p", "1", "-d"),
    ("workloads", "load", "pgbench"),
    ("workloads", "capture", "-o", "made"),
    ("fleet", "check", "--machines", "1", "--address"),
    ("tune", "--address"),
    ("scrub", "data", "--server"),
]


@thinned("address", ADDRESSES, 63)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_secret_of_an_address_is_not_shown(
    command: Sequence[str], address: str, token: str, run: Run, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "at").mkdir()
    (tmp_path / "at" / "q.sql").write_text("SELECT 1;\n")
    given = address.format(t=token)
    last = f"address={given}" if command[-1] == "--arm" else given
    require_unseen(token, run(*command, last), cache, tmp_path)


SLIPS = [
    *("postgresql:/u:{t}@h/db", "u:{t}@h/db", "h:5432:d:u:{t}", "postgresql//u:{t}@h/db=1"),
    *("host=h user=u password {t}", "Server=h;Uid=u;Pwd={{a {t}}};Database=d", "u:a {t}@h"),
]


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize(
    "command",
    [(*SETTINGS, "--yes", "--from"), ("upgrade",), ("workloads", "capture")],
    ids=" ".join,
)
def test_a_slip_in_an_address_does_not_show_its_password(
    command: Sequence[str], slip: str, token: str, run: Run, cache: Path, tmp_path: Path
) -> None:
    printed = run(*command, slip.format(t=token))
    assert "error: " in printed
    require_unseen(token, printed, cache, tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "arm.settings.primary_conninfo=host=h user=u password={t}"),
        ("--set", "arm.settings.archive_command=AWS_SECRET_ACCESS_KEY={t} aws s3 cp"),
        ("--set", "arm.settings.ssl_passphrase_command=echo {t}"),
        ("--set", "arm.settings.my.api_token={t}"),
        ("--set", "control.settings.my.api_token={t}"),
        ("--set", "settings.vault.key={t}"),
        ("--set", "settings.my.upstream=https://u:{t}@h/"),
        ("--set", "arm.settings.my.token=['{t}']"),
        ("--set", "arm.sql=[\"ALTER ROLE a PASSWORD '{t}'\"]"),
        ("--set", "sql=[\"CREATE USER MAPPING FOR a SERVER s OPTIONS (password '{t}')\"]"),
        ("--set", "sql=[\"SELECT dblink('password={t}', 'x')\"]"),
        ("--set", "arm.sql=[\"SELECT dblink('host=h password=Tiger.{t} dbname=d')\"]"),
        ("--set", "arm.sql=[\"SELECT dblink('host=h password=({t} dbname=d')\"]"),
        ("--set", "arm.settings.app.cfg=password: {t}"),
        ("--set", "arm.settings.app.sas=https://h/c?sv=1&sig={t}"),
        ("--set", "arm.settings.app.url=http://{t}@h"),
        ("--set", "arm.settings.app.dbpw={t}"),
        ("--set", "title=postgres://u:{t}@h"),
        ("--set", "question='password={t}'"),
        ("--set", "address=postgres://u:{t}@h/d"),
        ("--set", "workload.texts={{q = \"SELECT 1 WHERE 'token' = '{t}';\"}}"),
        ("--set", "workload.variables={{api_token = '{t}'}}"),
        ("--set", "password={t}"),
        ("--set", "password {t}=", "--set", "=password={t}"),
        ("--sweep", "arm.settings.my.api_token={t},b"),
        ("--sweep", "arm.settings.search_path=a,password={t}"),
        ("--password={t}",),
        ("password={t}",),
        ("--seed", "password={t}"),
    ],
)
def test_a_secret_in_a_study_is_refused_and_not_quoted(
    words: Sequence[str], token: str, run: Run, cache: Path, tmp_path: Path
) -> None:
    printed = run(*SETTINGS, *(word.format(t=token) for word in words))
    assert "error: " in printed
    require_unseen(token, printed, cache, tmp_path)


def test_a_refused_study_says_which_key_and_what_to_write(run: Run) -> None:
    printed = run("weigh", "settings", "--set", "arm.settings.my.api_token=x")
    assert '"arm.settings.my.api_token" may say a password, key or token' in printed
    assert "leave it out" in printed
    printed = run(*SETTINGS, "--set", "sql=[\"ALTER ROLE a PASSWORD 'x'\"]")
    assert "roles and user mappings without passwords" in printed


def test_the_command_of_a_search_that_says_a_secret_is_refused(
    token: str, run: Run, cache: Path, tmp_path: Path
) -> None:
    words = ("history", "bisect", "versions", "--commits", "a..b", "--build", f"TOKEN={token} make")
    printed = run(*words)
    assert "Export it as a variable" in printed
    require_unseen(token, printed, cache, tmp_path)


BAD_LINES = [
    "{t}",
    "root:$6${t}:19000:0:99999:7:::",
    "primary_conninfo 'password={t}' x",
    "my.api_token = '{t}",
    "include '{t}' x",
]


@pytest.mark.parametrize("line", BAD_LINES)
@pytest.mark.parametrize("way", ["conf", "config", "include"])
def test_a_line_that_cannot_be_read_is_named_and_not_quoted(
    way: str, line: str, token: str, run: Run, open_home: Path, cache: Path, tmp_path: Path
) -> None:
    """An include of a file that only the caller may read would show it in a log of CI."""
    bad = open_home / "bad.conf"
    bad.write_text(f"work_mem = 4MB\n{line.format(t=token)}\n")
    bad.chmod(0o600)
    data = _data_directory(open_home)
    main = open_home / "main.conf"
    main.write_text(f"include '{bad}'\n")
    words = {
        "conf": ("--arm", f"conf={bad}"),
        "config": ("--from", str(data), "--config", str(bad), "-f", str(_script(open_home))),
        "include": ("--arm", f"conf={main}"),
    }[way]
    printed = run(*SETTINGS, *words)
    require_unseen(token, printed, cache, tmp_path)
    if way != "config":
        assert "line 2 is no setting" in printed


def _script(home: Path) -> Path:
    script = home / "q.sql"
    script.write_text("SELECT 1;\n")
    return script


def _data_directory(home: Path) -> Path:
    """What is there of one is enough to be looked at."""
    data = home / "data"
    data.mkdir()
    (data / "PG_VERSION").write_text("18\n")
    return data


@thinned("name", ["PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD", "MY_API_TOKEN"], 1)
@pytest.mark.parametrize("target", ["postgres://u@", "mysql://u@", "sqlserver://u@"])
def test_a_variable_of_the_environment_is_not_shown(
    name: str,
    target: str,
    token: str,
    run: Run,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, token)
    printed = run("drive", "-t", "1", f"{target}{NOBODY}/d")
    printed += run("workloads", "load", "pgbench", f"{target}{NOBODY}/d")
    assert "error: " in printed
    require_unseen(token, printed, cache, tmp_path)


@pytest.mark.long
def test_a_password_file_and_a_service_file_are_not_shown(
    token: str, run: Run, cache: Path, open_home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    passwords = open_home / "pgpass"
    passwords.write_text(f"*:*:*:*:{token}\n")
    passwords.chmod(0o600)
    services = open_home / "services"
    services.write_text(f"[ours]\nhost=127.0.0.1\nport=1\npassword={token}\n[bad]\nx {token}\n")
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    for target in ("host=127.0.0.1 port=1", "service=ours", "service=bad", "service=none"):
        printed = run("drive", "-t", "1", target)
        printed += run(*SETTINGS, "--yes", "--from", target)
        printed += run(*SETTINGS, "--address", target, "-f", str(_script(open_home)))
        assert "error: " in printed
        require_unseen(token, printed, cache, tmp_path)


LOG = """\
2026-11-27 10:00:00.000 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT '{t}' FROM a
2026-11-27 10:00:00.010 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT $${t}$$, U&'{t}'
2026-11-27 10:00:00.020 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT X'{x}' /* {t} */
2026-11-27 10:00:00.030 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT 1 -- {t}
2026-11-27 10:00:00.040 UTC [10] u@d LOG:  duration: 1.5 ms  statement: ALTER ROLE u PASSWORD '{t}'
2026-11-27 10:00:00.050 UTC [10] u@d LOG:  duration: 1.5 ms  statement: ALTER ROLE u PASSWORD '{n}'
2026-11-27 10:00:00.060 UTC [10] u@d LOG:  duration: 1.5 ms  statement: SELECT 1 WHERE token = '{u}'
2026-11-27 10:00:00.070 UTC [10] u@d LOG:  duration: 1.5 ms  execute <unnamed>: SELECT $1
2026-11-27 10:00:00.070 UTC [10] u@d DETAIL:  Parameters: $1 = '{t}'
2026-11-27 10:00:00.080 UTC [10] u@d ERROR:  syntax error at or near "{t}"
2026-11-27 10:00:00.080 UTC [10] u@d STATEMENT:  ALTER ROLE u PASWORD '{t}'
"""


def test_a_captured_log_keeps_no_text_with_redact(
    token: str, run: Run, open_home: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pglast")
    number, uuid = "39473651920", "0f8fad5b-d9cb-469f-a165-70867728950e"
    log = open_home / "server.log"
    hexadecimal = token.encode().hex()
    log.write_text(LOG.format(t=token, x=hexadecimal, n=number, u=uuid))
    printed = run("workloads", "capture", str(log), "-o", "made", "--redact", "--writes")
    made = tmp_path / "at" / "made"
    assert len(list((made / "scripts").iterdir())) >= 5
    hidden = [token, hexadecimal, number, uuid]
    assert files_with(hidden, tmp_path) == []
    assert not [text for text in hidden if text in printed]


@pytest.mark.parametrize("prefix", [None, "%z"])
def test_a_log_of_another_prefix_is_refused_without_its_values(
    prefix: str | None, token: str, run: Run, open_home: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pglast")
    log = open_home / "server.log"
    log.write_text(f"x y LOG:  statement: SELECT '{token}'\n")
    words = ["--prefix", "%m [%p] "] if prefix else []
    printed = run("workloads", "capture", str(log), "-o", "made", "--redact", *words)
    assert "The first line begins: x y" in printed
    require_unseen(token, printed, tmp_path)


def test_what_is_printed_of_a_defect_has_no_secret(
    token: str, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    from steelyard.cli.app import _print_traceback

    error = ValueError(f"host=h password={token}")
    _print_traceback(ValueError, error, None)
    printed = capfd.readouterr().err
    assert "ValueError: host=h password=" in printed
    assert token not in printed


def test_an_error_that_quotes_a_server_keeps_no_secret(token: str) -> None:
    excerpt = f"ERROR:  role\nLINE 1: ...{token}' VALID\n\tALTER ROLE a PASSWORD '{token}'"
    error = SteelyardError(f"could not: postgres://u:{token}@h", detail=excerpt)
    assert token not in "\n".join([str(error), repr(error), json.dumps(error.args)])


def test_the_program_itself_shows_none(steelyard: Call, token: str, tmp_path: Path) -> None:
    """As a process, with everything that it prints when it ends."""
    environment = {"PGPASSWORD": token, "MYSQL_PWD": token}
    ended = steelyard("drive", f"postgres://u:{token}@{NOBODY}/d", environment=environment)
    assert ended.status == 3
    require_unseen(token, ended.output, tmp_path)


def test_the_page_of_an_earlier_record_shows_no_secret_of_an_epoch(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "epoch_observations", lambda *_: ())
    errors = (f"could not connect: password={token}", f"INSERT INTO users VALUES (1, '{token}')")
    line: Any = SimpleNamespace(epoch=0, outcome="failed", error=errors, attempt=1)
    epoch = source.PageEpoch.of(line, (0,))
    assert len(epoch.error) == len(errors)
    assert token not in str(epoch)
