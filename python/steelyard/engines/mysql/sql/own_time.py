"""Brings InnoDB's distances nearer, and a server's timers into its own time.

InnoDB has no checkpoints that begin and end: it writes dirty pages all the time, at the pace at
which the log is used up. What spaces them is therefore the room of the log: when it has turned over
once, every page that was dirty before has been written. A cycle is one turn of the log.

A server that stands still while other arms work reads a clock that runs as many times as fast as
its own time as there are arms. What its sessions and its background wait for between slices is
multiplied by that number. Within a slice that clock is its own time: limits of statements stay as
they are, since each has ended, or was cancelled, when its arm is suspended. The page cleaner
and the master thread work once a second of the wall clock, in rounds that no setting moves: slices
of a little less than a second hold one round each, as a second of a server that runs alone does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.engines.capabilities.checkpoints import Cycle, Scaled
from steelyard.model.errors import EngineError
from steelyard.model.units import NS_PER_MS

ROUND_NS = 950 * NS_PER_MS
"""A round is due at the thaw, and the next a second later: after the end of a slice of this length.
In one of exactly a second it would fall into the slice or not, by chance."""
_MB = 1 << 20
_NEVER_NS = 10**18
"""No time spaces them."""
_LEAST_BYTES = {"innodb_log_file_size": 4 * _MB, "innodb_redo_log_capacity": 8 * _MB}
"""ha_innodb.cc of MySQL 5.7 and of MariaDB 10.11; log0constants.h of MySQL 8.0.30."""
_CAPACITY = 100 * _MB
"""innodb_redo_log_capacity where it is not set."""
_FILES = (48 * _MB, 2)
"""innodb_log_file_size and innodb_log_files_in_group where they are not set."""
_LONGEST_S = 31_536_000
"""LONG_TIMEOUT of sys_vars.cc: a year."""
_WORD = 2**32 - 1


@dataclass(frozen=True)
class WallTimer:
    """A setting that a server compares with the wall clock, and what own time makes of it."""

    name: str
    why: str
    most: float | None = None
    """The most that the server takes, where it is multiplied by the number of arms; None: it is
    left as it is."""


_STATEMENT = "only while a statement is under way, which none is while its arm stands still"
_IDLE = "sessions of an arm that stands still are idle"
_NETWORK = "only within an answer, or while a session begins"
_TRANSACTION = "no transaction is open while its arm stands still"
_REPLICA = "no server here replicates"
_SHORT = "shorter than a slice, and nothing waits while its arm stands still"
_LOG = "it decides about lines of a log or counters alone"
_DAYS = "days"
_ROUNDS = "each slice holds one"
_TURNS = "turns of a loop, and no time"
_NO_POOL = "each connection has its own thread here"

TIMERS = (
    WallTimer("innodb_lock_wait_timeout", _STATEMENT),
    WallTimer("lock_wait_timeout", _STATEMENT),
    WallTimer("max_statement_time", _STATEMENT),
    WallTimer("max_execution_time", _STATEMENT),
    WallTimer("deadlock_timeout_long", _STATEMENT),
    WallTimer("idle_transaction_timeout", _TRANSACTION),
    WallTimer("idle_readonly_transaction_timeout", _TRANSACTION),
    WallTimer("idle_write_transaction_timeout", _TRANSACTION),
    WallTimer("wait_timeout", _IDLE, _LONGEST_S),
    WallTimer("interactive_timeout", _IDLE, _LONGEST_S),
    WallTimer("net_read_timeout", _NETWORK),
    WallTimer("net_write_timeout", _NETWORK),
    WallTimer("connect_timeout", _NETWORK),
    WallTimer("innodb_flush_log_at_timeout", "it spaces syncs where commits do none", 2700),
    WallTimer("innodb_old_blocks_time", "pages would be taken for old sooner", _WORD),
    WallTimer("innodb_fatal_semaphore_wait_threshold", "a server ends itself after it", _WORD),
    WallTimer("aria_checkpoint_interval", "it spaces checkpoints of Aria's tables", _WORD),
    WallTimer("flush_time", "it spaces the closing of all tables", _LONGEST_S),
    WallTimer("delayed_insert_timeout", _IDLE, _LONGEST_S),
    WallTimer("innodb_io_capacity", _ROUNDS),
    WallTimer("innodb_io_capacity_max", _ROUNDS),
    WallTimer("innodb_flushing_avg_loops", _ROUNDS),
    WallTimer("innodb_encryption_rotation_iops", _ROUNDS),
    WallTimer("innodb_defragment_frequency", "nothing is defragmented here"),
    WallTimer("innodb_api_bk_commit_interval", "no session comes by InnoDB's own interface"),
    WallTimer("innodb_thread_sleep_delay", _SHORT),
    WallTimer("innodb_adaptive_max_sleep_delay", _SHORT),
    WallTimer("innodb_max_purge_lag_delay", _SHORT),
    WallTimer("innodb_replication_delay", _REPLICA),
    WallTimer("deadlock_timeout_short", _SHORT),
    WallTimer("aria_group_commit_interval", _SHORT),
    WallTimer("binlog_commit_wait_usec", _SHORT),
    WallTimer("binlog_group_commit_sync_delay", _SHORT),
    WallTimer("binlog_max_flush_queue_time", _SHORT),
    WallTimer("progress_report_time", "clients of a load ask for no reports"),
    WallTimer("long_query_time", _LOG),
    WallTimer("log_slow_query_time", _LOG),
    WallTimer("slow_launch_time", _LOG),
    WallTimer("expire_logs_days", _DAYS),
    WallTimer("binlog_expire_logs_seconds", _DAYS),
    WallTimer("default_password_lifetime", _DAYS),
    WallTimer("slave_net_timeout", _REPLICA),
    WallTimer("slave_max_statement_time", _REPLICA),
    WallTimer("slave_checkpoint_period", _REPLICA),
    WallTimer("slave_transaction_retry_interval", _REPLICA),
    WallTimer("rpl_stop_slave_timeout", _REPLICA),
    WallTimer("rpl_semi_sync_master_timeout", _REPLICA),
    WallTimer("rpl_semi_sync_slave_kill_conn_timeout", _REPLICA),
    WallTimer("tcp_keepalive_time", "clients come by a Unix socket"),
    WallTimer("tcp_keepalive_interval", "clients come by a Unix socket"),
    WallTimer("thread_pool_idle_timeout", _NO_POOL),
    WallTimer("thread_pool_prio_kickup_timer", _NO_POOL),
    WallTimer("thread_pool_stall_limit", _NO_POOL),
    WallTimer("innodb_spin_wait_delay", _TURNS),
    WallTimer("innodb_log_spin_wait_delay", _TURNS),
    WallTimer("feedback_send_timeout", "nothing is sent to anybody"),
    WallTimer("port_open_timeout", "nobody listens but on a socket"),
)  # fmt: skip
"""Every timer of MySQL 5.7 and of MariaDB 10.11 that reads the wall clock."""
_NAMES = frozenset(timer.name for timer in TIMERS)
_COUNTS_TIME = re.compile(r"_(?:timeout|interval|delay|period|seconds|usec|lifetime)$")
"""How names end of settings that count time, as nearly all do: servers report no units."""


def cycle_of(settings: Mapping[str, str]) -> Cycle:
    """What settings, as the server reports them, make of its cycles; EngineError: none says how
    large the log is."""
    name, log_bytes, files = _log(settings)
    return Cycle(
        timeout_ns=_NEVER_NS,
        wal_bytes=float(log_bytes * files),
        largest_scale=max(1.0, log_bytes / _LEAST_BYTES[name]),
        continuous=True,
        round_ns=ROUND_NS,
    )


def scaled(settings: Mapping[str, str], factor: float) -> Scaled:
    """The room of the log divided by a factor, in whole MB."""
    name, log_bytes, files = _log(settings)
    if factor == 1:
        return Scaled({}, cycle_of(settings))
    size = max(_LEAST_BYTES[name], round(log_bytes / factor / _MB) * _MB)
    cycle = replace(cycle_of(settings), wal_bytes=float(size * files))
    return Scaled({name: str(size)}, cycle)


def in_own_time(settings: Mapping[str, str], factor: float, arms: int) -> Scaled:
    """The same, and what is waited for between slices multiplied by the number of arms: log is no
    time."""
    spaced, timers = scaled(settings, factor), _multiplied(settings, arms)
    return replace(
        spaced,
        settings={**spaced.settings, **timers},
        timers=(
            *(_words(name, settings[name], value, arms) for name, value in timers.items()),
            *_unknown_words(settings, arms),
            f"rounds of a second of the page cleaner and the master thread as they are: {_ROUNDS}",
        ),
    )


def log_bytes(settings: Mapping[str, str]) -> int:
    """The room of the whole log; 0: the server does not say it."""
    try:
        _, size, files = _log(settings)
    except EngineError:
        return 0
    return size * files


def _log(settings: Mapping[str, str]) -> tuple[str, int, int]:
    """The setting that says how large the log is, in bytes, and for how many files."""
    capacity = int(settings.get("innodb_redo_log_capacity", 0))  # MySQL from 8.0.30 on
    if capacity and not (capacity == _CAPACITY and _sets_files(settings)):
        return "innodb_redo_log_capacity", capacity, 1
    try:
        size = int(settings["innodb_log_file_size"])
    except (KeyError, ValueError) as error:
        raise EngineError(
            "could not read how large the log is: the server reports no innodb_log_file_size"
        ) from error
    files = _FILES[1] if capacity else 1
    return "innodb_log_file_size", size, int(settings.get("innodb_log_files_in_group", files))


def _sets_files(settings: Mapping[str, str]) -> bool:
    """Whether size or number of files is not the default. They count where the capacity is not set,
    which the server reports as its default all the same ("Configuring Redo Log Capacity" of MySQL
    8.0's manual)."""
    size, files = _FILES
    return (
        int(settings.get("innodb_log_file_size", size)),
        int(settings.get("innodb_log_files_in_group", files)),
    ) != _FILES


def _multiplied(settings: Mapping[str, str], arms: int) -> dict[str, str]:
    multiplied = {}
    for timer in TIMERS:
        value = _number(settings.get(timer.name, ""))
        if timer.most is not None and 0 < value < timer.most:
            multiplied[timer.name] = _text(min(timer.most, value * arms))
    return multiplied


def _words(name: str, original: str, value: str, arms: int) -> str:
    """`"wait_timeout 57600, 2 times its 28800"`."""
    if float(value) < arms * float(original):
        return (
            f"{name} {value}, the most that the server takes, in place of {arms} times its "
            f"{original}"
        )
    return f"{name} {value}, {arms} times its {original}"


def _unknown_words(settings: Mapping[str, str], arms: int) -> Iterator[str]:
    """Of settings of plugins, and of versions that are not known yet; their replicas are slaves."""
    for name, value in settings.items():
        known = name in _NAMES or name.replace("replica", "slave") in _NAMES
        if _COUNTS_TIME.search(name) and not known and _number(value) > 0:
            yield (
                f"{name} {value} as it is: what it counts is not known; if it is time, in own time "
                f"it is {arms} times as short"
            )


def _number(value: str) -> float:
    """NaN: it is none."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6f}"
