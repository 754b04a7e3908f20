"""Tells the story of a drill: make a ground, damage it in every way, ask everybody, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.find import find_postgres
from steelyard.engines.registry import open_run
from steelyard.integrity.drill.cases import drill_files
from steelyard.integrity.drill.consequences import Consequence, drill_consequences, rates
from steelyard.integrity.drill.cost import Cost, last_cost
from steelyard.integrity.drill.faults import FAULTS
from steelyard.integrity.drill.matrix import Matrix
from steelyard.integrity.drill.memory import (
    Verification,
    compare_algorithms,
    drill_pages,
    page_pairs,
)
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.recovery import drill_recovery
from steelyard.integrity.drill.test_cluster import PLACES, make_ground
from steelyard.model.errors import EngineError, SteelyardError, UsageError

Say = Callable[[str], None]
PARTS = ("memory", "consequences", "recovery", "files")


@dataclass(frozen=True)
class Asked:
    """What a drill is asked."""

    version: str = "18"
    account: str | None = None
    copies: int = 20  # times that each fault is planted in each place
    trials: int = 1_000_000  # times in memory
    faults: Sequence[str] = FAULTS
    places: Sequence[str] = PLACES
    parts: Sequence[str] = PARTS
    recovery: int = 20
    consequences: int = 3
    rounds: int = 6  # of timing algorithms
    seed: int = 1
    records: Path = field(default=Path("records"))


@dataclass(frozen=True)
class Drill:
    """What a drill saw."""

    version: str
    seed: int
    copies: int
    seconds: float
    amcheck: bool
    pages: dict[str, dict[str, Rate]]
    files: Matrix
    recovery: Matrix
    consequences: list[Consequence]
    cost: Cost | None
    ended_by: BaseException | None = None
    """What ended it early (Ctrl-C, a request to end, a failure), raised once this was shown."""

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


def drill(asked: Asked, say: Say) -> Drill:
    """Damage, detect, heal. Ended once its ground stands, it is what was seen by then.

    UsageError: a fault or place that there is not.
    """
    began = time.monotonic()
    _require("fault", asked.faults, FAULTS)
    _require("place", asked.places, PLACES)
    _require("part", asked.parts, PARTS)
    engine, amcheck = _engine(asked)
    with open_run(open_cache(), engine.account) as run:
        say(f"ground: {asked.copies} copies of a table, PostgreSQL {engine.identity.version}")
        ground = make_ground(engine, run.slot(0), asked.copies)
        pages: dict[str, dict[str, Rate]] = {}
        files, recovery, consequences = Matrix(), Matrix(), list[Consequence]()
        ended_by: BaseException | None = None
        try:
            if "memory" in asked.parts:
                pairs = page_pairs(ground)
                drill_pages(pairs, ground.start, asked.trials, asked.seed, say, pages)
            if "consequences" in asked.parts:
                drill_consequences(ground, asked.consequences, asked.seed, say, consequences)
            if "recovery" in asked.parts:
                drill_recovery(ground, asked.faults, asked.recovery, asked.seed, say, recovery)
            if "files" in asked.parts:
                drill_files(ground, asked.faults, asked.places, asked.seed, say, files)
        except (KeyboardInterrupt, SystemExit, SteelyardError, OSError) as error:
            ended_by = error
    return Drill(
        version=engine.identity.version,
        seed=asked.seed,
        copies=asked.copies,
        seconds=time.monotonic() - began,
        amcheck=amcheck,
        pages=pages,
        files=files,
        recovery=recovery,
        consequences=consequences,
        cost=last_cost(asked.records),
        ended_by=ended_by,
    )


def algorithms(asked: Asked, say: Say) -> list[Verification]:
    """The ways to verify a page, side by side on the same real pages."""
    engine, _ = _engine(asked)
    with open_run(open_cache(), engine.account) as run:
        say("ground: real pages in two states")
        pairs = page_pairs(make_ground(engine, run.slot(0), min(asked.copies, 5)))
    return compare_algorithms(pairs, asked.trials, asked.seed, asked.rounds, say)


def _engine(asked: Asked) -> tuple[Any, bool]:
    """The engine, with contrib's amcheck where it can be had, and whether it was."""
    try:
        return find_postgres(asked.version, account=asked.account, contrib=True), True
    except EngineError:
        return find_postgres(asked.version, account=asked.account), False


def _require(kind: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UsageError(f'unknown {kind}: "{name}"', hint=f"Known: {'; '.join(known)}.")
