"""Recognizes what backup programs make of a cluster or of InnoDB, and says how it is unpacked.

Their files are compressed, bundled, or hold pages with headers of their own: none is what a server
reads. So the directory is refused, with the command that writes one which can be scrubbed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from steelyard.engines.postgres.life.data_directory import BACKUP_PROGRAMS, TDE_KEYS
from steelyard.model.errors import UsageError

_NEITHER = "Name the directory that `SHOW data_directory` returns."
_BARMAN = 'It is a backup of Barman: name its directory "data".'
_PGBACKREST = "It is a backup of pgBackRest: `pgbackrest restore` it, and scrub what that writes."
_PG_PROBACKUP = (
    "`pg_probackup validate` verifies it where it lies; or `pg_probackup restore` it, and scrub "
    "what that writes."
)
_WAL_G = "It is a backup of WAL-G: `wal-g backup-fetch DIRECTORY NAME`, and scrub DIRECTORY."
_INNODB = (
    "It looks like one of MySQL or MariaDB, without the system tablespace: name the directory with "
    "ibdata1, which `SELECT @@datadir` returns, or @@innodb_data_home_dir."
)
_STREAM = (
    "`xbstream -x -C DIRECTORY < FILE` unpacks it (or `mbstream`), `xtrabackup --prepare` (or "
    "`mariabackup`) makes it whole: scrub DIRECTORY."
)
_ONE_TABLESPACE = "Name the whole data directory of MySQL or MariaDB, with its ibdata1."
_OTHER_ARCHIVE = (
    "Name base.tar, or the directory that holds it; an archive of another name is read as "
    "base.tar (or .tar.gz), by a link in a directory of its own."
)
_OTHER_FILE = "Name base.tar, or the directory that holds it."
_HINTS = {"pgBackRest": _PGBACKREST, "pg_probackup": _PG_PROBACKUP, "WAL-G": _WAL_G}
_MARKS = {
    **{mark: _HINTS[program] for mark, program in BACKUP_PROGRAMS.items()},
    "backup.info": _PGBACKREST,
    "backup.control": _PG_PROBACKUP,
    "mysql.ibd": _INNODB,
    "ib_logfile0": _INNODB,
    "#innodb_redo": _INNODB,
    "aria_log_control": _INNODB,
}
"""By a name that only one program gives."""
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.lz4", ".tar.xz", ".tar.bz2")
_TABLESPACES = (".ibd", ".ibu")


def directory_hint(directory: Path) -> str:
    """What to name in place of a directory that is no data directory."""
    directory = Path(os.path.realpath(directory))
    names = _names(directory)
    if {"backup.info", "data"} <= names:
        return _BARMAN
    for mark, hint in _MARKS.items():
        if mark in names:
            return hint
    if directory.name == "pg_data" and "backup.manifest" in _names(directory.parent):
        return _PGBACKREST
    if any(name.endswith(_TABLESPACES) for name in names):
        return _INNODB
    if any(name.endswith(".xbstream") for name in names):
        return _STREAM
    return _NEITHER


def file_hint(path: Path) -> str:
    """What to name in place of a file that is no archive of a base backup."""
    if path.name.endswith(_TABLESPACES) or path.name.startswith("ibdata"):
        return _ONE_TABLESPACE
    if path.name.endswith(".xbstream"):
        return _STREAM
    return _OTHER_ARCHIVE if path.name.endswith(_ARCHIVES) else _OTHER_FILE


def refuse_encrypted_pages(path: Path, names: Iterable[str]) -> None:
    """UsageError: one of a cluster's files holds keys of Percona's pg_tde, by which tables of
    a database may be encrypted: their pages hold the checksum of what they were before."""
    if any(map(TDE_KEYS.fullmatch, names)):
        raise UsageError(
            f'cannot verify pages of "{path}": pg_tde may have encrypted them',
            detail="A page that it encrypted looks like a damaged one.",
            hint="`pg_tde_checksums --check -D DIRECTORY` verifies those that are not encrypted.",
        )


def refuse_framed_pages(directory: Path) -> None:
    """UsageError: it looks like a data directory, and pg_probackup wrote its files, in which pages
    are compressed, and those without rows left out; or pages may be encrypted."""
    refuse_encrypted_pages(directory, (f"pg_tde/{name}" for name in _names(directory / "pg_tde")))
    above = os.path.dirname(os.path.realpath(directory))
    if os.path.isfile(os.path.join(above, "backup_content.control")):
        raise UsageError(
            f'a backup of pg_probackup cannot be scrubbed: "{directory}"',
            detail="Its files hold pages in a form that no server reads.",
            hint=_PG_PROBACKUP,
        )


def _names(directory: Path) -> set[str]:
    try:
        return set(os.listdir(directory))
    except OSError:
        return set()  # said by what reads it next
