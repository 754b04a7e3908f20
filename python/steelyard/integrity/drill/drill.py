"""Runs a drill: makes a test cluster, damages it part by part, and collects what was noticed.

Its part in memory compares algorithms that verify a page: their speed, and the faults that they
miss.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from steelyard._core import drill_names, fault_trials, kernels, scheme_cost, scheme_trials
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.drill_tables import PLACES
from steelyard.engines.registry import open_run
from steelyard.integrity.checksum_cost import SHIPPED_KERNEL, ChecksumCost, last_cost
from steelyard.integrity.drill.consequences import Consequence, drill_consequences, rates
from steelyard.integrity.drill.faults import FAULTS, PAGE
from steelyard.integrity.drill.files import drill_files
from steelyard.integrity.drill.matrix import DetectionMatrix, Rate
from steelyard.integrity.drill.recovery import drill_recovery
from steelyard.integrity.drill.test_cluster import TestCluster, make_test_cluster
from steelyard.model.errors import EngineError, SteelyardError, UsageError

Progress = Callable[[str], None]
PARTS = ("memory", "consequences", "recovery", "files")


@dataclass(frozen=True)
class DrillRequest:
    """What to drill, and how often."""

    version: str = "18"
    account: str | None = None
    copies: int = 20  # of the table: times that each fault is planted in each place
    trials: int = 1_000_000  # of each fault in memory
    faults: Sequence[str] = FAULTS
    places: Sequence[str] = PLACES
    parts: Sequence[str] = PARTS
    recovery: int = 20  # times for each fault
    consequences: int = 3  # times for each fault
    rounds: int = 6  # of timing algorithms
    seed: int = 1
    records: Path = field(default=Path("records"))


@dataclass(frozen=True)
class DrillResult:
    """What a drill found."""

    version: str
    seed: int
    copies: int
    seconds: float
    amcheck: bool
    pages: dict[str, dict[str, Rate]]
    files: DetectionMatrix
    recovery: DetectionMatrix
    consequences: list[Consequence]
    cost: ChecksumCost | None
    ended_by: BaseException | None = None
    """What ended the drill early (Ctrl-C, SIGTERM, a failure); the caller raises it at the end."""

    def to_json(self) -> dict[str, Any]:
        """As `drill --json` gives it."""
        pages = [
            {"fault": fault, "check": check, **rate.to_json()}
            for fault, rates in self.pages.items()
            for check, rate in rates.items()
        ]
        return {
            "version": self.version,
            "seed": self.seed,
            "copies": self.copies,
            "seconds": round(self.seconds, 1),
            "amcheck": self.amcheck,
            "pages": pages,
            "files": self.files.to_json(),
            "recovery": self.recovery.to_json(),
            "consequences": [each.to_json() for each in self.consequences],
            "consequence_rates": rates(self.consequences),
            "cost": self.cost.to_json() if self.cost else None,
            "interrupted": self.ended_by is not None,
        }


def drill(request: DrillRequest, progress: Progress) -> DrillResult:
    """Run the parts of a drill; one that is ended early returns what was found by then.

    UsageError: an unknown fault, place or part.
    """
    began = time.monotonic()
    require_known("fault", request.faults, FAULTS)
    require_known("place", request.places, PLACES)
    require_known("part", request.parts, PARTS)
    engine, amcheck = _engine(request)
    with open_run(open_cache(), engine.account) as run:
        progress(
            f"test cluster: {request.copies} copies of a table, "
            f"PostgreSQL {engine.identity.version}"
        )
        cluster = make_test_cluster(engine, run.slot(0), request.copies)
        pages: dict[str, dict[str, Rate]] = {}
        files, recovery, consequences = DetectionMatrix(), DetectionMatrix(), list[Consequence]()
        ended_by: BaseException | None = None
        try:
            if "memory" in request.parts:
                pairs = page_pairs(cluster)
                drill_pages(pairs, cluster.start, request.trials, request.seed, progress, pages)
            if "consequences" in request.parts:
                drill_consequences(
                    cluster, request.consequences, request.seed, progress, consequences
                )
            if "recovery" in request.parts:
                drill_recovery(
                    cluster, request.faults, request.recovery, request.seed, progress, recovery
                )
            if "files" in request.parts:
                drill_files(cluster, request.faults, request.places, request.seed, progress, files)
        except (KeyboardInterrupt, SystemExit, SteelyardError, OSError) as error:
            ended_by = error
    return DrillResult(
        version=engine.identity.version,
        seed=request.seed,
        copies=request.copies,
        seconds=time.monotonic() - began,
        amcheck=amcheck,
        pages=pages,
        files=files,
        recovery=recovery,
        consequences=consequences,
        cost=last_cost(request.records),
        ended_by=ended_by,
    )


def drill_algorithms(request: DrillRequest, progress: Progress) -> list[Verification]:
    """Compare algorithms that verify a page on the same real pages of a test cluster."""
    engine, _ = _engine(request)
    with open_run(open_cache(), engine.account) as run:
        progress("test cluster: real pages in two states")
        cluster = make_test_cluster(engine, run.slot(0), min(request.copies, 5))
        pairs = page_pairs(cluster)
    return compare_algorithms(pairs, request.trials, request.seed, request.rounds, progress)


def _engine(request: DrillRequest) -> tuple[Postgres, bool]:
    """The engine, if possible with contrib's amcheck, and whether it has that."""
    try:
        return find_postgres(request.version, account=request.account, contrib=True), True
    except EngineError:
        return find_postgres(request.version, account=request.account), False


def require_known(kind: str, requested: Sequence[str], known: Sequence[str]) -> None:
    """UsageError: one that is wanted is not known."""
    for name in requested:
        if name not in known:
            raise UsageError(f'unknown {kind}: "{name}"', hint=f"Known: {'; '.join(known)}.")


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
