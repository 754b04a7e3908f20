"""Builds the notes of a scrub: what the cluster's state means for the findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.wal import format_lsn

if TYPE_CHECKING:
    from steelyard._core import Scanned

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
