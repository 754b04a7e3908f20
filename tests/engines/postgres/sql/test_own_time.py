"""A server that stands still while others work keeps its distances in its own time."""

from __future__ import annotations

import pytest

from steelyard.engines.postgres.sql.own_time import TIMERS, in_own_time, largest_scale
from steelyard.model.units import NS_PER_S

SHIPPED = {
    "checkpoint_timeout": "300 s",
    "checkpoint_completion_target": "0.9 ",
    "max_wal_size": "1024 MB",
    "min_wal_size": "80 MB",
    "wal_segment_size": "16777216 B",
    "autovacuum_naptime": "60 s",
    "statement_timeout": "0 ms",
    "lock_timeout": "2000 ms",
    "deadlock_timeout": "1000 ms",
}


@pytest.mark.parametrize("arms", [2, 3, 8])
def test_the_wall_clock_of_a_server_runs_as_many_times_as_fast_as_there_are_arms(arms: int) -> None:
    spaced = in_own_time(SHIPPED, 1, arms)
    assert spaced.settings["checkpoint_timeout"] == f"{300 * arms}s"
    assert spaced.cycle.timeout_ns == 300 * NS_PER_S
    assert spaced.settings["autovacuum_naptime"] == f"{60_000 * arms}ms"
    assert spaced.settings["lock_timeout"] == f"{2_000 * arms}ms"


def test_log_is_no_time() -> None:
    alone, several = in_own_time(SHIPPED, 4, 1), in_own_time(SHIPPED, 4, 5)
    assert several.settings["max_wal_size"] == alone.settings["max_wal_size"]
    assert several.cycle.wal_bytes == alone.cycle.wal_bytes


def test_a_timer_that_is_off_stays_off_and_a_short_one_is_left_alone() -> None:
    settings = in_own_time(SHIPPED, 1, 2).settings
    assert "statement_timeout" not in settings
    assert "deadlock_timeout" not in settings
    left = {timer.name for timer in TIMERS if not timer.multiplied}
    assert left.isdisjoint(settings)
    assert all(timer.why for timer in TIMERS)


@pytest.mark.parametrize("arms", [2, 4])
def test_checkpoints_come_nearer_in_own_time_than_the_server_allows_on_the_wall(arms: int) -> None:
    roomy = {**SHIPPED, "max_wal_size": "1048576 MB"}
    assert largest_scale(roomy, arms) == 10 * arms
    nearest = in_own_time(roomy, 10 * arms, arms)
    assert nearest.settings["checkpoint_timeout"] == "30s"
    assert nearest.cycle.timeout_ns == 30 * NS_PER_S // arms
    assert in_own_time(roomy, 1000, arms).cycle.timeout_ns == 30 * NS_PER_S // arms


def test_the_longest_timeout_of_a_server_is_not_exceeded() -> None:
    day = {**SHIPPED, "checkpoint_timeout": "86400 s"}
    spaced = in_own_time(day, 1, 2)
    assert spaced.settings["checkpoint_timeout"] == "86400s"
    assert spaced.cycle.timeout_ns == 43_200 * NS_PER_S
