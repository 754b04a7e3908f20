"""Runs the epochs of a weighing in cycles: fine slices of all arms inside whole checkpoint cycles.

All arms run, but each stands wholly still while another is under load, so that its background works
in its own time alone. After a checkpoint of each arm the load moves from arm to arm in slices drawn
in blocks, until every arm was measured from the begin of one of its own checkpoints to the begin of
the k-th after it. Arms that are through stay in the blocks until the last one is: what each meets
is the same throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager

from steelyard.engines.engine import Instance
from steelyard.model.errors import DriverError, EngineError, ServerError
from steelyard.model.units import NS_PER_S
from steelyard.record.epoch import Epoch, EpochLine, WindowLine
from steelyard.record.plan import Choices, TurnChoices
from steelyard.record.reader import TELEMETRY
from steelyard.record.slice import SliceLine
from steelyard.record.spent import Phase
from steelyard.record.totals import epoch_totals
from steelyard.running.cycles.series import ArmSeries, ArmWindow
from steelyard.running.cycles.suspension import ArmSuspension
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.arm_readings import (
    ArmReadings,
    EpochReadings,
    SliceReadings,
    reading_lines,
)
from steelyard.running.measuring.driving import drive
from steelyard.running.measuring.epoch import (
    COMPLETE,
    Ending,
    blame,
    evicted_line,
    keep_logs,
    with_other_loads,
)
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.measuring.observation import checkpointer_of
from steelyard.running.measuring.wait_samples import WaitSamples
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.turn import watch_checkpoints
from steelyard.study.design import Design
from steelyard.telemetry.host import host_readings

BLOCKS_AT_ONCE = 2_000
"""Whose orders are drawn together: more than most epochs have."""


class CyclesRunner:
    """Runs the epochs of one weighing in cycles."""

    def __init__(self, setup: Setup, choices: Choices, progress: Progress) -> None:
        assert choices.turns is not None  # callers check the layout first
        self._setup = setup
        self._choices = choices
        self._limits: TurnChoices = choices.turns
        self._progress = progress
        self._design = setup.design
        self._clock = setup.laboratory.clock
        self._began_ns = self._clock.now_ns()

    def run(self, epoch: int, attempt: int = 1) -> Epoch:
        """Run one epoch and write its lines. Raises nothing for an arm that died: the outcome says
        so."""
        setup, design = self._setup, self._design
        place = SlicePlace(epoch, attempt, slots=design.slots_of(epoch))
        self._began_ns = self._clock.now_ns()
        lines: list[SliceLine] = []
        host = setup.laboratory.host
        host_before, others_before = host.sample(), host.other_loads()
        ending, readings, windows = self._measure_or_lose(place, lines)
        if ending.outcome != COMPLETE:
            keep_logs(setup, epoch)
        line = EpochLine(
            type="epoch",
            epoch=epoch,
            attempt=attempt,
            slots=place.slots,
            start_order=design.start_order(epoch),
            outcome=ending.outcome,
            error=ending.error,
            arms=readings.arms,
            loads=setup.loads_of(epoch),
            violations=readings.violations,
            evicted=evicted_line(setup.slots.evicted),
            windows=windows,
            machine=reading_lines(host_readings(host_before, host.sample(), readings.host)),
        )
        line = with_other_loads(line, others_before, host.other_loads())
        setup.record.append(TELEMETRY, line.to_json())
        return Epoch(line, epoch_totals(line, lines))

    def _measure_or_lose(
        self, place: SlicePlace, lines: list[SliceLine]
    ) -> tuple[Ending, EpochReadings, Mapping[str, WindowLine]]:
        ending, readings, windows = Ending(), EpochReadings(), dict[str, WindowLine]()
        try:
            arms = self._setup.started_arms(
                place.epoch, self._choices.upkeep, settings=self._limits.settings
            )
            with arms as instances:
                try:
                    readings = self._measure(place, instances, lines, windows)
                except (EngineError, DriverError) as failure:
                    lost = ArmLostError.at_its_cap(instances) or failure
                    ending = Ending.of(blame(instances, lost), lost)
        except ArmLostError as failure:
            ending = Ending.of(failure.outcome, failure)
        except ServerError as failure:  # it did its work and would not stop
            if ending.outcome == COMPLETE:
                ending = Ending.of(f"failed: {failure.primary}", failure)
        return ending, readings, windows

    def _measure(
        self,
        place: SlicePlace,
        instances: Mapping[str, Instance],
        lines: list[SliceLine],
        windows: dict[str, WindowLine],
    ) -> EpochReadings:
        setup, choices = self._setup, self._choices
        readings = ArmReadings(setup, instances)
        seed = self._design.script_seed(place.epoch)
        with (
            setup.connect(instances, choices.placement, seed, choices.stalls) as load,
            WaitSamples(setup.watched(instances), seed, self._clock.now_ns) as waits,
            self._series(instances) as series,
        ):
            self._checkpoint(place.epoch, instances)
            suspension = ArmSuspension(instances)
            arm_windows = {arm: ArmWindow(arm, series[arm], self._limits) for arm in instances}
            with suspension.suspend_all():
                self._blocks(place, load, waits, suspension, arm_windows, readings, lines)
                for arm, each in series.items():
                    with suspension.awake(arm):
                        each.finish()
            windows |= {arm: arm_windows[arm].line(suspension.used_ns[arm]) for arm in instances}
            machine = {arm: load.machine_readings(arm) for arm in instances}
        return readings.close(lines, (), SliceReadings(waits.lines(), machine))

    def _blocks(
        self,
        place: SlicePlace,
        load: Load,
        waits: WaitSamples,
        suspension: ArmSuspension,
        windows: Mapping[str, ArmWindow],
        readings: ArmReadings,
        lines: list[SliceLine],
    ) -> None:
        """Blocks of one slice an arm, until every arm was measured; each is read where its own
        window begins and ends."""
        design = self._design
        orders = orders_of(design, place.epoch)
        block = 0
        while not all(window.over for window in windows.values()):
            self._report(place.epoch, windows)
            for position, number in enumerate(next(orders)):
                arm = design.arms[number]
                window = windows[arm]
                kind = window.next_kind()
                visit = Visit(arm, self._choices.slice_ns, kind, block, position)
                phase: Phase = "measure" if kind == "measured" else "warm up"
                with self._setup.phase(phase), suspension.awake(arm):
                    window.series.begin()
                    driven = drive(self._setup, load, [visit], place)
                    lines.extend(waits.during([visit], driven) if kind == "measured" else driven)
                    window.add(lines[-1], load.device_use())
                    if window.next_kind() != kind:
                        window.series.finish()  # what is asked now is in no slice's figures
                        readings.border_of(arm)
            block += 1

    def _checkpoint(self, epoch: int, instances: Mapping[str, Instance]) -> None:
        """One checkpoint of each arm, in the order in which they were started."""
        with self._setup.phase("warm up"):
            for arm in self._design.start_order(epoch):
                with closing(checkpointer_of(instances[arm])) as session:
                    session.checkpoint()

    @contextmanager
    def _series(self, instances: Mapping[str, Instance]) -> Iterator[dict[str, ArmSeries]]:
        with ExitStack() as stack:
            series = {}
            for arm, instance in instances.items():
                watch = stack.enter_context(
                    closing(watch_checkpoints(instance, self._clock.now_ns))
                )
                series[arm] = stack.enter_context(
                    closing(ArmSeries(instance, watch, self._setup.laboratory.host))
                )
            yield series

    def _report(self, epoch: int, windows: Mapping[str, ArmWindow]) -> None:
        warm = all(window.phase == "measure" for window in windows.values())
        self._progress.turn(epoch + 1, "", "measure" if warm else "warm up", self._left(epoch))

    def _left(self, epoch: int) -> float | None:
        """Seconds until the last planned epoch will have ended, as the plan expects them."""
        whole = self._choices.epochs - epoch
        each_s = self._limits.turn_ns * len(self._design.arms) / NS_PER_S
        spent_s = (self._clock.now_ns() - self._began_ns) / NS_PER_S
        return max(0.0, whole * each_s - spent_s) if whole > 0 else None


def orders_of(design: Design, epoch: int) -> Iterator[tuple[int, ...]]:
    """The order of the arms in block after block of an epoch, without an end: the limits of its
    windows end it."""
    drawn = 0
    while True:
        blocks = design.blocks(epoch, drawn + BLOCKS_AT_ONCE)  # a longer list begins alike
        yield from blocks[drawn:]
        drawn = len(blocks)
