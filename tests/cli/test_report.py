"""`steelyard report` makes a page again from a record, and refuses what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from steelyard.cli.commands import report
from steelyard.model.errors import RecordError


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    report.register(made)
    return made


def test_the_path_of_the_page_is_printed(app: typer.Typer, tmp_path: Path) -> None:
    plan = {"study": "aa", "seed": 1, "control": "a", "arms": ["a", "b"], "epochs": 10}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(tmp_path / "report.html")
    assert "no verdict yet" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_directory_that_is_no_record_is_refused(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(result.exception, RecordError)
