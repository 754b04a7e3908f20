"""Holds one finding of a scrub: a wrong block, its probable damage, and whether replay heals it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard._core import Segment, guess_damage
from steelyard.engines.postgres.life.control import open_regular
from steelyard.engines.postgres.sql.relation_files import Relation
from steelyard.integrity.scrub.backup.archive_paths import GZIP_SUFFIXES
from steelyard.integrity.scrub.cluster_state import ClusterState
from steelyard.integrity.scrub.layout import ClusterLayout

if TYPE_CHECKING:
    from steelyard._core import Told


FILE_REASONS = ("missing file", "missing database", "relation map", "cut off")
_TEMPORARY = re.compile(r"t\d+_.*")


@dataclass(frozen=True)
class Damage:
    """One wrong block, the wrong end of a file, or what is missing as a whole."""

    path: str
    block: int
    fork: str
    reason: str
    expected: int = 0  # checksum
    actual: int = 0
    lsn: int = 0
    before: int = 0  # the LSN at an earlier scrub, of a page that went backwards
    offset: int = 0  # in the file, in bytes
    database: int = 0
    filenode: int = 0
    tablespace: int = 0
    missing_bytes: int = 0  # of the size that backup_manifest gives the file
    needs_replay: bool = False  # replay of the log heals it
    guess: str = ""
    guess_detail: str = ""
    relation: Relation | None = None
    kind: str = ""  # relkind, where the relation is not named by a server
    database_name: str = ""  # "": not known, or of all databases
    catalogue: int = 0  # OID of the system catalogue whose file it is
    unlogged: bool = False  # a crash empties the relation

    @property
    def of_file(self) -> bool:
        """Whether it is of a file or directory as a whole."""
        return self.reason in FILE_REASONS

    @property
    def temporary(self) -> bool:
        """Whether the file is one of a temporary relation."""
        return _TEMPORARY.fullmatch(self.path.rpartition("/")[2]) is not None


def finding_of(segment: Segment, block: int, fault: Told, layout: ClusterLayout) -> Damage:
    """A finding from the fault that the scan reports for a block, counted over its fork."""
    reason, expected, actual, lsn, before = fault
    return Damage(
        path=segment.label,
        block=block,
        fork=segment.fork,
        reason=reason,
        expected=expected,
        actual=actual,
        lsn=lsn,
        before=before,
        offset=block % layout.segment_blocks * layout.page_bytes,
        database=segment.database,
        filenode=segment.filenode,
        tablespace=segment.tablespace,
    )


RelationKey = tuple[int, int, int]
"""(tablespace, database, filenode)."""


def unlogged_relations(segments: Iterable[Segment]) -> frozenset[RelationKey]:
    """Relations with an init fork, which recovery resets to it."""
    return frozenset(
        (segment.tablespace, segment.database, segment.filenode)
        for segment in segments
        if segment.fork == "init"
    )


def is_healed_by_replay(
    finding: Damage, state: ClusterState, unlogged: frozenset[RelationKey]
) -> bool:
    """Whether the recovery that this cluster needs anyway makes the page right.

    The first change of a page after the start of replay logs the whole page (full_page_writes), so
    replay rewrites a page torn since then. An LSN behind the end of the log is damage itself.
    """
    if state.replay_from is None or finding.reason == "unreadable":
        return False
    if _is_reset(finding, unlogged):
        return True
    return state.replay_to is not None and _is_replayed(finding, state.replay_from, state)


def _is_replayed(finding: Damage, start: int, state: ClusterState) -> bool:
    end = state.replay_to or 0
    if finding.missing_bytes:
        return False  # it was longer when the backup was taken
    if finding.reason == "short":
        # A file that was being extended ends in new pages; recovery completes the last one.
        return finding.lsn == 0 or start <= finding.lsn <= end
    if finding.reason == "missing segment":
        # Recovery fills up short segments before it writes behind them (_mdfd_getseg of md.c).
        return finding.lsn == 0 or finding.lsn >= start
    if finding.reason == "backwards":
        return start <= finding.before <= end
    torn = finding.reason in ("checksum", "header") and state.heals_torn
    return torn and start <= finding.lsn <= end


def _is_reset(finding: Damage, unlogged: frozenset[RelationKey]) -> bool:
    if finding.temporary:
        return True
    relation = (finding.tablespace, finding.database, finding.filenode)
    return finding.fork != "init" and relation in unlogged


MAX_GUESSES = 1000
_DAMAGED_PAGES = ("checksum", "header", "not empty")
Fork = tuple[int, int, int, str, bool]
"""(tablespace, database, filenode, fork name, whether it is temporary)."""


def add_damage_guesses(
    findings: Sequence[Damage],
    scanned: Sequence[Segment],
    segments: Sequence[Segment],
    state: ClusterState,
) -> list[Damage]:
    """The findings, the first thousand of them with a guess.

    `scanned`: the segments that have the findings; `segments`: all of them, for the forks' lengths.
    """
    by_label = {segment.label: segment for segment in scanned}
    blocks = _fork_blocks(segments, state) if findings else {}
    guessed = []
    for number, finding in enumerate(findings):
        page, segment = b"", by_label.get(finding.path)
        if segment and number < MAX_GUESSES and finding.reason in _DAMAGED_PAGES:
            page = page_at(segment, finding.offset, state.layout.page_bytes)
        if segment and len(page) == state.layout.page_bytes:
            guess, detail = guess_damage(page, finding.block, blocks[fork_of(segment)])
            guessed.append(replace(finding, guess=guess, guess_detail=detail))
        else:
            guessed.append(finding)
    return guessed


def fork_of(segment: Segment) -> Fork:
    """The fork that a segment is a part of."""
    return (
        segment.tablespace,
        segment.database,
        segment.filenode,
        segment.fork,
        segment.temporary,
    )


def _fork_blocks(segments: Sequence[Segment], state: ClusterState) -> dict[Fork, int]:
    """Lengths of forks in blocks, up to the end of their last segments."""
    blocks: dict[Fork, int] = {}
    for each in segments:
        fork = fork_of(each)
        end = each.segment * state.layout.segment_blocks + each.bytes // state.layout.page_bytes
        blocks[fork] = max(end, blocks.get(fork, 0))
    return blocks


def page_at(segment: Segment, offset: int, page_bytes: int) -> bytes:
    """The page at an offset of a segment, in bytes; b"": it cannot be read again."""
    if segment.path.suffix in GZIP_SUFFIXES:
        return b""
    try:
        with open_regular(segment.path) as file:
            file.seek(segment.offset + offset)
            return file.read(page_bytes)
    except OSError:
        return b""


def lsn_of(page: bytes) -> int:
    """The LSN of a page (pd_lsn of storage/bufpage.h); 0: the page is empty."""
    high, low = page[:4], page[4:8]
    return (int.from_bytes(high, sys.byteorder) << 32) + int.from_bytes(low, sys.byteorder)
