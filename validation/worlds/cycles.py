"""Worlds of cycles: what a machine could do to arms that alternate in their own time, truth known.

An epoch is blocks of a slice of half a second of either arm in drawn order, while the machine goes
on; an arm is measured from the begin of its first checkpoint after the warm-up to the begin of the
second after it, two cycles of 30 s of its own time. The same machine is drawn for turns too: either
arm alone for as long, in drawn order, a restart and a warm-up apart. Speeds become transactions,
and the product's own reading of windows makes everything else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import ThreatKind
from steelyard.model.turn import Checkpoint, Debt, Second, Turn
from steelyard.record.epoch import Epoch, EpochLine, WindowLine
from steelyard.record.turns.seconds import DeviceSecondsLine, SecondsLine
from steelyard.study.design import balanced_orders
from validation.worlds.world import Bools, Floats, draw_slots

ARMS = ("control", "arm")
CYCLE_S = 30.0
SLICE_S = 0.5
BORDER_S = 0.02
CYCLES = 2
BLOCKS = 200
"""Of an epoch: enough for the warm-up and both windows."""
SLICES = 2 * BLOCKS
RESTART = 40
"""Slices that a restart takes, in which the machine goes on."""
CLIENTS = 8
RATE = 2_000
"""Transactions a second at speed 1."""
SLICE_SD = 0.08
"""Standard deviation of the log speed of single slices."""
LUCK_SD = 0.014
"""Of a server's life: 2 % between two."""
FADES_S = 4.0
"""A burst after a checkpoint falls to a third in so many seconds."""
APART_S = 1.0
"""A checkpoint begins up to so much later than its time."""
WAL_BYTES, IMAGES, PAGE = 4_000.0, 4.0, 8_192
DEBT_SD = 0.01
"""Of what a window leaves unpaid, as a share of its log."""
NS, MIB = 1_000_000_000, 1 << 20
_STEPS = 20
"""Parts of a slice for which a burst is taken as constant."""


@dataclass(frozen=True)
class CycleWorld:
    """One way for a machine and two arms to behave in cycles."""

    name: str
    formula: str
    """For the reader of docs/results/validation.md."""
    wander: float = 0.0
    """Sd of the machine's log speed, AR(1) with a correlation of 3 minutes."""
    gusts: float = 0.0
    """The same with a correlation of 5 seconds."""
    falls: float = 0.0
    """Chance that the machine loses a quarter for a minute, in any minute."""
    depths: tuple[float, float] = (0.0, 0.0)
    """Speed lost at the begin of a checkpoint, by arm."""
    cycles_s: tuple[float, float] = (CYCLE_S, CYCLE_S)
    """Own time between checkpoints, by arm."""
    planned_s: tuple[float, float] | None = None
    """As the plan has it, where that is another."""
    late_s: float = 0.0
    """The arm's checkpoints begin so much later than the control's."""
    tires: float = 0.0
    """Log speed that every server loses in a minute of its own time."""
    ages: float = 0.0
    """How far the log ratio moves over the epochs, about its mean."""
    writes: tuple[float, float] = (0.0, 0.0)
    """Share of an arm's time that the write-back of its pages takes, by arm."""
    leaks: float = 0.0
    """Share of it that falls evenly into the slices of both arms, in cycles."""
    queue: float = 0.2
    """Requests under way on the device, on average."""
    thaws: tuple[float, float] = (0.0, 0.0)
    """Time that timers take at the begin of a slice after an arm stood still, s, by arm."""
    tied: float = 0.0
    """What the arm gains by what is tied to it and is not the treatment, log."""
    carried: bool = False
    """The plan carries each directory with its arm; else `fixed` says whether it stays there."""
    fixed: bool = False
    moved_ns: int = 0
    """Processor time that a process of the arm uses while its arm is to stand still."""
    cut: bool = False
    """Windows are cut at times, not at checkpoints, and end within a cycle."""
    must_raise: ThreatKind | None = None
    """The threat of a balance that is broken on purpose."""
    stated: bool = False
    """What cycles cannot see: the truth is missed, by as much as is stated."""

    @property
    def truth(self) -> float:
        """The log ratio of work over whole cycles that is the treatment's."""
        planned = self.planned_s or self.cycles_s
        speeds = [
            _mean_speed(depth, 0.0, cycle_s) * (1 - writes)
            for depth, cycle_s, writes in zip(self.depths, planned, self.writes, strict=True)
        ]
        return float(np.log(speeds[1] / speeds[0]))

    def truth_between(self, from_s: float, to_s: float) -> float:
        """The same between two times since a checkpoint began."""
        control, arm = (
            _mean_speed(depth, from_s, to_s) * (1 - writes)
            for depth, writes in zip(self.depths, self.writes, strict=True)
        )
        return float(np.log(arm / control))

    def draw(self, rng: np.random.Generator, weighings: int, epochs: int) -> Iterator[Weighing]:
        """So many weighings of so many epochs, in cycles and in turns."""
        orders = random.Random(int(rng.integers(1 << 62)))
        for drawn in draw_slots(rng, weighings, epochs):
            leads = [order[0] == 1 for order in balanced_orders(2, epochs, orders)]
            first = np.ones_like(drawn) if self.fixed else drawn
            yield Weighing(
                first,
                tuple(self._epochs(rng, first, leads)),
                self._in_turns(rng, leads),
            )

    def _epochs(self, rng: np.random.Generator, first: Bools, leads: list[bool]) -> Iterator[Epoch]:
        count = len(first)
        machine = self._machine(rng, count * (SLICES + RESTART))
        ages = self.ages * np.linspace(-0.5, 0.5, count)
        for number in range(count):
            begin = number * (SLICES + RESTART) + RESTART
            places = 2 * np.arange(BLOCKS) + (rng.random(BLOCKS) < 0.5)
            windows = {}
            for name in ARMS:
                arm_places = places if name == "arm" else 4 * np.arange(BLOCKS) + 1 - places
                level = ages[number] * (name == "arm")
                path = machine[begin + arm_places] + level
                windows[name] = self._window(rng, name, begin + arm_places, path)
            place = 0 if first[number] else 1
            slots = {"arm": place, "control": 1 - place}
            yield self._epoch(number, slots, leads[number], windows)

    def _machine(self, rng: np.random.Generator, slices: int) -> Floats:
        """Log speed of the machine, slice by slice."""
        each_s = SLICE_S + BORDER_S
        path = self.wander * wandering(rng, slices, 180 / each_s)
        path += self.gusts * wandering(rng, slices, 5 / each_s)
        minute = round(60 / each_s)
        for begin in np.nonzero(rng.random(slices) < self.falls / minute)[0]:
            path[begin : begin + minute] += np.log(0.75)
        return path

    def _speed(
        self, rng: np.random.Generator, name: str, path: Floats, begins: Floats, alone: bool
    ) -> tuple[Floats, Floats]:
        """Speed of each slice of an arm, and what is left of its burst in it."""
        arm = ARMS.index(name)
        own_s = SLICE_S * np.arange(len(path))
        steps = SLICE_S * (np.arange(_STEPS) + 0.5) / _STEPS
        fine = (own_s[:, None] + steps[None, :]).ravel()
        since = fine - begins[np.searchsorted(begins, fine, side="right") - 1]
        faded: Floats = np.exp(-since / FADES_S).reshape(len(path), _STEPS).mean(axis=1)
        level = LUCK_SD * float(rng.standard_normal()) + self.tied * (name == "arm")
        noise = SLICE_SD * rng.standard_normal(len(path))
        speed = np.exp(path + level + noise - self.tires * own_s / 60)
        speed *= 1 - self.depths[arm] * faded
        mixed = 0.0 if alone else self.leaks / 2
        speed *= 1 - (1 - mixed) * self.writes[arm] - mixed * self.writes[1 - arm]
        if not alone:
            speed *= 1 - self.thaws[arm] / SLICE_S
        return speed, faded

    def _begins(self, rng: np.random.Generator, name: str) -> Floats:
        """When checkpoints of an arm begin, in its own time: the first is given to all arms."""
        cycle_s = self.cycles_s[ARMS.index(name)]
        count = int(BLOCKS * SLICE_S / cycle_s) + 1
        shift_s = float(rng.uniform(0, APART_S)) + self.late_s * (name == "arm")
        return np.array([0.0, *(cycle_s * n + shift_s for n in range(1, count + 1))])

    def _span(self, begins: Floats, cycle_s: float) -> tuple[int, int]:
        """The first measured slice, and the one after the last: at the end of the slice in which a
        checkpoint began."""
        if self.cut:
            return round(CYCLE_S / SLICE_S), round((CYCLE_S + 50) / SLICE_S)
        starts = np.ceil(begins / SLICE_S).astype(int)
        due = (CYCLE_S - cycle_s / 2) / SLICE_S
        low = int(starts[starts >= due][0])
        least = (CYCLES * CYCLE_S - cycle_s / 2) / SLICE_S
        return low, int(starts[starts >= low + least][0])

    def _window(
        self, rng: np.random.Generator, name: str, places: np.ndarray, path: Floats
    ) -> tuple[WindowLine, Turn]:
        begins, cycle_s = self._begins(rng, name), self.cycles_s[ARMS.index(name)]
        speed, faded = self._speed(rng, name, path, begins, alone=False)
        low, high = self._span(begins, (self.planned_s or self.cycles_s)[ARMS.index(name)])
        done = np.rint(RATE * SLICE_S * speed[low:high])
        images = done * IMAGES * self.depths[ARMS.index(name)] * faded[low:high]
        seconds = _seconds(low, places[low:high], done, images)
        written = float((done * WAL_BYTES + images * PAGE).sum())
        owed = (0.45 + DEBT_SD * rng.standard_normal(2)) * written
        turn = Turn(
            arm=name,
            position=0,
            clients=CLIENTS,
            end="cycles",
            level=True,
            resident_share=float("nan"),
            quiet=True,
            waiting_bytes=0.0,
            seconds=seconds,
            checkpoints=tuple(
                Checkpoint(round(at * NS), round((at + 0.9 * cycle_s) * NS), cause)
                for at, cause in zip(begins, ("immediate force wait", *["time"] * 99), strict=False)
                if at < high * SLICE_S
            ),
            at_start=Debt(float(owed[0]), 4.0 * MIB),
            at_end=Debt(float(owed[1]), 4.0 * MIB),
            age_ns=low * SLICE_S * NS,
        )
        return self._line(name, turn, len(done)), turn

    def _line(self, name: str, turn: Turn, slices: int) -> WindowLine:
        """What the record has of a window beside its slices."""
        arm, mixed = ARMS.index(name), self.leaks / 2
        each = [2_000.0 + 50_000.0 * share for share in self.writes]
        dirtied, written = each[arm], (1 - mixed) * each[arm] + mixed * each[1 - arm]
        done = [second.transactions for second in turn.seconds]
        queued_ms = round(1000 * SLICE_S * self.queue)
        return WindowLine.model_construct(
            end="cycles",
            level=True,
            at_checkpoint=True,
            warmup_ns=round(turn.age_ns),
            starts_ns=tuple(second.start_ns for second in turn.seconds),
            seconds=SecondsLine.model_construct(
                dirtied_bytes=tuple(dirtied * count for count in done),
                devices=DeviceSecondsLine.model_construct(
                    queued_ms=(queued_ms,) * slices,
                    written_bytes=tuple(written * count for count in done),
                ),
            ),
            suspended_use_ns=self.moved_ns if name == "arm" else 0,
            suspensions=BLOCKS,
        )

    def _epoch(
        self,
        number: int,
        slots: dict[str, int],
        leads: bool,
        windows: dict[str, tuple[WindowLine, Turn]],
    ) -> Epoch:
        order = ("arm", "control") if leads else ("control", "arm")
        turns = {name: turn for name, (_, turn) in windows.items()}
        arms = {name: _totals(turn, slots[name]) for name, turn in turns.items()}
        line = EpochLine.model_construct(
            epoch=number,
            slots=slots,
            start_order=order,
            windows={name: line for name, (line, _) in windows.items()},
        )
        return Epoch(line, EpochTotals(number, slots, order, arms, turns=turns))

    def _in_turns(self, rng: np.random.Generator, leads: list[bool]) -> Floats:
        """Log ratios of epochs in turns on such a machine, shape (epochs,): each arm alone for as
        long, from the begin of a checkpoint on, after a restart and a warm-up."""
        warm, measured = round(CYCLE_S / SLICE_S), round(CYCLES * CYCLE_S / SLICE_S)
        each = RESTART + warm + measured
        machine = self._machine(rng, len(leads) * 2 * each)
        ages = self.ages * np.linspace(-0.5, 0.5, len(leads))
        log_ratios = np.zeros(len(leads))
        for number, lead in enumerate(leads):
            work = {}
            for position, name in enumerate(("arm", "control") if lead else ("control", "arm")):
                begin = (2 * number + position) * each + RESTART
                path = machine[begin : begin + warm + measured]
                begins = np.arange(0.0, 100.0, self.cycles_s[ARMS.index(name)])
                speed, _ = self._speed(rng, name, path, begins, alone=True)
                work[name] = float(speed[warm:].sum())
            log_ratios[number] = np.log(work["arm"] / work["control"]) + ages[number]
        return log_ratios


@dataclass(frozen=True)
class Weighing:
    """The epochs of one weighing in cycles, where the arm stood, and one in turns beside it."""

    first: Bools
    epochs: tuple[Epoch, ...]
    turns: Floats
    """Its log ratios."""


def _mean_speed(depth: float, from_s: float, to_s: float) -> float:
    fallen = (np.exp(-from_s / FADES_S) - np.exp(-to_s / FADES_S)) * FADES_S / (to_s - from_s)
    return float(1 - depth * fallen)


def wandering(rng: np.random.Generator, count: int, correlated: float) -> Floats:
    """AR(1) of sd 1 that is correlated over so many steps."""
    from scipy.signal import lfilter

    rho = np.exp(-1 / correlated)
    fresh = rng.standard_normal(count)
    fresh[1:] *= np.sqrt(1 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], fresh))


def _seconds(low: int, places: np.ndarray, done: Floats, images: Floats) -> tuple[Second, ...]:
    wal = done * WAL_BYTES + images * PAGE
    step, each = round(SLICE_S * NS), (SLICE_S + BORDER_S) * NS
    rows = zip(
        places.tolist(), done.astype(int).tolist(), wal.tolist(), images.tolist(), strict=True
    )
    return tuple(
        Second(
            start_ns=(low + number) * step,
            end_ns=(low + number + 1) * step,
            transactions=count,
            busy_ns=CLIENTS * step,
            wal_bytes=log,
            images=logged,
            waiting_bytes=4.0 * MIB,
            wall_ns=each * place,
        )
        for number, (place, count, log, logged) in enumerate(rows)
    )


def _totals(turn: Turn, slot: int) -> ArmTotals:
    done = sum(second.transactions for second in turn.seconds)
    busy_ns = sum(second.busy_ns for second in turn.seconds)
    return ArmTotals(turn.arm, slot, CLIENTS, done, busy_ns, latency_sum_ns=busy_ns)
