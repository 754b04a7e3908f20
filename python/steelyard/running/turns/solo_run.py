"""Drives an arm alone before the turns, second by second: its log, its checkpoints, its waits.

The look goes on until it has seen a whole cycle, begin to begin (one turn of the log where no begin
is to be seen), or as long as any cycle that the budget can hold: the mean of the first seconds
after a start is that of the burst of images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.pool_level import level_after
from steelyard.analysis.pilot.turn_lengths import LEAST_LOOK_S
from steelyard.engines.capabilities.checkpoints import CheckpointWatch, Cycle, CycleSettings
from steelyard.engines.engine import Engine, Instance, Settings
from steelyard.evaluation.threats.pool_warmth import BLOCK_BYTES
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.background_work import find_stalls
from steelyard.running.measuring.driving import drive_pilot, require_work
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.measuring.observation import WaitSampling, settings_of, use_while_running
from steelyard.running.preparing.setup import Setup
from steelyard.running.turns.turn import await_quiet, watch_checkpoints
from steelyard.telemetry.devices import DeviceCounts

PILOT = -2
SECOND_NS = NS_PER_S


@dataclass(frozen=True)
class SoloRun:
    """What the pilot saw of one arm."""

    lines: tuple[SliceLine, ...]
    log: LogCurve
    cycle_s: float | None  # mean of the whole cycles that it saw
    cycle: Cycle
    settings: Settings  # as the server reports them
    wal_flush_share: float
    level_s: float | None  # of load, until it read evenly; None: it did not by the end
    idle_ns: int  # without load, from the eviction to the stop
    driver_io: str
    file_bytes: int  # of all arms
    dirtied_bytes: float  # a transaction, in the later half; NaN: not counted
    written_bytes: float  # by the devices, likewise; NaN: none is to be seen
    queue: float  # requests under way on the devices then, on average; NaN: none is to be seen


@dataclass
class _Written:
    """What an arm's processes and the devices beneath it did in each second of a look."""

    dirtied_bytes: list[int] = field(default_factory=list)
    read_bytes: list[int] = field(default_factory=list)  # with what the page cache had
    devices: list[DeviceCounts | None] = field(default_factory=list)

    def per_transaction(self, lines: Sequence[SliceLine]) -> tuple[float, float]:
        """Bytes dirtied, and written by the devices, in the later half, when what was read at the
        start is in memory."""
        half = len(lines) // 2
        done = sum(line.transactions for line in lines[half:])
        written = [use.written_bytes for use in self.devices[half:] if use is not None]
        dirtied = sum(self.dirtied_bytes[half:]) / done if done else math.nan
        return dirtied, sum(written) / done if written and done else math.nan

    def level_s(self, lines: Sequence[SliceLine]) -> float | None:
        """Load until blocks read per transaction were level; None: they still fell."""
        reads = [
            read / BLOCK_BYTES / max(1, line.transactions)
            for line, read in zip(lines, self.read_bytes, strict=True)
        ]
        after = level_after(reads)
        if after is None:
            return None
        return sum(line.end_ns - line.start_ns for line in lines[:after]) / NS_PER_S

    def queue(self, lines: Sequence[SliceLine]) -> float:
        """Requests under way on average in the later half."""
        half = len(lines) // 2
        pairs = [(line, use) for line, use in zip(lines, self.devices, strict=True) if use][half:]
        took_ns = sum(line.end_ns - line.start_ns for line, _ in pairs)
        queued_ns = sum(use.queued_ms for _, use in pairs) * NS_PER_MS
        return queued_ns / took_ns if took_ns else math.nan


def cycle_engine(setup: Setup, arm: str) -> CycleSettings:
    """The engine of an arm, which must know what spaces checkpoints."""
    return require_cycles(setup.own_slots.arms[arm].engine)


def require_cycles(engine: Engine) -> CycleSettings:
    """The engine; EngineError: it does not know what spaces its checkpoints."""
    if not isinstance(engine, CycleSettings):
        raise EngineError(
            f'engine "{engine.identity.kind}" does not say what spaces its checkpoints',
            hint="Weigh with --set layout=slices.",
        )
    return engine


def drive_alone(setup: Setup, arm: str, placement: str, most_s: float) -> SoloRun:
    """An arm alone under load until a whole cycle was seen, for `most_s` at most; before and after
    it what a turn has there, so that `idle_ns` is that of a turn."""
    clock, slots, design = setup.laboratory.clock, setup.own_slots, setup.design
    engine = cycle_engine(setup, arm)
    began_ns = clock.now_ns()
    with setup.phase("put back"):
        evicted = setup.laboratory.engines.evict(slots.directories)
    with setup.phase("quiet"):
        await_quiet(setup.laboratory)
    instance = slots.start_arm(arm, slots.slot(design.slots_of(0)[arm]), engine.log_checkpoints)
    with setup.phase("start"):
        setup.data.before_clients(instance)
    settings, stalls = settings_of(instance), find_stalls(setup.study, None)
    cycle = engine.cycle(settings)
    enough_bytes = cycle.wal_bytes if cycle.continuous else math.inf
    with (
        setup.connect({arm: instance}, placement, design.script_seed(PILOT), stalls) as load,
        closing(watch_checkpoints(instance, clock.now_ns)) as watch,
    ):
        waits, loaded_ns = WaitSampling([instance]), clock.now_ns()
        try:
            with setup.phase("pilot"):
                lines, log, written = _drive(
                    setup, load, instance, arm, watch, most_s, enough_bytes
                )
        finally:
            share = waits.stop()
        took_ns, driver_io = clock.now_ns() - loaded_ns, load.io
        checkpoints = tuple(watch.checkpoints)
    with setup.phase("read"):
        setup.data.violations(instance)  # for its time: the epochs report what is wrong
    slots.stop_arms()
    dirtied, wrote = written.per_transaction(lines)
    return SoloRun(
        lines=lines,
        log=log,
        cycle_s=whole_cycle_s(checkpoints),
        cycle=cycle,
        settings=settings,
        wal_flush_share=share,
        level_s=written.level_s(lines),
        idle_ns=clock.now_ns() - began_ns - took_ns,
        driver_io=driver_io,
        file_bytes=evicted.file_bytes,
        dirtied_bytes=dirtied,
        written_bytes=wrote,
        queue=written.queue(lines),
    )


def _drive(
    setup: Setup,
    load: Load,
    instance: Instance,
    arm: str,
    watch: CheckpointWatch,
    most_s: float,
    enough_bytes: float,
) -> tuple[tuple[SliceLine, ...], LogCurve, _Written]:
    """Seconds of load, the log that was written until each of them ended, and what was dirtied
    and read."""
    now_ns, use = setup.laboratory.clock.now_ns, _Written()
    first, since_ns, done = watch.pulse(), now_ns(), use_while_running(instance)
    lines: list[SliceLine] = []
    seconds, written = [0.0], [0.0]
    while seconds[-1] < LEAST_LOOK_S or (
        whole_cycle_s(watch.checkpoints) is None
        and written[-1] < enough_bytes
        and seconds[-1] < most_s
    ):
        visit = Visit(arm, SECOND_NS, "pilot", len(lines), 0)
        lines += drive_pilot(setup, load, [visit], SlicePlace(PILOT, run=1))
        after, before, done = watch.pulse(), done, use_while_running(instance)
        use.dirtied_bytes.append(max(0, done.written_bytes - before.written_bytes))
        use.read_bytes.append(max(0, done.requested_bytes - before.requested_bytes))
        use.devices.append(load.device_use())
        seconds.append((now_ns() - since_ns) / NS_PER_S)
        if first is None or after is None:  # it died, which the next second reports
            written.append(written[-1])
        else:
            written.append(after.wal_bytes - first.wal_bytes)
        if seconds[-2] < LEAST_LOOK_S <= seconds[-1]:
            require_work(lines)
    return tuple(lines), LogCurve.of(seconds, written), use


def whole_cycle_s(checkpoints: Sequence[Checkpoint]) -> float | None:
    """Mean time from the begin of one checkpoint to that of the next; None: fewer than two."""
    begins = [checkpoint.began_ns for checkpoint in checkpoints]
    if len(begins) < 2:
        return None
    return (begins[-1] - begins[0]) / (len(begins) - 1) / NS_PER_S
