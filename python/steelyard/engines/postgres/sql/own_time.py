"""Brings a server's timers into its own time: it stands still while other arms work.

A server reads the wall clock, which runs as many times as fast as its own time as there are arms.
What its background waits for is multiplied by that number, where it is long beside a slice; what is
shorter fires once at a thaw, whatever it is set to. Within a slice the wall clock is its own time:
timers of what is under way only there stay as they are, since every statement has ended, or was
cancelled, when its arm is suspended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.engines.capabilities.checkpoints import Cycle, Scaled
from steelyard.engines.postgres.sql.checkpoints import LEAST_TIMEOUT_S, cycle_of, scaled
from steelyard.model.setting_value import reported
from steelyard.model.units import NS_PER_MS, NS_PER_S, format_duration

LONG_MS = 250
"""About a slice: what waits shorter than this fires at every thaw."""
_MOST = 2**31 - 1
"""INT_MAX, the largest value of most settings in their own unit."""
_MINUTES = _MOST // 60 * 60_000
_SECONDS = _MOST * 1000

Rule = Literal["multiplied", "where long", "with standbys", "left"]


@dataclass(frozen=True)
class Timer:
    """A setting that a server compares with the wall clock, and what own time makes of it."""

    name: str
    rule: Rule
    why: str
    most_ms: int = _MOST
    """The largest value that the server takes (guc_tables.c)."""
    at_thaw: bool = False
    """Whether it fires at a thaw where it is left."""


_WITHIN = "only while a statement is under way, which none is while its arm stands still"
_STANDBY = "primary and standby stand still together"
_LOG = "decides about lines of the log alone"
TIMERS = (
    Timer("checkpoint_timeout", "multiplied", "it spaces checkpoints, and paces their writes",
          86_400_000),
    Timer("checkpoint_warning", "multiplied", "it is held against the time between checkpoints",
          _SECONDS),
    Timer("autovacuum_naptime", "multiplied", "it spaces the launcher's rounds",
          _MOST // 1000 * 1000),
    Timer("archive_timeout", "multiplied", "it switches segments of log", _MOST // 2 * 1000),
    Timer("idle_session_timeout", "multiplied", "sessions of an arm that stands still are idle"),
    Timer("idle_replication_slot_timeout", "multiplied", "slots of an arm that stands still are "
          "idle", _SECONDS),
    Timer("wal_summary_keep_time", "multiplied", "it spaces the removal of summaries", _MINUTES),
    Timer("old_snapshot_threshold", "multiplied", "snapshots grow old by the wall clock",
          86_400 * 60_000),
    Timer("io_worker_idle_timeout", "multiplied", "workers of an arm that stands still are idle"),
    Timer("bgwriter_delay", "where long", "one round at a thaw, then as ever", 10_000,
          at_thaw=True),
    Timer("wal_writer_delay", "where long", "one flush at a thaw, then as ever", 10_000,
          at_thaw=True),
    Timer("io_worker_launch_interval", "where long", "one worker more at a thaw, then as ever",
          at_thaw=True),
    Timer("autovacuum_vacuum_cost_delay", "left", "100 ms at most: one pause less at a thaw", 100,
          at_thaw=True),
    Timer("vacuum_cost_delay", "left", "100 ms at most, within a statement", 100),
    Timer("deadlock_timeout", "left", "clients wait for locks within slices alone; a worker's "
          "check may come early at a thaw", at_thaw=True),
    Timer("statement_timeout", "left", _WITHIN),
    Timer("transaction_timeout", "left", _WITHIN),
    Timer("lock_timeout", "left", _WITHIN),
    Timer("idle_in_transaction_session_timeout", "left", "no transaction is open while its arm "
          "stands still"),
    Timer("client_connection_check_interval", "left", _WITHIN),
    Timer("commit_delay", "left", "microseconds, within a commit"),
    Timer("authentication_timeout", "left", "nobody connects while an arm stands still", 600_000),
    Timer("password_expiration_warning_threshold", "left", "a warning to whoever connects",
          _SECONDS),
    Timer("post_auth_delay", "left", "before any slice", _MOST // 1_000_000 * 1000),
    Timer("pre_auth_delay", "left", "before any slice", 60_000),
    Timer("tcp_keepalives_idle", "left", "the kernel's: it answers for a process that stands still",
          _SECONDS),
    Timer("tcp_keepalives_interval", "left", "as tcp_keepalives_idle", _SECONDS),
    Timer("tcp_user_timeout", "left", "as tcp_keepalives_idle"),
    Timer("log_autovacuum_min_duration", "left", _LOG),
    Timer("log_autoanalyze_min_duration", "left", _LOG),
    Timer("log_min_duration_sample", "left", _LOG),
    Timer("log_min_duration_statement", "left", _LOG),
    Timer("log_startup_progress_interval", "left", _LOG),
    Timer("log_rotation_age", "left", "the log is read from standard error, and never rotated",
          _MINUTES),
    Timer("max_standby_archive_delay", "left", "a standby here reads no archive"),
    Timer("max_standby_streaming_delay", "with standbys", "replay waits so long for sessions"),
    Timer("recovery_min_apply_delay", "with standbys", "replay waits so long after each commit"),
    Timer("wal_receiver_status_interval", "with standbys", _STANDBY, _MOST // 1000 * 1000),
    Timer("wal_receiver_timeout", "with standbys", _STANDBY),
    Timer("wal_retrieve_retry_interval", "left", "a standby here has its log from its primary"),
    Timer("wal_sender_timeout", "with standbys", _STANDBY),
    Timer("wal_sender_shutdown_timeout", "left", "how long a stop waits for a standby"),
    Timer("pg_prewarm.autoprewarm_interval", "multiplied", "it spaces lists of the pool's pages",
          _MOST // 1000 * 1000),
    Timer("pg_stash_advice.persist_interval", "multiplied", "it spaces the writing of advice",
          3_600_000),
    Timer("auto_explain.log_min_duration", "left", _LOG),
    Timer("auth_delay.milliseconds", "left", "nobody connects while an arm stands still",
          _MOST // 1000),
)  # fmt: skip
"""Every setting in units of time of PostgreSQL 16 to 19 and of their contrib, and commit_delay."""
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "": 1}
_TIMEOUT = TIMERS[0]
_NAMES = frozenset(timer.name for timer in TIMERS)
_IN_TIME = tuple(f" {unit}" for unit in _MILLISECONDS if unit)
"""How a value in units of time ends."""


def in_own_time(settings: Mapping[str, str], factor: float, arms: int) -> Scaled:
    """The settings that space checkpoints, divided by `factor`, and timers multiplied by the number
    of arms; the cycle that comes with them is in own time.

    `settings`: as the server reports them. EngineError: one that spaces checkpoints is missing.
    The server takes no checkpoint_timeout below 30 s of wall time: 30 s / arms of its own; and none
    above a day.
    """
    # Log is no time: its limits are left to the user's own, which whole segments would round.
    spaced = Scaled({}, cycle_of(settings)) if factor == 1 else scaled(settings, factor)
    wanted_ms = cycle_of(settings).timeout_ns / NS_PER_MS * arms / factor
    timeout_s = min(_TIMEOUT.most_ms // 1000, max(LEAST_TIMEOUT_S, round(wanted_ms / 1000)))
    timers = list(_multiplied(settings, arms))
    cycle = Cycle(
        timeout_ns=round(timeout_s * NS_PER_S / arms),
        wal_bytes=spaced.cycle.wal_bytes,
        largest_scale=largest_scale(settings, arms),
    )
    return Scaled(
        {
            **spaced.settings,
            **{timer.name: f"{ms}ms" for timer, _, ms in timers},
            _TIMEOUT.name: f"{timeout_s}s",
        },
        replace(spaced.cycle, timeout_ns=cycle.timeout_ns, largest_scale=cycle.largest_scale),
        (
            *_timeout_words(timeout_s * 1000, wanted_ms),
            *(_timer_words(timer, own_ms, ms, arms) for timer, own_ms, ms in timers),
            *_left_words(settings, {timer.name for timer, _, _ in timers}),
            *_unknown_words(settings, arms),
        ),
    )


def largest_scale(settings: Mapping[str, str], arms: int) -> float:
    """By how much checkpoints can be brought nearer in own time."""
    cycle = cycle_of(settings)
    by_timeout = cycle.timeout_ns / NS_PER_S * arms / LEAST_TIMEOUT_S
    by_log = cycle.wal_bytes / scaled(settings, 1e9).cycle.wal_bytes
    return max(1.0, min(by_timeout, by_log))


def milliseconds(settings: Mapping[str, str], name: str) -> int:
    """A setting in units of time, as the server reports it; 0: it is off, or is not there."""
    value, _, unit = settings.get(name, "").partition(" ")
    return int(value) * _MILLISECONDS.get(unit, 1) if value.isdigit() else 0


def _multiplied(settings: Mapping[str, str], arms: int) -> Iterator[tuple[Timer, int, int]]:
    """Timers that are set anew, in ms: as they were, and as they are to be."""
    rules = {"multiplied", "with standbys"} if _keeps_log(settings) else {"multiplied"}
    for timer in TIMERS:
        own_ms = milliseconds(settings, timer.name)
        long = timer.rule in rules or (timer.rule == "where long" and own_ms >= LONG_MS)
        if long and own_ms and timer is not _TIMEOUT:
            yield timer, own_ms, min(timer.most_ms, own_ms * arms)


def _keeps_log(settings: Mapping[str, str]) -> bool:
    """Whether the server keeps its log for standbys up to a limit, as every primary of a weighing
    is set."""
    return settings.get("max_slot_wal_keep_size", "-1").partition(" ")[0] != "-1"


def _timer_words(timer: Timer, own_ms: int, ms: int, arms: int) -> str:
    """`"autovacuum_naptime 2 min, 2 times its 1 min"`."""
    wanted_ms, duration = own_ms * arms, format_duration(own_ms * NS_PER_MS)
    if ms < wanted_ms:
        return _most_words(timer.name, ms, wanted_ms)
    return f"{timer.name} {format_duration(ms * NS_PER_MS)}, {arms} times its {duration}"


def _most_words(name: str, ms: float, wanted_ms: float) -> str:
    longest, requested = (format_duration(each * NS_PER_MS) for each in (ms, wanted_ms))
    return f"{name} {longest}, the longest that the server takes, in place of {requested}"


def _timeout_words(ms: int, wanted_ms: float) -> Iterator[str]:
    """Of checkpoint_timeout, where it is not what its own time wants: the plan has the distance."""
    if ms == _TIMEOUT.most_ms and ms < wanted_ms:
        yield _most_words(_TIMEOUT.name, ms, wanted_ms)


def _left_words(settings: Mapping[str, str], set_anew: set[str]) -> Iterator[str]:
    """What fires at a thaw."""
    for timer in TIMERS:
        if timer.at_thaw and timer.name not in set_anew and timer.name in settings:
            yield f"{timer.name} as it is: {timer.why}"


def _unknown_words(settings: Mapping[str, str], arms: int) -> Iterator[str]:
    """Of what is no setting of PostgreSQL, or one of a version that is not known yet."""
    for name, value in settings.items():
        if value.endswith(_IN_TIME) and name not in _NAMES and (reported(value)[0] or 0) > 0:
            yield (
                f"{name} {value} as it is: what it counts is not known, and in own time it is "
                f"{arms} times as short"
            )
