"""A stopwatch gives every nanosecond to one phase, and its laps add up to the time there was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.record.reader import read_telemetry
from steelyard.record.record import Record
from steelyard.record.spent import PHASES, Phase, Spent
from steelyard.running.stopwatch import SpentTime, Stopwatch


class Hands:
    """A clock that is moved by hand."""

    def __init__(self, now_ns: int = 0) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def test_time_in_no_phase_is_other() -> None:
    clock = Hands(100)
    watch = Stopwatch(clock)
    clock.now_ns += 7
    with watch("start"):
        clock.now_ns += 5
    clock.now_ns += 3
    assert watch.lap() == {"start": 5, "other": 10}
    assert watch.began_ns == 100


def test_a_phase_inside_another_interrupts_it() -> None:
    clock = Hands()
    watch = Stopwatch(clock)
    with watch("inspect"):
        clock.now_ns += 1
        with watch("start"):
            clock.now_ns += 10
        clock.now_ns += 100
    assert watch.lap() == {"inspect": 101, "start": 10}


def test_a_phase_that_fails_ends_there() -> None:
    clock = Hands()
    watch = Stopwatch(clock)

    def fail() -> None:
        with watch("measure"), watch("read"):
            clock.now_ns += 4
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    clock.now_ns += 2
    assert watch.lap() == {"read": 4, "other": 2}


def test_a_lap_may_end_within_a_phase() -> None:
    clock = Hands()
    watch = Stopwatch(clock)
    with watch("measure"):
        clock.now_ns += 4
        assert watch.lap() == {"measure": 4}
        clock.now_ns += 5
    assert watch.lap() == {"measure": 5}
    assert watch.lap() == {}


steps = st.lists(
    st.one_of(st.sampled_from(PHASES), st.sampled_from(["end", "lap"]), st.integers(0, 10**12)),
    max_size=60,
)


@given(steps)
def test_laps_add_up_to_the_time_there_was(steps: list[Phase | str | int]) -> None:
    clock = Hands(17)
    watch, under_way, laps = Stopwatch(clock), [], []
    for step in steps:
        if isinstance(step, int):
            clock.now_ns += step
        elif step == "lap":
            laps.append(watch.lap())
        elif step != "end":
            under_way.append(watch(step))  # type: ignore[arg-type]
            under_way[-1].__enter__()
        elif under_way:
            under_way.pop().__exit__(None, None, None)
    laps.append(watch.lap())
    assert sum(ns for lap in laps for ns in lap.values()) == clock.now_ns - 17
    assert all(list(lap) == [phase for phase in PHASES if phase in lap] for lap in laps)


def test_what_was_spent_is_kept_and_read_again_over_all_sittings(tmp_path: Path) -> None:
    clock, record = Hands(), Record.create(tmp_path / "record", "spent")
    first = SpentTime(record, Stopwatch(clock))
    with first.stopwatch("measure"):
        clock.now_ns += 2_000_000_000
    first.keep(1)
    later = Hands(5)
    second = SpentTime(record, Stopwatch(later), first.lines)
    with second.stopwatch("stop"):
        later.now_ns += 500_000_000
    second.keep(2)
    lines = read_telemetry(record).spent
    assert lines == second.lines
    assert [line.epoch for line in lines] == [1, 2]
    spent = Spent.of(lines)
    assert spent is not None
    assert (spent.seconds, spent.loaded_seconds) == (2.5, 2.0)
    assert [(one.phase, one.seconds) for one in spent.phases] == [("measure", 2.0), ("stop", 0.5)]


def test_a_record_from_before_it_was_kept_has_no_sum() -> None:
    assert Spent.of(()) is None
