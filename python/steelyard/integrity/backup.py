"""Reads base backups: a directory, or the archives that pg_basebackup writes."""

from __future__ import annotations

import gzip
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import Segment
from steelyard.errors import UsageError
from steelyard.integrity.cluster_state import (
    ClusterState,
    Layout,
    backup_state,
    major_of,
    read_layout,
)
from steelyard.integrity.wal import named_end

_ARCHIVES = (".tar", ".tar.gz", ".tgz")
_MAIN = re.compile(r"(?:\./)?(global|base/(\d+))/([^/]+)")
_SPACE = re.compile(r"(?:\./)?(PG_\d+_\d+)/(\d+)/([^/]+)")
_WAL = re.compile(r"(?:\./)?(?:pg_wal/)?([0-9A-F]{24})")
_FILES = ("PG_VERSION", "backup_label", "tablespace_map", "global/pg_control")
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


def read_archives(paths: list[Path]) -> Archive:
    """Lists what the archives hold. UsageError: an archive is damaged or no base backup."""
    small: dict[str, bytes] = {}
    wal: list[str] = []
    segments: list[Segment] = []
    skipped: list[tuple[str, str]] = []
    denied: list[tuple[str, str]] = []
    for path in paths:
        try:
            for member, content in members(path):
                name = member.name.removeprefix("./")
                if not member.isreg():
                    continue
                if name in _FILES:
                    small[name] = content()
                elif found := _WAL.fullmatch(name):
                    wal.append(found[1])
                else:
                    _take(path, member, segments, skipped, denied)
        except (tarfile.TarError, OSError, EOFError) as error:
            raise UsageError(f'could not read archive "{path}": {error}') from error
    state = _state(paths[0], small, wal)
    compressed = any(path.suffix != ".tar" for path in paths)
    there = {path.name.partition(".")[0] for path in paths}
    denied += [
        (f"pg_tblspc/{oid}", f"tablespace_map names it, and there is no {oid}.tar here")
        for oid in state.tablespaces
        if str(oid) not in there
    ]
    return Archive(state, tuple(segments), tuple(skipped), tuple(denied), compressed)


def members(path: Path) -> Iterator[tuple[tarfile.TarInfo, _Content]]:
    """Every member of an archive, and its content while it is the latest."""
    with ExitStack() as opened:
        if path.suffix == ".tar":
            archive = opened.enter_context(tarfile.open(path, "r:"))
        else:
            # pg_basebackup may write several gzip members in a row, which tarfile does not expect.
            unpacked = opened.enter_context(gzip.open(path))
            archive = opened.enter_context(tarfile.open(fileobj=unpacked, mode="r|"))
        for member in archive:
            yield member, _Content(archive, member)


@dataclass(frozen=True)
class _Content:
    archive: tarfile.TarFile
    member: tarfile.TarInfo

    def __call__(self) -> bytes:
        file = self.archive.extractfile(self.member)
        return file.read(_MOST_BYTES) if file is not None else b""

    def pages(self, page_bytes: int) -> Iterator[bytes]:
        """Its content page by page; the last one may be short."""
        file = self.archive.extractfile(self.member)
        while file is not None and (page := file.read(page_bytes)):
            yield page


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


def _take(
    path: Path,
    member: tarfile.TarInfo,
    segments: list[Segment],
    skipped: list[tuple[str, str]],
    denied: list[tuple[str, str]],
) -> None:
    place = place_of(path, member.name)
    if place is None:
        return
    label, tablespace, database = place
    if _OTHERS.fullmatch(label.rpartition("/")[2]):
        return
    try:
        segments.append(Segment(path, label, member.offset_data, member.size, tablespace, database))
    except ValueError:
        if _PIECE.fullmatch(label.rpartition("/")[2]):
            denied.append((label, "only what changed: pg_combinebackup makes the file whole"))
        else:
            skipped.append((label, "not the name of a relation file"))


def _state(path: Path, small: dict[str, bytes], wal: list[str]) -> ClusterState:
    missing = [name for name in ("PG_VERSION", "global/pg_control") if name not in small]
    if missing:
        raise UsageError(f'not a base backup: "{path}" has no file "{missing[0]}"')
    major = major_of(small["PG_VERSION"].decode(errors="replace").strip())
    layout = _layout(small["global/pg_control"], major)
    return backup_state(
        path.parent,
        layout,
        named=path,
        label=small.get("backup_label", b"").decode(errors="replace"),
        tablespace_map=small.get("tablespace_map", b"").decode(errors="replace"),
        log_end_from=lambda start: named_end(wal, start, layout.timeline, layout.wal_segment_bytes),
    )


def _layout(control: bytes, major: int) -> Layout:
    with tempfile.NamedTemporaryFile(prefix="steelyard-control-") as file:
        file.write(control)
        file.flush()
        return read_layout(Path(file.name), major)
