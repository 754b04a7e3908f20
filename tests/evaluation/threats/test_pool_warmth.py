"""Reads that fall within the measured part of an epoch are seen, and what they explain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from analysis.turns.made import make_turn
from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.pool_warmth import (
    ContrastMoved,
    PartReads,
    PoolNotWarm,
    ReadsFell,
    not_warm,
    part_reads,
    pool_not_warm,
)
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Observation
from steelyard.model.turn import Turn
from steelyard.record.epoch import Epoch
from thinned import thinned

PAGE = 8192
LEVEL = [400, 400, 400, 400]
FILLING = [800, 560, 440, 380]
"""Blocks read in the four parts of an epoch, of 1,000 transactions each."""


def weighed(
    make_epoch: MakeEpoch,
    *,
    slower: int,
    on: list[int] = LEVEL,
    off: list[int] = LEVEL,
    writes: bool = False,
) -> list[Observation]:
    """Ten epochs of four slices; a block read takes away `slower` of 1,000 transactions."""

    def epoch(n: int) -> Epoch:
        read = {
            arm: [b + (7 * n) % 5 for b in blocks] for arm, blocks in (("on", on), ("off", off))
        }
        rates = {arm: [1000 - slower * b // 1000 for b in blocks] for arm, blocks in read.items()}
        asked = {
            arm: [PAGE * b * rate // 1000 for b, rate in zip(blocks, rates[arm], strict=True)]
            for arm, blocks in read.items()
        }
        return make_epoch(n, rates=rates, reads=asked)

    epochs = [epoch(n).totals for n in range(10)]
    return list(pool_not_warm(epochs, "on", "off", 0.01, writes=writes))


def only(threats: list[Observation]) -> PoolNotWarm:
    [observed] = threats
    assert isinstance(observed, PoolNotWarm)
    return observed


def test_level_reads_raise_nothing(make_epoch: MakeEpoch) -> None:
    assert weighed(make_epoch, slower=500) == []


def test_a_pool_that_fills_in_one_arm_makes_the_verdict_invalid(make_epoch: MakeEpoch) -> None:
    observed = only(weighed(make_epoch, slower=500, off=FILLING))
    assert observed.name == "pool not warm"
    assert observed.invalidates
    assert not observed.in_turns
    # Each step is half of the one before it.
    roughly = [pytest.approx(blocks, abs=0.005) for blocks in (0.8, 0.38, 0.32)]
    assert observed.falls == (ReadsFell("off", *roughly),)
    assert observed.moved is not None
    assert observed.moved.share is not None
    assert observed.moved.share > 0.01


def test_where_reads_go_is_told_from_where_they_are(make_epoch: MakeEpoch) -> None:
    observed = only(weighed(make_epoch, slower=500, off=[1480, 1432, 1408, 1396]))  # to 1384
    [fall] = observed.falls
    assert fall.level is not None
    assert fall.first > fall.last > fall.level


def test_pools_that_fill_alike_are_a_doubt_and_no_more(make_epoch: MakeEpoch) -> None:
    observed = only(weighed(make_epoch, slower=500, on=FILLING, off=FILLING))
    assert [fall.arm for fall in observed.falls] == ["on", "off"]
    assert not observed.invalidates


def test_reads_that_take_no_time_do_not_invalidate(make_epoch: MakeEpoch) -> None:
    assert not only(weighed(make_epoch, slower=0, off=FILLING)).invalidates


def test_a_fall_whose_reads_take_no_certain_time_is_told_and_moves_nothing(
    make_epoch: MakeEpoch,
) -> None:
    """Reads fall by a hundredth of a block a transaction, and throughput scatters by 2 %."""

    def epoch(n: int) -> Epoch:
        scatter = [(37 * (4 * n + part)) % 41 - 20 for part in range(4)]
        rates = {"on": [100_000] * 4, "off": [100_000 + 100 * step for step in scatter]}
        each = {"on": [1.4] * 4, "off": [1.415 - 0.005 * part for part in range(4)]}
        reads = {
            arm: [round(PAGE * x * rate) for x, rate in zip(each[arm], rates[arm], strict=True)]
            for arm in rates
        }
        return make_epoch(n, rates=rates, reads=reads)

    epochs = [epoch(n).totals for n in range(10)]
    observed = only(list(pool_not_warm(epochs, "on", "off", 0.0001, writes=False)))
    assert not observed.invalidates
    assert observed.moved == ContrastMoved(None)
    [fall] = observed.falls
    assert (fall.first, fall.last) == pytest.approx((1.415, 1.4), abs=0.001)


def test_work_that_writes_is_told_and_not_judged_by_it(make_epoch: MakeEpoch) -> None:
    observed = only(weighed(make_epoch, slower=500, off=FILLING, writes=True))
    assert not observed.invalidates
    assert observed.moved is None


@pytest.mark.parametrize("parts", [{}, {"on": [PAGE] * 3, "off": [PAGE] * 3}])
def test_a_record_without_four_parts_says_nothing(
    make_epoch: MakeEpoch, parts: dict[str, list[int]]
) -> None:
    rates = {"on": [1000] * 4, "off": [1000] * 4}
    epochs = [make_epoch(n, rates=rates, reads=parts).totals for n in range(10)]
    assert part_reads(epochs, "on") is None
    assert list(pool_not_warm(epochs, "on", "off", 0.01, writes=False)) == []


def _simulated(
    draw: np.random.Generator, reads: list[list[float]], *, trend: float, read_us: float
) -> list[Observation]:
    """Twelve epochs of two arms: 200 µs a transaction and what its reads take. Epochs differ by sd
    2 %, parts by 1 %; within an epoch both arms become faster by `trend`."""
    arms = dict(zip(("on", "off"), reads, strict=True))
    parts = []
    for each in arms.values():
        blocks = np.array(each) * (1 + draw.normal(0, 0.002, (12, 4)))
        noise = draw.normal(0, 0.02, (12, 1)) + draw.normal(0, 0.01, (12, 4))
        noise += trend * np.linspace(0.5, -0.5, 4)
        parts.append(
            PartReads(tuple(range(12)), blocks, 1000 * (200 + read_us * blocks) * np.exp(noise))
        )
    return list(not_warm(*parts, names=("on", "off"), margin=0.01))


@pytest.mark.parametrize("trend", [0.0, 0.01, 0.03])
@thinned(
    "reads",
    [
        ([1.372, 1.366, 1.362, 1.360], [1.372, 1.366, 1.362, 1.360]),
        ([1.370, 1.367, 1.363, 1.359], [1.370, 1.367, 1.363, 1.359]),
        ([1.372, 1.366, 1.362, 1.360], [1.366, 1.366, 1.366, 1.366]),
    ],
    1,
)
def test_a_fall_of_next_to_nothing_takes_no_verdict_away(
    reads: tuple[list[float], list[float]], trend: float
) -> None:
    """At most 2 % of 150 weighings, also where a fall that seems steady leads to 0, and where the
    machine makes both arms faster in the meantime."""
    draw = np.random.default_rng(7)
    fatal = [
        any(threat.invalidates for threat in _simulated(draw, [*reads], trend=trend, read_us=5.0))
        for _ in range(150)
    ]
    assert sum(fatal) <= 3


def test_a_pool_that_fills_in_one_arm_is_always_seen() -> None:
    draw = np.random.default_rng(8)
    filling = [[0.8, 0.56, 0.44, 0.38], [0.05] * 4]
    for _ in range(40):
        [threat] = _simulated(draw, filling, trend=0.03, read_us=60.0)
        assert threat.invalidates


def in_turns(
    off: Callable[[int], float], *, writes: bool = True, known: bool = True
) -> list[Observation]:
    """Ten epochs of turns of two cycles of 30 s; `off`: blocks a transaction in each second, and
    each takes a tenth of a transaction's time."""

    def turn(arm: str, n: int) -> Turn:
        blocks = [0.4 if arm == "on" else off(place) for place in range(60)]
        made = make_turn(arm)
        seconds = tuple(
            replace(
                second,
                transactions=(done := round(1000 / (1 + 0.1 * block)) + (7 * n + place) % 3),
                read_bytes=PAGE * block * done if known else math.nan,
            )
            for place, (second, block) in enumerate(zip(made.seconds, blocks, strict=True))
        )
        return replace(made, seconds=seconds)

    def epoch(n: int) -> EpochTotals:
        turns = {arm: turn(arm, n) for arm in ("on", "off")}
        return EpochTotals(n, {"on": 0, "off": 1}, ("on", "off"), {}, turns=turns)

    return list(pool_not_warm([epoch(n) for n in range(10)], "on", "off", 0.01, writes=writes))


def test_a_pool_that_fills_in_the_turns_of_one_arm_is_seen_second_by_second() -> None:
    observed = only(in_turns(lambda second: 0.4 + 0.8 * math.exp(-second / 30)))
    assert observed.name == "pool not warm"
    assert observed.in_turns
    halves = [pytest.approx(blocks, abs=0.005) for blocks in (0.91, 0.59)]
    assert observed == PoolNotWarm((ReadsFell("off", *halves, level=None),), moved=None)
    assert not observed.invalidates, "images come and go with checkpoints"
    read_only = only(in_turns(lambda second: 0.4 + 0.8 * math.exp(-second / 30), writes=False))
    assert read_only.invalidates


def test_reads_that_come_and_go_with_checkpoints_are_no_pool_that_fills() -> None:
    assert in_turns(lambda second: 1.0 - (second % 30) / 60) == []


def test_a_fall_of_next_to_nothing_from_cycle_to_cycle_is_not_that_within_a_cycle() -> None:
    assert in_turns(lambda second: 1.0 - (second % 30) / 60 - 0.002 * (second >= 30)) == []


def test_turns_whose_reads_are_not_known_say_nothing() -> None:
    assert in_turns(lambda second: 2.0 - second / 60, known=False) == []
