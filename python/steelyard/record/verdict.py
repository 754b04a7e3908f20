"""The verdict of a weighing as verdict.json keeps it, and `weigh --json` prints it.

Percents are (arm / control - 1) * 100 of the metric itself; None is unbounded or unknown.
"""

from __future__ import annotations

from typing import Literal

from steelyard.record.contrast import Capacity, ContrastLine, Cost, Percent
from steelyard.record.epoch import LedgerBalance
from steelyard.record.factors import FactorEffects
from steelyard.record.frozen import Frozen
from steelyard.record.plan import BuildDefaultDifferences, Difference, Loads
from steelyard.record.spent import Spent
from steelyard.record.turns.turn_summary import DistanceLine, TurnSummary


class Compared(Frozen):
    """An arm against the control on something that decides no verdict: joint intervals."""

    arm: str
    control: str
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent
    confidence: float


class Counted(Compared):
    """What something cost the server, each."""

    metric: str
    unit: str
    control_value: float
    arm_value: float
    note: str = ""
    difference: float | None = None
    """Arm less control in the unit, where there is no ratio since one of them is 0."""
    difference_low: float | None = None
    difference_high: float | None = None


class Cause(Counted):
    """What a transaction cost the server."""


class StatementCost(Counted):
    """What an execution of a statement cost, by the server's own count."""

    statement: str


class Latency(Compared):
    """A latency quantile, from histograms of whole epochs."""

    script: str = ""
    """Of which script; absent: of the mix that was driven."""
    quantile: float
    control_us: float
    arm_us: float


class Query(Compared):
    """The time of a query where each is a slice of its own."""

    query: str
    excluded: bool
    """In no geometric mean."""
    control_ms: float
    arm_ms: float
    control_unfinished: int
    arm_unfinished: int


class Statement(Compared):
    """A statement by itself, or another command of a script, where they were timed: the change is
    that of its mean time, with intervals that hold jointly over all statements of an arm; None
    where an epoch has no execution of it."""

    statement: str
    """`script:LINE` and the words of that line."""
    control_us: float | None
    arm_us: float | None
    script: str | None = None
    """None: the record is older than the key; so of the others."""
    share_percent: float | None = None
    """Of the time that the control spent on all statements; None: a backslash command."""
    executed_percent: float | None = None
    """Of the executions of all statements in both arms."""
    verdict: Literal["slower", "faster", "equivalent", "inconclusive"] | None = None
    """`equivalent`: within the margin of the study."""
    sql: str = ""
    """The whole statement, where it has a plan."""
    flips: tuple[str, ...] = ()
    """What flipped in its plan, the most telling first."""


class StatementTime(Compared):
    """Mean time of a statement in both arms."""

    of: Literal["statement", "script", "transaction"]
    """What was timed; where a script or a transaction is the statement alone, its own time."""
    control_us: float
    arm_us: float


class FlippedPlan(Frozen):
    """A statement that an arm plans otherwise than the control."""

    arm: str
    control: str
    statement: str
    """As inspection.json has it: `script: statement`."""
    flips: tuple[str, ...]
    """What flipped, the most telling first: `Index Scan on t by t_pkey → Seq Scan on t`."""
    time: StatementTime | None = None
    """None: it was not timed by itself."""


class ScriptTime(Compared):
    """A script of a mix by itself: the change is that of its mean time, with intervals that hold
    jointly over all scripts of an arm; None where an epoch has no execution of it."""

    script: str
    share_percent: float
    """Of the time that the control spent on all scripts."""
    executed_percent: float | None = None
    """Of the transactions of both arms; None: the record is older than the key."""
    control_us: float | None
    arm_us: float | None
    verdict: Literal["slower", "faster", "equivalent", "inconclusive"] | None = None
    """`equivalent`: within the margin of the study; None: the record is older than the key."""
    statements: tuple[str, ...] = ()
    """Those that have a plan."""
    flips: tuple[str, ...] = ()
    """What flipped in their plans, the most telling first."""


class Place(Frozen):
    """Where and on what it was weighed, in few words."""

    processors: int
    processor: str
    memory_bytes: int
    products: tuple[str, ...]
    """Of the builds: `"PostgreSQL 18.4"`; one where all arms have the same."""
    workload: str
    scale: int | None = None
    """None: of data that were taken in, or that stand at an address."""
    clients: int
    data: str = ""
    """What was taken in: `'base backup "monday", database shop'`."""
    data_bytes: int | None = None


class Work(Compared):
    """What the workload counts of its own work."""

    metric: str
    unit: str
    control_value: float
    arm_value: float


class DeviceFigure(Counted):
    """What the devices beneath the data did while an arm was driven: `read_iops` and `write_iops`
    (iostat's r/s, w/s), `reads_per_transaction` and `writes_per_transaction` (and, where the
    workload counts another unit of work, `reads_per_new_order`), `read_latency_ms` and
    `write_latency_ms` (r_await, w_await), `queue_length` (aqu-sz); in turns `read_iops_cv` and
    `write_iops_cv`, by the second."""


class DeviceSummary(Frozen):
    """What the devices beneath the data did, or why that is not available."""

    names: tuple[str, ...] = ()
    """In /sys/class/block; of several the figures are sums."""
    figures: tuple[DeviceFigure, ...] = ()
    shared_with_record: bool = False
    """Whether the record is written to one of them: then that is in the figures of every arm."""
    missing: str = ""
    """Why there are none."""


class ProbeCount(Frozen):
    """What a probe counted in an arm, over epochs."""

    arm: str
    probe: str
    counter: str
    median: float
    least: float
    most: float
    epochs: int


class Pages(Frozen):
    """Pages verified, and the server's processor time that one costs."""

    verified_per_transaction: float
    nanoseconds_per_page: float
    low: float
    high: float
    confidence: float
    verifying: str
    """The arm that verifies pages."""


class TimePart(Frozen):
    """A part of the mean time of a transaction, in µs."""

    part: Literal["processor", "queue", "read", "wal", "locks", "client", "debt", "rest", "waits"]
    """`queue`: runnable without a processor; `debt`: work left to the background and charged;
    `waits`: everything but the first two, where sessions could not be looked at."""
    control_us: float
    arm_us: float
    difference_us: float
    low_us: float | None
    """Joint 95 % interval of the difference, over all parts; None: unbounded."""
    high_us: float | None

    @property
    def is_below_noise(self) -> bool:
        """Whether an arm has less than no time of it: a remainder, smaller than its noise."""
        return min(self.control_us, self.arm_us) < 0


BottleneckKind = Literal[
    "processor",
    "waiting for a processor",
    "device",
    "reading",
    "WAL flush",
    "lock",
    "client",
    "none",
]


class Bottleneck(Frozen):
    """What an arm is held up by."""

    arm: str
    kind: BottleneckKind
    share: float
    """Of a transaction's time; of "none" that of the largest part."""
    evidence: str


class TimeParts(Frozen):
    """Where the time of a transaction goes in an arm and in the control; parts add up."""

    control: str
    arm: str
    epochs: int
    control_us: float
    """Mean time of a transaction of a client, background work that is charged included."""
    arm_us: float
    parts: tuple[TimePart, ...]
    with_queue: tuple[TimePart, ...] = ()
    """The same, with the queue divided among whose processor time makes it: what the servers' make
    is with "processor", what the driver's makes with "client". Empty: of an older record."""
    cause: TimePart | None = None
    """The part of `with_queue` that is named as the cause of the difference; None: none is."""
    bottlenecks: tuple[Bottleneck, ...] = ()
    """Of the control, and of the arm."""

    @property
    def named_cause(self) -> TimePart | None:
        """The cause, where its part is no remainder below its noise in either arm."""
        noise = {part.part for part in self.parts if part.is_below_noise}
        return None if self.cause is None or self.cause.part in noise else self.cause


class Lateness(Frozen):
    """How an arm kept up with arrivals that were given."""

    arm: str
    begun: int
    late_starts: int
    """Of them, those that found no idle client."""
    lag_mean_us: float
    """How much later than they arrived transactions began; it is part of their latency."""
    lag_max_us: float
    unstarted: int
    """Arrivals that had not begun at the end of their slice: they are in no latency."""


class StandbyLag(Frozen):
    """How far the standby of an arm that was furthest behind had not replayed as its measured
    slices ended, over epochs."""

    arm: str
    bytes_median: float
    """Of log."""
    bytes_most: float
    ms_median: float
    """Age of the last transaction that it had replayed; 0 where nothing was left."""
    ms_most: float
    epochs: int


class Differences(Frozen):
    """Settings that differ between the arms and the control."""

    compared: int
    declared: tuple[Difference, ...] = ()
    derived: tuple[Difference, ...] = ()
    undeclared: tuple[Difference, ...] = ()


class TrustLine(Frozen):
    """How long a weighing of two arms takes here to see a difference with 80 % power."""

    percent: float
    epochs: tuple[int, int, int]
    """Fewest, likely, most."""
    seconds: float | None
    least_seconds: float | None
    most_seconds: float | None


class Verdict(Frozen):
    """The content of verdict.json: contrasts with their threats, causes, and how it was weighed."""

    study: str
    seed: int
    record: str
    seconds: float
    whole_seconds: float
    placement: str
    layout: str = ""
    time_scale: float | None = None
    """In turns and cycles: what spaces checkpoints was divided by it."""
    distance_seconds: float | None = None
    """In turns and cycles: median time between checkpoints of the control; None: it made none."""
    by_distance: tuple[DistanceLine, ...] = ()
    """In turns and cycles: the effect as computed for other distances."""
    turns: TurnSummary | None = None
    """What else turns and cycles show."""
    pace: float | None = None
    """Of a captured workload's arrivals, which were repeated; None: they were not."""
    lateness: tuple[Lateness, ...] = ()
    """How each arm kept up with them."""
    capacity: tuple[Capacity, ...] = ()
    """Of every arm, the control first, where the metric is the rate at a limit of latency."""
    costs: tuple[Cost, ...] = ()
    """Of every arm, the control first, where the study has prices."""
    sentence: str
    factors: FactorEffects | None = None
    """Effects and interactions, where the arms are cells of a factorial."""
    contrasts: tuple[ContrastLine, ...]
    pairs: tuple[ContrastLine, ...] = ()
    """Arms against another arm, where the study compares them with one besides the control."""
    causes: tuple[Cause, ...]
    latency: tuple[Latency, ...]
    latency_by_script: tuple[Latency, ...]
    queries: tuple[Query, ...]
    statements: tuple[Statement, ...]
    statement_costs: tuple[StatementCost, ...] = ()
    plans: tuple[FlippedPlan, ...] = ()
    """Statements whose plan flipped; every plan is in inspection.json."""
    scripts: tuple[ScriptTime, ...] = ()
    """Each script of a mix by itself, the worst of an arm first."""
    place: Place | None = None
    """Absent in older records."""
    work: tuple[Work, ...]
    devices: DeviceSummary | None = None
    """What the devices did while each arm was driven; absent in older records."""
    standbys: tuple[StandbyLag, ...] = ()
    """Of arms with standbys, how far behind those were at the end."""
    probes: tuple[ProbeCount, ...]
    pages: Pages | None
    time: tuple[TimeParts, ...] = ()
    """Where the time of a transaction goes, one an arm."""
    differences: Differences
    defaults: BuildDefaultDifferences | None
    loads: Loads | None
    measured_seconds: float
    slices: int
    spent: Spent | None = None
    """Where the wall time went; absent in records from before it was kept."""
    resumed: bool
    interrupted: bool
    command: str
    trust: tuple[TrustLine, ...]
    ledger: LedgerBalance | None

    @property
    def every_contrast(self) -> tuple[ContrastLine, ...]:
        """Of arms against the control, then of those that are compared with another arm too."""
        return (*self.contrasts, *self.pairs)
