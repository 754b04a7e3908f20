"""Scrubs a cluster: inspects it, reads every page, rereads suspects, names relations, reports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, scan_segments, walk_cluster
from steelyard.engines.postgres.life.data_directory import other_storage
from steelyard.engines.postgres.sql.relation_files import (
    RelationFile,
    local_conninfo,
    read_relations,
)
from steelyard.integrity.scrub.backup.archive_paths import (
    archives_of,
    ignored_archives,
    require_seekable,
)
from steelyard.integrity.scrub.cluster_files import ClusterFiles
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState, inspect_cluster
from steelyard.integrity.scrub.file_ends import add_file_ends, whole_segments
from steelyard.integrity.scrub.finding import (
    Damage,
    RelationKey,
    add_damage_guesses,
    finding_of,
    is_healed_by_replay,
    unlogged_relations,
)
from steelyard.integrity.scrub.layout import read_error
from steelyard.integrity.scrub.missing import MissingReport, find_missing, unknown_files_note
from steelyard.integrity.scrub.outcome import (
    ScrubOutcome,
    ScrubRequest,
    scan_notes,
    scan_options,
    state_notes,
)
from steelyard.integrity.scrub.unread import disappearances, link_notes, unread_storage
from steelyard.integrity.scrub.written_files import (
    LsnCatalogue,
    StateFile,
    copy_marks,
    open_catalogue,
)
from steelyard.model.errors import EngineError, UsageError

if TYPE_CHECKING:
    from steelyard._core import Scanned
    from steelyard.integrity.scrub.backup.archives import Archive

Omissions = list[tuple[str, str]]
"""(label, reason) of files that were not scanned."""

Progress = Callable[[int, int, int, int], None]
"""Called with bytes read, bytes in all, wrong blocks, and blocks that are being reread."""


def scrub(request: ScrubRequest, progress: Progress) -> ScrubOutcome:
    """Read every page of a cluster or base backup. UsageError: it cannot be read, and why."""
    began = time.monotonic()
    with _usage_errors(request.path):
        ready = _prepare(request)
    state, state_file, notes = ready.state, ready.state_file, list(ready.notes)
    try:
        scanned = _scan(request, ready, progress)
    except BaseException:
        if state_file:
            state_file.close()
        raise
    if state_file:
        notes += _remove(state_file)
    started, denied = _start_since(request, state)
    if started:
        state = replace(state, run_state=RunState.RUNNING)
        scanned = _rescan(request, state, ready.remaining, scanned)
        notes.append("a server was started here meanwhile: what was wrong was looked at again")
    denied += _disappearances(request, state, ready, scanned)
    if scanned["unwritten"]:
        notes.append(
            f'could not write catalogue "{request.catalogue}": {scanned["unwritten"]}; the one '
            "before, if there was one, is as it was"
        )
    outcome = _outcome(request, state, ready, scanned)
    return replace(
        outcome,
        seconds=time.monotonic() - began,
        skipped=tuple(ready.skipped),
        denied=(*ready.denied, *denied, *outcome.denied),
        unwritten=scanned["unwritten"] or "",
        notes=(*state_notes(state, scanned, request.gaps_s), *notes, *outcome.notes),
    )


@dataclass(frozen=True)
class _Preparation:
    """Everything that is known before the first page is read."""

    archives: list[Path]
    archive: Archive | None
    state: ClusterState
    catalogue: LsnCatalogue | None
    segments: list[Segment]
    remaining: list[Segment]  # without those that an earlier scrub has read
    skipped: Omissions
    denied: Omissions
    state_file: StateFile | None
    notes: list[str]


@contextmanager
def _usage_errors(path: Path) -> Iterator[None]:
    """Raise UsageError for whatever the operating system refuses."""
    try:
        yield
    except OSError as error:
        raise read_error(Path(error.filename or path), error) from error


def _prepare(request: ScrubRequest) -> _Preparation:
    archives = archives_of(request.path) if request.path.exists() else []
    if request.max_rate:
        require_seekable(archives, "--max-rate")
    archive = _read_archives(archives) if archives else None
    state = archive.state if archive else _inspect(request)
    catalogue = _catalogue(request, state)
    segments, skipped, denied = _segments(request.path, state, archive)
    state_file = None
    if request.state:
        marks = copy_marks(request.path, state)
        state_file = StateFile(request.state, state.layout.system_identifier, marks)
    remaining = state_file.remaining(segments) if state_file else segments
    notes = [catalogue.note] if catalogue else []
    if archive is None:
        notes += link_notes(state, segments)
    if state_file and len(remaining) < len(segments):
        notes.append(
            f"{len(segments) - len(remaining)} files were read before, since "
            f"{state_file.began}, and are left out: what became of them "
            "after they were read is not seen"
        )
    return _Preparation(
        archives,
        archive,
        state,
        catalogue,
        segments,
        remaining,
        skipped,
        denied,
        state_file,
        notes,
    )


def _scan(request: ScrubRequest, ready: _Preparation, progress: Progress) -> Scanned:
    if ready.archive and ready.archive.compressed:
        from steelyard.integrity.scrub.backup.archives import scan_compressed

        return scan_compressed(ready.archives, ready.archive, ready.remaining)
    return scan_segments(
        ready.remaining,
        scan_options(request, ready.state, ready.catalogue),
        _scan_progress(ready.remaining, progress, ready.state_file),
    )


def _read_archives(paths: list[Path]) -> Archive:
    # Scrubbing a directory needs no tarfile.
    from steelyard.integrity.scrub.backup.archives import read_archives

    return read_archives(paths)


def _remove(state_file: StateFile) -> list[str]:
    """Delete the state file of a complete scrub; notes on what failed."""
    notes = []
    if state_file.unwritten:
        notes.append(
            f'could not write state file "{state_file.path}": {state_file.unwritten}; it was not '
            "needed"
        )
    if reason := state_file.remove():
        notes.append(
            f'could not remove state file "{state_file.path}": {reason}; remove it, or the next '
            "scrub leaves out what this one has read"
        )
    return notes


def _inspect(request: ScrubRequest) -> ClusterState:
    return inspect_cluster(request.path, backup=request.backup, crashed=request.crashed)


def _start_since(request: ScrubRequest, before: ClusterState) -> tuple[bool, Omissions]:
    """Whether a server was started, or started and stopped, since a directory was inspected; and
    the directory, where nothing can be known of that any more."""
    if before.run_state is not RunState.STOPPED:
        return False, []
    try:
        now = _inspect(replace(request, crashed=False))
    except (UsageError, OSError) as error:
        reason = error.primary if isinstance(error, UsageError) else str(error)
        return False, [(str(request.path), f"it was changed while it was read: {reason}")]
    return now.run_state is not before.run_state or now.layout != before.layout, []


def _disappearances(
    request: ScrubRequest, state: ClusterState, ready: _Preparation, scanned: Scanned
) -> Omissions:
    """What was not read although no server runs that could have removed it."""
    if state.run_state in (RunState.RUNNING, RunState.POSSIBLY):
        return []
    broken = ready.archive is not None and ready.archive.broken
    return disappearances(
        request.path,
        [] if broken else [(s.label, s.bytes) for s in ready.remaining],
        read_bytes=scanned["bytes"],
        vanished=scanned["vanished"],
        denied=scanned["denied"],
    )


def _rescan(
    request: ScrubRequest, state: ClusterState, remaining: Sequence[Segment], scanned: Scanned
) -> Scanned:
    """Scan the files with wrong blocks once more, now as files that a server may be writing."""
    backwards = [each for each in scanned["wrong"] if each[2][0] == "backwards"]
    suspects = sorted({each[0] for each in scanned["wrong"]})
    again = scan_segments(
        [remaining[index] for index in suspects], scan_options(request, state), lambda *_: None
    )
    wrong = [(suspects[index], block, fault) for index, block, fault in again["wrong"]]
    dismissed = [(suspects[index], block, fault) for index, block, fault in again["dismissed"]]
    return {
        **scanned,
        "wrong": sorted({*backwards, *wrong}),
        "dismissed": dismissed,
        "uncounted": again["uncounted"],
        "unchecked": again["unchecked"],
        "vanished": [*scanned["vanished"], *again["vanished"]],
    }


def _catalogue(request: ScrubRequest, state: ClusterState) -> LsnCatalogue | None:
    if request.catalogue is None:
        return None
    if request.state is not None:
        raise UsageError(
            "a scrub that keeps a catalogue cannot be resumed",
            detail="A catalogue holds the blocks of one scan from its beginning to its end.",
            hint="Leave out --state or --catalogue.",
        )
    if state.run_state is RunState.BACKUP:
        raise UsageError(
            "a base backup has no catalogue",
            detail="Until its write-ahead log is replayed its pages may be of any time.",
        )
    return open_catalogue(request.catalogue, state)


def _segments(
    path: Path, state: ClusterState, archive: Archive | None
) -> tuple[list[Segment], Omissions, Omissions]:
    """The segments to scan, files with other names, and unreadable parts of the cluster."""
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
    denied += unread_storage(other_storage(path))
    skipped += ignored_archives(path)
    return whole_segments(segments, state.layout), skipped, denied


def _scan_progress(
    segments: Sequence[Segment], progress: Progress, state_file: StateFile | None
) -> Callable[[int, int, int, int, int, list[int]], None]:
    total = sum(segment.bytes for segment in segments)

    def report(read: int, blocks: int, files: int, wrong: int, again: int, done: list[int]) -> None:
        if state_file:
            state_file.add(segments[index] for index in done)
        progress(read, total, wrong, again)

    return report


def _outcome(
    request: ScrubRequest,
    state: ClusterState,
    ready: _Preparation,
    scanned: Scanned,
) -> ScrubOutcome:
    layout, unlogged = state.layout, unlogged_relations(ready.segments)
    findings = [
        finding_of(ready.remaining[index], block, fault, layout)
        for index, block, fault in scanned["wrong"]
    ]
    denied = {label for label, _ in ready.denied}
    findings = add_file_ends(findings, ready.segments, denied, state)
    findings = add_damage_guesses(findings, ready.remaining, ready.segments, state)
    findings, notes = _name_relations(request, state, findings)
    missing = _missing(request, state, ready, findings)
    notes += missing.notes
    findings = [_placed(f, missing, unlogged) for f in (*findings, *missing.findings)]
    findings = [replace(f, needs_replay=is_healed_by_replay(f, state, unlogged)) for f in findings]
    went_back = {finding.path for finding in findings if finding.reason == "backwards"}
    notes += scan_notes(state, scanned, len(went_back))
    return ScrubOutcome(
        path=str(request.path),
        layout=state.layout,
        run_state=state.run_state,
        files=scanned["files"],
        blocks=scanned["blocks"],
        bytes=scanned["bytes"],
        empty=scanned["empty"],
        seconds=0.0,
        bad=tuple(finding for finding in findings if not finding.needs_replay),
        needs_replay=tuple(finding for finding in findings if finding.needs_replay),
        unlisted=scanned["uncounted"],
        transient=len(scanned["dismissed"]),
        vanished=tuple(scanned["vanished"]),
        denied=(*scanned["denied"], *missing.undecided),
        notes=tuple(notes),
    )


def _missing(
    request: ScrubRequest, state: ClusterState, ready: _Preparation, findings: Sequence[Damage]
) -> MissingReport:
    """What a directory lacks; archives say themselves what they lost, where a manifest lists it."""
    if ready.archive is not None:
        notes = [] if ready.archive.listed else [unknown_files_note(state)]
        return MissingReport([*ready.archive.maps], notes=notes)
    denied = [*(label for label, _ in ready.denied)]
    damaged = {(f.path, f.block) for f in findings}
    return find_missing(ClusterFiles(state, ready.segments, denied, damaged), request.server)


def _placed(finding: Damage, missing: MissingReport, unlogged: Collection[RelationKey]) -> Damage:
    """The finding with the database's name, and what kind of relation its file is of."""
    key = (finding.tablespace, finding.database, finding.filenode)
    return replace(
        finding,
        database_name=missing.databases.get(finding.database, ""),
        catalogue=0 if finding.temporary else missing.mapped.get(key, 0),
        unlogged=key in unlogged,
    )


def _name_relations(
    request: ScrubRequest, state: ClusterState, findings: list[Damage]
) -> tuple[list[Damage], list[str]]:
    """The findings with the names of their relations, if a server can be queried, and notes."""
    if not findings or (request.server is None and state.run_state is not RunState.RUNNING):
        return findings, []
    files = [RelationFile(f.database, f.tablespace, f.filenode) for f in findings]
    try:
        server = request.server or local_conninfo(request.path)
        relations = read_relations(files, server, state.layout.system_identifier)
    except EngineError as error:
        first = (error.detail or error.primary).splitlines()[0]
        return findings, [f"relations are not named: {first} (--server CONNINFO names a server)"]
    identified = [
        replace(finding, relation=relations.get(file))
        for finding, file in zip(findings, files, strict=True)
    ]
    return identified, []
