"""Reads from a server's log why it did not start, or why it died."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_LINES = 12
_SEVERITY = re.compile(r"\b(FATAL|PANIC):  (.*)")
_CONTINUATION = re.compile(r"\b(DETAIL|HINT):  ")
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


def reason(words: str) -> str:
    """The message of the last FATAL or PANIC line; "" when there is none."""
    found = _SEVERITY.findall(words)
    return found[-1][1].strip() if found else ""


def quoted(words: str) -> str:
    """The lines to quote in an error: FATAL and PANIC with their DETAIL and HINT, else the tail."""
    lines = words.strip().splitlines()
    chosen: list[str] = []
    for line in lines:
        if _SEVERITY.search(line) or (chosen and _CONTINUATION.search(line)):
            chosen.append(line.strip())
    return "\n".join(chosen[-TAIL_LINES:] or lines[-TAIL_LINES:])
