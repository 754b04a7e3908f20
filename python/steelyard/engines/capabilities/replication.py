"""Protocols of servers that standbys follow: what an arm has of them, and how far they lag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from steelyard.engines.engine import Settings
from steelyard.model.endpoint import Endpoint


@dataclass(frozen=True)
class Standbys:
    """What an arm has beside its primary."""

    count: int
    round_trip_ns: int = 0  # added between the primary and each of them
    reads: bool = False  # the load's sessions go to the first standby


@dataclass(frozen=True)
class Lag:
    """How far the standby that is furthest behind had not replayed."""

    log_bytes: int
    age_ns: int  # of the end of the last transaction that it replayed; 0 where nothing is left


@runtime_checkable
class Replicating(Protocol):
    """An engine whose servers can have standbys."""

    def replication(self, standbys: int, quorum: int) -> Settings:
        """What is to be set beneath an arm's own settings, whose commits wait for `quorum` of its
        standbys; 0: for none."""


@runtime_checkable
class Replicable(Protocol):
    """A server that can be given standbys, which start, stand still and end with it."""

    def replicate(self, standbys: Standbys | None) -> None:
        """From its next start on; None: it has none."""

    def standby_names(self) -> Sequence[str]:
        """Of this life; empty: it has none."""

    def require_standbys(self) -> None:
        """ServerError: one has died. Sends nothing."""

    def require_streaming(self) -> None:
        """ServerError: one has died, or does not follow any more."""

    def load_address(self) -> Endpoint:
        """Its administrative database, or that of the standby that the load's sessions go to."""

    def lag(self) -> Lag:
        """When it was last suspended or frozen in this life, else now. EngineError: it is not
        known."""
