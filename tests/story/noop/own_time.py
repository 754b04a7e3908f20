"""Lets servers in memory stand still while others work, and run in their own time."""

from __future__ import annotations

import math
from abc import abstractmethod
from pathlib import Path

from steelyard.engines.capabilities.checkpoints import Scaled
from steelyard.engines.engine import Settings
from story.noop.journal import Journal

OWN_TIME = "own_time"
"""Setting of a server that runs in its own time: how many arms there are."""


class SuspendableNoop:
    """A server in memory that can be suspended; not while it is."""

    _journal: Journal
    _directory: Path
    suspended = False

    def suspend(self) -> None:
        """Stand wholly still."""
        self._journal.write("suspend", self._directory)
        self.suspended = True

    def resume(self) -> int:
        """Go on; the processor time that the answers have for the suspension."""
        if not self.suspended:
            return 0
        self._journal.write("resume", self._directory)
        self.suspended = False
        return self._journal.answers.suspended_use_ns


class OwnTimeNoop:
    """An engine in memory whose servers know how many arms share the wall clock."""

    @abstractmethod
    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """What spaces checkpoints, nearer by a factor."""

    def in_own_time(self, settings: Settings, factor: float, arms: int) -> Scaled:
        """The same, and the number of arms."""
        spaced = self.scaled(settings, factor)
        return Scaled(
            {**spaced.settings, OWN_TIME: str(arms)},
            spaced.cycle,
            (f"{OWN_TIME} of {arms} arms",),
        )

    def log_limit(self, settings: Settings, wal_bytes: float) -> Settings:
        """So much log, in whole MB."""
        return {"most_log": f"{math.ceil(wal_bytes / (1 << 20))}MB"}
