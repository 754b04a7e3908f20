"""Worlds of queues: what a machine could do to arms under arrivals at a rate, truth known.

A visit is a Poisson stream of arrivals on servers of one arm that are idle when it begins: first
come, first served, each served by the next server that is free; after the bell nothing begins. The
searches of many weighings are simulated side by side, visit by visit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.analysis.staircase import Reading, Rule, Search
from validation.worlds.world import Bools, Floats, draw_slots

VISITS = 24
"""Of an arm in an epoch."""
VISIT_S = 0.4
LIMIT_S = 0.02
TAIL = 0.01
"""Share of the arrivals that may be slower: the quantile is p99."""
SERVERS = 2
CAPACITY = 2_500.0
"""Transactions a second of all servers of an arm together, at speed 1."""
START = 0.8
"""Share of it at which searches begin, as a pilot that is off would have them."""
STALL_S = 0.03
LUCK_SD = 0.014
"""Of a server's life: 2 % between two."""
TRUTH_CHAINS, TRUTH_VISITS, TRUTH_STEP = 400, 150, 0.005


@dataclass(frozen=True)
class QueueWorld:
    """One way for a machine and two arms to behave under arrivals."""

    name: str
    formula: str
    """For the reader of docs/results/validation.md."""
    wander: float = 0.0
    """Sd of the machine's log speed, AR(1) with a correlation of 3 minutes."""
    gusts: float = 0.0
    """The same with a correlation of 5 seconds."""
    speeds: tuple[float, float] = (1.0, 1.0)
    """Of the control and of the arm."""
    cv: float = 1.0
    """Of service times: 1 is exponential, else lognormal."""
    stalls: tuple[float, float] = (0.0, 0.0)
    """Chance that a visit has a stall of STALL_S in which nothing begins, by arm."""

    @property
    def alike(self) -> bool:
        """Whether the arms are equal."""
        return self.speeds[0] == self.speeds[1] and self.stalls[0] == self.stalls[1]

    def draw(
        self, rng: np.random.Generator, weighings: int, epochs: int
    ) -> Iterator[tuple[Floats, Bools]]:
        """So many weighings: log ratio of the rates of each epoch (NaN: it has none), and whether
        the arm had the first slot in it."""
        d = np.stack([self._epoch(rng, weighings) for _ in range(epochs)], axis=1)
        yield from zip(d, draw_slots(rng, weighings, epochs), strict=True)

    def _epoch(self, rng: np.random.Generator, weighings: int) -> Floats:
        """Log ratios of one epoch, shape (weighings,)."""
        rule = Rule(start=START * CAPACITY)
        searches = [[Search(rule) for _ in range(weighings)] for _ in range(2)]
        luck = LUCK_SD * rng.standard_normal((2, weighings))
        machine = self._machine(rng, weighings)
        for block in range(VISITS):
            arm_first = rng.random(weighings) < 0.5
            for arm, arm_searches in enumerate(searches):
                place = 2 * block + np.where(arm_first, 1 - arm, arm)
                speeds = self.speeds[arm] * np.exp(luck[arm] + machine[np.arange(weighings), place])
                rates = np.array([search.rate for search in arm_searches])
                stalled = rng.random(weighings) < self.stalls[arm]
                within_limit = visit(rng, rates, speeds, stalled, self)
                for search, within in zip(arm_searches, within_limit.tolist(), strict=True):
                    search.answer(kept=within)
        read = [[search.reading() for search in arm_searches] for arm_searches in searches]
        rates = np.array([[_rate(reading) for reading in readings] for readings in read])
        logs: Floats = np.log(rates)
        d: Floats = logs[1] - logs[0]
        return d

    def _machine(self, rng: np.random.Generator, weighings: int) -> Floats:
        """Log speed of the machine at every visit, shape (weighings, 2 · VISITS)."""
        whole = np.zeros((weighings, 2 * VISITS))
        for sd, seconds in ((self.wander, 180.0), (self.gusts, 5.0)):
            correlation = np.exp(-VISIT_S / seconds)
            level = sd * rng.standard_normal(weighings)
            for at in range(2 * VISITS):
                whole[:, at] += level
                news = rng.standard_normal(weighings)
                level = correlation * level + np.sqrt(1 - correlation**2) * sd * news
        return whole


def _rate(reading: Reading | None) -> float:
    return float("nan") if reading is None else reading.rate


def visit(
    rng: np.random.Generator, rates: Floats, speeds: Floats, stalled: Bools, world: QueueWorld
) -> Bools:
    """Whether visits at these rates kept the limit, one a weighing, by the product's rule: what had
    not begun at the bell counts where it had waited longer than the limit."""
    count = len(rates)
    most = int(rates.max() * VISIT_S + 6 * np.sqrt(rates.max() * VISIT_S) + 10)
    came = np.cumsum(rng.standard_exponential((most, count)) / rates, axis=0)
    service = _service(rng, (most, count), world) * SERVERS / (CAPACITY * speeds)
    stall_at = np.where(stalled, rng.random(count) * VISIT_S, np.inf)
    begin = _begins(came, service, stall_at if stalled.any() else None)
    begun = (came < VISIT_S) & (begin < VISIT_S)
    slow = begun & (begin + service - came > LIMIT_S)
    late = (came < VISIT_S - LIMIT_S) & ~begun
    beyond = slow.sum(axis=0) + late.sum(axis=0)
    within_limit: Bools = beyond <= TAIL * (begun.sum(axis=0) + late.sum(axis=0))
    return within_limit


def _begins(came: Floats, service: Floats, stall_at: Floats | None) -> Floats:
    """When each arrival is served, shape (arrivals, visits), by the first of two servers that is
    free; none begins within STALL_S of a stall."""
    begins = np.empty_like(came)
    first, second = np.zeros(came.shape[1]), np.zeros(came.shape[1])
    for at, (arrival, takes) in enumerate(zip(came, service, strict=True)):
        begin = np.maximum(arrival, first, out=begins[at])
        if stall_at is not None:
            stands = (begin >= stall_at) & (begin < stall_at + STALL_S)
            np.copyto(begin, stall_at + STALL_S, where=stands)
        end = begin + takes
        first, second = np.minimum(second, end), np.maximum(second, end)
    return begins


def _service(rng: np.random.Generator, shape: tuple[int, int], world: QueueWorld) -> Floats:
    """Times of mean 1."""
    if world.cv == 1.0:
        return rng.standard_exponential(shape)
    variance = float(np.log1p(world.cv**2))
    times: Floats = np.exp(np.sqrt(variance) * rng.standard_normal(shape) - variance / 2)
    return times


@lru_cache(maxsize=64)
def truth(world: QueueWorld, seed: int) -> float:
    """ln of the ratio of the rates at which half of the visits keep the limit, on a machine at
    speed 1: by long searches with small steps. 0 for arms that are alike."""
    if world.alike:
        return 0.0
    control, arm = (_half_rate(world, arm, np.random.default_rng([seed, arm])) for arm in range(2))
    return arm - control


def _half_rate(world: QueueWorld, arm: int, rng: np.random.Generator) -> float:
    """ln of the rate of an arm."""
    rule = Rule(START * CAPACITY, first_step=0.08, last_step=TRUTH_STEP, run=TRUTH_VISITS)
    searches = [Search(rule) for _ in range(TRUTH_CHAINS)]
    speeds = np.full(TRUTH_CHAINS, world.speeds[arm])
    for _ in range(TRUTH_VISITS):
        stalled = rng.random(TRUTH_CHAINS) < world.stalls[arm]
        rates = np.array([search.rate for search in searches])
        within_limit = visit(rng, rates, speeds, stalled, world)
        for search, within in zip(searches, within_limit.tolist(), strict=True):
            search.answer(kept=within)
    return float(np.mean([np.log(search.rate) for search in map(_read, searches)]))


def _read(search: Search) -> Reading:
    reading = search.reading()
    assert reading is not None  # after so many visits every search came near
    return reading


QUEUE_WORLDS = (
    QueueWorld(
        "queue",
        "both arms alike: exponential service of 0.8 ms on two servers; each start has a luck of "
        "1.4 %, here and below",
    ),
    QueueWorld("heavy service", "service times are lognormal, sd twice their mean", cv=2.0),
    QueueWorld("drift", "the machine wanders by 10 % over minutes", wander=0.1),
    QueueWorld("gusts", "it wanders by 10 % over seconds, and by 5 % over minutes", 0.05, 0.1),
    QueueWorld(
        "stalls",
        "in one of ten visits of either arm nothing begins for 30 ms",
        stalls=(0.1, 0.1),
    ),
    QueueWorld("faster by 5 %", "the arm serves 5 % faster; drift", 0.05, speeds=(1.0, 1.05)),
    QueueWorld("slower by a fifth", "it serves 20 % slower; drift", 0.05, speeds=(1.0, 0.8)),
    QueueWorld(
        "stalls in one",
        "as stalls, but in one of ten visits of the arm and in none of the control",
        stalls=(0.0, 0.1),
    ),
)


def queue_world(name: str) -> QueueWorld:
    """The world of a name."""
    return next(search for search in QUEUE_WORLDS if search.name == name)
