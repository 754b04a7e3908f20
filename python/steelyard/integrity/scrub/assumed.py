"""Assumes how the pages of a base backup are laid out, from themselves: its control file is lost.

pg_basebackup writes the control file last, so a base.tar that was cut has none. A page's header
holds its size (pd_pagesize_version), and its checksum is right or is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from steelyard._core import judge_page
from steelyard.integrity.scrub.archive import BrokenArchiveError, members
from steelyard.integrity.scrub.cluster_state import Layout, major_of

_SAMPLES = 64
_MOST_PAGE_BYTES = 32768
_SEGMENT_BYTES = 1 << 30
_WAL_SEGMENT_BYTES = 16 << 20


def assumed_layout(paths: Sequence[Path]) -> Layout | None:
    """The layout of most tables' first pages, with segments of the usual sizes; None: no page.

    What only a control file knows is 0. UsageError: a version that is not known.
    """
    version, pages = _sampled(paths)
    if version is None or not pages:
        return None
    page_bytes = Counter(len(page) for page in pages).most_common(1)[0][0]
    pages = [page for page in pages if len(page) == page_bytes]
    right = sum(judge_page(page, 0, True) is None for page in pages)
    return Layout(
        system_identifier=0,
        timeline=1,
        major=major_of(version),
        catalog_version=0,
        page_bytes=page_bytes,
        segment_blocks=_SEGMENT_BYTES // page_bytes,
        wal_segment_bytes=_WAL_SEGMENT_BYTES,
        checksums=2 * right > len(pages),
        state="not known",
        checkpoint=0,
        redo=0,
        full_page_writes=True,
        min_recovery_point=0,
        backup_start_point=0,
        backup_end_point=0,
        backup_end_required=False,
    )


def _sampled(paths: Sequence[Path]) -> tuple[str | None, list[bytes]]:
    """What a PG_VERSION says, of the cluster or of a database, and the first pages of tables."""
    version: str | None = None
    pages: list[bytes] = []
    for path in paths:
        with suppress(BrokenArchiveError):
            for member in members(path):
                name = member.name.rpartition("/")[2]
                if name == "PG_VERSION" and version is None:
                    version = member.read(16).decode(errors="replace").strip()
                elif name.isdigit() and member.is_file and len(pages) < _SAMPLES:
                    pages += _first_page(member.read(_MOST_PAGE_BYTES))
    return version, pages


def _first_page(content: bytes) -> list[bytes]:
    """The page that a file begins with, as long as its header says; none: it is empty or none."""
    size = int.from_bytes(content[18:20], "little") & 0xFF00
    known = 1024 <= size <= len(content) and size & (size - 1) == 0
    return [content[:size]] if known and content[14:16] != b"\0\0" else []
