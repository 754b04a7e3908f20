"""Compares algorithms that verify a page: their speed, and the faults that they miss."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from steelyard._core import drill_names, fault_trials, kernels, scheme_cost, scheme_trials
from steelyard.integrity.checksum_cost import SHIPPED_KERNEL
from steelyard.integrity.drill.faults import PAGE
from steelyard.integrity.drill.matrix import Rate
from steelyard.integrity.drill.test_cluster import TestCluster

Progress = Callable[[str], None]
CACHED_BYTES = 256 * 1024
"""Fits into a second-level cache."""
STREAMED_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Speed:
    """The speed of one algorithm on one core: median, lowest and highest of the rounds."""

    gigabytes_per_s: float
    low: float
    high: float  # the range of 6 rounds holds the true median in 97 %
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
    """One algorithm with one identity mixed in: its speeds, and the rates at which it notices."""

    algorithm: str
    identity: str
    speeds: dict[str, Speeds]
    """By kernel, "" where there is only one; empty where nothing is computed."""
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
    pairs: list[PagePair], trials: int, seed: int, rounds: int, progress: Progress
) -> list[Verification]:
    """Every algorithm with every identity that changes it, on the same faults."""
    faults, _, algorithms, identities = drill_names()
    variants = [
        (algorithm, identity)
        for algorithm in algorithms
        for identity in identities
        # Without a checksum an identity cannot be mixed in; it can only be stored in the header.
        if identity in (identities[0], identities[-1]) or algorithm not in algorithms[:2]
    ]
    progress("speeds")
    speeds = _speeds(variants, rounds)
    verifications = []
    for algorithm, identity in variants:
        progress(f"{algorithm}, identity: {identity}, {trials} times a fault")
        rates = {}
        for at, fault in enumerate(faults[:-1]):  # the last one exists only in PostgreSQL's header
            missed, times = scheme_trials(
                fault, algorithm, identity, pairs, trials, seed + at, _threads()
            )
            rates[fault] = Rate(times - missed, times)
        verifications.append(Verification(algorithm, identity, speeds[algorithm, identity], rates))
    return verifications


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _speeds(
    variants: list[tuple[str, str]], rounds: int
) -> dict[tuple[str, str], dict[str, Speeds]]:
    """Each round times all of them in turn, so that noise of the machine hits all alike."""
    samples: dict[tuple[str, str, str, str], list[tuple[int, int, int]]] = {}
    for _ in range(rounds):
        for algorithm, identity in variants:
            for kernel in _kernels(algorithm, identity):
                for mode, size, times in _sizes(rounds):
                    for work in ("write", "read"):
                        cost = scheme_cost(algorithm, identity, work, size, times, kernel or None)
                        key = algorithm, identity, kernel, f"{work} {mode}"
                        samples.setdefault(key, []).append(cost)
    speeds: dict[tuple[str, str], dict[str, Speeds]] = {variant: {} for variant in variants}
    for (algorithm, identity, kernel, mode), costs in samples.items():
        speeds[algorithm, identity].setdefault(kernel, {})[mode] = Speed.of(costs)
    return speeds


def _kernels(algorithm: str, identity: str) -> tuple[str, ...]:
    """For PostgreSQL's checksum the kernel of its builds and the widest one; else one kernel."""
    if algorithm == "PostgreSQL":
        return tuple(dict.fromkeys([SHIPPED_KERNEL or kernels()[-1], kernels()[-1]]))
    return () if (algorithm, identity) == ("none", "none") else ("",)


def _sizes(rounds: int) -> tuple[tuple[str, int, int], ...]:
    """(mode, bytes, passes); smaller for a single round, which is a quick look."""
    if rounds > 1:
        return ("cached", CACHED_BYTES, 64), ("streaming", STREAMED_BYTES, 1)
    return ("cached", CACHED_BYTES, 8), ("streaming", STREAMED_BYTES // 32, 1)


PagePair = tuple[bytes, bytes, int]
"""(page, its version before the last write, filenode of its relation)."""
_MAX_PAIRS = 400


def page_pairs(
    cluster: TestCluster, places: Sequence[str] = ("heap", "index", "TOAST")
) -> list[PagePair]:
    """Real pages that differ from their version before the last writes, with both versions."""
    pairs: list[PagePair] = []
    for number in range(cluster.copies):
        for place in places:
            path = cluster.files[number, place]
            current, earlier = cluster.current(path), cluster.earlier[path]
            relation = int(path.rpartition("/")[2])
            for at in range(0, min(len(current), len(earlier)), PAGE):
                page, old = current[at : at + PAGE], earlier[at : at + PAGE]
                if page != old and page[14:16] != b"\0\0" and old[14:16] != b"\0\0":
                    pairs.append((page, old, relation))
    return pairs[:_MAX_PAIRS]


def drill_pages(
    pairs: list[PagePair],
    start: int,
    trials: int,
    seed: int,
    progress: Progress,
    rates: dict[str, dict[str, Rate]],
) -> None:
    """Put rates by fault and check into `rates`, each at once: a drill may be interrupted."""
    faults, checks, _, _ = drill_names()
    threads = len(os.sched_getaffinity(0))
    for number, fault in enumerate(faults):
        progress(f"{fault}, {trials} times in memory")
        missed, times = fault_trials(fault, pairs, start, trials, seed + number, threads)
        rates[fault] = {
            check: Rate(times - count, times) for check, count in zip(checks, missed, strict=True)
        }
