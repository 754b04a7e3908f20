"""Holds the result of a scrub: counts, damaged pages, pages to be replayed, unread files, notes.

Holds what a scrub is to do, and derives the options of the page scan from it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.integrity.scrub.advice import finding_facts
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.finding import Damage
from steelyard.integrity.scrub.layout import ClusterLayout
from steelyard.model.units import format_lsn

if TYPE_CHECKING:
    from steelyard._core import ScanAsked, Scanned
    from steelyard.integrity.scrub.written_files import LsnCatalogue


@dataclass(frozen=True)
class ScrubOutcome:
    """Everything that a scrub found."""

    path: str
    layout: ClusterLayout
    run_state: RunState
    files: int
    blocks: int
    bytes: int
    seconds: float
    bad: tuple[Damage, ...]
    needs_replay: tuple[Damage, ...] = ()
    empty: int = 0  # blocks that are all zeroes: never written, or lost
    unlisted: int = 0  # bad blocks beyond those in the list
    transient: int = 0  # blocks that were wrong at first and right when read again
    vanished: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    denied: tuple[tuple[str, str], ...] = ()
    unwritten: str = ""  # why the requested catalogue could not be written
    notes: tuple[str, ...] = field(default=())

    @property
    def bad_blocks(self) -> int:
        """Number of damaged blocks, listed or not."""
        return len(self.bad) - self.bad_files + self.unlisted

    @property
    def bad_files(self) -> int:
        """Number of files and directories that are missing, or are damaged as a whole."""
        return sum(finding.of_file for finding in self.bad)

    @property
    def exit_status(self) -> int:
        """1: damage; 3: something could not be read, or the catalogue not be written; else 0."""
        if self.bad_blocks or self.bad_files:
            return 1
        return 3 if self.denied or self.unwritten else 0

    def to_json(self) -> dict[str, Any]:
        """As `scrub --json` gives it."""
        layout = self.layout
        return {
            "path": self.path,
            "life": self.run_state.value,
            "version": str(layout.major),
            "system_identifier": str(layout.system_identifier),
            "timeline": layout.timeline,
            "checkpoint": format_lsn(layout.checkpoint),
            "checksums": layout.checksums,
            "files": self.files,
            "blocks": self.blocks,
            "bytes": self.bytes,
            "empty": self.empty,
            "seconds": round(self.seconds, 3),
            "bad_blocks": self.bad_blocks,
            "bad_files": self.bad_files,
            "bad": [finding_facts(finding) for finding in self.bad],
            "needs_replay": [finding_facts(finding) for finding in self.needs_replay],
            "transient": self.transient,
            "vanished": list(self.vanished),
            "skipped": [{"path": p, "reason": r} for p, r in (*self.skipped, *self.denied)],
            "denied": [{"path": p, "reason": r} for p, r in self.denied],
            "unwritten": self.unwritten,
            "notes": list(self.notes),
        }


MANY_FILES = 10


def state_notes(state: ClusterState, scanned: Scanned, gaps_s: Sequence[float]) -> list[str]:
    """Notes on the state of the cluster; `gaps_s`: seconds between reads of a wrong page."""
    notes = []
    if not state.layout.checksums:
        notes.append(
            "checksums are off: only headers and empty pages were checked; damage in rows is not "
            "seen (`steelyard checksums` says what turning them on takes)"
        )
    if state.run_state in (RunState.RUNNING, RunState.POSSIBLY):
        notes.append(
            "the server runs: pages that it holds in memory are checked as they lie on disk"
        )
        if scanned["wrong"] or scanned["dismissed"]:
            notes.append(
                f"what was wrong at first was looked at again, up to {sum(gaps_s):g} s later"
            )
    if state.run_state is RunState.POSSIBLY:
        notes.append(
            f'its state is "{state.layout.state}" and postmaster.pid names a process that cannot '
            "be seen from here (a container, another machine): it is taken to run. If none does, "
            "--crashed says so, and what recovery will write anew is no damage"
        )
    if state.run_state is RunState.CRASHED:
        notes.append(
            f'it was not shut down cleanly (state "{state.layout.state}"): what recovery will '
            "write anew is no damage"
        )
    if state.run_state is RunState.RUNNING and state.replay_from is not None:
        notes.append(
            "it is being recovered and may not be consistent yet: what recovery will write anew "
            "is no damage; scrub it again when it accepts connections"
        )
    return [*notes, *_log_notes(state)]


def _log_notes(state: ClusterState) -> list[str]:
    if state.replay_from is None:
        return []
    if state.replay_to is None:
        return [
            "how far its write-ahead log reaches is not known (neither the log nor a "
            "backup_manifest is there): no page is taken to be healed by it. Recover it, stop it, "
            "and scrub again"
        ]
    if not state.heals_torn:
        return [
            "full_page_writes is off: the log does not hold whole pages, so it heals no torn one"
        ]
    return []


def scan_notes(state: ClusterState, scanned: Scanned, went_back: int) -> list[str]:
    """Notes on the scan itself. `went_back`: files with pages whose LSN went backwards."""
    notes = []
    if behind := scanned["behind"]:
        what = "1 block is" if behind == 1 else f"{behind} blocks are"
        notes.append(
            f"{what} older than at an earlier scrub, and no damage: replay "
            f"from {format_lsn(state.layout.redo)} on writes pages as they were over newer ones. "
            "What is still older after the next checkpoint is reported then"
        )
    if went_back >= MANY_FILES:
        notes.append(
            f"{went_back} files went back at once: when an old copy of the whole cluster was "
            "brought back, no write was lost; remove the catalogue then, to begin anew"
        )
    if scanned["unchecked"] and state.run_state is not RunState.STOPPED:
        notes.append(
            f"{scanned['unchecked']} wrong blocks were too many to be looked at again or "
            "distinguished: they count as damaged"
        )
    return notes


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
