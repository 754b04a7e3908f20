"""The verdict of a weighing as verdict.json keeps it, and `weigh --json` prints it.

Percents are (arm / control - 1) * 100 of the metric itself; None is unbounded or unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from steelyard.record.contrast import ContrastLine, Percent
from steelyard.record.epoch import LedgerBalance
from steelyard.record.factors import FactorEffects
from steelyard.record.frozen import Frozen
from steelyard.record.plan import BuildDefaultDifferences, Difference, Loads
from steelyard.record.rates.capacity import Capacity, Cost
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
    """Mean time of a statement."""

    statement: str
    control_us: float
    arm_us: float


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


class Probe(Frozen):
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
    """Everything that is said of a weighing."""

    study: str
    seed: int
    record: str
    seconds: float
    whole_seconds: float
    placement: str
    layout: str = ""
    time_scale: float | None = None
    """In turns: what spaces checkpoints was divided by it."""
    distance_seconds: float | None = None
    """In turns: median time between two checkpoints of the control; None: it made none."""
    by_distance: tuple[DistanceLine, ...] = ()
    """In turns: the effect as computed for other distances."""
    turns: TurnSummary | None = None
    """What else turns show."""
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
    probes: tuple[Probe, ...]
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


Value = object
TOLERANCE = 1e-9
"""Relative difference of two numbers that another machine's arithmetic may make."""
NOT_COMPARED = ("record",)
"""Where the record lies is not a part of what it says."""


@dataclass(frozen=True)
class VerdictDifference:
    """One key on which two verdicts differ."""

    key: str
    recorded: Value
    rejudged: Value


def differences(recorded: Frozen, rejudged: Frozen) -> list[VerdictDifference]:
    """Where they differ, of what the recorded one says: what later versions say besides is none."""
    return list(_between("", recorded.to_json(), rejudged.to_json()))


def _between(key: str, ours: Value, theirs: Value) -> Iterator[VerdictDifference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if key or name not in NOT_COMPARED:
                yield from _between(f"{key}.{name}" if key else name, value, theirs.get(name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _between(f"{key}[{place}]", one, other)
    elif not _same(ours, theirs):
        yield VerdictDifference(key, ours, theirs)


def _same(ours: Value, theirs: Value) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return ours == theirs
