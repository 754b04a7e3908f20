"""Reads base backups: a directory, or the archives that pg_basebackup writes."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard._core import Segment
from steelyard.integrity.scrub.archive import BrokenArchiveError, Member, members
from steelyard.integrity.scrub.assumed import assumed_layout
from steelyard.integrity.scrub.cluster_state import (
    ClusterState,
    Layout,
    backup_state,
    major_of,
    read_layout,
)
from steelyard.integrity.scrub.manifest import manifest_files
from steelyard.integrity.scrub.wal import named_end
from steelyard.model.errors import UsageError

_ARCHIVES = (".tar", ".tar.gz", ".tgz")
_MAIN = re.compile(r"(global|base/(\d+))/([^/]+)")
_SPACE = re.compile(r"(PG_\d+_\d+)/(\d+)/([^/]+)")
_LABEL = re.compile(r"(global|base/\d+|pg_tblspc/\d+/PG_\d+_\d+/\d+)/[^/]+")
_WAL = re.compile(r"(?:pg_wal/)?([0-9A-F]{24})")
_CONTROL = "global/pg_control"
_FILES = ("PG_VERSION", "backup_label", "tablespace_map", _CONTROL)
_PIECE = re.compile(r"INCREMENTAL\.\d+(_[a-z]+)?(\.\d+)?")
_MOST_BYTES = 1 << 20
GLOBAL, DEFAULT = 1664, 1663


@dataclass(frozen=True)
class Archive:
    """What the archives of a base backup hold."""

    state: ClusterState
    segments: tuple[Segment, ...]
    skipped: tuple[tuple[str, str], ...]
    denied: tuple[tuple[str, str], ...]  # what belongs to the backup and is not whole
    compressed: bool  # members can only be read one after the other


def archives_of(path: Path) -> list[Path]:
    """The archives of a base backup, base first; none when it is a directory of files."""
    if path.is_file():
        place, named = path.parent, path.name
        if not named.startswith("base."):
            raise UsageError(
                f'not the archive of a base backup: "{path}"',
                hint="Name base.tar, or the directory that holds it.",
            )
    else:
        place, named = (
            path,
            next((f"base{e}" for e in _ARCHIVES if (path / f"base{e}").is_file()), ""),
        )
        other = next(iter(sorted(path.glob("base.tar.*"))), None) if not named else None
        if other is not None:
            raise _cannot_unpack(other)
        if not named:
            return []
    if not named.endswith(_ARCHIVES):
        raise _cannot_unpack(place / named)
    others = sorted(
        p for p in place.iterdir() if re.fullmatch(r"(\d+|pg_wal)\.(tar|tar\.gz|tgz)", p.name)
    )
    return [place / named, *others]


def _cannot_unpack(path: Path) -> UsageError:
    return UsageError(
        f'cannot read "{path}": known are {", ".join(_ARCHIVES)}',
        hint="Unpack it first (lz4 -d, zstd -d), or scrub the extracted directory.",
    )


@dataclass
class _Found:
    """What was found in the archives so far."""

    small: dict[str, bytes] = field(default_factory=dict)
    wal: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    denied: list[tuple[str, str]] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)  # files of databases, whatever their names
    broken: dict[Path, BrokenArchiveError] = field(default_factory=dict)
    log_broken: bool = False


def read_archives(paths: list[Path]) -> Archive:
    """Lists what the archives hold, as far as they can be read; the rest is told as denied.

    UsageError: they are no base backup, or what says how to read the pages is not there.
    """
    found = _Found()
    for path in paths:
        _read(path, found)
    state = _state(paths, found)
    compressed = any(path.suffix != ".tar" for path in paths)
    there = {path.name.partition(".")[0] for path in paths}
    absent = {f"pg_tblspc/{oid}" for oid in state.tablespaces if str(oid) not in there}
    denied = found.denied + [
        (name, f"tablespace_map names it, and there is no {name.rpartition('/')[2]}.tar here")
        for name in sorted(absent)
    ]
    denied += [
        (name, "backup_manifest names it, and no archive here holds it any more")
        for name in sorted(manifest_files(paths[0].parent / "backup_manifest"))
        if _has_pages(name)
        and name not in found.reached
        and "/".join(name.split("/")[:2]) not in absent
    ]
    segments = tuple(_whole(segment, state.layout.page_bytes) for segment in found.segments)
    return Archive(state, segments, tuple(found.skipped), tuple(denied), compressed)


def _read(path: Path, found: _Found) -> None:
    """What one archive holds; where it is broken, what stands before and behind."""
    wal: list[str] = []
    try:
        for member in members(path):
            if not member.is_file:
                continue
            if member.name in _FILES:
                found.small[member.name] = member.read(_MOST_BYTES)
            elif log := _WAL.fullmatch(member.name):
                wal.append(log[1])
            else:
                _take(path, member, found)
    except BrokenArchiveError as broken:
        found.broken[path] = broken
        found.denied.append((path.name, f"the archive is broken: {broken}"))
        place = place_of(path, broken.within or "")
        if place is not None:
            found.denied.append((place[0], "the archive ends within it"))
        cut = _WAL.fullmatch(broken.within or "")
        wal = [name for name in wal if cut is None or name != cut[1]]
        found.log_broken |= bool(wal) or path.name.startswith("pg_wal.")
    found.wal += wal


def _whole(segment: Segment, page_bytes: int) -> Segment:
    """The whole pages of a segment that are there, if its archive ends within it."""
    if segment.path.suffix != ".tar":
        return segment
    there = segment.path.stat().st_size - segment.offset
    if there >= segment.bytes:
        return segment
    return Segment(
        segment.path,
        segment.label,
        segment.offset,
        there - there % page_bytes,
        segment.tablespace,
        segment.database,
    )


def _has_pages(label: str) -> bool:
    """Whether it is a file of a database that is read as pages."""
    return _LABEL.fullmatch(label) is not None and not _OTHERS.fullmatch(label.rpartition("/")[2])


def place_of(path: Path, name: str) -> tuple[str, int, int] | None:
    """(label, tablespace, database) of a member; None for what is no file of a database."""
    if path.name.startswith("base."):
        found = _MAIN.fullmatch(name)
        if found is None:
            return None
        database = int(found[2] or 0)
        label = f"{found[1]}/{found[3]}"
        return label, DEFAULT if database else GLOBAL, database
    found = _SPACE.fullmatch(name)
    oid = path.name.partition(".")[0]
    if found is None or not oid.isdigit():
        return None
    return f"pg_tblspc/{oid}/{found[1]}/{found[2]}/{found[3]}", int(oid), int(found[2])


_OTHERS = re.compile(r"pg_control|pg_filenode\.map|PG_VERSION|pg_internal\.init.*|pgsql_tmp.*")


def _take(path: Path, member: Member, found: _Found) -> None:
    place = place_of(path, member.name)
    if place is None:
        return
    label, tablespace, database = place
    found.reached.add(label)
    if not _has_pages(label):
        return
    try:
        found.segments.append(
            Segment(path, label, member.offset, member.size, tablespace, database)
        )
    except ValueError:
        if _PIECE.fullmatch(label.rpartition("/")[2]):
            found.denied.append((label, "only what changed: pg_combinebackup makes the file whole"))
        else:
            found.skipped.append((label, "not the name of a relation file"))


def _state(paths: list[Path], found: _Found) -> ClusterState:
    path, small = paths[0], found.small
    missing = [name for name in ("PG_VERSION", _CONTROL) if name not in small]
    if missing and path in found.broken:
        layout = _assumed(paths, missing[0], found)
    elif missing:
        raise UsageError(f'not a base backup: "{path}" has no file "{missing[0]}"')
    else:
        major = major_of(small["PG_VERSION"].decode(errors="replace").strip())
        layout = _layout(small[_CONTROL], major)

    def log_end_from(start: int) -> int | None:
        return named_end(found.wal, start, layout.timeline, layout.wal_segment_bytes)

    state = backup_state(
        path.parent,
        layout,
        named=path,
        label=small.get("backup_label", b"").decode(errors="replace"),
        tablespace_map=small.get("tablespace_map", b"").decode(errors="replace"),
        log_end_from=log_end_from,
    )
    if not state.replay_from:
        return replace(state, replay_to=None)  # neither a label nor a control file says it
    if found.log_broken:
        # Whatever the manifest says that the log needs: only what is there can be replayed.
        return replace(state, replay_to=log_end_from(state.replay_from))
    return state


def _assumed(paths: list[Path], missing: str, found: _Found) -> Layout:
    """How to read the pages when base.tar broke off before the file that says it."""
    layout = assumed_layout(paths)
    if layout is None:
        raise UsageError(
            f'could not read archive "{paths[0]}": {found.broken[paths[0]]}',
            detail=f'Its file "{missing}" was not reached, nor any page of a table.',
        )
    kind = "with" if layout.checksums else "without"
    found.denied.append(
        (
            missing,
            f"not reached: pages are read as what they seem to be, {layout.page_bytes} bytes "
            f"{kind} checksums",
        )
    )
    return layout


def _layout(control: bytes, major: int) -> Layout:
    with tempfile.NamedTemporaryFile(prefix="steelyard-control-") as file:
        file.write(control)
        file.flush()
        return read_layout(Path(file.name), major)
