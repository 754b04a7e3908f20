"""Protocols of servers that run in their own time: they stand still while other arms work."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from steelyard.engines.engine import CycleSettings, Scaled, Settings


@runtime_checkable
class Suspendable(Protocol):
    """All of its processes can be stopped, sessions too, while another arm is under load."""

    def suspend(self) -> None:
        """SIGSTOP every process, and wait until each stands still. For a server without a request
        under way."""

    def resume(self) -> int:
        """SIGCONT all that `suspend` stopped; ns of processor time that they used meanwhile, 0
        unless the suspension did not hold. Safe to call twice."""


@runtime_checkable
class LogLimited(Protocol):
    """An engine whose checkpoints are requested by the size of the log too."""

    def log_limit(self, settings: Settings, wal_bytes: float) -> Settings:
        """What is to be set so that size requests none before so much log was written."""


@runtime_checkable
class OwnTimeSettings(CycleSettings, Protocol):
    """An engine that can be run in its own time: its servers stand still while others work."""

    def in_own_time(self, settings: Settings, factor: float, arms: int) -> Scaled:
        """The settings that space checkpoints, divided by a factor, and those of wall time that are
        long beside a slice multiplied by the number of arms, as they are to be set. The cycle that
        comes with them is in own time."""
