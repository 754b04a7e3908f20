"""docs/results/scatter.md says what was read; parts of the scatter are those put in."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from steelyard.study.read import read_study
from validation import scatter
from validation.pages.folded import outdated
from validation.pages.scatter import (
    against,
    detected_share,
    page,
    resampled,
    restart,
    share_by,
    slices,
    whole,
    within,
)
from validation.scatter import CONDITIONS, EPOCHS, WORDS, nested

MACHINE = {
    "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1], "memory_bytes": 8e9,
    "virtual": True,
}  # fmt: skip


def drawn(restart_sd: float, wander_sd: float, slice_sd: float, number: int = 4000) -> list[Any]:
    """Epochs with so much of each kind of scatter in the whole reading; log scale."""
    rng = random.Random(5)
    made = []
    for count in range(number):
        life = rng.gauss(0, restart_sd)
        wander = rng.gauss(0, wander_sd * math.sqrt(2)), rng.gauss(0, wander_sd * math.sqrt(2))
        quarters = [rng.gauss(0, 2 * slice_sd) for _ in range(4)]
        middle = sum(wander) / 2
        made.append({
            "whole": life + middle + sum(quarters) / 4,
            "odd": life + middle + (quarters[0] + quarters[2]) / 2,
            "even": life + middle + (quarters[1] + quarters[3]) / 2,
            "first": life + wander[0] + (quarters[0] + quarters[1]) / 2,
            "second": life + wander[1] + (quarters[2] + quarters[3]) / 2,
            "together": rng.gauss(10, 0.01), "slot": count % 2, "started_first": count % 3 % 2,
        })  # fmt: skip
    return made


def line(epochs: list[Any], key: str = "as it is") -> dict[str, Any]:
    return {
        "key": key, "words": ["aa"], "before": ["setarch", "-R"], "epochs": epochs,
        "epoch_ns": 7_500_000_000, "estimate_percent": 0.1, "low_percent": -0.2,
        "high_percent": 0.4, "threats": [], "machine": MACHINE,
    }  # fmt: skip


def test_what_was_put_into_each_level_comes_out_of_it() -> None:
    epochs = drawn(0.004, 0.003, 0.002)
    assert whole(epochs) == pytest.approx(math.hypot(0.004, 0.003, 0.002), rel=0.05)
    assert restart(epochs) == pytest.approx(0.004, rel=0.05)
    assert within(epochs) == pytest.approx(math.hypot(0.003, 0.002), rel=0.05)
    assert slices(epochs) == pytest.approx(0.002, rel=0.05)


def test_a_level_without_scatter_is_nothing_and_its_interval_says_so() -> None:
    epochs = drawn(0.0, 0.003, 0.002, number=40)
    found = resampled(epochs, restart)
    assert found.low == 0.0
    assert found.value < 0.25
    assert restart(drawn(0.004, 0.0, 0.0, number=40)) == pytest.approx(
        whole(drawn(0.004, 0.0, 0.0, number=40))
    )


def test_a_better_slot_is_seen_in_the_share_that_goes_with_it() -> None:
    epochs = [{**one, "whole": one["whole"] + 0.01 * one["slot"]} for one in drawn(0.003, 0, 0)]
    assert share_by(epochs, "slot") == pytest.approx(25 / (25 + 9), rel=0.1)
    assert share_by(epochs, "started_first") < 0.01


def test_a_condition_is_read_against_the_plain_ones_together() -> None:
    plain = [drawn(0.004, 0, 0, number=40), drawn(0.004, 0, 0, number=40)]
    found = against(drawn(0.002, 0, 0), plain)
    assert found.value == pytest.approx(0.5, rel=0.15)
    assert found.low < 0.5 < found.high < 1.0


def test_as_little_scatter_as_the_plain_ones_have_is_within_the_interval_19_times_in_20() -> None:
    rng, within_it = np.random.default_rng(9), 0
    for _ in range(400):
        few, one, other = ([{"whole": d} for d in rng.normal(0, 0.01, 40)] for _ in range(3))
        found = against(few, [one, other])
        within_it += found.low <= 1.0 <= found.high
    assert 0.91 < within_it / 400 < 0.98


@pytest.mark.long
def test_an_effect_is_seen_the_more_often_the_smaller_the_scatter() -> None:
    assert detected_share(drawn(0.004, 0, 0, number=40)).value > 0.99
    assert detected_share(drawn(0.02, 0, 0, number=40)).value < 0.5


def test_an_epoch_is_read_whole_and_in_halves() -> None:
    # epoch, block, position, arm, slot, transactions, busy µs, start ms
    rows = [
        (0, block, 0, arm, 0, done, 1000, 0)
        for block, arm, done in [
            *((0, "a", 100), (0, "b", 110), (1, "a", 100), (1, "b", 120)),
            *((2, "a", 100), (2, "b", 130), (3, "a", 100), (3, "b", 140)),
        ]
    ]
    found = nested(rows, "b", "a")
    assert found["whole"] == pytest.approx(math.log(1.25))
    assert found["odd"] == pytest.approx(math.log(1.30))
    assert found["even"] == pytest.approx(math.log(1.20))
    assert found["first"] == pytest.approx(math.log(1.15))
    assert found["second"] == pytest.approx(math.log(1.35))


@pytest.mark.long
def test_a_page_shows_every_level_with_its_interval_and_the_command() -> None:
    text = page([line(drawn(0.004, 0.003, 0.002, number=40))], list(CONDITIONS))
    assert "Not yet weighed: the same again, addresses not drawn" in text
    assert "| as it is | 40 | 7.5 s | 0." in text
    assert "`setarch -R steelyard weigh aa`" in text
    assert "| as it is | 5.0 min | +0.10 [-0.20, +0.40] % |" in text


@pytest.mark.long
def test_a_page_says_what_reduces_the_scatter_once_a_plain_weighing_is_there() -> None:
    plain = line(drawn(0.004, 0.003, 0.002, number=40))
    calmer = line(drawn(0.001, 0.001, 0.001, number=40), "huge pages")
    both = page([plain, calmer], list(CONDITIONS))
    section = both.split("## What reduces it")[1].split("##")[0]
    [row] = [own for own in section.splitlines() if own.startswith("| huge pages | 0.")]
    assert "as it is |" not in section.replace("÷ as it is |", "")
    assert row.count("|") == 3
    assert "## What reduces it" not in page([calmer], list(CONDITIONS))


@pytest.mark.long
def test_the_page_is_what_the_results_say() -> None:
    how = "run python -m validation.scatter --page"
    assert not outdated(scatter.files()), how


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition_is_a_study_of_equal_arms_with_all_its_epochs(name: str) -> None:
    words = [*WORDS, *CONDITIONS[name].words]
    given = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    study = read_study("aa", given)
    assert study.budget.epochs == EPOCHS
