"""An engine in memory that implements every protocol: the reference for tests of order.

Every call is in `NoopEngine.calls`; `failures["start"]` are raised by the next calls of `start`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from steelyard.engines.capabilities.checkpoints import Cycle, PoolFill, Scaled, WalCounters
from steelyard.engines.capabilities.memory import MemoryCap, MemoryNeed, MemoryUse
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import UNPROTECTED, Instance, MissingFeature, Settings, Slot
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError, SteelyardError
from steelyard.model.identity import BuildDefaults, Identity
from steelyard.model.process import Process, TreeUse
from steelyard.model.readings import Kind, Sample, StatementCounts
from steelyard.model.setting_value import Allowed
from steelyard.model.turn import Checkpoint
from story.noop.journal import NOOP_IDENTITY, Call, Journal
from story.noop.own_time import OwnTimeNoop, SuspendableNoop
from story.noop.sessions import (
    NoopCheckpoints,
    NoopCheckpointWatch,
    NoopExternal,
    NoopProbe,
    NoopWatch,
)

NO_DEFAULTS = BuildDefaults(layout={}, settings={})
PROTECTIONS = ("checksums", UNPROTECTED)


class NoopInstance(SuspendableNoop):
    """A cluster that exists only as a name; its use grows by `step` with every reading."""

    step = TreeUse(cpu_ns=1_000_000, read_bytes=8192, written_bytes=4096)

    def __init__(
        self,
        journal: Journal,
        directory: Path,
        *,
        protection: str,
        identity: Identity = NOOP_IDENTITY,
    ) -> None:
        self._journal = journal
        self._identity = identity
        self._directory = directory
        self._slot: Slot | None = None
        self._running = False
        self._settings: dict[str, str] = {}
        self._readings = 0
        self.protection = protection
        self.frozen = False
        self.starts = 0
        self.warm = False
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
    def address(self) -> Endpoint:
        if self._slot is None:
            raise EngineError(f'cluster "{self._directory}" has no address: it was never started')
        return Endpoint(str(self._slot.socket_directory), self._slot.port, "postgres", "postgres")

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot."""
        self.launch(slot, settings)
        self.await_ready()

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot."""
        self._require(running=False)
        self._journal.write("start", self._directory, slot.number, dict(settings))
        self._slot, self._settings, self._running = slot, dict(settings), True
        self._journal.serving[slot.port] = self
        self._readings, self.warm, self.starts = 0, False, self.starts + 1

    def await_ready(self) -> None:
        """Wait for nothing; a failure ends it."""
        self._require(running=True)
        try:
            self._journal.write("ready", self._directory)
        except SteelyardError:
            self._running = False
            raise

    def begin_stop(self) -> None:
        """Begin to stop; what was frozen is thawed first."""
        if self._running:
            self.thaw()
            self._journal.write("begin to stop", self._directory)

    def stop(self) -> None:
        """Stop; what was frozen is thawed first."""
        if not self._running:
            return
        self.thaw()
        self._journal.write("stop", self._directory)
        self._running = False

    def discard(self) -> None:
        """Stop at once."""
        if self._running:
            self._journal.write("discard", self._directory)
        self._running = self.frozen = False

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
        return NoopInstance(self._journal, directory, protection=self.protection, identity=identity)

    def restore(self, template: Path) -> int:
        """Make this clone what its template is; no bytes are copied."""
        self._require(running=False)
        self._journal.write("restore", self._directory, template)
        self.protection = PROTECTIONS[0]
        return 0

    def move(self, directory: Path) -> None:
        """Go by another name; EngineError where a cluster has it already."""
        self._require(running=False)
        self._journal.require_free(directory)
        self._journal.write("move", self._directory, directory)
        self._journal.stopped -= {self._directory}
        self._journal.stopped.add(directory)
        self._directory = directory

    def protect(self, level: str) -> None:
        """Switch verification."""
        self._require(running=False)
        self._journal.write("protect", self._directory, level)
        self.protection = level

    def settings(self) -> dict[str, str]:
        """What it was started with, and whether it verifies."""
        self._require(running=True)
        return {
            **self._settings,
            "data_checksums": "off" if self.protection == UNPROTECTED else "on",
        }

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
        self.resume()
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
            requested_bytes=self._journal.answers.requested_bytes(self),
            mapped_pages=self._journal.answers.mapped_pages(self),
            processes=(
                Process(1, "postmaster", self.step.cpu_ns * self._readings),
                Process(2, "client backend", *self._journal.answers.sessions(self), duty="session"),
            ),
        )

    @property
    def memory_cap(self) -> MemoryCap | None:
        """The cap of the slot that it was started in last."""
        return None if self._slot is None else self._slot.memory

    def memory_use(self) -> MemoryUse | None:
        """What the answers say, where it runs under a cap."""
        capped = self._running and self.memory_cap is not None
        return self._journal.answers.memory(self) if capped else None

    @property
    def counter_kinds(self) -> Sequence[Kind]:
        """The log and the blocks, as a database has them."""
        return (
            Kind("wal_bytes", "bytes", per_transaction=True),
            Kind("blocks_read", "blocks", per_transaction=True),
        )

    def counters(self, database: str) -> Sample:
        """What the answers say."""
        self._require(running=True)
        return Sample(dict(self._journal.answers.counters()), self._journal.answers.uncounted)

    def prepare_statement_counts(self) -> None:
        """Make ready to count statements."""
        self._journal.write("count statements", self._directory)

    def statement_counts(self, database: str) -> StatementCounts:
        """What the answers say."""
        self._require(running=True)
        return self._journal.answers.statements(self)

    def wait_probe(self, database: str) -> NoopProbe:
        """A probe of waits; EngineError where the answers have none."""
        looks = self._journal.answers.looks
        if looks is None:
            raise EngineError("the server does not show what sessions wait for")
        return NoopProbe(lambda: looks(self))

    def watch_waits(self, database: str) -> NoopWatch:
        """A watch of waits."""
        return NoopWatch(self._journal.answers.waits)

    def plans(self, database: str, scripts: Mapping[str, str]) -> dict[str, str]:
        """Every script is one statement, planned as the answers say."""
        return {text: self._journal.answers.plan(self) for text in scripts.values()}

    def checkpointer(self, database: str) -> NoopCheckpoints:
        """A session whose checkpoints take what the answers say."""
        return NoopCheckpoints(self)

    def watch_checkpoints(self, database: str, now_ns: Callable[[], int]) -> NoopCheckpointWatch:
        """A watch of the checkpoints that the answers give."""
        self._require(running=True)
        return NoopCheckpointWatch(self, now_ns, now_ns())

    def checkpoints_between(self, began_ns: int, now_ns: int) -> Sequence[Checkpoint]:
        """Its checkpoints between two moments."""
        return self._journal.answers.checkpoints(self, began_ns, now_ns)

    def pulse(self) -> WalCounters | None:
        """What it counts now."""
        return self._journal.answers.pulse(self)

    def fill_pool(self, database: str) -> PoolFill:
        """The data is in the pool from now on, as the answers say."""
        self._require(running=True)
        self._journal.write("fill pool", self._directory, database)
        self.warm = True
        return self._journal.answers.pool(self)

    def checkpoint_ns(self) -> int:
        """How long a checkpoint takes now."""
        return self._journal.answers.checkpoint_ns(self)

    def _require(self, *, running: bool) -> None:
        if self._running != running:
            state = "running" if self._running else "not running"
            raise EngineError(f'cluster "{self._directory}" is {state}')


class NoopEngine(OwnTimeNoop):
    """Makes clusters that exist only as names; implements Engine, SettingsCheck, ComparableBuild,
    AllowedSettings, Abilities, CycleSettings, StatementCounting, NeedsMemory.

    It has no setting rules: every undeclared difference of its settings counts.
    """

    protections = PROTECTIONS

    def __init__(
        self,
        identity: Identity = NOOP_IDENTITY,
        defaults: BuildDefaults = NO_DEFAULTS,
        journal: Journal | None = None,
    ) -> None:
        self.identity = identity
        self.setting_rules = SettingRules()
        self.journal = journal or Journal()
        """Builds that meet in one weighing share it."""
        self.refused: set[str] = set()
        """Names of settings that this build refuses."""
        self.allowed: dict[str, Allowed] = {}
        """What this build accepts for its settings."""
        self.lacks: dict[str, MissingFeature] = {}
        """What this build was made without, by the need of a study."""
        self._defaults = defaults

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in order, over all instances."""
        return self.journal.calls

    @property
    def failures(self) -> dict[str, list[SteelyardError]]:
        """Failures to come, by the name of the call."""
        return self.journal.failures

    def create(self, directory: Path, *, protection: str) -> NoopInstance:
        """Make a new cluster."""
        self.journal.write("create", directory, protection)
        self.journal.stopped.add(directory)
        return self._at(directory, protection)

    def reach(self, address: Endpoint, settings: Settings) -> NoopExternal:
        """An external server, identified by its host."""
        return NoopExternal(self.identity, address, (address.host,), settings)

    def statement_counting(self, settings: Settings) -> Settings:
        """A setting of its own."""
        return {"count_statements": "on"}

    def memory_need(self, settings: Settings) -> MemoryNeed:
        """What the answers say."""
        return self.journal.answers.memory_need(settings)

    def validate(self, settings: Settings) -> None:
        """ServerError for a name among `refused`."""
        for name in settings:
            if name in self.refused:
                raise ServerError(f'the no-op engine refuses setting "{name}"')

    def build_defaults(self, slot: Slot) -> BuildDefaults:
        """Those that it was made with."""
        return self._defaults

    def allowed_settings(self, slot: Slot) -> Mapping[str, Allowed]:
        """Those that it was given."""
        return self.allowed

    def missing(self, need: str) -> MissingFeature | None:
        """What it was given as lacking."""
        return self.lacks.get(need)

    @property
    def log_checkpoints(self) -> Settings:
        """None: they are seen by themselves."""
        return {}

    def cycle(self, settings: Settings) -> Cycle:
        """What the answers say."""
        return self.journal.answers.cycle(settings)

    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """The factor by which checkpoints are nearer; any is kept to."""
        return Scaled({"nearer": f"{factor:g}"}, self.journal.answers.cycle(settings).at(factor))

    def adopt(self, instance: Instance) -> NoopInstance:
        """The same cluster, to be started by this build."""
        assert isinstance(instance, NoopInstance)
        return instance.adopted(self.identity)

    def open(self, directory: Path) -> NoopInstance:
        """The stopped cluster of that name; EngineError when none was made there."""
        self.journal.write("open", directory)
        if directory not in self.journal.stopped:
            raise EngineError(f'could not open cluster "{directory}": none was made there')
        return self._at(directory, PROTECTIONS[0])

    def _at(self, directory: Path, protection: str) -> NoopInstance:
        return NoopInstance(self.journal, directory, protection=protection, identity=self.identity)
