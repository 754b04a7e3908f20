"""A server that stands still while others work keeps its distances in its own time."""

from __future__ import annotations

import pytest

from engines.postgres.sql.conftest import Server
from own_cache import own_server
from steelyard.engines.postgres.sql.checkpoints import cycle_of
from steelyard.engines.postgres.sql.own_time import (
    TIMERS,
    in_own_time,
    largest_scale,
    milliseconds,
)
from steelyard.model.units import NS_PER_S
from steelyard.running.measuring.observation import settings_of

SHIPPED = {
    "checkpoint_timeout": "300 s",
    "checkpoint_completion_target": "0.9 ",
    "max_wal_size": "1024 MB",
    "min_wal_size": "80 MB",
    "wal_segment_size": "16777216 B",
    "autovacuum_naptime": "60 s",
    "bgwriter_delay": "200 ms",
    "idle_session_timeout": "600000 ms",
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
    assert spaced.settings["idle_session_timeout"] == f"{600_000 * arms}ms"
    assert f"autovacuum_naptime {arms} min, {arms} times its 1 min" in spaced.timers


def test_timers_between_primary_and_standby_are_multiplied_where_there_is_one() -> None:
    between = {
        "wal_sender_timeout": "60000 ms",
        "wal_receiver_timeout": "60000 ms",
        "wal_receiver_status_interval": "10 s",
        "max_standby_streaming_delay": "30000 ms",
        "recovery_min_apply_delay": "5000 ms",
    }
    alone = in_own_time({**SHIPPED, **between, "max_slot_wal_keep_size": "-1 MB"}, 1, 3)
    assert set(between).isdisjoint(alone.settings)
    assert not any("wal_" in words for words in alone.timers)
    paired = in_own_time({**SHIPPED, **between, "max_slot_wal_keep_size": "4096 MB"}, 1, 3)
    assert paired.settings["wal_sender_timeout"] == "180000ms"
    assert paired.settings["wal_receiver_timeout"] == "180000ms"
    assert paired.settings["wal_receiver_status_interval"] == "30000ms"
    assert paired.settings["max_standby_streaming_delay"] == "90000ms"
    assert paired.settings["recovery_min_apply_delay"] == "15000ms"
    assert "wal_sender_timeout 3 min, 3 times its 1 min" in paired.timers


def test_log_is_no_time() -> None:
    alone, several = in_own_time(SHIPPED, 4, 1), in_own_time(SHIPPED, 4, 5)
    assert several.settings["max_wal_size"] == alone.settings["max_wal_size"]
    assert several.cycle.wal_bytes == alone.cycle.wal_bytes


@pytest.mark.parametrize("limit_mb", [32, 48, 1000, 1024, 65536])
def test_limits_of_the_log_are_the_users_own_where_nothing_is_brought_nearer(limit_mb: int) -> None:
    own = {**SHIPPED, "max_wal_size": f"{limit_mb} MB"}
    spaced = in_own_time(own, 1, 3)
    assert {"max_wal_size", "min_wal_size"}.isdisjoint(spaced.settings)
    assert spaced.cycle.wal_bytes == cycle_of(own).wal_bytes


def test_a_timer_that_is_off_stays_off_and_one_within_statements_is_left() -> None:
    spaced = in_own_time(SHIPPED, 1, 2)
    assert "statement_timeout" not in spaced.settings
    assert {"lock_timeout", "deadlock_timeout"}.isdisjoint(spaced.settings)
    left = {timer.name for timer in TIMERS if timer.rule == "left"}
    assert left.isdisjoint(spaced.settings)
    assert all(timer.why for timer in TIMERS)
    assert any(words.startswith("deadlock_timeout as it is: ") for words in spaced.timers)
    off = in_own_time({**SHIPPED, "idle_session_timeout": "0 ms"}, 1, 2)
    assert "idle_session_timeout" not in off.settings


@pytest.mark.parametrize(
    ("delay", "arms", "comes_to"),
    [("200 ms", 2, None), ("249 ms", 8, None), ("250 ms", 2, "500ms"), ("3000 ms", 3, "9000ms"),
     ("3000 ms", 8, "10000ms")],
)  # fmt: skip
def test_a_delay_is_multiplied_where_it_is_long_beside_a_slice_up_to_the_longest_there_is(
    delay: str, arms: int, comes_to: str | None
) -> None:
    spaced = in_own_time({**SHIPPED, "bgwriter_delay": delay}, 1, arms)
    assert spaced.settings.get("bgwriter_delay") == comes_to
    said = [words for words in spaced.timers if words.startswith("bgwriter_delay")]
    if comes_to is None:
        assert said == ["bgwriter_delay as it is: one round at a thaw, then as ever"]
    elif comes_to == "10000ms":
        assert said == ["bgwriter_delay 10 s, the longest that the server takes, in place of 24 s"]


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
    [said] = [words for words in spaced.timers if words.startswith("checkpoint_timeout")]
    assert said == "checkpoint_timeout 24 h, the longest that the server takes, in place of 48 h"


@pytest.mark.parametrize(
    ("name", "value", "comes_to"),
    [
        ("pg_prewarm.autoprewarm_interval", "300 s", "900000ms"),
        ("pg_prewarm.autoprewarm_interval", "0 s", None),
        ("pg_stash_advice.persist_interval", "30 s", "90000ms"),
        ("pg_stash_advice.persist_interval", "3600 s", "3600000ms"),  # the longest there is
        ("auto_explain.log_min_duration", "3000 ms", None),
        ("auth_delay.milliseconds", "500 ms", None),
    ],
)
def test_timers_of_contrib_are_treated_as_the_servers_own(
    name: str, value: str, comes_to: str | None
) -> None:
    spaced = in_own_time({**SHIPPED, name: value}, 1, 3)
    assert spaced.settings.get(name) == comes_to
    assert not any("is not known" in words for words in spaced.timers)


@pytest.mark.parametrize("value", ["10 s", "250 ms", "0.5 ms", "5 min"])
def test_a_setting_in_units_of_time_that_nobody_knows_is_left_and_named(value: str) -> None:
    unknown = {"worker_spi.naptime": value, "a_setting_of_20": value}
    spaced = in_own_time({**SHIPPED, **unknown}, 1, 2)
    assert set(unknown).isdisjoint(spaced.settings)
    for name in unknown:
        [words] = [each for each in spaced.timers if each.startswith(f"{name} ")]
        assert f"{value} as it is" in words
        assert "2 times as short" in words


@pytest.mark.parametrize("value", ["0 s", "-1 ms", "64 kB", "16384 8kB", "on", "", "100"])
def test_what_is_off_or_no_time_is_not_named(value: str) -> None:
    assert in_own_time({**SHIPPED, "x.y": value}, 1, 2) == in_own_time(SHIPPED, 1, 2)


def test_every_setting_in_units_of_time_is_in_the_table(server: Server) -> None:
    """The oracle is pg_settings of 16, 18 and 19, for the largest values of what is set too."""
    with server.connect() as session:
        rows = session.execute(
            "SELECT name, unit, max_val FROM pg_settings WHERE unit IN ('ms', 's', 'min')"
        ).fetchall()
    timers = {timer.name: timer for timer in TIMERS}
    assert len(rows) > 25
    assert {name for name, _, _ in rows} <= set(timers)
    factor = {"ms": 1, "s": 1000, "min": 60_000}
    for name, unit, most in rows:
        assert timers[name].most_ms == int(float(most) * factor[unit]), name


@pytest.mark.parametrize("version", ["16", "18", "19"])
def test_a_server_takes_what_own_time_makes_of_its_longest_timers(version: str) -> None:
    longest = {timer.name: f"{timer.most_ms} ms" for timer in TIMERS if timer.rule != "left"}
    own = in_own_time({**SHIPPED, **longest, "checkpoint_timeout": "86400 s"}, 1, 8).settings
    with own_server(version, {}) as plain:
        known = {*settings_of(plain)}
    wanted = {name: value for name, value in own.items() if name in known}
    with own_server(version, wanted) as instance:
        reported = settings_of(instance)
    for timer in TIMERS:
        if timer.name in wanted and timer.rule != "left":
            assert milliseconds(reported, timer.name) == timer.most_ms, timer.name
