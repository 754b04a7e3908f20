"""`steelyard drive`: what is wrong is said before anything is driven."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import _core
from steelyard.cli.driving.run import only_reads
from steelyard.driver.plan import DrivePlan, DriveScript
from steelyard.model.errors import DriverError
from thinned import thinned

Refused = Callable[..., str]


@thinned(
    ("arguments", "expected"),
    [
        (["-f", "none.sql"], 'could not read script "none.sql": No such file or directory'),
        (["-f", "none.sql@x"], 'invalid weight of script "none.sql": "x"'),
        (["-f", "none.sql@²"], 'invalid weight of script "none.sql": "²"'),
        (["-b", "select-olny"], 'unrecognized built-in script: "select-olny"'),
        (["-M", "fast", "-b", "select-only"], 'unrecognized protocol: "fast"'),
        (["-D", "scale", "-b", "select-only"], 'invalid variable definition: "scale"'),
        (["-D", "1x=3", "-S"], 'invalid variable definition: "1x=3"'),
        (["-D", "x=", "-S"], 'invalid variable definition: "x="'),
        (["-D", "a-b=1", "-S"], 'invalid variable definition: "a-b=1"'),
        (["--log-prefix", "x", "-S"], "log that is not written (--log-prefix): add --log"),
        (["-l", "--sampling-rate", "0", "-S"], "invalid sampling rate: 0"),
        (["--progress-timestamp", "-S"], "add -P SECONDS"),
        (["-l", "--aggregate-interval", "3", "-T", "10", "-S"], "must be a multiple of the"),
        (["-l", "--aggregate-interval", "20", "-S"], "must be a multiple of the"),
        (["--random-seed", "x", "-S"], 'unrecognized random seed: "x"'),
        (["--exit-on-abort", "--ramp", "1:2", "-S"], "cannot end a ramp of rates early"),
        (["-f", "a.sql"] * 129, "cannot drive more than 128 scripts"),
        (["-T", "0", "-b", "select-only"], 'invalid value for "-T"'),
        (["-c", "0", "-b", "select-only"], 'invalid value for "-c"'),
        (["mysql://u@/d?port=1", "-S", "-s", "1"], 'invalid word in the URI of a server: "port"'),
        (["mysql://u@h/d", "-h", "h", "-S"], "options -h, -p and -U are libpq's"),
        (["mysql://u@h/d", "-S", "-M", "extended"], "no unnamed statements"),
        (["sqlserver://u@h/d", "-S", "-s", "1", "--placement", "symmetric"], "are not placed"),
        (["sqlserver://u@h/d", "-w", "tproc-c"], "is not loaded into SQL Server"),
        (["sqlserver://u@h/d?encrypt=no", "-S", "-s", "1"], "would encrypt the login alone"),
        (["mysql://u@h/d", "-S"], "say how large pgbench's tables are: -s SCALE"),
    ],
    7,
)
def test_wrong_usage_is_refused_with_what_is_accepted(
    refused: Refused, arguments: list[str], expected: str
) -> None:
    assert expected in refused("drive", *arguments)


def test_a_scale_of_pgbenchs_tables_is_not_taken_for_that_of_a_workload(refused: Refused) -> None:
    said = refused("drive", "-w", "tproc-c", "-s", "20")
    assert "option -s is of pgbench's tables" in said
    assert "--set scale=20" in said


def test_a_wrong_script_is_shown_with_its_place(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "wrong.sql").write_text("SELECT 1;\n\\set x 1 +\nSELECT :x;\n")
    said = refused("drive", "-f", "wrong.sql")
    assert "wrong.sql:2:" in said
    assert said.splitlines()[-1].strip() == "^"


def test_a_script_that_is_no_text_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "binary.sql").write_bytes(b"SELECT '\xff';\n")
    assert "it is not UTF-8 text" in refused("drive", "-f", "binary.sql")


def test_a_server_that_is_not_there_is_named(refused: Refused) -> None:
    said = refused("drive", "host=/nowhere port=5999", "-b", "select-only", status=3)
    assert "could not connect" in said
    assert "/nowhere/.s.PGSQL.5999" in said


def test_a_mysql_server_that_is_not_there_is_named(refused: Refused) -> None:
    said = refused("drive", "mysql://u:pw@/d?socket=/nowhere/my.sock", "-S", "-s", "1", status=3)
    assert "could not connect" in said
    assert 'socket "/nowhere/my.sock"' in said
    assert "pw" not in said


def test_captured_transactions_that_write_are_refused_without_a_yes(
    refused: Refused, tmp_path: Path
) -> None:
    """Before anything is connected to: /nowhere is not even tried."""
    (tmp_path / "ours" / "scripts").mkdir(parents=True)
    (tmp_path / "ours" / "scripts" / "put.sql").write_text("UPDATE t SET a = 1;\n")
    described = 'name = "ours"\ntitle = "captured"\nloaded = false\ntried_first = {}\n'
    described += "[scripts.put]\nwrites = true\n"
    file = tmp_path / "ours" / "workload.toml"
    file.write_text(described.format("true"))
    asked = ("drive", "host=/nowhere port=5999", "-w", "ours")
    said = refused(*asked)
    assert 'not driving workload "ours" on the server at "/nowhere"' in said
    assert "--yes" in said
    assert "could not connect" in refused(*asked, "--yes", status=3)
    file.write_text(described.format("false"))
    assert "could not connect" in refused(*asked, status=3)


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["SELECT 1;\nselect 2;"], True),
        (["\\set a random(1, 9)\n\\if :a > 4\nSELECT 1;\n\\else\nSELECT 2;\n\\endif"], True),
        (["\\if :scale > 4\nUPDATE t SET a = 1;\n\\endif\nSELECT 1;"], True),
        (["\\if :client_id > 4\nUPDATE t SET a = 1;\n\\endif\nSELECT 1;"], False),
        (["SELECT a FROM t FOR UPDATE;"], False),
        (["SELECT 1 \\; DELETE FROM t;"], False),
        (["SELECT nextval('s');"], False),
        (["BEGIN;\nSELECT 1;\nCOMMIT;"], False),
        (["SELECT 1;", "SELECT 1 AS n \\gset\n\\if :n = 0\nDELETE FROM t;\n\\endif"], False),
    ],
)
def test_backends_are_placed_by_themselves_only_for_scripts_that_read(
    texts: list[str], answer: bool
) -> None:
    scripts = tuple(DriveScript(f"{n}.sql", text) for n, text in enumerate(texts))
    assert only_reads(DrivePlan((), scripts, variables={"scale": "1"})) is answer


def _is_off(arm: str, sql: str) -> list[list[str]]:
    return [["off"]]


def _is_refused(arm: str, sql: str) -> list[list[str]]:
    said = "unsupported startup parameter: default_transaction_read_only (SQLSTATE 08P01)"
    raise DriverError("could not connect", detail=said)


@pytest.mark.parametrize(
    ("pooler", "why"), [(_is_off, "did not take"), (_is_refused, "unsupported startup parameter")]
)
def test_behind_a_pooler_that_passes_on_no_settings_nothing_is_driven_without_a_yes(
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    pooler: Callable[[str, str], list[list[str]]],
    why: str,
) -> None:
    (tmp_path / "ours" / "scripts").mkdir(parents=True)
    (tmp_path / "ours" / "scripts" / "call.sql").write_text("SELECT place_order();\n")
    described = 'name = "ours"\ntitle = "captured"\nloaded = false\ntried_first = true\n'
    described += "[scripts.call]\nwrites = false\n"
    (tmp_path / "ours" / "workload.toml").write_text(described)
    monkeypatch.setattr(_core, "ask", pooler)
    said = refused("drive", "host=/nowhere port=5999", "-w", "ours")
    assert "sessions there do not begin read-only" in said
    assert why in said
    assert "--yes" in said
