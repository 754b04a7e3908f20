"""Drills crash recovery: torn pages, a damaged write-ahead log, damaged commit status (pg_xact).

A power failure during a write leaves a torn page. With full_page_writes the first change after a
checkpoint logs the whole page, and recovery writes it again.
"""

from __future__ import annotations

import random
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import Settings
from steelyard.engines.local.owned_files import names_below
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.engines.postgres.sql.drill_tables import update_behind_checkpoint
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.faults import PAGE, SECTOR, TORN, torn_between
from steelyard.integrity.drill.matrix import (
    ARMS,
    HANGS,
    NEEDS_REPLAY,
    NO_START,
    QUERY_ERROR,
    ROW_COMPARISON,
    UNNOTICED,
    WRONG_ANSWER,
    DetectionMatrix,
    Rate,
    settings_of,
)
from steelyard.integrity.drill.test_cluster import (
    QUIET_SETTINGS,
    Answers,
    TestCluster,
    query_copies,
    query_copy,
)
from steelyard.integrity.scrub.wal import segment_begin
from steelyard.model.errors import ServerError

Progress = Callable[[str], None]
XACT_FAULTS = ("one bit", "run of bits", "zeroed sector", "zeroed page", "lost write")
WAL_FAULTS = ("one bit", "run of bits", "zeroed sector", "zeroed page", "torn page, 512 B")


def drill_recovery(
    cluster: TestCluster,
    faults: Sequence[str],
    times: int,
    seed: int,
    progress: Progress,
    matrix: DetectionMatrix,
) -> None:
    """Plant each of the given faults `times` times in pages, the log and pg_xact.

    Torn pages under every arm; the log and pg_xact have no page checksum that
    ignore_checksum_failure could ignore.
    """
    for arm in ARMS:
        for full_page_writes in ("on", "off"):
            for fault in (each for each in TORN if each in faults):
                place = f"crash, full_page_writes {full_page_writes}"
                progress(
                    f"{fault} at a crash, full_page_writes {full_page_writes}, checksums {arm}"
                )
                settings = {**settings_of(arm), "full_page_writes": full_page_writes}
                rng = random.Random(f"{seed} {fault} {place}")
                for _ in range(times):
                    _drill_torn_page(
                        cluster, (fault, place, arm), TORN[fault], settings, rng, matrix
                    )
    for arm in ("off", "on"):
        for fault in (each for each in WAL_FAULTS if each in faults):
            progress(f"{fault} in the log that recovery reads, checksums {arm}")
            rng = random.Random(f"{seed} {fault} wal")
            for _ in range(times):
                _drill_broken_log(cluster, (fault, "WAL", arm), rng, matrix)
        for fault in (each for each in XACT_FAULTS if each in faults):
            progress(f"{fault} in pg_xact, checksums {arm}")
            rng = random.Random(f"{seed} {fault} xact")
            for _ in range(times):
                _drill_broken_commits(cluster, (fault, "pg_xact", arm), rng, matrix)


def _crashed(cluster: TestCluster, arm: str, settings: Settings) -> tuple[int, Answers, int]:
    """Kill the clone after an update that only the log holds.

    Returns the copy, its true answers, and the LSN behind the commit record. What follows in the
    log, hint bits and a rolled back insert, is no loss.
    """
    cluster.prepare(arm)
    number = 0
    with cluster.running(settings) as server:
        committed = update_behind_checkpoint(server.address, number)
        truth = query_copy(server.address, number)
    return number, truth, committed


def _drill_torn_page(
    cluster: TestCluster,
    case: tuple[str, str, str],
    size: int,
    settings: Settings,
    rng: random.Random,
    matrix: DetectionMatrix,
) -> None:
    _, _, arm = case
    number, truth, _ = _crashed(cluster, arm, settings)
    path = cluster.files[number, "heap"]
    contents = _contents(cluster)
    old = cluster.read(path)
    # To get the pages that were being written: recover, stop, read them, and undo the recovery.
    cluster.clone.start(cluster.slot, {**QUIET_SETTINGS, **settings})
    cluster.clone.stop()
    new = cluster.read(path)
    _put_back(cluster, contents)
    torn_pages = torn_pages_of(old, new, size)
    if not torn_pages:
        return
    at, torn = rng.choice(torn_pages)
    cluster.write(path, torn, at)
    _scrub(cluster, case, matrix)
    _observe(cluster, case, {**QUIET_SETTINGS, **settings}, number, truth, matrix)


def torn_pages_of(old: bytes, new: bytes, size: int) -> list[tuple[int, bytes]]:
    """(offset, page) of every possible torn page; none equals the old or the new page."""
    return [
        (at, torn)
        for at in range(0, len(old), PAGE)
        for torn in torn_between(old[at : at + PAGE], new[at : at + PAGE], size)
    ]


def _drill_broken_log(
    cluster: TestCluster, case: tuple[str, str, str], rng: random.Random, matrix: DetectionMatrix
) -> None:
    fault, _, arm = case
    number, truth, committed = _crashed(cluster, arm, {})
    directory = cluster.clone.directory
    control = read_control(directory / CONTROL_FILE)
    segment_bytes = control["wal_segment_size"]
    at = rng.randrange(control["redo"], committed)
    begin = at - at % segment_bytes
    names = names_below(directory, "pg_wal")
    segment = next(f"pg_wal/{n}" for n in names if segment_begin(n, segment_bytes) == begin)
    content = bytearray(cluster.read(segment))
    _damage(fault, content, at % segment_bytes, rng)
    cluster.write(segment, bytes(content))
    _observe(cluster, case, QUIET_SETTINGS, number, truth, matrix)


def _drill_broken_commits(
    cluster: TestCluster, case: tuple[str, str, str], rng: random.Random, matrix: DetectionMatrix
) -> None:
    fault, _, arm = case
    cluster.prepare(arm)
    file = "pg_xact/0000"
    content = bytearray(cluster.read(file))
    end = len(content.rstrip(b"\0"))
    # Transactions that touched the tables are the latest: two bits each (access/transam/clog.c).
    at = rng.randrange(max(0, end - 8), end)
    _damage(fault, content, at, rng)
    cluster.write(file, bytes(content))
    _scrub(cluster, case, matrix)
    _observe(cluster, case, QUIET_SETTINGS, None, None, matrix)


def _damage(fault: str, content: bytearray, at: int, rng: random.Random) -> None:
    """Damage `content` at byte `at`, or its sector or page."""
    sector, page = at // SECTOR * SECTOR, at // PAGE * PAGE
    if fault == "one bit":
        content[at] ^= 1 << rng.randrange(8)
    elif fault == "run of bits":
        content[at] ^= rng.randrange(1, 256)
    elif fault == "zeroed sector":
        content[sector : sector + SECTOR] = bytes(SECTOR)
    elif fault == "zeroed page":
        content[page : page + PAGE] = bytes(PAGE)
    elif fault == "torn page, 512 B":  # sectors from here on never arrived
        content[sector : page + PAGE] = bytes(page + PAGE - sector)
    else:  # a lost write: what was appended last is missing
        content[at : page + PAGE] = bytes(page + PAGE - at)


def _observe(
    cluster: TestCluster,
    case: tuple[str, str, str],
    settings: Settings,
    number: int | None,
    truth: Answers | None,
    matrix: DetectionMatrix,
) -> None:
    """Start the damaged clone and query it; a server that refuses to start has noticed."""
    truths = cluster.truth if number is None or truth is None else {number: truth}
    noticed = dict.fromkeys((QUERY_ERROR, WRONG_ANSWER, HANGS, NO_START, ROW_COMPARISON), False)
    try:
        cluster.clone.start(cluster.slot, settings)
        answers = query_copies(cluster.clone.address, truths)
        noticed[QUERY_ERROR] = any(answer.erred for answer in answers.values())
        noticed[WRONG_ANSWER] = any(answers[n].wrong(truths[n]) for n in answers)
        noticed[HANGS] = any(answer.hung for answer in answers.values())
        noticed[ROW_COMPARISON] = any(answers[n].misread(truths[n]) for n in answers)
    except ServerError as error:
        # A server that gives up has noticed; one that only takes too long has not.
        refused = "not ready after" not in str(error)
        noticed[NO_START if refused else HANGS] = noticed[ROW_COMPARISON] = True
    finally:
        cluster.restore()
    noticed[UNNOTICED] = not any(noticed.values())
    for check, did in noticed.items():
        matrix.add(*case, check, Rate(int(did), 1))


def _scrub(cluster: TestCluster, case: tuple[str, str, str], matrix: DetectionMatrix) -> None:
    """Scrub the stopped clone: whether it reports damage, or only pages that replay heals."""
    bad, needs_replay = checks.scrub_classes(cluster)
    matrix.add(*case, "scrub", Rate(int(bad), 1))
    matrix.add(*case, NEEDS_REPLAY, Rate(int(needs_replay and not bad), 1))


def _contents(cluster: TestCluster) -> dict[str, bytes]:
    return {path: cluster.read(path) for path in _files(cluster.clone.directory)}


def _put_back(cluster: TestCluster, contents: dict[str, bytes]) -> None:
    directory = cluster.clone.directory
    now = set(_files(directory))
    cluster.engine.account.remove(directory / path for path in sorted(now - contents.keys()))
    for path, content in contents.items():
        if path not in now or cluster.read(path) != content:
            cluster.write(path, content)


def _files(directory: Path) -> list[str]:
    """Regular files below a directory, relative to it, without the server's log."""
    return [
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if stat.S_ISREG(path.lstat().st_mode) and path.name != "server.log"
    ]
