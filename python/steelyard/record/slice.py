"""One slice as a line of slices.jsonl: what the driver answered, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from steelyard.record.frozen import Frozen


class TimedStatement(Frozen):
    """How often a statement was executed in a slice, and what that took."""

    line: int
    text: str
    executions: int
    failures: int = 0
    retries: int = 0
    sum_ns: int


class ScriptInSlice(Frozen):
    """What one script did in a slice."""

    name: str
    transactions: int = 0
    latency: str = ""
    """HdrHistogram V2 deflate, base64, ns."""
    commands: tuple[TimedStatement, ...] = ()


class MachineInSlice(Frozen):
    """What one of several load machines did in a slice. Times in ns, by its own clock."""

    name: str
    processors: int
    """That its driver may use."""
    clients: int
    transactions: int
    busy_ns: int
    driver_cpu_ns: int
    start_ns: int
    end_ns: int
    late_ns: int
    """How much later than ordered its last thread began."""
    offset_ns: int
    """Its clock less the coordinator's."""
    offset_bound_ns: int


class TogetherLine(Frozen):
    """How a slice went on several load machines at once."""

    skew_ns: int
    """Between the first machine that began and the last, as the clocks were compared."""
    skew_bound_ns: int
    """How far from that the truth may be."""
    machines: tuple[MachineInSlice, ...]


class SliceFigures(Frozen):
    """What the driver tells of one arm under load for a short time. Times in ns on its monotonic
    clock."""

    arm: str
    start_ns: int = 0
    end_ns: int = 0
    """When its last client was back."""
    length_ns: int | None = None
    """None: its end was by executions, not by time (of the driver: 0)."""
    clients: int
    transactions: int
    """Begun in the slice, and succeeded."""
    busy_ns: int
    """Time under load, summed over clients."""
    latency_sum_ns: int
    """Of the transactions counted."""
    latency_squares_ns2: float = 0.0
    """Sum of their squares."""
    failed: int = 0
    """Transactions that ended with an error."""
    errors: Mapping[str, int] = {}
    """By SQLSTATE."""
    error_messages: Mapping[str, str] = {}
    rows: int | None = None
    """Returned by the transactions counted."""
    wrong_rows: int = 0
    """Transactions that returned another number of rows than they must."""
    capped: int = 0
    """Clients that were not back when the border's cap came."""
    lost: int = 0
    """Connections lost."""
    reconnected: tuple[tuple[int, int], ...] = ()
    """(client, process id of its new backend)."""
    retried: int = 0
    """Transactions that were tried more than once."""
    retries: int = 0
    """How often they were tried again."""
    late_starts: int = 0
    """Arrivals at a rate that found no idle client."""
    lag_sum_ns: int = 0
    """By how much all arrivals waited for one."""
    lag_max_ns: int = 0
    skipped: int = 0
    """Arrivals that were later than the limit of latency, and never began."""
    unstarted: int = 0
    """Arrivals before the end that no client came to."""
    over_limit: int = 0
    """Transactions longer than the limit of latency."""
    connections: int = 0
    """Made during the slice."""
    connect_ns: int = 0
    """What they took."""
    debug: tuple[str, ...] = ()
    """What the script's `debug()` printed."""
    driver_cpu_ns: int = 0
    """Time on processors of the driver's process."""
    driver_threads_ns: int = 0
    """How long the driver's threads drove, summed over them."""
    driver_queue_ns: int | None = None
    """Of it, runnable without a processor; None: this kernel does not count it."""
    scripts: tuple[ScriptInSlice, ...] = ()
    late_ns: int | None = None
    """How much later than ordered its last thread began, where it began by the clock."""
    together: TogetherLine | None = None
    """None: one machine drove it."""


class SliceLine(SliceFigures):
    """One slice: the driver's figures, and where it stands."""

    epoch: int
    """From 0; negative in the pilot."""
    attempt: int = 1
    """Which try of the epoch: a torn one is run again, and its slices are left unseen."""
    run: int | None = None
    """Of the pilot: number of its series of slices."""
    slot: int | None = None
    kind: Literal["pilot", "warmup", "measured", "beyond"]
    block: int
    """From 0 for measured ones."""
    position: int
    """0: first of its block."""
    script: str | None = None
    """The only one of the slice, where scripts are taken in turn."""
    excluded: bool = False
    """In no geometric mean: it came before or after the queries."""
    tag: str | None = None
    left_ns: int = 0
    """Time of the work that the arm left to the background."""
    debt_ns: int = 0
    """Time to pay what was left to the background."""
    dropped: str | None = None
    """Why it is left out, for a cause that is blind to the arms."""
    rate: float | None = None
    """Arrivals a second, of a search for the highest; None: there were none."""
    quantile_ns: int | None = None
    """At such a rate: the quantile of latency that has a limit, of all arrivals; None: it lies
    among those that failed or never began."""
    within: bool | None = None
    """Whether it is within the limit; None: there is none."""

    @property
    def busy_with_debt_ns(self) -> int:
        """Time under load summed over clients, with the debt that every client waits for."""
        return self.busy_ns + self.clients * self.debt_ns

    @property
    def uncharged_ns(self) -> int:
        """Time after the bell that was charged to no client; about 0 for an honest border.

        After the bell nothing begins, and a client is charged until its last transaction ends. So
        what the clients were charged with beyond the slice's length is at least the way back of the
        last. Of several machines each has its own begin: what lies between them is no client's.
        """
        if not self.length_ns:
            return 0
        after_bell = self.end_ns - self.start_ns - self.length_ns
        if self.together is not None:
            after_bell -= self.together.skew_ns + self.together.skew_bound_ns
        charged = self.busy_ns - self.clients * self.length_ns
        return max(0, max(0, after_bell) - charged)
