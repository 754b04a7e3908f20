"""Dates are moments in whatever layout people and logs write them, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.foreign.tables.moments import (
    are_dates,
    are_days,
    are_times_of_day,
    disputed_moment,
    moments_of,
    times_of_day,
)
from thinned import thinned

LAYOUTS = [
    *(
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S UTC",
        "%Y/%m/%d %H:%M:%S",
        "[%Y-%m-%d %H:%M:%S]",
    ),
    *("%d.%m.%Y %H:%M:%S", "%d.%m.%y %H:%M:%S", "%d. %B %Y, %H:%M:%S", "%d.%m.%Y, %H:%M:%S Uhr"),
    *("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y, %I:%M:%S %p", "%b %d %H:%M:%S %Y"),
    *("%Y-%m-%d %H:%M:%S.000 UTC", "%Y-%m-%d %H:%M:%S,000", "%Y-%m-%d %H:%M:%S +0000"),
    *("%d/%b/%Y:%H:%M:%S +0000", "%a %b %d %H:%M:%S UTC %Y", "%a, %d %b %Y %H:%M:%S GMT"),
    *("%A, %d %B %Y %H:%M:%S", "%d-%b-%Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%d %b %Y %H:%M:%S"),
]
YEARLESS = ["%b %d %H:%M:%S", "%d %b %H:%M:%S"]


@thinned("layout", LAYOUTS, 5)
@given(
    st.datetimes(datetime(2001, 1, 13), datetime(2068, 12, 1)),
    st.lists(st.integers(1, 50_000), min_size=3, max_size=20),
)
def test_every_layout_gives_the_moments_that_were_written(
    layout: str, start: datetime, steps: list[int]
) -> None:
    start = start.replace(microsecond=0, tzinfo=UTC, day=13)
    moments = [start + timedelta(seconds=int(step)) for step in np.cumsum(steps)]
    cells = [moment.strftime(layout) for moment in moments]
    read = moments_of(cells)
    assert read is not None
    assert read.tolist() == [moment.timestamp() for moment in moments]


@pytest.mark.parametrize("layout", YEARLESS)
def test_dates_without_a_year_go_on_over_new_year(layout: str) -> None:
    start = datetime(2026, 12, 31, 23, 59, 57, tzinfo=UTC)
    cells = [(start + timedelta(seconds=n)).strftime(layout) for n in range(8)]
    read = moments_of(cells)
    assert read is not None
    assert np.diff(read).tolist() == [1.0] * 7


def test_months_are_read_in_german_too() -> None:
    read = moments_of(["28. Februar 2026 10:00", "1. März 2026 10:00", "2. Mär 2026 10:00"])
    assert read is not None
    assert np.diff(read).tolist() == [86_400.0, 86_400.0]


def test_between_slashes_the_reading_holds_in_which_dates_are_closest() -> None:
    read = moments_of(["01/02/2026 23:59:59", "02/02/2026 00:00:00"])
    assert read is not None
    assert np.diff(read).tolist() == [1.0]
    assert disputed_moment(["03/04/2026", "05/02/2026"]) is not None
    assert disputed_moment(["03/04/2026", "25/02/2026"]) is None
    assert disputed_moment(["03.04.2026", "05.02.2026"]) is None


@pytest.mark.parametrize(
    "cell",
    [
        *("9.6.24", "16.4", "Q1", "Q1 12:30", "may", "Nov 21", "mon", "scan", "1/2/3", "12:30"),
        *("14:03:22", "31.02.2026", "13/13/2026", "a 2026-11-21", "2026-11", "1:23.4", "", "-"),
        *("PostgreSQL 16", "sat", "march 5", "21.11.26", "2026-11-21 scan", "read 10:00"),
    ],
)
def test_words_numbers_and_versions_are_no_dates(cell: str) -> None:
    assert not are_dates([cell])
    assert moments_of(["2026-11-21", cell]) is None


def test_days_and_times_of_day_are_told_apart() -> None:
    assert are_days(["2026-11-21", "21.11.2026", "11/21/2026"])
    assert not are_days(["2026-11-21 10:00"])
    assert are_times_of_day(["14:03", "14:03:22", "2:03:22.5 PM"])
    assert not are_times_of_day(["1:23.4"])
    assert not are_times_of_day(["2026-11-21 14:03"])
    assert times_of_day(["00:00:01", "12:00 AM", "12:00:30 PM", "13:00"]).tolist() == [
        *(1.0, 0.0, 43_230.0, 46_800.0)
    ]
