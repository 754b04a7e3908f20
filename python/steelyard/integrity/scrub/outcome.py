"""Holds the result of a scrub: counts, damaged pages, pages to be replayed, unread files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.integrity.scrub.cluster_state import RunState
from steelyard.integrity.scrub.finding import Finding
from steelyard.integrity.scrub.layout import Layout
from steelyard.integrity.scrub.wal import format_lsn


@dataclass(frozen=True)
class Outcome:
    """Everything that a scrub found."""

    path: str
    layout: Layout
    run_state: RunState
    files: int
    blocks: int
    bytes: int
    seconds: float
    bad: tuple[Finding, ...]
    needs_replay: tuple[Finding, ...] = ()
    unlisted: int = 0  # bad blocks beyond those in the list
    transient: int = 0  # blocks that were wrong at first and right when read again
    vanished: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    denied: tuple[tuple[str, str], ...] = ()
    unwritten: str = ""  # why the requested catalogue could not be written
    notes: tuple[str, ...] = field(default=())

    @property
    def bad_blocks(self) -> int:
        """Number of damaged blocks, listed or not."""
        return len(self.bad) + self.unlisted

    @property
    def exit_status(self) -> int:
        """1: damage; 3: something could not be read, or the catalogue not be written; else 0."""
        if self.bad_blocks:
            return 1
        return 3 if self.denied or self.unwritten else 0

    def to_json(self) -> dict[str, Any]:
        """As `scrub --json` gives it."""
        layout = self.layout
        return {
            "path": self.path,
            "life": self.run_state.value,
            "version": str(layout.major),
            "system_identifier": str(layout.system_identifier),
            "timeline": layout.timeline,
            "checkpoint": format_lsn(layout.checkpoint),
            "checksums": layout.checksums,
            "files": self.files,
            "blocks": self.blocks,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "bad_blocks": self.bad_blocks,
            "bad": [finding.to_json() for finding in self.bad],
            "needs_replay": [finding.to_json() for finding in self.needs_replay],
            "transient": self.transient,
            "vanished": list(self.vanished),
            "skipped": [{"path": p, "reason": r} for p, r in (*self.skipped, *self.denied)],
            "denied": [{"path": p, "reason": r} for p, r in self.denied],
            "unwritten": self.unwritten,
            "notes": list(self.notes),
        }
