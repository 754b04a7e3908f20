"""Numbers that are there twice count once, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.judged_files import judged, judged_text, refused, refused_text
from steelyard.foreign.copies import refuse_copies, refuse_repeats
from steelyard.foreign.series import Grain, Series
from steelyard.foreign.source import source_of
from steelyard.model.errors import NumbersError


def test_a_file_given_twice_is_refused_in_one_arm_and_in_two() -> None:
    many = [
        f"{arm}={file}" for arm, file in (("a", "pg96.txt"), ("b", "pg96b.txt")) for _ in "12345678"
    ]
    assert "is given twice" in refused(*many).primary
    assert "is given twice" in refused("a=pg96.txt", "b=pg96.txt").primary
    assert judged("a=pg96.txt", "b=pg96b.txt").cannot


def test_a_copy_under_another_name_is_refused() -> None:
    text = "tps\n1012.31\n1013.77\n"
    with pytest.raises(NumbersError, match='"b" is a copy of "a"'):
        refuse_copies([source_of(text.encode(), "a"), source_of(text.encode() + b"\n", "b")])


def test_rows_that_repeat_to_the_last_digit_are_refused() -> None:
    rows = "".join(f"off,985.40{n % 2}1\non,990.3{n}7\n" for n in range(8))
    error = refused_text(f"arm,tps\n{rows}")
    assert error.primary.startswith('the rows of "off" repeat to the last digit: 2 different')
    assert "once" in str(error.hint)


@pytest.mark.parametrize("seed", range(20))
def test_measurements_rounded_as_people_round_them_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for digits, scatter in ((0, 0.01), (1, 0.02), (2, 0.05)):
        values = np.round(rng.lognormal(np.log(12.0), scatter, 40), digits)
        refuse_repeats("a", [Series("a", values)])
    refuse_repeats("a", [Series("a", np.round(rng.lognormal(7.0, 0.01, 200), 2))])
    refuse_repeats("a", [Series("a", np.round(rng.normal(100.0, 5.0, 100_000), 3))])
    refuse_repeats("a", [Series("a", np.round(rng.lognormal(1.0, 1.0, 20_000), 1))])
    refuse_repeats("a", [Series("a", np.full(20, 985.401), Grain.SLICE)])
    refuse_repeats("a", [Series("a", np.full(20, 9500.0))])
    pairs = [985.0 + n / 7 for n in (0, 1, 2, 3, 0, 1, 2, 3, 4, 5)]
    refuse_repeats("a", [Series("a", np.array(pairs))])  # fewer than half of the rows are others'
    assert judged_text("off,on\n5,6\n5,6\n5,6\n5,6\n", unit="s").contrasts
