"""Holds one finding of a scrub: a wrong block, its relation and the probable damage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.engines.postgres.sql.relation_files import Relation
from steelyard.integrity.scrub.layout import Layout
from steelyard.integrity.scrub.wal import format_lsn

if TYPE_CHECKING:
    from steelyard._core import Segment, Told


@dataclass(frozen=True)
class Finding:
    """One wrong block, or the wrong end of a file."""

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
    needs_replay: bool = False  # replay of the log heals it
    guess: str = ""
    guess_detail: str = ""
    relation: Relation | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as `scrub --json` gives it."""
        from steelyard.integrity.scrub.repair_advice import inspection_sql, repair_advice

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
            "sql": inspection_sql(self),
            "advice": repair_advice(self),
        }
        if self.relation is not None:
            relation = self.relation
            facts |= {"database": relation.database, "relation": relation.name}
            facts |= {"kind": relation.kind, "table": relation.table}
        return facts


def finding_of(segment: Segment, block: int, fault: Told, layout: Layout) -> Finding:
    """A finding from the fault that the scan reports for a block, counted over its fork."""
    reason, expected, found, lsn, before = fault
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
