"""Guesses what happened to damaged pages, as far as they can be read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard._core import Segment, guess_damage
from steelyard.integrity.scrub.cluster_state import ClusterState
from steelyard.integrity.scrub.finding import Finding
from steelyard.integrity.scrub.page import page_at

MOST_GUESSES = 1000
_DAMAGED_PAGES = ("checksum", "header", "not empty")


def guessed(
    findings: Sequence[Finding],
    scanned: Sequence[Segment],
    segments: Sequence[Segment],
    state: ClusterState,
) -> list[Finding]:
    """The findings, with guesses for the first thousand.

    `scanned`: the segments that have the findings; `segments`: all, which tell how long forks are.
    """
    by_label = {segment.label: segment for segment in scanned}
    blocks = _fork_blocks(segments, state) if findings else {}
    told = []
    for number, finding in enumerate(findings):
        page, segment = b"", by_label.get(finding.path)
        if segment and number < MOST_GUESSES and finding.reason in _DAMAGED_PAGES:
            page = page_at(segment, finding.offset, state.layout.page_bytes)
        if segment and len(page) == state.layout.page_bytes:
            guess, detail = guess_damage(page, finding.block, blocks[fork_of(segment)])
            told.append(replace(finding, guess=guess, guess_detail=detail))
        else:
            told.append(finding)
    return told


def fork_of(segment: Segment) -> tuple[int, int, int, str, bool]:
    """What all segments of a fork have in common."""
    return (
        segment.tablespace,
        segment.database,
        segment.filenode,
        segment.fork,
        segment.temporary,
    )


def _fork_blocks(
    segments: Sequence[Segment], state: ClusterState
) -> dict[tuple[int, int, int, str, bool], int]:
    """Lengths of forks in blocks, to the end of their last segments."""
    blocks: dict[tuple[int, int, int, str, bool], int] = {}
    for each in segments:
        fork = fork_of(each)
        end = each.segment * state.layout.segment_blocks + each.bytes // state.layout.page_bytes
        blocks[fork] = max(end, blocks.get(fork, 0))
    return blocks
