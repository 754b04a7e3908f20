"""Protocols of servers that are copied, moved to other processors, frozen or crashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from steelyard.engines.engine import LocalInstance


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
