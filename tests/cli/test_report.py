"""`steelyard report` makes a page again from a record, and refuses what is none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from records.conftest import unpack
from steelyard.cli.commands.records import report
from steelyard.model.errors import RecordError, UsageError


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    report.register(made)
    return made


def test_the_path_of_the_page_is_printed(app: typer.Typer, tmp_path: Path) -> None:
    directory = unpack("aa", tmp_path)
    (directory / "verdict.json").unlink()
    result = CliRunner().invoke(app, [str(directory)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(directory / "report.html")
    assert "no verdict yet" in (directory / "report.html").read_text(encoding="utf-8")


def test_a_record_judged_again_says_that_nothing_differs(app: typer.Typer, tmp_path: Path) -> None:
    directory = unpack("aa", tmp_path)
    result = CliRunner().invoke(app, [str(directory), "--rejudge", "--json"])
    assert json.loads(result.stdout) == {"same": True, "differences": []}
    shown = CliRunner().invoke(app, [str(directory), "--rejudge"]).stdout.splitlines()
    assert shown[0] == json.loads((directory / "verdict.json").read_text())["sentence"]
    assert shown[1] == "same verdict as recorded, in numbers, words and threats"
    assert not (directory / "report.html").exists()


def test_a_record_judged_again_says_what_differs(app: typer.Typer, tmp_path: Path) -> None:
    directory = unpack("aa", tmp_path)
    verdict = json.loads((directory / "verdict.json").read_text())
    changed = {**verdict, "sentence": "b is slower than a"}
    (directory / "verdict.json").write_text(json.dumps(changed))
    said = json.loads(CliRunner().invoke(app, [str(directory), "--rejudge", "--json"]).stdout)
    assert not said["same"]
    [found] = said["differences"]
    assert (found["key"], found["recorded"]) == ("sentence", "b is slower than a")
    assert found["rejudged"] == verdict["sentence"]


def test_a_record_whose_values_cannot_be_is_refused_with_words(
    app: typer.Typer, tmp_path: Path
) -> None:
    directory = unpack("aa", tmp_path)
    telemetry = directory / "telemetry.jsonl"
    telemetry.write_text(telemetry.read_text().replace('"cpu_ns":', '"cpu_ns":-', 1))
    result = CliRunner().invoke(app, [str(directory), "--rejudge"])
    assert isinstance(result.exception, RecordError)
    assert result.exception.primary.startswith("record does not hold together: ")


def test_json_without_judging_again_is_refused(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path), "--json"])
    assert isinstance(result.exception, UsageError)


def test_a_directory_that_is_no_record_is_refused(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(result.exception, RecordError)


@pytest.mark.parametrize(
    ("files", "records", "detail"),
    [
        (("sweep.json", "report.html"), ("points/32", "points/8"), "its page is report.html in it"),
        (("sweep.json",), ("points/8",), "There is no plan.json in it."),
        (("search.json", "study.toml"), ("confirmation", "round-01"), "no plan.json in it."),
        ((), ("2026-03-01T120000Z", "latest"), "no plan.json in it."),
    ],
)
def test_of_a_folder_that_has_records_below_it_one_of_them_is_named(
    app: typer.Typer, tmp_path: Path, files: tuple[str, ...], records: tuple[str, ...], detail: str
) -> None:
    for record in records:
        (tmp_path / record).mkdir(parents=True)
        (tmp_path / record / "plan.json").write_text("{}")
    for file in files:
        (tmp_path / file).write_text("{}")
    refused = CliRunner().invoke(app, [str(tmp_path)]).exception
    assert isinstance(refused, RecordError)
    assert detail in str(refused.detail)
    assert f"{len(records)} record" in str(refused.hint)
    assert str(refused.hint).endswith(f": {tmp_path / records[0]}")


def test_a_study_that_was_edited_after_its_weighing_is_said(
    app: typer.Typer, tmp_path: Path
) -> None:
    directory = unpack("aa", tmp_path)
    plan = json.loads((directory / "plan.json").read_text())
    study = directory / "study.toml"
    digest = hashlib.sha256(study.read_bytes()).hexdigest()
    (directory / "plan.json").write_text(json.dumps({**plan, "study_sha256": digest}))
    same = CliRunner().invoke(app, [str(directory), "--rejudge", "--json"])
    assert json.loads(same.stdout)["same"]
    assert "edited" not in CliRunner().invoke(app, [str(directory)]).stderr
    study.write_text(f"{study.read_text()}# by hand\n")
    said = json.loads(CliRunner().invoke(app, [str(directory), "--rejudge", "--json"]).stdout)
    assert [each["key"] for each in said["differences"]] == ["study.toml (edited)"]
    noted = CliRunner().invoke(app, [str(directory)]).stderr
    assert "note: study.toml was edited after the weighing" in noted
    assert f"steelyard weigh {study}" in noted
    assert "verdict.json is not" not in noted
