"""Decides which of the wrong pages recovery makes right anyway, so that they are no damage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from steelyard._core import Segment
from steelyard.integrity.scrub.cluster_state import ClusterState
from steelyard.integrity.scrub.finding import Finding

Relation = tuple[int, int, int]
"""(tablespace, database, filenode)."""
_TEMPORARY = re.compile(r"t\d+_.*")


def reset_at_start(segments: Iterable[Segment]) -> frozenset[Relation]:
    """Unlogged relations: those with an init fork, whose content a crash takes."""
    return frozenset(
        (segment.tablespace, segment.database, segment.filenode)
        for segment in segments
        if segment.fork == "init"
    )


def needs_replay(finding: Finding, state: ClusterState, reset: frozenset[Relation]) -> bool:
    """Whether recovery, which comes first anyway, makes it right.

    The first change of a page after the start of replay logs all of it (full_page_writes), so a
    page torn since then is written anew. An LSN that no log reaches is damage, not a promise.
    """
    if state.replay_from is None or finding.reason == "unreadable":
        return False
    if _is_reset(finding, reset):
        return True
    return state.replay_to is not None and _is_replayed(finding, state.replay_from, state)


def _is_replayed(finding: Finding, start: int, state: ClusterState) -> bool:
    end = state.replay_to or 0
    if finding.missing_bytes:
        return False  # it was longer when the backup was taken
    if finding.reason == "short":
        # A file that was being extended has new pages before its end; recovery rounds it.
        return finding.lsn == 0 or start <= finding.lsn <= end
    if finding.reason == "missing segment":
        # Recovery fills up what is short before what it writes behind it (_mdfd_getseg of md.c).
        return finding.lsn == 0 or finding.lsn >= start
    if finding.reason == "backwards":
        return start <= finding.before <= end
    torn = finding.reason in ("checksum", "header") and state.heals_torn
    return torn and start <= finding.lsn <= end


def _is_reset(finding: Finding, reset: frozenset[Relation]) -> bool:
    if _TEMPORARY.fullmatch(finding.path.rpartition("/")[2]):
        return True
    relation = (finding.tablespace, finding.database, finding.filenode)
    return finding.fork != "init" and relation in reset
