"""A ratio of ratios stands where both controls are one build under one study on one machine."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

from history.made import change, change_contrast, readings
from steelyard.history.index import read_history
from steelyard.history.question import Point
from steelyard.history.ratio import RatioOfRatios, Refusal, ratio_of_ratios

Keep = Callable[..., Path]


def pair(records: Path) -> RatioOfRatios | Refusal:
    one, other = (Point(entry, entry.readings[0]) for entry in read_history(records).entries)
    return ratio_of_ratios(one, other)


def test_the_interval_is_that_of_scipy_for_the_difference_of_the_epochs(
    keep: Keep, records: Path
) -> None:
    keep(1, effect=0.05, spread=0.01)
    keep(2, effect=0.02, spread=0.004, epochs=12)
    found = pair(records)
    assert isinstance(found, RatioOfRatios)
    oracle = ttest_ind(
        readings(0.05, 0.01, 8, 1), readings(0.02, 0.004, 12, 2), equal_var=False
    ).confidence_interval(0.95)
    assert math.log1p(found.low_percent / 100) == pytest.approx(oracle.low)
    assert math.log1p(found.high_percent / 100) == pytest.approx(oracle.high)
    assert found.epochs == (8, 12)
    assert found.sentence.startswith(
        "off of checksums/2026-03-01T120000Z against off of checksums/2026-03-02T120000Z, "
        "through the control that both have: +"
    )
    assert any("5 % of such intervals miss" in one for one in found.cautions)


def test_a_weighing_that_ended_early_is_named(keep: Keep, records: Path) -> None:
    keep(1)
    directory = keep(2)
    change(
        directory / "verdict.json",
        lambda said: {
            **said,
            "contrasts": [
                {**one, "details": {**one["details"], "look": "first"}} for one in said["contrasts"]
            ],
        },
    )
    found = pair(records)
    assert isinstance(found, RatioOfRatios)
    assert any("2026-03-02T120000Z ended early at a look" in one for one in found.cautions)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"control_build": {"version": "18.5"}}, "version of the control: 18.4 in the first, 18.5"),
        ({"control_build": {"cflags": "-O3"}}, "compiler's flags of the control: -O2 in the first"),
        ({"control_build": {"assertions": True}}, "assertions of the control: off in the first"),
        ({"scale": 100}, "workload.scale: 50 in the first, 100 in the second"),
        ({"clients": 32}, "workload.clients: its default in the first, 32 in the second"),
        ({"machine": {"hostname": "other"}}, "machine: "),
        ({"machine": {"kernel": "6"}}, "machine: not known of the second"),
        ({"epochs": 6}, "has fewer than 8 epochs with a reading"),
    ],
)
def test_what_is_not_shared_is_refused_in_words(
    keep: Keep, records: Path, options: dict[str, Any], said: str
) -> None:
    keep(1)
    keep(2, **options)
    found = pair(records)
    assert isinstance(found, Refusal)
    assert any(said in one for one in found.reasons), found.reasons


def test_arms_may_differ_in_everything(keep: Keep, records: Path) -> None:
    keep(1)
    keep(2, arms=("on", "lz4"), more='settings = {wal_compression = "lz4"}',
         arm_build={"version": "19.0"}, measuring='"9m"')  # fmt: skip
    assert isinstance(pair(records), RatioOfRatios)


def test_settings_that_the_controls_reported_must_be_the_same_but_for_places(
    keep: Keep, records: Path
) -> None:
    def reported(**settings: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def changed(found: dict[str, Any]) -> dict[str, Any]:
            found["arms"]["on"]["settings"] |= settings
            return found

        return changed

    keep(1)
    directory = keep(2)
    change(directory / "environment.json", reported(data_directory="/elsewhere"))
    assert isinstance(pair(records), RatioOfRatios)
    change(directory / "environment.json", reported(work_mem="64MB"))
    found = pair(records)
    assert isinstance(found, Refusal)
    assert "settings that the control's server reported" in found.reasons[0]


def test_scripts_that_were_edited_between_two_weighings_have_no_ratio(
    keep: Keep, records: Path
) -> None:
    """Their names are the same, and so is the question."""

    def with_text(letter: str, template: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        files = {"script select-only": letter * 64, "template pg_control": template * 64}
        return lambda environment: {**environment, "files": files}

    keep(1)
    directory = keep(2)
    change(directory / "environment.json", with_text("a", "c"))
    assert isinstance(pair(records), RatioOfRatios)
    change(directory / "environment.json", with_text("e", "c"))
    first, second = read_history(records).entries
    assert first.readings[0].question == second.readings[0].question
    refusal = pair(records)
    assert isinstance(refusal, Refusal)
    [reason] = refusal.reasons
    assert reason.startswith("texts of the scripts: SHA-256 ")


def test_records_that_do_not_have_the_texts_of_their_scripts_have_a_ratio(
    keep: Keep, records: Path
) -> None:
    for day in (1, 2):
        change(keep(day) / "environment.json", lambda environment: {**environment, "files": {}})
    assert isinstance(pair(records), RatioOfRatios)


def test_an_epoch_without_work_is_in_no_ratio(keep: Keep, records: Path) -> None:
    """A verdict keeps its infinite log ratio as none: the epoch counts all the same."""

    def idle(verdict: dict[str, Any]) -> dict[str, Any]:
        verdict["contrasts"][0]["details"]["d"][3] = None
        return verdict

    keep(1, epochs=12)
    change(keep(2, epochs=12) / "verdict.json", idle)
    found = pair(records)
    assert isinstance(found, Refusal)
    assert any("an epoch in which an arm did no work" in one for one in found.reasons)


def test_an_invalid_verdict_is_in_no_ratio(keep: Keep, records: Path) -> None:
    keep(1)
    change_contrast(keep(2), verdict="invalid")
    found = pair(records)
    assert isinstance(found, Refusal)
    assert found.reasons == ("off of checksums/2026-03-02T120000Z is invalid",)


def test_a_record_has_no_ratio_with_itself(keep: Keep, records: Path) -> None:
    keep(1)
    [entry] = read_history(records).entries
    point = Point(entry, entry.readings[0])
    assert isinstance(ratio_of_ratios(point, point), Refusal)


def test_one_interval_in_twenty_misses_the_truth(keep: Keep, records: Path) -> None:
    keep(1)
    [entry] = read_history(records).entries
    dice = np.random.default_rng(11)
    missed, worlds = 0, 400
    for _ in range(worlds):
        both = []
        for path, truth, sd, n in (("a", 0.03, 0.01, 8), ("b", -0.01, 0.03, 12)):
            d = tuple(float(x) for x in dice.normal(truth, sd, n))
            reading = entry.readings[0].model_copy(update={"d": d})
            both.append(Point(entry.model_copy(update={"path": path}), reading))
        found = ratio_of_ratios(both[0], both[1])
        assert isinstance(found, RatioOfRatios)
        missed += not found.low_percent <= math.expm1(0.04) * 100 <= found.high_percent
    assert 6 <= missed <= 36  # of 400 at 5 %: 20, and 3.7 sd either way


def test_a_record_has_no_ratio_with_its_copy(keep: Keep, records: Path) -> None:
    shutil.copytree(keep(1), records / "saved" / "2026-03-09T120000Z")
    found = pair(records)
    assert isinstance(found, Refusal)
    assert found.reasons == ("one record is a copy of the other: they are one weighing",)
