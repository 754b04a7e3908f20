"""Checkpoints are seen from outside as they begin and end; their distance follows settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.engines.capabilities.checkpoints import CheckpointsWatched, CycleSettings
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.checkpoints import (
    LogWatch,
    cycle_of,
    log_limit,
    require_logged_checkpoints,
    scaled,
)
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint
from thinned import thinned

pytestmark = pytest.mark.by_version

SEGMENT = 16 * 2**20
Slots = Callable[[int], Slot]
SETTINGS = {
    "checkpoint_timeout": "300 s",
    "max_wal_size": "1024 MB",
    "min_wal_size": "80 MB",
    "checkpoint_completion_target": "0.9",
    "wal_segment_size": "16777216 B",
}


@given(st.floats(0, 1e12), st.sampled_from(["0.5", "0.9", "1"]))
def test_the_limit_that_is_to_be_typed_requests_no_checkpoint_before_so_much_log(
    wal_bytes: float, target: str
) -> None:
    settings = {**SETTINGS, "checkpoint_completion_target": target}
    limit = log_limit(settings, wal_bytes)["max_wal_size"]
    reported = f"{int(limit.removesuffix('GB')) * 1024} MB"
    reached = cycle_of({**settings, "max_wal_size": reported}).wal_bytes
    assert wal_bytes <= reached <= wal_bytes + 2**30 + 3 * SEGMENT


def test_the_cycle_is_that_of_timeout_and_log() -> None:
    cycle = cycle_of(SETTINGS)
    assert cycle.timeout_ns == 300_000_000_000
    assert cycle.wal_bytes == 33 * SEGMENT  # 64 segments / 1.9, rounded down
    assert cycle.largest_scale == 10  # checkpoint_timeout is at least 30 s


@pytest.mark.parametrize(
    ("limit_mb", "target", "segments"),
    [(32, "0.9", 1), (47, "0.9", 1), (64, "0.9", 2), (100, "0.5", 4), (32, "0", 2), (96, "1", 3)],
)
def test_the_log_between_checkpoints_is_whole_segments_as_the_server_counts_them(
    limit_mb: int, target: str, segments: int
) -> None:
    settings = SETTINGS | {"max_wal_size": f"{limit_mb} MB", "checkpoint_completion_target": target}
    assert cycle_of(settings).wal_bytes == segments * SEGMENT


def test_larger_segments_count() -> None:
    settings = SETTINGS | {"wal_segment_size": "67108864 B"}
    assert cycle_of(settings).wal_bytes == 8 * 4 * SEGMENT  # 16 / 1.9


def test_small_logs_bound_the_factor() -> None:
    small = SETTINGS | {"max_wal_size": "64 MB"}
    assert cycle_of(small).largest_scale == 2  # one segment instead of two
    assert cycle_of(small | {"checkpoint_timeout": "10 s"}).largest_scale == 1
    assert cycle_of(SETTINGS | {"max_wal_size": "32 MB"}).largest_scale == 1


def test_a_factor_divides_the_timeout_and_both_limits_and_keeps_what_the_server_allows() -> None:
    four = scaled(SETTINGS, 4)
    assert four.settings == {
        "checkpoint_timeout": "75s",
        "max_wal_size": "256MB",
        "min_wal_size": "32MB",
    }
    assert four.cycle.timeout_ns == 75_000_000_000
    assert four.cycle.wal_bytes == 8 * SEGMENT


@given(
    st.integers(32, 100_000),
    st.sampled_from(["0", "0.1", "0.5", "0.7", "0.9", "1"]),
    st.floats(1, 50),
)
def test_the_distance_that_is_set_is_the_nearest_there_is_and_the_one_that_is_said(
    limit_mb: int, target: str, factor: float
) -> None:
    settings = SETTINGS | {"max_wal_size": f"{limit_mb} MB", "checkpoint_completion_target": target}
    own, spaced = cycle_of(settings), scaled(settings, factor)
    size = spaced.settings["max_wal_size"].removesuffix("MB")
    assert int(size) >= 32, "the server starts with no less"
    assert cycle_of(settings | {"max_wal_size": f"{size} MB"}).wal_bytes == spaced.cycle.wal_bytes
    if factor <= own.largest_scale:
        assert abs(spaced.cycle.wal_bytes - own.wal_bytes / factor) <= SEGMENT / 2 + 1


def test_a_setting_in_another_unit_is_an_error() -> None:
    with pytest.raises(EngineError, match='setting "checkpoint_timeout"'):
        cycle_of(SETTINGS | {"checkpoint_timeout": "5 min"})


@pytest.mark.parametrize("name", ["log_checkpoints", "logging_collector", "log_destination"])
def test_settings_that_hide_checkpoints_are_refused(name: str) -> None:
    require_logged_checkpoints({"log_checkpoints": "on", "logging_collector": "off"})
    with pytest.raises(EngineError, match=f'cannot see checkpoints: setting "{name}"'):
        require_logged_checkpoints({name: "csvlog" if name == "log_destination" else "nonsense"})


@pytest.mark.parametrize(("level", "hides"), [("log", False), ("fatal", True), ("panic", True)])
def test_a_level_above_that_of_checkpoints_is_refused(level: str, hides: bool) -> None:
    refused = pytest.raises(EngineError, match='setting "log_min_messages"')
    with refused if hides else nullcontext():
        require_logged_checkpoints({"log_min_messages": level})


@pytest.mark.parametrize(
    ("levels", "hides"),
    [
        ("warning, autovacuum:debug1", False),
        ("autovacuum:fatal, backend:panic, warning", False),
        ("fatal, checkpointer:log", False),
        ("warning, checkpointer:fatal", True),
        ("checkpointer : panic , log", True),
        ("backend:debug1, fatal", True),
    ],
)
def test_of_levels_by_process_the_checkpointers_counts(levels: str, hides: bool) -> None:
    refused = pytest.raises(EngineError, match='setting "log_min_messages"')
    with refused if hides else nullcontext():
        require_logged_checkpoints({"log_min_messages": levels})


@pytest.mark.parametrize(
    ("locale", "hides"),
    [("C", False), ("C.UTF-8", False), ("POSIX", False), ("en_US.utf8", False), ("en_GB", False),
     ("en", False), ("de_DE.UTF-8", True), ("ca_ES@valencia", True), ("", True)],
)  # fmt: skip
def test_messages_in_english_are_read_whatever_locale_says_so(locale: str, hides: bool) -> None:
    refused = pytest.raises(EngineError, match='setting "lc_messages"')
    with refused if hides else nullcontext():
        require_logged_checkpoints({"lc_messages": locale})


@pytest.mark.parametrize("code", [b"", b"00000: "])
def test_a_wall_clock_that_is_set_back_does_not_move_a_checkpoint(
    tmp_path: Path, code: bytes
) -> None:
    log, now = tmp_path / "server.log", [1_000]
    log.write_bytes(b"")
    watch = LogWatch.__new__(LogWatch)  # without a server, a connection and a thread
    watch._log, watch._rest, watch._checkpoints = log.open("rb"), b"", []
    watch._now_ns = lambda: now[0]
    with watch._log:
        for stamp, words in (
            (b"2026-11-24 03:00:00 UTC [7] ", b"LOG:  checkpoint starting: time\n"),
            (b"2026-11-24 01:59:58 UTC [7] ", b"LOG:  checkpoint complete: wrote 9 buffers\n"),
        ):
            with log.open("ab") as server:
                server.write(stamp + words.replace(b"LOG:  ", b"LOG:  " + code))
            now[0] += 500
            watch._read()
    assert watch.checkpoints == (Checkpoint(1_500, 2_000, "time"),)


@pytest.mark.postgres
def test_an_engine_reads_the_settings_its_own_server_reports(
    engine: Postgres, cluster: Cluster, slot_of: Slots
) -> None:
    assert isinstance(engine, CycleSettings)
    cluster.start(slot_of(0), {"checkpoint_timeout": "10min", "max_wal_size": "2GB"})
    cycle = engine.cycle(cluster.settings())
    assert cycle.timeout_ns == 600_000_000_000
    assert cycle.largest_scale == 20
    spaced = engine.scaled(cluster.settings(), 20)
    cluster.stop()
    cluster.start(slot_of(0), spaced.settings)
    assert cluster.settings()["checkpoint_timeout"] == "30 s"


@pytest.mark.postgres
@thinned("verbosity", ["default", "verbose"], 1)
def test_a_checkpoint_is_seen_to_begin_and_end_and_leaves_nothing_owed(
    cluster: Cluster, slot_of: Slots, engine: Postgres, verbosity: str
) -> None:
    assert isinstance(cluster, CheckpointsWatched)
    worded = {"log_error_verbosity": verbosity, "log_min_messages": "log"}
    cluster.start(slot_of(0), {**engine.log_checkpoints, **worded})
    watch = cluster.watch_checkpoints("postgres", time.monotonic_ns)
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
        session.execute("CREATE TABLE t AS SELECT generate_series(1, 100000) AS n")
        before = watch.pulse()
        asked_ns = time.monotonic_ns()
        session.execute("CHECKPOINT")
        done_ns = time.monotonic_ns()
        deadline = done_ns + 5_000_000_000
        while not any(one.ended_ns for one in watch.checkpoints) and time.monotonic_ns() < deadline:
            time.sleep(0.01)
        after = watch.pulse()
    watch.close()
    watch.close()  # twice does no harm
    [seen] = watch.checkpoints
    assert seen.ended_ns is not None
    assert asked_ns <= seen.began_ns <= seen.ended_ns
    assert "force" in seen.cause or "immediate" in seen.cause or "fast" in seen.cause
    assert before is not None
    assert after is not None
    assert before.owed_bytes > 1_000_000 > after.owed_bytes
    assert after.wal_bytes >= before.wal_bytes


@pytest.mark.postgres
def test_images_are_counted_anew_after_a_checkpoint(
    cluster: Cluster, slot_of: Slots, engine: Postgres
) -> None:
    cluster.start(slot_of(0), engine.log_checkpoints)
    watch = cluster.watch_checkpoints("postgres", time.monotonic_ns)

    def images(session: Any) -> float:
        session.execute("UPDATE t SET n = n")
        session.execute("SELECT pg_stat_force_next_flush()")
        session.execute("SELECT 1")
        pulse = watch.pulse()
        assert pulse is not None
        return pulse.images

    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
        if cluster.identity.version_number < 150000:
            pytest.skip("statistics are flushed on their own time")
        session.execute("CREATE TABLE t WITH (fillfactor = 40) AS SELECT 1 AS n")
        session.execute("CHECKPOINT")
        first = images(session)
        second = images(session)
        session.execute("CHECKPOINT")
        third = images(session)
    watch.close()
    assert second - first < third - second


@pytest.mark.postgres
def test_a_server_that_died_has_no_pulse(
    cluster: Cluster, slot_of: Slots, engine: Postgres
) -> None:
    cluster.start(slot_of(0), engine.log_checkpoints)
    watch = cluster.watch_checkpoints("postgres", time.monotonic_ns)
    cluster.crash()
    assert watch.pulse() is None
    watch.close()


@pytest.mark.postgres
@thinned(
    "silent",
    [{"log_checkpoints": "off"}, {"log_checkpoints": "on", "log_min_messages": "fatal"}],
    1,
)
def test_an_arm_whose_log_is_silent_is_refused(
    cluster: Cluster, slot_of: Slots, silent: dict[str, str]
) -> None:
    cluster.start(slot_of(0), silent)
    with pytest.raises(EngineError, match="cannot see checkpoints"):
        cluster.watch_checkpoints("postgres", time.monotonic_ns)
