"""What `steelyard calibrate` refuses, it refuses before anything is started, and says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.study.read import read_study, write_study


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--weight", "abc"], ['invalid weight: "abc"', "0.5% to 50%"]),
        (["--weight", "0.1%"], ['weight is too light: "0.1%"', "0.5% to 50%"]),
        (["--weight", "60%"], ['weight is too heavy: "60%"', "0.5% to 50%"]),
        (["--weight", "3"], ['invalid weight: "3"']),
        (["--set", "workload.clints=1"], ['unrecognized key: "workload.clints"', '"clients"']),
        (["--set", "arm.equal.settings.jit=off"], ['arm "equal" differs from the control']),
        (["--set", "arm.weight.double_work=3%"], ["does not say which arm"]),
        (["--budget", "5s"], ["--budget 5s is too short: at least 20 s"]),
        (["-f", "nothing.sql"], ["nothing.sql"]),
        (["checksums"], ["unexpected extra argument"]),
        (["--resume", "nowhere"], ["there is no such folder", "steelyard history"]),
        (
            ["--resume", "nowhere", "--weight", "3%"],
            ["cannot change the study of a resumed weighing"],
        ),
        (["--set", "decision.first_verdict=true"], ["judged once"]),
    ],
)
def test_a_calibration_that_makes_no_sense_is_refused(
    refused: Callable[..., str], arguments: list[str], words: list[str]
) -> None:
    said = refused("calibrate", *arguments)
    for expected in words:
        assert expected in said


def test_a_weighing_that_is_gone_on_with_begins_no_new_ledger(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    record = tmp_path / "record"
    record.mkdir()
    (record / "plan.json").write_text("{}")
    (record / "study.toml").write_text(write_study(read_study("calibrate")))
    assert "cannot begin a new ledger" in refused("calibrate", "--resume", "record", "--new-ledger")
