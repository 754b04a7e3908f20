"""Finds the parts of an InnoDB data directory that a scrub cannot read as tablespace files.

These are packed or incremental files of a backup, links to what is not mounted, and tables of other
storage engines.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from steelyard.integrity.scrub.unread import first_listed
from steelyard.model.errors import UsageError

_TABLESPACE = r"(?:.+\.ib[du]|ibdata[0-9]+|undo_?[0-9]+)"
_FILE = re.compile(_TABLESPACE)
_PACKED = re.compile(rf"({_TABLESPACE})((?:\.(?:qp|zst|lz4|gz|bz2|xz|xbcrypt|delta))+)")
"""As xtrabackup and mariabackup call what they compress, encrypt, or copy in part."""
_PART = ".delta"
_UNPACK = "`xtrabackup --decompress` unpacks it (or `mariabackup`; --decrypt where it is encrypted)"
_PREPARE = "`xtrabackup --prepare` (or `mariabackup`) makes it whole with the backup it builds on"
_SYSTEM = "ibdata1"
_ENGINES = {
    ".MYD": "MyISAM", ".MAD": "Aria", ".ARZ": "Archive", ".CSV": "CSV", ".tokudb": "TokuDB"
}  # fmt: skip
"""By how the name of a file with a table's rows ends."""
_ROCKSDB = (".rocksdb", "#rocksdb")
"""The directory with all its tables: Percona's and Meta's, MariaDB's (rocksdb_datadir)."""
_OF_ROCKSDB = {".sst": "RocksDB", ".log": "RocksDB"}


def require_unpacked(directory: Path) -> None:
    """UsageError: the system tablespace is there, but as a backup packs it."""
    for name in _names(directory):
        packed = _PACKED.fullmatch(name)
        if packed is not None and packed[1] == _SYSTEM and not os.path.exists(directory / _SYSTEM):
            raise UsageError(
                f'a packed backup of InnoDB cannot be scrubbed: "{directory / name}"',
                hint=_advice(packed[2]),
            )


def unread_files(directory: Path) -> Iterator[tuple[str, str]]:
    """(label, reason) of tablespaces, and directories of databases, that are not there as such."""
    for name in _names(directory):
        path = directory / name
        if _leads_nowhere(path) and (_FILE.fullmatch(name) or "." not in name):
            yield name, "the link leads to what is not there: it is not mounted, or was moved"
        elif packed := _PACKED.fullmatch(name):
            yield name, _advice(packed[2])
        elif not name.startswith("#") and os.path.isdir(path):
            yield from _of_database(path, name)


def files_of_other_engines(directory: Path) -> Mapping[str, int]:
    """Storage engine → how many files hold rows of its tables, which are not read. An empty file,
    such as that of a log table, holds none."""
    counts: Counter[str] = Counter()
    for name in _names(directory):
        path = directory / name
        if not os.path.isdir(path):
            continue
        engines = _OF_ROCKSDB if name in _ROCKSDB else _ENGINES
        for file in _names(path):
            engine = engines.get(os.path.splitext(file)[1])
            if engine is not None and _has_bytes(path / file):
                counts[engine] += 1
    return dict(sorted(counts.items()))


def outside_note(directory: Path, files: Iterable[tuple[str, Path]]) -> list[str]:
    """At most one note: which files, (label, path), do not stand below the directory, but where a
    link or an .isl file leads. A copy of a directory keeps those of the original."""
    home = os.path.realpath(directory)
    places = [(label, os.path.realpath(path)) for label, path in files]
    outside = [f"{label} at {place}" for label, place in places if not _is_below(place, home)]
    if not outside:
        return []
    return [
        f"read outside of the directory: {first_listed(outside)}; of a copy, those may be the "
        "original's"
    ]


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def _has_bytes(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False  # dropped meanwhile


def _of_database(path: Path, directory: str) -> Iterator[tuple[str, str]]:
    """Of a directory below, and of those in it; `directory`: its label. Below a link, of one."""
    names = _names(path)
    if _SYSTEM in names:
        return  # another data directory: the walk says so
    for name in names:
        label, inside = f"{directory}/{name}", path / name
        if _FILE.fullmatch(name) and _leads_nowhere(inside):
            yield label, "the link leads to what is not there: it is not mounted, or was moved"
        elif packed := _PACKED.fullmatch(name):
            yield label, _advice(packed[2])
        elif not path.is_symlink() and not inside.is_symlink() and os.path.isdir(inside):
            yield from _of_database(inside, label)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []  # said by the walk


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not os.path.exists(path)


def _advice(endings: str) -> str:
    return _PREPARE if endings.endswith(_PART) else _UNPACK
