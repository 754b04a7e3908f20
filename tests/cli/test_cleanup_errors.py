"""What cannot be cleaned up after a weighing does not hide what it came to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from steelyard.cli.commands import calibrate, weigh
from steelyard.cli.weighing import campaign
from steelyard.cli.weighing.sweep import SWEEP
from steelyard.evaluation.rule import FailCondition
from steelyard.model.errors import EngineError
from steelyard.record.verdict import Verdict
from steelyard.running import world
from steelyard.running.laboratory import Laboratory
from story.asked import study_of
from story.scripted import ScriptedWorld

WEIGHTED = study_of(
    control={"name": "control"},
    arms=[{"name": "equal"}, {"name": "doubled-3", "weight": {"double_work": "3%"}}],
    decision={"judged": "separately"},
)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a weighing in a laboratory that cannot be cleaned up."""

    @contextmanager
    def laboratory(account: str | None, drivers: object = None) -> Iterator[Laboratory]:
        yield ScriptedWorld(tmp_path / "world").laboratory
        raise EngineError("could not remove it")

    monkeypatch.chdir(tmp_path)
    for module in (world, campaign):
        monkeypatch.setattr(module, "LocalLaboratory", laboratory)
    return tmp_path / "record"


def is_printed(record: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether what was printed is the verdict of the record, and nothing else."""
    printed = json.loads(capsys.readouterr().out)
    verdict = campaign.verdict_in(record)
    return verdict is not None and printed["sentence"] == verdict.sentence != ""


def test_the_verdict_of_a_weighing_is_printed_before_the_error(
    record: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    conditions, summary = [FailCondition.parse("slower:2%")], tmp_path / "summary.md"
    publish = partial(weigh._publish, conditions, summary, None, as_json=True)
    with pytest.raises(EngineError, match="could not remove it"):
        weigh._weighed(study_of(), 1, record, None, ("steelyard",), None, None, publish)
    assert is_printed(record, capsys)
    assert summary.is_file()


def test_nor_does_it_hide_that_of_a_calibration(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(calibrate, "_study", lambda *changes, **agreed: WEIGHTED)
    with pytest.raises(EngineError, match="could not remove it"):
        calibrate.calibrate(seed=1, record=record, as_json=True)
    assert is_printed(record, capsys)


def test_a_point_of_a_sweep_that_was_weighed_is_no_failure(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept = SWEEP.begin(record, "usual", {})
    verdict = swept.try_to_weigh(study_of, 1, "points/2")
    assert isinstance(verdict, Verdict)
    assert verdict == campaign.verdict_in(record / "points/2")
    assert "error: could not remove it" in capsys.readouterr().err
