"""Reads that fall within the measured part of an epoch are seen, and what they explain."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from analysis.turns.made import make_turn
from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.pool_warmth import (
    PartReads,
    part_reads,
    pool_not_warm,
    threat_of,
)
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Threat
from steelyard.model.turn import Turn
from steelyard.record.epoch import Epoch

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
) -> list[Threat]:
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


def test_level_reads_raise_nothing(make_epoch: MakeEpoch) -> None:
    assert weighed(make_epoch, slower=500) == []


def test_a_pool_that_fills_in_one_arm_makes_the_verdict_invalid(make_epoch: MakeEpoch) -> None:
    [threat] = weighed(make_epoch, slower=500, off=FILLING)
    assert threat.name == "pool not warm"
    assert threat.invalidates
    assert "of off fell from 0.8 to 0.38" in threat.seen
    assert "towards 0.32" in threat.seen  # each step half of the one before it


def test_where_reads_go_is_told_from_where_they_are(make_epoch: MakeEpoch) -> None:
    [threat] = weighed(make_epoch, slower=500, off=[1480, 1432, 1408, 1396])  # towards 1384
    found = re.search(r"fell from (\S+) to (\S+) within .* towards (\S+);", threat.seen)
    assert found is not None
    first, last, level = (float(one) for one in found.groups())
    assert first > last > level


def test_pools_that_fill_alike_are_a_doubt_and_no_more(make_epoch: MakeEpoch) -> None:
    [threat] = weighed(make_epoch, slower=500, on=FILLING, off=FILLING)
    assert not threat.invalidates


def test_reads_that_take_no_time_do_not_invalidate(make_epoch: MakeEpoch) -> None:
    [threat] = weighed(make_epoch, slower=0, off=FILLING)
    assert not threat.invalidates


def test_a_fall_whose_reads_take_no_certain_time_is_told_and_moves_nothing(
    make_epoch: MakeEpoch,
) -> None:
    """Reads fall by a hundredth of a block a transaction, and throughput scatters by 2 %."""

    def epoch(n: int) -> Epoch:
        scatter = [(37 * (4 * n + part)) % 41 - 20 for part in range(4)]
        rates = {"on": [100_000] * 4, "off": [100_000 + 100 * one for one in scatter]}
        each = {"on": [1.4] * 4, "off": [1.415 - 0.005 * part for part in range(4)]}
        reads = {
            arm: [round(PAGE * x * rate) for x, rate in zip(each[arm], rates[arm], strict=True)]
            for arm in rates
        }
        return make_epoch(n, rates=rates, reads=reads)

    epochs = [epoch(n).totals for n in range(10)]
    [threat] = pool_not_warm(epochs, "on", "off", 0.0001, writes=False)
    assert not threat.invalidates
    assert "cannot be told" in threat.seen
    assert "fell from 1.41 to 1.4 within" in threat.seen


def test_work_that_writes_is_told_and_not_judged_by_it(make_epoch: MakeEpoch) -> None:
    [threat] = weighed(make_epoch, slower=500, off=FILLING, writes=True)
    assert not threat.invalidates
    assert "moves the contrast" not in threat.seen


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
) -> list[Threat]:
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
    return list(threat_of(*parts, names=("on", "off"), margin=0.01))


@pytest.mark.parametrize("trend", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(
    "reads",
    [
        ([1.372, 1.366, 1.362, 1.360], [1.372, 1.366, 1.362, 1.360]),
        ([1.370, 1.367, 1.363, 1.359], [1.370, 1.367, 1.363, 1.359]),
        ([1.372, 1.366, 1.362, 1.360], [1.366, 1.366, 1.366, 1.366]),
    ],
)
def test_a_fall_of_next_to_nothing_takes_no_verdict_away(
    reads: tuple[list[float], list[float]], trend: float
) -> None:
    """At most 2 % of 150 weighings, also where a fall that seems steady leads to 0, and where the
    machine makes both arms faster in the meantime."""
    draw = np.random.default_rng(7)
    fatal = [
        any(one.invalidates for one in _simulated(draw, [*reads], trend=trend, read_us=5.0))
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
) -> list[Threat]:
    """Ten epochs of turns of two cycles of 30 s; `off`: blocks a transaction in each second, and
    each takes a tenth of a transaction's time."""

    def turn(arm: str, n: int) -> Turn:
        blocks = [0.4 if arm == "on" else off(place) for place in range(60)]
        made = make_turn(arm)
        seconds = tuple(
            replace(
                one,
                transactions=(done := round(1000 / (1 + 0.1 * block)) + (7 * n + place) % 3),
                read_bytes=PAGE * block * done if known else math.nan,
            )
            for place, (one, block) in enumerate(zip(made.seconds, blocks, strict=True))
        )
        return replace(made, seconds=seconds)

    def epoch(n: int) -> EpochTotals:
        turns = {arm: turn(arm, n) for arm in ("on", "off")}
        return EpochTotals(n, {"on": 0, "off": 1}, ("on", "off"), {}, turns=turns)

    return list(pool_not_warm([epoch(n) for n in range(10)], "on", "off", 0.01, writes=writes))


def test_a_pool_that_fills_in_the_turns_of_one_arm_is_seen_second_by_second() -> None:
    [threat] = in_turns(lambda second: 0.4 + 0.8 * math.exp(-second / 30))
    assert threat.name == "pool not warm"
    assert "blocks read per transaction of off fell from" in threat.seen
    assert not threat.invalidates, "images come and go with checkpoints"
    assert (
        "of off fell from 0.91 to 0.59 from the first half of a turn to the second" in threat.seen
    )
    assert "towards" not in threat.seen
    [threat] = in_turns(lambda second: 0.4 + 0.8 * math.exp(-second / 30), writes=False)
    assert threat.invalidates


def test_reads_that_come_and_go_with_checkpoints_are_no_pool_that_fills() -> None:
    assert in_turns(lambda second: 1.0 - (second % 30) / 60) == []


def test_a_fall_of_next_to_nothing_from_cycle_to_cycle_is_not_that_within_a_cycle() -> None:
    assert in_turns(lambda second: 1.0 - (second % 30) / 60 - 0.002 * (second >= 30)) == []


def test_turns_whose_reads_are_not_known_say_nothing() -> None:
    assert in_turns(lambda second: 2.0 - second / 60, known=False) == []
