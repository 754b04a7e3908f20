"""Finds files and forks that end too early, and the LSNs that tell truncation from growth."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from steelyard._core import Segment, broken_forks, walk_cluster
from steelyard.integrity.scrub.backup.archive_paths import manifest_files
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.finding import Damage, finding_of, fork_of, lsn_of, page_at
from steelyard.integrity.scrub.layout import ClusterLayout

_BETWEEN_WALKS_S = 1.0
_END_REASONS = ("short", "missing segment")


def add_file_ends(
    findings: Sequence[Damage],
    segments: Sequence[Segment],
    denied: Collection[str],
    state: ClusterState,
) -> list[Damage]:
    """The findings, and one for each file or fork that ends too early.

    `denied`: labels of files already reported as not read, or as incomplete, where a broken archive
    ends.
    """
    by_label = {segment.label: segment for segment in segments}
    gaps = _gaps(segments, by_label, denied, state)
    damages = [*findings, *gaps, *_overlong(segments, state.layout)]
    damages = [
        replace(f, lsn=_last_lsn(by_label[f.path], segments, state.layout))
        if f.reason == "short"
        else f
        for f in damages
    ]
    missing = _missing_bytes([s for s in segments if s.label not in denied], state)
    reported = {f.path for f in damages if f.reason in _END_REASONS}
    for label in missing.keys() - reported:
        segment = by_label[label]
        block = segment.segment * state.layout.segment_blocks
        block += segment.bytes // state.layout.page_bytes
        damages.append(finding_of(segment, block, ("short", 0, 0, 0, 0), state.layout))
    return [
        _truncated(f, missing[f.path]) if f.reason in _END_REASONS and f.path in missing else f
        for f in damages
    ]


def whole_segments(segments: Sequence[Segment], layout: ClusterLayout) -> list[Segment]:
    """The segments, each up to where a segment ends: a longer file may be one without end."""
    most = layout.segment_blocks * layout.page_bytes
    return [
        s if s.bytes <= most else Segment(s.path, s.label, s.offset, most, s.tablespace, s.database)
        for s in segments
    ]


def _overlong(segments: Sequence[Segment], layout: ClusterLayout) -> list[Damage]:
    """Files that are longer than a segment; `segments` are cut to that."""
    most = layout.segment_blocks * layout.page_bytes
    findings = []
    for segment in segments:
        if segment.offset or segment.bytes < most or not segment.path.is_file():
            continue
        if (size := segment.path.stat().st_size) > most:
            block = (segment.segment + 1) * layout.segment_blocks
            finding = finding_of(segment, block, ("too long", 0, 0, 0, 0), layout)
            detail = f"it has {size} bytes, and a segment {most}; the rest was not read"
            findings.append(replace(finding, guess_detail=detail))
    return findings


def _truncated(finding: Damage, missing: int) -> Damage:
    return replace(
        finding,
        missing_bytes=missing,
        guess="truncated",
        guess_detail=f"{missing} bytes are missing of the size that backup_manifest gives",
    )


def _missing_bytes(segments: Sequence[Segment], state: ClusterState) -> dict[str, int]:
    """By label, for files of a base backup that are shorter than its manifest says."""
    if state.run_state is not RunState.BACKUP or state.replay_from is None:
        return {}
    sizes = manifest_files(state.directory / "backup_manifest", state.replay_from)
    return {s.label: sizes[s.label] - s.bytes for s in segments if s.bytes < sizes.get(s.label, 0)}


def _gaps(
    segments: Sequence[Segment],
    by_label: dict[str, Segment],
    denied: Collection[str],
    state: ClusterState,
) -> list[Damage]:
    """Missing and truncated segments; on a running server, those that a second look confirms."""
    layout = state.layout
    broken = [
        (label, block, reason)
        for label, block, reason in broken_forks(
            list(segments), layout.page_bytes, layout.segment_blocks
        )
        if _label_of(label, block // layout.segment_blocks) not in denied
    ]
    if broken and state.run_state in (RunState.RUNNING, RunState.POSSIBLY):
        time.sleep(_BETWEEN_WALKS_S)
        try:
            now, _, _ = walk_cluster(state.directory, layout.tablespace_version)
        except OSError:
            now = list(segments)  # the first look has to do
        again = broken_forks(now, layout.page_bytes, layout.segment_blocks)
        broken = [each for each in broken if each in again]
    findings = []
    for label, block, reason in broken:
        lsn = _lsn_behind(by_label[label], block, segments, layout)
        finding = finding_of(by_label[label], block, ("missing segment", 0, 0, lsn, 0), layout)
        findings.append(replace(finding, guess="truncated", guess_detail=reason))
    return findings


def _label_of(label: str, number: int) -> str:
    """The label of a segment, from that of another one of its fork."""
    directory, _, name = label.rpartition("/")
    return f"{directory}/{name.partition('.')[0]}{f'.{number}' if number else ''}"


def _lsn_behind(
    broken: Segment, block: int, segments: Sequence[Segment], layout: ClusterLayout
) -> int:
    """The LSN of the first page behind a gap: before the start of replay, it was not growing."""
    fork = fork_of(broken)
    behind = [
        s
        for s in segments
        if s.bytes > 0 and s.segment * layout.segment_blocks >= block and fork_of(s) == fork
    ]
    if not behind:
        return 0
    return lsn_of(page_at(min(behind, key=lambda s: s.segment), 0, layout.page_bytes))


def _last_lsn(short: Segment, segments: Sequence[Segment], layout: ClusterLayout) -> int:
    """The LSN of the last whole page that has one: before the start of replay, it was not growing.

    A file is extended by empty pages, so the last ones may have no LSN. 0: no page has one, as in a
    new relation, or a page cannot be read again.
    """
    fork = fork_of(short)
    before = [s for s in segments if fork_of(s) == fork and s.segment <= short.segment]
    for segment in sorted(before, key=lambda s: -s.segment):
        for index in reversed(range(segment.bytes // layout.page_bytes)):
            page = page_at(segment, index * layout.page_bytes, layout.page_bytes)
            if lsn := lsn_of(page):
                return lsn
            if not page:
                return 0
    return 0
