"""`steelyard weigh`: what is wrong is said once, in words that help, and leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.options.records_option import write_output
from steelyard.model.errors import RecordError
from thinned import thinned

Refused = Callable[..., str]


@thinned(
    ("arguments", "expected"),
    [
        ([], ["no study was named", "steelyard studies"]),
        (["chekcsums"], ['unrecognized study: "chekcsums"', 'Perhaps you meant "checksums"']),
        (["./mine.toml"], ['study file not found: "./mine.toml"']),
        (
            ["aa", "--set", "workload.scal=1"],
            ['error: unrecognized key: "workload.scal"', 'Perhaps you meant "scale"'],
        ),
        (["aa", "--set", "workload.scale=x"], ['invalid value for "workload.scale"', "'x'"]),
        (["aa", "--set", "scale"], ['invalid override: "scale"', "KEY=VALUE"]),
        (
            ["aa", "--set", "workload.name=pgbnch"],
            ['unknown workload: "pgbnch"', 'Did you mean "pgbench"'],
        ),
        (["aa", "--budget", "5s"], ["--budget 5s is too short: at least 20 s"]),
        (["aa", "--budget", "soon"], ['"soon"', "Accepted: 90s, 5m, 1h 30m."]),
        (["aa", "-f", "select-olny"], ['unknown script: "select-olny"', "select-only"]),
        (["aa", "-f", "none.sql"], ['unknown script: "none.sql"', "path of a file"]),
        (["aa", "-f", "select-only@many"], ['invalid script weight: "select-only@many"']),
        (["aa", "-f", "select-only@²"], ['invalid script weight: "select-only@²"']),
        (["aa", "-f", f"a@{'1' * 5000}"], ["invalid script weight"]),
        (["aa", "--workload", "/none"], ['could not read workload "/none/workload.toml"']),
    ],
    3,
)
def test_a_wrong_question_is_refused_with_what_is_accepted(
    refused: Refused, arguments: list[str], expected: list[str]
) -> None:
    said = refused("weigh", *arguments)
    for words in expected:
        assert words in said


@pytest.mark.parametrize("condition", ["slowr:2%", "slower", "slower:x", "slower:200%", ""])
def test_a_condition_that_means_nothing_is_refused(refused: Refused, condition: str) -> None:
    said = refused("weigh", "aa", "--fail-if", condition)
    assert f'invalid condition for --fail-if: "{condition}"' in said
    assert "Accepted: slower:2%" in said


def test_a_wrong_condition_is_refused_before_data_are_looked_at(
    refused: Refused, tmp_path: Path
) -> None:
    """Copying them may take an hour."""
    said = refused("weigh", "aa", "--from", str(tmp_path / "none"), "--fail-if", "slower:2")
    assert 'invalid condition for --fail-if: "slower:2"' in said


def test_an_unknown_setting_is_refused_before_anything_is_loaded(refused: Refused) -> None:
    said = refused("weigh", "settings", "--set", "arm.settings.wal_compresion=pglz")
    assert 'unrecognized setting: "wal_compresion"' in said
    assert 'unrecognized configuration parameter "wal_compresion"' in said, "the server's own words"
    assert 'Perhaps you meant "wal_compression"' in said


def test_a_value_the_server_refuses_is_told_in_its_own_words(refused: Refused) -> None:
    said = refused("weigh", "settings", "--set", "arm.settings.wal_compression=zip", status=3)
    assert 'PostgreSQL 18.4 refuses the settings: invalid value for parameter "wal_comp' in said
    assert "Available values: pglz" in said


def test_a_setting_that_belongs_to_the_slot_is_refused(refused: Refused) -> None:
    said = refused("weigh", "aa", "--set", "arm.settings.port=5432", status=3)
    assert 'setting "port" cannot be set by an arm' in said


@pytest.mark.parametrize("version", ["12", "99", "18.10", "eighteen"])
def test_a_missing_engine_is_told_with_what_there_is(refused: Refused, version: str) -> None:
    said = refused("weigh", "aa", "--set", f"arm.version={version}", status=3)
    assert f'no PostgreSQL "{version}" is found' in said
    assert "Found: 18.4 (bundle" in said
    assert "bindir" in said


def test_an_account_that_does_not_exist_is_refused(refused: Refused) -> None:
    said = refused("weigh", "aa", "--as", "nobody-such", status=3)
    assert 'account "nobody-such"' in said
    expected = "it is not in passwd" if os.geteuid() == 0 else "only root can change"
    assert expected in said


def test_a_wrong_script_is_shown_with_its_place(refused: Refused, tmp_path: Path) -> None:
    script = tmp_path / "wrong.sql"
    script.write_text("SELECT 1;\n\\set x random(1,\n")
    said = refused("weigh", "aa", "-f", "wrong.sql")
    lines = said.splitlines()
    assert "wrong.sql:2:17: syntax error" in said
    assert lines[-2] == "\\set x random(1,"
    assert lines[-1] == " " * 16 + "^"


def test_what_is_no_record_cannot_be_gone_on_with(refused: Refused, tmp_path: Path) -> None:
    assert 'cannot resume "none"' in refused("weigh", "--resume", "none")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "study.toml").write_text("")
    assert "There is no plan.json in it." in refused("weigh", "--resume", "begun")


def test_the_study_of_a_record_cannot_be_changed(refused: Refused) -> None:
    said = refused("weigh", "aa", "--resume", "none")
    assert "cannot change the study of a resumed weighing" in said


@pytest.mark.parametrize("study", ["settings", "addresses"])  # nothing differs in them as they are
def test_a_study_beside_what_is_resumed_is_what_is_refused(refused: Refused, study: str) -> None:
    said = refused("weigh", study, "--resume", "records/x/latest")
    assert "cannot change the study of a resumed weighing" in said
    assert "steelyard weigh --resume DIR" in said


@pytest.mark.parametrize("other", ["x.xml", "./x.xml"])
def test_two_files_of_a_build_are_not_one(refused: Refused, other: str) -> None:
    files = ("--summary", "x.xml", "--junit", other)
    said = refused("weigh", "settings", "--set", "arm.settings.jit=off", *files)
    assert '--summary and --junit name one file: "x.xml"' in said


@pytest.mark.parametrize(
    "command", [("weigh",), ("calibrate",), ("history", "bisect"), ("reproduce",)]
)
@pytest.mark.parametrize("option", ["--seed", "--record"])
def test_what_is_resumed_keeps_its_seed_and_its_place(
    refused: Refused, command: tuple[str, ...], option: str
) -> None:
    said = refused(*command, "--resume", "there", option, "5")
    assert f"option {option} does not go with --resume" in said
    assert f"steelyard {' '.join(command)} --resume DIR" in said


@pytest.mark.parametrize(
    ("file", "why"), [("gone/verdict.md", "no such file"), ("/dev/full", "no space left")]
)
def test_a_file_that_cannot_be_written_any_more_is_an_error_in_words(
    tmp_path: Path, file: str, why: str
) -> None:
    with pytest.raises(RecordError, match=f'could not write ".*{file}": {why}'):
        write_output(tmp_path / file, "# slower")


def test_a_record_is_never_written_over(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "plan.json").write_text("{}")
    said = steelyard("weigh", "aa", "--record", "kept")
    assert said.returncode == 3
    assert 'record directory already holds a weighing: "kept"' in said.stderr
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["plan.json"]
