"""Tells the story of a scrub: look at the cluster, read every page, look again, name, advise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, broken_forks, guess_damage, scan_segments, walk_cluster
from steelyard.errors import ServerError, UsageError
from steelyard.integrity.backup import Archive, archives_of, read_archives
from steelyard.integrity.baseline import Baseline, baseline
from steelyard.integrity.cluster_state import ClusterState, Life, look_at
from steelyard.integrity.compressed import read_compressed
from steelyard.integrity.finding import Finding
from steelyard.integrity.outcome import Outcome
from steelyard.integrity.owners import conninfo_of, with_owners
from steelyard.integrity.resumption import Resumption

if TYPE_CHECKING:
    from steelyard._core import ScanAsked, Scanned, Told

GAPS_S = (1.0, 2.0, 5.0)
"""Between looks at what was wrong at first, on a cluster that is or was written to."""
RUNNING_RATE = 100 * 1024 * 1024.0
"""Bytes a second that a scrub takes from a running server unless told otherwise."""
MOST_THREADS = 8
MOST_GUESSES = 1000
_DAMAGED_PAGES = ("checksum", "header", "not empty")

Watch = Callable[[int, int, int, int], None]
"""Told bytes read, bytes there are, wrong blocks, and blocks that are being looked at again."""


@dataclass(frozen=True)
class Asked:
    """What a scrub is asked."""

    path: Path
    threads: int | None = None
    max_rate: float | None = None  # bytes a second; 0: as fast as it goes
    backup: bool = False
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
    state = archive.state if archive else look_at(asked.path, backup=asked.backup)
    base = _baseline(asked, state)
    segments, skipped = _segments(asked.path, state, archive)
    resumption = Resumption(asked.state, state.layout.system_identifier) if asked.state else None
    left = resumption.left(segments) if resumption else segments
    notes = [base.note] if base else []
    if len(left) < len(segments):
        notes.append(f"{len(segments) - len(left)} files were read before and are left out")
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
    outcome = _outcome(asked, state, segments, left, scanned)
    return replace(
        outcome,
        seconds=time.monotonic() - began,
        skipped=tuple(skipped),
        notes=(*_notes(state), *notes, *outcome.notes),
    )


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
    return baseline(asked.catalogue, state.layout)


def _segments(
    path: Path, state: ClusterState, archive: Archive | None
) -> tuple[list[Segment], list[tuple[str, str]]]:
    if archive is not None:
        return list(archive.segments), list(archive.skipped)
    try:
        return walk_cluster(path, state.layout.tablespace_version)
    except OSError as error:
        raise UsageError(
            f'could not read data directory "{path}": {error}',
            hint="Run as the account that it belongs to, or as root.",
        ) from error


def scan_asked(asked: Asked, state: ClusterState, base: Baseline | None = None) -> ScanAsked:
    """How the extension is to scan what a scrub is asked, given the state of the cluster."""
    running = state.life is Life.RUNNING
    rate = RUNNING_RATE if running and asked.max_rate is None else asked.max_rate
    threads = asked.threads or (1 if running else min(MOST_THREADS, _processors()))
    # A directory that was not shut down may belong to a server that we cannot see.
    gaps = list(asked.gaps_s) if state.life in (Life.RUNNING, Life.CRASHED) else []
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
    if state.life is Life.RUNNING:
        notes.append(
            "the server runs: what it was just writing was looked at again over 8 s; pages that it "
            "holds in memory are checked as they lie on disk"
        )
    if state.life is Life.CRASHED:
        notes.append(
            f'it was not shut down cleanly (state "{state.layout.state}"): what recovery will '
            "write anew is no damage"
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
    findings = _guessed(asked, state, left, findings)
    findings, notes = _named(asked, state, findings)
    waiting = [finding for finding in findings if needs_replay(finding, state)]
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


def needs_replay(finding: Finding, state: ClusterState) -> bool:
    """Whether replaying the write-ahead log, which comes first anyway, may heal it.

    The first change of a page after the start of replay logs all of it (full_page_writes), so a
    page torn since then is written anew. An LSN that no log reaches is damage, not a promise.
    """
    if state.replay_from is None:
        return False
    if finding.reason == "short":
        return True  # a file that was being extended: recovery rounds it
    if finding.reason not in ("checksum", "header"):
        return False
    end = state.replay_to if state.replay_to is not None else finding.lsn
    return state.replay_from <= finding.lsn <= end


def _finding(segment: Segment, block: int, told: Told, state: ClusterState) -> Finding:
    reason, expected, found, lsn = told
    inside = block % state.layout.segment_blocks
    return Finding(
        path=segment.label,
        block=block,
        fork=segment.fork,
        reason=reason,
        expected=expected,
        found=found,
        lsn=lsn,
        offset=inside * state.layout.page_bytes,
        database=segment.database,
        filenode=segment.filenode,
        tablespace=segment.tablespace,
    )


def _gaps(segments: Sequence[Segment], state: ClusterState) -> list[Finding]:
    """Segments that are missing or cut off; a running server's are looked at twice."""
    layout = state.layout
    broken = broken_forks(list(segments), layout.page_bytes, layout.segment_blocks)
    if broken and state.life is Life.RUNNING:
        time.sleep(GAPS_S[0])
        now, _ = walk_cluster(state.directory, layout.tablespace_version)
        again = broken_forks(now, layout.page_bytes, layout.segment_blocks)
        broken = [each for each in broken if each in again]
    by_label = {segment.label: segment for segment in segments}
    return [
        replace(
            _finding(by_label[label], block, ("missing segment", 0, 0, 0), state),
            guess="truncated",
            guess_detail=reason,
        )
        for label, block, reason in broken
    ]


def _guessed(
    asked: Asked, state: ClusterState, segments: Sequence[Segment], findings: list[Finding]
) -> list[Finding]:
    by_label = {segment.label: segment for segment in segments}
    guessed = []
    for number, finding in enumerate(findings):
        page = b""
        if number < MOST_GUESSES and finding.reason in _DAMAGED_PAGES:
            page = _page(by_label[finding.path], finding.offset, state.layout.page_bytes)
        if len(page) == state.layout.page_bytes:
            guess, detail = guess_damage(page, finding.block)
            guessed.append(replace(finding, guess=guess, guess_detail=detail))
        else:
            guessed.append(finding)
    return guessed


def _page(segment: Segment, offset: int, page_bytes: int) -> bytes:
    if segment.path.suffix in (".gz", ".tgz"):
        return b""
    try:
        with segment.path.open("rb") as file:
            file.seek(segment.offset + offset)
            return file.read(page_bytes)
    except OSError:
        return b""


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
