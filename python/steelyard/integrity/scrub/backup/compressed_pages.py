"""Checks the pages of compressed archives in one sequential pass."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, judge_page
from steelyard.integrity.scrub.backup.archives import Archive, place_of
from steelyard.integrity.scrub.backup.tar_members import BrokenArchiveError, Member, members
from steelyard.integrity.scrub.layout import Layout

if TYPE_CHECKING:
    from steelyard._core import Scanned


def scan_compressed(paths: Sequence[Path], archive: Archive, wanted: Sequence[Segment]) -> Scanned:
    """Check every page of the wanted segments; without seeking, all members are read through.

    Ends where an archive is broken, which read_archives has reported.
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
                    _check_pages(member, number, wanted[number], archive.state.layout, scanned)
    return scanned


def _check_pages(
    member: Member, number: int, segment: Segment, layout: Layout, scanned: Scanned
) -> None:
    scanned["files"] += 1
    block = segment.segment * layout.segment_blocks
    for page in member.pages(layout.page_bytes):
        whole = len(page) == layout.page_bytes
        fault = judge_page(page, block, layout.checksums) if whole else ("short", 0, 0, 0, 0)
        if fault is not None:
            scanned["wrong"].append((number, block, fault))
        scanned["bytes"] += len(page)
        scanned["blocks"] += whole
        block += 1
