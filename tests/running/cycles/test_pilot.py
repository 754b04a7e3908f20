"""The factor in the sentence is the one that servers really come to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.analysis.pilot.cycle_lengths import CycleLengths
from steelyard.engines.capabilities.checkpoints import Cycle, Scaled
from steelyard.engines.capabilities.memory import MemoryNeed
from steelyard.model.units import parse_bytes
from steelyard.running.cycles.pilot import _really_nearer, _timers, room_of
from steelyard.running.measuring.slots import Prepared
from steelyard.running.turns.pilot import PilotRuns, whole_words
from steelyard.running.turns.solo_run import _Written

S = 10**9
MB = 2**20


def lengths_of(*cycles_s: float, scale: float = 1.0) -> CycleLengths:
    none = (0.0,) * len(cycles_s)
    return CycleLengths(
        scale=scale,
        epochs=8,
        slice_s=0.5,
        epoch_s=60.0,
        begins_s=none,
        waits_s=none,
        least_s=none,
        longest_s=none,
        cycles_s=cycles_s,
    )


@pytest.mark.parametrize(
    ("levels_s", "cycles_s", "more"),
    [
        ((0.0, 3.0), (30.0, 30.0), ""),
        ((0.0, None), (30.0, 30.0), ", up to 8 min 40 s more if off comes to a level late"),
        ((None, None), (30.0, 20.0), ", up to 16 min more if on and off come to a level late"),
        ((None, 0.0), (float("inf"), 20.0), ", up to 4 min 40 s more if on comes to a level late"),
    ],
)
def test_what_late_warm_ups_may_add_is_said_where_the_pilot_saw_reads_fall(
    levels_s: tuple[float | None, ...], cycles_s: tuple[float, ...], more: str
) -> None:
    on, off = levels_s
    arms: Any = {"on": SimpleNamespace(level_s=on), "off": SimpleNamespace(level_s=off)}
    words = whole_words(PilotRuns(arms, 0), lengths_of(*cycles_s))
    assert words.startswith(f"about 8 min in all{more}")
    assert words.endswith("reads still fell in the pilot" if more else "in all")


def nearer(scale: float, seconds: float, own: Cycle, spaced: Cycle) -> dict[str, float]:
    lengths = lengths_of(seconds, scale=scale)
    looked: Any = {"off": SimpleNamespace(cycle=own)}
    return _really_nearer(looked, {"off": Scaled({}, spaced)}, lengths)


@pytest.mark.parametrize(
    ("scale", "seconds", "spaced", "factor"),
    [
        (10.0, 30.0, Cycle(30 * S, 100 * MB, 1.0), None),
        (10.0, 30.0, Cycle(31 * S, 100 * MB, 1.0), 9.677),  # whole seconds, more than 3 % off
        (10.0, 4.0, Cycle(30 * S, 112 * MB, 1.0), 8.929),  # whole segments, by which it is cut
        (1.0, 150.0, Cycle(150 * S, 1000 * MB, 1.0), 2.0),  # the longest timeout there is
        (10.0, float("inf"), Cycle(150 * S, 1000 * MB, 1.0), None),  # it makes no checkpoint
    ],
)
def test_what_is_rounded_or_limited_is_named_by_its_own_factor(
    scale: float, seconds: float, spaced: Cycle, factor: float | None
) -> None:
    found = nearer(scale, seconds, Cycle(300 * S, 1000 * MB, 1.0), spaced)
    assert found == ({} if factor is None else {"off": factor})


def test_what_was_done_about_timers_is_said_once_where_it_is_the_same_in_all_arms() -> None:
    words = _timers({"on": ("a", "b"), "off": ("a", "c"), "off too": ("a", "c")})
    assert [*words] == ["a", "b (in on)", "c (in off and off too)"]


@pytest.mark.parametrize(
    ("blocks", "level_s"),
    [
        ([0.0] * 16, 0.0),
        ([3.0 - 0.15 * n for n in range(16)], None),  # a pool that still fills
        ([5.0, 4.0, 3.0, 2.0, 1.0] + [0.9, 1.0, 1.1, 1.0, 1.0] * 4, 5.5),
        ([1.0 + 0.1 * n for n in range(16)], 8.8),  # reads that rise are no pool that fills
    ],
)
def test_an_arm_is_level_when_its_reads_no_longer_fall(
    blocks: list[float], level_s: float | None
) -> None:
    seconds: list[Any] = [
        SimpleNamespace(transactions=100, start_ns=n * 2 * S, end_ns=n * 2 * S + 11 * S // 10)
        for n in range(len(blocks))
    ]
    use = _Written(read_bytes=[round(8192 * 100 * block) for block in blocks])
    assert use.level_s(seconds) == (None if level_s is None else pytest.approx(level_s))


@pytest.mark.parametrize(
    ("stated", "beneath", "lacks"),
    [
        ({}, None, ""),
        ({}, {}, ""),
        ({"shared_buffers": "8GB"}, None, "36 GB needed"),
        ({}, {"shared_buffers": "8GB"}, "36 GB needed"),  # of the data's server
        ({"shared_buffers": "1GB"}, {"shared_buffers": "8GB"}, ""),
    ],
)
def test_pools_that_the_file_of_the_datas_server_sets_need_their_room(
    stated: dict[str, str], beneath: dict[str, str] | None, lacks: str
) -> None:
    """Data of 10 GB, in two arms on a machine of which 24 GB are free."""
    engine: Any = SimpleNamespace(
        memory_need=lambda settings: MemoryNeed(
            parse_bytes(settings.get("shared_buffers", "128MB")), "off"
        )
    )
    arm: Any = SimpleNamespace(checksums=True)
    arms = {
        name: Prepared(arm=arm, engine=engine, templates=(), settings=stated, beneath=beneath)
        for name in ("on", "off")
    }
    sample = SimpleNamespace(memory_available_bytes=24 << 30)
    setup: Any = SimpleNamespace(
        own_slots=SimpleNamespace(arms=arms),
        study=SimpleNamespace(
            workload=SimpleNamespace(clients=1),
            every_arm=[SimpleNamespace(name=name, servers=1) for name in arms],
        ),
        laboratory=SimpleNamespace(host=SimpleNamespace(sample=lambda: sample)),
    )
    runs: Any = {name: SimpleNamespace(file_bytes=20 << 30) for name in arms}
    found = room_of(setup, runs).lacks
    assert lacks in found if lacks else found == ""
