"""Places of the user's where arms' files are: drawn with the slots, or each arm's own.

Where the places of all arms are alike (one file system, mounted alike), the place of slot n is that
of the n-th arm, and slots are drawn: no arm owns a place. Where they differ, an arm's files stay in
its own place whatever its slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from steelyard.engines.capabilities.life import MovableLog
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError


@dataclass(frozen=True)
class FilePlaces:
    """The places of a weighing's arms; empty: all files are in the slots."""

    arms: tuple[str, ...] = ()
    """In the order of the study."""
    directories: Mapping[str, Path] = field(default_factory=dict)
    """Arm → a private directory for its data, where that is not its slot."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    """Arm → one for its write-ahead log, where that is not in its data directory."""
    drawn: bool = True
    """Whether the places are alike, so that any arm may have any of them."""
    _numbers: count[int] = field(default_factory=count)

    def number(self, arm: str, slot: int) -> int:
        """Which place an arm's files have that was drawn a slot."""
        return slot if self.drawn else self.arms.index(arm)

    def data(self, number: int) -> Path | None:
        """The directory of a place; None: the slot of that number."""
        return self.directories.get(self.arms[number]) if self.arms else None

    def move_log(self, copy: Instance, number: int) -> None:
        """Put the log of a stopped copy into the log's directory of a place, where it has one."""
        directory = self.logs.get(self.arms[number]) if self.arms else None
        if directory is None:
            return
        if not isinstance(copy, MovableLog):
            raise EngineError(f"engine cannot keep its log elsewhere: {copy.identity.kind}")
        if copy.log_directory is None:
            copy.move_log(directory / f"log{next(self._numbers)}")
        else:
            copy.move_log(copy.log_directory)


def log_directory(copy: Instance) -> Path | None:
    """Where the log of a copy is, apart from its data; None: it is there."""
    return copy.log_directory if isinstance(copy, MovableLog) else None
