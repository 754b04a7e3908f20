"""Holds what a scrub is to do, and derives the options of the page scan from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.integrity.scrub.cluster_state import ClusterState, RunState

if TYPE_CHECKING:
    from steelyard._core import ScanAsked
    from steelyard.integrity.scrub.lsn_catalogue import LsnCatalogue

GAPS_S = (1.0, 2.0, 5.0)
"""Between reads of a wrong page, on a cluster that is or was written to."""
RUNNING_RATE = 100 * 1024 * 1024.0
"""Default limit on a running server, in bytes a second."""
MAX_THREADS = 8
_MAYBE_RUNNING = (RunState.RUNNING, RunState.POSSIBLY)


@dataclass(frozen=True)
class ScrubRequest:
    """What to scrub, and how."""

    path: Path
    threads: int | None = None
    max_rate: float | None = None  # bytes a second; 0: no limit
    backup: bool = False
    crashed: bool = False  # the user states that no server runs there
    catalogue: Path | None = None
    state: Path | None = None
    server: str | None = None  # a connection string, for the names of relations
    gaps_s: Sequence[float] = GAPS_S
    kernel: str | None = None


def scan_options(
    request: ScrubRequest, state: ClusterState, catalogue: LsnCatalogue | None = None
) -> ScanAsked:
    """The options of `scan_segments` for a request, given the state of the cluster."""
    running = state.run_state in _MAYBE_RUNNING
    rate = RUNNING_RATE if running and request.max_rate is None else request.max_rate
    threads = request.threads or (1 if running else min(MAX_THREADS, _processors()))
    reread = state.run_state in (*_MAYBE_RUNNING, RunState.CRASHED)
    return {
        "page_bytes": state.layout.page_bytes,
        "segment_blocks": state.layout.segment_blocks,
        "checksums": state.layout.checksums,
        "threads": threads,
        "max_rate": rate or None,
        "drop_behind": True,
        "idle": running,
        "kernel": request.kernel,
        "gaps_s": list(request.gaps_s) if reread else [],
        "catalogue": str(catalogue.path) if catalogue else None,
        "origin": catalogue.origin if catalogue else None,
        "most_lsn": catalogue.max_lsn if catalogue else 0,
        "compare": catalogue.compare if catalogue else False,
        "replayed_from": state.layout.replayed_from if state.replay_from is None else None,
    }


def _processors() -> int:
    return len(os.sched_getaffinity(0))
