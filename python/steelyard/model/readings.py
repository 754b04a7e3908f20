"""Holds readings: one number with its unit, and what an arm did in one epoch in totals.

Names what a profile of settings is made by, for which kind of work, and its groups.

Names the readings of what devices did: `device_NAME_reads`, `device_NAME_write_ms`, ...

Names the parts that a transaction's time is split into, and holds what sampled sessions did.

Holds what a server counted of one statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from steelyard.model.turn import Turn


@dataclass(frozen=True)
class StatementCount:
    """Of every execution of one statement since the server started to count, in sums."""

    text: str  # as the server keeps it: constants may be $1, $2, ...
    executions: int
    wal_bytes: int
    full_page_images: int
    blocks_read: int  # asked of the kernel


@dataclass(frozen=True)
class StatementCounts:
    """Of every statement that a server keeps; what it forgot meanwhile would be missing in sums."""

    by_text: Mapping[str, StatementCount] = field(default_factory=dict)
    forgotten: int = 0  # times it made room for others
    missing: str = ""  # why there is nothing


def between(before: StatementCounts, after: StatementCounts) -> StatementCounts:
    """What was executed between two looks; nothing, with its reason, where it is not known."""
    reason = after.missing or before.missing
    if not reason and after.forgotten != before.forgotten:
        reason = "the server made room for other statements meanwhile"
    if reason:
        return StatementCounts(missing=reason)
    changes = [_change(before.by_text.get(count.text), count) for count in after.by_text.values()]
    if any(change.executions < 0 for change in changes):
        return StatementCounts(missing="the statistics of statements were reset meanwhile")
    done = sorted(
        (change for change in changes if change.executions), key=lambda change: -change.wal_bytes
    )
    return StatementCounts({change.text: change for change in done})


def _change(before: StatementCount | None, after: StatementCount) -> StatementCount:
    if before is None:
        return after
    return StatementCount(
        text=after.text,
        executions=after.executions - before.executions,
        wal_bytes=after.wal_bytes - before.wal_bytes,
        full_page_images=after.full_page_images - before.full_page_images,
        blocks_read=after.blocks_read - before.blocks_read,
    )


WaitPart = Literal["processor", "read", "wal", "locks"]
"""What a session at work does: it runs or could run, reads blocks, writes or syncs the write-ahead
log, or waits for a lock or anything else."""


@dataclass(frozen=True)
class SessionSamples:
    """What the sessions of an arm did, seen at random moments of its measured slices."""

    samples: int = 0
    """Moments."""
    sessions: int = 0
    """Sessions that were open, summed over the moments; those not at work had their client's
    turn."""
    by_part: Mapping[WaitPart, int] = field(default_factory=dict)
    """Sessions at work."""
    behind_log: int = 0
    """Of those in the log, sessions that waited for another's write or sync of it."""


def waits_for_another(event: str) -> bool:
    """Whether an event in the engine's words, `"LWLock:WALWrite"`, is a wait for what another
    session holds, and not a call of its own, as `"IO:WalSync"`."""
    return event.partition(":")[0] in ("LWLock", "Lock")


SERVER_CPU = "server_cpu_us"
"""The reading of processor time of an arm's whole process tree over the measured slices, in µs."""

SESSION_CPU = "session_cpu_us"
SESSION_QUEUE = "session_queue_us"
"""Readings of the sessions of an arm over its measured slices, in µs: on a processor, and runnable
without one."""

HELPER_CPU = "helper_cpu_us"
CHECKPOINT_CPU = "checkpoint_cpu_us"
"""Readings of the processor time, in µs, of a server's processes that work for sessions that wait
for them, and of those that write checkpoints."""

SESSION_LOG = "session_log_us"
"""Reading of the time that sessions spent in calls that write or sync the log, in µs, on a
processor or not."""


WAL_BYTES, ARCHIVE_BYTES = "wal_bytes", "archive_bytes"
"""Readings of the log that an arm wrote, and of what an archive of it would take, in bytes."""

REPLAY_LAG_BYTES, REPLAY_LAG_MS = "replay_lag_bytes", "replay_lag_ms"
"""Readings of the standby of an arm that was furthest behind at the end of its measured slices: log
that it had not replayed, and the age of the last transaction that it had."""


@dataclass(frozen=True)
class Reading:
    """One number with its unit, from one arm or the machine in one epoch; None: it is missing."""

    name: str
    unit: str
    value: float | None
    missing: str = ""
    """Why there is no number: the statistics were reset, or not complete in time."""
    per_transaction: bool = False
    """Whether it is shown as a cause: divided by the transactions of its span."""
    measured: bool = False
    """Its span: the measured slices only, or the whole epoch with its warm-up."""


ENDED_TRANSACTIONS = "ended_transactions"
"""Of the machine's readings: what the servers of all arms ended in an epoch, for all clients."""


class Valued(Protocol):
    """Something with a name and perhaps a value."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> float | None: ...


def known_values(readings: Iterable[Valued]) -> dict[str, float]:
    """Name → value of those that have one."""
    return {reading.name: reading.value for reading in readings if reading.value is not None}


def usable_processors(machine: Mapping[str, float]) -> float:
    """How many processors what an epoch's machine lost is of: those that may be used, 1 at least.
    Records from before they were kept have what was stolen of all."""
    return max(1.0, machine.get("usable_processors", machine.get("processors", 1.0)))


@dataclass(frozen=True)
class RateVisit:
    """What a slice of a search showed at its rate."""

    rate: float  # arrivals a second
    kept: bool  # whether the quantile was within its limit
    begun: int  # transactions, failed ones included
    late: int  # of them, those that found no idle client
    lag_ns: int  # Σ of how much later than they arrived transactions began


@dataclass(frozen=True)
class SliceTotals:
    """What one arm did in one measured slice; the parts that readings are made of."""

    block: int
    position: int  # 0: first of its block
    transactions: int  # that began in the slice and succeeded
    busy_ns: int  # summed over clients, debt included
    latency_sum_ns: int
    failed: int = 0
    script: str | None = None  # the only one of the slice, where each is a slice of its own
    excluded: bool = False  # in no geometric mean: it came before or after the queries
    visit: RateVisit | None = None  # None: its clients began as soon as they could


@dataclass(frozen=True)
class LoadMachineTotals:
    """What one of several load machines did for an arm in an epoch, over its measured slices."""

    processors: int  # that its driver may use
    slices: int
    transactions: int
    busy_ns: int  # summed over its clients
    elapsed_ns: int  # until its last client was back
    driver_cpu_ns: int
    late: int  # slices that it began later than ordered by more than LATE_SHARE of them

    @property
    def processor_share(self) -> float:
        """Of its processors' time, what its driver used; 0 where nothing ran."""
        whole_ns = self.elapsed_ns * self.processors
        return self.driver_cpu_ns / whole_ns if whole_ns else 0.0

    @property
    def client_throughput(self) -> float:
        """Transactions a second of one of its clients; 0 where nothing ran."""
        return self.transactions / (self.busy_ns / 1e9) if self.busy_ns else 0.0


LATE_SHARE = 0.02
"""Of a slice's length: machines that begin so far apart put a 3 % effect off by 0.06 points."""


@dataclass(frozen=True)
class TogetherTotals:
    """How an arm's measured slices of an epoch went on several load machines at once."""

    slices: int
    apart: int  # that began within more than LATE_SHARE of their length, the bound included
    skew_share: float  # mean of the skew over the slice's length, without its bound
    longest_ns: int  # the longest skew, its bound included
    machines: Mapping[str, LoadMachineTotals]


@dataclass(frozen=True)
class ArmTotals:
    """What one arm did in one epoch: sums over its measured slices, in the order they ran."""

    arm: str
    slot: int
    clients: int
    transactions: int
    busy_ns: int  # Σ over clients of time under load, plus clients × debt
    latency_sum_ns: int  # Σ of the latencies of the transactions counted
    debt_ns: int = 0  # time to pay what was left to the background; inside busy_ns × 1/clients
    failed: int = 0
    lost: int = 0  # connections lost
    capped: int = 0  # clients that were not back when the border's cap came
    wrong_rows: int = 0  # transactions that returned another number of rows than they must
    retries: int = 0
    rows: int | None = None  # returned by the transactions counted; None: not recorded
    dropped: int = 0  # slices left out, for a cause that is blind to the arms
    elapsed_ns: int = 0  # Σ over slices of the time until the last client was back
    driver_cpu_ns: int = 0
    driver_queue_share: float | None = None
    """Of the time of the driver's threads, runnable without a processor; None: not known."""
    uncharged_ns: int = 0  # of it, what came after the bell and was charged to no client
    late_starts: int = 0  # arrivals that found no idle client
    lag_sum_ns: int = 0  # Σ of how much later than they arrived transactions began
    lag_max_ns: int = 0
    unstarted: int = 0  # arrivals that had not begun at the end of their slice
    errors: Mapping[str, int] = field(default_factory=dict)  # by SQLSTATE
    slices: tuple[SliceTotals, ...] = ()
    latencies: Mapping[str, str] = field(default_factory=dict)
    """Script name → histogram over its slices (HdrHistogram V2 deflate, base64, ns)."""
    together: TogetherTotals | None = None  # None: one machine drove it
    statements: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """`script:line words` → executions and the sum of their times in ns, where they are timed."""

    @property
    def throughput(self) -> float:
        """Transactions per second of loaded time: clients × ΣN ÷ Σ busy; 0 when nothing ran."""
        if not self.busy_ns:
            return 0.0
        return self.clients * self.transactions / (self.busy_ns / 1e9)

    @property
    def latency_mean_ns(self) -> float:
        """Mean latency of the counted transactions; 0 when there are none."""
        return self.latency_sum_ns / self.transactions if self.transactions else 0.0


@dataclass(frozen=True)
class PartReadings:
    """What was read of an arm in one part of an epoch's measured slices."""

    first_block: int  # the part ends where the next begins
    values: Mapping[str, float]


@dataclass(frozen=True)
class EpochTotals:
    """One epoch: which arm stood in which slot, in which order they were started, what they did.

    `outcome` is "complete", or says what happened to which arm ("arm off crashed").
    """

    epoch: int
    slots: Mapping[str, int]
    start_order: tuple[str, ...]
    arms: Mapping[str, ArmTotals]
    outcome: str = "complete"
    readings: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    """Arm → name → what telemetry read of it."""
    machine: Mapping[str, Reading] = field(default_factory=dict)
    """Name → what telemetry read of the machine."""
    transactions_all: Mapping[str, int] = field(default_factory=dict)
    """Arm → transactions of the whole epoch, warm-up included."""
    work_per_minute: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Arm → what its workload counts → how much of it a minute, in its measured slices."""
    probes: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Arm → probe → what its one execution counted."""
    transactions_measured: Mapping[str, int] = field(default_factory=dict)
    """Arm → transactions of the measured slices, dropped ones included."""
    parts: Mapping[str, tuple[PartReadings, ...]] = field(default_factory=dict)
    """Arm → what was read in each part of its measured slices, where slices are cut by time."""
    waits: Mapping[str, SessionSamples] = field(default_factory=dict)
    """Arm → what its sessions did, where that was sampled."""
    statements: Mapping[str, StatementCounts] = field(default_factory=dict)
    """Arm → what its server counted of each statement, where that was asked for."""
    turns: Mapping[str, Turn] = field(default_factory=dict)
    """Arm → its turn, with layout "turns"."""

    def amount(self, arm: str, name: str) -> float:
        """A reading of an arm; NaN where it is missing or was not taken."""
        reading = self.readings.get(arm, {}).get(name)
        return math.nan if reading is None or reading.value is None else reading.value

    def per_transaction(self, arm: str, name: str) -> float:
        """A reading of an arm over the transactions of its span; NaN where either is missing."""
        value = self.amount(arm, name)
        done = 0 if math.isnan(value) else self.transactions_of(arm, name)
        return value / done if done else math.nan

    def transactions_of(self, arm: str, name: str) -> int:
        """Transactions of an arm in the span of one of its readings."""
        if self.is_measured(arm, name):
            return self.transactions_measured.get(arm) or self.arms[arm].transactions
        return self.transactions_all.get(arm, 0)

    def is_measured(self, arm: str, name: str) -> bool:
        """Whether a reading of an arm is of its measured slices only."""
        reading = self.readings.get(arm, {}).get(name)
        return reading is not None and reading.measured


@dataclass(frozen=True)
class Kind:
    """One number that a source gives."""

    name: str
    unit: str
    per_transaction: bool = False
    """Shown as a cause: over the transactions of its span."""
    level: bool = False
    """Not cumulative: the last value counts."""
    parts: bool = False
    """Of a border: also read for each part of the measured slices."""


@dataclass(frozen=True)
class Sample:
    """What a source gave at one moment; a reason in place of values it could not give."""

    values: Mapping[str, float]
    missing: str = ""
    resets: tuple[str | None, ...] = ()
    """When each group of cumulative numbers was last reset, None: never; differences across a reset
    are no figures."""
    summed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Name → the processes whose numbers it is the sum of, where what one used is lost with it:
    where others have taken the place of some, the difference of two sums is no figure."""


ProfileName = Literal["ours", "theirs", "theirs-literal"]
WorkKind = Literal["oltp", "olap", "mixed"]
"""Short transactions of many clients; long queries of few; both."""
Group = Literal["memory", "log", "planner", "storage", "workers"]
"""Settings that act together: an ablation sets a whole group back."""


SLICES_NS = "slices_ns"
"""The reading of an arm that has the time of its slices, of which the counts are."""
_PREFIX = "device_"


def device_reading(device: str, counted: str) -> str:
    """The name of the reading of one count of a device."""
    return f"{_PREFIX}{device}_{counted}"


def device_names(names: Iterable[str]) -> list[str]:
    """The devices that readings are of, in their order, each once; `names`: names of readings."""
    end = "_reads"
    return [
        name.removeprefix(_PREFIX).removesuffix(end)
        for name in dict.fromkeys(names)
        if name.startswith(_PREFIX) and name.endswith(end)
    ]
