"""Protocols of database engines: what every engine does, and what only some can do.

Each has one meaning and is tested by isinstance; `noop.py`, in memory, is the reference of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # scrub needs a word of this file, and starts quickly
    from steelyard.engines.account import Account
    from steelyard.engines.differences import SettingRules
    from steelyard.engines.memory.cap import MemoryCap
    from steelyard.model.allowed import Allowed
    from steelyard.model.endpoint import Endpoint
    from steelyard.model.identity import BuildDefaults, Identity
    from steelyard.model.process import TreeUse
    from steelyard.model.readings import Kind, Sample
    from steelyard.model.turn import Checkpoint
    from steelyard.model.waits import WaitPart

Settings = Mapping[str, str]
"""Server settings by name, values as the server's configuration file has them, without quotes."""

UNPROTECTED = "none"
"""The page protection of an instance that verifies no pages; every engine's list ends with it."""


@dataclass(frozen=True)
class Slot:
    """A place an arm can be started in; everything but the treatment belongs to the slot."""

    number: int  # 0, 1, ...
    path: Path  # the directory that holds the data directory of this epoch's arm
    socket_directory: Path
    port: int
    start_order: int = 0  # redrawn every epoch
    memory: MemoryCap | None = None  # on its server, whichever arm's; None: none


@dataclass(frozen=True)
class SessionWaits:
    """Sessions that were seen at work, summed over all samples."""

    active: int
    log_flush: int  # of them, those that waited for the write-ahead log to reach the disk


@dataclass(frozen=True)
class WaitSeen:
    """Sessions that were at work and waited for one thing at one moment."""

    event: str  # in the engine's own words: "LWLock:WALWrite"
    part: WaitPart
    sessions: int


@dataclass(frozen=True)
class PoolFill:
    """What was read into a server's buffer pool on purpose."""

    pool_bytes: int  # its size
    read_bytes: int
    by: str  # what read it, in a word


class Instance(Protocol):
    """A database server that can be reached."""

    @property
    def identity(self) -> Identity: ...
    @property
    def running(self) -> bool: ...
    @property
    def address(self) -> Endpoint:
        """Its administrative database; EngineError before the first start."""


@runtime_checkable
class Restartable(Protocol):
    """Is started and stopped by us, in a slot; several are begun first and waited for then."""

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot; `await_ready` reports whether it could."""

    def await_ready(self) -> None:
        """Wait until it accepts connections; ServerError quotes the log, nothing of it is left."""

    def start(self, slot: Slot, settings: Settings) -> None:
        """`launch` and `await_ready`."""

    def begin_stop(self) -> None:
        """Begin to stop, which `stop` waits for; nothing where it does not run."""

    def stop(self) -> None:
        """Stop with a clean shutdown checkpoint; nothing of it is left running."""


class LocalInstance(Instance, Restartable, Protocol):
    """A server of this machine that we start and stop."""


class Engine(Protocol):
    """A kind and build of database."""

    @property
    def identity(self) -> Identity: ...
    @property
    def protections(self) -> Sequence[str]:
        """Levels of page protection, the strongest first and UNPROTECTED last."""

    @property
    def setting_rules(self) -> SettingRules:
        """Which of its settings may differ between two servers without being declared."""

    def create(self, directory: Path, *, protection: str) -> LocalInstance:
        """Make a new cluster in `directory`: locale, encoding and protection always passed."""

    def open(self, directory: Path) -> LocalInstance:
        """The stopped cluster in `directory`."""


@runtime_checkable
class Loadable(Protocol):
    """An engine whose servers we load with data, under an account of this machine."""

    @property
    def account(self) -> Account: ...


class LoadableEngine(Engine, Loadable, Protocol):
    """An engine that templates can be made with."""


@runtime_checkable
class SettingsCheck(Protocol):
    """An engine that can validate settings before any cluster is made."""

    def validate(self, settings: Settings) -> None:
        """UsageError for an unknown name, ServerError with its message for a bad value."""


@dataclass(frozen=True)
class Missing:
    """Something that a build was made without."""

    why: str  # "PostgreSQL 18.4 (bundle) was built without LLVM"
    how: str  # to get it


@runtime_checkable
class Abilities(Protocol):
    """An engine that can report what its build was made with."""

    def missing(self, need: str) -> Missing | None:
        """What it lacks of a study's `needs`; None: it has that."""


@runtime_checkable
class AllowedSettings(Protocol):
    """An engine that can report what its builds accept for each setting."""

    def allowed_settings(self, slot: Slot) -> Mapping[str, Allowed]:
        """By the setting's name, read from a server that is made at a free slot and removed."""


@runtime_checkable
class ComparableBuild(Protocol):
    """An engine that can be compared with another build of its kind, and take over its clusters."""

    def build_defaults(self, slot: Slot) -> BuildDefaults:
        """Its layout and defaults, read from a cluster that is made at a free slot and removed."""

    def adopt(self, instance: Instance) -> LocalInstance:
        """The same stopped cluster, to be started by this build; the layouts must be equal."""


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
    """Can be stopped without writing anything more, which leaves nothing running."""

    def crash(self) -> None:
        """Kill at once without a shutdown checkpoint."""

    def discard(self) -> None:
        """Stop the fastest way; its files are put back before they are used again."""


@runtime_checkable
class Observable(Protocol):
    """The use of its process tree can be measured from outside."""

    def use(self) -> TreeUse:
        """Processor time and I/O of the whole process tree so far."""


@runtime_checkable
class Countable(Protocol):
    """Reports cumulative counters of its work."""

    @property
    def counter_kinds(self) -> Sequence[Kind]:
        """What it counts, in the order in which it is shown."""

    def counters(self, database: str) -> Sample:
        """What the server counted so far, once the load's connections have closed."""


class WaitWatch(Protocol):
    """Sampling of waits under way."""

    def stop(self) -> SessionWaits:
        """End the sampling; what was seen."""


class WaitProbe(Protocol):
    """An open session that sees what all others wait for."""

    def look(self) -> Sequence[WaitSeen]:
        """Sessions at work now, by what they wait for; EngineError: the server has gone."""

    def close(self) -> None:
        """Disconnect; safe to call twice."""


@runtime_checkable
class Waits(Protocol):
    """What its sessions wait for can be sampled."""

    def wait_probe(self, database: str) -> WaitProbe:
        """Look at single moments; EngineError where that is not allowed."""

    def watch_waits(self, database: str) -> WaitWatch:
        """Begin to sample, beside the load."""


@runtime_checkable
class Plans(Protocol):
    """Explains how it would execute statements."""

    def plans(self, database: str, scripts: Mapping[str, str]) -> Mapping[str, str]:
        """`script: statement` → its plan, of each statement in the scripts (name → text)."""


class CheckpointSession(Protocol):
    """A connection that requests checkpoints; it stays open between slices."""

    def checkpoint(self) -> int:
        """Write what is only in memory to the disk; nanoseconds it took, 0 when the server died.
        ServerError: it refused, or lives and this connection alone was lost."""

    def close(self) -> None:
        """Close the connection; safe to call twice."""


@runtime_checkable
class Checkpointer(Protocol):
    """Can be made to write its dirty pages and its log at once."""

    def checkpointer(self, database: str) -> CheckpointSession:
        """A session for checkpoints."""


@dataclass(frozen=True)
class Cycle:
    """How far apart a server's checkpoints are by its settings: whichever comes first."""

    timeout_ns: int
    wal_bytes: float  # log after which one is requested
    largest_scale: float  # both can be divided by this at most
    continuous: bool = False  # no begin is to be seen: a cycle is one turn of the log
    round_ns: int = 0  # of the wall clock: its background work comes once in it; 0: soon

    def at(self, factor: float) -> Cycle:
        """Both distances divided by a factor, without rounding."""
        return replace(
            self, timeout_ns=round(self.timeout_ns / factor), wal_bytes=self.wal_bytes / factor
        )


@dataclass(frozen=True)
class Scaled:
    """Settings that bring checkpoints nearer, and what they really make of their distance: a server
    takes whole seconds and whole segments of log."""

    settings: Settings
    cycle: Cycle
    timers: tuple[str, ...] = ()
    """In own time: settings that count wall time, and what was done about each."""


@runtime_checkable
class CycleSettings(Protocol):
    """An engine that knows which settings space its checkpoints, and can bring them nearer."""

    @property
    def tell_checkpoints(self) -> Settings:
        """Settings with which a server's checkpoints can be watched."""

    def cycle(self, settings: Settings) -> Cycle:
        """Of settings as the server reports them; EngineError: one of them is not known."""

    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """The settings that space checkpoints, divided by a factor, as they are to be set."""


@dataclass(frozen=True)
class Pulse:
    """What a server counted since it was made; cheap enough to be read every second."""

    wal_bytes: float  # position in the log
    images: float  # full-page images; may be a second late
    owed_bytes: float  # log since the redo point of the last completed checkpoint


class CheckpointWatch(Protocol):
    """Watching of one server's checkpoints, from its making to `close`."""

    @property
    def seen(self) -> Sequence[Checkpoint]:
        """Those seen so far, in order; the last may be under way."""

    def pulse(self) -> Pulse | None:
        """What the server counts now; None when it died, which the load reports too."""

    def close(self) -> None:
        """End it; safe to call twice."""


@runtime_checkable
class CheckpointsSeen(Protocol):
    """Its checkpoints can be watched from outside while it works."""

    def watch_checkpoints(self, database: str, now_ns: Callable[[], int]) -> CheckpointWatch:
        """Begin to watch; times are of `now_ns`. EngineError: its settings hide them."""


@runtime_checkable
class Warmable(Protocol):
    """Its buffer pool can be filled by reading."""

    def fill_pool(self, database: str) -> PoolFill:
        """Read a database's relations into the pool, the same ones in the same order each time, as
        far as they fit. The database is left as it was."""
