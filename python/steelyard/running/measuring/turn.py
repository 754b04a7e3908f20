"""Runs one turn: an arm alone on the machine, from a cold start over whole checkpoint cycles.

All arms' files are evicted from the page cache, the device is quiet, the arm is started and warmed
until throughput and reads are level; then it is measured from the end of one checkpoint to the end
of the k-th after it, in slices of about a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from steelyard.analysis.pilot.steady_state import mser5
from steelyard.analysis.pilot.turn_lengths import LEAST_MEASURED_S
from steelyard.engines.engine import (
    CheckpointsSeen,
    CheckpointWatch,
    Instance,
    LocalInstance,
    Observable,
    Pulse,
)
from steelyard.engines.loading import DATABASE
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint, TurnEnd
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.record.plan import Choices, TurnChoices
from steelyard.record.slice import SliceLine
from steelyard.record.turn import CheckpointLine, DebtLine, SecondsLine, TurnLine
from steelyard.running.measuring.arm_readings import ArmReadings, ArmsRead, reading_lines
from steelyard.running.measuring.driving import drive
from steelyard.running.measuring.load import Load, Place, Visit
from steelyard.running.measuring.slots import ArmLostError
from steelyard.running.preparing.setup import Setup
from steelyard.telemetry.host import host_readings

QUIET_BYTES = 16 << 20
"""Dirty and under write-back: below it the device is quiet."""
QUIET_LIMIT_NS = 10 * NS_PER_S
_LOOK_NS = 100 * NS_PER_MS
BLOCK_BYTES = 8192
FEW_BLOCKS = 0.01
"""Blocks read a transaction that are level whatever their course."""
FEWEST_SECONDS = 20
"""Of a warm-up: MSER-5 needs four batches of five."""

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
    place: Place
    seed: int

    @property
    def slot(self) -> int:
        """The number of the arm's slot."""
        return self.place.slots[self.arm]


@dataclass
class Series:
    """Seconds of a turn as they end: the lines, and what was read at each border."""

    lines: list[SliceLine] = field(default_factory=list)
    wal_bytes: list[float | None] = field(default_factory=list)
    images: list[float | None] = field(default_factory=list)
    read_bytes: list[float | None] = field(default_factory=list)
    waiting_bytes: list[float | None] = field(default_factory=list)

    @property
    def level(self) -> bool:
        """Whether throughput and reads per transaction have come to their level (MSER-5)."""
        known = self.lines[: len(self.read_bytes)]
        kept = [place for place, line in enumerate(known) if not line.dropped]
        if len(kept) < FEWEST_SECONDS:
            return False
        rates = [self.lines[k].transactions / max(1, self.lines[k].busy_ns) for k in kept]
        if mser5(rates) is None:
            return False
        reads = [
            (self.read_bytes[k] or 0.0) / BLOCK_BYTES / max(1, self.lines[k].transactions)
            for k in kept
        ]
        return max(reads[-5:]) < FEW_BLOCKS or mser5(reads) is not None

    def columns(self) -> SecondsLine:
        """What was read, as the record has it."""
        return SecondsLine(
            wal_bytes=tuple(self.wal_bytes),
            images=tuple(self.images),
            read_bytes=tuple(self.read_bytes),
            waiting_bytes=tuple(self.waiting_bytes),
        )


@dataclass(frozen=True)
class _Border:
    """What was read at the border of two slices."""

    pulse: Pulse | None
    requested_bytes: int
    waiting_bytes: int


class SecondBySecond:
    """Drives an arm in slices of about a second, and reads server and machine at their borders.

    Reading is done beside the next slice: done between two, it would leave the server idle for some
    milliseconds of every second.
    """

    def __init__(
        self,
        setup: Setup,
        load: Load,
        instance: Instance,
        watch: CheckpointWatch,
        where: TurnPlace,
        kept: list[SliceLine],
    ) -> None:
        self._setup = setup
        self._load = load
        self._instance = instance
        self._watch = watch
        self._where = where
        self._kept = kept
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="turn reader")
        self._last = self._read()
        self._due: tuple[Series, Future[_Border]] | None = None

    def run(self, series: Series, kind: str, length_ns: int) -> SliceLine:
        """One more slice of a series; what is read at its end joins the series with the next."""
        visit = Visit(self._where.arm, length_ns, kind, block=len(series.lines), position=0)
        self._kept.extend(drive(self._setup, self._load, [visit], self._where.place))
        self._settle()
        line = self._kept[-1]
        series.lines.append(line)
        self._due = series, self._reader.submit(self._read)
        return line

    def debt(self) -> DebtLine:
        """What the arm owes at the last border."""
        self._settle()
        pulse = self._last.pulse
        return DebtLine(
            wal_bytes=None if pulse is None else pulse.owed_bytes,
            waiting_bytes=float(self._last.waiting_bytes),
        )

    def close(self) -> None:
        """Wait for the reader."""
        self._reader.shutdown()

    def _settle(self) -> None:
        """Have what was read at the last border join its series."""
        if self._due is None:
            return
        series, reading = self._due
        before, self._last, self._due = self._last, reading.result(), None
        after = self._last
        series.wal_bytes.append(_change(before.pulse, after.pulse, "wal_bytes"))
        series.images.append(_change(before.pulse, after.pulse, "images"))
        series.read_bytes.append(float(after.requested_bytes - before.requested_bytes))
        series.waiting_bytes.append(float(after.waiting_bytes))

    def _read(self) -> _Border:
        requested = 0
        if isinstance(self._instance, Observable) and self._instance.running:
            requested = self._instance.use().requested_bytes
        return _Border(self._watch.pulse(), requested, self._setup.laboratory.host.waiting_bytes())


def _change(before: Pulse | None, after: Pulse | None, name: str) -> float | None:
    """None where the server did not tell, or its statistics were reset meanwhile."""
    if before is None or after is None:
        return None
    change = float(getattr(after, name) - getattr(before, name))
    return change if change >= 0 else None


@dataclass(frozen=True)
class _Seen:
    """What was seen of an arm that was measured to the end of its turn."""

    end: TurnEnd
    level: bool
    checkpoints: tuple[Checkpoint, ...]
    at_start: DebtLine
    at_end: DebtLine
    measured: Series
    read: ArmsRead


class TurnRunner:
    """Runs the turns of one weighing."""

    def __init__(self, setup: Setup, choices: Choices) -> None:
        assert choices.turns is not None  # callers check the layout first
        self._setup = setup
        self._choices = choices
        self._turns: TurnChoices = choices.turns
        self._clock = setup.laboratory.clock

    def run(self, where: TurnPlace, kept: list[SliceLine], report: ReportsPhase) -> TurnLine:
        """One turn of an arm whose files are laid; `kept` gets its slices as they end.
        ArmLostError: the arm could not start or survive."""
        setup, slots, arm = self._setup, self._setup.slots, where.arm
        phases = Phases(self._clock.now_ns, report)
        host_before = setup.laboratory.host.sample()
        with phases("evict"):
            evicted = setup.laboratory.engines.evict(slots.directories)
        with phases("quiet"):
            quiet = self._quiet()
        with phases("start"):
            slot = replace(setup.slots.slot(where.slot), start_order=where.position)
            instance = slots.start_arm(arm, slot, self._turns.settings.get(arm))
            setup.data.before_clients(instance)
        try:
            seen = self._measure(where, kept, instance, phases)
        except EngineError as failure:
            if isinstance(failure, ArmLostError) or instance.running:
                raise
            raise ArmLostError(arm, "crashed", failure.primary, failure.detail) from failure
        with phases("stop"):
            slots.stop_arms()
        return TurnLine(
            type="turn",
            epoch=where.place.epoch,
            attempt=where.place.attempt,
            arm=arm,
            slot=where.slot,
            position=where.position,
            end=seen.end,
            level=seen.level,
            evicted_bytes=evicted.file_bytes,
            resident_bytes=evicted.resident_bytes,
            quiet=quiet.reached,
            waiting_bytes=quiet.waiting_bytes,
            phases_ns=phases.taken_ns,
            checkpoints=tuple(
                CheckpointLine(began_ns=one.began_ns, ended_ns=one.ended_ns, cause=one.cause)
                for one in seen.checkpoints
            ),
            at_start=seen.at_start,
            at_end=seen.at_end,
            seconds=seen.measured.columns(),
            read=seen.read.arms[arm],
            violations=seen.read.violations.get(arm, ()),
            machine=reading_lines(host_readings(host_before, setup.laboratory.host.sample())),
        )

    def _measure(
        self, where: TurnPlace, kept: list[SliceLine], instance: LocalInstance, phases: Phases
    ) -> _Seen:
        choices, setup, arm = self._choices, self._setup, where.arm
        readings = ArmReadings(setup, {arm: instance})
        warm, measured = Series(), Series()
        with (
            setup.connect({arm: instance}, choices.placement, where.seed, choices.stalls) as load,
            closing(watch_checkpoints(instance, self._clock.now_ns)) as watch,
            closing(SecondBySecond(setup, load, instance, watch, where, kept)) as seconds,
        ):
            with phases("warm up"):
                level = self._warm_up(seconds, warm)
            with phases("wait for a checkpoint"):
                self._wait(seconds, warm, watch)
            at_start = seconds.debt()
            readings.border()
            with phases("measure"):
                end = self._cycles(seconds, measured, watch)
            at_end, checkpoints = seconds.debt(), tuple(watch.seen)
            readings.border()
        with phases("read"):
            read = readings.close([*warm.lines, *measured.lines])
        return _Seen(end, level, checkpoints, at_start, at_end, measured, read)

    def _quiet(self) -> Quiet:
        """Wait until nothing waits for the device, at most 10 s."""
        host, limit_ns = self._setup.laboratory.host, self._clock.now_ns() + QUIET_LIMIT_NS
        while (waiting := host.waiting_bytes()) >= QUIET_BYTES:
            if self._clock.now_ns() >= limit_ns:
                return Quiet(False, waiting)
            self._clock.pause(_LOOK_NS)
        return Quiet(True, waiting)

    def _warm_up(self, seconds: SecondBySecond, series: Series) -> bool:
        limit_ns = self._clock.now_ns() + self._turns.warmup_cap_ns
        while not series.level:
            if self._clock.now_ns() >= limit_ns:
                return False
            seconds.run(series, "warmup", self._choices.slice_ns)
        return True

    def _wait(self, seconds: SecondBySecond, series: Series, watch: CheckpointWatch) -> None:
        """Go on until a checkpoint has ended, or none came in time."""
        since_ns = self._clock.now_ns()
        while not completed(watch.seen, since_ns):
            if self._clock.now_ns() >= since_ns + self._turns.wait_ns:
                return
            seconds.run(series, "warmup", self._choices.slice_ns)

    def _cycles(self, seconds: SecondBySecond, series: Series, watch: CheckpointWatch) -> TurnEnd:
        turns, since_ns = self._turns, self._clock.now_ns()
        while True:
            seconds.run(series, "measured", self._choices.slice_ns)
            took_ns = self._clock.now_ns() - since_ns
            if turns.stated_ns is not None:
                if took_ns >= turns.stated_ns:
                    return "stated"
                continue
            ended = completed(watch.seen, since_ns)
            if len(ended) >= turns.cycles and took_ns >= LEAST_MEASURED_S * NS_PER_S:
                return "cycles"
            if took_ns >= turns.longest_ns:
                return "longest"


class Phases:
    """Reports the phases of a turn, and keeps what each took."""

    def __init__(self, now_ns: Callable[[], int], report: ReportsPhase) -> None:
        self._now_ns = now_ns
        self._report = report
        self.taken_ns: dict[str, int] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """One phase."""
        self._report(name)
        began_ns = self._now_ns()
        try:
            yield
        finally:
            self.taken_ns[name] = self._now_ns() - began_ns


def completed(checkpoints: Sequence[Checkpoint], since_ns: int) -> list[Checkpoint]:
    """Those that ended after a moment."""
    return [one for one in checkpoints if one.ended_ns is not None and one.ended_ns > since_ns]


def watch_checkpoints(instance: Instance, now_ns: Callable[[], int]) -> CheckpointWatch:
    """A watch of a server's checkpoints; EngineError: they cannot be seen."""
    if not isinstance(instance, CheckpointsSeen):
        raise EngineError(
            f"engine does not show its checkpoints: {instance.identity.kind}",
            hint="Weigh with --set layout=slices.",
        )
    return instance.watch_checkpoints(DATABASE, now_ns)
