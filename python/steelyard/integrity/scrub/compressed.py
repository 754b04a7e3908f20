"""Reads the pages of compressed archives, one after the other as they come out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, judge_page
from steelyard.integrity.scrub.archive import BrokenArchiveError, Member, members
from steelyard.integrity.scrub.backup import Archive, place_of
from steelyard.integrity.scrub.cluster_state import Layout

if TYPE_CHECKING:
    from steelyard._core import Scanned


def read_compressed(paths: Sequence[Path], archive: Archive, wanted: Sequence[Segment]) -> Scanned:
    """Judge every page of the wanted segments; members cannot be sought in, so all are passed.

    Where an archive is broken, which read_archives has told, its pages end.
    """
    scanned: Scanned = {
        "files": 0,
        "blocks": 0,
        "bytes": 0,
        "wrong": [],
        "dismissed": [],
        "uncounted": 0,
        "unchecked": 0,
        "behind": 0,
        "unwritten": None,
        "vanished": [],
        "denied": [],
    }
    index = {segment.label: number for number, segment in enumerate(wanted)}
    for path in paths:
        with suppress(BrokenArchiveError):
            for member in members(path):
                place = place_of(path, member.name)
                number = index.get(place[0]) if place and member.is_file else None
                if number is not None:
                    _judge(member, number, wanted[number], archive.state.layout, scanned)
    return scanned


def _judge(member: Member, number: int, segment: Segment, layout: Layout, scanned: Scanned) -> None:
    scanned["files"] += 1
    block = segment.segment * layout.segment_blocks
    for page in member.pages(layout.page_bytes):
        whole = len(page) == layout.page_bytes
        told = judge_page(page, block, layout.checksums) if whole else ("short", 0, 0, 0, 0)
        if told is not None:
            scanned["wrong"].append((number, block, told))
        scanned["bytes"] += len(page)
        scanned["blocks"] += whole
        block += 1
