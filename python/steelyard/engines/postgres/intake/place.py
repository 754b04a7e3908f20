"""Inspects the path given to `--from`: data directory, backup or dump, its version, and if it is
whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.engines.intake import DataPlace
from steelyard.engines.local.owned_files import opened_below, text_below
from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader
from steelyard.engines.postgres.intake.contents import contents, require_tablespaces
from steelyard.engines.postgres.intake.dumps.format import recognise
from steelyard.engines.postgres.intake.dumps.other_files import (
    HINT_OTHER_PRODUCTS,
    packed_base,
    unpacking_backup,
)
from steelyard.engines.postgres.intake.manifest import Manifest
from steelyard.engines.postgres.life.configuration_text import MAIN
from steelyard.engines.postgres.life.data_directory import (
    BACKUP_PROGRAMS,
    OTHER_STORAGE,
    TDE_KEYS,
    other_storage,
)
from steelyard.engines.postgres.life.server import serving_pid
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.files.bounded_json import JsonError

CONTROL_FILE = "global/pg_control"
LABEL = "backup_label"
MANIFEST = "backup_manifest"
_MOST_OF_VERSION = 64
_MAJOR = re.compile(r"[1-9][0-9]")
_BEFORE_10 = re.compile(r"[0-9]\.[0-9]{1,2}")
_MOST_SUGGESTED = 3
_RESTORE = {
    "pgBackRest": "pgbackrest restore --stanza=NAME --pg1-path=DIR --archive-mode=off",
    "pg_probackup": "pg_probackup restore -B CATALOG --instance=NAME -D DIR",
    "WAL-G": "wal-g backup-fetch DIR LATEST",
    "Barman": "barman recover SERVER latest DIR",
}
"""How what a program of BACKUP_PROGRAMS, or Barman, writes becomes a data directory."""
_REPOSITORIES = {
    "archive.info": "pgBackRest",
    "backup.info.copy": "pgBackRest",
    "*_backup_stop_sentinel.json": "WAL-G",
    "base/*/backup.info": "Barman",
    "wals/xlog.db": "Barman",
    "backup_content.control": "pg_probackup",
}
"""What stands in the directory above backups, by the program that keeps them."""
_LEVELS = 4
"""At which these are looked for."""
_OF_OTHERS = (
    *("ibdata1*", "mysql.ibd*", "aria_log_control", "xtrabackup_checkpoints*"),
    *("@.json", "*-schema-create.sql*"),
)
"""In a data directory of MySQL or MariaDB and what xtrabackup makes of it, and in dumps of MySQL
Shell and mydumper."""
_DUMPS = ("*.sql", "*.dump", "*.backup", "*.sql.gz", "*.dump.gz", "*/toc.dat")
_CHANGED_LATER = frozenset(
    {
        *("postgresql.auto.conf", "standby.signal", "recovery.signal"),
        *("postgresql.conf", "pg_hba.conf", "pg_ident.conf"),
    }
)
"""What a whole backup has otherwise than its manifest: the first three by `pg_basebackup -R`
(pg_verifybackup.c passes them over, too), the others by whoever configures a server of it."""


def inspect_source(path: Path) -> DataPlace:
    """What stands at a path. UsageError: nothing that can be taken in; EngineError: it is in use,
    cannot be read, or is not whole."""
    path = path.expanduser().absolute()
    try:
        if path.is_dir():
            return _directory(path)
        if path.is_file():
            return _dump(path)
    except OSError as error:
        hint = "Run as an account that may read it, or take a base backup of the server."
        raise EngineError(
            f'could not read "{error.filename}": {error.strerror}',
            hint=hint if error.errno == errno.EACCES else None,
        ) from error
    what = "there is nothing" if not path.exists() else "it is neither file nor directory"
    raise UsageError(
        f'cannot take in "{path}": {what}',
        hint="Name a stopped data directory, a base backup, a dump, or a running server: "
        "--from 'host=... dbname=...'",
    )


class Digest:
    """Of the names, sizes and times of change of files."""

    def __init__(self) -> None:
        self._known = hashlib.sha256()

    def add(self, name: str, status: os.stat_result) -> None:
        """One more, in the order of `contents`."""
        self._known.update(os.fsencode(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n"))

    def hexdigest(self) -> str:
        return self._known.hexdigest()


def digest_of(path: Path) -> str:
    """Of the names, sizes and times of change of every file that a copy would hold."""
    digest = Digest()
    for name, status in _statuses(path):
        digest.add(name, status)
    return digest.hexdigest()


def _statuses(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    if path.is_file():
        yield path.name, path.stat()
    elif (path / "toc.dat").is_file():
        for file in sorted(path.iterdir()):
            yield file.name, file.stat()
    else:
        yield from ((entry.name, entry.status) for entry in contents(path))


def _directory(path: Path) -> DataPlace:
    if (path / "toc.dat").is_file():
        return _dump(path)
    _require_readable(path)
    if not os.path.lexists(path / "PG_VERSION"):
        raise UsageError(
            f'cannot take in "{path}": it is no data directory, base backup or dump',
            detail=_unpacked(path) or 'A data directory has a file "PG_VERSION".',
            hint=_unpacking(path) or _elsewhere(path) or _in_a_repository(path),
        )
    major = _major(path)
    pid = serving_pid(path)
    if pid is not None:
        raise EngineError(
            f'could not take in "{path}": it is in use',
            detail=f"Its server is process {pid}.",
            hint="Stop the server, or take a base backup of it: --from 'host=... dbname=...'",
        )
    _require_own_storage(path)
    _require_whole(path, int(major))
    # The manifest stays for good where a server was made of a backup: every member of Patroni's.
    backup = os.path.lexists(path / LABEL)
    return _place(path, "base backup" if backup else "data directory", major)


def _require_readable(path: Path) -> None:
    """UsageError: it is, or stands in, a backup whose files no server reads, or is of another
    product."""
    for place in (path, path.parent):
        for mark, program in BACKUP_PROGRAMS.items():
            if os.path.lexists(place / mark):
                raise UsageError(
                    f'cannot take in "{path}": it is a backup of {program}',
                    detail="Its files are in a form of their own, or without their log.",
                    hint=_restoring(program),
                )
    if any(any(path.glob(name)) for name in _OF_OTHERS):
        raise UsageError(
            f'cannot take in "{path}": it is of MySQL or MariaDB', hint=HINT_OTHER_PRODUCTS
        )


def _restoring(program: str) -> str:
    return (
        "Restore it, start a server on what that writes, so that it fetches its log, stop it, and "
        f"name its directory: {_RESTORE[program]}"
    )


def _in_a_repository(path: Path) -> str | None:
    """What to type where a directory holds the backups of a program, not too deep."""
    for pattern, program in _REPOSITORIES.items():
        for depth in range(_LEVELS):
            if any(path.glob("*/" * depth + pattern)):
                return f"It holds backups of {program}. {_restoring(program)}"
    return None


def _require_own_storage(path: Path) -> None:
    """UsageError: an extension keeps tables in files of its own, or encrypts them by keys of its
    own: a copy would have neither."""
    why = [f'{OTHER_STORAGE[name]} keeps tables in "{name}"' for name in other_storage(path)]
    keys = (f"pg_tde/{key.name}" for key in (path / "pg_tde").glob("*"))
    if any(map(TDE_KEYS.fullmatch, keys)):
        why.append('pg_tde may have encrypted its tables, by keys in "pg_tde"')
    if why:
        raise UsageError(
            f'cannot take in "{path}": {"; ".join(why)}',
            detail="A copy has the files of PostgreSQL's own tables alone.",
            hint="Dump the database for weighing it in PostgreSQL's own tables: pg_dump -Fc "
            "--no-table-access-method -f FILE DATABASE. Servers as they are: steelyard weigh "
            "addresses --control address=DSN --arm address=DSN",
        )


def _major(path: Path) -> str:
    """UsageError: the directory is of a version that nothing here can read, or says of none."""
    version = text_below(path, "PG_VERSION", _MOST_OF_VERSION).strip()
    if _MAJOR.fullmatch(version):
        return version
    if _BEFORE_10.fullmatch(version):
        raise UsageError(
            f'cannot take in "{path}": it is of PostgreSQL {version}, which is too old',
            hint="Dump it by its own server, and name the dump: pg_dump -Fc -f FILE DATABASE",
        )
    raise UsageError(
        f'cannot take in "{path}": its PG_VERSION holds no version of PostgreSQL',
        hint="Name a stopped data directory, a base backup, or a dump.",
    )


def _elsewhere(path: Path) -> str | None:
    """What to type where the data are not here: below, or where a configuration file says."""
    homes = [home for level in ("*", "*/*") for home in sorted(path.glob(f"{level}/PG_VERSION"))]
    below = [home.parent for home in homes if os.path.lexists(home.parent / "global")]
    if not below:
        below = list(_configured(path)) or list(_dumps_in(path))
    if not below:
        return None
    options = [f"--from {shlex.quote(str(home))}" for home in below[:_MOST_SUGGESTED]]
    return f"The data are elsewhere: {' or '.join(options)}"


def _configured(path: Path) -> Iterator[Path]:
    """The data directory that a configuration in this one names."""
    main = path / MAIN
    if not main.is_file():
        return
    owner = main.stat().st_uid if os.geteuid() == 0 else None
    try:
        name = ConfigurationReader(owner).settings(main).get("data_directory", "")
    except EngineError:
        return
    if os.path.isabs(name) and os.path.isdir(name):
        yield Path(name)


def _dumps_in(path: Path) -> Iterator[Path]:
    """What a directory holds that may be dumps, by their names."""
    for pattern in _DUMPS:
        for file in sorted(path.glob(pattern)):
            if file.is_file():
                yield file.parent if file.name == "toc.dat" else file


def _dump(path: Path) -> DataPlace:
    recognise(path)
    return _place(path, "dump", None)


def _unpacking(path: Path) -> str | None:
    base = packed_base(path)
    return None if base is None else f"Unpack it into a directory: {unpacking_backup(base)}"


def _unpacked(path: Path) -> str:
    if (base := packed_base(path)) is not None:
        return f"It holds {base.name}: a base backup in tar format is unpacked first."
    if (path / "map.dat").is_file() and (path / "databases").is_dir():
        return (  # pg_dumpall -Fc and the like, since 19
            "It is a dump of all databases: name the one that is to be weighed, --from "
            f"{shlex.quote(str(path / 'databases'))}/NAME; map.dat says which name is which's."
        )
    return ""


def _place(path: Path, kind: str, major: str | None) -> DataPlace:
    size = sum(status.st_size for _, status in _statuses(path))
    return DataPlace(path, kind, major, size, digest_of(path))  # type: ignore[arg-type]


def _require_whole(path: Path, major: int) -> None:
    """EngineError names what a whole copy of a cluster would have."""
    sizes = {entry.name: entry.status.st_size for entry in contents(path)}
    for needed in (CONTROL_FILE, "base", "pg_wal", "pg_xact"):
        if needed not in sizes:
            raise EngineError(
                f'could not take in "{path}": it is not whole',
                detail=f'There is no "{needed}" in it.',
            )
    require_tablespaces(path, sizes, major)
    wrong = list(_against_manifest(path, sizes))
    if wrong:
        raise EngineError(
            f'could not take in "{path}": it is not the whole backup that its manifest lists',
            detail="; ".join(wrong[:5]) + (f"; {len(wrong) - 5} more" if len(wrong) > 5 else ""),
            hint="Copy or unpack the backup again: pg_verifybackup "
            f"{shlex.quote(str(path))} lists what is not as it was.",
        )
    for name in sizes:
        if os.path.basename(name).startswith("INCREMENTAL."):
            raise EngineError(
                f'could not take in "{path}": it is an incremental backup',
                detail=f'"{name}" holds only what changed.',
                hint="pg_combinebackup makes it whole.",
            )


def _against_manifest(path: Path, sizes: Mapping[str, int]) -> Iterator[str]:
    """Files that the backup's manifest lists and that are missing or of another size. A server
    that was started on the backup has changed both: then it is no backup any more."""
    if not os.path.lexists(path / MANIFEST) or LABEL not in sizes:
        return
    try:
        with (
            opened_below(path, MANIFEST) as descriptor,
            os.fdopen(os.dup(descriptor), "rb") as file,
        ):
            for entry in Manifest(file).entries():
                name = entry.get("Path")
                # A name that is no UTF-8 has another key.
                if name is not None and name not in _CHANGED_LATER:
                    yield from _differing(path, sizes, name, entry["Size"])
    except (OSError, JsonError):
        yield f"{MANIFEST} cannot be read"


def _differing(path: Path, sizes: Mapping[str, int], name: str, listed_size: int) -> Iterator[str]:
    size = sizes[name] if name in sizes else _size_below(path, name)
    if size is None:
        yield f'"{name}" is missing'
    elif size != listed_size:
        yield f'"{name}" has {size} bytes, not {listed_size}'


def _size_below(path: Path, name: str) -> int | None:
    """Of a file that a copy does not hold, as a log; None: it is not there."""
    if name.startswith("/") or ".." in name.split("/"):
        return None
    try:
        with opened_below(path, name) as opened:
            return os.fstat(opened).st_size
    except OSError:
        return None
