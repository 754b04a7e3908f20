"""Looks at every arm alone for some time, and chooses how turns are laid out.

What it looks for: how much log an arm writes by the time since its start, since with its settings
that says how far apart its checkpoints are; whether its sessions wait for the disk; and what a turn
takes beside its load. Nothing of it enters an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from steelyard.analysis.pilot.cycle_lengths import CycleLengths
from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import (
    FEWEST_EPOCHS,
    ArmCycle,
    EpochLengths,
    Shortage,
    Spacing,
    TurnLengths,
    TurnPlanRequest,
    choose_lengths,
    longest_solo_run_s,
)
from steelyard.engines.capabilities.checkpoints import CycleSettings
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import Choices, PilotFigures, TurnChoices, TurnLimits
from steelyard.record.turns.turn_summary import scaled_words
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.apart import require_apart
from steelyard.running.turns.solo_run import SECOND_NS, SoloRun, cycle_engine, drive_alone
from steelyard.study.budget import BUDGETS
from steelyard.study.study import Study

LATENCIES_A_SLICE = 20
FEWEST_IN_A_TURN = 20
"""Transactions of each client: of fewer, the one that is cut off at the end is no small part."""
WARM_UP_S = 25.0
"""What a warm-up is expected to take, of own time in cycles, where arms were not seen to be level
sooner: MSER-5 needs 20 seconds."""
WARM_UP_CAP_S = 60.0
TURN_S0 = 0.03
"""Scatter of log ratios to be expected between turns, which lie minutes apart: 2 to 6 % seen."""
ROUNDED_SHARE = 0.03
"""By so much a factor may be another than the time scale and is still called by it."""
RESTORE_SHARE = 0.2
"""Of a turn, that putting the files back may take."""


@dataclass(frozen=True)
class PilotRuns:
    """What a pilot saw of every arm alone, and what putting all files back takes."""

    arms: Mapping[str, SoloRun]
    lay_ns: int


def run_arms_alone(setup: Setup, budget_ns: int, progress: Progress) -> PilotRuns:
    """Every arm alone for as long as any cycle that the budget can hold. WeighingError: an arm
    cannot start or do work."""
    study, design = setup.study, setup.design
    progress.stage("pilot: every arm alone")
    most_s = longest_solo_run_s(wish_of(study, budget_ns), len(design.arms))
    with setup.laid_arms(0, "restore"):
        runs = {arm: drive_alone(setup, arm, setup.first_placement, most_s) for arm in design.arms}
    return PilotRuns(runs, laying_ns(setup, progress))


def pilot_turns(setup: Setup, progress: Progress) -> Choices:
    """The choices for a weighing in turns. StudyError: the budget does not hold 8 epochs;
    WeighingError: an arm cannot start or do work."""
    return choose_turns(setup, run_arms_alone(setup, setup.study.budget.turns, progress), progress)


def choose_turns(setup: Setup, pilot: PilotRuns, progress: Progress) -> Choices:
    """The choices for a weighing in turns, by what a pilot saw. StudyError: the budget does not
    hold 8 epochs."""
    study, design, runs, lay_ns = setup.study, setup.design, pilot.arms, pilot.lay_ns
    share = wal_flush_share(runs)
    lengths = _lengths(setup, runs, lay_ns=0)
    worth_ns = RESTORE_SHARE * lengths.turn_s * NS_PER_S
    upkeep = setup.file_upkeep(lay_ns, worth_ns, "a fifth of a turn")
    if upkeep.value == "restore":
        lengths = _lengths(setup, runs, lay_ns=lay_ns)
    control = runs[design.arms[0]]
    control_ns = per_transaction_ns(control)
    every = [line for run in runs.values() for line in run.lines]
    done = sum(line.transactions for line in every)
    latency_ns = sum(line.latency_sum_ns for line in every) / done
    slice_ns = max(SECOND_NS, round(LATENCIES_A_SLICE * latency_ns))
    busy_s = sum(line.busy_ns / line.clients for line in every) / NS_PER_S
    turns = _turn_choices(setup, runs, lengths)
    _require_many(study, turns, max(per_transaction_ns(run) for run in runs.values()))
    require_apart(setup, {arm: run.settings for arm, run in runs.items()}, turns, progress)
    _tell(setup, pilot, turns, lengths, progress)
    return setup.choices(
        slice_ns=Reasoned(slice_ns, "a turn is driven and read second by second"),
        placement=setup.place(share),
        upkeep=upkeep,
        visit_ns=slice_ns,
        warmup_ns=turns.warmup_cap_ns,
        epochs=lengths.epochs,
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


def wal_flush_share(runs: Mapping[str, SoloRun]) -> float:
    """The share of sessions that waited for the log to reach the disk, 0 … 1."""
    return sum(run.wal_flush_share for run in runs.values()) / len(runs)


def require_scale(study: Study, largest: Mapping[str, float]) -> None:
    """StudyError for a time scale that an arm's server cannot be brought to, so that the factor in
    the sentence of the verdict is the one that was set. `largest`: arm → the largest that it can.
    """
    time_scale = study.turns.time_scale
    arm = min(largest, key=lambda name: largest[name])
    if time_scale is not None and time_scale > largest[arm]:
        most = math.floor(100 * largest[arm]) / 100
        raise StudyError(
            f"turns.time_scale = {time_scale:g} is more than the settings allow: {most:g} at most",
            detail=f'The checkpoints of arm "{arm}" cannot be brought nearer than that: its server '
            "has a least time and a least amount of log between two.",
            hint=f"--set turns.time_scale={most:g}, or leave it out: the budget decides.",
        )


def _lengths(setup: Setup, runs: Mapping[str, SoloRun], *, lay_ns: int) -> TurnLengths:
    """What the budget holds; `lay_ns`: putting the files of all arms back, in each epoch."""
    study = setup.study
    arms = list(_cycles(setup, runs).values())
    idle_ns = max(run.idle_ns for run in runs.values()) + lay_ns / len(runs)
    lengths = choose_lengths(
        arms, wish_of(study, study.budget.turns), idle_s=idle_ns / NS_PER_S, warm_s=WARM_UP_S
    )
    if isinstance(lengths, Shortage):
        raise too_short(study, lengths.needed_s)
    return lengths


def _cycles(setup: Setup, runs: Mapping[str, SoloRun]) -> dict[str, ArmCycle]:
    """Arm → what spaces its checkpoints."""
    return {
        arm: ArmCycle(
            spacing=_spacing(cycle_engine(setup, arm), run),
            largest_scale=run.cycle.largest_scale,
            log=run.log if setup.writes else LogCurve((), ()),
            seen_s=run.cycle_s,
            continuous=run.cycle.continuous,
        )
        for arm, run in runs.items()
    }


def _spacing(engine: CycleSettings, run: SoloRun) -> Callable[[float], Spacing]:
    def at(scale: float) -> Spacing:
        cycle = run.cycle if scale == 1 else engine.scaled(run.settings, scale).cycle
        return Spacing(cycle.timeout_ns / NS_PER_S, cycle.wal_bytes)

    return at


def wish_of(study: Study, budget_ns: int) -> TurnPlanRequest:
    """What a study asks of whole checkpoint cycles within a budget."""
    turns = study.turns
    return TurnPlanRequest(
        budget_s=budget_ns / NS_PER_S,
        cycles=turns.cycles,
        stated_s=None if turns.measured is None else turns.measured / NS_PER_S,
        scale=turns.time_scale,
        epochs=study.budget.epochs,
        slice_s=None if study.budget.slice is None else study.budget.slice / NS_PER_S,
    )


def cost_words(study: Study) -> str:
    """What a weighing in turns takes at most, before anything is loaded."""
    solo_run_s = longest_solo_run_s(wish_of(study, study.budget.turns), len(study.every_arm))
    return (
        f"in turns, for {format_duration(study.budget.turns)} at most; before them data is loaded "
        "where it was not, and each arm watched alone for up to "
        f"{format_duration(round(solo_run_s * NS_PER_S))}"
    )


def idle_length_notes(study: Study, layout: str) -> Iterator[str]:
    """One note of each length that a study gives to layouts other than its own, and not to that."""
    for key in study.budget.lengths_elsewhere(layout):
        length = format_duration(getattr(study.budget, key))
        yield (
            f"budget.{key} = {length} is of {BUDGETS[key]}, and this is weighed in {layout}, for "
            f"{format_duration(study.budget.length_ns(layout))}: --budget says how long for each"
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
        detail=f"Each arm is measured alone over whole checkpoint cycles: {why_whole(study)}.",
        hint=f"Weigh with --budget {minutes}m, or insist on slices, which say what "
        "happens right after a checkpoint: --set layout=slices.",
    )


def why_whole(study: Study) -> str:
    """Why checkpoint cycles are measured, as a clause."""
    if study.layout != "auto":
        return "the study says so"
    return "the work writes, and an arm differs in what acts through them"


def limits_by_arm(
    arms: Iterable[str], lengths: TurnLengths | CycleLengths
) -> dict[str, TurnLimits]:
    """Arm → how long its parts take, of lengths that were chosen."""
    parts_s = zip(
        arms, lengths.begins_s, lengths.waits_s, lengths.least_s, lengths.longest_s, strict=True
    )
    return {
        arm: TurnLimits(
            begin_ns=round(begin_s * NS_PER_S),
            wait_ns=round(wait_s * NS_PER_S),
            least_ns=round(least_s * NS_PER_S),
            longest_ns=round(longest_s * NS_PER_S),
        )
        for arm, begin_s, wait_s, least_s, longest_s in parts_s
    }


def is_continuous(runs: Mapping[str, SoloRun]) -> bool:
    """Whether no begin of a checkpoint is to be seen: windows are cut by time alone."""
    return any(run.cycle.continuous for run in runs.values())


def stated_ns(
    study: Study, runs: Mapping[str, SoloRun], lengths: TurnLengths | CycleLengths
) -> int | None:
    """The measured part of every arm where checkpoints do not end it: as the study has it, or
    whole turns of the log; None: they do."""
    if study.turns.measured is None and is_continuous(runs):
        return round(max(lengths.longest_s) * NS_PER_S)
    return study.turns.measured


def scale_reason(study: Study, scale: float) -> str:
    """Why checkpoints are so many times as near."""
    if study.turns.time_scale is not None:
        return "the study says so"
    if scale == 1:
        return "the budget holds it"
    return "the smallest with which the budget holds enough epochs"


def _turn_choices(setup: Setup, runs: Mapping[str, SoloRun], lengths: TurnLengths) -> TurnChoices:
    study, scale = setup.study, lengths.scale
    limits = limits_by_arm(runs, lengths)
    settings = {}
    for arm, run in runs.items():
        engine = cycle_engine(setup, arm)
        spaced = engine.scaled(run.settings, scale).settings if scale > 1 else {}
        settings[arm] = {**engine.log_checkpoints, **spaced}
    return TurnChoices(
        time_scale=scale,
        time_scale_why=scale_reason(study, scale),
        cycles=study.turns.cycles,
        continuous=is_continuous(runs),
        stated_ns=stated_ns(study, runs, lengths),
        warmup_cap_ns=round(WARM_UP_CAP_S * NS_PER_S),
        wait_ns=max(limit.wait_ns for limit in limits.values()),
        longest_ns=max(limit.longest_ns for limit in limits.values()),
        limits=limits,
        turn_ns=round(lengths.mean_turn_s * NS_PER_S),
        settings=settings,
        cycle_seconds={
            arm: round(seconds, 1)
            for arm, seconds in zip(runs, lengths.cycles_s, strict=True)
            if math.isfinite(seconds)
        },
        nearer=_really_nearer(setup, runs, scale),
    )


def _require_many(study: Study, turns: TurnChoices, slowest_ns: float) -> None:
    """StudyError where a turn holds few transactions of a client; `slowest_ns`: what one takes."""
    needed_ns, measured_ns = FEWEST_IN_A_TURN * slowest_ns, turns.stated_ns or turns.longest_ns
    if needed_ns <= measured_ns:
        return
    raise StudyError(
        f"cannot weigh in turns: a transaction takes about {format_duration(slowest_ns)}, and a "
        f"turn is measured for {format_duration(measured_ns)}",
        detail="What every client has begun is cut off at its end: it needs at least "
        f"{FEWEST_IN_A_TURN} transactions of each, {format_duration(needed_ns)}.",
        hint=by_executions(study),
    )


def by_executions(study: Study) -> str:
    """What to type so that slow transactions are weighed, and none is cut off."""
    work = study.workload
    queries = [
        query for stream in work.streams[:1] for query in stream if query not in work.excluded
    ]
    alone = " --set workload.clients=1" if queries and work.clients != 1 else ""
    return (
        "Cut slices by executions, which are never cut off: --set layout=slices --set "
        f'"budget.counted={{each = 1, blocks = {len(queries) or 2}, warmup = 0}}"{alone}'
    )


def _really_nearer(setup: Setup, runs: Mapping[str, SoloRun], scale: float) -> dict[str, float]:
    """Arm → its own factor; empty where that of every arm is the time scale, or nearly."""
    cycles = _cycles(setup, runs).items()
    factors = {
        arm: cycle.nearer(scale) for arm, cycle in cycles if math.isfinite(cycle.seconds(scale))
    }
    if all(abs(factor / scale - 1) <= ROUNDED_SHARE for factor in factors.values()):
        return {}
    return {arm: round(factor, 3) for arm, factor in factors.items()}


def laying_ns(setup: Setup, progress: Progress) -> int:
    """What putting the files of all arms back takes, now that their servers were under load: a file
    that was not written to is not copied."""
    progress.stage("pilot: put the files back")
    clock = setup.laboratory.clock
    began_ns = clock.now_ns()
    with setup.laid_arms(0, "restore"):
        return clock.now_ns() - began_ns


def per_transaction_ns(run: SoloRun) -> float:
    """Mean time of a client a transaction, in ns; 0 where none was done."""
    done = sum(line.transactions for line in run.lines)
    return sum(line.busy_ns for line in run.lines) / done if done else 0.0


def _tell(
    setup: Setup, pilot: PilotRuns, turns: TurnChoices, lengths: TurnLengths, progress: Progress
) -> None:
    """What it will cost, before it starts."""
    near = scaled_words(turns, setup.design.arms)
    scale = f", {near}" if near else ""
    if setup.study.budget.slice is not None:
        progress.note("budget.slice is of slices and cycles: a turn is driven second by second")
    progress.note(
        f"layout: {setup.layout.name} ({setup.layout.why}); {lengths.epochs} epochs of "
        f"{len(setup.design.arms)} turns of about {format_duration(turns.turn_ns)}{scale}: "
        f"{whole_words(pilot, lengths)}"
    )


def whole_words(pilot: PilotRuns, lengths: EpochLengths) -> str:
    """What all epochs take, and by how much more they may where reads of an arm still fell when
    the pilot ended: a warm-up to its cap, and then the next checkpoint."""
    words = f"about {format_duration(round(lengths.total_s * NS_PER_S))} in all"
    late_s = {
        arm: WARM_UP_CAP_S - WARM_UP_S + (cycle_s if math.isfinite(cycle_s) else 0.0)
        for (arm, run), cycle_s in zip(pilot.arms.items(), lengths.cycles_s, strict=True)
        if run.level_s is None
    }
    if not late_s:
        return words
    more_ns = round(lengths.epochs * sum(late_s.values()) * NS_PER_S)
    return (
        f"{words}, up to {format_duration(more_ns)} more if {' and '.join(late_s)} "
        f"come{'' if len(late_s) > 1 else 's'} to a level late: reads still fell in the pilot"
    )
