"""Finds the tar archives of a base backup."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.model.errors import UsageError

GZIP_SUFFIXES = (".gz", ".tgz")
_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz")


def archives_of(path: Path) -> list[Path]:
    """The archives of a base backup, base first; none: it is a directory of files."""
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
            next((f"base{e}" for e in _ARCHIVE_SUFFIXES if (path / f"base{e}").is_file()), ""),
        )
        other = next(iter(sorted(path.glob("base.tar.*"))), None) if not named else None
        if other is not None:
            raise _cannot_unpack(other)
        if not named:
            return []
    if not named.endswith(_ARCHIVE_SUFFIXES):
        raise _cannot_unpack(place / named)
    others = sorted(
        p for p in place.iterdir() if re.fullmatch(r"(\d+|pg_wal)\.(tar|tar\.gz|tgz)", p.name)
    )
    return [place / named, *others]


def _cannot_unpack(path: Path) -> UsageError:
    return UsageError(
        f'cannot read "{path}": known are {", ".join(_ARCHIVE_SUFFIXES)}',
        hint="Unpack it first (lz4 -d, zstd -d), or scrub the extracted directory.",
    )
