"""Looks at every arm alone for some time, and chooses how epochs in cycles are laid out.

It looks for the same as before turns: how much log an arm writes, hence how far apart its
checkpoints are; whether its sessions wait for the disk; what an epoch takes beside its load. And
for what keeps arms from sharing the machine: no room for their data, or write-back shared. Nothing
of it enters an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard.analysis.pilot.cycle_lengths import CycleLengths, choose_cycle_lengths
from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import (
    FEWEST_EPOCHS,
    NEARLY,
    ArmCycle,
    Shortage,
    Spacing,
    longest_solo_run_s,
)
from steelyard.engines.capabilities.checkpoints import CycleSettings, OwnTimeSettings, Scaled
from steelyard.engines.engine import Engine, Settings
from steelyard.evaluation.threats.cycles import write_back_shared
from steelyard.model.errors import EngineError, StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_MS, NS_PER_S, format_duration
from steelyard.record.plan import TURNS, Choices, LayoutChoice, PilotFigures, TurnChoices
from steelyard.record.turns.turn_summary import scaled_words
from steelyard.running.cycles.limits import LogLimit, require_fine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.preparing.memory_room import (
    MemoryRoom,
    memory_room,
    pool_bytes,
    require_room,
)
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.apart import require_apart
from steelyard.running.turns.pilot import (
    ROUNDED_SHARE,
    WARM_UP_CAP_S,
    WARM_UP_S,
    PilotRuns,
    choose_turns,
    idle_length_notes,
    is_continuous,
    limits_by_arm,
    per_transaction_ns,
    require_scale,
    run_arms_alone,
    scale_reason,
    stated_ns,
    wal_flush_share,
    whole_words,
    why_whole,
    wish_of,
)
from steelyard.running.turns.solo_run import SoloRun, cycle_engine
from steelyard.study.study import Study
from steelyard.wording.threats.threat import threat_of

CYCLES_S0 = 0.02
"""Scatter of log ratios to be expected between epochs in cycles."""
RESTORE_SHARE = 0.3
"""Of an epoch, that putting the files back may take."""


def pilot_cycles(setup: Setup, progress: Progress) -> Choices:
    """The choices for a weighing in cycles, or in turns where the pilot sees that the arms should
    not share the machine and the study leaves the layout open. StudyError: the budget does not hold
    8 epochs, or memory not all arms; WeighingError: an arm cannot start or do work."""
    study = setup.study
    pilot = run_arms_alone(setup, study.budget.cycles, progress)
    room, shared = room_of(setup, pilot.arms), shared_write_back(setup, pilot.arms)
    if study.layout != "auto":
        require_room(room)
        if shared:
            progress.note(f"write-back may be shared, --set layout=turns parts it: {shared}")
        return choose_cycles(setup, pilot, progress)
    apart = room.lacks or shared
    if not apart:
        return choose_cycles(setup, pilot, progress)
    turns = LayoutChoice(name=TURNS, why=f"in place of cycles, since in the pilot {apart}")
    engines = {arm: cycle_engine(setup, arm) for arm in pilot.arms}
    scales = {
        arm: engines[arm].cycle(run.settings).largest_scale for arm, run in pilot.arms.items()
    }
    require_scale(study, scales)
    for note in idle_length_notes(study, turns.name):
        progress.note(note)
    try:
        return choose_turns(setup.laid_out(turns), pilot, progress)
    except StudyError as refused:
        refused.detail = f"Turns, {turns.why}. {refused.detail or ''}".strip()
        if not room.lacks:
            refused.hint = f"{refused.hint} Or, with that doubt, in cycles: --set layout=cycles."
        raise


def choose_cycles(setup: Setup, pilot: PilotRuns, progress: Progress) -> Choices:
    """The choices for a weighing in cycles, by what a pilot saw. StudyError: the budget does not
    hold 8 epochs."""
    study, design, runs, lay_ns = setup.study, setup.design, pilot.arms, pilot.lay_ns
    share = wal_flush_share(runs)
    every = [line for each in runs.values() for line in each.lines]
    done = sum(line.transactions for line in every)
    latency_ns = sum(line.latency_sum_ns for line in every) / done
    cycles = {arm: _arm_cycle(setup, arm, each) for arm, each in runs.items()}
    lengths = _lengths(setup, pilot, cycles, latency_ns / NS_PER_S, progress)
    worth_ns = RESTORE_SHARE * lengths.epoch_s * NS_PER_S
    control = runs[design.arms[0]]
    busy_s = sum(line.busy_ns / line.clients for line in every) / NS_PER_S
    turns = _choices(setup, runs, lengths)
    require_apart(setup, {arm: run.settings for arm, run in runs.items()}, turns, progress)
    _announce(setup, pilot, turns, lengths, progress)
    slice_ns = round(lengths.slice_s * 1000) * NS_PER_MS
    return setup.choices(
        slice_ns=Reasoned(slice_ns, _slice_why(study, runs)),
        placement=setup.place(share),
        upkeep=setup.file_upkeep(lay_ns, worth_ns, "three tenths of an epoch"),
        visit_ns=slice_ns,
        warmup_ns=turns.warmup_cap_ns,
        epochs=lengths.epochs,
        s0=CYCLES_S0,
        stalls=find_stalls(study, per_transaction_ns(control)),
        pilot=PilotFigures(
            settled=True,
            wal_flush_share=share,
            latency_mean_ns=latency_ns,
            control_ns=per_transaction_ns(control),
            transactions_per_second=done / busy_s if busy_s else None,
            driver_io=control.driver_io,
        ),
        turns=turns,
    )


def _lengths(
    setup: Setup,
    pilot: PilotRuns,
    cycles: Mapping[str, ArmCycle],
    latency_s: float,
    progress: Progress,
) -> CycleLengths:
    """What the budget holds. StudyError: no 8 epochs of it, or none worth to be measured."""
    study = setup.study
    idle_ns = max(each.idle_ns for each in pilot.arms.values()) + pilot.lay_ns
    wish = wish_of(study, study.budget.cycles)
    levels_s = [each.level_s for each in pilot.arms.values()]

    def with_budget(budget_s: float) -> CycleLengths | Shortage:
        return choose_cycle_lengths(
            list(cycles.values()),
            replace(wish, budget_s=budget_s),
            idle_s=idle_ns / NS_PER_S,
            warm_s=WARM_UP_S,
            latency_s=latency_s,
            level_s=None if None in levels_s else max(filter(None, levels_s), default=0.0),
        )

    lengths = with_budget(wish.budget_s)
    if isinstance(lengths, Shortage):
        raise cycles_too_short(study, lengths.needed_s)
    LogLimit(setup, pilot.arms, cycles, lengths).apply(progress)
    require_fine(study, lengths, latency_s, with_budget)
    return lengths


def require_own_time(engine: Engine) -> OwnTimeSettings:
    """The engine; EngineError: it cannot be brought into its own time."""
    if not isinstance(engine, OwnTimeSettings):
        raise EngineError(
            f'engine "{engine.identity.kind}" cannot be weighed in cycles: its timers cannot be '
            "brought into its own time",
            hint=f"Weigh with {_instead(engine)}.",
        )
    return engine


def _instead(engine: Engine) -> str:
    turns = "--set layout=turns, or " if isinstance(engine, CycleSettings) else ""
    return f"{turns}--set layout=slices"


def cycles_cost_words(study: Study) -> str:
    """What a weighing in cycles takes at most, before anything is loaded."""
    solo_run_s = longest_solo_run_s(wish_of(study, study.budget.cycles), len(study.every_arm))
    return (
        f"in cycles, for {format_duration(study.budget.cycles)} at most; before them data is "
        "loaded where it was not, and each arm watched alone for up to "
        f"{format_duration(round(solo_run_s * NS_PER_S))}"
    )


def cycles_too_short(study: Study, needed_s: float, *, least: bool = False) -> StudyError:
    """The budget does not hold 8 epochs in cycles; `least`: nothing is known of the arms yet."""
    epochs = study.budget.epochs or FEWEST_EPOCHS
    minutes = math.ceil(needed_s / 60)
    needed = format_duration(minutes * 60 * NS_PER_S)
    about = "at least " if least else "about "
    return StudyError(
        f"the budget is too short for {epochs} epochs in cycles: "
        f"{format_duration(study.budget.cycles)} where they take {about}{needed}",
        detail=f"Every arm is measured over whole checkpoint cycles: {why_whole(study)}.",
        hint=f"Weigh with --budget {minutes}m, or insist on slices, which say what "
        "happens right after a checkpoint: --set layout=slices.",
    )


def largest_scales(setup: Setup, settings: Mapping[str, Settings]) -> dict[str, float]:
    """Arm → by how much its checkpoints can be brought nearer in its own time."""
    arms = len(setup.design.arms)
    return {
        arm: _engine(setup, arm).in_own_time(reported, 1.0, arms).cycle.largest_scale
        for arm, reported in settings.items()
    }


def _engine(setup: Setup, arm: str) -> OwnTimeSettings:
    return require_own_time(setup.own_slots.arms[arm].engine)


def _arm_cycle(setup: Setup, arm: str, run: SoloRun) -> ArmCycle:
    engine, arms = _engine(setup, arm), len(setup.design.arms)
    return ArmCycle(
        spacing=_spacing(engine, run, arms),
        largest_scale=engine.in_own_time(run.settings, 1.0, arms).cycle.largest_scale,
        log=run.log if setup.writes else LogCurve((), ()),
        seen_s=run.cycle_s,
        continuous=run.cycle.continuous,
        round_s=run.cycle.round_ns / NS_PER_S,
    )


def _spacing(engine: OwnTimeSettings, run: SoloRun, arms: int) -> Callable[[float], Spacing]:
    def at(scale: float) -> Spacing:
        cycle = engine.in_own_time(run.settings, scale, arms).cycle
        return Spacing(cycle.timeout_ns / NS_PER_S, cycle.wal_bytes)

    return at


def _choices(setup: Setup, runs: Mapping[str, SoloRun], lengths: CycleLengths) -> TurnChoices:
    study, scale, arms = setup.study, lengths.scale, len(setup.design.arms)
    limits = limits_by_arm(runs, lengths)
    scaled_arms = {
        arm: _engine(setup, arm).in_own_time(each.settings, scale, arms)
        for arm, each in runs.items()
    }
    return TurnChoices(
        time_scale=scale,
        time_scale_why=scale_reason(study, scale),
        cycles=study.turns.cycles,
        continuous=is_continuous(runs),
        stated_ns=stated_ns(study, runs, lengths),
        warmup_cap_ns=round(WARM_UP_CAP_S * NS_PER_S),
        wait_ns=max(each.wait_ns for each in limits.values()),
        longest_ns=max(each.longest_ns for each in limits.values()),
        limits=limits,
        turn_ns=round(lengths.epoch_s / arms * NS_PER_S),
        settings={
            arm: {**_engine(setup, arm).log_checkpoints, **scaled.settings}
            for arm, scaled in scaled_arms.items()
        },
        cycle_seconds={
            arm: round(seconds, 1)
            for arm, seconds in zip(runs, lengths.cycles_s, strict=True)
            if math.isfinite(seconds)
        },
        nearer=_really_nearer(runs, scaled_arms, lengths),
        timers=tuple(_timers({arm: scaled.timers for arm, scaled in scaled_arms.items()})),
    )


def _slice_why(study: Study, runs: Mapping[str, SoloRun]) -> str:
    if study.budget.slice is not None:
        return "the study says so"
    if any(each.cycle.round_ns for each in runs.values()):
        return "a round of the servers' background work, long beside a transaction"
    return "short beside the arms' checkpoint cycles, long beside a transaction"


def _really_nearer(
    runs: Mapping[str, SoloRun], scaled_arms: Mapping[str, Scaled], lengths: CycleLengths
) -> dict[str, float]:
    """Arm → its own factor, where the longest timeout that a server takes, whole seconds or whole
    segments of log make it another than the time scale; empty where that of every arm is nearly."""
    nearer = {}
    for (arm, each), seconds in zip(runs.items(), lengths.cycles_s, strict=True):
        cycle = scaled_arms[arm].cycle
        by_time = each.cycle.timeout_ns / cycle.timeout_ns
        timed = seconds >= NEARLY * cycle.timeout_ns / NS_PER_S
        if math.isfinite(seconds):
            nearer[arm] = by_time if timed else each.cycle.wal_bytes / cycle.wal_bytes
    if all(abs(factor / lengths.scale - 1) <= ROUNDED_SHARE for factor in nearer.values()):
        return {}
    return {arm: round(factor, 3) for arm, factor in nearer.items()}


def _timers(by_arm: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What was done about timers: once where it is the same in all arms."""
    for timer in dict.fromkeys(each for timers in by_arm.values() for each in timers):
        arms = [arm for arm, timers in by_arm.items() if timer in timers]
        yield timer if len(arms) == len(by_arm) else f"{timer} (in {' and '.join(arms)})"


def _announce(
    setup: Setup, pilot: PilotRuns, turns: TurnChoices, lengths: CycleLengths, progress: Progress
) -> None:
    """What it will cost, before it starts."""
    near = scaled_words(turns, setup.design.arms)
    scale = f", {near}" if near else ""
    progress.note(
        f"layout: {setup.layout.name} ({setup.layout.why}); {lengths.epochs} epochs of about "
        f"{format_duration(round(lengths.epoch_s * NS_PER_S))}{scale}: "
        f"{whole_words(pilot, lengths)}"
    )


def room_of(setup: Setup, runs: Mapping[str, SoloRun]) -> MemoryRoom:
    """What the arms take, by the size of their files as they are on the disk."""
    arms = setup.own_slots.arms
    pools = {arm: pool_bytes(each.engine, each.in_effect) for arm, each in arms.items()}
    every = min(run.file_bytes for run in runs.values())
    free = setup.laboratory.host.sample().memory_available_bytes
    return memory_room(setup.study, pools, every // len(arms), free)


def shared_write_back(setup: Setup, runs: Mapping[str, SoloRun]) -> str:
    """What the pilot saw of it, of the first arm that shows it: it runs alone, so what it dirtied
    and the devices did not write by then is left to whoever comes after; empty: nothing."""
    control, *others = setup.design.arms
    queues = [run.queue for run in runs.values() if not math.isnan(run.queue)]
    queue = max(queues, default=math.nan)
    observations = (
        write_back_shared(
            {name: runs[name].dirtied_bytes for name in (control, arm)},
            {name: runs[name].written_bytes for name in (control, arm)},
            queue,
        )
        for arm in others
    )
    first = next((shared for shared in observations if shared is not None), None)
    return "" if first is None else threat_of(first).seen
