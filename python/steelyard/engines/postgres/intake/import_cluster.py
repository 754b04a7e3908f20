"""Takes in external data: a copy that is recovered, opened up, and carries checksums.

Gives the pages of a stopped copy their checksums, where the original had none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import read_control, write_checksums
from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest, SelectedBuild
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.intake import (
    DataPlace,
    ImportedCluster,
    Intake,
    Neutralised,
    Report,
    SettingsPlace,
)
from steelyard.engines.loading import DATABASE, serving
from steelyard.engines.local.owned_files import names_below
from steelyard.engines.postgres.builds.build import Build, major_of
from steelyard.engines.postgres.builds.find import select_builds
from steelyard.engines.postgres.intake.accepting import known_settings
from steelyard.engines.postgres.intake.configuration import SET, printable
from steelyard.engines.postgres.intake.contents import FIRST_WITH_OID_COLUMN
from steelyard.engines.postgres.intake.copying import copy_in, linked_tablespace_doubts
from steelyard.engines.postgres.intake.recover import Opening, row_security_doubts
from steelyard.engines.postgres.intake.restoring import restore_dump
from steelyard.engines.postgres.intake.role_settings import reset_own_role, setting_doubts
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.intake.table_statistics import gather_statistics
from steelyard.engines.postgres.life.catalogue_rows import (
    PG_DATABASE,
    database_names,
    ordinary_names,
    shared_catalogue,
)
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import (
    CHECKSUMS,
    CONTROL_FILE,
    SHUT_DOWN,
    control_of,
    stored_state,
    unreadable_control,
)
from steelyard.engines.postgres.settings import BULK_SETTINGS, read_preset
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.postgres.upgrade.carrying import carry_over
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity
from steelyard.model.units import format_bytes

if TYPE_CHECKING:
    import psycopg


def seal(cluster: Cluster) -> bool:
    """Write the checksums of all pages where there are none, and switch verification on; whether
    there were none. EngineError: a file cannot be sealed."""
    major = major_of(cluster.identity)

    def write() -> bool:
        control = read_control(cluster.directory / CONTROL_FILE)
        if control["checksum_version"]:
            return False
        write_checksums(
            cluster.directory,
            f"PG_{major}_{control['catalog_version']}",
            int(control["block_size"]),
            int(control["segment_blocks"]),
            len(os.sched_getaffinity(0)),
        )
        return True

    try:
        written = bool(cluster.account.call(write))
    except OSError as error:
        raise EngineError(
            f'could not write the checksums of "{error.filename}": {error.strerror}'
        ) from error
    except ValueError as error:
        raise unreadable_control(cluster.directory, error) from error
    if written:
        cluster.protect(CHECKSUMS)
    return written


Create = Callable[..., Cluster]
"""Makes a cluster: (directory, protection=...)."""
_NAME_BYTES, _ALIGNED, _OID_BYTES = 64, 8, 4
"""NAMEDATALEN, MAXIMUM_ALIGNOF, and what stands before a name in pg_database."""
_STANDBY = ("standby.signal", "recovery.signal")
_FETCHES_NOTHING = {name: SET[name] for name in ("max_logical_replication_workers",)}
_LOCALE_C = "it was restored with locale C: the order of texts may be another than where it was"


def take_in_cluster(
    build: Build, identity: Identity, account: Account, intake: Intake, slot: Slot, report: Report
) -> ImportedCluster:
    """Copy a stopped data directory or base backup into the slot, and make it like a loaded one; of
    an earlier major version, upgrade the copy."""
    major = str(identity.version_number // 10000)
    if intake.place.major is not None and int(intake.place.major) < int(major):
        return _take_in_upgraded(SelectedBuild(build, identity, account), intake, slot, report)
    if intake.place.major != major:
        raise EngineError(
            f'could not take in "{intake.place.path}" with PostgreSQL {identity.version}: '
            f"it was made by version {intake.place.major}",
            hint=f"Name that version in every arm: --set control.version={intake.place.major} "
            f"--set arm.version={intake.place.major} (arm.NAME.version where there are several), "
            "or bindir of your own build likewise.",
        )
    _require_blocks(build, account, intake.place.path)
    require_database(intake.place, intake.database)
    directory = slot.path / "data"
    copy_in(intake.place, directory, account, report)
    cluster = Cluster(build, identity, account, directory)
    report("recover and open the copy")
    opened = Opening(build, account, cluster).open_up(slot, intake.database)
    report("write checksums")
    sealed = seal(cluster)
    written = ["its pages carried no checksums: the copy's were written"] if sealed else []
    doubts = [*opened.doubts, *linked_tablespace_doubts(intake.place.path), *written]
    gone = [*opened.neutralised, *_removed_files(intake.place.path)]
    return ImportedCluster(opened.database, opened.bytes, tuple(gone), tuple(doubts))


def _take_in_upgraded(
    new: SelectedBuild[Build], intake: Intake, slot: Slot, report: Report
) -> ImportedCluster:
    """Taken in by its own version, and upgraded by pg_upgrade: the arms share their pages."""
    assert intake.place.major is not None  # a dump has none, and is restored
    [old] = select_builds([BuildRequest(intake.place.major)], new.account.name)
    imported = take_in_cluster(old.build, old.identity, old.account, intake, slot, report)
    place = intake.place
    offered = read_server_settings(intake.settings or SettingsPlace(place.path, place.kind))
    settings = known_settings(new.build, new.account, offered).settings
    cluster = Cluster(old.build, old.identity, old.account, slot.path / "data")
    carry_over(cluster, old, new, settings, slot, report)
    doubt = (
        f"the copy was upgraded from {old.identity.version} by pg_upgrade --link; statistics that "
        "it does not carry over (before 18 none are) were gathered anew, and plans may differ by "
        "them from those of an arm of the old version, which has the original's"
    )
    return replace(imported, doubts=(*imported.doubts, doubt))


def take_in_dump(
    build: Build,
    account: Account,
    create: Create,
    intake: Intake,
    slot: Slot,
    report: Report,
    settings: Settings = BULK_SETTINGS,
) -> ImportedCluster:
    """Restore a dump into a new cluster in the slot, whose server has these settings, with
    statistics, and stop it."""
    report("make an empty cluster")
    cluster = create(slot.path / "data", protection=CHECKSUMS)
    with serving(cluster, slot, {**settings, **_FETCHES_NOTHING}, report):
        with connected(cluster.address) as session:
            session.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())
        report("restore the dump")
        path = intake.place.path
        restored = restore_dump(build, account, cluster, path, slot.path, intake.database)
        with connected(cluster.address) as session:  # what statements within a DO block set, too
            gone = [*restored.neutralised, *reset_own_role(session)]
            doubts = [_LOCALE_C, *restored.doubts, *setting_doubts(session)]
        report("vacuum")
        database = replace(cluster.address, database=DATABASE)
        with connected(database) as session:
            gone += _without_subscriptions(session)
            doubts += row_security_doubts(session)
            doubts += gather_statistics(session)
            row = session.execute(b"SELECT pg_catalog.pg_database_size(current_database())")
            size = int((row.fetchone() or (0,))[0])
    return ImportedCluster(restored.database, size, tuple(gone), tuple(doubts))


def _without_subscriptions(session: psycopg.Connection) -> Iterator[Neutralised]:
    """Drop what a block of a dump made: of its statements CREATE SUBSCRIPTION is left out. With no
    word to a publisher, which is another's."""
    from psycopg import sql

    names = session.execute(
        "SELECT subname FROM pg_catalog.pg_subscription WHERE subdbid ="
        " (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
    ).fetchall()
    for (name,) in names:
        for statement in (
            "ALTER SUBSCRIPTION {} DISABLE",
            "ALTER SUBSCRIPTION {} SET (slot_name = NONE)",
            "DROP SUBSCRIPTION {}",
        ):
            session.execute(sql.SQL(statement).format(sql.Identifier(name)))
        yield Neutralised(printable(f"CREATE SUBSCRIPTION {name}"), "the copy fetches nothing")


def require_database(place: DataPlace, database: str | None) -> None:
    """UsageError, before a place is copied: a database that was named is not in it, or none was and
    it holds several. What its files do not surely say is left to the copy."""
    if place.major is not None:
        _require_database(place.path, database, int(place.major))


def _require_database(directory: Path, database: str | None, major: int) -> None:
    """UsageError, before hours of copying, where the file of pg_database of a server that was
    stopped does not hold the name, or where it holds several and none was named."""
    if major < FIRST_WITH_OID_COLUMN:
        return  # the columns stand elsewhere
    if database is not None and (not database.isascii() or _replays_log(directory)):
        return  # its bytes depend on the server's encoding; its row may be in the log alone
    try:
        page_bytes = int(control_of(directory)["block_size"])
        content = shared_catalogue(directory, PG_DATABASE, major)
        names = database_names(content, directory, page_bytes)
        ordinary = {*ordinary_names(content, directory, page_bytes, major)} - {"postgres"}
    except (OSError, ValueError, KeyError, EngineError):
        return  # said by what opens the copy
    if database is None and len(ordinary) > 1:
        raise UsageError(
            "cannot choose among several databases",
            detail=f"There are {', '.join(sorted(ordinary))}.",
            hint="Name one: --database NAME",
        )
    if database is not None and database not in names and not _holds_name(content, database):
        listed = ", ".join(sorted({*names} - {"template0", "template1"}))
        raise UsageError(
            f'there is no database "{database}" in it',
            detail=f"There are {listed}." if listed else None,
        )


def _replays_log(directory: Path) -> bool:
    """Whether its files lack what the log still holds; False: that cannot be read, either."""
    return stored_state(directory) not in (None, SHUT_DOWN)


def _holds_name(content: bytes, database: str) -> bool:
    """Whether a row of pg_database may have this name, though none surely has: a whole NameData,
    where the column stands, behind an oid (rows and their data begin at multiples of eight). The
    end of a longer name is not followed by so many zeros, or stands elsewhere."""
    field = database.encode().ljust(_NAME_BYTES, b"\0")
    at = content.find(field) if len(database) < _NAME_BYTES else -1
    while at >= 0 and at % _ALIGNED != _OID_BYTES:
        at = content.find(field, at + 1)
    return at >= 0


def _require_blocks(build: Build, account: Account, directory: Path) -> None:
    """EngineError where the build was made for pages or files of another size."""
    try:
        control = control_of(directory)
    except (OSError, ValueError):
        return  # said by what reads it next
    block = int(control["block_size"])
    theirs = {"block_size": block, "segment_size": int(control["segment_blocks"]) * block}
    for name, value in theirs.items():
        unit = block if name == "segment_size" else 1  # reported in blocks, which are alike then
        built = int(read_preset(build, account, name)) * unit
        if built != value:
            raise EngineError(
                f'cannot take in "{directory}": its {name} is {format_bytes(value)}, and this '
                f"PostgreSQL was built for {format_bytes(built)}",
                hint="Name a build that was configured like its server's: "
                "--set control.bindir=DIR --set arm.bindir=DIR",
            )


def _removed_files(path: Path) -> list[Neutralised]:
    gone = [
        Neutralised(name, "the copy is a server of its own")
        for name in _STANDBY
        if os.path.lexists(path / name)
    ]
    with suppress(OSError):  # there are none, or a link leads elsewhere
        gone += [
            Neutralised(f"replication slot {name}", "nothing would read it, and its log stays")
            for name in names_below(path, "pg_replslot")
        ]
    return gone
