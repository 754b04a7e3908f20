"""Takes in external data: a copy that is recovered, opened up, and carries checksums."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import Intake, Neutralised, Report, TakenIn
from steelyard.engines.loading import DATABASE, serving
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.configuration import (
    MAIN,
    Configuration,
    configuration_elsewhere,
    read_configuration,
)
from steelyard.engines.postgres.intake.copying import copy_in
from steelyard.engines.postgres.intake.opening import Opening
from steelyard.engines.postgres.intake.restoring import restore_dump
from steelyard.engines.postgres.intake.sealing import seal
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CHECKSUMS
from steelyard.engines.postgres.settings import BULK_SETTINGS
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

Create = Callable[..., Cluster]
"""Makes a cluster: (directory, protection=...)."""
_STANDBY = ("standby.signal", "recovery.signal")


def take_in_cluster(
    build: Build, identity: Identity, account: Account, intake: Intake, slot: Slot, report: Report
) -> TakenIn:
    """Copy a stopped data directory or base backup into the slot, and make it like a loaded one."""
    major = str(identity.version_number // 10000)
    if intake.place.major != major:
        raise EngineError(
            f'could not take in "{intake.place.path}" with PostgreSQL {identity.version}: '
            f"it was made by version {intake.place.major}",
            hint=f"Name that version in every arm: --set control.version={intake.place.major} "
            f"--set arm.version={intake.place.major} (arm.NAME.version where there are several), "
            "or bindir of your own build likewise.",
        )
    directory = slot.path / "data"
    configuration = _configuration(intake)
    report("copy the data")
    copy_in(intake.place, directory, account)
    cluster = Cluster(build, identity, account, directory)
    report("recover and open the copy")
    opened = Opening(build, account, cluster).open_up(slot, configuration, intake.database)
    report("write checksums")
    sealed = seal(cluster)
    doubts = [*opened.doubts, *_doubts(intake, sealed=sealed)]
    gone = [*opened.neutralised, *_gone(intake.place.path)]
    return TakenIn(opened.database, opened.bytes, tuple(gone), tuple(doubts))


def take_in_dump(
    build: Build, account: Account, create: Create, intake: Intake, slot: Slot, report: Report
) -> TakenIn:
    """Restore a dump into a new cluster in the slot, with statistics, and stop it."""
    report("make an empty cluster")
    cluster = create(slot.path / "data", protection=CHECKSUMS)
    with serving(cluster, slot, BULK_SETTINGS, report):
        with connected(cluster.address) as session:
            session.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())
        report("restore the dump")
        restored = restore_dump(build, account, cluster, intake.place.path, slot.path)
        report("vacuum")
        database = replace(cluster.address, database=DATABASE)
        with connected(database) as session:
            session.execute(b"VACUUM (ANALYZE)")
            row = session.execute(b"SELECT pg_catalog.pg_database_size(current_database())")
            size = int((row.fetchone() or (0,))[0])
    doubts = ["it was restored with locale C: the order of texts may be another than where it was"]
    doubts += restored.doubts
    gone = restored.neutralised
    if intake.configuration is not None:
        configuration = _configuration(intake)
        gone += configuration.neutralised
        account.call(lambda: _append(slot.path / "data" / MAIN, configuration.text()))
    return TakenIn(intake.place.path.name, size, gone, tuple(doubts))


def _append(file: Path, text: str) -> None:
    """Done by the account itself, and through no link: what the dump started may have put one."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)


def _configuration(intake: Intake) -> Configuration:
    elsewhere = intake.configuration
    if elsewhere is None and not (intake.place.path / MAIN).is_file():
        elsewhere = configuration_elsewhere(intake.place.path)
    if intake.configuration is not None and not intake.configuration.is_file():
        raise EngineError(f'there is no configuration file "{intake.configuration}"')
    return read_configuration(intake.place.path, elsewhere)


def _doubts(intake: Intake, *, sealed: bool) -> list[str]:
    found = []
    path = intake.place.path
    if (
        intake.configuration is None
        and not (path / MAIN).is_file()
        and configuration_elsewhere(path) is None
    ):
        found.append(
            "no postgresql.conf is in it: the server's defaults count, unless --config names one"
        )
    if sealed:
        found.append("its pages carried no checksums: the copy's were written")
    return found


def _gone(path: Path) -> list[Neutralised]:
    gone = [
        Neutralised(name, "the copy is a server of its own")
        for name in _STANDBY
        if (path / name).exists()
    ]
    slots = path / "pg_replslot"
    if slots.is_dir():
        gone += [
            Neutralised(f"replication slot {one.name}", "nothing would read it, and its log stays")
            for one in sorted(slots.iterdir())
        ]
    return gone
