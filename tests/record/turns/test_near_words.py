"""How near checkpoints were brought is told by the factor that the servers really took."""

from __future__ import annotations

import pytest

from steelyard.record.plan import TurnChoices
from steelyard.record.turns.turn_summary import near_words


@pytest.mark.parametrize(
    ("scale", "nearer", "said"),
    [
        (1, {}, ""),
        (4.3, {}, "4.3 times as near"),
        (1.4, {"on": 1.51, "off": 1.5}, "1.51 times as near"),
        (1.4, {"on": 2.0, "off": 1.375}, "2 times as near in on and 1.38 times as near in off"),
        (1.4, {"third": 2.0}, "1.4 times as near"),
    ],
)
def test_the_factor_is_that_of_the_arms(scale: float, nearer: dict[str, float], said: str) -> None:
    choices = TurnChoices(
        time_scale=scale, time_scale_why="", cycles=2, warmup_cap_ns=1, wait_ns=1, longest_ns=1,
        turn_ns=1, nearer=nearer,
    )  # fmt: skip
    assert near_words(choices, ("on", "off")) == said
