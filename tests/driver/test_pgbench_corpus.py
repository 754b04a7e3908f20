"""Whole scripts do in the driver what they do in pgbench, and what it refuses is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.served import Server
from steelyard.driver.client import Driver
from steelyard.driver.plan import DrivePlan, DriveScript, QueryMode, SliceRequest
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import DriverError

pytestmark = pytest.mark.postgres

ALL: tuple[QueryMode, ...] = ("simple", "extended", "prepared")
SIMPLE: tuple[QueryMode, ...] = ("simple",)
EXTENDED: tuple[QueryMode, ...] = ("extended", "prepared")

DEFINED = {"text": "it", "zeros": "007", "truth": "t", "spaced": " 5", "real": "1.50"}

SAME: dict[str, tuple[tuple[QueryMode, ...], str]] = {
    "gset keeps text as it came": (
        ALL,
        "SELECT '007' AS a, true AS b, 1.10 AS c, NULL AS d \\gset p_\n"
        "\\set e :p_a + 1\n\\set f case when :p_b then :p_c * 2 else 0 end\n"
        "INSERT INTO seen(v) VALUES (:p_a::text), (:e::text), (:f::text);\n",
    ),
    "gset takes the last statement": (
        SIMPLE,
        "SELECT 1 AS a, 5 AS b \\; SELECT 2 AS a \\gset\nINSERT INTO seen(v) VALUES (':a');\n",
    ),
    "aset takes every statement and the last row": (
        SIMPLE,
        "SELECT 1 AS a \\; SELECT 2 AS b WHERE false \\; "
        "SELECT generate_series(1, 4) AS c \\aset x\n"
        "INSERT INTO seen(v) VALUES (:xa), (:xc);\n",
    ),
    "aset keeps what it had when no row came": (
        ALL,
        "\\set y 9\nSELECT 1 AS y WHERE false \\aset\nINSERT INTO seen(v) VALUES (:y::text);\n",
    ),
    "the manual on \\set": (
        ALL,
        "\\set ntellers 10 * :scale\n"
        "\\set aid (1021 * random(1, 100000 * :scale)) % \\\n"
        "           (100000 * :scale) + 1\n"
        "\\set divx CASE WHEN :scale <> 0 THEN :ntellers/:scale ELSE NULL END\n"
        "INSERT INTO seen(v) VALUES (:ntellers::text), (:divx::text),\n"
        "  ((:aid between 1 and 100000 * :scale)::text);\n",
    ),
    "the manual on \\gset": (
        SIMPLE,
        "SELECT 1 \\;\nSELECT 2 AS two, 3 AS three \\gset p_\n"
        "INSERT INTO seen(v) VALUES (:p_two::text), (:p_three::text);\n",
    ),
    "the manual on pipelines": (
        EXTENDED,
        "\\startpipeline\nSELECT 1;\nSELECT 2;\nINSERT INTO seen(v) VALUES ('three');\n"
        "\\endpipeline\n",
    ),
    "the manual on permute and sleep": (
        ALL,
        "\\set size 1000000\n\\set r random_zipfian(1, :size, 1.07)\n"
        "\\set k 1 + permute(:r, :size)\n\\sleep 10 ms\n"
        "INSERT INTO seen(v) VALUES ((:k between 1 and :size)::text);\n",
    ),
    "branches": (
        ALL,
        "\\set n 3\n\\if :n = 1\nINSERT INTO seen(v) VALUES ('one');\n"
        "\\elif :n = 3\n\\if false\nINSERT INTO seen(v) VALUES ('no');\n\\else\n"
        "INSERT INTO seen(v) VALUES ('inner');\n\\endif\n\\elif true\n"
        "INSERT INTO seen(v) VALUES ('late');\n\\else\nINSERT INTO seen(v) VALUES ('else');\n"
        "\\endif\n"
        "\\if null\n\\elif 0\n\\elif 0.1\nINSERT INTO seen(v) VALUES ('truthy');\n\\endif\n",
    ),
    "variables outlive a transaction": (
        ALL,
        "\\if :client_id >= 0 and :started = 1\n\\set count :count + 1\n\\else\n\\set count 1\n"
        "\\endif\n\\set started 1\nINSERT INTO seen(v) VALUES (:count::text);\n",
    ),
    "quotes hold variables in the simple protocol": (
        SIMPLE,
        "\\set n 5\nINSERT INTO seen(v) VALUES (':n'), ($$:n$$), ('a:b'), "
        "(E'\\'::n'), (':text');\n",
    ),
    "given variables go in as they were given": (
        ALL,
        "\\set a :zeros + :spaced\n\\set b case when :truth then :real + 0 end\n"
        "INSERT INTO seen(v) VALUES ((:zeros)::text), (:a::text), (:b::text), ((:real)::text);\n",
    ),
    "casts, slices and comments": (
        SIMPLE,
        "\\set n 2\n-- :n\nINSERT INTO seen(v) SELECT (a[:n])::text || (a[1:n])::text /* :n ; */\n"
        "FROM (SELECT ARRAY[7,8,9] AS a, 2 AS n) AS t; -- end\n",
    ),
    "several statements in one message": (
        SIMPLE,
        "INSERT INTO seen(v) VALUES ('a')\\; INSERT INTO seen(v)\nVALUES ('b') \\;\n"
        "INSERT INTO seen(v) VALUES ('c');\n;\n",
    ),
    "a routine's body": (
        ALL,
        "CREATE OR REPLACE FUNCTION pg_temp.f(x int) RETURNS text LANGUAGE sql\nBEGIN ATOMIC\n"
        "SELECT 'x'; SELECT CASE WHEN x > 1 THEN 'many' END;\nEND;\n"
        "INSERT INTO seen(v) VALUES (pg_temp.f(2));\n",
    ),
    "continuation lines": (
        ALL,
        "\\set n 1 + \\\n  2 * \\\n  3\nINSERT INTO seen(v)\n VALUES\n (:n::text);\n",
    ),
    "a backslash ends a statement": (
        ALL,
        "INSERT INTO seen(v) VALUES ('x')\n\\set n 1\nINSERT INTO seen(v) VALUES (:n::text)\n",
    ),
    "a pipeline": (
        EXTENDED,
        "\\set n 4\n\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n"
        "INSERT INTO seen(v) VALUES (:n::text);\n\\syncpipeline\n\\set n :n + 1\n"
        "INSERT INTO seen(v) VALUES (:n::text);\nEND;\n\\endpipeline\n"
        "INSERT INTO seen(v) VALUES ('after');\n",
    ),
    "sleep": (
        ALL,
        "\\set n 2\n\\sleep :n us\n\\sleep 1ms\n\\sleep 0 s\n"
        "INSERT INTO seen(v) VALUES ('slept');\n",
    ),
    "an assignment with no statement": (ALL, "\\set n 1\n\\sleep 1 us\n"),
}

REFUSED: dict[str, str] = {
    "if without endif": "\\if 1\nSELECT 1;\n",
    "endif without if": "SELECT 1;\n\\endif\n",
    "elif after else": "\\if 1\n\\else\n\\elif 1\n\\endif\n",
    "else after else": "\\if 1\n\\else\n\\else\n\\endif\n",
    "unknown command": "\\nope\n",
    "sleep without time": "\\sleep\n",
    "sleep with a wrong unit": "\\sleep 1 h\n",
    "sleep with no number": "\\sleep x\n",
    "sleep with too much": "\\sleep 1 s 2\n",
    "gset first": "\\gset\n",
    "gset after a command": "SELECT 1;\n\\set a 1\n\\gset\n",
    "gset twice": "SELECT 1 AS a \\gset\n\\gset\n",
    "gset without a row": "SELECT 1 AS a WHERE false \\gset\n",
    "gset with two rows": "SELECT generate_series(1, 2) AS a \\gset\n",
    "gset of no query": "BEGIN \\gset\nEND;\n",
    "gset of an unnamed column": "SELECT 1 \\gset\n",
    "gset with two prefixes": "SELECT 1 AS a \\gset b c\n",
    "endpipeline alone": "\\endpipeline\nSELECT 1;\n",
    "syncpipeline alone": "\\syncpipeline\nSELECT 1;\n",
    "startpipeline twice": "\\startpipeline\n\\startpipeline\n\\endpipeline\n",
    "an open pipeline": "\\startpipeline\nSELECT 1;\n",
    "gset in a pipeline": "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline\n",
    "endif with a word": "\\if 1\n\\endif 2\n",
    "an open block": "BEGIN;\nSELECT 1;\n",
    "nothing": "-- only a comment\n",
    "a NULL text in an expression": "SELECT NULL AS a \\gset\n\\set b :a + 1\n",
    "text in an expression": "\\set a :text + 1\n",
    "an undefined variable": "\\set a :nope + 1\n",
    "COPY": "COPY seen FROM STDIN;\n",
    "quotes in the extended protocol": "\\set n 1\nSELECT ':n';\n",
    "two statements in the extended protocol": "SELECT 1 \\; SELECT 2;\n",
}


def _pgbench(server: Server, script: Path, mode: str) -> subprocess.CompletedProcess[str]:
    address = server.address
    program = f"{find_postgres('18').identity.bindir}/pgbench"
    given = [f"--define={name}={value}" for name, value in {**DEFINED, "started": "0"}.items()]
    command = [program, "-n", "-c1", "-t2", "-M", mode, "-f", str(script), *given]
    command += [*client_flags(address), address.database]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _ours(server: Server, script: Path, mode: QueryMode) -> dict[str, Any]:
    plan = DrivePlan(
        arms=(server.arm(clients=1),),
        scripts=(DriveScript(script.name, script.read_text()),),
        mode=mode,
        variables={**DEFINED, "started": "0"},
    )
    with Driver.start(plan) as driver:
        (driven,) = driver.run([SliceRequest(arm=0, each=2)])
    return driven


@pytest.fixture
def seen(server: Server) -> Iterator[Server]:
    with server.connect() as connection:
        connection.execute("CREATE TABLE seen (n serial, v text)")
    yield server
    with server.connect() as connection:
        connection.execute("DROP TABLE seen")


def _taken(server: Server) -> list[str]:
    with server.connect() as connection:
        rows = connection.execute("SELECT v FROM seen ORDER BY n").fetchall()
        connection.execute("TRUNCATE seen")
    return [row[0] for row in rows]


@pytest.mark.long
def test_scripts_do_what_they_do_in_pgbench(seen: Server, tmp_path: Path) -> None:
    for name, (modes, text) in SAME.items():
        script = tmp_path / "same.sql"
        script.write_text(text)
        for mode in modes:
            done = _pgbench(seen, script, mode)
            assert done.returncode == 0, (name, mode, done.stderr)
            theirs = _taken(seen)
            driven = _ours(seen, script, mode)
            assert (driven.transactions, driven.errors) == (2, {}), (name, mode)
            assert _taken(seen) == theirs, (name, mode)
            assert theirs or "seen" not in text, (name, mode)


def test_what_pgbench_refuses_is_refused(seen: Server, tmp_path: Path) -> None:
    for name, text in REFUSED.items():
        script = tmp_path / "refused.sql"
        script.write_text(text)
        theirs = _pgbench(seen, script, "prepared")
        assert theirs.returncode != 0, name
        try:
            driven = _ours(seen, script, "prepared")
        except DriverError:
            continue
        assert driven.transactions == 0, name
        assert driven.errors, name


def test_a_wrong_script_is_shown_with_its_place(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "wrong.sql"
    script.write_text("SELECT 1;\n\\if 1\n\\set a 1 +\n\\endif\n")
    with pytest.raises(DriverError, match="cannot read script") as caught:
        _ours(server, script, "prepared")
    lines = (caught.value.detail or "").splitlines()
    assert lines[0] == "wrong.sql:3:11: syntax error at the end of the expression"
    assert lines[1:] == ["\\set a 1 +", "          ^"]
