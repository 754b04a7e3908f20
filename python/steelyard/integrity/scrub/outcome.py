"""Holds what a scrub found: counts, damage, what waits for replay, what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.integrity.scrub.cluster_state import Layout, Life, format_lsn
from steelyard.integrity.scrub.finding import Finding


@dataclass(frozen=True)
class Outcome:
    """Everything that a scrub found."""

    path: str
    layout: Layout
    life: Life
    files: int
    blocks: int
    bytes: int
    seconds: float
    bad: tuple[Finding, ...]
    needs_replay: tuple[Finding, ...] = ()
    unlisted: int = 0  # bad blocks beyond those in the list
    transient: int = 0  # wrong at first, sound when they were looked at again
    vanished: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    denied: tuple[tuple[str, str], ...] = ()
    unwritten: str = ""  # why the catalogue that was asked for could not be written
    notes: tuple[str, ...] = field(default=())

    @property
    def bad_blocks(self) -> int:
        """How many are bad, listed or not."""
        return len(self.bad) + self.unlisted

    @property
    def exit_status(self) -> int:
        """1: damage; 3: something could not be read, or the catalogue not be written; 0."""
        if self.bad_blocks:
            return 1
        return 3 if self.denied or self.unwritten else 0

    def to_json(self) -> dict[str, Any]:
        """As `scrub --json` gives it."""
        layout = self.layout
        return {
            "path": self.path,
            "life": self.life.value,
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
