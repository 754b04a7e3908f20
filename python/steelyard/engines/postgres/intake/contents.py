"""Lists the files of a cluster that a copy of it needs, links followed.

What a base backup leaves out is left out here too (basebackup.c: excludeDirContents,
excludeFiles), and what is the owner's alone: logs, keys, configuration.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from steelyard.model.errors import EngineError

FILES = ("PG_VERSION", "backup_label")
"""At the top."""
DIRECTORIES = (
    "base", "global", "pg_commit_ts", "pg_logical", "pg_multixact", "pg_stat", "pg_tblspc",
    "pg_twophase", "pg_wal", "pg_xact",
)  # fmt: skip
EMPTY = (
    "pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp",
    "pg_subtrans", "pg_wal/archive_status", "pg_logical/snapshots", "pg_logical/mappings",
)  # fmt: skip
"""What stands in them is of one life of one server, or of slots that the copy does not have."""
_LEFT_OUT = ("pg_internal.init", "pgsql_tmp", "pg_wal/summaries", "pg_wal/archive_status")
_DEEPEST = 8

Found = tuple[str, Path, os.stat_result]


def contents(directory: Path) -> Iterator[Found]:
    """Relative path, the file or directory that it leads to, and its status; parents first.

    EngineError: a link leads nowhere, as that of a tablespace that was not restored.
    """
    for name in FILES:
        file = directory / name
        if file.is_file():
            yield name, file, file.stat()
    for name in DIRECTORIES:
        if (directory / name).exists() or (directory / name).is_symlink():
            yield from _below(directory / name, name, 1)


def _below(path: Path, name: str, depth: int) -> Iterator[Found]:
    yield name, path, _status(path, name)
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda one: one.name)
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.name.startswith(_LEFT_OUT[:2]) or inner in _LEFT_OUT or inner in EMPTY:
            continue
        status = _status(Path(entry.path), inner)
        if stat.S_ISDIR(status.st_mode):
            if depth == _DEEPEST:
                raise EngineError(f'could not take in "{entry.path}": its links go in a circle')
            yield from _below(Path(entry.path), inner, depth + 1)
        elif stat.S_ISREG(status.st_mode):
            yield inner, Path(entry.path), status


def _status(path: Path, name: str) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError as error:
        if path.is_symlink():
            raise EngineError(
                f'could not take in "{name}": its link to "{os.readlink(path)}" leads nowhere',
                detail="A tablespace or the write-ahead log is not mounted, or was not restored.",
            ) from error
        raise EngineError(
            f'could not take in "{name}": it vanished meanwhile',
            detail="The data directory is in use.",
        ) from error
