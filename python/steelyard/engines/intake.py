"""Protocols for taking in external data: what is found at a path, and the copy made of it.

The place is opened for reading alone. What is made is a stopped cluster like any loaded one: its
database is called "steelyard", its superuser needs no password, and its pages carry checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from steelyard.engines.engine import Slot

PlaceKind = Literal["data directory", "base backup", "dump"]


@dataclass(frozen=True)
class DataPlace:
    """External data, as it was found."""

    path: Path
    kind: PlaceKind
    major: str | None  # of the server that it belongs to; None: of any that can read it
    bytes: int  # of the files that a copy would hold
    digest: str  # changes when a file of it does


@dataclass(frozen=True)
class Neutralised:
    """Something of the original that the copy is without, and why."""

    what: str  # its name; of a setting never the value, which may be a password
    why: str


@dataclass(frozen=True)
class Intake:
    """What is to be taken in."""

    place: DataPlace
    database: str | None  # None: the only one there is
    configuration: Path | None = None  # where the server's settings are not beside its data


@dataclass(frozen=True)
class TakenIn:
    """A copy that was made."""

    database: str  # its name in the original
    database_bytes: int
    neutralised: tuple[Neutralised, ...]
    doubts: tuple[str, ...]  # what may be otherwise than in the original, in words


Report = Callable[[str], None]


@runtime_checkable
class TakesIn(Protocol):
    """An engine that can take in data that it did not load."""

    def take_in(self, intake: Intake, slot: Slot, report: Report) -> TakenIn:
        """Make the copy in `slot.path / "data"`, stopped. UsageError: it does not say which
        database is meant; EngineError: the place is not whole, in use, or of another version."""
