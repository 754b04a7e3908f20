"""One epoch as a line of telemetry.jsonl, the events between epochs, and one arm's measured window
of an epoch in cycles: whole checkpoint cycles in its own time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.model.readings import EpochTotals, WaitPart
from steelyard.model.turn import Checkpoint, Turn, TurnEnd
from steelyard.record.frozen import Frozen
from steelyard.record.machine import DriveHealth
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import CheckpointLine, DebtLine, SecondsLine, seconds_of


class WindowLine(Frozen):
    """What was seen of an arm in an epoch in cycles; times are own time of the arm, in ns from its
    first slice of the epoch."""

    end: TurnEnd
    level: bool
    """Whether throughput and reads were level when measuring began."""
    at_checkpoint: bool
    """Whether measuring began at the begin of a checkpoint; False: none began while it was waited
    for."""
    warmup_ns: int
    """Own time before the window."""
    checkpoints: tuple[CheckpointLine, ...] = ()
    """Of the epoch, in order."""
    at_start: DebtLine = DebtLine()
    at_end: DebtLine = DebtLine()
    starts_ns: tuple[int, ...] = ()
    """Own time at which each measured slice began."""
    seconds: SecondsLine = SecondsLine()
    """One number for each measured slice."""
    own_borders: bool = False
    """Whether processes and work were read where the window begins and ends; False, of older
    records: before the first slice of the epoch and after the last, which may be later."""
    suspended_use_ns: int = 0
    """Processor time that its processes used while they were to stand still."""
    suspensions: int = 0
    """How often it stood still."""


class ReadingLine(Frozen):
    """A number with its unit, or why there is none (model/readings.py)."""

    name: str
    unit: str
    value: float | None = None
    missing: str = ""
    per_transaction: bool = False
    measured: bool = False


class PartLine(Frozen):
    """What was read of an arm in one part of an epoch's measured slices."""

    first_block: int
    values: Mapping[str, float]


class WaitLine(Frozen):
    """Sessions at work that were seen to wait for one thing."""

    event: str
    """In the engine's own words; `CPU:CPU`: nothing."""
    part: WaitPart
    sessions: int


class WaitsLine(Frozen):
    """What an arm's sessions did, seen at random moments of its measured slices."""

    samples: int
    """Moments."""
    sessions: int
    """Open sessions, summed over the moments; those not at work had their client's turn."""
    events: tuple[WaitLine, ...] = ()


class StatementLine(Frozen):
    """What the server counted of one statement in the measured slices (model/readings.py)."""

    text: str
    executions: int
    wal_bytes: int
    full_page_images: int
    blocks_read: int


class StatementsLine(Frozen):
    """Of every statement that was executed, those first that wrote most log."""

    missing: str = ""
    """Why there is none."""
    counts: tuple[StatementLine, ...] = ()


class ArmLine(Frozen):
    """What an arm did in an epoch beside its slices, and what telemetry read of it."""

    driver_cpu_ns: int = 0
    """Of the driver, over the arm's measured slices."""
    transactions: int = 0
    """Of the measured slices, dropped ones included."""
    all_transactions: int = 0
    """With the warm-up."""
    readings: tuple[ReadingLine, ...] = ()
    parts: tuple[PartLine, ...] = ()
    waits: WaitsLine | None = None
    statements: StatementsLine | None = None
    """Where the study asks for it."""
    work_per_minute: Mapping[str, float] = {}
    probes: Mapping[str, Mapping[str, float]] = {}


class EvictedLine(Frozen):
    """The arms' files, dropped from the page cache before the arms were started."""

    file_bytes: int
    resident_bytes: int | None
    """Of them, still in the page cache; None: the kernel did not tell."""


class OtherLoadLine(Frozen):
    """Another measurement of Steelyard that was under way on the machine."""

    pid: int
    command: str
    """`"weigh checksums"`."""


class EpochLine(Frozen):
    """One epoch: which arm stood in which slot, what happened, what telemetry read."""

    type: Literal["epoch"] = "epoch"
    epoch: int
    attempt: int = 1
    slots: Mapping[str, int]
    start_order: tuple[str, ...]
    outcome: str = "complete"
    """Or what happened to which arm: `crashed: on`."""
    error: tuple[str, ...] = ()
    arms: Mapping[str, ArmLine] = {}
    loads: Mapping[str, int] = {}
    """Arm → which of the loads of its data it stood on."""
    violations: Mapping[str, tuple[str, ...]] = {}
    """Arm → what the workload's checks found wrong; in turns, of the arms that had theirs."""
    evicted: EvictedLine | None = None
    """In slices and cycles, where memory is capped; a turn has its own."""
    windows: Mapping[str, WindowLine] = {}
    """Arm → its measured window, in cycles."""
    machine: tuple[ReadingLine, ...] = ()
    other_loads: tuple[OtherLoadLine, ...] = ()
    """Seen as the epoch began or ended."""
    machine_seen: tuple[tuple[str, str], ...] = ()
    """(threat, what was seen) of the machine: of records of format 1, which kept no numbers."""


class EventLine(Frozen):
    """Something that happened to the weighing, in the epoch that it struck or that comes next."""

    type: Literal["event"] = "event"
    epoch: int
    event: str


class LedgerBalance(Frozen):
    """How the A/A ledger of a machine stands."""

    e_value: float
    weighings: int
    largest_e_value: float
    """After any weighing: reaching 100 once is what counts."""
    off_balance: bool
    ledgers: int
    skipped_lines: int
    path: str


class EndLine(Frozen):
    """How a weighing ended, and what it took: what the verdict says and no epoch does."""

    type: Literal["end"] = "end"
    epoch: int
    """Epochs there are."""
    began: int
    """Epochs there were already when it went on; 0 for one that was not interrupted."""
    seconds: float
    """Of the epochs run in this sitting, with the restarts between them."""
    whole_seconds: float
    """With preparation and pilot."""
    resumed: bool = False
    interrupted: bool = False
    lost: bool = False
    """Too many epochs in a row were lost."""
    ledger: LedgerBalance | None = None
    """Of the A/A ledger, after this weighing."""
    drives: tuple[DriveHealth, ...] = ()
    """The drives beneath the slots, after the last epoch; before: in environment.json."""


@dataclass(frozen=True)
class Epoch:
    """One finished epoch: its line, and the totals over its slices."""

    line: EpochLine
    totals: EpochTotals

    def violations(self, arm: str) -> tuple[str, ...]:
        """What the workload's checks found wrong with an arm's work."""
        return self.line.violations.get(arm, ())

    @property
    def driver_cpu_ns(self) -> int:
        """Processor time of the driver over the measured slices of every arm."""
        return sum(arm.driver_cpu_ns for arm in self.line.arms.values())


def window_turn(arm: str, position: int, line: WindowLine, slices: Sequence[SliceLine]) -> Turn:
    """A window as analysis has it: seconds and checkpoints in own time. `slices`: its measured
    ones, in order; `position`: of its start among the arms'."""
    seconds = tuple(
        replace(
            second,
            start_ns=start_ns,
            end_ns=start_ns + second.end_ns - second.start_ns,
            wall_ns=float(second.start_ns),
        )
        for second, start_ns in zip(
            seconds_of(line.seconds, slices),
            [
                start_ns
                for start_ns, each in zip(line.starts_ns, slices, strict=False)
                if not each.dropped
            ],
            strict=False,
        )
    )
    return Turn(
        arm=arm,
        position=position,
        clients=max((each.clients for each in slices), default=0),
        end=line.end,
        level=line.level,
        resident_share=math.nan,
        quiet=True,
        waiting_bytes=0.0,
        seconds=seconds,
        checkpoints=tuple(
            Checkpoint(each.began_ns, each.ended_ns, each.cause) for each in line.checkpoints
        ),
        at_start=line.at_start.debt,
        at_end=line.at_end.debt,
        at_checkpoint=line.at_checkpoint,
        age_ns=float(line.warmup_ns),
    )
