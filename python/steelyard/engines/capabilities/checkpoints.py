"""Protocols of servers whose checkpoints are spaced and watched, and whose pool is filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from steelyard.engines.engine import Settings

if TYPE_CHECKING:
    from steelyard.model.turn import Checkpoint


@dataclass(frozen=True)
class PoolFill:
    """What was read into a server's buffer pool on purpose."""

    pool_bytes: int  # its size
    read_bytes: int
    by: str  # what read it, in a word


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
    def log_checkpoints(self) -> Settings:
        """Settings with which a server's checkpoints can be watched."""

    def cycle(self, settings: Settings) -> Cycle:
        """Of settings as the server reports them; EngineError: one of them is not known."""

    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """The settings that space checkpoints, divided by a factor, as they are to be set."""


@dataclass(frozen=True)
class WalCounters:
    """What a server counted since it was made; cheap enough to be read every second."""

    wal_bytes: float  # position in the log
    images: float  # full-page images; may be a second late
    owed_bytes: float  # log since the redo point of the last completed checkpoint


class CheckpointWatch(Protocol):
    """Watching of one server's checkpoints, from its making to `close`."""

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Those seen so far, in order; the last may be under way."""

    def pulse(self) -> WalCounters | None:
        """What the server counts now; None when it died, which the load reports too."""

    def close(self) -> None:
        """End it; safe to call twice."""


@runtime_checkable
class CheckpointsWatched(Protocol):
    """Its checkpoints can be watched from outside while it works."""

    def watch_checkpoints(self, database: str, now_ns: Callable[[], int]) -> CheckpointWatch:
        """Begin to watch; times are of `now_ns`. EngineError: its settings hide them."""


@runtime_checkable
class Warmable(Protocol):
    """Its buffer pool can be filled by reading."""

    def fill_pool(self, database: str) -> PoolFill:
        """Read a database's relations into the pool, the same ones in the same order each time, as
        far as they fit. The database is left as it was."""


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
