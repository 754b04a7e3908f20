"""Guesses the page layout of a base backup from its pages when the control file is lost.

pg_basebackup writes the control file last, so a truncated base.tar has none. A page header holds
the page size (pd_pagesize_version), and a correct checksum shows that checksums are on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from steelyard._core import judge_page
from steelyard.integrity.scrub.backup.tar_members import BrokenArchiveError, members
from steelyard.integrity.scrub.layout import Layout, major_of

_SAMPLES = 64
_MAX_PAGE_BYTES = 32768
_SEGMENT_BYTES = 1 << 30
_WAL_SEGMENT_BYTES = 16 << 20


def guess_layout(paths: Sequence[Path]) -> Layout | None:
    """The layout of most tables' first pages, with segments of default size; None: no page found.

    Fields that only a control file holds are 0. UsageError: an unsupported version.
    """
    version, pages = _sample(paths)
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


def _sample(paths: Sequence[Path]) -> tuple[str | None, list[bytes]]:
    """The version from a PG_VERSION of the cluster or a database, and first pages of tables."""
    version: str | None = None
    pages: list[bytes] = []
    for path in paths:
        with suppress(BrokenArchiveError):
            for member in members(path):
                name = member.name.rpartition("/")[2]
                if name == "PG_VERSION" and version is None:
                    version = member.read(16).decode(errors="replace").strip()
                elif name.isdigit() and member.is_file and len(pages) < _SAMPLES:
                    pages += _first_page(member.read(_MAX_PAGE_BYTES))
    return version, pages


def _first_page(content: bytes) -> list[bytes]:
    """The first page of a file, with the size from its header; none: it is empty or no page."""
    size = int.from_bytes(content[18:20], "little") & 0xFF00
    valid = 1024 <= size <= len(content) and size & (size - 1) == 0
    return [content[:size]] if valid and content[14:16] != b"\0\0" else []
