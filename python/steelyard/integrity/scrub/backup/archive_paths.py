"""Finds the tar archives of a base backup."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.postgres.intake.manifest import manifest_sizes
from steelyard.engines.postgres.life.control import open_regular
from steelyard.integrity.scrub.backup.packed_backups import file_hint
from steelyard.integrity.scrub.wal import parse_lsn
from steelyard.model.errors import UsageError
from steelyard.model.files.bounded_json import JsonError

GZIP_SUFFIXES = (".gz", ".tgz")
_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz")
KNOWN_SUFFIXES = ", ".join(_ARCHIVE_SUFFIXES)
DATA_DIRECTORIES = ("base/", "global/", "pg_tblspc/", "pg_xact/", "pg_multixact/")
"""Where files stand that a cluster cannot be read without."""
_BASE = re.compile(r"base\.(tar(\..+)?|tgz)")
_BESIDE = re.compile(r"\d+|pg_wal")


def archives_of(path: Path) -> list[Path]:
    """The archives of a base backup, base first; none: it is a directory of files.

    A directory into which an archive was unpacked that still stands there is one of files.
    """
    if _is_unpacked(path):
        return []
    if path.is_file():
        directory, name = path.parent, path.name
        if not name.startswith("base."):
            raise UsageError(
                f'not the archive of a base backup: "{path}"',
                hint=file_hint(path),
            )
    else:
        directory, name = (
            path,
            next((f"base{e}" for e in _ARCHIVE_SUFFIXES if (path / f"base{e}").is_file()), ""),
        )
        packed = next(iter(sorted(path.glob("base.tar.*"))), None) if not name else None
        if packed is not None:
            raise _cannot_unpack(packed)
        if not name:
            return []
    if not name.endswith(_ARCHIVE_SUFFIXES):
        raise _cannot_unpack(directory / name)
    first = name.removeprefix("base")
    others: dict[str, Path] = {}
    for suffix in (first, *_ARCHIVE_SUFFIXES):  # of one that is there twice, as base is
        for other in sorted(directory.glob(f"*{suffix}")):
            stem = other.name.removesuffix(suffix)
            if _BESIDE.fullmatch(stem):
                others.setdefault(stem, other)
    return [directory / name, *sorted(others.values())]


def _is_unpacked(path: Path) -> bool:
    return os.path.isfile(path / "PG_VERSION") and os.path.isdir(path / "global")


def ignored_archives(directory: Path) -> list[tuple[str, str]]:
    """(name, why) of archives of base backups in a directory whose files are read instead."""
    return [
        (path.name, "the files of the directory were read, not the archive: name it to scrub it")
        for path in sorted(directory.glob("base.*"))
        if _BASE.fullmatch(path.name)
    ]


def require_seekable(paths: Sequence[Path], option: str) -> None:
    """UsageError: of these archives one is compressed, and is read through as fast as it unpacks,
    whatever `option` says."""
    for path in paths:
        if path.suffix != ".tar":
            raise UsageError(
                f'{option} cannot be kept to for a compressed archive: "{path}"',
                hint="Leave it out (`ionice -c 3 steelyard scrub ...` spares others), or unpack "
                "the archives first.",
            )


def unreadable_archives(paths: Sequence[Path]) -> list[Path]:
    """Archives beside these, of tablespaces or the log, that are packed in a way not known here."""
    read = {path.name.partition(".")[0] for path in paths}
    return [
        path
        for path in sorted(paths[0].parent.glob("*.tar.*"))
        if _BESIDE.fullmatch(stem := path.name.partition(".")[0]) and stem not in read
    ]


def twin_archives(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Names of archives beside these that are packed in another way, and of those read instead."""
    names = {path.name.partition(".")[0]: path.name for path in paths}
    return [
        (f"{stem}{suffix}", name)
        for stem, name in names.items()
        for suffix in _ARCHIVE_SUFFIXES
        if f"{stem}{suffix}" != name and (paths[0].parent / f"{stem}{suffix}").is_file()
    ]


def _cannot_unpack(path: Path) -> UsageError:
    return UsageError(
        f'cannot read "{path}": known are {KNOWN_SUFFIXES}',
        hint="Unpack it first (lz4 -d, zstd -d), or scrub the extracted directory.",
    )


_TAIL_BYTES = 1 << 16
_RANGE_START = re.compile(r'"Start-LSN": *"([0-9A-F]+/[0-9A-F]+)"')
_RANGE_END = re.compile(r'"End-LSN": *"([0-9A-F]+/[0-9A-F]+)"')


def manifest_files(file: Path, start: int | None = None) -> dict[str, int]:
    """Sizes in bytes by path, with tablespaces under pg_tblspc/.

    {}: there is no readable manifest, or its backup begins at another LSN than `start`, because it
    was copied along from an earlier backup. Names that are not UTF-8 are left out.
    """
    try:
        if start is not None and min(_lsns(file, _RANGE_START), default=None) != start:
            return {}
        return manifest_sizes(file)
    except (OSError, JsonError):
        return {}


def manifest_end(file: Path) -> int | None:
    """The LSN up to which the base backup needs the log; None: no readable manifest gives it."""
    try:
        return max(_lsns(file, _RANGE_END), default=None)
    except OSError:
        return None


def _lsns(file: Path, pattern: re.Pattern[str]) -> list[int]:
    """Those of its ranges of log, which stand at its end. OSError: it cannot be read."""
    with open_regular(file) as opened:
        opened.seek(max(0, file.stat().st_size - _TAIL_BYTES))
        tail = opened.read(_TAIL_BYTES).decode(errors="replace")
    return [parse_lsn(lsn) for lsn in pattern.findall(tail)]
