"""docs/results/validation.md says what the results say, and what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, f, t

from steelyard.model.units import percent_of_log
from validation.cases.simulation import LookCase, OpenCase
from validation.pages import digest, lived, paired, replayed, shares, simulated
from validation.pages.folded import outdated
from validation.pages.shares import Simulated
from validation.proportion import Proportion
from validation.publish import files, methodology, page
from validation.results import Results
from validation.schedule import KINDS
from validation.suites import SUITES, Suite


def results(folder: Path, name: str, lines: Sequence[dict[str, Any]]) -> Results:
    file = folder / f"{name}.jsonl"
    file.write_text(
        "".join(json.dumps({"key": str(i), **one}) + "\n" for i, one in enumerate(lines))
    )
    return Results(file)


@pytest.mark.long
def test_the_published_page_is_what_the_results_say() -> None:
    assert not outdated(files()), "run python -m validation.publish"


@pytest.mark.long  # of what judges differently the results are made anew: `make validate`
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="code is printed otherwise by others")
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_every_kept_result_is_of_the_code_of_today(suite: Suite) -> None:
    assert {result["code"] for result in suite.results} == {suite.code}, "run make validate"


def test_the_figures_of_the_methodology_are_those_of_the_results() -> None:
    for path, text in methodology().items():
        assert path.read_text(encoding="utf-8") == text, "as above"
    with pytest.raises(ValueError, match="no marks"):
        digest.replaced("# Methodology", digest.VALIDATED, "")


def test_a_page_without_results_says_what_is_missing(tmp_path: Path) -> None:
    text = page(tmp_path, tmp_path)
    assert "not yet simulated" in text
    assert f"Not yet measured: 0 of {sum(KINDS.values())} weighings" in text
    assert "Not yet measured: no weighing was recorded" in text
    assert "nan" not in text


@pytest.mark.parametrize(("count", "trials"), [(0, 60), (3, 60), (60, 60), (77, 2_000)])
def test_intervals_are_clopper_and_pearsons(count: int, trials: int) -> None:
    expected = binomtest(count, trials).proportion_ci(0.95, "exact")
    assert Proportion(count, trials).interval() == pytest.approx((expected.low, expected.high))


def test_a_bound_is_missed_only_where_the_whole_interval_lies_beyond_it() -> None:
    assert not Proportion(118, 2_000).exceeds(0.05)  # 5.9 %, but [4.9, 7.0]
    assert Proportion(130, 2_000).exceeds(0.05)


def test_a_cell_beyond_its_bound_is_bold_counted_and_named(tmp_path: Path) -> None:
    good = LookCase("white", 10, 0, weighings=30)
    line = {"code": "abc", "seconds": 1.0, **good.work()}
    bad = json.loads(json.dumps(line))
    bad["cells"]["first verdict +0 0.01"] = [2_000, 100, 100, 0, 0, 1_800, 20_000]
    bad["cells"]["plan -1 1"] = [2_000, 0, 0, 0, 2_000, 1_800, 20_000]
    every = Simulated.read(results(tmp_path, "simulation", [bad]))
    assert "**10.0 [8.7, 11.4]**" in simulated.section(every)
    assert {one["what"] for one in shares.beyond(every)} == {shares.FALSE, shares.MISSED}
    assert "10.0 [8.7, 11.4] % (white, N = 10)" in shares.summary(every)
    assert "2 of" not in shares.summary(Simulated.read(results(tmp_path, "good", [line])))


def test_parts_of_a_cell_are_added_up(tmp_path: Path) -> None:
    lines = [
        {"code": "abc", "seconds": 1.0, **case.work()}
        for case in (
            LookCase("white", 8, 0, weighings=10),
            LookCase("white", 8, 1, weighings=15),
            OpenCase("white", 10, 0, weighings=3),
        )
    ]
    every = Simulated.read(results(tmp_path, "simulation", lines))
    assert every.tally("white", 8, "plan", shares.ZERO).weighings == 25
    assert every.tally("white", 10, "open", shares.ZERO).weighings == 3


def test_controls_say_whether_they_fail_and_traces_that_are_missing(tmp_path: Path) -> None:
    lines = [
        {"control": "peeking", "erred": 400, "weighings": 1_000, "reads": None},
        {"control": "trimmed_reading", "erred": 900, "weighings": 1_000, "reads": -0.01},
        {"control": "traced_blocks_free", "erred": 0, "weighings": 0, "reads": None},
    ]
    text = replayed.control_section(results(tmp_path, "controls", lines))
    assert "| 40.0 [36.9, 43.1] | 34–41 % | – | fails |" in text
    assert "-1.00 % | fails |" in text
    assert "no such traces" in text
    assert replayed.failing(lines) == 2
    assert [replayed.must_fail(name) for name in ("peeking", "traced_blocks_symmetric")] == [
        True,
        False,
    ]


def weighed(kind: str, estimate: float, half: float, truth: float, verdict: str) -> dict[str, Any]:
    return {
        "kind": kind, "estimate_percent": estimate, "low_percent": estimate - half,
        "high_percent": estimate + half, "truth_percent": truth, "verdict": verdict,
        "nonzero": False, "command_seconds": 70.0, "started": "2026-11-21T23:00:00+00:00",
        "version": "0.1.0", "load_before": 0.5, "epoch_sd_percent": 1.5, "epochs": 9,
        "machine": {
            "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1],
            "memory_bytes": 8e9, "virtual": True,
        },
    }  # fmt: skip


def test_live_weighings_are_counted_by_machine_with_their_bounds(tmp_path: Path) -> None:
    lines = [
        weighed("alike", 0.1, 1.0, 0.0, "inconclusive"),
        weighed("alike", 2.0, 1.0, 0.0, "faster"),
        {**weighed("twice 3 %", -2.9, 1.0, -2.91, "slower"), "told": True, "cause": "processor"},
        {**weighed("twice 3 %", -5.9, 1.0, -2.91, "slower"), "told": True, "cause": None},
        {**weighed("alike", 0.2, 1.0, 0.0, "inconclusive"), "told": True, "cause": "locks"},
        {**weighed("alike", 0.2, 1.0, 0.0, "inconclusive"), "told": True, "cause": None},
        {**weighed("alike", 0.2, 1.0, 0.0, "inconclusive"), "told": False, "cause": None},
    ]
    elsewhere = weighed("alike", 0.0, 1.0, 0.0, "equivalent")
    elsewhere["machine"] = {**elsewhere["machine"], "kernel": "Linux 7"}
    text = lived.section(results(tmp_path, "live", [*lines, elsewhere]))
    assert text.count("Equal arms told apart:") == 1
    assert "Equal arms told apart: **1 of 6**, not yet measured: 54 of 60" in text
    assert "Truth covered, pooled over the doubled work: **1 of 2**" in text
    assert (
        "| twice 3 % | 2 of 20 | -2.91 | -1.49 ± 0.35 | 1 of 2 | 100 % | processor 1, none 1 | 70 |"
        in text
    )
    assert "difference of equal arms: **1 of 2**, not yet measured: 58 of 60" in text
    assert "| stall | 0 of 10 | not yet measured |" in text
    assert text.count("### On 2 processors") == 2
    assert "### On several of these machines, together" in text


def test_what_one_machine_has_weighed_whole_is_said_of_it_alone(tmp_path: Path) -> None:
    lines = [weighed("alike", 0.1, 1.0, 0.0, "inconclusive") for _ in range(KINDS["alike"])]
    elsewhere = weighed("alike", 0.0, 1.0, 0.0, "equivalent")
    elsewhere["machine"] = {**elsewhere["machine"], "kernel": "Linux 7"}
    text = lived.section(results(tmp_path, "live", [*lines, elsewhere]))
    assert "Equal arms told apart: **0 of 60**, all are done" in text
    assert "together" not in text.partition("### On ")[2]


def test_equal_arms_for_two_minutes_are_said_to_have_settled_or_not(tmp_path: Path) -> None:
    alike = weighed("alike for two minutes", 0.1, 1.0, 0.0, "equivalent")
    doubts = [{"name": "no steady state", "invalidates": False}]
    lines = [{**alike, "threats": []}, {**alike, "threats": doubts}]
    text = lived.section(results(tmp_path, "live", lines))
    assert "For two minutes, equal arms told apart: **0 of 2**, not yet measured: 10 of 12" in text
    assert "*No steady state* was said of 1." in text


@pytest.mark.parametrize(
    ("scatter", "half"), [(0.05, 0.01), (0.02, 0.02), (0.01, 0.2), (0.1, 0.004)]
)
def test_the_pairs_that_are_needed_are_the_fewest_that_are_narrow_enough(
    scatter: float, half: float
) -> None:
    found = paired.pairs_needed(scatter, half)
    widths = [t.ppf(0.975, n - 1) * scatter / np.sqrt(n) for n in (max(found - 1, 2), found)]
    assert widths[1] <= half
    assert found == 2 or widths[0] > half


def test_the_ratio_of_times_is_pairs_needed_over_the_weighing(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    session = {"session": "2026-11-22T01:00:00+00:00", "pair_seconds": 20}
    weighing = weighed("weighing", -1.0, 0.5, 0.0, "slower")
    lines = [{**weighing, "measured_seconds": 120.0, "epochs": 12, **session}]
    logs = rng.normal(-0.01, 0.05, 30)
    lines += [
        {"kind": "pair", "on": 1000.0, "off": 1000 * float(np.exp(x)), **session} for x in logs
    ]
    [found] = paired.sessions(results(tmp_path, "paired_pgbench", lines))
    assert found.scatter == pytest.approx(logs.std(ddof=1))
    assert percent_of_log(found.half_width) == pytest.approx(0.505, abs=0.005)
    needed = found.pairs_needed(found.scatter)
    assert found.ratio(found.scatter) == pytest.approx(needed * 20 / 120)
    low, high = found.ratio_interval()
    assert low < found.ratio(found.scatter) < high
    # The ratio goes with s² of the pairs over s² of the epochs: F with 29 and 11 degrees.
    assert high / found.ratio(found.scatter) == pytest.approx(1 / f.ppf(0.025, 29, 11), rel=0.03)
    assert f"{needed:,}" in paired.section(results(tmp_path, "paired_pgbench", lines))
    assert "Not yet measured" in paired.section(results(tmp_path, "none", lines[:1]))
