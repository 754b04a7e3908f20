"""Records the calls to servers in memory; holds their answers, and the failures to raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.capabilities.checkpoints import Cycle, PoolFill, WalCounters
from steelyard.engines.capabilities.counters import SampledWait, SessionWaits
from steelyard.engines.capabilities.memory import MemoryNeed, MemoryUse
from steelyard.engines.engine import Settings
from steelyard.model.errors import EngineError, SteelyardError
from steelyard.model.identity import Identity
from steelyard.model.readings import StatementCounts
from steelyard.model.turn import Checkpoint

if TYPE_CHECKING:
    from story.noop.engine import NoopInstance

NOOP_IDENTITY = Identity(
    kind="noop",
    version="1.0",
    version_number=10000,
    builder="none",
    configure="",
    cflags="",
    origin="bundle",
    bindir="",
    assertions=False,
)


@dataclass
class Answers:
    """What servers in memory answer when they are observed; a test replaces what it needs."""

    counters: Callable[[], Mapping[str, float]] = dict
    uncounted: str = ""
    """Why the counters cannot be read."""
    waits: Callable[[], SessionWaits] = lambda: SessionWaits(active=0, log_flush=0)
    looks: Callable[[NoopInstance], Sequence[SampledWait]] | None = None
    """What its sessions wait for; None: the server does not show it."""
    statements: Callable[[NoopInstance], StatementCounts] = lambda _: StatementCounts()
    """What its statements did so far."""
    sessions: Callable[[NoopInstance], tuple[int, int]] = lambda _: (0, 0)
    """Time of its sessions on a processor, and without one, in ns."""
    plan: Callable[[NoopInstance], str] = lambda _: "Result"
    checkpoint_ns: Callable[[NoopInstance], int] = lambda _: 0
    checkpoints: Callable[[NoopInstance, int, int], Sequence[Checkpoint]] = lambda *_: ()
    """Of an instance, between two moments of the clock: when it was begun to watch, and now."""
    pulse: Callable[[NoopInstance], WalCounters | None] = lambda _: WalCounters(0.0, 0.0, 0.0)
    cycle: Callable[[Settings], Cycle] = lambda _: Cycle(300_000_000_000, 1e9, 10.0)
    suspended_use_ns: int = 0
    """Processor time that a server uses while it is suspended."""
    requested_bytes: Callable[[NoopInstance], int] = lambda _: 0
    mapped_pages: Callable[[NoopInstance], int] = lambda _: 0
    memory: Callable[[NoopInstance], MemoryUse] = lambda _: MemoryUse(1 << 20, 1 << 19, 0, 0, 0)
    memory_need: Callable[[Settings], MemoryNeed] = lambda _: MemoryNeed(128 << 20, "off")
    pool: Callable[[NoopInstance], PoolFill] = lambda _: PoolFill(128 << 20, 64 << 20, "memory")


@dataclass(frozen=True)
class Call:
    """One call: its action, its directory and its arguments."""

    action: str
    directory: Path
    arguments: tuple[object, ...] = ()


@dataclass
class Journal:
    """The calls so far and the failures to come; one for an engine and all its instances."""

    calls: list[Call] = field(default_factory=list)
    failures: dict[str, list[SteelyardError]] = field(default_factory=dict)
    stopped: set[Path] = field(default_factory=set)  # directories that hold a stopped cluster
    serving: dict[int, NoopInstance] = field(default_factory=dict)  # by port, the last to start
    answers: Answers = field(default_factory=Answers)

    def write(self, action: str, directory: Path, *arguments: object) -> None:
        """Record a call, then raise the failure that is planned for it, if any."""
        self.calls.append(Call(action, directory, arguments))
        if self.failures.get(action):
            raise self.failures[action].pop(0)

    def require_free(self, directory: Path) -> None:
        """EngineError when a cluster stands there."""
        if directory in self.stopped:
            raise EngineError(f'a cluster stands in "{directory}" already')
