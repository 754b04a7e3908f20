"""Protocols of servers that are copied, moved to other processors, frozen or crashed, and of those
that standbys follow: what an arm has of them, and how far they lag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from steelyard.engines.engine import LocalInstance, Settings
from steelyard.model.endpoint import Endpoint


@runtime_checkable
class Clonable(Protocol):
    """Has a data directory that can be copied, and put back cheaply to what the template is."""

    @property
    def directory(self) -> Path: ...

    def clone(self, directory: Path) -> LocalInstance:
        """Copy this stopped cluster to `directory` (reflink where possible, else copy)."""

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again; bytes that were copied."""

    def move(self, directory: Path) -> None:
        """Rename this stopped cluster's directory, within one file system."""


@runtime_checkable
class Protection(Protocol):
    """Its page protection can be switched while it is stopped, without loading it again."""

    def protect(self, level: str) -> None:
        """Switch to a level of the engine's `protections`; EngineError: it has no such level."""


@runtime_checkable
class MovableLog(Protocol):
    """Its write-ahead log can be in a directory of its own."""

    @property
    def log_directory(self) -> Path | None:
        """Where it was put; None: it is in the data directory."""

    def move_log(self, directory: Path) -> None:
        """Put the log of this stopped cluster there, where it is not already."""


@runtime_checkable
class Placeable(Protocol):
    """Its processes can be pinned to processors."""

    def place(self, processors: Mapping[int, Sequence[int]]) -> None:
        """Pin each process id to its processors, by a child with the server's own user id; one that
        has ended is left out."""


@runtime_checkable
class Freezable(Protocol):
    """Its background processes can be held still while another arm is under load."""

    def freeze(self) -> None:
        """SIGSTOP every process but the postmaster and client backends."""

    def thaw(self) -> None:
        """SIGCONT all that `freeze` stopped; safe to call twice."""


@runtime_checkable
class Crashable(Protocol):
    """Can be stopped without writing anything more, which leaves nothing running."""

    def crash(self) -> None:
        """Kill at once without a shutdown checkpoint."""

    def discard(self) -> None:
        """Stop the fastest way; its files are put back before they are used again."""


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
