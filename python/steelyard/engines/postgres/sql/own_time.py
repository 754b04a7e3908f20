"""Brings a server's timers into its own time: it stands still while other arms work.

A server reads the wall clock, which runs as many times as fast as its own time as there are arms.
What is long beside a slice is multiplied by that number; what is shorter fires once at a thaw,
whatever it is set to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from steelyard.engines.engine import Cycle, Scaled
from steelyard.engines.postgres.sql.checkpoints import LEAST_TIMEOUT_S, cycle_of, scaled
from steelyard.model.units import NS_PER_S

MOST_TIMEOUT_S = 86_400
"""checkpoint_timeout of guc_tables.c."""


@dataclass(frozen=True)
class Timer:
    """A setting that a server compares with the wall clock, and what own time makes of it."""

    name: str
    multiplied: bool
    why: str


TIMERS = (
    Timer("checkpoint_timeout", True, "it spaces checkpoints, and paces their writes"),
    Timer("autovacuum_naptime", True, "it spaces the launcher's rounds"),
    Timer("statement_timeout", True, "a statement would be ended for time in which it stood still"),
    Timer("transaction_timeout", True, "as statement_timeout"),
    Timer("lock_timeout", True, "as statement_timeout"),
    Timer("idle_in_transaction_session_timeout", True, "as statement_timeout"),
    Timer("idle_session_timeout", True, "sessions of an arm that stands still are idle"),
    Timer("deadlock_timeout", False, "nothing waits for a lock while its arm stands still"),
    Timer("bgwriter_delay", False, "shorter than a slice: one round at a thaw, then as ever"),
    Timer("wal_writer_delay", False, "shorter than a slice: one flush at a thaw, then as ever"),
    Timer("autovacuum_vacuum_cost_delay", False, "shorter than a slice: one pause less at a thaw"),
    Timer("vacuum_cost_delay", False, "as autovacuum_vacuum_cost_delay"),
    Timer("commit_delay", False, "microseconds, and no commit is under way while its arm stands"),
    Timer("checkpoint_warning", False, "it decides about a line of the log alone"),
)  # fmt: skip
"""Every timer that can fire at a thaw."""
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "": 1}


def in_own_time(settings: Mapping[str, str], factor: float, arms: int) -> Scaled:
    """The settings that space checkpoints, divided by `factor`, and timers multiplied by the number
    of arms; the cycle that comes with them is in own time.

    `settings`: as the server reports them. EngineError: one that spaces checkpoints is missing.
    The server takes no checkpoint_timeout below 30 s of wall time: 30 s / arms of its own.
    """
    spaced = scaled(settings, factor)
    wall_s = cycle_of(settings).timeout_ns / NS_PER_S * arms / factor
    timeout_s = min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, round(wall_s)))
    own_ns = round(timeout_s * NS_PER_S / arms)
    return Scaled(
        {
            **spaced.settings,
            **_multiplied(settings, arms),
            "checkpoint_timeout": f"{timeout_s}s",
        },
        replace(spaced.cycle, timeout_ns=own_ns, largest_scale=largest_scale(settings, arms)),
    )


def largest_scale(settings: Mapping[str, str], arms: int) -> float:
    """By how much checkpoints can be brought nearer in own time."""
    own = cycle_of(settings)
    by_timeout = own.timeout_ns / NS_PER_S * arms / LEAST_TIMEOUT_S
    by_log = _log_scale(settings, own)
    return max(1.0, min(by_timeout, by_log))


def _log_scale(settings: Mapping[str, str], own: Cycle) -> float:
    least = scaled(settings, 1e9).cycle
    return own.wal_bytes / least.wal_bytes


def _multiplied(settings: Mapping[str, str], arms: int) -> dict[str, str]:
    found = {}
    for timer in TIMERS:
        value, _, unit = settings.get(timer.name, "").partition(" ")
        if not timer.multiplied or timer.name == "checkpoint_timeout" or not value.isdigit():
            continue
        milliseconds = int(value) * _MILLISECONDS.get(unit, 1)
        if milliseconds:
            found[timer.name] = f"{milliseconds * arms}ms"
    return found
