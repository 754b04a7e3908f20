"""Drills what crash recovery reads: torn pages, the write-ahead log, and commit status.

A torn page is what a power failure leaves of a write that was under way. With full_page_writes the
first change after a checkpoint logs the whole page, and recovery writes it anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import Settings
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.faults import PAGE, SECTOR, TORN, torn_between
from steelyard.integrity.drill.matrix import (
    ARMS,
    HANGS,
    NEEDS_REPLAY,
    NO_START,
    NOBODY,
    QUERY_ERROR,
    READER,
    WRONG_ANSWER,
    Matrix,
    settings_of,
)
from steelyard.integrity.drill.questions import Answers, ask, ask_all, statements
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.test_cluster import QUIET, Ground
from steelyard.integrity.scrub.wal import segment_begin
from steelyard.model.errors import ServerError

Say = Callable[[str], None]
XACT_FAULTS = ("one bit", "run of bits", "zeroed sector", "zeroed page", "lost write")
WAL_FAULTS = ("one bit", "run of bits", "zeroed sector", "zeroed page", "torn page, 512 B")
_CHANGE = "UPDATE drill_{n} SET tag = tag + 1000 WHERE id % 5 = 1"


def drill_recovery(
    ground: Ground, faults: Sequence[str], times: int, seed: int, say: Say, matrix: Matrix
) -> None:
    """Torn pages, commit status and log, each fault that is asked for `times` times.

    Torn pages under every arm; neither the log nor pg_xact has a page checksum that
    ignore_checksum_failure could pass over.
    """
    for arm in ARMS:
        for full_page_writes in ("on", "off"):
            for fault in (each for each in TORN if each in faults):
                place = f"crash, full_page_writes {full_page_writes}"
                say(f"{fault} at a crash, full_page_writes {full_page_writes}, checksums {arm}")
                settings = {**settings_of(arm), "full_page_writes": full_page_writes}
                draw = random.Random(f"{seed} {fault} {place}")
                for _ in range(times):
                    _tear_once(ground, (fault, place, arm), TORN[fault], settings, draw, matrix)
    for arm in ("off", "on"):
        for fault in (each for each in WAL_FAULTS if each in faults):
            say(f"{fault} in the log that recovery reads, checksums {arm}")
            draw = random.Random(f"{seed} {fault} wal")
            for _ in range(times):
                _break_log_once(ground, (fault, "WAL", arm), draw, matrix)
        for fault in (each for each in XACT_FAULTS if each in faults):
            say(f"{fault} in pg_xact, checksums {arm}")
            draw = random.Random(f"{seed} {fault} xact")
            for _ in range(times):
                _break_commits_once(ground, (fault, "pg_xact", arm), draw, matrix)


def _crashed(ground: Ground, arm: str, settings: Settings) -> tuple[int, Answers, int]:
    """Leaves the clone killed after a change that only the log has.

    The copy, the truth, and the LSN behind the record of the change's commit: what follows it in
    the log, hint bits and an insert that was rolled back, nobody would miss.
    """
    ground.make_ready(arm)
    number = 0
    with ground.alive(settings) as alive:
        end = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
        ((committed,),) = statements(alive.address, ["CHECKPOINT", _CHANGE.format(n=number), end])
        truth = ask(alive.address, number)
    return number, truth, committed


def _tear_once(
    ground: Ground,
    case: tuple[str, str, str],
    size: int,
    settings: Settings,
    draw: random.Random,
    matrix: Matrix,
) -> None:
    _, _, arm = case
    number, truth, _ = _crashed(ground, arm, settings)
    path = ground.clone.directory / ground.files[number, "heap"]
    kept = _kept(ground.clone.directory)
    old = path.read_bytes()
    # What the pages would have been: recover, stop cleanly, read them, and put the crash back.
    ground.clone.start(ground.slot, {**QUIET, **settings})
    ground.clone.stop()
    new = path.read_bytes()
    _put_back(ground, kept)
    torn_pages = torn_pages_of(old, new, size)
    if not torn_pages:
        return
    at, torn = draw.choice(torn_pages)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(torn)
    _scrub(ground, case, matrix)
    _observe(ground, case, {**QUIET, **settings}, number, truth, matrix)


def torn_pages_of(old: bytes, new: bytes, size: int) -> list[tuple[int, bytes]]:
    """(offset, page) of all that may be torn: neither the old page nor the new one."""
    return [
        (at, torn)
        for at in range(0, len(old), PAGE)
        for torn in torn_between(old[at : at + PAGE], new[at : at + PAGE], size)
    ]


def _break_log_once(
    ground: Ground, case: tuple[str, str, str], draw: random.Random, matrix: Matrix
) -> None:
    fault, _, arm = case
    number, truth, committed = _crashed(ground, arm, {})
    directory = ground.clone.directory
    control = read_control(directory / CONTROL_FILE)
    segment_bytes = control["wal_segment_size"]
    at = draw.randrange(control["redo"], committed)
    begin = at - at % segment_bytes
    files = (directory / "pg_wal").iterdir()
    segment = next(p for p in files if segment_begin(p.name, segment_bytes) == begin)
    content = bytearray(segment.read_bytes())
    _spoil(fault, content, at % segment_bytes, draw)
    segment.write_bytes(content)
    _observe(ground, case, QUIET, number, truth, matrix)


def _break_commits_once(
    ground: Ground, case: tuple[str, str, str], draw: random.Random, matrix: Matrix
) -> None:
    fault, _, arm = case
    ground.make_ready(arm)
    file = ground.clone.directory / "pg_xact" / "0000"
    content = bytearray(file.read_bytes())
    end = len(content.rstrip(b"\0"))
    # Transactions that touched the tables are the latest: two bits each (access/transam/clog.c).
    at = draw.randrange(max(0, end - 8), end)
    _spoil(fault, content, at, draw)
    file.write_bytes(content)
    _scrub(ground, case, matrix)
    _observe(ground, case, QUIET, None, None, matrix)


def _spoil(fault: str, content: bytearray, at: int, draw: random.Random) -> None:
    """Damages `content` at byte `at`, its sector or its page; both logs begin with zeroes."""
    sector, page = at // SECTOR * SECTOR, at // PAGE * PAGE
    if fault == "one bit":
        content[at] ^= 1 << draw.randrange(8)
    elif fault == "run of bits":
        content[at] ^= draw.randrange(1, 256)
    elif fault == "zeroed sector":
        content[sector : sector + SECTOR] = bytes(SECTOR)
    elif fault == "zeroed page":
        content[page : page + PAGE] = bytes(PAGE)
    elif fault == "torn page, 512 B":  # sectors from here on never arrived
        content[sector : page + PAGE] = bytes(page + PAGE - sector)
    else:  # a lost write: what was added last is missing
        content[at : page + PAGE] = bytes(page + PAGE - at)


def _observe(
    ground: Ground,
    case: tuple[str, str, str],
    settings: Settings,
    number: int | None,
    truth: Answers | None,
    matrix: Matrix,
) -> None:
    """Starts the damaged clone and asks; a server that refuses to start has noticed."""
    truths = ground.truth if number is None or truth is None else {number: truth}
    noticed = dict.fromkeys((QUERY_ERROR, WRONG_ANSWER, HANGS, NO_START, READER), False)
    try:
        ground.clone.start(ground.slot, settings)
        answers = ask_all(ground.clone.address, truths)
        noticed[QUERY_ERROR] = any(answer.erred for answer in answers.values())
        noticed[WRONG_ANSWER] = any(answers[n].wrong(truths[n]) for n in answers)
        noticed[HANGS] = any(answer.hung for answer in answers.values())
        noticed[READER] = any(answers[n].unread(truths[n]) for n in answers)
    except ServerError as error:
        # One that gives up says why; one that only takes too long has noticed nothing.
        refused = "not ready after" not in str(error)
        noticed[NO_START if refused else HANGS] = noticed[READER] = True
    finally:
        ground.restore()
    noticed[NOBODY] = not any(noticed.values())
    for check, did in noticed.items():
        matrix.add(*case, check, Rate(int(did), 1))


def _scrub(ground: Ground, case: tuple[str, str, str], matrix: Matrix) -> None:
    """What a scrub says of the clone as it lies: damage, or what replay is to write anew."""
    bad, waiting = checks.scrub_classes(ground)
    matrix.add(*case, "scrub", Rate(int(bad), 1))
    matrix.add(*case, NEEDS_REPLAY, Rate(int(waiting and not bad), 1))


def _kept(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in _files(directory)}


def _put_back(ground: Ground, kept: dict[Path, bytes]) -> None:
    for path in list(_files(ground.clone.directory)):
        if path not in kept:
            path.unlink()
    for path, content in kept.items():
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
            ground.engine.account.own(path)


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file() and path.name != "server.log")
