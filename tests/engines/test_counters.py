"""A difference of counters is a figure, or a missing reading with its reason."""

from __future__ import annotations

from dataclasses import replace

from steelyard.engines.counters import NOT_FLUSHED, RESET, CounterSample

EARLIER = CounterSample({"wal_bytes": 4, "blocks_read": 3}, {"wal_bytes": "bytes"}, resets=("a",))
LATER = CounterSample({"wal_bytes": 10, "blocks_read": 3}, {"wal_bytes": "bytes"}, resets=("a",))


def test_what_was_counted_between_two_samples_is_their_difference() -> None:
    found = LATER.since(EARLIER)
    assert (dict(found.values), found.complete) == ({"wal_bytes": 6, "blocks_read": 0}, True)
    assert found.units == {"wal_bytes": "bytes"}


def test_counters_that_were_not_flushed_in_time_are_missing() -> None:
    for earlier, later in (
        (EARLIER, replace(LATER, flushed=False)),
        (replace(EARLIER, flushed=False), LATER),
    ):
        found = later.since(earlier)
        assert found.values == {}
        assert found.missing == {"wal_bytes": NOT_FLUSHED, "blocks_read": NOT_FLUSHED}


def test_after_a_reset_every_counter_is_missing_even_those_that_grew_past_it() -> None:
    found = replace(LATER, resets=("b",)).since(EARLIER)
    assert (found.values, set(found.missing.values())) == ({}, {RESET})


def test_statistics_that_had_not_begun_yet_are_no_reset() -> None:
    assert LATER.since(replace(EARLIER, resets=(None,))).complete


def test_a_counter_that_fell_is_missing_alone() -> None:
    fallen = replace(LATER, values={"wal_bytes": 10, "blocks_read": 2}).since(EARLIER)
    assert (dict(fallen.values), fallen.missing) == ({"wal_bytes": 6}, {"blocks_read": RESET})
