"""A server that stands still while others work keeps its limits in its own time, and its log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.engines.mysql.sql.own_time import (
    ROUND_NS,
    TIMERS,
    cycle_of,
    in_own_time,
    log_bytes,
    scaled,
)
from steelyard.model.errors import EngineError
from steelyard.model.units import NS_PER_S

MB = 1 << 20
SHIPPED = {
    "innodb_log_file_size": str(48 * MB),
    "innodb_log_files_in_group": "2",
    "innodb_lock_wait_timeout": "50",
    "innodb_flush_log_at_timeout": "1",
    "innodb_old_blocks_time": "1000",
    "innodb_io_capacity": "200",
    "lock_wait_timeout": "31536000",
    "max_statement_time": "0.250000",
    "max_execution_time": "0",
    "flush_time": "0",
    "wait_timeout": "28800",
    "long_query_time": "10.000000",
}


@pytest.mark.parametrize("arms", [2, 3, 8])
def test_what_is_waited_for_between_slices_is_multiplied_by_the_number_of_arms(arms: int) -> None:
    settings = in_own_time(SHIPPED, 1, arms).settings
    assert settings["wait_timeout"] == str(28_800 * arms)
    assert settings["innodb_flush_log_at_timeout"] == str(arms)
    assert settings["innodb_old_blocks_time"] == str(1000 * arms)


def test_what_is_off_stays_so_and_limits_of_statements_and_rounds_are_left_alone() -> None:
    settings = in_own_time({**SHIPPED, "interactive_timeout": "31536000"}, 1, 2).settings
    off = {"flush_time", "interactive_timeout"}  # the second is as long as it can be
    left = {timer.name for timer in TIMERS if timer.most is None}
    assert {"innodb_io_capacity", "long_query_time", "innodb_lock_wait_timeout"} < left
    assert (off | left).isdisjoint(settings)


def test_what_was_done_is_said_of_each_timer_that_was_set() -> None:
    near = {**SHIPPED, "wait_timeout": "30000000"}
    spaced = in_own_time(near, 1, 2)
    assert "innodb_old_blocks_time 2000, 2 times its 1000" in spaced.timers
    most = "wait_timeout 31536000, the most that the server takes, in place of 2 times its 30000000"
    assert most in spaced.timers
    assert len(spaced.timers) == len(spaced.settings) + 1
    assert "each slice holds one" in spaced.timers[-1]


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("mysqlx_wait_timeout", "28800", True),
        ("a_plugin_flush_interval", "0.5", True),
        ("mysqlx_wait_timeout", "0", False),  # off
        ("replica_net_timeout", "60", False),  # slave_net_timeout by its new name
        ("innodb_spin_wait_delay", "6", False),  # turns of a loop
        ("innodb_rollback_on_timeout", "ON", False),
        ("max_delayed_threads", "20", False),
    ],
)
def test_a_timer_that_nobody_knows_is_left_and_named(name: str, value: str, named: bool) -> None:
    spaced = in_own_time({**SHIPPED, name: value}, 1, 3)
    assert name not in spaced.settings
    words = [each for each in spaced.timers if each.startswith(f"{name} {value} as it is")]
    assert len(words) == named
    assert all("3 times as short" in each for each in words)


def test_no_timer_exceeds_what_the_server_takes_and_each_has_a_reason() -> None:
    most = {timer.name: timer.most for timer in TIMERS if timer.most is not None}
    near = {**SHIPPED, **{name: str(int(value) - 1) for name, value in most.items()}}
    settings = in_own_time(near, 1, 8).settings
    assert {name: int(settings[name]) for name in most} == most
    assert all(timer.why for timer in TIMERS)
    assert len({timer.name for timer in TIMERS}) == len(TIMERS)


def test_a_cycle_is_a_turn_of_the_log_and_a_slice_holds_one_round() -> None:
    cycle = cycle_of(SHIPPED)
    assert (cycle.wal_bytes, cycle.continuous, cycle.round_ns) == (96 * MB, True, ROUND_NS)
    assert cycle.round_ns < NS_PER_S < 2 * cycle.round_ns
    assert cycle.largest_scale == 12
    assert in_own_time(SHIPPED, 4, 5).cycle == scaled(SHIPPED, 4).cycle, "log is no time"


@pytest.mark.parametrize(
    ("settings", "name", "least"),
    [
        ({"innodb_log_file_size": str(96 * MB)}, "innodb_log_file_size", 4 * MB),
        (SHIPPED, "innodb_log_file_size", 4 * MB),
        (
            {**SHIPPED, "innodb_redo_log_capacity": str(100 * MB)},
            "innodb_redo_log_capacity",
            8 * MB,
        ),
        ({**SHIPPED, "innodb_redo_log_capacity": "0"}, "innodb_log_file_size", 4 * MB),
    ],
)
def test_the_setting_that_says_how_large_the_log_is_is_divided(
    settings: dict[str, str], name: str, least: int
) -> None:
    assert list(scaled(settings, 2).settings) == [name]
    assert int(scaled(settings, 2).settings[name]) * 2 == int(settings[name])
    assert int(scaled(settings, 1e6).settings[name]) == least
    assert scaled(settings, 1).settings == {}


@given(
    size_mb=st.integers(4, 100_000), files=st.integers(1, 4), factor=st.floats(1.1, 1000)
)  # fmt: skip
def test_the_cycle_is_that_of_the_settings_as_they_are_set(
    size_mb: int, files: int, factor: float
) -> None:
    own = {"innodb_log_file_size": str(size_mb * MB), "innodb_log_files_in_group": str(files)}
    spaced = scaled(own, factor)
    assert spaced.cycle.wal_bytes == cycle_of({**own, **spaced.settings}).wal_bytes
    wanted = cycle_of(own).wal_bytes / factor
    assert abs(spaced.cycle.wal_bytes - max(4 * MB * files, wanted)) <= files * MB / 2


def test_a_server_that_does_not_say_how_large_its_log_is_is_refused() -> None:
    with pytest.raises(EngineError, match="innodb_log_file_size"):
        cycle_of({"wait_timeout": "28800"})
    assert log_bytes({"wait_timeout": "28800"}) == 0


@pytest.mark.parametrize(
    ("capacity_mb", "size_mb", "files", "log_mb"),
    [
        (100, 48, 2, 100),  # nothing is set
        (100, 2048, 2, 4096),  # the capacity is not set: the files count
        (100, 48, 4, 192),
        (100, 2048, None, 4096),
        (200, 2048, 2, 200),  # the capacity is set: they do not
        (8, 2048, 4, 8),
        (200, 48, 2, 200),
        (None, 2048, 2, 4096),  # a server that has no capacity
    ],
)
def test_the_log_is_as_large_as_the_server_makes_it(
    capacity_mb: int | None, size_mb: int, files: int | None, log_mb: int
) -> None:
    """MySQL from 8.0.30 on reports a capacity that it does not use where files were set."""
    settings = {"innodb_log_file_size": str(size_mb * MB)}
    if files is not None:
        settings["innodb_log_files_in_group"] = str(files)
    if capacity_mb is not None:
        settings["innodb_redo_log_capacity"] = str(capacity_mb * MB)
    assert log_bytes(settings) == cycle_of(settings).wal_bytes == log_mb * MB


@given(
    sizes_mb=st.lists(st.integers(49, 100_000), min_size=2, max_size=2, unique=True),
    factor=st.floats(1.1, 4),
)
def test_arms_with_files_of_different_sizes_are_brought_nearer_as_different(
    sizes_mb: list[int], factor: float
) -> None:
    """A capacity that is set for both would put what each of them set out of effect."""
    shared = {**SHIPPED, "innodb_redo_log_capacity": str(100 * MB)}
    arms = [{**shared, "innodb_log_file_size": str(size * MB)} for size in sizes_mb]
    for own in arms:
        spaced = scaled(own, factor)
        assert list(spaced.settings) == ["innodb_log_file_size"]
        assert abs(spaced.cycle.wal_bytes - log_bytes(own) / factor) <= 2 * MB
