"""Runs a drill: makes a test cluster, damages it part by part, and collects what was noticed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.drill_tables import PLACES
from steelyard.engines.registry import open_run
from steelyard.integrity.checksum_cost import ChecksumCost, last_cost
from steelyard.integrity.drill.algorithms import (
    Verification,
    compare_algorithms,
    drill_pages,
    page_pairs,
)
from steelyard.integrity.drill.consequences import Consequence, drill_consequences, rates
from steelyard.integrity.drill.faults import FAULTS
from steelyard.integrity.drill.files import drill_files
from steelyard.integrity.drill.matrix import DetectionMatrix, Rate
from steelyard.integrity.drill.recovery import drill_recovery
from steelyard.integrity.drill.test_cluster import make_test_cluster
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
