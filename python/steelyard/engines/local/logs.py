"""Reads what a server wrote to its log in one life."""

from __future__ import annotations

from pathlib import Path

_TAIL_BYTES = 64 * 1024


def log_since(log: Path, offset: int) -> str:
    """What was written to a log since `offset`, at most the last 64 kB of it."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(offset, file.tell() - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
