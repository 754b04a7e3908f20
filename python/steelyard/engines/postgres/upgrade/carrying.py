"""Carries data that were taken in over to a later major version, for an arm of that version."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.engines.engine import Slot
from steelyard.engines.intake import Report
from steelyard.engines.postgres.intake.accepting import without_missing_libraries
from steelyard.engines.postgres.intake.configuration import SET, Configuration
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import control_of
from steelyard.engines.postgres.life.data_directory import SUPERUSER, TABLESPACES
from steelyard.engines.postgres.life.recovery import (
    configure_copy,
    copy_settings,
    recovery_settings,
)
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.postgres.upgrade.copies import (
    CopyHome,
    Programs,
    configure_for_upgrade,
    move_in,
    move_out,
)
from steelyard.engines.postgres.upgrade.facts import OWNER_QUERY, ClusterFacts, read_facts
from steelyard.engines.postgres.upgrade.pg_upgrade import (
    NEW_PROGRAMS,
    Upgrader,
    require_programs,
    run_timed,
)
from steelyard.engines.postgres.upgrade.statistics import vacuumdb_calls
from steelyard.model.errors import ServerError

_QUIET = {"autovacuum": "off", "fsync": "off"}


def carry_over(
    old: Cluster,
    old_programs: Programs,
    new: Programs,
    settings: Mapping[str, str],
    slot: Slot,
    report: Report,
) -> Cluster:
    """Upgrade the stopped, opened copy in the slot's "data" by pg_upgrade --link; the cluster of
    the new version that stands there afterwards, stopped, with checksums and statistics.
    `settings`: as the new build takes them.

    ServerError: pg_upgrade's words, where it refuses.
    """
    require_programs(new, NEW_PROGRAMS, "--set arm.bindir=")
    account = new.account
    settings = without_missing_libraries(old_programs.build, Configuration(settings)).settings
    facts, owner = _read(old, slot)
    before, after = CopyHome(slot.path / "before"), CopyHome(slot.path / "after")
    account.make_way(before.data)
    os.rename(old.directory, before.data)
    move_out(before, account)
    moved = Cluster(old_programs.build, old_programs.identity, account, before.data)
    configure_for_upgrade(moved, dict(settings))
    upgrader = Upgrader(
        old=old_programs,
        new=new,
        owner=owner,
        jobs=len(os.sched_getaffinity(0)),
        sockets=slot.socket_directory,
        wal_segment_bytes=int(control_of(before.data)["wal_segment_size"]),
        template=facts.template,
        settings=dict(settings),
    )
    new_cluster = upgrader.make_new(after.data, checksums=True)
    attempt = upgrader.attempt("link", before, new_cluster, report, checksums=True)
    if not attempt.worked:
        raise ServerError(
            f"could not upgrade the copy to PostgreSQL {new.identity.version}",
            detail=attempt.reason,
            hint="`steelyard upgrade` shows what blocks it, and what to type.",
        )
    move_in(before, after.data / TABLESPACES, account)
    shutil.rmtree(before.path)
    os.rename(after.data, old.directory)
    shutil.rmtree(after.path)
    cluster = Cluster(new.build, new.identity, account, old.directory)
    configure_copy(account, cluster, copy_settings(cluster, SET))  # as a copy without an upgrade
    _gather(upgrader, cluster, slot, report)
    return cluster


def _read(old: Cluster, slot: Slot) -> tuple[ClusterFacts, str]:
    """What a copy that lets us in holds, and its first superuser."""
    old.start(slot, {**recovery_settings(old), **_QUIET})
    try:
        with connected(replace(old.address, user=SUPERUSER)) as session:
            row = session.execute(OWNER_QUERY.encode()).fetchone()
        return read_facts(old, SUPERUSER), str(row[0]) if row else SUPERUSER
    finally:
        old.stop()


def _gather(upgrader: Upgrader, cluster: Cluster, slot: Slot, report: Report) -> None:
    """Statistics where the upgrade brought none, as pg_upgrade advises, and by the server's own
    target: those of the arm that keeps its version are the server's."""
    options = vacuumdb_calls(upgrader.new.identity.version_number)[0]
    report(f"vacuumdb {' '.join(options)}")
    rules = SETTING_RULES.of_statistics
    target = {name: value for name, value in upgrader.settings.items() if name in rules}
    cluster.start(slot, {**_QUIET, **target})
    try:
        command = [
            upgrader.new.build.program("vacuumdb"),
            *("--host", str(slot.socket_directory), "--port", str(slot.port)),
            *("--username", SUPERUSER, *options),
        ]
        timed = run_timed(upgrader.account, command, Path(cluster.directory), upgrader.environment)
        if timed.status != 0:
            raise ServerError("could not gather statistics", detail=timed.output.strip() or None)
    finally:
        cluster.stop()
