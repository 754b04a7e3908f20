"""Drills pages in memory, a million times a fault, for rates too low to measure on servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from steelyard._core import drill_names, fault_trials
from steelyard.integrity.drill.faults import PAGE
from steelyard.integrity.drill.matrix import Rate
from steelyard.integrity.drill.test_cluster import TestCluster

Progress = Callable[[str], None]
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
    found: dict[str, dict[str, Rate]],
) -> None:
    """Put rates by fault and check into `found`, each at once: a drill may be interrupted."""
    faults, checks, _, _ = drill_names()
    threads = len(os.sched_getaffinity(0))
    for number, fault in enumerate(faults):
        progress(f"{fault}, {trials} times in memory")
        missed, times = fault_trials(fault, pairs, start, trials, seed + number, threads)
        found[fault] = {
            check: Rate(times - count, times) for check, count in zip(checks, missed, strict=True)
        }
