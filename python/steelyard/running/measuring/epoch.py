"""Runs one epoch: restart every arm in its slot, reconnect, place, warm up, measure, read.

An epoch that an arm could not start or survive is an outcome, not an error: it is named, counted
and kept out of the estimate. Three in a row end the weighing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from steelyard.engines.engine import Instance
from steelyard.evaluation.threats.machine import SUSPENDED_NS
from steelyard.evaluation.threats.pool_warmth import PARTS
from steelyard.evaluation.workload_rows import work_per_minute
from steelyard.model.errors import DriverError, EngineError, ServerError, SteelyardError
from steelyard.model.readings import Reading
from steelyard.record.epoch import ArmLine, Epoch, EpochLine, PartLine, ReadingLine
from steelyard.record.plan import Choices
from steelyard.record.recorded import SLICES, TELEMETRY
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epoch_totals
from steelyard.running.measuring.counted import counted_visits
from steelyard.running.measuring.load import Load, Place, Visit, lay_out
from steelyard.running.measuring.slots import ArmLostError
from steelyard.running.preparing.setup import Setup
from steelyard.study.design import block_count
from steelyard.telemetry.host import host_readings
from steelyard.telemetry.source import EpochTelemetry

COMPLETE = "complete"


@dataclass(frozen=True)
class _Ending:
    """How an epoch went."""

    outcome: str = COMPLETE
    error: tuple[str, ...] = ()

    @classmethod
    def of(cls, outcome: str, failure: SteelyardError) -> _Ending:
        return cls(outcome, tuple(failure.lines()))


@dataclass(frozen=True)
class _Seen:
    """What was read of the arms of an epoch that was measured to its end."""

    arms: Mapping[str, ArmLine] = field(default_factory=dict)
    violations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
        place = Place(epoch, attempt, slots=slots)
        lines: list[SliceLine] = []
        host = self._setup.laboratory.host
        host_before = host.sample()
        ending, seen = self._measure_or_lose(place, lines)
        if ending.outcome != COMPLETE:
            self._keep_logs(epoch)
        line = EpochLine(
            type="epoch",
            epoch=epoch,
            attempt=attempt,
            slots=slots,
            start_order=self._design.start_order(epoch),
            outcome=ending.outcome,
            error=ending.error,
            arms=seen.arms,
            loads=self._setup.loads_of(epoch),
            violations=seen.violations,
            machine=_lines(host_readings(host_before, host.sample())),
        )
        self._setup.record.append(TELEMETRY, line.to_json())
        return Epoch(line, epoch_totals(line, lines))

    def _measure_or_lose(self, place: Place, lines: list[SliceLine]) -> tuple[_Ending, _Seen]:
        ending, seen = _Ending(), _Seen()
        try:
            choices = self._choices
            arms = self._setup.started_arms(place.epoch, choices.upkeep, choices.warm)
            with arms as standing:
                try:
                    seen = self._measure(place, standing, lines)
                except (EngineError, DriverError) as failure:
                    ending = _Ending.of(_blame(standing, failure), failure)
        except ArmLostError as failure:
            ending = _Ending.of(failure.outcome, failure)
        except ServerError as failure:  # it did its work and would not stop
            if ending.outcome == COMPLETE:
                ending = _Ending.of(f"failed: {failure.primary}", failure)
        return ending, seen

    def _measure(
        self, place: Place, standing: Mapping[str, Instance], lines: list[SliceLine]
    ) -> _Seen:
        data = self._setup.data
        telemetry = EpochTelemetry(self._setup.laboratory.sources, standing)
        done_before = {arm: data.work_counts(instance) for arm, instance in standing.items()}
        seed = self._design.script_seed(place.epoch)
        placement, stalls = self._choices.placement, self._choices.stalls
        with self._setup.connect(standing, placement, seed, stalls) as load:
            warm_up, measured = self._visits(place.epoch)
            self._drive(load, warm_up, place, lines)
            borders = self._part_borders(measured)
            telemetry.border()
            for first, after in zip(borders, [*borders[1:], None], strict=True):
                part = [
                    v for v in measured if v.block >= first and (after is None or v.block < after)
                ]
                self._drive(load, part, place, lines)
                telemetry.border()
        telemetry.close()
        arms = {}
        for arm, instance in standing.items():
            own = [line for line in lines if line.arm == arm]
            line = _arm_line(own, telemetry, arm, borders if len(borders) == PARTS else ())
            done = data.work_counts(instance)
            arms[arm] = line.model_copy(
                update={
                    "work_per_minute": work_per_minute(done_before[arm], done, own),
                    "probes": data.probes(instance),
                }
            )
        violations = {arm: tuple(data.violations(instance)) for arm, instance in standing.items()}
        return _Seen(arms, violations)

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

    def _drive(
        self, load: Load, visits: Sequence[Visit], place: Place, lines: list[SliceLine]
    ) -> None:
        """Run visits and keep their lines; ArmLostError where an arm lost its connections."""
        detector = SuspendDetector(self._setup.laboratory.clock.suspended_ns)
        for answered in load.run(visits, place):
            slept = detector.affected()
            line = answered.model_copy(update={"dropped": DROPPED}) if slept else answered
            self._setup.record.append(SLICES, line.to_json())
            lines.append(line)
            if line.lost:
                raise ArmLostError.in_slice(line.arm, line.errors)

    def _keep_logs(self, epoch: int) -> None:
        """The servers' logs of an epoch that was lost, beside the record's other files."""
        for slot, log in self._setup.laboratory.engines.server_logs().items():
            self._setup.record.write(f"server-epoch{epoch + 1}-{slot}.log", log)


def _arm_line(
    own: Iterable[SliceLine], telemetry: EpochTelemetry, arm: str, borders: Sequence[int]
) -> ArmLine:
    """What an arm did; its work a minute and its probes are added by the caller."""
    every = list(own)
    measured = [line for line in every if line.kind == "measured"]
    parts = telemetry.parts(arm)
    return ArmLine(
        driver_cpu_ns=sum(line.driver_cpu_ns for line in measured),
        transactions=sum(line.transactions for line in measured),
        all_transactions=sum(line.transactions for line in every),
        readings=_lines(telemetry.readings(arm)),
        parts=tuple(
            PartLine(first_block=first, values=values)
            for first, values in zip(borders, parts, strict=False)
        ),
    )


def _lines(readings: Iterable[Reading]) -> tuple[ReadingLine, ...]:
    """Without what says nothing; a value of 0 is one."""
    kept = (
        {name: value for name, value in asdict(one).items() if value != "" and value is not False}
        for one in readings
    )
    return tuple(ReadingLine.model_validate(one) for one in kept)


def _blame(standing: Mapping[str, Instance], failure: EngineError | DriverError) -> str:
    """Which arms did not survive; a failure that is no arm's is named by its own words."""
    dead = {arm for arm, instance in standing.items() if not instance.running}
    if isinstance(failure, ArmLostError):
        dead.add(failure.arm)
    return f"crashed: {', '.join(sorted(dead))}" if dead else f"failed: {failure.primary}"


DROPPED = "machine suspended"
"""What a dropped slice's line in the record says."""


class SuspendDetector:
    """Tells after every slice whether that slice is to be dropped."""

    def __init__(self, suspended_ns: Callable[[], int]) -> None:
        self._suspended_ns = suspended_ns
        self._before_ns = suspended_ns()

    def affected(self) -> bool:
        """Whether the machine was suspended since the last call."""
        before_ns, self._before_ns = self._before_ns, self._suspended_ns()
        return self._before_ns - before_ns > SUSPENDED_NS
