"""Reads the pages of compressed archives, one after the other as they come out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, judge_page
from steelyard.integrity.backup import Archive, members, place_of

if TYPE_CHECKING:
    from steelyard._core import Scanned, Told


def read_compressed(paths: Sequence[Path], archive: Archive, wanted: Sequence[Segment]) -> Scanned:
    """Judge every page of the wanted segments; members cannot be sought in, so all are passed."""
    layout = archive.state.layout
    index = {segment.label: number for number, segment in enumerate(wanted)}
    wrong: list[tuple[int, int, Told]] = []
    files = blocks = read = 0
    for path in paths:
        for member, content in members(path):
            place = place_of(path, member.name)
            number = index.get(place[0]) if place and member.isreg() else None
            if number is None:
                continue
            block = wanted[number].segment * layout.segment_blocks
            for page in content.pages(layout.page_bytes):
                whole = len(page) == layout.page_bytes
                told = judge_page(page, block, layout.checksums) if whole else ("short", 0, 0, 0, 0)
                if told is not None:
                    wrong.append((number, block, told))
                read += len(page)
                blocks += whole
                block += 1
            files += 1
    return {
        "files": files,
        "blocks": blocks,
        "bytes": read,
        "wrong": wrong,
        "dismissed": [],
        "uncounted": 0,
        "unchecked": 0,
        "behind": 0,
        "unwritten": None,
        "vanished": [],
        "denied": [],
    }
