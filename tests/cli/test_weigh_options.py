"""The command that is printed to repeat a weighing repeats it."""

from __future__ import annotations

import pytest

from steelyard.cli.options.weigh_options import repeating_command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["weigh", "aa"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--seed", "7"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--seed=7"], ["weigh", "aa", "--seed=7"]),
        (["weigh", "--record", "there", "aa"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--record=there"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--set", "a.b=c d"], ["weigh", "aa", "--set", "a.b=c d", "--seed", "7"]),
    ],
)
def test_it_names_the_seed_and_not_the_place_of_the_record(
    arguments: list[str], expected: list[str]
) -> None:
    assert repeating_command(arguments, 7) == ("steelyard", *expected)
