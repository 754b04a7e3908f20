"""Drills pages in memory, a million times a fault: the rates that no server start could measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from steelyard._core import drill_names, fault_trials, kernels, scheme_cost, scheme_trials
from steelyard.integrity.drill.faults import PAGE
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.test_cluster import Ground
from steelyard.integrity.enabling import SHIPPED_KERNEL

Say = Callable[[str], None]
Pair = tuple[bytes, bytes, int]
CACHED_BYTES = 256 * 1024
"""Fits into a second-level cache."""
STREAMED_BYTES = 256 * 1024 * 1024
_MOST_PAIRS = 400


def page_pairs(ground: Ground, places: Sequence[str] = ("heap", "index", "TOAST")) -> list[Pair]:
    """Real pages with what they were before their last writes; both differ."""
    pairs: list[Pair] = []
    for number in range(ground.copies):
        for place in places:
            path = ground.files[number, place]
            now, before = ground.now(path), ground.before[path]
            relation = int(path.rpartition("/")[2])
            for at in range(0, min(len(now), len(before)), PAGE):
                page, old = now[at : at + PAGE], before[at : at + PAGE]
                if page != old and page[14:16] != b"\0\0" and old[14:16] != b"\0\0":
                    pairs.append((page, old, relation))
    return pairs[:_MOST_PAIRS]


def drill_pages(
    pairs: list[Pair],
    start: int,
    trials: int,
    seed: int,
    say: Say,
    found: dict[str, dict[str, Rate]],
) -> None:
    """Puts rates by fault and check into `found`."""
    faults, checks, _, _ = drill_names()
    threads = len(os.sched_getaffinity(0))
    for number, fault in enumerate(faults):
        say(f"{fault}, {trials} times in memory")
        missed, times = fault_trials(fault, pairs, start, trials, seed + number, threads)
        found[fault] = {
            check: Rate(times - count, times) for check, count in zip(checks, missed, strict=True)
        }


@dataclass(frozen=True)
class Speed:
    """What one way to verify costs a core: the median of all rounds, and the range of them."""

    gigabytes_per_s: float
    low: float
    high: float  # of 6 rounds, lowest and highest hold the true median in 97 %
    ticks_per_page: float  # of the time stamp counter; 0 where there is none

    @classmethod
    def of(cls, rounds: Sequence[tuple[int, int, int]]) -> Speed:
        """From bytes, nanoseconds and ticks of every round."""
        speeds = [size / max(ns, 1) * 1e9 / (1 << 30) for size, ns, _ in rounds]
        ticks = [ticks / (size / PAGE) for size, _, ticks in rounds]
        return cls(median(speeds), min(speeds), max(speeds), median(ticks))


Speeds = dict[str, Speed]
"""By "write cached", "read cached", "write streaming", "read streaming"."""


@dataclass(frozen=True)
class Verification:
    """One way to verify pages: what it costs and what it misses."""

    algorithm: str
    identity: str
    speeds: dict[str, Speeds]
    """By the instructions it is computed with, "" where there is one way; none where nothing is."""
    rates: dict[str, Rate]  # by fault

    def to_json(self) -> dict[str, Any]:
        """As `drill --algorithms --json` gives it."""
        return {
            "algorithm": self.algorithm,
            "identity": self.identity,
            "speeds": {
                kernel: {mode: asdict(speed) for mode, speed in speeds.items()}
                for kernel, speeds in self.speeds.items()
            },
            "faults": {fault: rate.to_json() for fault, rate in self.rates.items()},
        }


def compare_algorithms(
    pairs: list[Pair], trials: int, seed: int, rounds: int, say: Say
) -> list[Verification]:
    """Every algorithm with every identity that makes a difference to it, on the same faults."""
    faults, _, algorithms, identities = drill_names()
    ways = [
        (algorithm, identity)
        for algorithm in algorithms
        for identity in identities
        # Without a sum there is nothing to mix an identity in: it may stand in the header alone.
        if identity in (identities[0], identities[-1]) or algorithm not in algorithms[:2]
    ]
    say("speeds")
    speeds = _speeds(ways, rounds)
    found = []
    for algorithm, identity in ways:
        say(f"{algorithm}, identity: {identity}, {trials} times a fault")
        rates = {}
        for at, fault in enumerate(faults[:-1]):  # the last is of PostgreSQL's header alone
            missed, times = scheme_trials(
                fault, algorithm, identity, pairs, trials, seed + at, _threads()
            )
            rates[fault] = Rate(times - missed, times)
        found.append(Verification(algorithm, identity, speeds[algorithm, identity], rates))
    return found


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _speeds(ways: list[tuple[str, str]], rounds: int) -> dict[tuple[str, str], dict[str, Speeds]]:
    """Every round takes all ways in turn, so that none has a quiet one alone."""
    taken: dict[tuple[str, str, str, str], list[tuple[int, int, int]]] = {}
    for _ in range(rounds):
        for algorithm, identity in ways:
            for kernel in _kernels(algorithm, identity):
                for mode, size, times in _sizes(rounds):
                    for work in ("write", "read"):
                        cost = scheme_cost(algorithm, identity, work, size, times, kernel or None)
                        key = algorithm, identity, kernel, f"{work} {mode}"
                        taken.setdefault(key, []).append(cost)
    found: dict[tuple[str, str], dict[str, Speeds]] = {way: {} for way in ways}
    for (algorithm, identity, kernel, mode), costs in taken.items():
        found[algorithm, identity].setdefault(kernel, {})[mode] = Speed.of(costs)
    return found


def _kernels(algorithm: str, identity: str) -> tuple[str, ...]:
    """PostgreSQL's sum as its builds for this architecture have it, and as wide as can be."""
    if algorithm == "PostgreSQL":
        return tuple(dict.fromkeys([SHIPPED_KERNEL or kernels()[-1], kernels()[-1]]))
    return () if (algorithm, identity) == ("none", "none") else ("",)


def _sizes(rounds: int) -> tuple[tuple[str, int, int], ...]:
    """(mode, bytes, how often they are gone through); one round is for a quick look."""
    if rounds > 1:
        return ("cached", CACHED_BYTES, 64), ("streaming", STREAMED_BYTES, 1)
    return ("cached", CACHED_BYTES, 8), ("streaming", STREAMED_BYTES // 32, 1)
