"""Every balance that is broken on purpose is caught by the whole story, and a sound one is not.

In memory, so that each comes out the same every time; test_broken_servers.py breaks real ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from calibration import breaks
from calibration.breaks import Break
from story.asked import study_of
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
QUIET = 0.01
"""Noise of a slice: 30 blocks make .3 % of an epoch."""


@pytest.fixture
def weighed(tmp_path: Path, weigh_in: Weigh) -> Callable[..., Facts]:
    """The contrast of a weighing of equal arms in a world that is broken."""

    def weigh(broken: Break | None, number: int = 0, **changes: Any) -> Facts:
        world = ScriptedWorld(tmp_path / f"world{number}", noise=QUIET)
        world.draw = random.Random(number)
        if broken is not None:
            broken(world)
        verdict = weigh_in(world, study_of(**changes), seed=number, record=f"r{number}/record")
        contrast: Facts = verdict["contrasts"][0]
        return contrast

    return weigh


def threats(contrast: Facts) -> dict[str, str]:
    """Name of each threat → what was seen."""
    return {threat["name"]: threat["seen"] for threat in contrast["threats"]}


CAUGHT = [
    (breaks.throttled_slot, "slots differ", "(99 % interval) with the slots of the arms"),
    (breaks.start_order, "start order matters", "with which arm was started first"),
    (breaks.carry_over, "carry-over", "more than on when it follows another arm"),
    (breaks.asleep_under_one_arm, "unequal drops", "slices of off were dropped and 0 of on"),
    (breaks.retries, "errors or retries differ", "of off failed or were retried, and 0 of"),
    (breaks.given_up, "errors or retries differ", "were given up, those of on after 0 of"),
    (breaks.given_up_in_both, "Little's law broken", "is cut off there"),
    (breaks.nothing_in_one_arm, "wrong answer from the workload", "off returned and changed no"),
    (breaks.nothing_at_all, "wrong answer from the workload", "not one row was returned or"),
    (breaks.rows_missing, "wrong answer from the workload", "returned −2.00 % rows against on"),
    (breaks.hidden_stalls, "Little's law broken", "of off came after the bell and was charged"),
    (breaks.debug_driver, "debug build of the driver", "is a debug build"),
    (breaks.other_plan, "plans differ", "SELECT 1"),
]
INVALID = {
    "unequal drops",
    "wrong answer from the workload",
    "debug build of the driver",
}


@thinned(("broken", "name", "seen"), CAUGHT, 4, ids=[name for _, name, _ in CAUGHT])
def test_a_balance_broken_on_purpose_is_caught(
    weighed: Callable[..., Facts], broken: Break, name: str, seen: str
) -> None:
    contrast = weighed(broken)
    assert seen in threats(contrast)[name]
    assert (contrast["verdict"] == "invalid") == (name in INVALID)
    assert set(threats(contrast)) == {name}, "each is caught by its own threat alone"


@pytest.mark.long
def test_sound_balances_are_doubted_no_more_often_than_stated(
    weighed: Callable[..., Facts],
) -> None:
    """Places, carry-over: .01 each. Skewed epochs: 5–8 % of Gaussian weighings. Others: never."""
    rates = {"slots differ": 0.01, "start order matters": 0.01, "carry-over": 0.01}
    rates["epochs skewed"] = 0.08
    count = 30
    raised = [name for number in range(count) for name in threats(weighed(None, number))]
    assert set(raised) <= set(rates)
    for name, rate in rates.items():
        low = binomtest(raised.count(name), count).proportion_ci(0.99, "exact").low
        assert low <= rate, f"{name}: {raised.count(name)} of {count}"


def test_what_strikes_both_arms_alike_is_no_doubt(weighed: Callable[..., Facts]) -> None:
    """Carry-over that both share cancels; a machine asleep under both drops slices of both."""
    alike = weighed(breaks.carry_over_alike)
    assert "carry-over" not in threats(alike)
    asleep = weighed(breaks.asleep_under_both, number=1)
    assert min(asleep["details"]["drops"].values()) >= 5
    assert "unequal drops" not in threats(asleep)


def test_dropped_slices_are_no_part_of_the_reading(weighed: Callable[..., Facts]) -> None:
    """Slices of a suspended machine that read anything at all leave the reading alone."""

    def wild(world: ScriptedWorld) -> None:
        breaks.asleep_under_both(world)
        sleeping = world.distort

        def distort(answer: Facts) -> None:
            before_ns = world.slept_ns
            sleeping(answer)
            if world.slept_ns > before_ns:
                answer["transactions"] *= 50 if answer["arm"] == "off" else 1

        world.distort = distort

    contrast = weighed(wild, number=2)
    assert contrast["low_percent"] < 0 < contrast["high_percent"]
    assert contrast["high_percent"] - contrast["low_percent"] < 2


def test_a_slot_effect_costs_precision_and_no_truth(weighed: Callable[..., Facts]) -> None:
    """Ten times the noise of an epoch: the drawn slots turn it into noise that is balanced."""
    contrast = weighed(breaks.throttled_slot)
    assert contrast["details"]["slot_effect_percent"] == pytest.approx(-10, abs=0.5)
    assert contrast["low_percent"] < 0 < contrast["high_percent"]


def test_stalls_are_read_and_a_border_that_hides_them_is_doubted(
    weighed: Callable[..., Facts],
) -> None:
    """An eighth of the arm's slices lose half a client and wait 200 ms for it."""
    honest, hiding = weighed(breaks.stalls), weighed(breaks.hidden_stalls, number=1)
    assert "Little's law broken" not in threats(honest)
    assert honest["verdict"] == "slower"
    assert honest["estimate_percent"] < -3
    assert abs(hiding["estimate_percent"]) < 1
    assert "Little's law broken" in threats(hiding)
