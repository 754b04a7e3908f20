"""What is clearly worse than the best by paired epochs is dropped, and nothing else is."""

from __future__ import annotations

import random

from steelyard.tuning.search.trial import dropped

DRIFT = [0.0, 0.2, -0.1, 0.15, -0.25, 0.05]


def read(effect: float, epochs: int, sd: float = 0.01, seed: int = 1) -> dict[str, float]:
    """Log ratios of one contestant: its effect, what the epoch did to all, and its own luck."""
    draw = random.Random(seed)
    return {f"round-01 {n}": effect + DRIFT[n] + draw.gauss(0, sd) for n in range(epochs)}


def test_what_all_had_in_common_in_an_epoch_hides_no_difference() -> None:
    arms = {"a": read(0.1, 4), "b": read(0.0, 4, seed=2)}
    assert dropped(arms, "control") == {"b": "a"}, "the control's interval holds 0: it drifted"


def test_two_epochs_that_disagree_are_not_clear_and_no_half_is_dropped() -> None:
    """As read of study shared-buffers: 13.6 and 20.5 % against 11.2 and 10.6 %."""
    arms = {"a": {"x 0": 0.127, "x 1": 0.186}, "b": {"x 0": 0.106, "x 1": 0.101}}
    assert "b" not in dropped(arms, "control")


def test_one_epoch_says_nothing() -> None:
    assert dropped({"a": {"x 0": 0.5}, "b": {"x 0": -0.5}}, "control") == {}


def test_only_epochs_that_both_have_are_compared() -> None:
    alone = {f"round-01-2 {n}": 0.0 for n in range(6)}
    assert "b" not in dropped({"a": read(0.9, 6), "b": alone}, "control")
    shared = read(0.0, 4, seed=2)
    del shared["round-01 0"]
    assert dropped({"a": read(0.9, 4), "b": shared}, "control")["b"] == "a"


def test_the_control_takes_part() -> None:
    worse = {f"x {n}": -0.1 + 0.001 * n for n in range(6)}
    better = {name: -one for name, one in worse.items()}
    assert dropped({"a": worse}, "control") == {"a": "control"}
    assert dropped({"a": better}, "control") == {"control": "a"}
