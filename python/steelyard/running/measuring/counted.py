"""Cuts epochs by executions, for work that can be done once: what a slice used up is gone.

The pilot of such a weighing has nothing to choose: neither how long a slice is nor how long to warm
up. It measures how long a slice takes, and what the backends wait for.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.record.plan import Choices, PilotFigures, Upkeep
from steelyard.record.reader import SLICES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.driving import require_answers, require_work
from steelyard.running.measuring.load import SlicePlace, Visit, lay_out
from steelyard.running.measuring.observation import WaitSampling
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.budget import FixedCount
from steelyard.study.design import Design
from steelyard.study.study import Study

PILOT = -2


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
    return setup.choices(
        slice_ns=Reasoned(visit_ns, why),
        placement=setup.place(share),
        upkeep=_upkeep(study),
        visit_ns=visit_ns,
        warmup_ns=counted_blocks(study, counted)[0] * len(design.arms) * visit_ns,
        epochs=design.epochs,
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
