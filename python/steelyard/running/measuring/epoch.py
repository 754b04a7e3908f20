"""Runs one epoch: restart every arm in its slot, reconnect, place, warm up, measure, read.

An epoch that an arm could not start or survive is an outcome, not an error: it is named, counted
and kept out of the estimate. Three in a row end the weighing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from steelyard.engines.engine import Instance
from steelyard.engines.page_cache import Evicted
from steelyard.evaluation.threats.pool_warmth import PARTS
from steelyard.model.errors import DriverError, EngineError, ServerError, SteelyardError
from steelyard.model.secrets.redaction import redacted
from steelyard.record.epoch import Epoch, EpochLine, EvictedLine, OtherLoadLine
from steelyard.record.plan import Choices
from steelyard.record.reader import TELEMETRY
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epoch_totals
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.arm_readings import (
    ArmReadings,
    EpochReadings,
    SliceReadings,
    reading_lines,
)
from steelyard.running.measuring.counted import counted_visits
from steelyard.running.measuring.driving import drive
from steelyard.running.measuring.load import Load, SlicePlace, Visit, lay_out
from steelyard.running.measuring.wait_samples import WaitSamples
from steelyard.running.preparing.setup import Setup
from steelyard.study.design import block_count
from steelyard.telemetry.host import host_readings

COMPLETE = "complete"


@dataclass(frozen=True)
class Ending:
    """How an epoch went."""

    outcome: str = COMPLETE
    error: tuple[str, ...] = ()

    @classmethod
    def of(cls, outcome: str, failure: SteelyardError) -> Ending:
        return cls(outcome, tuple(failure.lines()))


class EpochRunner:
    """Runs the epochs of one weighing, each on its own restart."""

    def __init__(self, setup: Setup, choices: Choices) -> None:
        self._setup = setup
        self._design = setup.design
        self._choices = choices

    def run(self, epoch: int, attempt: int = 1) -> Epoch:
        """Run one epoch and write its lines; `attempt` tells a resumed epoch from its torn first.

        Raises nothing for an arm that died: the outcome says so.
        """
        slots = self._design.slots_of(epoch)
        place = SlicePlace(epoch, attempt, slots=slots)
        lines: list[SliceLine] = []
        host = self._setup.laboratory.host
        host_before, others_before = host.sample(), host.other_loads()
        ending, readings = self._measure_or_lose(place, lines)
        if ending.outcome != COMPLETE:
            keep_logs(self._setup, epoch)
        line = EpochLine(
            type="epoch",
            epoch=epoch,
            attempt=attempt,
            slots=slots,
            start_order=self._design.start_order(epoch),
            outcome=ending.outcome,
            error=ending.error,
            arms=readings.arms,
            loads=self._setup.loads_of(epoch),
            violations=readings.violations,
            evicted=evicted_line(self._setup.slots.evicted),
            machine=(
                *reading_lines(host_readings(host_before, host.sample(), readings.host)),
                *readings.ended,
            ),
        )
        line = with_other_loads(line, others_before, host.other_loads())
        self._setup.record.append(TELEMETRY, line.to_json())
        return Epoch(line, epoch_totals(line, lines))

    def _measure_or_lose(
        self, place: SlicePlace, lines: list[SliceLine]
    ) -> tuple[Ending, EpochReadings]:
        ending, readings = Ending(), EpochReadings()
        try:
            choices = self._choices
            arms = self._setup.started_arms(place.epoch, choices.upkeep, choices.warm)
            with arms as instances:
                try:
                    readings = self._measure(place, instances, lines)
                except (EngineError, DriverError) as failure:
                    lost = ArmLostError.at_its_cap(instances) or failure
                    ending = Ending.of(blame(instances, lost), lost)
        except ArmLostError as failure:
            ending = Ending.of(failure.outcome, failure)
        except ServerError as failure:  # it did its work and would not stop
            if ending.outcome == COMPLETE:
                ending = Ending.of(f"failed: {failure.primary}", failure)
        return ending, readings

    def _measure(
        self, place: SlicePlace, instances: Mapping[str, Instance], lines: list[SliceLine]
    ) -> EpochReadings:
        readings = ArmReadings(self._setup, instances)
        seed = self._design.script_seed(place.epoch)
        placement, stalls = self._choices.placement, self._choices.stalls
        watched, now_ns = self._setup.watched(instances), self._setup.laboratory.clock.now_ns
        with (
            self._setup.connect(instances, placement, seed, stalls) as load,
            WaitSamples(watched, seed, now_ns) as waits,
        ):
            warm_up, measured = self._visits(place.epoch)
            with self._setup.phase("warm up"):
                lines.extend(drive(self._setup, load, warm_up, place))
            borders = self._part_borders(measured)
            readings.border()
            for first, after in zip(borders, [*borders[1:], None], strict=True):
                part = [
                    v for v in measured if v.block >= first and (after is None or v.block < after)
                ]
                with self._setup.phase("measure"):
                    lines.extend(waits.during(part, self._driven(load, part, place)))
                readings.border()
            machine = {arm: load.machine_readings(arm) for arm in instances}
        parts = borders if len(borders) == PARTS else ()
        return readings.close(lines, parts, SliceReadings(waits.lines(), machine))

    def _driven(
        self, load: Load, visits: Sequence[Visit], place: SlicePlace
    ) -> Iterator[SliceLine]:
        """Measured visits, each recorded as it ends."""
        return drive(self._setup, load, visits, place)

    def _part_borders(self, measured: Sequence[Visit]) -> list[int]:
        """The first blocks of four equal parts of the measured visits; reads are taken there."""
        blocks = 1 + max(visit.block for visit in measured)
        by_time = self._setup.study.budget.counted is None and blocks >= PARTS
        return [blocks * part // PARTS for part in range(PARTS)] if by_time else [0]

    def _visits(self, epoch: int) -> tuple[list[Visit], list[Visit]]:
        choices, arms = self._choices, self._design.arms
        if self._setup.study.budget.counted is not None:
            return counted_visits(self._design, epoch, self._setup.study)
        warm_blocks = block_count(choices.warmup_ns, len(arms), choices.visit_ns)
        blocks = block_count(self._design.epoch_ns, len(arms), choices.visit_ns)
        length_ns = choices.slice_ns
        return lay_out(self._design, epoch, warm_blocks, blocks, length_ns=length_ns)


def with_other_loads(line: EpochLine, *samples: Sequence[OtherLoadLine]) -> EpochLine:
    """The line with what else was measured on the machine meanwhile, where there was any."""
    every = tuple(dict.fromkeys(load for some in samples for load in some))
    return line.model_copy(update={"other_loads": every}) if every else line


def keep_logs(setup: Setup, epoch: int) -> None:
    """The servers' logs of an epoch that was lost, beside the record's other files."""
    for slot, log in setup.laboratory.engines.server_logs().items():
        setup.record.write(f"server-epoch{epoch + 1}-{slot}.log", redacted(log))


@contextmanager
def logs_on_failure(setup: Setup) -> Iterator[None]:
    """After a ServerError copy the servers' logs into the record: their directories are about to be
    removed."""
    try:
        yield
    except ServerError as failure:
        logs = setup.laboratory.engines.server_logs()
        for slot, log in logs.items():
            setup.record.write(f"server-{slot}.log", redacted(log))
        if logs:
            failure.hint = f'The servers\' logs are kept in "{setup.record.directory}".'
        raise


def evicted_line(evicted: Evicted | None) -> EvictedLine | None:
    """What stayed of files that were dropped from the page cache; None: none were."""
    if evicted is None:
        return None
    return EvictedLine(file_bytes=evicted.file_bytes, resident_bytes=evicted.resident_bytes)


def blame(instances: Mapping[str, Instance], failure: EngineError | DriverError) -> str:
    """Which arms did not survive; a failure that is no arm's is named by its own words."""
    if isinstance(failure, ArmLostError) and failure.how == "out of memory":
        return failure.outcome
    dead = {arm for arm, instance in instances.items() if not instance.running}
    if isinstance(failure, ArmLostError):
        dead.add(failure.arm)
    return f"crashed: {', '.join(sorted(dead))}" if dead else f"failed: {failure.primary}"
