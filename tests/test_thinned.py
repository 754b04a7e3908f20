"""Thinning leaves every case in the table: a few as they are, the others for the long suite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinned import thinned


@given(st.integers(1, 60), st.integers(1, 60))
def test_every_case_stays_and_as_many_as_wanted_are_fast(size: int, fast: int) -> None:
    mark = thinned("case", range(size), fast).mark
    assert [_value(case) for case in mark.args[1]] == list(range(size))
    assert sum(isinstance(case, int) for case in mark.args[1]) == min(size, fast)
    assert mark.args[1][0] == 0


@pytest.mark.parametrize("names", ["case, truth", ("case", "truth")])
def test_several_names_take_a_value_each(names: str | tuple[str, str]) -> None:
    _, second = thinned(names, [(1, 2), (3, 4)], 1).mark.args[1]
    assert second.values == (3, 4)


def test_one_name_takes_a_tuple_whole_and_marks_of_a_case_stay() -> None:
    named = pytest.param((5, 6), id="last", marks=pytest.mark.browser)
    _, second, third = thinned("case", [(1, 2), (3, 4), named], 1).mark.args[1]
    assert second.values == ((3, 4),)
    assert third.id == "last"
    assert {mark.name for mark in third.marks} == {"browser", "long"}


def _value(case: object) -> object:
    return case if isinstance(case, int) else getattr(case, "values", (None,))[0]
