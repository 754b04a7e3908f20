"""Holds the result of a scrub of InnoDB: counts, damaged pages, checksum algorithms, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NOT_VERIFIED = ("not verified: compressed", "not verified: encrypted")
"""What pages carry whose checksum is that of something else than what is in the file."""


@dataclass(frozen=True)
class PageFinding:
    """One damaged page, or the wrong end of a file."""

    path: str
    block: int  # its number in the tablespace
    reason: str
    expected: int  # by reason: a checksum, half an LSN, a page's or tablespace's number, pages
    actual: int
    lsn: int
    offset: int  # in the file, in bytes

    def to_json(self) -> dict[str, Any]:
        """The finding as `scrub --json` gives it."""
        return {
            "path": self.path,
            "block": self.block,
            "reason": self.reason,
            "expected": self.expected,
            "found": self.actual,
            "lsn": self.lsn,
            "offset": self.offset,
        }


@dataclass(frozen=True)
class Tablespace:
    """One file: how its pages are laid out, and how many carry what."""

    path: str
    page_bytes: int  # in the file
    logical_bytes: int  # in memory: more under ROW_FORMAT=COMPRESSED
    space: int | None  # the tablespace's number; None: no page says it
    pages: dict[str, int]  # by what they carry: crc32, innodb, none, full_crc32, zero, ...

    def to_json(self) -> dict[str, Any]:
        """The file as `scrub --json` gives it."""
        return {
            "path": self.path,
            "page_bytes": self.page_bytes,
            "logical_bytes": self.logical_bytes,
            "space": self.space,
            "pages": self.pages,
        }


@dataclass(frozen=True)
class InnodbOutcome:
    """Everything that a scrub of an InnoDB data directory found."""

    path: str
    running: bool
    files: int
    blocks: int
    bytes: int
    seconds: float
    bad: tuple[PageFinding, ...]
    unlisted: int  # bad pages beyond those in the list
    transient: int  # pages that were wrong at first and right when read again
    tablespaces: tuple[Tablespace, ...]
    vanished: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    denied: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def bad_blocks(self) -> int:
        """Number of damaged pages, listed or not."""
        return len(self.bad) + self.unlisted

    @property
    def exit_status(self) -> int:
        """1: damage; 3: something could not be read; else 0."""
        if self.bad_blocks:
            return 1
        return 3 if self.denied else 0

    @property
    def carried(self) -> dict[str, int]:
        """Sound pages by what they carry, over all files."""
        return carried(self.tablespaces)

    @property
    def not_verified(self) -> int:
        """How many of these pages are sound only as far as nothing is known against them."""
        return sum(self.carried.get(each, 0) for each in NOT_VERIFIED)

    @property
    def life(self) -> str:
        """ "running" or "stopped"."""
        return "running" if self.running else "stopped"

    def to_json(self) -> dict[str, Any]:
        """As `scrub --json` gives it."""
        return {
            "path": self.path,
            "engine": "innodb",
            "life": self.life,
            "files": self.files,
            "blocks": self.blocks,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "bad_blocks": self.bad_blocks,
            "bad": [finding.to_json() for finding in self.bad],
            "transient": self.transient,
            "carried": self.carried,
            "not_verified": self.not_verified,
            "tablespaces": [each.to_json() for each in self.tablespaces],
            "vanished": list(self.vanished),
            "skipped": [{"path": p, "reason": r} for p, r in (*self.skipped, *self.denied)],
            "denied": [{"path": p, "reason": r} for p, r in self.denied],
            "notes": list(self.notes),
        }


def carried(tablespaces: Sequence[Tablespace]) -> dict[str, int]:
    """Sound pages by what they carry, the most frequent first."""
    total: Counter[str] = Counter()
    for each in tablespaces:
        total.update(each.pages)
    return dict(total.most_common())
