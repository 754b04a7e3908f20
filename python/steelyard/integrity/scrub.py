"""Tells the story of a scrub: look at the cluster, read every page, look again, name, advise."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, broken_forks, scan_segments, walk_cluster
from steelyard.errors import ServerError, UsageError
from steelyard.integrity.backup import Archive, archives_of, read_archives
from steelyard.integrity.baseline import Baseline, baseline
from steelyard.integrity.cluster_state import ClusterState, Life, look_at
from steelyard.integrity.compressed import read_compressed
from steelyard.integrity.finding import Finding
from steelyard.integrity.guessing import fork_of, guessed, page_at
from steelyard.integrity.outcome import Outcome
from steelyard.integrity.owners import conninfo_of, with_owners
from steelyard.integrity.replay import needs_replay, reset_at_start
from steelyard.integrity.resumption import Resumption

if TYPE_CHECKING:
    from steelyard._core import ScanAsked, Scanned, Told

GAPS_S = (1.0, 2.0, 5.0)
"""Between looks at what was wrong at first, on a cluster that is or was written to."""
RUNNING_RATE = 100 * 1024 * 1024.0
"""Bytes a second that a scrub takes from a running server unless told otherwise."""
MOST_THREADS = 8
MANY_FILES = 10
_ALIVE = (Life.RUNNING, Life.POSSIBLY)
LeftOut = list[tuple[str, str]]
"""(label, why) of files that were not scanned."""

Watch = Callable[[int, int, int, int], None]
"""Told bytes read, bytes there are, wrong blocks, and blocks that are being looked at again."""


@dataclass(frozen=True)
class Asked:
    """What a scrub is asked."""

    path: Path
    threads: int | None = None
    max_rate: float | None = None  # bytes a second; 0: as fast as it goes
    backup: bool = False
    crashed: bool = False  # the user says that no server runs there
    catalogue: Path | None = None
    state: Path | None = None
    server: str | None = None  # a connection string, to ask for names
    gaps_s: Sequence[float] = GAPS_S
    kernel: str | None = None


def scrub(asked: Asked, watch: Watch) -> Outcome:
    """Read every page of a cluster or base backup. UsageError: it is none that can be read."""
    began = time.monotonic()
    archives = archives_of(asked.path) if asked.path.exists() else []
    archive = read_archives(archives) if archives else None
    state = archive.state if archive else _looked(asked)
    base = _baseline(asked, state)
    segments, skipped, denied = _segments(asked.path, state, archive)
    resumption = Resumption(asked.state, state.layout.system_identifier) if asked.state else None
    left = resumption.left(segments) if resumption else segments
    notes = [base.note] if base else []
    if resumption and len(left) < len(segments):
        notes.append(
            f"{len(segments) - len(left)} files were read before, since "
            f"{resumption.began}, and are left out: what became of them "
            "after they were read is not seen"
        )
    try:
        if archive and archive.compressed:
            scanned = read_compressed(archives, archive, left)
        else:
            scanned = scan_segments(
                left, scan_asked(asked, state, base), _watcher(left, watch, resumption)
            )
    except BaseException:
        if resumption:
            resumption.close()
        raise
    if resumption:
        resumption.finish()
    if state.life is Life.STOPPED and _has_started(asked, state):
        state = replace(state, life=Life.RUNNING)
        scanned = _again(asked, state, left, scanned)
        notes.append("a server was started here meanwhile: what was wrong was looked at again")
    outcome = _outcome(asked, state, segments, left, scanned)
    return replace(
        outcome,
        seconds=time.monotonic() - began,
        skipped=tuple(skipped),
        denied=(*denied, *outcome.denied),
        notes=(*_notes(state), *notes, *outcome.notes),
    )


def _looked(asked: Asked) -> ClusterState:
    return look_at(asked.path, backup=asked.backup, crashed=asked.crashed)


def _has_started(asked: Asked, before: ClusterState) -> bool:
    """Whether a server was started, or stopped again, in a directory that was at rest."""
    try:
        now = _looked(replace(asked, crashed=False))
    except UsageError:
        return True  # it is no longer what it was
    return now.life is not before.life or now.layout != before.layout


def _again(asked: Asked, state: ClusterState, left: Sequence[Segment], scanned: Scanned) -> Scanned:
    """What is still wrong of the files in which something was, now that they may be written."""
    backwards = [each for each in scanned["wrong"] if each[2][0] == "backwards"]
    suspects = sorted({each[0] for each in scanned["wrong"]})
    again = scan_segments(
        [left[index] for index in suspects], scan_asked(asked, state), lambda *_: None
    )
    wrong = [(suspects[index], block, told) for index, block, told in again["wrong"]]
    dismissed = [(suspects[index], block, told) for index, block, told in again["dismissed"]]
    return {
        **scanned,
        "wrong": sorted({*backwards, *wrong}),
        "dismissed": dismissed,
        "uncounted": again["uncounted"],
        "unchecked": again["unchecked"],
        "vanished": [*scanned["vanished"], *again["vanished"]],
    }


def _baseline(asked: Asked, state: ClusterState) -> Baseline | None:
    if asked.catalogue is None:
        return None
    if asked.state is not None:
        raise UsageError(
            "a scrub that keeps a catalogue cannot be gone on with",
            detail="A catalogue holds the blocks of one scan from its beginning to its end.",
            hint="Leave out --state or --catalogue.",
        )
    if state.life is Life.BACKUP:
        raise UsageError(
            "a base backup has no catalogue",
            detail="Until its write-ahead log is replayed its pages may be of any time.",
        )
    return baseline(asked.catalogue, state)


def _segments(
    path: Path, state: ClusterState, archive: Archive | None
) -> tuple[list[Segment], LeftOut, LeftOut]:
    """What is scanned, stray names, and what belongs to it and cannot be read."""
    if archive is not None:
        return list(archive.segments), list(archive.skipped), list(archive.denied)
    try:
        segments, skipped, denied = walk_cluster(path, state.layout.tablespace_version)
    except OSError as error:
        raise UsageError(
            f'could not read data directory "{path}": {error}',
            hint="Run as the account that it belongs to, or as root.",
        ) from error
    denied += [
        (
            f"pg_tblspc/{oid}",
            f"tablespace_map names it, and it is not there: unpack {oid}.tar to it",
        )
        for oid in state.tablespaces
        if not os.path.lexists(path / "pg_tblspc" / str(oid))
    ]
    return segments, skipped, denied


def scan_asked(asked: Asked, state: ClusterState, base: Baseline | None = None) -> ScanAsked:
    """How the extension is to scan what a scrub is asked, given the state of the cluster."""
    running = state.life in _ALIVE
    rate = RUNNING_RATE if running and asked.max_rate is None else asked.max_rate
    threads = asked.threads or (1 if running else min(MOST_THREADS, _processors()))
    gaps = list(asked.gaps_s) if state.life in (*_ALIVE, Life.CRASHED) else []
    return {
        "page_bytes": state.layout.page_bytes,
        "segment_blocks": state.layout.segment_blocks,
        "checksums": state.layout.checksums,
        "threads": threads,
        "max_rate": rate or None,
        "drop_behind": True,
        "idle": running,
        "kernel": asked.kernel,
        "gaps_s": gaps,
        "catalogue": str(base.path) if base else None,
        "origin": base.origin if base else None,
        "most_lsn": base.most_lsn if base else 0,
        "compare": base.compare if base else False,
    }


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _watcher(
    segments: Sequence[Segment], watch: Watch, resumption: Resumption | None
) -> Callable[[int, int, int, int, int, list[int]], None]:
    total = sum(segment.bytes for segment in segments)

    def told(read: int, blocks: int, files: int, wrong: int, again: int, done: list[int]) -> None:
        if resumption:
            resumption.add(segments[index] for index in done)
        watch(read, total, wrong, again)

    return told


def _notes(state: ClusterState) -> list[str]:
    notes = []
    if not state.layout.checksums:
        notes.append(
            "checksums are off: only headers and empty pages were checked; damage in rows is not "
            "seen (`steelyard checksums` says what turning them on takes)"
        )
    if state.life in _ALIVE:
        notes.append(
            "the server runs: what it was just writing was looked at again over 8 s; pages that it "
            "holds in memory are checked as they lie on disk"
        )
    if state.life is Life.POSSIBLY:
        notes.append(
            f'its state is "{state.layout.state}" and postmaster.pid names a process that cannot '
            "be seen from here (a container, another machine): it is taken to run. If none does, "
            "--crashed tells so, and what recovery will write anew is no damage"
        )
    if state.life is Life.CRASHED:
        notes.append(
            f'it was not shut down cleanly (state "{state.layout.state}"): what recovery will '
            "write anew is no damage"
        )
    if state.life is Life.RUNNING and state.replay_from is not None:
        notes.append(
            "it is being recovered and may not be consistent yet: what recovery will write anew "
            "is no damage; scrub it again when it accepts connections"
        )
    if state.replay_from is not None and state.replay_to is None:
        notes.append(
            "how far its write-ahead log reaches is not known (neither the log nor a "
            "backup_manifest is there): no page is taken to be healed by it. Recover it, stop it, "
            "and scrub again"
        )
    elif state.replay_from is not None and not state.heals_torn:
        notes.append(
            "full_page_writes is off: the log does not hold whole pages, so it heals no torn one"
        )
    return notes


def _outcome(
    asked: Asked,
    state: ClusterState,
    segments: Sequence[Segment],
    left: Sequence[Segment],
    scanned: Scanned,
) -> Outcome:
    findings = [
        _finding(left[index], block, told, state) for index, block, told in scanned["wrong"]
    ]
    findings += _gaps(segments, state)
    findings = guessed(findings, left, segments, state)
    findings, notes = _named(asked, state, findings)
    reset = reset_at_start(segments)
    waiting = [finding for finding in findings if needs_replay(finding, state, reset)]
    back = {finding.path for finding in findings if finding.reason == "backwards"}
    if len(back) >= MANY_FILES:
        notes.append(
            f"{len(back)} files went back at once: when an old copy of the whole cluster was "
            "brought back, no write was lost; remove the catalogue then, to begin anew"
        )
    if scanned["unchecked"] and state.life is not Life.STOPPED:
        notes.append(
            f"{scanned['unchecked']} wrong blocks were too many to be looked at again or told "
            "apart: they count as damaged"
        )
    return Outcome(
        path=str(asked.path),
        layout=state.layout,
        life=state.life,
        files=scanned["files"],
        blocks=scanned["blocks"],
        bytes=scanned["bytes"],
        seconds=0.0,
        bad=tuple(finding for finding in findings if finding not in waiting),
        needs_replay=tuple(waiting),
        unlisted=scanned["uncounted"],
        transient=len(scanned["dismissed"]),
        vanished=tuple(scanned["vanished"]),
        denied=tuple(scanned["denied"]),
        notes=tuple(notes),
    )


def _finding(segment: Segment, block: int, told: Told, state: ClusterState) -> Finding:
    reason, expected, found, lsn, before = told
    inside = block % state.layout.segment_blocks
    return Finding(
        path=segment.label,
        block=block,
        fork=segment.fork,
        reason=reason,
        expected=expected,
        found=found,
        lsn=lsn,
        before=before,
        offset=inside * state.layout.page_bytes,
        database=segment.database,
        filenode=segment.filenode,
        tablespace=segment.tablespace,
    )


def _gaps(segments: Sequence[Segment], state: ClusterState) -> list[Finding]:
    """Segments that are missing or cut off; a running server's are looked at twice."""
    layout = state.layout
    broken = broken_forks(list(segments), layout.page_bytes, layout.segment_blocks)
    if broken and state.life in _ALIVE:
        time.sleep(GAPS_S[0])
        now, _, _ = walk_cluster(state.directory, layout.tablespace_version)
        again = broken_forks(now, layout.page_bytes, layout.segment_blocks)
        broken = [each for each in broken if each in again]
    by_label = {segment.label: segment for segment in segments}
    findings = []
    for label, block, reason in broken:
        lsn = _lsn_behind(by_label[label], block, segments, state)
        finding = _finding(by_label[label], block, ("missing segment", 0, 0, lsn, 0), state)
        findings.append(replace(finding, guess="truncated", guess_detail=reason))
    return findings


def _lsn_behind(
    broken: Segment, block: int, segments: Sequence[Segment], state: ClusterState
) -> int:
    """The LSN of the first page behind a gap: from before the start of replay, it was no growth."""
    fork = fork_of(broken)
    behind = [
        s
        for s in segments
        if s.bytes > 0 and s.segment * state.layout.segment_blocks >= block and fork_of(s) == fork
    ]
    if not behind:
        return 0
    page = page_at(min(behind, key=lambda s: s.segment), 0, state.layout.page_bytes)
    high, low = page[:4], page[4:8]
    return (int.from_bytes(high, sys.byteorder) << 32) + int.from_bytes(low, sys.byteorder)


def _named(
    asked: Asked, state: ClusterState, findings: list[Finding]
) -> tuple[list[Finding], list[str]]:
    """The findings with their relations' names, where there is a server to ask for them."""
    if not findings or (asked.server is None and state.life is not Life.RUNNING):
        return findings, []
    try:
        return with_owners(findings, asked.server or conninfo_of(asked.path)), []
    except ServerError as error:
        first = (error.detail or error.primary).splitlines()[0]
        return findings, [f"relations are not named: {first} (--server CONNINFO says whom to ask)"]
