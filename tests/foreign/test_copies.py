"""Numbers that are there twice count once, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.judged_files import judged, judged_text, refused, refused_text
from steelyard.foreign.comparison import NamedSheet, Options, compare
from steelyard.foreign.copies import refuse_copies, refuse_repeats
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.series import Grain, Series
from steelyard.foreign.source import source_of
from steelyard.model.errors import NumbersError, UsageError


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


NAMESAKES = [
    ("pg16.3.txt", "pg16.4.txt", "pg17.0.txt"),
    ("b/9.5-a.csv", "b/9.6-a.csv"),
    ("before/run1.txt", "before/run2.txt", "after/run1.txt", "after/run2.txt"),
    ("off/1.txt", "off/2.txt", "off/3.txt", "on/1.txt", "on/2.txt", "on/3.txt"),
]
TOLD_APART = [
    ("off.1.txt", "off.2.txt", "on.1.txt", "on.2.txt"),
    ("pg16.3-a.txt", "pg16.3-b.txt", "pg17.txt"),
    ("run1/off.txt", "run1/on.txt", "run2/off.txt", "run2/on.txt"),
    ("rep1/16.txt", "rep1/17.txt", "rep2/16.txt", "rep2/17.txt"),
    ("run1.txt", "run2.txt"),
    ("a/run1.txt", "b/run2.txt"),
]


@pytest.mark.parametrize("names", [*NAMESAKES, *TOLD_APART])
def test_files_of_several_arms_are_not_taken_for_one_by_their_names(names: tuple[str, ...]) -> None:
    texts = [f"tps\n{1000 + n}.5\n{1010 + n}.25\n" for n in range(len(names))]
    sheets: list[NamedSheet] = [
        (None, read_sheet(source_of(text.encode(), name), alone=False))
        for text, name in zip(texts, names, strict=True)
    ]
    if names in TOLD_APART:
        assert len(compare(sheets, Options()).arms) == 2
        return
    with pytest.raises(UsageError, match="would both be of an arm") as error:
        compare(sheets, Options())
    assert "Name the arm of each file: steelyard judge " in str(error.value.hint)
    given: list[NamedSheet] = [(f"arm {n % 2}", sheet) for n, (_, sheet) in enumerate(sheets)]
    assert len(compare(given, Options()).arms) == 2
