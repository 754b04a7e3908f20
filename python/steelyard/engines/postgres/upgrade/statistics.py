"""Measures what the planner's statistics take after an upgrade: vacuumdb on the upgraded copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.upgrade.facts import ClusterFacts
from steelyard.engines.postgres.upgrade.outcome import Analyzed, StatisticsOutcome
from steelyard.engines.postgres.upgrade.pg_upgrade import TimedRun, Upgrader, run_timed
from steelyard.model.errors import ServerError

_SECOND_STAGE = "10 targets"
"""In vacuumdb's line of a database's second stage: "medium optimizer statistics (10 targets)"."""


def gather_statistics(
    upgrader: Upgrader,
    cluster: Cluster,
    slot: Slot,
    old: ClusterFacts,
    new: ClusterFacts,
    report: Callable[[str], None],
) -> StatisticsOutcome:
    """Call vacuumdb as pg_upgrade advises; the server runs in the slot. ServerError: it failed."""
    calls = vacuumdb_calls(upgrader.new.identity.version_number)
    analyzed = []
    for options in calls:
        report(f"vacuumdb {' '.join(options)}")
        program = upgrader.new.build.program("vacuumdb")
        session = ["--username", upgrader.owner, "--jobs", str(upgrader.jobs)]
        connection = ["--host", str(slot.socket_directory), "--port", str(slot.port)]
        timed = run_timed(
            upgrader.account,
            [program, *connection, *session, *options],
            Path(cluster.directory),
            upgrader.environment,
        )
        if timed.status != 0:
            raise ServerError(
                f"could not gather statistics: vacuumdb {' '.join(options)}",
                detail=timed.output.strip() or None,
            )
        analyzed.append(Analyzed(" ".join(options), round(timed.seconds, 3), _first_stage(timed)))
    return StatisticsOutcome(
        old_columns=old.total("statistics"),
        carried_columns=new.total("statistics"),
        old_extended=old.total("extended"),
        carried_extended=new.total("extended"),
        analyzed=tuple(analyzed),
    )


def vacuumdb_calls(version_number: int) -> list[list[str]]:
    """As the end of pg_upgrade's output advises: from 18 on statistics are carried over, extended
    ones from 19 on (src/bin/pg_upgrade/check.c, output_completion_banner)."""
    if version_number >= 180000:
        return [
            ["--all", "--analyze-in-stages", "--missing-stats-only"],
            ["--all", "--analyze-only"],
        ]
    return [["--all", "--analyze-in-stages"]]


def _first_stage(timed: TimedRun) -> float | None:
    """Until the first database's second stage began: the first stage of all had ended."""
    if not any("optimizer statistics" in line for _, line in timed.lines):
        return None
    return next((round(at, 3) for at, line in timed.lines if _SECOND_STAGE in line), None)
