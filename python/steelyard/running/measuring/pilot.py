"""Chooses slice length, placement, warm-up and upkeep from two epochs that are then discarded.

The first pilot epoch watches the load settle and what the backends wait for; the second compares
slice lengths on the placement that the first one decided, and the state of the files after it tells
what putting them back costs. Nothing of either enters an estimate.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.analysis.pilot.batch_means import (
    SliceTrial,
    allowed_lengths,
    choose_placement,
    choose_slice,
)
from steelyard.analysis.pilot.steady_state import mser5
from steelyard.engines.engine import Instance
from steelyard.model.errors import WeighingError
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import Choices, PilotFigures, SliceTrialFigures, Upkeep
from steelyard.record.recorded import SLICES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.counted import pilot_counted
from steelyard.running.measuring.first_errors import errors_told, require_work
from steelyard.running.measuring.load import Load, Place, Visit
from steelyard.running.measuring.observation import WaitSampling
from steelyard.running.measuring.turn_pilot import pilot_turns
from steelyard.running.preparing.setup import Setup
from steelyard.running.progress import Progress
from steelyard.study.design import slice_candidates

BATCHES = 10
FIRST_PILOT = -2
SECOND_PILOT = -1
ALWAYS_WORTH_NS = NS_PER_S
"""Putting the files back is never given up for less: restarting alone takes most of a second."""
LONGEST_TRIAL_NS = 12 * NS_PER_S
"""Load that the comparison of slice lengths may take, or a tenth of the budget if that is more."""
WARMUP_CAP_NS = {"foreground": 10 * NS_PER_S, "whole": 6 * NS_PER_S}
WARMUP_FLOOR_NS = NS_PER_S // 2
WARMUP_MARGIN = 1.25
"""The restarts to come may settle a little later than the one that was watched."""


@dataclass(frozen=True)
class _Settling:
    warmup_ns: int
    settled: bool
    wal_flush_share: float
    latency_ns: float
    control_ns: float  # time of a transaction of the control, once it had settled
    transactions_per_second: float


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

    def run(self) -> Choices:
        """The choices for this weighing; an arm that cannot start or do work is an error here."""
        setup, study, seed = self._setup, self._study, self._design.script_seed
        if setup.layout == "turns":
            return pilot_turns(setup, self._progress)
        if study.budget.counted is not None:
            return pilot_counted(setup, study.budget.counted, self._progress)
        asked = study.placement
        self._progress.stage("pilot: watch the load settle")
        first = "symmetric" if asked == "auto" else asked
        with (
            setup.started_arms(0, "restore") as standing,
            setup.connect(standing, first, seed(FIRST_PILOT), find_stalls(study, None)) as load,
        ):
            settling = self._watch(load, standing)
        placement, placement_why = self._placement(settling)
        seeming = find_stalls(study, settling.control_ns)
        self._progress.stage("pilot: compare slice lengths")
        with (
            setup.started_arms(1, "restore") as standing,
            setup.connect(standing, placement, seed(SECOND_PILOT), seeming) as load,
        ):
            best, slice_why, trials, control_ns = self._compare_slices(load, settling)
            driver_io = load.io
        best_visit_ns = next(t.visit_ns for t in trials if t.length_ns == best.length_ns)
        upkeep, upkeep_why = self._upkeep()
        return Choices(
            cost=setup.cost,
            cost_why=setup.cost_why,
            slice_ns=best.length_ns,
            slice_why=slice_why,
            visit_ns=best_visit_ns,
            placement=placement,
            placement_why=placement_why,
            warmup_ns=settling.warmup_ns,
            upkeep=upkeep,
            upkeep_why=upkeep_why,
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
            ),
        )

    def _watch(self, load: Load, standing: Mapping[str, Instance]) -> _Settling:
        arms = self._design.arms
        cap_ns = min(WARMUP_CAP_NS[self._setup.cost], max(3 * NS_PER_S, self._design.epoch_ns // 2))
        length_ns = slice_candidates(self._design.epoch_ns, self._setup.cost)[0]
        blocks = max(10, round(cap_ns / (len(arms) * length_ns)))
        watch = WaitSampling(list(standing.values()))
        try:
            lines = self._run(load, FIRST_PILOT, [length_ns] * blocks)
        finally:
            share = watch.stop()
        warm_blocks, settled = 0, True
        for arm in arms:
            rates = [_rate(line) for line in lines if line.arm == arm]
            cut = mser5(rates)
            settled = settled and cut is not None
            warm_blocks = max(warm_blocks, blocks if cut is None else cut)
        require_work(lines)
        done = sum(line.transactions for line in lines)
        warmup_ns = round(warm_blocks * len(arms) * length_ns * WARMUP_MARGIN)
        busy_s = sum(line.busy_with_debt_ns / line.clients for line in lines) / 1e9
        return _Settling(
            warmup_ns=max(WARMUP_FLOOR_NS, min(warmup_ns, cap_ns)),
            settled=settled,
            wal_flush_share=share,
            latency_ns=sum(line.latency_sum_ns for line in lines) / done,
            control_ns=_typical_ns(_settled(lines, warm_blocks), arms[0]),
            transactions_per_second=done / busy_s if busy_s else 0.0,
        )

    def _placement(self, settling: _Settling) -> tuple[str, str]:
        if self._study.placement != "auto":
            return self._study.placement, "the study says so"
        return choose_placement(settling.wal_flush_share)

    def _compare_slices(
        self, load: Load, settling: _Settling
    ) -> tuple[SliceTrial, str, list[SliceTrialFigures], float]:
        self._run(load, SECOND_PILOT, self._warm_lengths(settling))
        candidates = self._candidates(settling)
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
        shown = [
            SliceTrialFigures(
                length_ns=trial.length_ns,
                standard_error=trial.standard_error,
                visit_ns=_mean_visit_ns(rounds, trial.length_ns),
            )
            for trial in trials
        ]
        control_ns = _typical_ns([one.line for one in rounds], self._design.arms[0])
        return best, why, shown, control_ns

    def _candidates(self, settling: _Settling) -> list[int]:
        """Lengths worth comparing: long enough for the transactions, short enough to compare."""
        if self._study.budget.slice is not None:
            return [self._study.budget.slice]
        every = slice_candidates(self._design.epoch_ns, self._setup.cost)
        rate = settling.transactions_per_second
        fit = list(allowed_lengths(every, self._design.epoch_ns, settling.latency_ns, rate))
        limit_ns = max(LONGEST_TRIAL_NS, self._study.budget.measuring // 10)
        per_batch = BATCHES * len(self._design.arms)
        while len(fit) > 1 and len(fit) * fit[-1] * per_batch > limit_ns:
            fit = fit[:-1]
        return fit

    def _warm_lengths(self, settling: _Settling) -> list[int]:
        length_ns = slice_candidates(self._design.epoch_ns, self._setup.cost)[0]
        return [length_ns] * max(
            1, round(settling.warmup_ns / (len(self._design.arms) * length_ns))
        )

    def _trial(self, length_ns: int, rounds: Sequence[_TrialSlice]) -> SliceTrial:
        own = [one for one in rounds if one.length_ns == length_ns]
        control, arm = self._design.arms[:2]
        return SliceTrial(
            length_ns=length_ns,
            control=tuple(_batch(own, control, batch) for batch in range(BATCHES)),
            arm=tuple(_batch(own, arm, batch) for batch in range(BATCHES)),
        )

    def _run(self, load: Load, epoch: int, lengths_ns: Sequence[int]) -> list[SliceLine]:
        arms = self._design.arms
        self._runs += 1
        orders = self._design.blocks(1000 * epoch - self._runs, len(lengths_ns))
        visits = [
            Visit(arms[arm], length_ns, "pilot", block, position)
            for block, (length_ns, order) in enumerate(zip(lengths_ns, orders, strict=True))
            for position, arm in enumerate(order)
        ]
        lines = []
        for line in load.run(visits, Place(epoch, run=self._runs)):
            self._setup.record.append(SLICES, line.to_json())
            lines.append(line)
            if line.lost:
                raise WeighingError(
                    f'arm "{line.arm}" lost its connections in the pilot',
                    detail=errors_told([line]),
                )
        return lines

    def _upkeep(self) -> tuple[Upkeep, str]:
        """How the files are kept equal from epoch to epoch, by what putting them back costs."""
        started = self._setup.laboratory.clock.now_ns()
        with self._setup.started_arms(0, "restore"):
            pass
        took_ns = self._setup.laboratory.clock.now_ns() - started
        took = format_duration(took_ns)
        if took_ns <= max(self._design.epoch_ns / 3, ALWAYS_WORTH_NS):
            return "restore", f"putting the files back and restarting takes {took} an epoch"
        if self._setup.slots.exchangeable():
            return "exchange", f"putting the files back takes {took}; any arm may use any copy"
        return "carry", f"putting the files back takes {took}, more than a third of an epoch"


def _settled(lines: Sequence[SliceLine], warm_blocks: int) -> Sequence[SliceLine]:
    """The lines behind the warm-up; all of them where nothing settled."""
    return [line for line in lines if line.block >= warm_blocks] or lines


def _typical_ns(lines: Sequence[SliceLine], arm: str) -> float:
    """What a transaction of an arm takes in the middle one of its slices: a pilot is short, and one
    disturbed second must not decide. 0 where no slice has any."""
    own = [line for line in lines if line.arm == arm and line.transactions]
    return float(statistics.median([x.busy_with_debt_ns / x.transactions for x in own] or [0.0]))


def _rate(line: SliceLine) -> float:
    busy = line.busy_with_debt_ns
    return line.transactions / busy if busy else 0.0


def _mean_visit_ns(rounds: Sequence[_TrialSlice], length_ns: int) -> int:
    """Mean time a slice of this length takes, its border and its debt included, charged or not."""
    own = [one.line for one in rounds if one.length_ns == length_ns]
    taken = [line.end_ns - line.start_ns + max(line.debt_ns, line.left_ns) for line in own]
    return max(length_ns, sum(taken) // len(taken))


def _batch(slices: Sequence[_TrialSlice], arm: str, batch: int) -> tuple[int, int]:
    own = [one.line for one in slices if one.line.arm == arm and one.batch == batch]
    return sum(x.transactions for x in own), sum(x.busy_with_debt_ns for x in own)
