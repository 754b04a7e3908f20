"""Cuts epochs by executions: for work that can be done once, since what a slice used up is gone;
and where the pilot sees that executions are too slow for slices by time.

The pilot of work that can be done once has nothing to choose: neither how long a slice is nor how
long to warm up. It measures how long a slice takes, and what the backends wait for.

Of slow work the first blocks of the pilot's load show it. Then single executions are timed on a
fresh start, by as many clients as are to drive them, and slices, warm-up and epochs are worked out
from that.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.analysis.pilot.slice_length import (
    CountedCut,
    cut_by_count,
    longest_timed_ns,
    too_slow,
)
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import Choices, CountedChoice, PilotFigures, Upkeep
from steelyard.record.reader import SLICES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.driving import drive_pilot, require_answers, require_work
from steelyard.running.measuring.load import SlicePlace, Visit, lay_out
from steelyard.running.measuring.load_watch import typical_ns
from steelyard.running.measuring.observation import WaitSampling
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.budget import FixedCount
from steelyard.study.design import FEWEST_EPOCHS, Design, counted_epochs
from steelyard.study.study import Study

PILOT = -2
TIMED_PILOT = -3
"""Number of the discarded epoch in which single executions are timed."""
LEAST_TIMED = 3
MOST_TIMED = 12
LONG_ENOUGH_NS = 20 * NS_PER_S
"""Blocks that are timed: so many at least, so many at most, and no more after this time."""
SURELY_SLOW_NS = NS_PER_S
DOUBTFUL_BLOCKS = 3
"""The first executions after a start are cold: one block that is too slow decides alone only where
a slice of it took as long as SURELY_SLOW_NS; else so many of them in a row do."""


def counted_visits(design: Design, epoch: int, study: Study) -> tuple[list[Visit], list[Visit]]:
    """The warm-up and the measured visits of an epoch, in blocks of every arm once.

    Where one client takes scripts in turn, one a visit, a visit has its script.
    """
    counted = study.budget.counted
    assert counted is not None  # callers check this first
    warmup, blocks = counted_blocks(study, counted)
    return lay_out(
        design,
        epoch,
        warmup,
        blocks,
        each=counted.each,
        scripts=_one_by_one(study, counted),
        excluded=study.workload.excluded,
    )


def counted_blocks(study: Study, counted: FixedCount) -> tuple[int, int]:
    """Warm-up and measured blocks of an epoch. Where scripts are taken one by one the study counts
    queries: every pass through the stream has a block more for each excluded script."""
    stream = _one_by_one(study, counted)
    if not stream:
        return counted.warmup, counted.blocks
    queries = _queries(stream, study)
    return counted.warmup // queries * len(stream), counted.blocks // queries * len(stream)


def require_whole_passes(study: Study) -> None:
    """StudyError where an epoch would end within a stream: some queries would weigh more."""
    counted = study.budget.counted
    stream = _one_by_one(study, counted) if counted is not None else ()
    if counted is None or not stream:
        return
    queries = _queries(stream, study)
    if not queries:
        raise StudyError("workload.excluded: no script of the stream is left to be weighed")
    for key, blocks in (("warmup", counted.warmup), ("blocks", counted.blocks)):
        if blocks % queries:
            raise StudyError(
                f"budget.counted.{key}: {blocks} blocks end within a stream of {queries} queries",
                detail="Some queries would then be done more often than others.",
                hint=f"--set budget.counted.{key}={-(-blocks // queries) * queries}",
            )


def _one_by_one(study: Study, counted: FixedCount) -> tuple[str, ...]:
    """The scripts that the only client takes in turn, where each is a slice; else none."""
    streams = study.workload.streams
    alone = bool(streams) and study.workload.clients == 1 and counted.each == 1
    return streams[0] if alone else ()


def _queries(stream: Sequence[str], study: Study) -> int:
    return sum(script not in study.workload.excluded for script in stream)


def pilot_counted(setup: Setup, counted: FixedCount, progress: Progress) -> Choices:
    """What one discarded epoch shows; WeighingError: the workload cannot work."""
    study, design = setup.study, setup.design
    progress.stage("pilot: look what the work takes")
    first, seed = setup.first_placement, design.script_seed(PILOT)
    with (
        setup.started_arms(0, "restore") as instances,
        setup.connect(instances, first, seed, find_stalls(study, None)) as load,
    ):
        watch = WaitSampling(list(instances.values()))
        try:
            warm_up, measured = counted_visits(design, PILOT, study)
            place = SlicePlace(PILOT)
            with setup.phase("pilot"):
                lines = [*load.run(warm_up, place), *load.run(measured, place)]
            lines = [line.model_copy(update={"kind": "pilot"}) for line in lines]
        finally:
            share = watch.stop()
        driver_io = load.io
    for line in lines:
        setup.record.append(SLICES, line.to_json())
    require_work(lines)
    require_answers(lines)
    done = sum(line.transactions for line in lines)
    visit_ns = _mean_visit_ns(lines)
    control_ns = _per_transaction_ns([x for x in lines if x.arm == design.arms[0]])
    why = f"{counted.each} executions of each client: the study says so"
    warmup, blocks = counted_blocks(study, counted)
    epoch_ns = blocks * len(design.arms) * visit_ns
    epochs = counted_epochs(design, study, epoch_ns)
    for note in budget_notes(study, epochs, epochs * epoch_ns):
        progress.note(note)
    return setup.choices(
        slice_ns=Reasoned(visit_ns, why),
        placement=setup.place(share),
        upkeep=_upkeep(study),
        visit_ns=visit_ns,
        warmup_ns=warmup * len(design.arms) * visit_ns,
        epochs=epochs,
        s0=DEFAULT_S0,
        stalls=find_stalls(study, control_ns),
        pilot=PilotFigures(
            settled=True,
            wal_flush_share=share,
            latency_mean_ns=sum(line.latency_sum_ns for line in lines) / done,
            control_ns=control_ns,
            driver_io=driver_io,
            trials=(),
        ),
    )


def budget_notes(study: Study, epochs: int, load_ns: int) -> Iterator[str]:
    """One note where epochs of executions take more than the budget, or less than half of it."""
    budget_ns = study.budget.measuring
    if budget_ns // 2 <= load_ns <= budget_ns:
        return
    if study.budget.epochs is not None:
        why = "budget.epochs says how many there are"
    elif load_ns > budget_ns:
        why = "there are no fewer unless budget.epochs says so"
    else:
        why = f"a budget of that length has no more; more: --set budget.epochs={2 * epochs}"
    yield (
        f"{epochs} epochs of executions take about {format_duration(load_ns)} under load, where "
        f"the budget is {format_duration(budget_ns)}: {why}"
    )


def _upkeep(study: Study) -> Reasoned[Upkeep]:
    if study.is_external:
        return Reasoned("exchange" if study.uses_own_databases else "reconnect", "")
    return Reasoned("restore", "what an epoch used up is put back")


def _mean_visit_ns(lines: Sequence[SliceLine]) -> int:
    times_ns = [line.end_ns - line.start_ns + line.debt_ns for line in lines]
    return max(1, sum(times_ns) // len(times_ns))


def _per_transaction_ns(lines: Sequence[SliceLine]) -> float:
    done = sum(line.transactions for line in lines)
    return sum(line.busy_with_debt_ns for line in lines) / done if done else 0.0


class SlowExecutionsError(Exception):
    """Ends the watch of a load whose executions are too slow for slices by time."""


class SlowWatch:
    """Checks in the first blocks of a load by time whether its executions are too slow for that."""

    def __init__(self, study: Study) -> None:
        self._longest_ns = longest_slice_ns(study)
        self._blocks = 0

    def note(self, block: Sequence[SliceLine]) -> None:
        """One more block; SlowExecutionsError where executions are too slow."""
        if self._blocks >= DOUBTFUL_BLOCKS:
            return
        if not any(is_slow(line, self._longest_ns) for line in block):
            self._blocks = DOUBTFUL_BLOCKS
            return
        self._blocks += 1
        longest_ns = max(line.end_ns - line.start_ns for line in block)
        if longest_ns >= SURELY_SLOW_NS or self._blocks == DOUBTFUL_BLOCKS:
            raise SlowExecutionsError


def longest_slice_ns(study: Study) -> int:
    """The longest slice by time that the budget of a study allows."""
    return longest_timed_ns(study.budget.measuring, study.budget.epochs or FEWEST_EPOCHS)


def is_slow(line: SliceLine, longest_ns: int) -> bool:
    """Whether the executions of a slice are too slow for slices by time. Of those that failed
    nothing is known; one that had to be cancelled is slow."""
    if not line.transactions:
        return line.capped > 0
    per_second = line.transactions * line.clients / max(1, line.busy_ns) * NS_PER_S
    return too_slow(line.latency_sum_ns / line.transactions, per_second, longest_ns)


def pilot_slow(setup: Setup, progress: Progress) -> Choices | None:
    """Slices by executions as timed on a fresh start; None where they are fast once warm. What
    keeping the files equal costs is not looked at. WeighingError: the workload cannot work."""
    study = setup.study
    clients = study.workload.clients_when_slow or study.workload.clients
    trial = setup.by_count(CountedChoice(each=1, warmup=0, blocks=MOST_TIMED, clients=clients))
    progress.stage("pilot: time single executions")
    seed, stalls = setup.design.script_seed(TIMED_PILOT), find_stalls(study, None)
    with (
        trial.started_arms(0, "restore") as instances,
        trial.connect(instances, setup.first_placement, seed, stalls) as load,
    ):
        waits = WaitSampling(list(instances.values()))
        lines: list[SliceLine] = []
        try:
            for block in range(MOST_TIMED):
                visits = _block(trial, block)
                lines += drive_pilot(trial, load, visits, SlicePlace(TIMED_PILOT, run=1))
                taken_ns = sum(map(_visit_ns, lines))
                if block + 1 >= LEAST_TIMED and taken_ns >= LONG_ENOUGH_NS:
                    break
        finally:
            share = waits.stop()
        driver_io = load.io
    require_work(lines)
    require_answers(lines)
    if not any(_stays_slow(lines, arm, longest_slice_ns(study)) for arm in setup.design.arms):
        return None
    times = {
        arm: [float(_visit_ns(line)) for line in lines if line.arm == arm]
        for arm in setup.design.arms
    }
    fixed = study.budget.epochs
    between = (FEWEST_EPOCHS, setup.design.epochs) if fixed is None else (fixed, fixed)
    cut = cut_by_count(times, study.budget.measuring, between, setup.cost.value)
    chosen = _choices(trial, cut, lines, share, driver_io)
    progress.note(chosen.slice_why + _whole(chosen, len(setup.design.arms)))
    return chosen


def _stays_slow(lines: Sequence[SliceLine], arm: str, longest_ns: int) -> bool:
    """Whether most executions of an arm are too slow once the first half of them is done."""
    arm_lines = [line for line in lines if line.arm == arm]
    warm = arm_lines[len(arm_lines) // 2 :]
    return 2 * sum(is_slow(line, longest_ns) for line in warm) > len(warm)


def _block(trial: Setup, block: int) -> list[Visit]:
    """Every arm once, as drawn."""
    order = trial.design.blocks(TIMED_PILOT, block + 1)[block]
    arms = trial.design.arms
    return [
        Visit(arms[arm], None, "pilot", block, position, each=1)
        for position, arm in enumerate(order)
    ]


def _choices(
    trial: Setup, cut: CountedCut, lines: Sequence[SliceLine], share: float, driver_io: str
) -> Choices:
    study, arms = trial.study, trial.design.arms
    later = lines[len(lines) // 2 :]
    visit_ns = cut.each * round(statistics.fmean(map(_visit_ns, later)))
    done = sum(line.transactions for line in lines)
    latency_ns = sum(line.latency_sum_ns for line in lines) / done
    clients = study.workload.clients
    control_ns = typical_ns(later, arms[0])
    number = "1 execution" if cut.each == 1 else f"{cut.each} executions"
    whose = "" if clients == 1 else f" of each of {clients} clients"
    why = (
        f"an execution takes about {format_duration(round(latency_ns))}, too long for slices by "
        f"time: a slice is {number}{whose}"
    )
    return trial.choices(
        slice_ns=Reasoned(visit_ns, why),
        placement=trial.place(share),
        upkeep=Reasoned("restore", ""),
        visit_ns=visit_ns,
        warmup_ns=cut.warmup * len(arms) * visit_ns,
        epochs=cut.epochs,
        s0=DEFAULT_S0,
        stalls=find_stalls(study, control_ns),
        counted=CountedChoice(each=cut.each, warmup=cut.warmup, blocks=cut.blocks, clients=clients),
        pilot=PilotFigures(
            settled=cut.level,
            wal_flush_share=share,
            latency_mean_ns=latency_ns,
            control_ns=control_ns,
            driver_io=driver_io,
        ),
    )


def _whole(chosen: Choices, arms: int) -> str:
    """What all of it takes under load."""
    assert chosen.counted is not None
    blocks = chosen.counted.warmup + chosen.counted.blocks
    load_ns = chosen.epochs * blocks * arms * chosen.visit_ns
    return f"; about {format_duration(load_ns)} under load, warm-ups included"


def _visit_ns(line: SliceLine) -> int:
    """A slice, with what its arm then paid or left."""
    return line.end_ns - line.start_ns + max(line.debt_ns, line.left_ns)
