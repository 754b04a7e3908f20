"""Adds the slices of an epoch up to what each arm did in it.

Adds up how the slices of one arm went on several load machines: skew, and each machine's part.

No time of one machine is subtracted from another's but for the skew, which has its bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard._core import histogram_merge
from steelyard.model.readings import (
    CHECKPOINT_CPU,
    HELPER_CPU,
    LATE_SHARE,
    SERVER_CPU,
    SESSION_CPU,
    SESSION_QUEUE,
    ArmTotals,
    EpochTotals,
    LoadMachineTotals,
    PartReadings,
    RateVisit,
    Reading,
    SessionSamples,
    SliceTotals,
    StatementCount,
    StatementCounts,
    TogetherTotals,
    WaitPart,
    waits_for_another,
)
from steelyard.record.epoch import (
    ArmLine,
    EpochLine,
    ReadingLine,
    StatementsLine,
    WaitsLine,
    WindowLine,
    window_turn,
)
from steelyard.record.slice import MachineInSlice, SliceLine, TogetherLine
from steelyard.record.turns.turn import TurnLine, turn_of


def together_totals(lines: Sequence[SliceLine]) -> TogetherTotals | None:
    """Of the measured slices of an arm in an epoch; None where one machine drove them."""
    driven = [(_length_ns(line), line.together) for line in lines if line.together is not None]
    if not driven:
        return None
    apart_ns = [together.skew_ns + together.skew_bound_ns for _, together in driven]
    limits_ns = [LATE_SHARE * length_ns for length_ns, _ in driven]
    return TogetherTotals(
        slices=len(driven),
        apart=sum(ns > limit for ns, limit in zip(apart_ns, limits_ns, strict=True)),
        skew_share=sum(together.skew_ns / length_ns for length_ns, together in driven)
        / len(driven),
        longest_ns=max(apart_ns),
        machines=_machines(driven),
    )


def _length_ns(line: SliceLine) -> int:
    """That of its bell, or what it took where it had none."""
    return line.length_ns or max(1, line.end_ns - line.start_ns)


def _machines(driven: Sequence[tuple[int, TogetherLine]]) -> dict[str, LoadMachineTotals]:
    by_machine: dict[str, list[tuple[int, MachineInSlice]]] = {}
    for length_ns, together in driven:
        for machine in together.machines:
            by_machine.setdefault(machine.name, []).append((length_ns, machine))
    return {name: _machine(parts) for name, parts in by_machine.items()}


def _machine(parts: Sequence[tuple[int, MachineInSlice]]) -> LoadMachineTotals:
    did = [machine for _, machine in parts]
    return LoadMachineTotals(
        processors=did[0].processors,
        slices=len(did),
        transactions=sum(machine.transactions for machine in did),
        busy_ns=sum(machine.busy_ns for machine in did),
        elapsed_ns=sum(machine.end_ns - machine.start_ns for machine in did),
        driver_cpu_ns=sum(machine.driver_cpu_ns for machine in did),
        late=sum(machine.late_ns > LATE_SHARE * length_ns for length_ns, machine in parts),
    )


def arm_totals(arm: str, slot: int, lines: Iterable[SliceLine]) -> ArmTotals:
    """The totals of one arm from its measured slices of one epoch."""
    every = list(lines)
    measured = [line for line in every if not line.dropped]
    errors: Counter[str] = Counter()
    latencies: dict[str, list[str]] = {}
    for line in measured:
        errors.update(line.errors)
        for script in line.scripts:
            latencies.setdefault(script.name, []).append(script.latency)
    rows = [line.rows for line in measured]
    return ArmTotals(
        arm=arm,
        slot=slot,
        clients=max((line.clients for line in measured), default=0),
        transactions=sum(line.transactions for line in measured),
        busy_ns=sum(line.busy_with_debt_ns for line in measured),
        latency_sum_ns=sum(line.latency_sum_ns for line in measured),
        debt_ns=sum(line.debt_ns for line in measured),
        failed=sum(line.failed for line in measured),
        lost=sum(line.lost for line in measured),
        capped=sum(line.capped for line in measured),
        wrong_rows=sum(line.wrong_rows for line in measured),
        retries=sum(line.retries for line in measured),
        rows=None if None in rows else sum(row for row in rows if row is not None),
        dropped=len(every) - len(measured),
        elapsed_ns=sum(line.end_ns - line.start_ns for line in measured),
        driver_cpu_ns=sum(line.driver_cpu_ns for line in measured),
        driver_queue_share=_driver_queue_share(measured),
        uncharged_ns=sum(line.uncharged_ns for line in measured),
        late_starts=sum(line.late_starts for line in measured),
        lag_sum_ns=sum(line.lag_sum_ns for line in measured),
        lag_max_ns=max((line.lag_max_ns for line in measured), default=0),
        unstarted=sum(line.unstarted for line in measured),
        errors=dict(errors),
        slices=tuple(_slice_totals(line) for line in measured),
        latencies={name: histogram_merge(parts) for name, parts in latencies.items()},
        together=together_totals(measured),
        statements=_statements(measured),
    )


def epoch_totals(
    epoch: EpochLine, slices: Iterable[SliceLine], turns: Iterable[TurnLine] = ()
) -> EpochTotals:
    """One epoch from its line, its slices and its turns; warm-up slices are not readings."""
    by_arm: dict[str, list[SliceLine]] = {arm: [] for arm in epoch.slots}
    for line in slices:
        if line.kind == "measured":
            by_arm[line.arm].append(line)
    arms, windows = epoch.arms, epoch.windows
    return EpochTotals(
        epoch=epoch.epoch,
        slots=dict(epoch.slots),
        start_order=epoch.start_order,
        arms={arm: arm_totals(arm, epoch.slots[arm], lines) for arm, lines in by_arm.items()},
        outcome=epoch.outcome,
        readings={arm: _readings(line, windows.get(arm)) for arm, line in arms.items()},
        machine=_by_name(epoch.machine),
        transactions_all={arm: arm_line.all_transactions for arm, arm_line in arms.items()},
        work_per_minute={arm: _work(line, windows.get(arm)) for arm, line in arms.items()},
        probes={arm: arm_line.probes for arm, arm_line in arms.items()},
        transactions_measured={arm: arm_line.transactions for arm, arm_line in arms.items()},
        parts={
            arm: tuple(PartReadings(part.first_block, part.values) for part in arm_line.parts)
            for arm, arm_line in arms.items()
        },
        waits={
            arm: _samples(arm_line.waits)
            for arm, arm_line in arms.items()
            if arm_line.waits is not None
        },
        statements={
            arm: _counts(arm_line.statements)
            for arm, arm_line in arms.items()
            if arm_line.statements is not None
        },
        turns={turn.arm: turn_of(turn, by_arm[turn.arm]) for turn in turns}
        | {
            arm: window_turn(arm, epoch.start_order.index(arm), window, by_arm[arm])
            for arm, window in windows.items()
        },
    )


def epochs_of(
    slices: Iterable[SliceLine], epochs: Sequence[EpochLine], turns: Sequence[TurnLine] = ()
) -> list[EpochTotals]:
    """Every finished epoch of a record in order; slices of a torn epoch or turn are left unseen."""
    finished = {line.epoch: line for line in epochs}
    by_epoch: dict[int, list[SliceLine]] = {epoch: [] for epoch in finished}
    turns_by_epoch: dict[int, dict[str, TurnLine]] = {epoch: {} for epoch in finished}
    for (epoch, arm), turn in _turns_of(epochs, turns).items():
        turns_by_epoch[epoch][arm] = turn
    for line in measured_slices(slices, epochs, turns):
        by_epoch[line.epoch].append(line)
    return [
        epoch_totals(finished[epoch], by_epoch[epoch], turns_by_epoch[epoch].values())
        for epoch in sorted(finished)
    ]


def measured_slices(
    slices: Iterable[SliceLine], epochs: Sequence[EpochLine], turns: Iterable[TurnLine] = ()
) -> Iterator[SliceLine]:
    """The measured slices of finished epochs, by the attempt that finished them: that of the turn
    where the arm has one, since a turn of a torn epoch may be kept."""
    attempts = {epoch.epoch: epoch.attempt for epoch in epochs}
    of_turns = {key: turn.attempt for key, turn in _turns_of(epochs, turns).items()}
    for line in slices:
        finished = attempts.get(line.epoch)
        counts = of_turns.get((line.epoch, line.arm), finished)
        if line.kind == "measured" and finished is not None and line.attempt == counts:
            yield line


def _turns_of(
    epochs: Iterable[EpochLine], turns: Iterable[TurnLine]
) -> dict[tuple[int, str], TurnLine]:
    """(epoch, arm) → the turn that a finished epoch counts: the last of each arm whose checks its
    line holds. An arm that was lost has none, though a torn attempt may have left one."""
    counted = {(epoch.epoch, arm) for epoch in epochs for arm in epoch.violations}
    every = {(turn.epoch, turn.arm): turn for turn in turns}
    return {key: turn for key, turn in every.items() if key in counted}


def _driver_queue_share(lines: Sequence[SliceLine]) -> float | None:
    waited = [line.driver_queue_ns for line in lines]
    recorded = [ns for ns in waited if ns is not None]
    driven = sum(line.driver_threads_ns for line in lines)
    return sum(recorded) / driven if driven and len(recorded) == len(waited) else None


def _samples(line: WaitsLine) -> SessionSamples:
    parts: Counter[WaitPart] = Counter()
    behind = 0
    for wait in line.events:
        parts[wait.part] += wait.sessions
        if wait.part == "wal" and waits_for_another(wait.event):
            behind += wait.sessions
    return SessionSamples(
        samples=line.samples,
        sessions=line.sessions,
        by_part=dict(parts),
        behind_log=behind,
    )


def _counts(line: StatementsLine) -> StatementCounts:
    counts = (StatementCount(**count.model_dump()) for count in line.counts)
    return StatementCounts({count.text: count for count in counts}, missing=line.missing)


def _by_name(lines: Sequence[ReadingLine]) -> dict[str, Reading]:
    return {
        line.name: Reading(
            line.name, line.unit, line.value, line.missing, line.per_transaction, line.measured
        )
        for line in lines
    }


_OF_PROCESSES = frozenset(
    {SERVER_CPU, SESSION_CPU, SESSION_QUEUE, HELPER_CPU, CHECKPOINT_CPU}
    | {"read_bytes", "written_bytes", "requested_bytes", "memory_refaults", "memory_limit_hits"}
    | {"memory_oom_kills"}
)
"""Readings of an arm's processes and of their memory, at the borders of its slices."""
_TRANSACTIONS = "transactions"
"""What is counted beside a workload's own work, of the measured slices always."""


def _readings(line: ArmLine, window: WindowLine | None) -> dict[str, Reading]:
    """By name. Of an older window what was read of processes is of all slices of the epoch, and so
    is over all their transactions."""
    readings = _by_name(line.readings)
    if window is None or window.own_borders:
        return readings
    return readings | {
        name: replace(reading, measured=False)
        for name, reading in readings.items()
        if name in _OF_PROCESSES
    }


def _work(line: ArmLine, window: WindowLine | None) -> Mapping[str, float]:
    """A minute. Of an older window work was counted in all slices of the epoch and put on the
    measured ones alone: what a transaction did of it holds for these."""
    if window is None or window.own_borders or not line.all_transactions:
        return line.work_per_minute
    share = line.transactions / line.all_transactions
    return {
        name: rate if name == _TRANSACTIONS else rate * share
        for name, rate in line.work_per_minute.items()
    }


def _statements(lines: Iterable[SliceLine]) -> dict[str, tuple[int, int]]:
    statements: dict[str, tuple[int, int]] = {}
    for line in lines:
        for script in line.scripts:
            for timed in script.commands:
                name = f"{script.name}:{timed.line} {timed.text}"
                executions, sum_ns = statements.get(name, (0, 0))
                statements[name] = (executions + timed.executions, sum_ns + timed.sum_ns)
    return statements


def _slice_totals(line: SliceLine) -> SliceTotals:
    return SliceTotals(
        block=line.block,
        position=line.position,
        transactions=line.transactions,
        busy_ns=line.busy_with_debt_ns,
        latency_sum_ns=line.latency_sum_ns,
        failed=line.failed,
        script=line.script,
        excluded=line.excluded,
        visit=_visit(line),
    )


def _visit(line: SliceLine) -> RateVisit | None:
    if line.rate is None or line.within is None:
        return None
    return RateVisit(
        rate=line.rate,
        kept=line.within,
        begun=line.transactions + line.failed,
        late=line.late_starts,
        lag_ns=line.lag_sum_ns,
    )
