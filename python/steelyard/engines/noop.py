"""An engine in memory that implements every protocol: the reference for tests of order.

Every call is written down in `NoopEngine.calls`, in the order in which it came, over all
instances. `failures` makes a call fail once: the next `start` raises `failures["start"].pop(0)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.engine import (
    Address,
    Identity,
    Instance,
    Nature,
    Process,
    Settings,
    Slot,
    TreeUse,
)
from steelyard.model.errors import EngineError, ServerError, SteelyardError

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


NOTHING_SPECIAL = Nature(layout={}, defaults={})


@dataclass(frozen=True)
class Call:
    """One call: what was asked, of which directory, with which arguments."""

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

    def write(self, action: str, directory: Path, *arguments: object) -> None:
        """Note a call, then fail if a failure was laid for it."""
        self.calls.append(Call(action, directory, arguments))
        if self.failures.get(action):
            raise self.failures[action].pop(0)

    def require_free(self, directory: Path) -> None:
        """EngineError when a cluster stands there."""
        if directory in self.stopped:
            raise EngineError(f'a cluster stands in "{directory}" already')


class NoopInstance:
    """A cluster that exists only as a name; its use grows by `step` with every reading."""

    step = TreeUse(cpu_ns=1_000_000, read_bytes=8192, written_bytes=4096)

    def __init__(
        self,
        journal: Journal,
        directory: Path,
        *,
        checksums: bool,
        identity: Identity = NOOP_IDENTITY,
    ) -> None:
        self._journal = journal
        self._identity = identity
        self._directory = directory
        self._slot: Slot | None = None
        self._running = False
        self._settings: dict[str, str] = {}
        self._readings = 0
        self.checksums = checksums
        self.frozen = False
        self.placed: dict[int, tuple[int, ...]] = {}

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def running(self) -> bool:
        return self._running

    @property
    def address(self) -> Address:
        if self._slot is None:
            raise EngineError(f'cluster "{self._directory}" has no address: it was never started')
        return Address(str(self._slot.socket_directory), self._slot.port, "postgres", "postgres")

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot."""
        self._require(running=False)
        self._journal.write("start", self._directory, slot.number, dict(settings))
        self._slot, self._settings, self._running = slot, dict(settings), True
        self._journal.serving[slot.port] = self
        self._readings = 0

    def stop(self) -> None:
        """Stop; what was frozen is thawed first."""
        if not self._running:
            return
        self.thaw()
        self._journal.write("stop", self._directory)
        self._running = False

    def crash(self) -> None:
        """Kill at once."""
        self._require(running=True)
        self._journal.write("crash", self._directory)
        self._running = self.frozen = False

    def clone(self, directory: Path) -> NoopInstance:
        """Copy this stopped cluster; EngineError where one stands already."""
        self._require(running=False)
        self._journal.require_free(directory)
        self._journal.write("clone", self._directory, directory)
        self._journal.stopped.add(directory)
        return self._at(directory, self._identity)

    def adopted(self, identity: Identity) -> NoopInstance:
        """The same cluster, to be started by another build."""
        self._require(running=False)
        self._journal.write("adopt", self._directory, identity.version)
        return self._at(self._directory, identity)

    def _at(self, directory: Path, identity: Identity) -> NoopInstance:
        return NoopInstance(self._journal, directory, checksums=self.checksums, identity=identity)

    def restore(self, template: Path) -> int:
        """Make this clone what its template is; no bytes are copied."""
        self._require(running=False)
        self._journal.write("restore", self._directory, template)
        self.checksums = True
        return 0

    def move(self, directory: Path) -> None:
        """Go by another name; EngineError where a cluster has it already."""
        self._require(running=False)
        self._journal.require_free(directory)
        self._journal.write("move", self._directory, directory)
        self._journal.stopped -= {self._directory}
        self._journal.stopped.add(directory)
        self._directory = directory

    def set_checksums(self, enabled: bool) -> None:
        """Switch verification."""
        self._require(running=False)
        self._journal.write("set_checksums", self._directory, enabled)
        self.checksums = enabled

    def settings(self) -> dict[str, str]:
        """What it was started with, and whether it verifies."""
        self._require(running=True)
        return {**self._settings, "data_checksums": "on" if self.checksums else "off"}

    def place(self, processors: Mapping[int, Sequence[int]]) -> None:
        """Note where each process would be pinned."""
        self._require(running=True)
        self.placed = {pid: tuple(allowed) for pid, allowed in processors.items()}
        self._journal.write("place", self._directory, dict(self.placed))

    def freeze(self) -> None:
        """Hold still."""
        self._require(running=True)
        self._journal.write("freeze", self._directory)
        self.frozen = True

    def thaw(self) -> None:
        """Go on; no call is noted when nothing was frozen."""
        if self.frozen:
            self._journal.write("thaw", self._directory)
            self.frozen = False

    def use(self) -> TreeUse:
        """`step` times the number of readings since the start."""
        self._require(running=True)
        self._readings += 1
        return TreeUse(
            cpu_ns=self.step.cpu_ns * self._readings,
            read_bytes=self.step.read_bytes * self._readings,
            written_bytes=self.step.written_bytes * self._readings,
            processes=(Process(1, "postmaster", self.step.cpu_ns * self._readings),),
        )

    def _require(self, *, running: bool) -> None:
        if self._running != running:
            state = "running" if self._running else "not running"
            raise EngineError(f'cluster "{self._directory}" is {state}')


class NoopEngine:
    """Makes clusters that exist only as names; implements Engine, Choosy and Kin."""

    def __init__(
        self,
        identity: Identity = NOOP_IDENTITY,
        nature: Nature = NOTHING_SPECIAL,
        journal: Journal | None = None,
    ) -> None:
        self.identity = identity
        self.journal = journal or Journal()
        """Builds that meet in one weighing share it."""
        self.refused: set[str] = set()
        """Names of settings that this build refuses."""
        self._nature = nature

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in order, over all instances."""
        return self.journal.calls

    @property
    def failures(self) -> dict[str, list[SteelyardError]]:
        """Failures to come, by the name of the call."""
        return self.journal.failures

    def create(self, directory: Path, *, checksums: bool) -> NoopInstance:
        """Make a new cluster."""
        self.journal.write("create", directory, checksums)
        self.journal.stopped.add(directory)
        return NoopInstance(self.journal, directory, checksums=checksums, identity=self.identity)

    def refuse(self, settings: Settings) -> None:
        """ServerError for a name among `refused`."""
        for name in settings:
            if name in self.refused:
                raise ServerError(f'the no-op engine refuses setting "{name}"')

    def nature(self, slot: Slot) -> Nature:
        """What it was told at its making."""
        return self._nature

    def adopt(self, instance: Instance) -> Instance:
        """The same cluster, to be started by this build."""
        assert isinstance(instance, NoopInstance)
        return instance.adopted(self.identity)

    def open(self, directory: Path) -> NoopInstance:
        """The stopped cluster of that name; EngineError when none was made there."""
        self.journal.write("open", directory)
        if directory not in self.journal.stopped:
            raise EngineError(f'could not open cluster "{directory}": none was made there')
        return NoopInstance(self.journal, directory, checksums=True, identity=self.identity)
