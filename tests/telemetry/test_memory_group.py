"""What a memory group tells of a server is read where it has a cap, and nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.engines.capabilities.memory import MemoryCap, MemoryUse
from steelyard.engines.engine import Slot
from steelyard.telemetry.source import reading
from steelyard.telemetry.sources.memory_group import SOURCE
from story.noop.engine import NoopEngine

SLOT = Slot(0, Path("/run/slot0"), Path("/tmp/sockets"), 54320)
CAP = MemoryCap(400 << 20, "v1")


def test_a_server_without_a_cap_has_no_readings() -> None:
    instance = NoopEngine().create(Path("a"), protection="checksums")
    instance.start(SLOT, {})
    assert SOURCE.kinds(instance) == ()
    assert SOURCE.needs(instance) == "its memory has no cap"


def test_counts_are_differences_and_levels_are_the_last() -> None:
    engine = NoopEngine()
    instance = engine.create(Path("a"), protection="checksums")
    instance.start(replace(SLOT, memory=CAP), {})
    assert SOURCE.needs(instance) == ""
    engine.journal.answers.memory = lambda _: MemoryUse(100, 60, 1000, 5, 0, 110)
    first = SOURCE.read(instance)
    engine.journal.answers.memory = lambda _: MemoryUse(200, 90, 1700, 9, 1, 220)
    last = SOURCE.read(instance)
    told = {one.name: reading(one, first, last).value for one in SOURCE.kinds(instance)}
    assert told == {
        "memory_refaults": 700,
        "memory_limit_hits": 4,
        "memory_oom_kills": 1,
        "memory_used_bytes": 200,
        "memory_cache_bytes": 90,
        "memory_peak_bytes": 220,
    }


def test_what_the_kernel_does_not_count_is_missing_and_not_zero() -> None:
    engine = NoopEngine()
    instance = engine.create(Path("a"), protection="checksums")
    instance.start(replace(SLOT, memory=CAP), {})
    engine.journal.answers.memory = lambda _: MemoryUse(100, 60, 1000, None, 0, None)
    told = SOURCE.read(instance)
    assert {"memory_limit_hits", "memory_peak_bytes"}.isdisjoint(told.values)
    instance.stop()
    assert SOURCE.read(instance).missing == "its memory group is not seen"


def test_refaults_of_a_kernel_without_them_are_missing() -> None:
    engine = NoopEngine()
    instance = engine.create(Path("a"), protection="checksums")
    instance.start(replace(SLOT, memory=CAP), {})
    engine.journal.answers.memory = lambda _: MemoryUse(100, 60, None, 5, 0, None)
    first = SOURCE.read(instance)
    [refaults] = [kind for kind in SOURCE.kinds(instance) if kind.name == "memory_refaults"]
    assert reading(refaults, first, first).missing == "the server does not tell it"
