"""What a search tries is what the build accepts and the memory holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.model.setting_value import GB, MB, size_text
from steelyard.tuning.search.space import DURABILITY, Room, ranges, settings_of
from tuning.profile.accepting import ALLOWED, basis


@given(
    st.integers(512 * MB, 256 * GB),
    st.integers(1, 64),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([{}, {"maintenance_work_mem": "256MB"}, {"hash_mem_multiplier": "8"}]),
)
def test_no_point_takes_more_memory_than_there_is(
    memory: int, clients: int, first: float, second: float, control: dict[str, str]
) -> None:
    """Or it is refused, and then the least of all is too much."""
    given_ = basis(memory, clients)
    space, room = ranges(given_, ALLOWED), Room(given_, ALLOWED, control)
    point = {
        one.name: one.words[0] if one.words else one.low + first * (one.high - one.low)
        for one in space
    }
    point["work_mem"] = MB + second * memory / clients
    least = {"work_mem": "1MB", "wal_buffers": "1MB", "shared_buffers": f"{memory // 20480}kB"}
    try:
        settings = settings_of(point, space, room)
    except UsageError:
        assert room.need(least).total_bytes > memory
    else:
        assert room.need(settings).total_bytes <= memory
        assert settings.keys() == point.keys()


def test_buffers_shrink_where_the_least_work_mem_is_too_much() -> None:
    given_ = basis(2 * GB, 64)
    room = Room(given_, ALLOWED, {})
    settings = room.fit({"work_mem": "4MB", "shared_buffers": size_text(0.6 * 2 * GB)})
    assert settings["work_mem"] == "1MB"
    assert settings["shared_buffers"] == "960MB"
    assert room.need(settings).total_bytes <= 2 * GB


def test_the_controls_own_settings_take_memory_too() -> None:
    wanted = {"work_mem": "32MB", "shared_buffers": "1GB"}
    assert Room(basis(4 * GB, 8), ALLOWED, {}).fit(wanted) == wanted
    upkeep = {"maintenance_work_mem": "600MB", "autovacuum_max_workers": "4"}
    room = Room(basis(4 * GB, 8), ALLOWED, upkeep)
    fitting = room.fit(wanted)
    assert fitting["work_mem"] == "1MB"
    assert fitting["shared_buffers"] == "992MB"
    with pytest.raises(UsageError, match="cannot search settings for 4096 MB of memory"):
        Room(basis(4 * GB, 8), ALLOWED, {"maintenance_work_mem": "2GB"}).fit(wanted)


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
