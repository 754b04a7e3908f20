"""Bounds the memory of a capture: which sessions it remembers, and how many values of a kind."""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Iterable
from typing import Protocol

MOST_SESSIONS = 20_000
"""A log need not say that a session ended: of more, those that were silent longest have. Servers
have fewer at a time."""
MOST_MEMORY = 512 << 20
"""Of the texts and values of all kinds together, a half for each."""

Row = tuple[str | None, ...]


class RecentSessions:
    """Names of sessions, of which those that were silent longest are forgotten."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        """It has spoken."""
        self._names.pop(name, None)
        self._names[name] = None
        if len(self._names) > MOST_SESSIONS:
            del self._names[next(iter(self._names))]


class Sampled(Protocol):
    """A kind with a fair sample of its values."""

    rows: list[Row]
    rows_bytes: int
    most_rows: int
    thinned: bool


def bytes_of(row: Row) -> int:
    """Memory that a row takes; one without values is the same object in all."""
    return sys.getsizeof(row) + sum(map(sys.getsizeof, row)) if row else 0


def halve(kind: Sampled, draw: random.Random) -> int:
    """Leave a fair half of the rows, and as many at most from now on; how many bytes are free."""
    before = kind.rows_bytes
    kind.most_rows = (len(kind.rows) + 1) // 2
    chosen = sorted(draw.sample(range(len(kind.rows)), kind.most_rows))
    kind.rows = [kind.rows[index] for index in chosen]
    kind.rows_bytes = sum(map(bytes_of, kind.rows))
    kind.thinned = True
    return before - kind.rows_bytes


def thin(kinds: Iterable[Sampled], needed_bytes: int, draw: random.Random) -> int:
    """Halve the samples that take most memory, until so much is free; how much is. Each kind keeps
    a row."""
    largest = [
        (-kind.rows_bytes, number, kind) for number, kind in enumerate(kinds) if kind.rows_bytes
    ]
    heapq.heapify(largest)
    free_bytes = 0
    while free_bytes < needed_bytes and largest:
        _, number, kind = heapq.heappop(largest)
        if len(kind.rows) > 1:
            free_bytes += halve(kind, draw)
            heapq.heappush(largest, (-kind.rows_bytes, number, kind))
    return free_bytes
