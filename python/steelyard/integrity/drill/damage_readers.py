"""Asks those whom a damaged page may reach: readers, a standby, a base backup, a dump.

Each says one word of what it met, beside what it was true to say.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.programs import run
from steelyard.integrity.drill.checks import take_base_backup, verify_backup
from steelyard.integrity.drill.questions import statements
from steelyard.integrity.drill.test_cluster import QUIET, Ground
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

Row = tuple[str, ...]
ERROR, WARNING, SILENT, SOUND = "error", "warning", "silent", "sound"
WARNED_SOUND = "warning, sound"
DIFFER, SAME = "differ", "same"
OBJECTS, PASSES = "objects", "passes"
DONE, NO_ROW = "done", "no row"
NOTICING = (ERROR, WARNING, WARNED_SOUND, DIFFER, OBJECTS)
"""The words of one that noticed; a silent one hands the damage on."""
_WAITS = 200
_BETWEEN_WAITS_S = 0.05


@dataclass(frozen=True)
class Reading:
    """What a reader of the table was told."""

    rows: list[Row] | None = None  # None: an error
    warned: bool = False

    def word(self, truth: list[Row]) -> str:
        """An error, a warning, the damage without a word, or the true rows."""
        if self.rows is None:
            return ERROR
        if self.warned:
            return WARNED_SOUND if self.rows == truth else WARNING
        return SOUND if self.rows == truth else SILENT


def read_rows(address: Endpoint) -> Reading:
    """All rows of the first copy by a scan, and whether the server warned of something."""
    severities: list[str | None] = []
    try:
        with psycopg.connect(address.conninfo(), autocommit=True) as session:
            session.add_notice_handler(lambda told: severities.append(told.severity_nonlocalized))
            with session.cursor().copy("COPY drill_0 TO STDOUT") as copy:
                content = b"".join(bytes(part) for part in copy)
    except psycopg.Error:
        return Reading()
    lines = content.decode(errors="replace").split("\n")[:-1]
    return Reading(sorted_rows(lines), "WARNING" in severities)


def compared(one: Reading, other: Reading) -> str:
    """Whether two readers were told the same rows, both of them."""
    return SAME if one.rows is not None and one.rows == other.rows else DIFFER


def update_row(address: Endpoint, row_id: int) -> str:
    """An update of one row, found by the index: it touches the page that holds the row."""
    severities: list[str | None] = []
    try:
        with psycopg.connect(address.conninfo(), autocommit=True) as session:
            session.add_notice_handler(lambda told: severities.append(told.severity_nonlocalized))
            session.execute("SET enable_seqscan = off")
            cursor = session.execute(
                "UPDATE drill_0 SET tag = tag + 1 WHERE id = %s", (row_id,), prepare=False
            )
    except psycopg.Error:
        return ERROR
    if "WARNING" in severities:
        return WARNING
    return DONE if cursor.rowcount == 1 else NO_ROW


def follow(ground: Ground, standby: Cluster, alive: Cluster, settings: Settings) -> None:
    """Start a clone from before the damage as a standby, fed by this server's log."""
    signal = standby.directory / "standby.signal"
    signal.touch()
    ground.engine.account.own(signal)
    slot = Slot(
        ground.slot.number, ground.slot.path / "beside", ground.slot.socket_directory,
        ground.slot.port + 500,
    )  # fmt: skip
    address = alive.address
    source = f"host={address.host} port={address.port} user={address.user}"
    given = {**QUIET, **settings, "primary_conninfo": source, "hot_standby": "on"}
    standby.start(slot, given)


def read_standby(alive: Cluster, standby: Cluster) -> Reading:
    """What a standby says when it has replayed all that its server logged; an error: it has not."""
    try:
        # A record of a commit, so that what was logged without one is on disk and sent.
        beat = "SELECT pg_logical_emit_message(true, 'drill', '')"
        flushed = "SELECT pg_current_wal_flush_lsn()::text"
        ((target,),) = statements(alive.address, [beat, flushed])
        reached = f"SELECT pg_last_wal_replay_lsn() >= '{target}'::pg_lsn"
        for _ in range(_WAITS):
            if statements(standby.address, [reached]) == [(True,)]:
                return read_rows(standby.address)
            statements(standby.address, [f"SELECT pg_sleep({_BETWEEN_WAITS_S})"])
    except ServerError:
        return Reading()
    return Reading()


def back_up(ground: Ground, alive: Cluster, damaged: bool) -> tuple[str | None, str | None]:
    """What pg_basebackup said, and pg_verifybackup of what it took; None: not to be asked.

    `damaged`: the server's own file is. The backup carries that when it has the same bytes.
    """
    place = ground.slot.path / "consequence"
    try:
        taken = take_base_backup(ground, alive, place)
        if taken is None:
            return None, None
        status, words = taken
        if status:
            # It refused to end well; whoever takes one all the same turns its checks off.
            take_base_backup(ground, alive, place, "--no-verify-checksums")
        path = ground.files[0, "heap"]
        copied = (place / path).read_bytes() == (alive.directory / path).read_bytes()
        warned = "WARNING" in words
        carries = damaged and copied
        passed_on = WARNING if warned else SILENT
        word = ERROR if status else passed_on if carries else WARNED_SOUND if warned else SOUND
        verified = verify_backup(ground, place)
        return word, None if verified is None else OBJECTS if verified[0] else PASSES
    finally:
        shutil.rmtree(place, ignore_errors=True)


def dump(ground: Ground, alive: Cluster, truth: list[Row]) -> str | None:
    """What pg_dump of the table said, its rows compared with the true ones; None: no pg_dump."""
    program = Path(ground.engine.identity.bindir) / "pg_dump"
    if not program.is_file():
        return None
    place = ground.slot.path / "dumped"
    ground.engine.account.make_directory(place)
    try:
        file = place / "dump.sql"
        asked = ["-t", "drill_0", "-a", "-f", str(file), "postgres"]
        status, words = run(
            ground.engine.account, [str(program), *alive.address.client_flags(), *asked]
        )  # fmt: skip
        if status:
            return ERROR
        rows = copied_rows(file.read_text(errors="replace"))
        return Reading(rows, "WARNING" in words).word(truth)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def copied_rows(dump: str) -> list[Row]:
    """The rows of the one COPY in a dump, in order of their first column."""
    lines = iter(dump.split("\n"))
    next((line for line in lines if line.startswith("COPY ")), None)
    return sorted_rows(itertools.takewhile(lambda line: line != "\\.", lines))


def sorted_rows(lines: Iterable[str]) -> list[Row]:
    """The rows of COPY's text in order of their first column, then the others."""
    rows = [tuple(line.split("\t")) for line in lines]
    return sorted(rows, key=lambda row: (len(row[0]), row))
