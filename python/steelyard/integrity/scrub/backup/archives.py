"""Lists what the tar archives of a base backup hold, and checks the pages of compressed ones.

Guesses the page layout of a base backup from its pages when the control file is lost: pg_basebackup
writes it last, so a truncated base.tar has none. A page header holds the page size
(pd_pagesize_version), and a correct checksum shows that checksums are on.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import Segment, judge_page
from steelyard.integrity.scrub.backup.archive_paths import (
    DATA_DIRECTORIES,
    KNOWN_SUFFIXES,
    manifest_files,
    twin_archives,
    unreadable_archives,
)
from steelyard.integrity.scrub.backup.packed_backups import refuse_encrypted_pages
from steelyard.integrity.scrub.backup.tar_members import (
    BrokenArchiveError,
    Member,
    StoredMap,
    damaged_maps,
    members,
    place_of,
)
from steelyard.integrity.scrub.cluster_state import ClusterState, backup_state
from steelyard.integrity.scrub.finding import Damage
from steelyard.integrity.scrub.layout import ClusterLayout, major_of, read_layout
from steelyard.integrity.scrub.unread import unread_storage
from steelyard.integrity.scrub.wal import named_end
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard._core import Scanned


_SAMPLES = 64
_MAX_PAGE_BYTES = 32768
_SEGMENT_BYTES = 1 << 30
_WAL_SEGMENT_BYTES = 16 << 20


def guess_layout(paths: Sequence[Path]) -> ClusterLayout | None:
    """The layout of most tables' first pages, with segments of default size; None: no page found.

    Fields that only a control file holds are 0. UsageError: an unsupported version.
    """
    version, pages = _sample(paths)
    if version is None or not pages:
        return None
    page_bytes = Counter(len(page) for page in pages).most_common(1)[0][0]
    pages = [page for page in pages if len(page) == page_bytes]
    right = sum(judge_page(page, 0, True) is None for page in pages)
    return ClusterLayout(
        system_identifier=0,
        timeline=1,
        major=major_of(version),
        catalog_version=0,
        page_bytes=page_bytes,
        segment_blocks=_SEGMENT_BYTES // page_bytes,
        wal_segment_bytes=_WAL_SEGMENT_BYTES,
        checksums=2 * right > len(pages),
        state="not known",
        checkpoint=0,
        redo=0,
        full_page_writes=True,
        min_recovery_point=0,
        backup_start_point=0,
        backup_end_point=0,
        backup_end_required=False,
    )


def _sample(paths: Sequence[Path]) -> tuple[str | None, list[bytes]]:
    """The version from a PG_VERSION of the cluster or a database, and first pages of tables."""
    version: str | None = None
    pages: list[bytes] = []
    for path in paths:
        with suppress(BrokenArchiveError):
            for member in members(path):
                name = member.name.rpartition("/")[2]
                if name == "PG_VERSION" and version is None:
                    version = member.read(16).decode(errors="replace").strip()
                elif name.isdigit() and member.is_file and len(pages) < _SAMPLES:
                    pages += _first_page(member.read(_MAX_PAGE_BYTES))
    return version, pages


def _first_page(content: bytes) -> list[bytes]:
    """The first page of a file, with the size from its header; none: it is empty or no page."""
    size = int.from_bytes(content[18:20], "little") & 0xFF00
    valid = 1024 <= size <= len(content) and size & (size - 1) == 0
    return [content[:size]] if valid and content[14:16] != b"\0\0" else []


_HOME = re.compile(r"global|base(/\d+)?|pg_tblspc(/\d+)?|PG_\d+_\d+(/\d+)?")
"""The directory of what all share, of databases or a tablespace."""
_LABEL = re.compile(r"(global|base/\d+|pg_tblspc/\d+/PG_\d+_\d+/\d+)/[^/]+")
_WAL = re.compile(r"(?:pg_wal/)?([0-9A-F]{24})")
_CONTROL, _MAP = "global/pg_control", "pg_filenode.map"
_FILES = ("PG_VERSION", "backup_label", "tablespace_map", _CONTROL)
_INCREMENTAL_FILE = re.compile(r"INCREMENTAL\.\d+(_[a-z]+)?(\.\d+)?")
_MAX_SMALL_BYTES = 1 << 20


@dataclass(frozen=True)
class Archive:
    """What the archives of a base backup hold."""

    state: ClusterState
    segments: tuple[Segment, ...]
    skipped: tuple[tuple[str, str], ...]
    denied: tuple[tuple[str, str], ...]  # parts of the backup that are missing or incomplete
    compressed: bool  # members can only be read sequentially
    broken: frozenset[Path] = frozenset()  # archives that could not be read to their end
    maps: tuple[Damage, ...] = ()  # that the server would refuse
    listed: bool = True  # a backup_manifest says what should be there


@dataclass
class _Listing:
    """What was found in the archives so far."""

    small: dict[str, bytes] = field(default_factory=dict)  # content of the files in _FILES
    wal: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    denied: list[tuple[str, str]] = field(default_factory=list)
    homes: list[tuple[str, str]] = field(default_factory=list)  # directories that links lead to
    reached: set[str] = field(default_factory=set)  # labels of files, also of those without pages
    maps: list[StoredMap] = field(default_factory=list)
    broken: dict[Path, BrokenArchiveError] = field(default_factory=dict)
    log_broken: bool = False


def read_archives(paths: list[Path]) -> Archive:
    """What the archives hold, as far as they can be read; the rest is listed as denied.

    UsageError: not a base backup, or nothing gives the layout of its pages.
    """
    listing = _Listing()
    for path in paths:
        _list_archive(path, listing)
    refuse_encrypted_pages(paths[0], listing.reached)
    state = _state(paths, listing)
    present = {path.name.partition(".")[0] for path in paths}
    absent = {f"pg_tblspc/{oid}" for oid in state.tablespaces if str(oid) not in present}
    packed = unreadable_archives(paths)
    denied = listing.denied + [
        (name, f"tablespace_map names it, and there is no {name.rpartition('/')[2]}.tar here")
        for name in sorted(absent - {f"pg_tblspc/{path.name.partition('.')[0]}" for path in packed})
    ]
    denied += [(path.name, f"known are {KNOWN_SUFFIXES}: unpack it first") for path in packed]
    denied += [
        (name, why)
        for name, why in listing.homes
        if name not in absent and name.removeprefix("pg_tblspc/") not in present
    ]
    manifest = manifest_files(paths[0].parent / "backup_manifest", state.replay_from or None)
    reported = {name for name, _ in listing.denied}
    denied += [
        (name, "backup_manifest names it, and no archive here holds it any more")
        for name in sorted(manifest.keys() - listing.reached - listing.small.keys() - reported)
        if name.startswith(DATA_DIRECTORIES) and "/".join(name.split("/")[:2]) not in absent
    ]
    segments = tuple(
        _cut_to_archive(segment, state.layout.page_bytes) for segment in listing.segments
    )
    twins = [(name, f"{other} was read in its place") for name, other in twin_archives(paths)]
    return Archive(
        state,
        segments,
        (*listing.skipped, *twins),
        (*denied, *unread_storage(listing.reached)),
        any(path.suffix != ".tar" for path in paths),
        frozenset(listing.broken),
        tuple(damaged_maps(listing.maps, state.layout.major)),
        bool(manifest),
    )


def _list_archive(path: Path, listing: _Listing) -> None:
    """Add what one archive holds; of a broken one, what lies before and behind the break."""
    wal: list[str] = []
    try:
        for member in members(path):
            if member.instead and _HOME.fullmatch(member.name):
                listing.homes.append((member.name, _unread(member)))
            elif not member.is_file and not member.instead:
                continue
            elif member.is_file and member.name in _FILES:
                listing.small[member.name] = member.read(_MAX_SMALL_BYTES)
            elif member.is_file and (log := _WAL.fullmatch(member.name)):
                wal.append(log[1])
            else:
                _add_segment(path, member, listing)
    except BrokenArchiveError as broken:
        listing.broken[path] = broken
        listing.denied.append((path.name, f"the archive is broken: {broken}"))
        place = place_of(path, broken.within or "")
        if place is not None:
            listing.denied.append((place[0], "the archive ends within it"))
        cut = _WAL.fullmatch(broken.within or "")
        wal = [name for name in wal if cut is None or name != cut[1]]
        listing.log_broken |= bool(wal) or path.name.startswith("pg_wal.")
    listing.wal += wal


def _cut_to_archive(segment: Segment, page_bytes: int) -> Segment:
    """The segment, cut to the whole pages that its archive holds if that ends within it."""
    if segment.path.suffix != ".tar":
        return segment
    present = segment.path.stat().st_size - segment.offset
    if present >= segment.bytes:
        return segment
    return Segment(
        segment.path,
        segment.label,
        segment.offset,
        present - present % page_bytes,
        segment.tablespace,
        segment.database,
    )


def _has_pages(label: str) -> bool:
    """Whether it is a file of a database that consists of pages."""
    return _LABEL.fullmatch(label) is not None and not _WITHOUT_PAGES.fullmatch(
        label.rpartition("/")[2]
    )


_WITHOUT_PAGES = re.compile(
    r"pg_control|pg_filenode\.map|PG_VERSION|pg_internal\.init.*|pgsql_tmp.*"
)


def _unread(member: Member) -> str:
    """Why nothing is known of a member whose content does not stand in the archive as it is."""
    return f"it is {member.instead} here: unpack the archive, and scrub the directory"


def _add_segment(path: Path, member: Member, listing: _Listing) -> None:
    place = place_of(path, member.name)
    if place is None:
        listing.reached.add(member.name)
        return
    label, tablespace, database = place
    listing.reached.add(label)
    if not _has_pages(label):
        if member.is_file and label.endswith(f"/{_MAP}"):
            content = member.read(_MAX_SMALL_BYTES)
            listing.maps.append(StoredMap(label, tablespace, database, content))
        return
    try:
        segment = Segment(path, label, member.offset, member.size, tablespace, database)
        if member.instead:
            listing.denied.append((label, _unread(member)))
        else:
            listing.segments.append(segment)
    except ValueError:
        if _INCREMENTAL_FILE.fullmatch(label.rpartition("/")[2]):
            listing.denied.append(
                (label, "only what changed: pg_combinebackup makes the file whole")
            )
        else:
            listing.skipped.append((label, "not the name of a relation file"))


def _state(paths: list[Path], listing: _Listing) -> ClusterState:
    path, small = paths[0], listing.small
    missing = [name for name in ("PG_VERSION", _CONTROL) if name not in small]
    if missing and path in listing.broken:
        layout = _guessed_layout(paths, missing[0], listing)
    elif missing:
        raise UsageError(
            f'not a base backup: "{path}" has no file "{missing[0]}" at its top',
            hint=f"Unpack it, and scrub the directory that holds {missing[0]}.",
        )
    else:
        major = major_of(small["PG_VERSION"].decode(errors="replace").strip())
        layout = _layout_in(small[_CONTROL], major)

    def log_end_from(start: int) -> int | None:
        return named_end(listing.wal, start, layout.timeline, layout.wal_segment_bytes)

    state = backup_state(
        path.parent,
        layout,
        path=path,
        label=small.get("backup_label", b"").decode(errors="replace"),
        tablespace_map=small.get("tablespace_map", b"").decode(errors="replace"),
        log_end_from=log_end_from,
    )
    if not state.replay_from:
        return replace(state, replay_to=None)  # there is neither a label nor a control file
    if listing.log_broken:
        # The manifest gives the end that was needed; only the log in the archives can be replayed.
        return replace(state, replay_to=log_end_from(state.replay_from))
    return state


def _guessed_layout(paths: list[Path], missing: str, listing: _Listing) -> ClusterLayout:
    """The layout when base.tar ends before the control file, or before PG_VERSION."""
    layout = guess_layout(paths)
    if layout is None:
        raise UsageError(
            f'could not read archive "{paths[0]}": {listing.broken[paths[0]]}',
            detail=f'Its file "{missing}" was not reached, nor any page of a table.',
        )
    kind = "with" if layout.checksums else "without"
    listing.denied.append(
        (
            missing,
            f"not reached: pages are read as what they seem to be, {layout.page_bytes} bytes "
            f"{kind} checksums",
        )
    )
    return layout


def _layout_in(control: bytes, major: int) -> ClusterLayout:
    with tempfile.NamedTemporaryFile(prefix="steelyard-control-") as file:
        file.write(control)
        file.flush()
        return read_layout(Path(file.name), major)


def scan_compressed(
    paths: Sequence[Path], archive: Archive, segments: Sequence[Segment]
) -> Scanned:
    """Check every page of the wanted segments; without seeking, all members are read through.

    Ends where an archive is broken; where read_archives has not reported that, it is denied.
    """
    scanned: Scanned = {
        "files": 0,
        "blocks": 0,
        "bytes": 0,
        "empty": 0,
        "wrong": [],
        "dismissed": [],
        "uncounted": 0,
        "unchecked": 0,
        "behind": 0,
        "unwritten": None,
        "vanished": [],
        "denied": [],
    }
    index = {segment.label: number for number, segment in enumerate(segments)}
    for path in paths:
        try:
            for member in members(path):
                place = place_of(path, member.name)
                number = index.get(place[0]) if place and member.is_file else None
                if number is not None:
                    _check_pages(member, number, segments[number], archive.state.layout, scanned)
        except BrokenArchiveError as error:
            if path not in archive.broken:
                scanned["denied"].append((path.name, f"it could not be read again: {error}"))
    return scanned


def _check_pages(
    member: Member, number: int, segment: Segment, layout: ClusterLayout, scanned: Scanned
) -> None:
    scanned["files"] += 1
    block = segment.segment * layout.segment_blocks
    for page in member.pages(layout.page_bytes):
        whole = len(page) == layout.page_bytes
        fault = judge_page(page, block, layout.checksums) if whole else ("short", 0, 0, 0, 0)
        if fault is not None:
            scanned["wrong"].append((number, block, fault))
        elif page[14:16] == b"\0\0":  # pd_upper: nothing was ever put on it
            scanned["empty"] += 1
        scanned["bytes"] += len(page)
        scanned["blocks"] += whole
        block += 1
