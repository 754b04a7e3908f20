"""Holds what a server counted of one statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StatementCount:
    """Of every execution of one statement since the server started to count, in sums."""

    text: str  # as the server keeps it: constants may be $1, $2, ...
    executions: int
    wal_bytes: int
    full_page_images: int
    blocks_read: int  # asked of the kernel


@dataclass(frozen=True)
class StatementCounts:
    """Of every statement that a server keeps; what it forgot meanwhile would be missing in sums."""

    by_text: Mapping[str, StatementCount] = field(default_factory=dict)
    forgotten: int = 0  # times it made room for others
    missing: str = ""  # why there is nothing


def between(before: StatementCounts, after: StatementCounts) -> StatementCounts:
    """What was executed between two looks; nothing, with its reason, where it is not known."""
    reason = after.missing or before.missing
    if not reason and after.forgotten != before.forgotten:
        reason = "the server made room for other statements meanwhile"
    if reason:
        return StatementCounts(missing=reason)
    changes = [_change(before.by_text.get(one.text), one) for one in after.by_text.values()]
    if any(one.executions < 0 for one in changes):
        return StatementCounts(missing="the statistics of statements were reset meanwhile")
    done = sorted((one for one in changes if one.executions), key=lambda one: -one.wal_bytes)
    return StatementCounts({one.text: one for one in done})


def _change(before: StatementCount | None, after: StatementCount) -> StatementCount:
    if before is None:
        return after
    return StatementCount(
        text=after.text,
        executions=after.executions - before.executions,
        wal_bytes=after.wal_bytes - before.wal_bytes,
        full_page_images=after.full_page_images - before.full_page_images,
        blocks_read=after.blocks_read - before.blocks_read,
    )
