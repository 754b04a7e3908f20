"""What a real server is sent by a captured workload is what its clients had sent, and no other."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original
from postgres.test_captured import steelyard
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.statements import LoggedStatement, statements
from thinned import thinned

pytestmark = pytest.mark.postgres

LOGGED = (
    "log_min_duration_statement=0", "logging_collector=on",
    "log_destination=csvlog,jsonlog,stderr", "log_filename=theirs.log",
)  # fmt: skip
VALUES = (
    "s1", "it's", "a\r\nb\rc", "tab\t\\x", "img:scale :p1", "Müller 😀", "", None,
    "', $2 = '", "2026-11-27 10:00:00.000 UTC [5] LOG:  duration: 1 ms  statement: select 1",
)  # fmt: skip
WITH_PARAMETERS: tuple[tuple[str, Sequence[Sequence[Any]]], ...] = (
    ("SELECT id FROM t WHERE (id = $1 OR $1 IS NULL) AND id < 9", [(1,), (2,), (None,)]),
    ("SELECT id FROM t WHERE s = $1 OR s <> $1 AND id = $2", [(v, 3) for v in VALUES]),
    ("SELECT 'k:scale' AS \"a:scale\", ':p1' /* :p1 */ FROM t WHERE id = $1", [(4,)]),
    ("SELECT (ARRAY[1,2,3])[$1:$2], (ARRAY[1,2])[id:scale] FROM t", [(1, 2), (2, 3)]),
)
PLAIN = (
    *(f"SELECT 'img:scale', 'x:client_id', id FROM t WHERE id = {n}" for n in range(3)),
    *(f"SELECT id FROM t WHERE s='s{n}'AND id={n}" for n in range(3)),
    "SELECT (ARRAY[1,2,3])[1:2] /* :p1 :scale */ -- :p2\n, 1",
    "SELECT (ARRAY[1,2])[id:scale] FROM t",
    *(f"SELECT E'a\\'b:p{n}', $q$it's :p1 {n};$q$, U&'d\\0061t:scale', -{n}" for n in range(3)),
    "SELECT 1 AS \"a:scale\", 'a'\r\n'b:p1', '{\"a\":true}'::jsonb",
    *(f"SELECT a - -{n}, a-{n} FROM (SELECT 5) AS u(a)" for n in range(1, 3)),
    "SELECT 'ends in a comment' /* a */;; -- done",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    home = Path("/tmp") / f"syt-values-{tmp_path_factory.getbasetemp().name}"
    home.mkdir(mode=0o711)
    try:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE TABLE t (id int, s text, scale int)", "postgres")
            original.ask("INSERT INTO t SELECT n, 's' || n, 2 FROM generate_series(1, 9) AS n")
        yield original
    finally:
        shutil.rmtree(home, ignore_errors=True)


def target(server: Original) -> str:
    return f"host={server.sockets} port={PORT} user={OWNER} dbname=postgres"


def sent_of(log: Path) -> list[LoggedStatement]:
    """The statements of a log that clients had sent, in any format; what the commands themselves
    ask is none of them."""
    events = statements(read_entries([log]))
    found = [event for event in events if isinstance(event, LoggedStatement)]
    own = re.compile(r"pg_catalog|^SHOW transaction_read_only$")
    return [one for one in found if one.outcome is None and not own.search(one.text)]


def logs_of(server: Original, place: Path, name: str) -> dict[str, Path]:
    """Copies of the latest logs by their format."""
    paths = {}
    for suffix in ("csv", "json", "log"):
        source = server.directory / name / f"theirs.{suffix}"
        paths[suffix] = place / f"{name}.{suffix}"
        paths[suffix].write_bytes(source.read_bytes())
    return paths


@thinned("prepare", [False, True], 1)
def test_parameters_reach_the_server_as_they_had(
    server: Original, tmp_path: Path, prepare: bool
) -> None:
    first, again = f"first{prepare}", f"again{prepare}"
    with (
        server.running(*LOGGED, f"log_directory={first}"),
        psycopg.connect(target(server), autocommit=True, prepare_threshold=0) as session,
    ):
        for text, rows in WITH_PARAMETERS:
            for row in rows:
                with session.transaction():  # by simple BEGIN and COMMIT
                    named = re.sub(r"\$(\d)", r"%(p\1)s", text)
                    values = {f"p{number}": value for number, value in enumerate(row, 1)}
                    session.execute(named, values, prepare=prepare)
    logs = logs_of(server, tmp_path, first)
    read = [[(s.text, s.parameters) for s in sent_of(log)] for log in logs.values()]
    assert read[0] == read[1] == read[2]
    sent = {(text, row) for text, row in read[0] if row}
    assert {row for text, row in sent if "s <> $1" in text} == {(v, "3") for v in VALUES}
    for suffix, log in logs.items():
        made = tmp_path / f"made-{suffix}"
        captured = steelyard("workloads", "capture", str(log), "-o", str(made), directory=tmp_path)
        assert captured["mode"] == ("prepared" if prepare else "extended")
        assert not captured["left_out"]
    with server.running(*LOGGED, f"log_directory={again}"):
        words = ("drive", "-w", str(tmp_path / "made-log"), target(server), "-t", "200")
        driven = steelyard(*words, directory=tmp_path)
    assert driven["errors"] == {}
    replayed = {(s.text, s.parameters) for s in sent_of(logs_of(server, tmp_path, again)["csv"])}
    assert {row for text, row in replayed if "s <> $1" in text} <= {(v, "3") for v in VALUES}
    by_meaning = {(_meaning(text), row) for text, row in sent}
    assert {(_meaning(text), row) for text, row in replayed if row} <= by_meaning
    assert len(replayed) > 10


def _meaning(text: str) -> str:
    """A text without what is written otherwise in a script for parameters: colons in quotes."""
    text = re.sub(r"U&\"|E'", lambda match: match[0][-1], text)
    return re.sub(r"\s|;", "", text.replace(r"\x3A", ":").replace(r"\003A", ":"))


def test_statements_with_literals_reach_the_server_as_they_had(
    server: Original, tmp_path: Path
) -> None:
    with (
        server.running(*LOGGED, "log_directory=plain"),
        psycopg.connect(target(server), autocommit=True) as session,
    ):
        for text in PLAIN:
            session.execute(text.encode())
    logs = logs_of(server, tmp_path, "plain")
    for suffix, log in logs.items():
        assert [one.text for one in sent_of(log)] == list(PLAIN), suffix
    made = tmp_path / "made"
    words = ("workloads", "capture", str(logs["log"]), "-o", str(made))
    captured = steelyard(*words, directory=tmp_path)
    assert (captured["mode"], captured["statements"]) == ("simple", len(PLAIN))
    assert not captured["left_out"]
    with server.running(*LOGGED, "log_directory=plain-again"):
        driven = steelyard(
            "drive", "-w", str(made), target(server), "-t", "400", directory=tmp_path
        )
    assert driven["errors"] == {}
    replayed = {s.text for s in sent_of(logs_of(server, tmp_path, "plain-again")["csv"])}
    assert {_plain(text) for text in replayed} == {_plain(text) for text in PLAIN}


def _plain(text: str) -> str:
    """A text without its blanks and its last semicolons."""
    return re.sub(r"\s", "", text.replace(";; --", " --")).removesuffix(";")


def test_cut_values_and_failures_of_a_real_server_are_left_out_by_name(
    server: Original, tmp_path: Path
) -> None:
    with (
        server.running(*LOGGED, "log_directory=cut"),
        psycopg.connect(target(server), autocommit=True) as session,
    ):
        session.execute("SET log_parameter_max_length = 5")
        for n in range(5):
            session.execute("SELECT id FROM t WHERE s = %s", [f"s{n}234567"])
        for text in ("BEGIN", "SELECT 1", "SELECT 1 / 0", "ROLLBACK"):
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                session.execute(text.encode())
        session.execute("SELECT id FROM t WHERE s = %s", ["s1"])
        session.execute("BEGIN; SELECT 2; COMMIT")
    for suffix, log in logs_of(server, tmp_path, "cut").items():
        made = tmp_path / suffix
        captured = steelyard("workloads", "capture", str(log), "-o", str(made), directory=tmp_path)
        left_out = {one["why"]: one["statements"] for one in captured["left_out"]}
        assert left_out == {
            StatementOutcome.SESSION: 1, StatementOutcome.CUT_VALUES: 5,
            StatementOutcome.FAILED: 1, StatementOutcome.IN_FAILED: 3,
            StatementOutcome.SEVERAL: 1,
        }, suffix  # fmt: skip
        assert captured["captured"] == 1
        shares = [one["statements_share"] for one in captured["left_out"]]
        assert captured["statements_share"] + sum(shares) == pytest.approx(1)


@pytest.mark.long
def test_what_a_server_cannot_prepare_is_left_out_by_name(server: Original, tmp_path: Path) -> None:
    log = tmp_path / "theirs.log"
    stamp = "2026-11-27 10:00:00.000 UTC [5] LOG:  duration: 1 ms  execute S_1: "
    detail = "2026-11-27 10:00:00.000 UTC [5] DETAIL:  Parameters: $1 = '1', $2 = '2'\n"
    asked = ("SELECT $1 + $2", "SELECT id FROM t WHERE id = $1 AND scale = $2", "SELECT $1 FROM no")
    log.write_text("".join(f"{stamp}{text}\n{detail}" for text in asked))
    words = ("workloads", "capture", str(log), "--server", target(server))
    with server.running():
        plain = steelyard(*words, "-o", str(tmp_path / "a"), directory=tmp_path)
        redacted = steelyard(*words, "-o", str(tmp_path / "b"), "--redact", directory=tmp_path)
        driven = steelyard(
            "drive", "-w", str(tmp_path / "a"), target(server), "-t", "5", directory=tmp_path
        )
    assert [kind["script"] for kind in plain["kinds"]] == ["01-select-t"]
    [left_out] = plain["left_out"]
    assert (left_out["why"], left_out["statements"]) == (StatementOutcome.REFUSED, 2)
    errors = {one["name"]: one["error"] for one in plain["refused"]}
    assert errors == {
        "select": "operator is not unique: unknown + unknown (SQLSTATE 42725)",
        "select-no": 'relation "no" does not exist (SQLSTATE 42P01)',
    }
    assert {one["error"] for one in redacted["refused"]} == {
        "(SQLSTATE 42725)", "(SQLSTATE 42P01)",
    }  # fmt: skip
    assert driven["errors"] == {}


@pytest.mark.long
def test_reads_that_fail_are_executed_once_and_left_out_or_refused(
    server: Original, tmp_path: Path
) -> None:
    log = tmp_path / "theirs.log"
    stamp = "2026-11-27 10:00:00.000 UTC [5] LOG:  duration: 1 ms  execute S_1: "
    detail = "2026-11-27 10:00:00.000 UTC [5] DETAIL:  Parameters: $1 = '1', $2 = '2'\n"
    texts = ("SELECT $1 + $2", "SELECT $1 FROM misspelt", *["SELECT id FROM t WHERE id = $1"] * 8)
    log.write_text("".join(f"{stamp}{text}\n{detail}" for text in texts))
    made = tmp_path / "ours"
    steelyard("workloads", "capture", str(log), "-o", str(made), directory=tmp_path)
    words = ("drive", "-w", str(made), target(server), "-c", "2", "-t", "20")
    with server.running(*LOGGED, "log_directory=tried"):
        driven, said = driven_with_words(*words)
        refused = subprocess.run(
            [sys.executable, "-m", "steelyard", *words, "--failing", "refuse"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        of_mode = subprocess.run(
            [sys.executable, "-m", "steelyard", *words, "-M", "simple"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (driven["transactions"], driven["errors"]) == (40, {})
    assert 'left out script "' in said
    assert "10 % of the transactions: operator is not unique" in said
    assert 'relation "misspelt" does not exist (SQLSTATE 42P01)' in said
    assert refused.returncode == 2
    assert 'cannot work on the server at "' in refused.stderr
    assert "--failing leave-out" in refused.stderr
    text = logs_of(server, tmp_path, "tried")["csv"].read_text()
    assert text.count('relation ""misspelt"" does not exist') == 2
    assert of_mode.returncode == 2
    assert "its values are written to be sent as prepared" in of_mode.stderr


def driven_with_words(*words: str) -> tuple[Any, str]:
    """What `drive` says as JSON, and its standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr
