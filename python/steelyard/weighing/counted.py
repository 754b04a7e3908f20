"""Cuts epochs by executions, for work that can be done once: what a slice used up is gone.

The pilot of such a weighing has nothing to choose: neither how long a slice is nor how long to warm
up. It looks what a slice takes, and how the backends wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.looks import DEFAULT_S0
from steelyard.analysis.placement import choose_placement
from steelyard.readings.progress import Progress
from steelyard.readings.totals import slice_busy_ns
from steelyard.study.plan import Design
from steelyard.study.study import Counted, Study
from steelyard.weighing.choices import Choices
from steelyard.weighing.first_errors import require_work
from steelyard.weighing.load import Visit, lay_out
from steelyard.weighing.setup import Setup
from steelyard.weighing.stalls import find_stalls

Json = dict[str, Any]
PILOT = -2


def counted_visits(design: Design, epoch: int, study: Study) -> tuple[list[Visit], list[Visit]]:
    """The warm-up and the measured visits of an epoch, in blocks of every arm once.

    Where one client takes scripts in turn, one a visit, a visit knows its script.
    """
    counted = study.budget.counted
    assert counted is not None  # whoever asks has seen it
    streams = study.workload.streams
    alone = bool(streams) and study.workload.clients == 1 and counted.each == 1
    return lay_out(
        design,
        epoch,
        counted.warmup,
        counted.blocks,
        each=counted.each,
        scripts=streams[0] if alone else (),
    )


def pilot_counted(setup: Setup, counted: Counted, progress: Progress) -> Choices:
    """What one discarded epoch says; WeighingError: the workload cannot work."""
    study, design = setup.study, setup.design
    progress.stage("pilot: look what the work takes")
    first = "symmetric" if study.placement == "auto" else study.placement
    with (
        setup.standing(0, "restore") as standing,
        setup.connect(standing, first, design.script_seed(PILOT), find_stalls(study, None)) as load,
    ):
        watch = setup.laboratory.wal_flush_share(list(standing.values()))
        try:
            warm_up, measured = counted_visits(design, PILOT, study)
            lines = [{**line, "epoch": PILOT, "kind": "pilot"} for line in load.run(warm_up)]
            lines += [{**line, "epoch": PILOT, "kind": "pilot"} for line in load.run(measured)]
        finally:
            share = watch.stop()
        driver_io = load.io
    for line in lines:
        setup.record.append("slices.jsonl", line)
    require_work(lines)
    done = sum(line["transactions"] for line in lines)
    placement, placement_why = (
        choose_placement(share) if study.placement == "auto" else (first, "the study says so")
    )
    visit_ns = _mean_visit_ns(lines)
    control_ns = _per_transaction_ns([x for x in lines if x["arm"] == design.arms[0]])
    return Choices(
        cost=setup.cost,
        cost_why=setup.cost_why,
        slice_ns=visit_ns,
        slice_why=f"{counted.each} executions of each client: the study says so",
        visit_ns=visit_ns,
        placement=placement,
        placement_why=placement_why,
        warmup_ns=counted.warmup * len(design.arms) * visit_ns,
        upkeep="restore",
        upkeep_why="what an epoch used up is put back",
        s0=DEFAULT_S0,
        stalls=find_stalls(study, control_ns),
        pilot={
            "settled": True,
            "wal_flush_share": share,
            "latency_mean_ns": sum(line["latency_sum_ns"] for line in lines) / done,
            "control_ns": control_ns,
            "driver_io": driver_io,
            "trials": [],
        },
    )


def _mean_visit_ns(lines: Sequence[Json]) -> int:
    taken = [int(line["end_ns"] - line["start_ns"] + line["debt_ns"]) for line in lines]
    return max(1, sum(taken) // len(taken))


def _per_transaction_ns(lines: Sequence[Json]) -> float:
    done = sum(line["transactions"] for line in lines)
    return sum(slice_busy_ns(line) for line in lines) / done if done else 0.0
