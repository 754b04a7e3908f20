"""Drills what a damaged page does to a standby, a base backup and a dump, and what notices it.

Each damaged page takes two courses. In the first a backup and a dump are taken before any read. In
the second it is read, compared with a standby, updated, and then backed up and dumped. What sends
the table through a reader returns one word for what that reader met.
"""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local.owned_files import overwrite, read_below
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.drill_tables import (
    Row,
    TableCopy,
    checkpoint,
    copy_rows,
    expected_rows,
    flushed_lsn,
    has_replayed,
    sorted_rows,
    update_row,
)
from steelyard.engines.programs import run
from steelyard.integrity.drill.checks import take_base_backup, verify_backup
from steelyard.integrity.drill.faults import PAGE, PAGE_FAULTS, Target, changed_blocks
from steelyard.integrity.drill.matrix import ARMS, Rate, settings_of
from steelyard.integrity.drill.test_cluster import MOST_BYTES, QUIET_SETTINGS, TestCluster
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

Progress = Callable[[str], None]
CONSEQUENCE_FAULTS = (
    "one bit in a row",
    "zeroed page",
    "torn page, 4 kB",
    "damaged header",
    "lost write",
)
AT_ONCE = "at once"  # before any read of the page
FIRST_READ, AFTER_READ = "at the first read", "after the read"
AT_UPDATE, AFTER_UPDATE = "at the update", "after the update"
NEVER, UNREACHED = "never", "not reached"
_HEADER_BYTES = 24
ERROR, WARNING, SILENT, SOUND = "error", "warning", "silent", "sound"
WARNED_SOUND = "warning, sound"
DIFFER, SAME = "differ", "same"
OBJECTS, PASSES = "objects", "passes"
DONE, NO_ROW = "done", "no row"
NOTICING = (ERROR, WARNING, WARNED_SOUND, DIFFER, OBJECTS)
"""The words for readers that noticed; a silent one passes the damage on."""
_WAITS = 200
_BETWEEN_WAITS_S = 0.05


@dataclass(frozen=True)
class ReadEvent:
    """What one reader of a damaged page met at one moment."""

    reader: str
    when: str
    word: str  # ERROR and those behind it


@dataclass(frozen=True)
class Consequence:
    """What one damaged heap page did under one arm, in the order it happened."""

    fault: str
    arm: str
    events: tuple[ReadEvent, ...]

    def noticed(self) -> dict[str, str]:
        """When each reader noticed first, or never, or that the damage did not reach it."""
        moments: dict[str, str] = {}
        for event in self.events:
            so_far = moments.setdefault(event.reader, UNREACHED)
            if so_far in (NEVER, UNREACHED) and event.word in NOTICING:
                moments[event.reader] = event.when
            elif so_far == UNREACHED and event.word not in (SOUND, SAME):
                moments[event.reader] = NEVER
        return moments

    def to_json(self) -> dict[str, Any]:
        """Events in their order, and when each reader noticed."""
        events = [
            {"who": event.reader, "when": event.when, "saw": event.word} for event in self.events
        ]
        return {"fault": self.fault, "arm": self.arm, "events": events, "noticed": self.noticed()}


@dataclass(frozen=True)
class DamagedFile:
    """A damaged file of the first copy, and a row whose page is the damaged one."""

    content: bytes
    neighbour: int  # id of a row that the fault itself does not change


def drill_consequences(
    cluster: TestCluster, times: int, seed: int, progress: Progress, consequences: list[Consequence]
) -> None:
    """Plant every fault `times` times under every arm, the same ones under each."""
    for fault in CONSEQUENCE_FAULTS if times else ():
        for arm in ARMS:
            rng = random.Random(f"{seed} consequences {fault}")
            progress(f"{fault} on a standby, in a backup and in a dump, checksums {arm}")
            for _ in range(times):
                file = damage_file(cluster, fault, rng)
                events = (*_back_up_unread(cluster, arm, file), *_read_first(cluster, arm, file))
                consequences.append(Consequence(fault, arm, events))


def rates(consequences: Sequence[Consequence]) -> list[dict[str, Any]]:
    """How often each reader noticed at each moment, with its interval, and its words."""
    counts: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    for each in consequences:
        for event in each.events:
            counts[each.fault, each.arm, event.reader, event.when][event.word] += 1
    return [
        {"fault": fault, "arm": arm, "who": reader, "when": when, "saw": dict(saw),
         **Rate(sum(saw[word] for word in NOTICING), saw.total()).to_json()}
        for (fault, arm, reader, when), saw in counts.items()
    ]  # fmt: skip


def damage_file(cluster: TestCluster, fault: str, rng: random.Random) -> DamagedFile:
    """The first copy's heap with a fault that changes a row, on a page that was written twice."""
    path = cluster.files[0, "heap"]
    current, earlier = cluster.current(path), cluster.earlier[path]
    blocks = [b for b in changed_blocks(current, earlier) if b < len(earlier) // PAGE]
    rng.shuffle(blocks)
    for block in blocks:
        page = current[block * PAGE : (block + 1) * PAGE]
        # Of every third row the page holds a dead version.
        rows = [row for row in expected_rows(0) if int(row[0]) % 3 and row[2].encode() in page]
        if len(rows) < 2:
            continue
        hit, neighbour = rng.sample(rows, 2)
        target = Target(current, earlier, b"", current, block)
        damaged = _damaged_page(fault, page, target, hit, rng)
        if damaged != page:
            content = current[: block * PAGE] + damaged + current[(block + 1) * PAGE :]
            return DamagedFile(content, int(neighbour[0]))
    raise AssertionError(f"no page of the test cluster can have: {fault}")


def _damaged_page(fault: str, page: bytes, target: Target, hit: Row, rng: random.Random) -> bytes:
    if fault == "damaged header":
        return rng.randbytes(_HEADER_BYTES) + page[_HEADER_BYTES:]
    if fault != "one bit in a row":
        return PAGE_FAULTS[fault](page, target, rng)
    text = hit[2].encode()
    at = page.index(text) + rng.randrange(len(text))
    # The byte stays ASCII: a client may refuse text that is not UTF-8.
    return page[:at] + bytes([page[at] ^ 1 << rng.randrange(7)]) + page[at + 1 :]


def _plant(cluster: TestCluster, file: DamagedFile) -> None:
    cluster.write(cluster.files[0, "heap"], file.content)


def _back_up_unread(cluster: TestCluster, arm: str, file: DamagedFile) -> list[ReadEvent]:
    """A backup and a dump, each the first to read the page."""
    cluster.prepare(arm)
    try:
        _plant(cluster, file)
        with cluster.running(settings_of(arm)) as server:
            backup, verified = back_up(cluster, server, damaged=True)
            dumped = dump(cluster, server, true_rows())
    finally:
        cluster.restore()
    return _events(
        ("base backup", AT_ONCE, backup),
        ("pg_verifybackup", AT_ONCE, verified),
        ("dump", AT_ONCE, dumped),
    )


def _read_first(cluster: TestCluster, arm: str, file: DamagedFile) -> list[ReadEvent]:
    """The page is read and updated on a server with a standby, then backed up and dumped."""
    cluster.prepare(arm)
    standby = cluster.clone.clone(cluster.slot.path / "standby")
    try:
        _plant(cluster, file)
        settings = {**settings_of(arm), "wal_level": "replica", **_keep_log(cluster)}
        with cluster.running(settings) as server:
            start_standby(cluster, standby, server, settings)
            return _read_and_update(cluster, server, standby, file.neighbour)
    finally:
        if standby.running:
            standby.crash()
        standby.stop()
        shutil.rmtree(standby.directory, ignore_errors=True)
        cluster.restore()


def _read_and_update(
    cluster: TestCluster, server: Cluster, standby: Cluster, neighbour: int
) -> list[ReadEvent]:
    truth = true_rows()
    healthy = copy_standby_rows(server, standby)
    # A read may prune the page, and the log then holds all of it.
    first = copy_rows(server.address)
    after_read = copy_standby_rows(server, standby)
    # The first change after a checkpoint logs the whole page.
    checkpoint(server.address)
    updated = update_damaged_page(server.address, neighbour)
    now_true = true_rows(neighbour) if updated in (DONE, WARNING) else truth
    after_update = copy_standby_rows(server, standby)
    later = copy_rows(server.address)
    word = word_for(later, now_true)
    backup, verified = back_up(cluster, server, damaged=word in (ERROR, WARNING, SILENT))
    return _events(
        ("primary", FIRST_READ, word_for(first, truth)),
        ("comparison", FIRST_READ, compare_copies(first, healthy)),
        ("standby", AFTER_READ, word_for(after_read, truth)),
        ("primary", AT_UPDATE, updated),
        ("standby", AFTER_UPDATE, word_for(after_update, now_true)),
        ("primary", AFTER_UPDATE, word),
        ("comparison", AFTER_UPDATE, compare_copies(later, after_update)),
        ("base backup", AFTER_UPDATE, backup),
        ("pg_verifybackup", AFTER_UPDATE, verified),
        ("dump", AFTER_UPDATE, dump(cluster, server, now_true)),
    )


def true_rows(updated: int | None = None) -> list[Row]:
    """The true rows of the first copy; `updated`: the id of a row that was updated once more."""
    return [
        (row[0], str(int(row[1]) + 1), *row[2:]) if row[0] == str(updated) else row
        for row in expected_rows(0)
    ]


def _events(*events: tuple[str, str, str | None]) -> list[ReadEvent]:
    return [ReadEvent(reader, when, word) for reader, when, word in events if word is not None]


def _keep_log(cluster: TestCluster) -> Settings:
    """The standby needs the log from the clone's last checkpoint on."""
    if cluster.engine.identity.version_number >= 130000:
        return {"wal_keep_size": "1GB"}
    return {"wal_keep_segments": "64"}


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
