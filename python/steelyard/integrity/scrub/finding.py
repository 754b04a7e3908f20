"""Holds what a scrub found wrong with a block, and what can be said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard.integrity.scrub.cluster_state import Layout, format_lsn

if TYPE_CHECKING:
    from steelyard._core import Segment, Told


@dataclass(frozen=True)
class Owner:
    """The relation that a file belongs to, as its server names it."""

    database: str
    relation: str  # "public.accounts"
    kind: str  # relkind of pg_class: "r", "i", "t", ...
    of: str = ""  # the table of an index or of a TOAST table


@dataclass(frozen=True)
class Finding:
    """One block, or file, that is not as it should be."""

    path: str
    block: int
    fork: str
    reason: str
    expected: int = 0  # checksum
    found: int = 0
    lsn: int = 0
    before: int = 0  # the LSN at an earlier scrub, of a page that went backwards
    offset: int = 0  # in the file, in bytes
    database: int = 0
    filenode: int = 0
    tablespace: int = 0
    missing_bytes: int = 0  # of the size that backup_manifest gives the file
    waits: bool = False  # for the log to be replayed, which makes it right
    guess: str = ""
    guess_detail: str = ""
    owner: Owner | None = field(default=None)

    def to_json(self) -> dict[str, Any]:
        """The finding as `scrub --json` gives it."""
        from steelyard.integrity.scrub.advice import advice, look_sql

        facts: dict[str, Any] = {
            "path": self.path,
            "block": self.block,
            "fork": self.fork,
            "reason": self.reason,
            "expected": self.expected,
            "found": self.found,
            "lsn": format_lsn(self.lsn),
            "offset": self.offset,
            "guess": self.guess,
            "guess_detail": self.guess_detail,
            "sql": look_sql(self),
            "advice": advice(self),
        }
        if self.owner is not None:
            owner = self.owner
            facts |= {"database": owner.database, "relation": owner.relation}
            facts |= {"kind": owner.kind, "table": owner.of}
        return facts


def finding_of(segment: Segment, block: int, told: Told, layout: Layout) -> Finding:
    """What the scan told of a block (counted over its fork), with the place where it lies."""
    reason, expected, found, lsn, before = told
    return Finding(
        path=segment.label,
        block=block,
        fork=segment.fork,
        reason=reason,
        expected=expected,
        found=found,
        lsn=lsn,
        before=before,
        offset=block % layout.segment_blocks * layout.page_bytes,
        database=segment.database,
        filenode=segment.filenode,
        tablespace=segment.tablespace,
    )
