"""Decides which wrong pages replay of the write-ahead log heals, so that they are no damage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from steelyard._core import Segment
from steelyard.integrity.scrub.cluster_state import ClusterState
from steelyard.integrity.scrub.finding import Finding

RelationKey = tuple[int, int, int]
"""(tablespace, database, filenode)."""
_TEMPORARY = re.compile(r"t\d+_.*")


def unlogged_relations(segments: Iterable[Segment]) -> frozenset[RelationKey]:
    """Relations with an init fork, which recovery resets to it."""
    return frozenset(
        (segment.tablespace, segment.database, segment.filenode)
        for segment in segments
        if segment.fork == "init"
    )


def is_healed_by_replay(
    finding: Finding, state: ClusterState, unlogged: frozenset[RelationKey]
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


def _is_replayed(finding: Finding, start: int, state: ClusterState) -> bool:
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


def _is_reset(finding: Finding, unlogged: frozenset[RelationKey]) -> bool:
    if _TEMPORARY.fullmatch(finding.path.rpartition("/")[2]):
        return True
    relation = (finding.tablespace, finding.database, finding.filenode)
    return finding.fork != "init" and relation in unlogged
