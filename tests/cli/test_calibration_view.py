"""A calibration reads as it always did: held against golden files that a person can read.

After a deliberate change: `STEELYARD_GOLDEN=write pytest tests/cli/test_truths.py`, then read the
difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from record.made import line_of, verdict_of
from steelyard.cli.views.calibration_view import render_calibration
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import TrustLine, Verdict
from steelyard.report.calibration import detection_time_text, weight_text
from steelyard.study.arm import Weight
from steelyard.study.calibration import lay_out
from steelyard.study.read import read_study

GOLDEN = Path(__file__).parent.parent / "golden"
STUDY = lay_out(read_study("calibrate"), [], whole=False).study
LEDGER = {
    "e_value": 0.142,
    "weighings": 7,
    "largest_e_value": 1.4,
    "off_balance": False,
    "ledgers": 1,
    "skipped_lines": 0,
    "path": "records/ledger.jsonl",
}


def contrast(arm: str, true: float | None, *ends: float | None, **more: Any) -> ContrastLine:
    low, middle, high = ends
    return line_of(
        arm=arm,
        control="control",
        estimate_percent=middle,
        low_percent=low,
        high_percent=high,
        true_percent=true,
        details={"epoch_sd_percent": 0.712},
        **more,
    )


def trusted(percent: float, *seconds: float | None) -> TrustLine:
    least, likely, most = seconds
    return TrustLine(
        percent=percent,
        epochs=(8, 12, 20),
        seconds=likely,
        least_seconds=least,
        most_seconds=most,
    )


FACTS: dict[str, Any] = {
    "study": "calibrate",
    "seed": 7,
    "record": "records/calibrate/2026-03-05T142233Z",
    "command": "steelyard calibrate --seed 7",
    "seconds": 120.3,
    "whole_seconds": 142.4,
    "measured_seconds": 109.6,
    "trust": [trusted(1, 60, 74, 142), trusted(2, 31, 31, 41), trusted(5, 31, 31, 31)],
    "ledger": LEDGER,
}
TRUE = verdict_of(
    contrast("equal", 0.0, -0.61, -0.12, 0.38, covered=True),
    contrast("doubled-3", -2.9126, -3.4, -2.84, -2.3, covered=True),
    contrast(
        "stalled-3", -2.95, -4.1, -3.3, -2.5, covered=True,
        true_low_percent=-3.07, true_high_percent=-2.83,
    ),
    **FACTS,
)  # fmt: skip
OFF = verdict_of(
    contrast("equal", 0.0, 1.4, 2.06, 2.7, covered=False),
    contrast("doubled-3", -2.9126, -1.5, -0.91, -0.3, covered=False),
    contrast("stalled-3", -2.95, -3.1, -1.2, 0.7, covered=True),
    **{
        **FACTS,
        "ledger": {
            **LEDGER,
            "e_value": 812.0,
            "largest_e_value": 1520.0,
            "off_balance": True,
            "ledgers": 2,
            "skipped_lines": 1,
        },
    },
)
TOO_FEW = verdict_of(
    *(
        contrast(name, None, None, -0.3, None, covered=None)
        for name in ("equal", "doubled-3", "stalled-3")
    ),
    **{**FACTS, "trust": [], "ledger": None},
)


@pytest.mark.parametrize(
    ("name", "verdict", "width"),
    [
        ("calibrate_true_60", TRUE, 60),
        ("calibrate_true_100", TRUE, 100),
        ("calibrate_off_80", OFF, 80),
        ("calibrate_too_few_80", TOO_FEW, 80),
    ],
)
def test_a_calibration_prints_as_the_golden_file_shows(
    name: str, verdict: Verdict, width: int
) -> None:
    shown = render_calibration(verdict, STUDY, width) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("STEELYARD_GOLDEN") == "write":
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("verdict", [TRUE, OFF, TOO_FEW])
@pytest.mark.parametrize("width", [10, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_but_paths_and_commands(
    verdict: Verdict, width: int
) -> None:
    for line in render_calibration(verdict, STUDY, width).splitlines():
        if not line.startswith(("record", "report", "repeat")):
            assert len(line) <= max(width, 60), line


def test_the_truth_stands_where_it_is_on_the_scale_of_its_reading() -> None:
    rows = render_calibration(TRUE, STUDY, 100).splitlines()
    equal, doubled = (
        next(r for r in rows if r.startswith(n) and "├" in r) for n in ("equal", "3 %")
    )
    assert equal.index("◇") > equal.index("●"), "it read less than the truth"
    assert "◉" in doubled or doubled.index("◇") < doubled.index("●")
    assert doubled.index("├") < equal.index("├")


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (Weight(), "equal arms"),
        (Weight(double_work=0.005), "0.5 % done twice"),
        (Weight(stall_share=0.5), "50 % in stalls"),
        (Weight(background=0.03), "3 % left behind"),
        (Weight(double_work=0.03, background=0.1), "3 % done twice, 10 % left behind"),
    ],
)
def test_a_weight_is_named_in_words(weight: Weight, words: str) -> None:
    assert weight_text(weight) == words


def test_what_takes_for_ever_is_not_given_a_time() -> None:
    assert "not in a practical time" in detection_time_text(trusted(1, None, None, None))
    assert detection_time_text(trusted(1, 60, 90, None)) == "in about 1 min 30 s (1 min to hours)"
