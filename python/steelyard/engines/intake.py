"""Protocols for taking in external data: what is found at a path, the copy made of it, and the
settings of the server that it belonged to.

The place is opened for reading alone. What is made is a stopped cluster like any loaded one: its
database is called "steelyard", its superuser needs no password, and its pages carry checksums.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from steelyard.engines.engine import Settings, Slot

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

    what: str  # a name, and no value: that may be a password
    why: str


@dataclass(frozen=True)
class Intake:
    """What is to be taken in."""

    place: DataPlace
    database: str | None  # None: the only one there is
    settings: SettingsPlace | None = None  # of its server; None: they are in the place


@dataclass(frozen=True)
class SettingsPlace:
    """Where the settings of external data are."""

    data: Path
    kind: PlaceKind
    configuration: Path | None = None  # a file, where they are not beside the data
    reported: bool = False  # the file holds all that a running server said of itself


@dataclass(frozen=True)
class NamedFile:
    """A configuration file that a user named: what no server of any build takes is refused there,
    and not left out as of a server that ran with it."""

    path: Path
    names: frozenset[str]  # of the settings that are weighed as it says them


@dataclass(frozen=True)
class Overridden:
    """A setting of a named file that another place says otherwise, which counts more."""

    name: str
    value: str = field(repr=False)  # of the file
    by: str  # the place


@dataclass(frozen=True)
class ServerSettings:
    """The settings of the server that external data belonged to, as far as a copy can have them."""

    settings: Settings = field(repr=False)
    neutralised: tuple[Neutralised, ...] = ()
    missing: str = ""  # why they are not the server's, with what to type; "": they are
    named: NamedFile | None = field(default=None, compare=False)
    overridden: tuple[Overridden, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the settings, in hexadecimal: the same wherever the server has them from."""
        return hashlib.sha256(json.dumps(sorted(self.settings.items())).encode()).hexdigest()


@dataclass(frozen=True)
class ImportedCluster:
    """A copy that was made."""

    database: str  # its name in the original; empty: a dump that does not say
    database_bytes: int
    neutralised: tuple[Neutralised, ...]
    doubts: tuple[str, ...]  # what may be otherwise than in the original, in words


Report = Callable[[str], None]


@runtime_checkable
class TakesIn(Protocol):
    """An engine that can take in data that it did not load."""

    def take_in(self, intake: Intake, slot: Slot, report: Report) -> ImportedCluster:
        """Make the copy in `slot.path / "data"`, stopped. UsageError: it does not say which
        database is meant; EngineError: the place is not whole, in use, or of another version."""


@runtime_checkable
class AcceptsSettings(Protocol):
    """An engine that can leave out of foreign settings what its build or this machine refuses."""

    def known(self, offered: ServerSettings) -> ServerSettings:
        """The same, without what its programs refuse; what only a start shows is left. UsageError:
        a name or value of a named file is mistyped."""

    def accepted(self, offered: ServerSettings, slot: Slot, report: Report) -> ServerSettings:
        """The same, without what was refused; found by a server that is made at a free slot and
        removed. UsageError as `known`; EngineError: it starts with none of them left out, and
        why."""


@runtime_checkable
class Configurable(Protocol):
    """An instance whose own configuration file can be written while it is stopped."""

    def configure(self, settings: Mapping[str, str]) -> None:
        """Give it these settings in place of earlier ones, beneath those of its next start."""
