"""Sends a damaged table through its readers: queries, an update, a standby, a backup, a dump.

Each function returns one word for what its reader met.
"""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path

from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local.owned_files import overwrite, read_below
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.drill_tables import (
    Row,
    TableCopy,
    copy_rows,
    flushed_lsn,
    has_replayed,
    sorted_rows,
    update_row,
)
from steelyard.engines.programs import run
from steelyard.integrity.drill.checks import take_base_backup, verify_backup
from steelyard.integrity.drill.test_cluster import MOST_BYTES, QUIET_SETTINGS, TestCluster
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

ERROR, WARNING, SILENT, SOUND = "error", "warning", "silent", "sound"
WARNED_SOUND = "warning, sound"
DIFFER, SAME = "differ", "same"
OBJECTS, PASSES = "objects", "passes"
DONE, NO_ROW = "done", "no row"
NOTICING = (ERROR, WARNING, WARNED_SOUND, DIFFER, OBJECTS)
"""The words for readers that noticed; a silent one passes the damage on."""
_WAITS = 200
_BETWEEN_WAITS_S = 0.05


def word_for(copy: TableCopy, truth: list[Row]) -> str:
    """Whether a reader got an error, a warning, wrong rows without either, or the true rows."""
    if copy.rows is None:
        return ERROR
    if copy.warned:
        return WARNED_SOUND if copy.rows == truth else WARNING
    return SOUND if copy.rows == truth else SILENT


def compare_copies(copy: TableCopy, other: TableCopy) -> str:
    """Whether two readers got the same rows, neither of them an error."""
    return SAME if copy.rows is not None and copy.rows == other.rows else DIFFER


def update_damaged_page(address: Endpoint, row_id: int) -> str:
    """Update a row on the damaged page."""
    update = update_row(address, row_id)
    if update.rows is None:
        return ERROR
    if update.warned:
        return WARNING
    return DONE if update.rows == 1 else NO_ROW


def start_standby(
    cluster: TestCluster, standby: Cluster, server: Cluster, settings: Settings
) -> None:
    """Start a clone from before the damage as a standby of the server."""
    overwrite(cluster.engine.account, standby.directory / "standby.signal", b"")
    slot = Slot(
        cluster.slot.number, cluster.slot.path / "beside", cluster.slot.socket_directory,
        cluster.slot.port + 500,
    )  # fmt: skip
    address = server.address
    source = f"host={address.host} port={address.port} user={address.user}"
    configuration = {**QUIET_SETTINGS, **settings, "primary_conninfo": source, "hot_standby": "on"}
    standby.start(slot, configuration)


def copy_standby_rows(server: Cluster, standby: Cluster) -> TableCopy:
    """The rows on a standby once it has replayed everything logged so far; an error: it has not."""
    try:
        lsn = flushed_lsn(server.address)
        for _ in range(_WAITS):
            if has_replayed(standby.address, lsn):
                return copy_rows(standby.address)
            time.sleep(_BETWEEN_WAITS_S)
    except ServerError:
        return TableCopy()
    return TableCopy()


def back_up(cluster: TestCluster, server: Cluster, damaged: bool) -> tuple[str | None, str | None]:
    """Words for pg_basebackup, and for pg_verifybackup of its backup; None: the build lacks it.

    `damaged`: the server's own file is. The backup has the damage if it holds the same bytes.
    """
    backup = cluster.slot.path / "consequence"
    try:
        outcome = take_base_backup(cluster, server, backup)
        if outcome is None:
            return None, None
        status, output = outcome
        if status:
            # It failed because of the damage; a backup all the same needs its checks off.
            take_base_backup(cluster, server, backup, "--no-verify-checksums")
        path = cluster.files[0, "heap"]
        copied = read_below(backup, path, MOST_BYTES) == cluster.read(path)
        warned = "WARNING" in output
        passed_on = WARNING if warned else SILENT
        has_damage = damaged and copied
        word = ERROR if status else passed_on if has_damage else WARNED_SOUND if warned else SOUND
        verified = verify_backup(cluster, backup)
        return word, None if verified is None else OBJECTS if verified[0] else PASSES
    finally:
        shutil.rmtree(backup, ignore_errors=True)


def dump(cluster: TestCluster, server: Cluster, truth: list[Row]) -> str | None:
    """Dump the table by pg_dump and compare its rows with the true ones; None: no pg_dump."""
    program = Path(cluster.engine.identity.bindir) / "pg_dump"
    if not program.is_file():
        return None
    directory = cluster.slot.path / "dumped"
    cluster.engine.account.make_directory(directory)
    try:
        file = directory / "dump.sql"
        options = ["-t", "drill_0", "-a", "-f", str(file), "postgres"]
        status, output = run(
            cluster.engine.account, [str(program), *client_flags(server.address), *options]
        )  # fmt: skip
        if status:
            return ERROR
        rows = dumped_rows(file.read_text(errors="replace"))
        return word_for(TableCopy(rows, "WARNING" in output), truth)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def dumped_rows(dump: str) -> list[Row]:
    """The rows of the one COPY in a dump, in order of their first column."""
    lines = iter(dump.split("\n"))
    next((line for line in lines if line.startswith("COPY ")), None)
    return sorted_rows(itertools.takewhile(lambda line: line != "\\.", lines))
