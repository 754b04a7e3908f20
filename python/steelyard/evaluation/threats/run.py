"""Raises the threats that the weighing itself can see: answers, background, work, driver, drift,
plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.analysis.pilot.steady_state import Drift, drift_of
from steelyard.evaluation.causes import BLOCKS_READ, cause_contrasts, cause_read, complete
from steelyard.evaluation.threats.machine import MEMORY_PRESSURE, machine_threats
from steelyard.evaluation.threats.pool_warmth import pool_not_warm
from steelyard.evaluation.threats.together import together_threats
from steelyard.evaluation.threats.work import behind_threats
from steelyard.model.estimate import Interval
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import SERVER_CPU, ArmTotals, EpochTotals
from steelyard.model.threat import Observation, Quoted, ThreatKind
from steelyard.model.units import NS_PER_US
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Plan
from steelyard.study.design import FEWEST_LOADS
from steelyard.study.study import Study

DRIVER_SHARE = 0.5
"""Of the processor time that driver and servers used: above it the driver is most of the work."""
DRIFTING_SHARE = 0.5
"""Of the epochs whose measured slices still had a slope."""
_ROUNDING = 1e-9
FEW_BLOCKS_READ = 0.1
"""Blocks read per transaction that a working set larger than shared buffers must exceed, and one
that fits must stay below."""


@dataclass(frozen=True, slots=True)
class WrongRows(Observation):
    """Transactions returned another number of rows than they must."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    transactions: int


@dataclass(frozen=True, slots=True)
class ChecksViolated(Observation):
    """The workload's checks found an arm's data wrong."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    epoch: int
    """Of the first violation, from 0."""
    violation: str
    """The first, in the words of the check."""
    violations: int


@dataclass(frozen=True, slots=True)
class BackgroundInOneArm(Observation):
    """Work of the background was done in the epochs of one arm only."""

    kind: ClassVar[ThreatKind] = ThreatKind.ONE_ARM_BACKGROUND
    work: Literal["checkpoints", "autovacuums"]
    counts: tuple[tuple[str, float], ...]
    """(arm, how many)."""


@dataclass(frozen=True, slots=True)
class WorkingSetUnlike(Observation):
    """Arms read more or less than work whose data is as the study says."""

    kind: ClassVar[ThreatKind] = ThreatKind.WORKING_SET
    expected: Literal["fits", "exceeds"]
    blocks_read: tuple[tuple[str, float], ...]
    """(arm, blocks a transaction), of each arm that does."""


@dataclass(frozen=True, slots=True)
class DriverMostOfWork(Observation):
    """The driver used most of the processor time."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIVER_BOUND
    share: float
    """Of the processor time of driver and servers."""


@dataclass(frozen=True, slots=True)
class ProcessorTimeMoved(Observation):
    """Processor time a transaction that an arm takes, against the control."""

    arm: str
    log_ratio: float


@dataclass(frozen=True, slots=True)
class ThroughputMovedToo(ProcessorTimeMoved):
    """Throughput rose with processor time a transaction, or fell with it."""

    kind: ClassVar[ThreatKind] = ThreatKind.CPU_DISAGREES


@dataclass(frozen=True, slots=True)
class ThroughputHardlyMoved(ProcessorTimeMoved):
    """Throughput shows less than half of what processor time a transaction does."""

    kind: ClassVar[ThreatKind] = ThreatKind.CPU_DISAGREES


@dataclass(frozen=True, slots=True)
class PilotUnsettled(Observation):
    """The pilot's load did not settle."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_STEADY_STATE


@dataclass(frozen=True, slots=True)
class StillDrifting(Observation):
    """The throughput of an arm had a slope in the measured slices of most epochs."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_STEADY_STATE
    arm: str
    drifting: int
    """Epochs."""
    epochs: int
    """In which a slope could be fitted."""


@dataclass(frozen=True, slots=True)
class FewLoads(Observation):
    """Builds cannot share data, and the data of each was loaded too few times."""

    kind: ClassVar[ThreatKind] = ThreatKind.DIRECTORY_TIED
    loads: int
    """Of the build that has fewest."""


@dataclass(frozen=True, slots=True)
class ConnectionsDrawn(Observation):
    """The treatment was drawn onto connections to one running server."""

    kind: ClassVar[ThreatKind] = ThreatKind.SHARED_BACKGROUND


@dataclass(frozen=True, slots=True)
class DatabasesOfOneServer(Observation):
    """The arms are databases on one running server."""

    kind: ClassVar[ThreatKind] = ThreatKind.SHARED_BACKGROUND


@dataclass(frozen=True, slots=True)
class ServersOfTheirOwn(Observation):
    """Each arm is a running server, neither placed nor drawn."""

    kind: ClassVar[ThreatKind] = ThreatKind.ADDRESS_ONLY


def run_threats(
    epochs: Sequence[Epoch], plan: Plan, study: Study, arm: str, *, level: bool = True
) -> tuple[Observation, ...]:
    """Every threat to one contrast that is not in its log ratios alone; `level`: whether throughput
    is to be level within an epoch."""
    control = study.control.name
    both, totals = (control, arm), [epoch.totals for epoch in epochs]
    return (
        *_wrong_answers(epochs, both),
        *(_background(epochs, both) if level else ()),
        *_working_set(epochs, both, study),
        *behind_threats(totals, both),
        *_driver(epochs),
        *together_threats(totals, control, arm),
        *_processor_time(epochs, control, arm, plan.margin),
        *(_steadiness(epochs, plan, both) if level else ()),
        *pool_not_warm(totals, control, arm, plan.margin, writes=plan.writes),
        *machine_threats(epochs, plan.processors, {MEMORY_PRESSURE} if plan.memory else ()),
        *plan_threats(plan),
    )


def _wrong_answers(epochs: Sequence[Epoch], both: tuple[str, str]) -> Iterator[Observation]:
    for arm in both:
        rows = sum(epoch.totals.arms[arm].wrong_rows for epoch in epochs)
        if rows:
            yield WrongRows(arm, rows)
        broken = [(e.totals.epoch, v) for e in epochs for v in e.violations(arm)]
        if broken:
            epoch, violation = broken[0]
            yield ChecksViolated(arm, epoch, violation, len(broken))


def _background(epochs: Sequence[Epoch], both: tuple[str, str]) -> Iterator[Observation]:
    """Checkpoints by timeout and autovacuums, in the epochs of one arm only, of those in which both
    arms' were counted."""
    every = [epoch.totals for epoch in epochs]
    counted: dict[Literal["checkpoints", "autovacuums"], list[list[float]]] = {
        "checkpoints": [[timed_checkpoints(epoch, arm) for arm in both] for epoch in every],
        "autovacuums": [[_autovacuums(epoch, arm) for arm in both] for epoch in every],
    }
    for work, amounts in counted.items():
        known = [of_both for of_both in amounts if not any(map(math.isnan, of_both))]
        counts = [math.fsum(of_arm) for of_arm in zip(*known, strict=True)]
        if counts and (counts[0] == 0) != (counts[1] == 0):
            yield BackgroundInOneArm(work, tuple(zip(both, counts, strict=True)))


@memoize_by_identity
def _autovacuums(epoch: EpochTotals, arm: str) -> float:
    return epoch.amount(arm, "autovacuums")


@memoize_by_identity
def timed_checkpoints(epoch: EpochTotals, arm: str) -> float:
    """Checkpoints by timeout that were really done; NaN where they were not counted.

    A server counts those that it skipped too, since it was idle. From PostgreSQL 18 on it also
    counts what was done; before, a checkpointer that wrote nothing is taken to have skipped.
    """
    timed, done = epoch.amount(arm, "checkpoints_timed"), epoch.amount(arm, "checkpoints_done")
    if not math.isnan(done):
        return max(0.0, min(timed, done - epoch.amount(arm, "checkpoints_requested")))
    return 0.0 if epoch.amount(arm, "blocks_written_by_checkpointer") == 0 else timed


def _working_set(
    epochs: Sequence[Epoch], both: tuple[str, str], study: Study
) -> Iterator[Observation]:
    expected = study.workload.working_set
    if expected == "any":
        return
    unlike = []
    for arm in both:
        counted = [e.totals for e in epochs if not math.isnan(e.totals.amount(arm, BLOCKS_READ))]
        done = sum(totals.transactions_all.get(arm, 0) for totals in counted)
        read = math.fsum(totals.amount(arm, BLOCKS_READ) for totals in counted)
        if done and (read / done > FEW_BLOCKS_READ) != (expected == "exceeds"):
            unlike.append((arm, read / done))
    if unlike:
        yield WorkingSetUnlike(expected, tuple(unlike))


def _driver(epochs: Sequence[Epoch]) -> Iterator[Observation]:
    """Of the epochs in which the processor time of every arm's server was read."""
    used = [(epoch, _servers_us(epoch.totals)) for epoch in epochs]
    known = [(epoch, used_us) for epoch, used_us in used if not math.isnan(used_us)]
    driver = sum(epoch.driver_cpu_ns for epoch, _ in known)
    servers = math.fsum(used_us for _, used_us in known) * NS_PER_US
    if driver and servers and driver / (driver + servers) > DRIVER_SHARE:
        yield DriverMostOfWork(driver / (driver + servers))


@memoize_by_identity
def _servers_us(totals: EpochTotals) -> float:
    """Of all arms; NaN where that of one was not read."""
    return math.fsum(totals.amount(arm, SERVER_CPU) for arm in totals.readings)


def _processor_time(
    epochs: Sequence[Epoch], control: str, arm: str, margin: float
) -> Iterator[Observation]:
    """Processor time per transaction that throughput contradicts, or shows less than half of.

    Where work is bound by the processor, its time per transaction and throughput move against each
    other, the former a little more, since the driver takes its part. Both rules are by intervals.
    """
    totals = complete([epoch.totals for epoch in epochs])
    if len(totals) < FEWEST_FOR_VERDICT:
        return
    pairs = [(t.arms[arm].throughput, t.arms[control].throughput) for t in totals]
    if any(a <= 0 or b <= 0 for a, b in pairs):
        return
    speeds = np.array([math.log(a / b) for a, b in pairs])
    costs = np.array([_log_cpu_ratio(t, control, arm) for t in totals])
    speed, unseen = t_interval(speeds), t_interval(speeds + costs / 2)
    if not _may_disagree(speed, unseen, float(costs.mean()), margin):
        return
    cpu = cause_contrasts(totals, control, arm).get(SERVER_CPU)
    if cpu is None:
        return
    more, less = cpu.estimate.low > 0, cpu.estimate.high < 0
    if (speed.low > 0 and more) or (speed.high < 0 and less):
        yield ThroughputMovedToo(arm, cpu.estimate.value)
    elif (cpu.estimate.low > margin and unseen.low > 0) or (
        cpu.estimate.high < -margin and unseen.high < 0
    ):
        yield ThroughputHardlyMoved(arm, cpu.estimate.value)


def _may_disagree(speed: Interval, unseen: Interval, cost: float, margin: float) -> bool:
    """Whether any interval around the mean log `cost` could meet one of the two rules: where none
    can, which is the rule, the joint intervals need not be computed."""
    return (
        (speed.low > 0 and cost > -_ROUNDING)
        or (speed.high < 0 and cost < _ROUNDING)
        or (unseen.low > 0 and cost > margin - _ROUNDING)
        or (unseen.high < 0 and cost < _ROUNDING - margin)
    )


@memoize_by_identity
def _log_cpu_ratio(totals: EpochTotals, control: str, arm: str) -> float:
    read = cause_read(SERVER_CPU)
    return math.log(read(totals, arm) / read(totals, control))


def _steadiness(
    epochs: Sequence[Epoch], plan: Plan, both: tuple[str, str]
) -> Iterator[Observation]:
    if not plan.pilot.settled:
        yield PilotUnsettled()
        return
    for arm in both:
        drifts = [_drift(epoch.totals.arms[arm]) for epoch in epochs]
        fitted = [drift for drift in drifts if drift is not None]
        drifting = sum(drift.matters(plan.margin) for drift in fitted)
        if len(fitted) >= 4 and drifting > DRIFTING_SHARE * len(fitted):
            yield StillDrifting(arm, drifting, len(fitted))


@memoize_by_identity
def _drift(arm: ArmTotals) -> Drift | None:
    """Of an arm's throughput over the slices of an epoch; None: there are too few of them."""
    series = [part.transactions / part.busy_ns for part in arm.slices if part.busy_ns]
    return drift_of(series) if len(series) >= 10 else None


def plan_threats(plan: Plan) -> Iterator[Observation]:
    """Threats that are known before the first slice."""
    loads, fewest = plan.loads, plan.loads.fewest
    if plan.upkeep == "carry" and fewest < FEWEST_LOADS:
        yield Quoted(ThreatKind.DIRECTORY_TIED, plan.upkeep_why)
    elif not loads.shared and fewest < FEWEST_LOADS:
        yield FewLoads(fewest)
    if plan.residency == "one server":
        yield ConnectionsDrawn()
    if plan.residency == "own databases":
        yield DatabasesOfOneServer()
    if plan.residency == "several servers":
        yield ServersOfTheirOwn()
    if plan.placement == "free" and plan.residency == "own servers":
        yield Quoted(ThreatKind.PLACEMENT_FREE, plan.placement_why)
