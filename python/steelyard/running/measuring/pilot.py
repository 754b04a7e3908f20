"""Chooses slice length, placement, warm-up and upkeep from two epochs that are then discarded.

The first pilot epoch watches the load settle and what the backends wait for; where buffer pools
still fill at its end, once more on pools that were filled by reading. The second compares slice
lengths on the placement that the first one decided, and the state of the files after it tells
what putting them back costs. Nothing of either enters an estimate.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.analysis.pilot.slice_length import (
    SliceTrial,
    allowed_lengths,
    choose_slice,
)
from steelyard.engines.capabilities.checkpoints import PoolFill, Warmable
from steelyard.engines.engine import Instance
from steelyard.model.reasoned import Reasoned, plan_keys
from steelyard.model.units import NS_PER_S, format_digits, format_duration
from steelyard.record.plan import (
    Choices,
    PilotFigures,
    PoolFillFigures,
    SliceTrialFigures,
    Upkeep,
    Warm,
)
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.counted import SlowExecutionsError, SlowWatch, pilot_slow
from steelyard.running.measuring.driving import drive_pilot
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.measuring.load_watch import BlockEnded, LoadWatch, Settled, typical_ns
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.design import LEAST_EPOCHS, longer_epochs, slice_candidates

BATCHES = 10
FIRST_PILOT = -2
SECOND_PILOT = -1
ALWAYS_WORTH_NS = NS_PER_S
"""Putting the files back is never given up for less: restarting alone takes most of a second."""
LONGEST_TRIAL_NS = 12 * NS_PER_S
"""Load that the comparison of slice lengths may take, or a tenth of the budget if that is more."""
SHORTEST_TOGETHER_NS = NS_PER_S // 5
"""Several machines pause for some ms before each slice, and begin it a fraction of one apart."""
WARMUP_CAP_NS = {"foreground": 10 * NS_PER_S, "whole": 6 * NS_PER_S}


@dataclass(frozen=True)
class _Warming:
    """How the pools become warm, and what was seen of it."""

    settled: Settled
    warmup_ns: int
    warm: Warm = "by load"
    why: str = ""
    warm_ns: int = 0
    fills: Mapping[str, PoolFill] = field(default_factory=dict)
    epochs_why: str = ""


@dataclass(frozen=True)
class _TrialSlice:
    """A slice of the comparison of lengths."""

    line: SliceLine
    batch: int
    length_ns: int


class Pilot:
    """Two discarded epochs and what they decide."""

    def __init__(self, setup: Setup, progress: Progress) -> None:
        self._setup = setup
        self._progress = progress
        self._study = setup.study
        self._design = setup.design
        self._runs = 0
        # A stream would end within a pass.
        self._may_be_slow = self._study.budget.slice is None and not self._study.workload.streams

    def run(self) -> Choices:
        """The choices for this weighing; an arm that cannot start or do work is an error here."""
        setup, study, seed = self._setup, self._study, self._design.script_seed
        self._progress.stage("pilot: watch the load settle")
        try:
            warming = self._warm_up(setup.first_placement)
        except SlowExecutionsError:
            chosen = pilot_slow(setup, self._progress)
            if chosen is not None:
                return self._kept_equal(chosen)
            self._may_be_slow = False  # only the first executions were
            warming = self._warm_up(setup.first_placement)
        setup, settling = self._setup, warming.settled
        placement = setup.place(settling.wal_flush_share)
        seeming = find_stalls(study, settling.control_ns)
        self._progress.stage("pilot: compare slice lengths")
        with (
            setup.started_arms(1, "restore", warming.warm) as instances,
            setup.connect(instances, placement.value, seed(SECOND_PILOT), seeming) as load,
        ):
            best, slice_why, trials, control_ns = self._compare_slices(load, warming)
            driver_io = load.io
        best_visit_ns = next(t.visit_ns for t in trials if t.length_ns == best.length_ns)
        return setup.choices(
            slice_ns=Reasoned(best.length_ns, slice_why),
            placement=placement,
            upkeep=self._upkeep(),
            visit_ns=best_visit_ns,
            warmup_ns=warming.warmup_ns,
            warm=warming.warm,
            warm_why=warming.why,
            warm_ns=warming.warm_ns,
            epochs=self._design.epochs,
            epochs_why=warming.epochs_why,
            s0=best.standard_error if math.isfinite(best.standard_error) else DEFAULT_S0,
            stalls=find_stalls(study, control_ns),
            pilot=PilotFigures(
                settled=settling.settled,
                wal_flush_share=settling.wal_flush_share,
                latency_mean_ns=settling.latency_ns,
                control_ns=control_ns,
                transactions_per_second=settling.transactions_per_second,
                trials=tuple(trials),
                driver_io=driver_io,
                blocks_read=settling.reads,
                page_faults=settling.faults,
                pools={
                    arm: PoolFillFigures.model_validate(asdict(fill))
                    for arm, fill in warming.fills.items()
                },
            ),
        )

    def _kept_equal(self, chosen: Choices) -> Choices:
        """Choices by executions, with how the files are kept equal from epoch to epoch."""
        self._setup = self._setup.with_choices(chosen)
        self._design = self._setup.design
        return chosen.model_copy(update=plan_keys(upkeep=self._upkeep()))

    def _warm_up(self, placement: str) -> _Warming:
        """By load; where blocks read do not become level, on pools that were filled by reading;
        and where that is not enough, or connections still map the pools, in longer epochs."""
        cap_ns = self._cap_ns()
        by_load = self._watch(placement, "by load", cap_ns)
        if not by_load.settled.falling:
            return by_load
        self._progress.stage("pilot: read the data into the buffer pools")
        name = by_load.settled.falling[0]
        first, last = by_load.settled.reads[name]
        reason = (
            f"blocks read per transaction of {name} went from {format_digits(first, 2)} to "
            f"{format_digits(last, 2)} in the pilot and were not level after "
            f"{format_duration(cap_ns)} of load"
        )
        by_reading = self._watch(placement, "by reading", cap_ns)
        return self._longer(replace(by_reading, why=reason if by_reading.fills else ""))

    def _cap_ns(self) -> int:
        cap_ns = WARMUP_CAP_NS[self._setup.cost.value]
        return min(cap_ns, max(3 * NS_PER_S, self._design.epoch_ns // 2))

    def _watch(self, placement: str, warm: Warm, cap_ns: int) -> _Warming:
        """Start the arms, and watch the load settle for so long; `warm` "by reading": longer, if
        blocks read are not level by then. Pools that cannot be filled are left to the load."""
        setup = self._setup
        stalls, seed = find_stalls(self._study, None), self._design.script_seed(FIRST_PILOT)
        with setup.started_arms(0, "restore") as instances:
            fills, warm_ns = self._fill(instances) if warm == "by reading" else ({}, 0)
            with setup.connect(instances, placement, seed, stalls) as load:
                run = partial(self._run, load, FIRST_PILOT)
                slow = SlowWatch(self._study).note if self._may_be_slow else None
                again = warm == "by reading"
                watch = LoadWatch(self._design.arms, instances, run, mapped=again, on_block=slow)
                length_ns = slice_candidates(self._design.epoch_ns, setup.cost.value)[0]
                settled = watch.watch(cap_ns, length_ns)
                longest_ns = self._study.budget.measuring // LEAST_EPOCHS // 2
                if again and not settled.warm and longest_ns > cap_ns:
                    cap_ns = longest_ns
                    settled = watch.watch(cap_ns, length_ns)
        warmup_ns = min(settled.warmup_ns, cap_ns)
        return _Warming(settled, warmup_ns, warm if fills else "by load", "", warm_ns, fills)

    def _fill(self, instances: Mapping[str, Instance]) -> tuple[dict[str, PoolFill], int]:
        """What was read into each pool, and what all of it took; nothing where one cannot be."""
        if not all(isinstance(instance, Warmable) for instance in instances.values()):
            return {}, 0
        began_ns = self._setup.laboratory.clock.now_ns()
        fills = self._setup.fill_pools(instances)
        return fills, self._setup.laboratory.clock.now_ns() - began_ns

    def _longer(self, warming: _Warming) -> _Warming:
        """With epochs so long that a warm-up beyond the cap is worth it, unless the study says how
        many there are."""
        in_time = warming.warmup_ns <= self._cap_ns() and warming.settled.warm
        if in_time or self._study.budget.epochs is not None:
            return replace(warming, warmup_ns=min(warming.warmup_ns, self._cap_ns()))
        epochs = longer_epochs(self._design, self._study, warming.warmup_ns)
        self._setup = self._setup.in_epochs(epochs)
        self._design = self._setup.design
        settled, duration = warming.settled, format_duration(warming.warmup_ns)
        what = "blocks read" if settled.falling else "page faults" if settled.mapping else ""
        level = "were not level" if what else "became level only"
        what = what or "blocks read and page faults"
        why = f"{what} per transaction {level} after {duration} of load"
        return replace(warming, epochs_why=why)

    def _compare_slices(
        self, load: Load, warming: _Warming
    ) -> tuple[SliceTrial, str, list[SliceTrialFigures], float]:
        self._run(load, SECOND_PILOT, self._warm_lengths(warming))
        candidates = self._candidates(warming.settled)
        longest = max(candidates)
        rounds: list[_TrialSlice] = []
        draw = random.Random(f"{self._design.seed}/pilot")
        for batch in range(BATCHES):
            for length_ns in draw.sample(candidates, len(candidates)):
                lengths = [length_ns] * max(1, longest // length_ns)
                lines = self._run(load, SECOND_PILOT, lengths)
                rounds += [_TrialSlice(line, batch, length_ns) for line in lines]
        trials = [self._trial(length_ns, rounds) for length_ns in candidates]
        best, why = choose_slice(trials)
        if self._study.budget.slice is not None:
            why = "the study says so"
        figures = [
            SliceTrialFigures(
                length_ns=trial.length_ns,
                standard_error=trial.standard_error,
                visit_ns=_mean_visit_ns(rounds, trial.length_ns),
            )
            for trial in trials
        ]
        control_ns = typical_ns([trial_slice.line for trial_slice in rounds], self._design.arms[0])
        return best, why, figures, control_ns

    def _candidates(self, settling: Settled) -> list[int]:
        """Lengths worth comparing: long enough for the transactions, short enough to compare."""
        if self._study.budget.slice is not None:
            return [self._study.budget.slice]
        every = slice_candidates(self._design.epoch_ns, self._setup.cost.value)
        if self._study.workload.machines > 1:
            every = tuple(n for n in every if n >= SHORTEST_TOGETHER_NS) or every[-1:]
        rate = settling.transactions_per_second
        fit = list(allowed_lengths(every, self._design.epoch_ns, settling.latency_ns, rate))
        limit_ns = max(LONGEST_TRIAL_NS, self._study.budget.measuring // 10)
        per_batch = BATCHES * len(self._design.arms)
        while len(fit) > 1 and len(fit) * fit[-1] * per_batch > limit_ns:
            fit = fit[:-1]
        return fit

    def _warm_lengths(self, warming: _Warming) -> list[int]:
        length_ns = slice_candidates(self._design.epoch_ns, self._setup.cost.value)[0]
        return [length_ns] * max(1, round(warming.warmup_ns / (len(self._design.arms) * length_ns)))

    def _trial(self, length_ns: int, rounds: Sequence[_TrialSlice]) -> SliceTrial:
        slices = [trial_slice for trial_slice in rounds if trial_slice.length_ns == length_ns]
        control, arm = self._design.arms[:2]
        return SliceTrial(
            length_ns=length_ns,
            control=tuple(_batch(slices, control, batch) for batch in range(BATCHES)),
            arm=tuple(_batch(slices, arm, batch) for batch in range(BATCHES)),
        )

    def _run(
        self, load: Load, epoch: int, lengths_ns: Sequence[int], ended: BlockEnded | None = None
    ) -> list[SliceLine]:
        """A block for each length; with `ended` no slice follows before it has returned."""
        arms = self._design.arms
        self._runs += 1
        orders = self._design.blocks(1000 * epoch - self._runs, len(lengths_ns))
        blocks = [
            [
                Visit(arms[arm], length_ns, "pilot", block, position)
                for position, arm in enumerate(order)
            ]
            for block, (length_ns, order) in enumerate(zip(lengths_ns, orders, strict=True))
        ]
        place, lines = SlicePlace(epoch, run=self._runs), []
        groups = blocks if ended is not None else [[visit for each in blocks for visit in each]]
        for group in groups:
            with self._setup.phase("pilot"):
                done = drive_pilot(self._setup, load, group, place)
                if ended is not None:
                    ended(done)
            lines += done
        return lines

    def _upkeep(self) -> Reasoned[Upkeep]:
        """How the files are kept equal from epoch to epoch, by what putting them back costs."""
        started = self._setup.laboratory.clock.now_ns()
        with self._setup.started_arms(0, "restore"):
            pass
        took_ns = self._setup.laboratory.clock.now_ns() - started
        if self._study.uses_own_databases:
            why = "databases are drawn, set and rebuilt afresh, and not put back"
            return Reasoned("exchange", why)
        if self._study.is_external:
            why = "the servers are not ours: only connections are opened afresh"
            return Reasoned("reconnect", why)
        worth_ns = max(self._design.epoch_ns / 3, ALWAYS_WORTH_NS)
        return self._setup.file_upkeep(took_ns, worth_ns, "a third of an epoch")


def _mean_visit_ns(rounds: Sequence[_TrialSlice], length_ns: int) -> int:
    """Mean time a slice of this length takes, its border and its debt included, charged or not."""
    lines = [trial_slice.line for trial_slice in rounds if trial_slice.length_ns == length_ns]
    times_ns = [line.end_ns - line.start_ns + max(line.debt_ns, line.left_ns) for line in lines]
    return max(length_ns, sum(times_ns) // len(times_ns))


def _batch(slices: Sequence[_TrialSlice], arm: str, batch: int) -> tuple[int, int]:
    lines = [
        trial_slice.line
        for trial_slice in slices
        if trial_slice.line.arm == arm and trial_slice.batch == batch
    ]
    return sum(x.transactions for x in lines), sum(x.busy_with_debt_ns for x in lines)
