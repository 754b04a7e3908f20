"""What is decided before the first slice, as plan.json keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

from steelyard.model.units import NS_PER_S
from steelyard.record.factors import FactorsPlan
from steelyard.record.frozen import Frozen
from steelyard.record.machine import ArmPlace, MemoryPlan
from steelyard.study.study import LayoutName

Residency = Literal["own servers", "one server", "several servers", "own databases"]
"""own servers: each arm has one, made for the weighing; one server: the arms are sessions of one
that is not ours; several servers: of several such; own databases: each arm has one, made for
the weighing on one server that is not ours."""
Upkeep = Literal["restore", "exchange", "carry", "reconnect"]
"""restore: slots' copies are put back to the template before every epoch;
exchange: they stay as the last epoch left them, and any arm may get any of them;
carry: each copy follows its arm from slot to slot;
reconnect: nothing is kept up, connections are opened afresh."""


class Stall(Frozen):
    """Before a transaction, with this probability, its client sleeps in the server."""

    probability: float
    length_ns: int


class SliceTrialFigures(Frozen):
    """What the pilot saw of one slice length."""

    length_ns: int
    standard_error: float
    visit_ns: int


Warm = Literal["by load", "by reading"]
"""How buffer pools are filled at the start of an epoch: by the warm-up's load alone, or by reading
the data before it."""


class PoolFillFigures(Frozen):
    """What was read into the buffer pool of an arm before the load."""

    pool_bytes: int
    read_bytes: int
    by: str


class PilotFigures(Frozen):
    """The figures behind the pilot's choices."""

    settled: bool = True
    wal_flush_share: float = 0.0
    latency_mean_ns: float = 0.0
    control_ns: float = 0.0
    """Time of a transaction of the control."""
    transactions_per_second: float | None = None
    trials: tuple[SliceTrialFigures, ...] = ()
    driver_io: str = ""
    blocks_read: Mapping[str, tuple[float, float]] = {}
    """Arm → blocks read per transaction, at the beginning and at the end of what was watched."""
    page_faults: Mapping[str, tuple[float, float]] = {}
    """Arm → page faults per transaction, likewise: each new connection maps the pool."""
    pools: Mapping[str, PoolFillFigures] = {}
    """Arm → what was read into its buffer pool, where it was."""


SLICES: Final = "slices"
TURNS: Final = "turns"
CYCLES: Final = "cycles"
"""Layouts as a plan has them."""


class LayoutChoice(Frozen):
    """How the load of a weighing is laid out in time, and why so, in one sentence."""

    name: LayoutName
    why: str


class TurnLimits(Frozen):
    """How long parts of an arm's turn take at least and at most."""

    begin_ns: int = 0
    """Load at least before the measured part, so that it begins as late in all arms."""
    wait_ns: int
    """For the end of a checkpoint at most, after the warm-up and `begin_ns`; 0: it makes none."""
    least_ns: int = 10 * NS_PER_S
    """The measured part at least, of whole cycles."""
    longest_ns: int
    """The measured part at most."""


class TurnChoices(Frozen):
    """How long turns are, and how near their checkpoints."""

    time_scale: float
    """checkpoint_timeout and the limits of the log were divided by it."""
    time_scale_why: str
    cycles: int
    """Checkpoints from whose end to whose end a turn is measured."""
    continuous: bool = False
    """Whether servers checkpoint all the time, so that no begin and no end of one is to be seen:
    a cycle is then one turn of the log, and windows are cut by time."""
    stated_ns: int | None = None
    """Measured part where the study states it, or where it is cut by time."""
    warmup_cap_ns: int
    """Longest warm-up, if reads and throughput do not become level."""
    wait_ns: int
    """Longest wait for the end of a checkpoint after it, of any arm."""
    longest_ns: int
    """Longest measured part, of any arm."""
    limits: Mapping[str, TurnLimits] = {}
    """Arm → its own; empty in an older record: those of any arm are those of all."""
    turn_ns: int
    """What one turn was expected to take, the mean of the arms'."""
    settings: Mapping[str, Mapping[str, str]] = {}
    """Arm → its settings as the time scale leaves them."""
    cycle_seconds: Mapping[str, float] = {}
    """Arm → time between two checkpoints, or of one turn of the log, as expected from its settings
    and the pilot."""
    nearer: Mapping[str, float] = {}
    """Arm → by how much its checkpoints are really nearer, where whole seconds and whole segments
    of log make it another factor than `time_scale`."""

    timers: tuple[str, ...] = ()
    """In cycles: settings that count wall time, and what was done about each."""

    @property
    def unlike_cycles(self) -> bool:
        """Whether arms with nearer checkpoints are measured as late and long as another arm."""
        return len({limits.begin_ns for limits in self.limits.values()}) > 1

    def limits_of(self, arm: str) -> TurnLimits:
        """Of an arm."""
        return self.limits.get(arm) or TurnLimits(wait_ns=self.wait_ns, longest_ns=self.longest_ns)


class CountedChoice(Frozen):
    """Slices by executions, which the pilot chose because they are too slow for slices by time."""

    each: int
    """Executions of each client in a slice."""
    warmup: int
    """Blocks before the measured ones of an epoch."""
    blocks: int
    """Measured blocks of an epoch, every arm once in each."""
    clients: int
    """That were driven, in place of the study's."""


class SearchPilot(Frozen):
    """What the pilot found of an arm, and how."""

    rate: float
    """Arrivals a second that it carried."""
    slowest: float
    """Rate of the slowest visit that broke the limit; `fastest`: of the fastest that kept it."""
    fastest: float


class SearchChoice(Frozen):
    """How the highest rate within a limit of latency is searched in every epoch, in both arms from
    the same begin on. Rates in arrivals a second, steps in logs."""

    quantile: float
    limit_ns: int
    start: float
    first_step: float
    last_step: float
    span: float
    visits: int
    """Of an arm in an epoch."""
    pilot: Mapping[str, SearchPilot] = {}
    """By arm."""


class Choices(Frozen):
    """How the epochs of a weighing are run, and why: everything that the seed does not decide."""

    layout: str = ""
    """"slices", "turns" or "cycles"; empty: the record is older than the word."""
    layout_why: str = ""
    cost: str
    """"foreground", "whole", or "cycles": whole checkpoint cycles hold what is left behind."""
    cost_why: str
    slice_ns: int
    slice_why: str
    visit_ns: int
    """A slice with what belongs to it: the way back of its clients, and its debt."""
    placement: str
    """"symmetric", "partition" or "free"."""
    placement_why: str
    warmup_ns: int
    """Load before the first measured slice, all arms together."""
    warm: Warm = "by load"
    warm_why: str = ""
    warm_ns: int = 0
    """Time that reading into the pools of all arms takes at the start of an epoch."""
    epochs: int
    epochs_why: str = ""
    """Why there are fewer than the budget gives, each longer."""
    upkeep: Upkeep
    upkeep_why: str
    s0: float
    """10-batch standard error of the log ratio in the pilot."""
    stalls: Mapping[str, Stall] = {}
    """Arm → what its weight makes of it."""
    pilot: PilotFigures = PilotFigures()
    turns: TurnChoices | None = None
    """None: the layout is slices."""
    counted: CountedChoice | None = None
    """None: slices are cut by time, or by executions as the study says."""
    search: SearchChoice | None = None
    """None: the metric is no rate at a limit of latency."""

    @property
    def layout_choice(self) -> LayoutChoice:
        """The layout and why; where a record is older than the word, by what it holds."""
        name = self.layout or (SLICES if self.turns is None else TURNS)
        return LayoutChoice(name=cast(LayoutName, name), why=self.layout_why)

    def load_ns(self, epoch_ns: int, arms: Sequence[str]) -> int:
        """Load of an epoch at most, of all arms together; `epoch_ns`: of slices."""
        if self.turns is None:
            return epoch_ns
        return sum(self.turns.limits_of(arm).longest_ns for arm in arms)


class LoadsOfArm(Frozen):
    """How the data of an arm was loaded."""

    by: str
    """The arm whose build loaded it."""
    count: int
    seconds: float = 0.0


class LeftOutScript(Frozen):
    """A script that failed when it was tried on a copy, and is not driven."""

    script: str
    share: float
    """Of the mix's transactions, 0 … 1."""
    tries: int
    failed: int
    error: str
    """What the server said, with its SQLSTATE."""


class Loads(Frozen):
    """How the data of all arms was loaded."""

    shared: bool = True
    arms: Mapping[str, LoadsOfArm] = {}

    @property
    def fewest(self) -> int:
        """Separate loads of the arm that has the fewest."""
        return min((arm.count for arm in self.arms.values()), default=1)


Difference = tuple[str, str, str]
"""(name, value of the control, value of the arm)."""


class BuildDefaultDifferences(Frozen):
    """Where the defaults of the builds differ, and what was set alike."""

    rule: str
    alike: Mapping[str, str] = {}
    shipped: tuple[str, ...] = ()
    """Arms that keep the defaults of their builds."""
    changed: Mapping[str, tuple[tuple[str, str, str], ...]] = {}
    added: Mapping[str, tuple[str, ...]] = {}
    removed: Mapping[str, tuple[str, ...]] = {}


class Plan(Choices):
    """Seed, order, rule, margins and choices: written before the first slice."""

    format: int
    weighing: str = ""
    """What the A/A ledger knows it by."""
    at: str = ""
    """When it was written, UTC: `"2026-03-01T120000Z"`; empty: the record is older than the key."""
    study: str
    study_sha256: str = ""
    """Of study.toml as it was then; empty: the record is older than the key."""
    question: str = ""
    seed: int
    metric: str
    margin: float
    alpha: tuple[float, float]
    look: int | None = None
    open_ended: bool = False
    first_verdict: bool = False
    judged: str = "jointly"
    epoch_ns: int
    blocks_per_epoch: int
    threads: int
    clients: int
    processors: tuple[int, ...]
    control: str
    arms: tuple[str, ...]
    assignment: tuple[tuple[int, ...], ...]
    start_orders: tuple[tuple[int, ...], ...]
    residency: Residency = "own servers"
    loads: Loads = Loads()
    defaults: BuildDefaultDifferences | None = None
    memory: MemoryPlan | None = None
    """None: no cap."""
    factors: FactorsPlan | None = None
    """None: the arms are no cells of a factorial."""
    sql: Mapping[str, tuple[str, ...]] = {}
    """Arm → what was executed once in a copy of the loaded data that is its own."""
    places: Mapping[str, ArmPlace] = {}
    """Arm → where its files are. Empty: the record is older, or the servers are not ours."""
    places_drawn: bool = True
    """Whether these are alike, so that any arm may have any of them, as it is drawn."""
    connect: Mapping[str, str] = {}
    """Arm → how its clients reach it, where some come otherwise than by the socket."""
    replication: Mapping[str, str] = {}
    """Arm → its standbys in words, where some have any."""
    writes: bool
    left_out: tuple[LeftOutScript, ...] = ()
    """Scripts of a captured workload that failed when they were tried."""
    attempt: int = 1
    command: str = ""

    @property
    def epoch_takes_ns(self) -> int:
        """What one epoch more takes of the budget: in slices the load of all arms, in turns whole
        turns, from laying the files to the stop."""
        return self.epoch_ns if self.turns is None else self.turns.turn_ns * len(self.arms)

    @property
    def takes_ns(self) -> int:
        """What all planned epochs take of the budget."""
        return self.epochs * self.epoch_takes_ns

    @property
    def margin_percent(self) -> float:
        """The margin of equivalence, 1 % where the plan names none."""
        return (self.margin or 0.01) * 100

    @property
    def decision_epochs(self) -> tuple[int, ...]:
        """After which epochs a look is planned."""
        return tuple(epoch for epoch in (self.look, self.epochs) if epoch)
