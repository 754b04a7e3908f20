"""A calibration and a factorial read as they always did: held against golden files.

After a deliberate change: `STEELYARD_GOLDEN=write pytest tests/cli/test_many_arms_view.py`, then
read the difference.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evaluation.factors.planted import laid, made
from record.made import line_of, plan_of, verdict_of
from steelyard.cli.views.ci import markdown
from steelyard.cli.views.live_view import LiveView
from steelyard.cli.views.many_arms_view import render_calibration, render_factors
from steelyard.cli.views.progress_lines import cell_line, plan_lines
from steelyard.record.contrast import ContrastLine
from steelyard.record.factors import FactorEffects, FactorsPlan
from steelyard.record.verdict import TrustLine, Verdict
from steelyard.report.calibration import detection_time_text, weight_text
from steelyard.study.arm import Weight
from steelyard.study.calibration import lay_out
from steelyard.study.read import read_study
from steelyard.wording.factor_sentences import sentences

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
def test_no_line_of_a_calibration_is_wider_than_the_terminal_but_paths_and_commands(
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


def factorial(read: dict[str, tuple[float, str]], **more: Any) -> tuple[Verdict, FactorEffects]:
    design = laid(more.pop("factors", 2), more.pop("fraction", "full"))
    simple = {"a with cold": -0.3, "a with hot": -4.1, "b with low": -8.0, "b with high": -12.0}
    told = made(design, read, simple, **more)
    told = told.model_copy(update={"sentences": sentences(told, FactorsPlan.of(design), ())})
    control, *others = [cell.arm for cell in told.cells]
    contrasts = [
        line_of(
            arm=arm, control=control, verdict="slower", estimate_percent=-2.0 * n,
            low_percent=-2.0 * n - 0.6, high_percent=-2.0 * n + 0.6, details={"d": (-0.02 * n,)},
        )
        for n, arm in enumerate(others, 1)
    ]  # fmt: skip
    facts = {"whole_seconds": 1500, "measured_seconds": 600, "seed": 7}
    verdict = verdict_of(*contrasts, factors=told, study="factorial", **facts)
    return verdict, told


MATTERS = factorial({"a": (-2.2, "slower"), "b": (-10.0, "slower"), "a × b": (-3.8, "matters")})
HALF = factorial(
    {"a": (-2.2, "slower"), "c": (0.7, "inconclusive")}, factors=3, fraction="half", left_out=(4,)
)


@pytest.mark.parametrize(
    ("name", "told", "width"),
    [
        ("factors_matters_100", MATTERS, 100),
        ("factors_matters_50", MATTERS, 50),
        ("factors_half_80", HALF, 80),
    ],
)
def test_a_factorial_prints_as_the_golden_file_shows(
    name: str, told: tuple[Verdict, FactorEffects], width: int
) -> None:
    shown = render_factors(*told, width) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("STEELYARD_GOLDEN") == "write":
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("told", [MATTERS, HALF])
@pytest.mark.parametrize("width", [10, 50, 72, 200])
def test_no_line_of_a_factorial_is_wider_than_the_terminal_but_paths_and_commands(
    told: tuple[Verdict, FactorEffects], width: int
) -> None:
    for line in render_factors(*told, width).splitlines():
        if not line.startswith(("record", "report", "repeat")):
            assert len(line) <= max(width, 50)


def test_a_plan_says_its_factors_cells_effects_and_what_a_half_cannot_tell() -> None:
    lines = plan_lines(plan_of(factors=FactorsPlan.of(laid(3, "half"))))
    assert lines[1:] == [
        "factors: a (high against low), b (hot against cold), c (wet against dry)",
        "cells: low+cold+dry (control), low+hot+wet, high+cold+wet, high+hot+dry",
        "effects: a, b, c: joint 95 % intervals, at the end",
        "fraction: half: half of the cells cannot tell a from b × c, b from a × c, c from a × b",
    ]
    assert len(plan_lines(plan_of())) == 1


def test_an_epoch_says_between_what_its_cells_lie() -> None:
    assert cell_line(3, 16, MATTERS[0].contrasts, 61.0) == (
        "epoch  3/16  3 cells against low+cold so far from −6.00 % (high+hot) to −2.00 % "
        "(low+hot), 1 min 1 s left"
    )
    nothing = [line_of(estimate_percent=None)]
    assert cell_line(1, 16, nothing, None) == ""


def test_a_terminal_shows_a_line_a_cell_while_it_is_weighed() -> None:
    stream = io.StringIO()
    with LiveView(Console(file=stream, width=100, height=40, force_terminal=True)) as view:
        view.plan(plan_of(factors=FactorsPlan.of(laid(2))))
        view.epoch(1, 16, MATTERS[0].contrasts, None)
    shown = stream.getvalue()
    assert "effects: a, b, a × b: joint 95 % intervals, at the end" in shown
    for one in MATTERS[0].contrasts:
        assert f"{one.arm}: " in shown


def test_the_summary_of_a_build_names_what_matters_and_has_a_row_an_effect() -> None:
    lines = markdown(MATTERS[0]).splitlines()
    assert lines[0] == "### factorial: matters: a × b"
    assert "| a × b | −3.80 % | \\[−4.30, −3.30\\] % | matters |" in lines
    untold = "### factorial: whether an interaction matters is not told"
    assert markdown(HALF[0]).splitlines()[0] == untold, "half of the cells tell none apart"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("negligible", "no interaction beyond ±1 %"),
        ("inconclusive", "whether an interaction matters is not told: a × b"),
        ("nonzero", "whether an interaction matters is not told: a × b"),
        ("invalid", "whether an interaction matters is not told: a × b"),
    ],
)
def test_that_no_interaction_matters_is_said_only_of_one_within_the_margin(
    verdict: str, said: str
) -> None:
    mains = {"a": (-2.2, "slower"), "b": (0.4, "inconclusive")}
    told, _ = factorial({**mains, "a × b": (-1.5, verdict)})
    assert markdown(told).splitlines()[0] == f"### factorial: {said}"
