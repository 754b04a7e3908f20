"""Looks at every arm alone for some seconds, and chooses how turns are laid out.

What it looks for: how much log an arm writes a second, since with its settings that says how far
apart its checkpoints are; whether its sessions wait for the disk; and what a turn takes beside its
load. Nothing of it enters an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from steelyard.analysis.pilot.batch_means import choose_placement
from steelyard.analysis.pilot.turn_lengths import (
    FEWEST_EPOCHS,
    ArmCycle,
    Shortage,
    TurnLengths,
    Wish,
    choose_lengths,
)
from steelyard.engines.engine import Cycle, CycleSettings, Settings
from steelyard.model.errors import EngineError, StudyError
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import Choices, PilotFigures, TurnChoices, Upkeep
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.driving import drive_pilot
from steelyard.running.measuring.first_errors import require_work
from steelyard.running.measuring.load import Place, Visit
from steelyard.running.measuring.observation import WaitSampling, settings_of
from steelyard.running.preparing.setup import Setup
from steelyard.running.progress import Progress
from steelyard.running.turns.turn import watch_checkpoints
from steelyard.study.study import Study

PILOT = -2
PILOT_SECONDS = 15
SECOND_NS = NS_PER_S
LATENCIES_A_SLICE = 20
WARM_UP_S = 25.0
"""What a warm-up is expected to take: MSER-5 needs 20 seconds."""
WARM_UP_CAP_S = 60.0
TURN_S0 = 0.03
"""Scatter of log ratios to be expected between turns, which lie minutes apart: 2 to 6 % seen."""
RESTORE_SHARE = 0.2
"""Of a turn, that putting the files back may take."""


@dataclass(frozen=True)
class _Looked:
    """What the pilot saw of one arm."""

    lines: tuple[SliceLine, ...]
    wal_bytes_per_s: float
    cycle: Cycle
    settings: Settings  # as the server reports them
    wal_flush_share: float
    idle_ns: int  # of the look, without load
    driver_io: str


def pilot_turns(setup: Setup, progress: Progress) -> Choices:
    """The choices for a weighing in turns. StudyError: the budget does not hold 8 epochs;
    WeighingError: an arm cannot start or do work."""
    study, design = setup.study, setup.design
    progress.stage("pilot: every arm alone")
    asked = study.placement
    first = "symmetric" if asked == "auto" else asked
    looked: dict[str, _Looked] = {}
    clock = setup.laboratory.clock
    began_ns = clock.now_ns()
    with setup.laid_arms(0, "restore"):
        lay_ns = clock.now_ns() - began_ns
        for arm in design.arms:
            looked[arm] = _look(setup, arm, first)
    share = sum(one.wal_flush_share for one in looked.values()) / len(looked)
    placement, why = choose_placement(share) if asked == "auto" else (asked, "the study says so")
    lengths = _lengths(setup, looked)
    upkeep, upkeep_why = _upkeep(setup, lay_ns, lengths.turn_s)
    control = looked[design.arms[0]]
    control_ns = _per_transaction_ns(control)
    every = [line for one in looked.values() for line in one.lines]
    done = sum(line.transactions for line in every)
    latency_ns = sum(line.latency_sum_ns for line in every) / done
    slice_ns = max(SECOND_NS, round(LATENCIES_A_SLICE * latency_ns))
    busy_s = sum(line.busy_ns / line.clients for line in every) / NS_PER_S
    turns = _turn_choices(setup, looked, lengths)
    _tell(setup, turns, lengths, progress)
    return Choices(
        cost=setup.cost,
        cost_why=setup.cost_why,
        slice_ns=slice_ns,
        slice_why="a turn is driven and read second by second",
        visit_ns=slice_ns,
        placement=placement,
        placement_why=why,
        warmup_ns=turns.warmup_cap_ns,
        epochs=lengths.epochs,
        upkeep=upkeep,
        upkeep_why=upkeep_why,
        s0=TURN_S0,
        stalls=find_stalls(study, control_ns),
        pilot=PilotFigures(
            settled=True,
            wal_flush_share=share,
            latency_mean_ns=latency_ns,
            control_ns=control_ns,
            transactions_per_second=done / busy_s if busy_s else None,
            driver_io=control.driver_io,
        ),
        turns=turns,
    )


def cycle_engine(setup: Setup, arm: str) -> CycleSettings:
    """The engine of an arm, which must know what spaces checkpoints."""
    engine = setup.own_slots.arms[arm].engine
    if not isinstance(engine, CycleSettings):
        raise EngineError(
            f'engine "{engine.identity.kind}" does not say what spaces its checkpoints',
            hint="Weigh with --set layout=slices.",
        )
    return engine


def _look(setup: Setup, arm: str, placement: str) -> _Looked:
    """An arm alone under load for some seconds."""
    clock, study, slots = setup.laboratory.clock, setup.study, setup.own_slots
    engine, design = cycle_engine(setup, arm), setup.design
    began_ns = clock.now_ns()
    instance = slots.start_arm(arm, slots.slot(design.slots_of(0)[arm]), engine.tell_checkpoints)
    with setup.phase("start"):
        setup.data.before_clients(instance)
    settings = settings_of(instance)
    stalls = find_stalls(study, None)
    with (
        setup.connect({arm: instance}, placement, design.script_seed(PILOT), stalls) as load,
        closing(watch_checkpoints(instance, clock.now_ns)) as checkpoints,
    ):
        watch = WaitSampling([instance])
        try:
            before, loaded_ns = checkpoints.pulse(), clock.now_ns()
            visits = [Visit(arm, SECOND_NS, "pilot", n, 0) for n in range(PILOT_SECONDS)]
            with setup.phase("pilot"):
                lines = tuple(drive_pilot(setup, load, visits, Place(PILOT, run=1)))
            after, took_ns = checkpoints.pulse(), clock.now_ns() - loaded_ns
        finally:
            share = watch.stop()
        driver_io = load.io
    require_work(lines)
    slots.stop_arms()
    written = 0.0 if before is None or after is None else after.wal_bytes - before.wal_bytes
    return _Looked(
        lines=lines,
        wal_bytes_per_s=written / (took_ns / NS_PER_S) if took_ns else 0.0,
        cycle=engine.cycle(settings),
        settings=settings,
        wal_flush_share=share,
        idle_ns=clock.now_ns() - began_ns - took_ns,
        driver_io=driver_io,
    )


def _lengths(setup: Setup, looked: Mapping[str, _Looked]) -> TurnLengths:
    study = setup.study
    arms = [
        ArmCycle(
            timeout_s=one.cycle.timeout_ns / NS_PER_S,
            wal_bytes=one.cycle.wal_bytes,
            largest_scale=one.cycle.largest_scale,
            wal_bytes_per_s=one.wal_bytes_per_s if setup.writes else 0.0,
        )
        for one in looked.values()
    ]
    idle_s = max(one.idle_ns for one in looked.values()) / NS_PER_S
    found = choose_lengths(arms, _wish(study), idle_s=idle_s, warm_s=WARM_UP_S)
    if isinstance(found, Shortage):
        raise too_short(study, found.needed_s)
    return found


def _wish(study: Study) -> Wish:
    turns, budget = study.turns, study.budget
    return Wish(
        budget_s=budget.turns / NS_PER_S,
        cycles=turns.cycles,
        stated_s=None if turns.measured is None else turns.measured / NS_PER_S,
        scale=turns.time_scale,
        epochs=budget.epochs,
    )


def too_short(study: Study, needed_s: float, *, least: bool = False) -> StudyError:
    """The budget does not hold 8 epochs in turns; `least`: nothing is known of the arms yet."""
    epochs = study.budget.epochs or FEWEST_EPOCHS
    minutes = math.ceil(needed_s / 60)
    needed = format_duration(minutes * 60 * NS_PER_S)
    about = "at least " if least else "about "
    return StudyError(
        f"the budget is too short for {epochs} epochs in turns: "
        f"{format_duration(study.budget.turns)} where they take {about}{needed}",
        detail="The work writes, and an arm differs in what acts through checkpoints: each arm is "
        "measured alone over whole checkpoint cycles.",
        hint=f"Weigh with --budget {minutes}m, or insist on slices, which say what "
        "happens right after a checkpoint: --set layout=slices.",
    )


def _turn_choices(setup: Setup, looked: Mapping[str, _Looked], lengths: TurnLengths) -> TurnChoices:
    study, scale = setup.study, lengths.scale
    settings = {}
    for arm, one in looked.items():
        engine = cycle_engine(setup, arm)
        spaced = engine.scaled(one.settings, scale) if scale > 1 else {}
        settings[arm] = {**engine.tell_checkpoints, **spaced}
    if study.turns.time_scale is not None:
        why = "the study says so"
    elif scale == 1:
        why = "the budget holds it"
    else:
        why = "the smallest with which the budget holds enough epochs"
    return TurnChoices(
        time_scale=scale,
        time_scale_why=why,
        cycles=study.turns.cycles,
        stated_ns=study.turns.measured,
        warmup_cap_ns=round(WARM_UP_CAP_S * NS_PER_S),
        wait_ns=round(lengths.wait_s * NS_PER_S),
        longest_ns=round(lengths.longest_s * NS_PER_S),
        turn_ns=round(lengths.mean_turn_s * NS_PER_S),
        settings=settings,
        cycle_seconds={
            arm: round(seconds, 1)
            for arm, seconds in zip(looked, lengths.cycles_s, strict=True)
            if math.isfinite(seconds)
        },
    )


def _upkeep(setup: Setup, lay_ns: int, turn_s: float) -> tuple[Upkeep, str]:
    """How the files are kept equal from epoch to epoch, by what laying them took in the pilot."""
    took = format_duration(lay_ns)
    if lay_ns <= RESTORE_SHARE * turn_s * NS_PER_S:
        return "restore", f"putting the files back takes {took} an epoch"
    if setup.own_slots.exchangeable():
        return "exchange", f"putting the files back takes {took}; any arm may use any copy"
    return "carry", f"putting the files back takes {took}, more than a fifth of a turn"


def _per_transaction_ns(one: _Looked) -> float:
    done = sum(line.transactions for line in one.lines)
    return sum(line.busy_ns for line in one.lines) / done if done else 0.0


def _tell(setup: Setup, turns: TurnChoices, lengths: TurnLengths, progress: Progress) -> None:
    """What it will cost, before it starts."""
    scale = "" if turns.time_scale == 1 else f", checkpoints {turns.time_scale:g} times as near"
    progress.note(
        f"layout: turns ({setup.layout_why}); {lengths.epochs} epochs of "
        f"{len(setup.design.arms)} turns of about {format_duration(turns.turn_ns)}{scale}: "
        f"about {format_duration(round(lengths.total_s * NS_PER_S))} in all"
    )
