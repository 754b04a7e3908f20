"""Tells the story of a scrub: look at the cluster, read every page, look again, name, advise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, scan_segments, walk_cluster
from steelyard.integrity.scrub.backup import Archive, archives_of, read_archives
from steelyard.integrity.scrub.baseline import Baseline, baseline
from steelyard.integrity.scrub.cluster_state import ClusterState, Life, look_at, unreadable
from steelyard.integrity.scrub.compressed import read_compressed
from steelyard.integrity.scrub.ends import with_ends
from steelyard.integrity.scrub.finding import Finding, finding_of
from steelyard.integrity.scrub.guessing import guessed
from steelyard.integrity.scrub.notes import scan_notes, state_notes
from steelyard.integrity.scrub.outcome import Outcome
from steelyard.integrity.scrub.owners import conninfo_of, with_owners
from steelyard.integrity.scrub.replay import needs_replay, reset_at_start
from steelyard.integrity.scrub.resumption import Resumption
from steelyard.model.errors import ServerError, UsageError

if TYPE_CHECKING:
    from steelyard._core import ScanAsked, Scanned

GAPS_S = (1.0, 2.0, 5.0)
"""Between looks at what was wrong at first, on a cluster that is or was written to."""
RUNNING_RATE = 100 * 1024 * 1024.0
"""Bytes a second that a scrub takes from a running server unless told otherwise."""
MOST_THREADS = 8
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
    with _before_the_scan(asked.path):
        ready = _prepared(asked)
    state, resumption, notes = ready.state, ready.resumption, list(ready.notes)
    try:
        scanned = _scanned(asked, ready, watch)
    except BaseException:
        if resumption:
            resumption.close()
        raise
    if resumption:
        notes += _finished(resumption)
    if state.life is Life.STOPPED and _has_started(asked, state):
        state = replace(state, life=Life.RUNNING)
        scanned = _again(asked, state, ready.left, scanned)
        notes.append("a server was started here meanwhile: what was wrong was looked at again")
    if scanned["unwritten"]:
        notes.append(
            f'could not write catalogue "{asked.catalogue}": {scanned["unwritten"]}; the one '
            "before, if there was one, is as it was"
        )
    outcome = _outcome(asked, state, ready, scanned)
    return replace(
        outcome,
        seconds=time.monotonic() - began,
        skipped=tuple(ready.skipped),
        denied=(*ready.denied, *outcome.denied),
        unwritten=scanned["unwritten"] or "",
        notes=(*state_notes(state, scanned, asked.gaps_s), *notes, *outcome.notes),
    )


@dataclass(frozen=True)
class _Ready:
    """All that is known before the first page is read."""

    archives: list[Path]
    archive: Archive | None
    state: ClusterState
    base: Baseline | None
    segments: list[Segment]
    left: list[Segment]  # without those that were read before
    skipped: LeftOut
    denied: LeftOut
    resumption: Resumption | None
    notes: list[str]


@contextmanager
def _before_the_scan(path: Path) -> Iterator[None]:
    """UsageError, in plain words, for whatever the operating system refuses."""
    try:
        yield
    except OSError as error:
        raise unreadable(Path(error.filename or path), error) from error


def _prepared(asked: Asked) -> _Ready:
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
    return _Ready(
        archives, archive, state, base, segments, left, skipped, denied, resumption, notes
    )


def _scanned(asked: Asked, ready: _Ready, watch: Watch) -> Scanned:
    if ready.archive and ready.archive.compressed:
        return read_compressed(ready.archives, ready.archive, ready.left)
    return scan_segments(
        ready.left,
        scan_asked(asked, ready.state, ready.base),
        _watcher(ready.left, watch, ready.resumption),
    )


def _finished(resumption: Resumption) -> list[str]:
    """What went wrong with a file that is no longer needed."""
    notes = []
    if resumption.unwritten:
        notes.append(
            f'could not write state file "{resumption.path}": {resumption.unwritten}; it was not '
            "needed"
        )
    if kept := resumption.finish():
        notes.append(
            f'could not remove state file "{resumption.path}": {kept}; remove it, or the next '
            "scrub leaves out what this one has read"
        )
    return notes


def _looked(asked: Asked) -> ClusterState:
    return look_at(asked.path, backup=asked.backup, crashed=asked.crashed)


def _has_started(asked: Asked, before: ClusterState) -> bool:
    """Whether a server was started, or stopped again, in a directory that was at rest."""
    try:
        now = _looked(replace(asked, crashed=False))
    except (UsageError, OSError):
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
        "replayed_from": state.layout.replayed_from if state.replay_from is None else None,
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


def _outcome(
    asked: Asked,
    state: ClusterState,
    ready: _Ready,
    scanned: Scanned,
) -> Outcome:
    layout, reset = state.layout, reset_at_start(ready.segments)
    findings = [
        finding_of(ready.left[index], block, told, layout)
        for index, block, told in scanned["wrong"]
    ]
    denied = {label for label, _ in ready.denied}
    findings = with_ends(findings, ready.segments, denied, state)
    findings = guessed(findings, ready.left, ready.segments, state)
    findings, notes = _named(asked, state, findings)
    findings = [replace(f, waits=needs_replay(f, state, reset)) for f in findings]
    back = {finding.path for finding in findings if finding.reason == "backwards"}
    notes += scan_notes(state, scanned, len(back))
    return Outcome(
        path=str(asked.path),
        layout=state.layout,
        life=state.life,
        files=scanned["files"],
        blocks=scanned["blocks"],
        bytes=scanned["bytes"],
        seconds=0.0,
        bad=tuple(finding for finding in findings if not finding.waits),
        needs_replay=tuple(finding for finding in findings if finding.waits),
        unlisted=scanned["uncounted"],
        transient=len(scanned["dismissed"]),
        vanished=tuple(scanned["vanished"]),
        denied=tuple(scanned["denied"]),
        notes=tuple(notes),
    )


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
