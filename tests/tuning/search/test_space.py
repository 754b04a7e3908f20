"""What a search tries is what the build accepts and the memory holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.tuning.profile.profile import memory_need
from steelyard.tuning.profile.value import GB, MB
from steelyard.tuning.search.space import DURABILITY, ranges, settings_of
from tuning.profile.accepting import ALLOWED, basis


@given(
    st.integers(512 * MB, 256 * GB),
    st.integers(1, 64),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_no_point_takes_more_memory_than_there_is(
    memory: int, clients: int, first: float, second: float
) -> None:
    given_ = basis(memory, clients)
    space = ranges(given_, ALLOWED)
    point = {
        one.name: one.words[0] if one.words else one.low + first * (one.high - one.low)
        for one in space
    }
    point["work_mem"] = MB + second * memory / clients
    settings = settings_of(point, space, given_, ALLOWED)
    if "work_mem" in settings:
        assert memory_need(settings, given_, ALLOWED).total_bytes <= memory


def test_durability_is_searched_only_where_it_is_named() -> None:
    names = {one.name for one in ranges(basis(), ALLOWED)}
    assert not names & set(DURABILITY)
    more = {**ALLOWED, "synchronous_commit": ALLOWED["jit"]}
    assert "synchronous_commit" not in {one.name for one in ranges(basis(), more)}
    named = {one.name for one in ranges(basis(), more, ["synchronous_commit"])}
    assert "synchronous_commit" in named
    with pytest.raises(UsageError, match="trades no durability"):
        ranges(basis(), more, ["work_mem"])


def test_what_the_build_does_not_have_is_not_searched() -> None:
    without = {name: known for name, known in ALLOWED.items() if name != "wal_compression"}
    assert "wal_compression" not in {one.name for one in ranges(basis(), without)}
    [words] = [one.words for one in ranges(basis(), ALLOWED) if one.name == "wal_compression"]
    assert words == ("pglz", "off")
