"""Worlds of turns: what a machine could do to arms that stand alone for minutes, truth known.

A turn is two cycles of 30 s, measured second by second from the end of a checkpoint to the end of
the second after it, as the product does. An epoch is a turn of either arm in drawn order; between
two turns lie 20 s of restart and warm-up, in which the machine goes on. Speeds become transactions,
and the product's own reading of totals and of turns makes everything else. Where the arm's cycles
are shorter, the product's own plan says from which age on, and for how long, either is measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import (
    LEAST_MEASURED_S,
    ArmCycle,
    Spacing,
    TurnLengths,
    TurnPlanRequest,
    choose_lengths,
)
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import ThreatKind
from steelyard.model.turn import Checkpoint, Debt, Second, Turn
from steelyard.study.design import balanced_orders
from validation.worlds.world import Bools, Floats, draw_slots

ARMS = ("control", "arm")
CYCLE_S = 30.0
WRITING = 0.9
"""Of a cycle, from the begin of a checkpoint to its end: checkpoint_completion_target."""
SECONDS = 60
WARM_UP_S = 25.0
OFTEN_S = 5.0
"""Cycles of an arm whose checkpoints are nearer."""
PAUSE_S = 20
EPOCH_S = 2 * (SECONDS + PAUSE_S)
CLIENTS = 8
RATE = 2_000
"""Transactions a second at speed 1."""
WAL_BYTES = 4_000.0
"""Log of a transaction without images."""
IMAGES = 4.0
"""Full-page images of a transaction just after a checkpoint, at a depth of 1."""
SECOND_SD = 0.05
"""Standard deviation of the log speed of single seconds."""
LUCK_SD = 0.02
"""Of a whole turn: 2.8 % between two."""
FADES_S = 4.0
"""A burst after a checkpoint falls to a third in so many seconds."""
DEBT_SD = 0.01
"""Of what a turn leaves unpaid, as a share of its log."""
NS = 1_000_000_000
MIB = 1 << 20


@dataclass(frozen=True)
class TurnWorld:
    """One way for a machine and two arms to behave in turns."""

    name: str
    formula: str
    """For the reader of docs/results/validation.md."""
    wander: float = 0.0
    """Sd of the machine's log speed, AR(1) over seconds with a correlation of 3 minutes."""
    falls: float = 0.0
    """Chance that the machine loses a quarter for as long as a turn, in any epoch."""
    depths: tuple[float, float] = (0.0, 0.0)
    """Speed lost at the begin of a checkpoint, by arm."""
    ages: float = 0.0
    """How far the log ratio moves over the epochs, about its mean."""
    tied: float = 0.0
    """What the arm gains by what is tied to it and is not the treatment, log."""
    carried: bool = False
    """The plan carries each directory with its arm; else `fixed` says whether it stays there."""
    fixed: bool = False
    resident: float = 0.0
    """Share of the files that stay in the cache before turns of the arm."""
    busy: float = 0.0
    """Log speed that the first turn of an epoch loses to a device that is still busy."""
    unpaid: float = 0.0
    """Share of its log that the arm leaves unpaid in a turn."""
    tires: float = 0.0
    """Log speed that every server loses in a minute under load, whatever its settings."""
    often: bool = False
    """The arm has cycles of `OFTEN_S`."""
    by_own_cycles: bool = False
    """An arm is measured from its first checkpoint after the warm-up on, over two cycles of its own
    or ten seconds, however late and long the other is."""
    must_raise: ThreatKind | None = None
    """The threat of a balance that is broken on purpose."""

    @property
    def truth(self) -> float:
        """The log ratio of work over whole cycles that is the treatment's."""
        return self.truth_between(0.0, CYCLE_S)

    @property
    def gained(self) -> float:
        """What the arm gains, log, and is not the treatment's: tied to it, or younger servers."""
        if not self.by_own_cycles:
            return self.tied
        middle_s = _ALIKE.age_s + _ALIKE.seconds / 2
        return self.tied + self.tires / 60 * (middle_s - WARM_UP_S - OFTEN_S - LEAST_MEASURED_S / 2)

    def truth_between(self, from_s: float, to_s: float) -> float:
        """The same between two times since a checkpoint began."""
        fallen = (np.exp(-from_s / FADES_S) - np.exp(-to_s / FADES_S)) * FADES_S / (to_s - from_s)
        control, arm = (1 - depth * fallen for depth in self.depths)
        return float(np.log(arm / control))

    def draw(self, rng: np.random.Generator, weighings: int, epochs: int) -> Iterator[Weighing]:
        """So many weighings of so many epochs."""
        slots = draw_slots(rng, weighings, epochs)
        orders = random.Random(int(rng.integers(1 << 62)))
        for drawn in slots:
            leads = [order[0] == 1 for order in balanced_orders(2, epochs, orders)]
            first = np.ones_like(drawn) if self.fixed else drawn
            yield Weighing(first, tuple(self._epochs(rng, first, np.array(leads))))

    def _epochs(
        self, rng: np.random.Generator, first: Bools, leads: Bools
    ) -> Iterator[EpochTotals]:
        count = len(first)
        machine = self._machine(rng, count)
        ages = self.ages * np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(1)
        for number in range(count):
            turns: dict[str, Turn] = {}
            names = ("arm", "control") if leads[number] else ("control", "arm")
            for position, name in enumerate(names):
                start_s = number * EPOCH_S + position * (SECONDS + PAUSE_S) + PAUSE_S
                level = float(LUCK_SD * rng.standard_normal())
                level += (self.tied + ages[number]) * (name == "arm")
                level -= self.busy * (position == 0)
                span = self._span(rng, name)
                ages_s = span.age_s - _ALIKE.age_s + np.arange(span.seconds)
                path = machine[start_s : start_s + span.seconds] + level - self.tires * ages_s / 60
                turns[name] = self._turn(rng, name, position, start_s, path, span)
            place = 0 if first[number] else 1
            slots = {"arm": place, "control": 1 - place}
            arms = {name: _totals(turn, slots[name]) for name, turn in turns.items()}
            yield EpochTotals(number, slots, names, arms, turns=turns)

    def _machine(self, rng: np.random.Generator, epochs: int) -> Floats:
        """Log speed of the machine, second by second."""
        from scipy.signal import lfilter

        seconds = epochs * EPOCH_S
        rho = np.exp(-1 / 180)
        fresh = rng.standard_normal(seconds)
        fresh[1:] *= np.sqrt(1 - rho**2)
        path: Floats = self.wander * np.asarray(lfilter([1.0], [1.0, -rho], fresh))
        for epoch in np.nonzero(rng.random(epochs) < self.falls)[0]:
            begin = int(epoch * EPOCH_S + rng.integers(EPOCH_S))
            path[begin : begin + SECONDS] += np.log(0.75)
        return path

    def _span(self, rng: np.random.Generator, name: str) -> _Span:
        """When an arm is measured: by the product's plan, or by its own cycles alone."""
        if not self.often:
            return _ALIKE
        arm = ARMS.index(name)
        cycle_s = (CYCLE_S, OFTEN_S)[arm]
        if self.by_own_cycles:
            begin_s, least_s = WARM_UP_S, max(2 * cycle_s, LEAST_MEASURED_S)
        else:
            begin_s, least_s = _PLANNED.begins_s[arm], _PLANNED.least_s[arm]
        shift_s = float(rng.uniform(-0.1, 0.0)) * cycle_s
        due = np.ceil((max(begin_s, WARM_UP_S) - shift_s) / cycle_s)
        age_s = cycle_s * max(2, due) + shift_s  # the first begins after one cycle
        return _Span(float(age_s), round(cycle_s * np.ceil(least_s / cycle_s)), cycle_s)

    def _turn(
        self,
        rng: np.random.Generator,
        name: str,
        position: int,
        start_s: int,
        path: Floats,
        span: _Span,
    ) -> Turn:
        depth, seconds = self.depths[ARMS.index(name)], span.seconds
        lead = WRITING * span.cycle_s + float(rng.uniform(0, 1))  # it is seen up to 1 s later
        fine = _burst(np.arange(seconds * _STEPS) / _STEPS + 0.5 / _STEPS + lead, span.cycle_s)
        faded = fine.reshape(seconds, _STEPS).mean(axis=1)
        speed = np.exp(path + SECOND_SD * rng.standard_normal(seconds)) * (1 - depth * faded)
        done = np.rint(RATE * speed)
        images = done * IMAGES * depth * faded
        wal = done * WAL_BYTES + images * 8192
        zero = start_s * NS
        written = float(wal.sum())
        owed = DEBT_SD * rng.standard_normal(2) + [0.0, self.unpaid * (name == "arm")]
        resident = self.resident if name == "arm" else 0.0
        late = self.busy > 0 and position == 0
        return Turn(
            arm=name,
            position=position,
            clients=CLIENTS,
            end="cycles",
            level=True,
            resident_share=resident * float(rng.uniform(0.5, 1.5)),
            quiet=not late,
            waiting_bytes=(200.0 if late else 4.0) * MIB,
            seconds=_seconds(zero, done, wal, images),
            checkpoints=_checkpoints(zero, lead, span),
            at_start=Debt((0.45 + float(owed[0])) * written, 4.0 * MIB),
            at_end=Debt((0.45 + float(owed[1])) * written, 4.0 * MIB),
            age_ns=span.age_s * NS,
        )


@dataclass(frozen=True)
class _Span:
    """When an arm is measured: from which age on, and how long; its checkpoints."""

    age_s: float
    seconds: int
    cycle_s: float


_ALIKE = _Span(2 * CYCLE_S, SECONDS, CYCLE_S)


def _cycle(length_s: float) -> ArmCycle:
    log = LogCurve.of([0.0, 15.0], [0.0, 15.0])
    return ArmCycle(lambda scale: Spacing(length_s / scale, 1e15), 1.0, log)


def _plan() -> TurnLengths:
    """The product's plan for cycles of 30 s and of 5 s."""
    arms = [_cycle(CYCLE_S), _cycle(OFTEN_S)]
    lengths = choose_lengths(arms, TurnPlanRequest(1e9, 2, scale=1.0), idle_s=0.0, warm_s=WARM_UP_S)
    assert isinstance(lengths, TurnLengths)  # the budget is large
    return lengths


_PLANNED = _plan()


@dataclass(frozen=True)
class Weighing:
    """The epochs of one weighing, and where the arm stood."""

    first: Bools
    epochs: tuple[EpochTotals, ...]


_STEPS = 20
"""Parts of a second for which a burst is taken as constant."""


def _burst(since_s: Floats, cycle_s: float) -> Floats:
    """What is left of a burst, by the time since the first checkpoint of a turn began."""
    left: Floats = np.exp(-np.mod(since_s, cycle_s) / FADES_S)
    return left


def _seconds(zero_ns: int, done: Floats, wal: Floats, images: Floats) -> tuple[Second, ...]:
    rows = zip(done.astype(int).tolist(), wal.tolist(), images.tolist(), strict=True)
    return tuple(
        Second(
            start_ns=zero_ns + number * NS,
            end_ns=zero_ns + (number + 1) * NS,
            transactions=count,
            busy_ns=CLIENTS * NS,
            wal_bytes=log,
            images=logged,
            waiting_bytes=4.0 * MIB,
        )
        for number, (count, log, logged) in enumerate(rows)
    )


def _checkpoints(zero_ns: int, lead_s: float, span: _Span) -> tuple[Checkpoint, ...]:
    """Those of a turn: the first ended just before it was measured."""
    count = round(span.seconds / span.cycle_s) + 1
    begins = (round(zero_ns + (span.cycle_s * n - lead_s) * NS) for n in range(count))
    end_ns, writes_ns = zero_ns + span.seconds * NS, WRITING * span.cycle_s * NS
    return tuple(
        Checkpoint(
            begin_ns, ended if (ended := round(begin_ns + writes_ns)) <= end_ns else None, "time"
        )
        for begin_ns in begins
    )


def _totals(turn: Turn, slot: int) -> ArmTotals:
    done = sum(second.transactions for second in turn.seconds)
    busy_ns = sum(second.busy_ns for second in turn.seconds)
    return ArmTotals(turn.arm, slot, CLIENTS, done, busy_ns, latency_sum_ns=busy_ns)


TURN_WORLDS: tuple[TurnWorld, ...] = (
    TurnWorld("turns alike", "every turn has luck of sd 2 %, every second 5 % of its own"),
    TurnWorld(
        "drift over minutes",
        "the machine wanders, AR(1) of sd 3 % with a correlation of 3 minutes; in 5 % of the "
        "epochs it loses a quarter for a minute",
        wander=0.03,
        falls=0.05,
    ),
    TurnWorld(
        "bursts after checkpoints",
        "after a checkpoint began the control loses 10 % and the arm 40 %, fading with "
        "exp(−t ÷ 4 s); truth over a cycle −4.1 %, over its first 5 s −18 %",
        depths=(0.1, 0.4),
    ),
    TurnWorld(
        "bursts and drift",
        "both of these together",
        wander=0.03,
        falls=0.05,
        depths=(0.1, 0.4),
    ),
    TurnWorld(
        "unlike cycles",
        "checkpoints of the arm are 5 s apart, of the control 30 s; every server loses 10 % a "
        "minute under load; both are measured at the same age and for the same time",
        tires=0.1,
        often=True,
    ),
    TurnWorld(
        "ageing",
        "the arm goes from +6 % to −6 % over the epochs, 0 on average",
        ages=-0.12,
        must_raise=ThreatKind.AGEING,
    ),
    TurnWorld(
        "directory tied, as planned",
        "the arm's own directory gives it 2.5 %; the plan says that it is carried",
        tied=0.025,
        carried=True,
        must_raise=ThreatKind.DIRECTORY_TIED,
    ),
    TurnWorld(
        "directory tied, unplanned",
        "the same, and the plan says that directories are drawn; they never were",
        tied=0.025,
        fixed=True,
        must_raise=ThreatKind.DIRECTORY_TIED,
    ),
    TurnWorld(
        "unlike cycles, each by its own",
        "the same, but the arm is measured from its first checkpoint after the warm-up for ten "
        "seconds, as turns were before 2026-11-25",
        tires=0.1,
        often=True,
        by_own_cycles=True,
        must_raise=ThreatKind.UNEQUAL_TURNS,
    ),
    TurnWorld(
        "files not evicted",
        "30 to 90 % of the files stay in the cache before turns of the arm, worth 5 %",
        tied=0.05,
        resident=0.6,
        must_raise=ThreatKind.NOT_EVICTED,
    ),
    TurnWorld(
        "device busy",
        "200 MB are still to be written when the first turn of an epoch begins, which loses 4 %",
        busy=0.04,
        must_raise=ThreatKind.DEVICE_BUSY,
    ),
    TurnWorld(
        "debt of one arm",
        "the arm leaves 5 % of its log unpaid, worth 2.5 %; what turns leave scatters by 1 %",
        tied=0.025,
        unpaid=0.05,
        must_raise=ThreatKind.UNEQUAL_DEBT,
    ),
)
"""Sound ones, then those that are broken on purpose."""


def turn_world(name: str) -> TurnWorld:
    """The world of a name; KeyError where there is none."""
    return {world.name: world for world in TURN_WORLDS}[name]
