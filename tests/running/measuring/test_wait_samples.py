"""Looks at sessions count only where they lie within a measured slice of the arm they saw."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from steelyard.engines.capabilities.counters import SampledWait
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.load import Visit
from steelyard.running.measuring.wait_samples import WaitSamples

SEEN = [SampledWait("IO:WalSync", "wal", 3), SampledWait("CPU:CPU", "processor", 1)]


class Probe:
    """Sees the same each time, as fast as it is asked."""

    def __init__(self, fails: bool = False) -> None:
        self.looks = 0
        self.closed = False
        self.fails = fails

    def sample(self) -> Sequence[SampledWait]:
        self.looks += 1
        if self.fails:
            raise EngineError("gone")
        return SEEN

    def close(self) -> None:
        self.closed = True


class Server:
    """An instance that lets its waits be seen, or refuses."""

    def __init__(self, probe: Probe | None) -> None:
        self.probe = probe

    def wait_probe(self, database: str) -> Probe:
        if self.probe is None:
            raise EngineError("permission denied")
        return self.probe

    def watch_waits(self, database: str) -> None:
        raise AssertionError("that is the pilot's")


def driven(arms: str, seconds: float = 0.4, dropped: str = "") -> Iterator[SliceLine]:
    """A slice of each arm, in real time."""
    for place, arm in enumerate(arms):
        began = time.monotonic_ns()
        time.sleep(seconds)
        yield SliceLine(
            epoch=0, arm=arm, kind="measured", block=place, position=0,
            start_ns=began, end_ns=time.monotonic_ns(), clients=8, transactions=1, busy_ns=1,
            latency_sum_ns=1, dropped="slept" if arm in dropped else None,
        )  # fmt: skip


def visits(arms: str) -> list[Visit]:
    return [Visit(arm, None, "measured", place, 0) for place, arm in enumerate(arms)]


def standing(**probes: Probe | None) -> dict[str, Instance]:
    return {arm: Server(probe) for arm, probe in probes.items()}  # type: ignore[misc]


def test_each_arm_is_looked_at_in_its_own_slices() -> None:
    a, b = Probe(), Probe()
    with WaitSamples(standing(a=a, b=b), 1, time.monotonic_ns) as waits:
        list(waits.during(visits("aba"), driven("aba")))
        found = waits.lines()
    assert a.closed
    assert b.closed
    assert found["a"].samples > found["b"].samples > 0
    assert found["a"].samples <= a.looks
    for line in found.values():
        assert line.sessions == 8 * line.samples
        told = {one.event: (one.part, one.sessions) for one in line.events}
        n = line.samples
        assert told == {"IO:WalSync": ("wal", 3 * n), "CPU:CPU": ("processor", n)}


class Slow(Probe):
    """Answers after a while, as a server that is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = False

    def sample(self) -> Sequence[SampledWait]:
        self.under_way = True
        time.sleep(0.3)
        self.under_way = False
        return super().sample()


def test_no_look_is_under_way_when_the_slices_are_over() -> None:
    """The arm may be suspended then, and would answer when it goes on."""
    slow = Slow()
    with WaitSamples(standing(a=slow), 1, time.monotonic_ns) as waits:
        for _ in range(4):
            list(waits.during(visits("a"), driven("a", seconds=0.25)))
            assert not slow.under_way
    assert slow.looks > 1


def test_nothing_is_looked_at_outside_of_measured_slices() -> None:
    probe = Probe()
    with WaitSamples(standing(a=probe), 1, time.monotonic_ns) as waits:
        time.sleep(0.3)
        list(waits.during(visits("b"), driven("b")))
        time.sleep(0.3)
        assert waits.lines() == {}
    assert probe.looks == 0


def test_a_slice_that_is_dropped_takes_its_looks_with_it() -> None:
    with WaitSamples(standing(a=Probe(), b=Probe()), 1, time.monotonic_ns) as waits:
        list(waits.during(visits("ab"), driven("ab", dropped="a")))
        assert waits.lines().keys() == {"b"}


def test_a_server_that_does_not_let_us_look_has_no_samples() -> None:
    with WaitSamples(standing(a=None, b=Probe(fails=True)), 1, time.monotonic_ns) as waits:
        list(waits.during(visits("ab"), driven("ab")))
        assert waits.lines() == {}
