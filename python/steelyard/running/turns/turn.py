"""Runs one turn: an arm alone on the machine, from a cold start over whole checkpoint cycles.

All arms' files are evicted from the page cache, the device is quiet, the arm is started and warmed
until throughput and reads are level; then it is measured from the end of one checkpoint to the end
of the k-th after it, or of a later one where k cycles are shorter than the least time, in slices of
about a second: always whole cycles. It begins no earlier, and lasts no less, than the plan has it
for the arm, so that all arms are measured at about the same age and for about as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from steelyard.engines.capabilities.checkpoints import CheckpointsWatched, CheckpointWatch
from steelyard.engines.engine import Instance, LocalInstance
from steelyard.engines.loading import DATABASE
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint, TurnEnd
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.record.plan import Choices, TurnChoices
from steelyard.record.slice import SliceLine
from steelyard.record.spent import Phase
from steelyard.record.turns.seconds import CheckpointLine, DebtLine
from steelyard.record.turns.turn import TurnLine
from steelyard.running.laboratory import Laboratory
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.arm_readings import (
    ArmReadings,
    EpochReadings,
    SliceReadings,
    reading_lines,
)
from steelyard.running.measuring.load import SlicePlace
from steelyard.running.measuring.wait_samples import WaitSamples
from steelyard.running.preparing.setup import Setup
from steelyard.running.turns.seconds import SecondBySecond, SecondSeries
from steelyard.telemetry.host import host_readings

QUIET_BYTES = 16 << 20
"""Dirty and under write-back: below it the device is quiet."""
QUIET_LIMIT_NS = 10 * NS_PER_S
_LOOK_NS = 100 * NS_PER_MS

ReportsPhase = Callable[[str], None]
"""Is called with what a turn does now."""


@dataclass(frozen=True)
class Quiet:
    """Whether the device came to rest, and what waited for it in the end."""

    reached: bool
    waiting_bytes: int


@dataclass(frozen=True)
class TurnPlace:
    """Whose turn it is, and where it stands."""

    arm: str
    position: int  # 0: first of its epoch
    place: SlicePlace
    seed: int

    @property
    def slot(self) -> int:
        """The number of the arm's slot."""
        return self.place.slots[self.arm]


@dataclass(frozen=True)
class _MeasuredTurn:
    """The readings of an arm that was measured to the end of its turn."""

    end: TurnEnd
    level: bool
    at_checkpoint: bool
    checkpoints: tuple[Checkpoint, ...]
    at_start: DebtLine
    at_end: DebtLine
    measured: SecondSeries
    read: EpochReadings


class TurnRunner:
    """Runs the turns of one weighing."""

    def __init__(self, setup: Setup, choices: Choices) -> None:
        assert choices.turns is not None  # callers check the layout first
        self._setup = setup
        self._choices = choices
        self._turns: TurnChoices = choices.turns
        self._clock = setup.laboratory.clock

    def run(self, where: TurnPlace, lines: list[SliceLine], report: ReportsPhase) -> TurnLine:
        """One turn of an arm whose files are laid; `lines` gets its slices as they end.
        ArmLostError: the arm could not start or survive."""
        setup, slots, arm = self._setup, self._setup.own_slots, where.arm
        phases = Phases(setup, report)
        host_before = setup.laboratory.host.sample()
        with phases("evict"):
            evicted = setup.laboratory.engines.evict(slots.directories)
        with phases("quiet"):
            quiet = await_quiet(setup.laboratory)
        with phases("start"):
            slot = replace(setup.own_slots.slot(where.slot), start_order=where.position)
            instance = slots.start_arm(arm, slot, self._turns.settings.get(arm))
            with slots.naming_kills():
                setup.data.before_clients(instance)
        try:
            with slots.naming_kills():
                observation = self._measure(where, lines, instance, phases)
        except EngineError as failure:
            if isinstance(failure, ArmLostError) or instance.running:
                raise
            raise ArmLostError(arm, "crashed", failure.primary, failure.detail) from failure
        with phases("stop"):
            slots.end_arms(self._choices.upkeep)
        return TurnLine(
            type="turn",
            epoch=where.place.epoch,
            attempt=where.place.attempt,
            arm=arm,
            slot=where.slot,
            position=where.position,
            end=observation.end,
            level=observation.level,
            at_checkpoint=observation.at_checkpoint,
            evicted_bytes=evicted.file_bytes,
            resident_bytes=evicted.resident_bytes,
            quiet=quiet.reached,
            waiting_bytes=quiet.waiting_bytes,
            phases_ns=phases.taken_ns,
            checkpoints=tuple(
                CheckpointLine(
                    began_ns=checkpoint.began_ns,
                    ended_ns=checkpoint.ended_ns,
                    cause=checkpoint.cause,
                )
                for checkpoint in observation.checkpoints
            ),
            at_start=observation.at_start,
            at_end=observation.at_end,
            seconds=observation.measured.columns(),
            read=observation.read.arms[arm],
            violations=observation.read.violations.get(arm, ()),
            machine=reading_lines(
                host_readings(host_before, setup.laboratory.host.sample(), observation.read.host)
            ),
        )

    def _measure(
        self, where: TurnPlace, lines: list[SliceLine], instance: LocalInstance, phases: Phases
    ) -> _MeasuredTurn:
        choices, setup, arm = self._choices, self._setup, where.arm
        readings = ArmReadings(setup, {arm: instance})
        warm, measured, place = SecondSeries(), SecondSeries(), where.place
        with (
            setup.connect({arm: instance}, choices.placement, where.seed, choices.stalls) as load,
            closing(watch_checkpoints(instance, self._clock.now_ns)) as watch,
            WaitSamples(setup.watched({arm: instance}), where.seed, self._clock.now_ns) as waits,
            closing(
                SecondBySecond(setup, load, instance, watch, waits, arm, place, lines)
            ) as seconds,
        ):
            earliest_ns = self._clock.now_ns() + self._turns.limits_of(arm).begin_ns
            with phases("warm up"):
                level = self._warm_up(seconds, warm)
            with phases("wait for a checkpoint"):
                since_ns = max(earliest_ns, self._clock.now_ns())
                level, at_checkpoint = self._wait(arm, seconds, warm, watch, level, since_ns)
            at_start = seconds.debt()
            readings.border()
            with phases("measure"):
                end = self._cycles(arm, seconds, measured, watch, at_checkpoint)
            machine = {arm: load.machine_readings(arm)}
            at_end, checkpoints = seconds.debt(), tuple(watch.checkpoints)
            readings.border()
        with phases("read"):
            read = readings.close(
                [*warm.lines, *measured.lines], (), SliceReadings(waits.lines(), machine)
            )
        debts = at_start, at_end
        return _MeasuredTurn(end, level, at_checkpoint, checkpoints, *debts, measured, read)

    def _warm_up(self, seconds: SecondBySecond, series: SecondSeries) -> bool:
        limit_ns = self._clock.now_ns() + self._turns.warmup_cap_ns
        while not series.level:
            if self._clock.now_ns() >= limit_ns:
                return False
            seconds.run(series, "warmup", self._choices.slice_ns)
        return True

    def _wait(
        self,
        arm: str,
        seconds: SecondBySecond,
        series: SecondSeries,
        watch: CheckpointWatch,
        level: bool,
        since_ns: int,
    ) -> tuple[bool, bool]:
        """Go on until a checkpoint has ended after a moment, or none came in time; whether the load
        was level by then, where it was not before, and whether one has ended."""
        limit_ns = since_ns + self._turns.limits_of(arm).wait_ns
        while not (ended := bool(completed(watch.checkpoints, since_ns))):
            if self._clock.now_ns() >= limit_ns:
                break
            seconds.run(series, "warmup", self._choices.slice_ns)
            level = level or series.level
        return level, ended

    def _cycles(
        self,
        arm: str,
        seconds: SecondBySecond,
        series: SecondSeries,
        watch: CheckpointWatch,
        at_checkpoint: bool,
    ) -> TurnEnd:
        """Measure whole cycles, or for as long as it is stated; what does not begin at the end of a
        checkpoint has none, and goes on for the longest turn."""
        turns, since_ns, ended = self._turns, self._clock.now_ns(), 0
        limits = turns.limits_of(arm)
        while True:
            seconds.run(series, "measured", self._choices.slice_ns)
            took_ns = self._clock.now_ns() - since_ns
            if turns.stated_ns is not None:
                if took_ns >= turns.stated_ns:
                    return "stated"
                continue
            # One that ended since the last second did is the next one's.
            before, ended = ended, len(completed(watch.checkpoints, *series.ends_ns(since_ns)))
            # Elsewhere in a cycle it would be a part of one, alike each time.
            whole = at_checkpoint and ended > before
            if whole and ended >= turns.cycles and took_ns >= limits.least_ns:
                return "cycles"
            if took_ns >= limits.longest_ns:
                return "longest"


_SPENT: Mapping[str, Phase] = {
    "evict": "put back",
    "quiet": "quiet",
    "start": "start",
    "warm up": "warm up",
    "wait for a checkpoint": "warm up",
    "measure": "measure",
    "read": "read",
    "stop": "stop",
}
"""Phase of a turn → that of the weighing's wall time."""


class Phases:
    """Reports the phases of a turn, and keeps what each took."""

    def __init__(self, setup: Setup, report: ReportsPhase) -> None:
        self._setup = setup
        self._now_ns = setup.laboratory.clock.now_ns
        self._report = report
        self.taken_ns: dict[str, int] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """One phase."""
        self._report(name)
        began_ns = self._now_ns()
        try:
            with self._setup.phase(_SPENT[name]):
                yield
        finally:
            self.taken_ns[name] = self._now_ns() - began_ns


def await_quiet(laboratory: Laboratory) -> Quiet:
    """Wait until nothing waits for the device, at most 10 s."""
    host, clock = laboratory.host, laboratory.clock
    limit_ns = clock.now_ns() + QUIET_LIMIT_NS
    while (waiting := host.waiting_bytes()) >= QUIET_BYTES:
        if clock.now_ns() >= limit_ns:
            return Quiet(False, waiting)
        clock.pause(_LOOK_NS)
    return Quiet(True, waiting)


def completed(
    checkpoints: Sequence[Checkpoint], since_ns: int, until_ns: float = math.inf
) -> list[Checkpoint]:
    """Those that ended after a moment, and not after another."""
    return [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.ended_ns is not None and since_ns < checkpoint.ended_ns <= until_ns
    ]


def watch_checkpoints(instance: Instance, now_ns: Callable[[], int]) -> CheckpointWatch:
    """A watch of a server's checkpoints; EngineError: they cannot be seen."""
    if not isinstance(instance, CheckpointsWatched):
        raise EngineError(
            f"engine does not show its checkpoints: {instance.identity.kind}",
            hint="Weigh with --set layout=slices.",
        )
    return instance.watch_checkpoints(DATABASE, now_ns)
