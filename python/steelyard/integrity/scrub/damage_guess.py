"""Rereads damaged pages and guesses from their content what happened to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from steelyard._core import Segment, guess_damage
from steelyard.integrity.scrub.backup.archive_paths import GZIP_SUFFIXES
from steelyard.integrity.scrub.cluster_state import ClusterState
from steelyard.integrity.scrub.finding import Finding

MAX_GUESSES = 1000
_DAMAGED_PAGES = ("checksum", "header", "not empty")
Fork = tuple[int, int, int, str, bool]
"""(tablespace, database, filenode, fork name, whether it is temporary)."""


def add_damage_guesses(
    findings: Sequence[Finding],
    scanned: Sequence[Segment],
    segments: Sequence[Segment],
    state: ClusterState,
) -> list[Finding]:
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
        with segment.path.open("rb") as file:
            file.seek(segment.offset + offset)
            return file.read(page_bytes)
    except OSError:
        return b""


def lsn_of(page: bytes) -> int:
    """The LSN of a page (pd_lsn of storage/bufpage.h); 0: the page is empty."""
    high, low = page[:4], page[4:8]
    return (int.from_bytes(high, sys.byteorder) << 32) + int.from_bytes(low, sys.byteorder)
