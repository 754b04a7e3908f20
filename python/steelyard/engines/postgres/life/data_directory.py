"""Makes data directories by initdb, moves the log of one elsewhere, and says which hold tables in
other files than PostgreSQL's.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.account import Account
from steelyard.engines.copying import copy_file
from steelyard.engines.local.owned_files import is_empty
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity

if TYPE_CHECKING:
    from steelyard.engines.postgres.builds.build import Build

SUPERUSER = "postgres"
TABLESPACES = "pg_tblspc"
"""With a link to each, called by its OID."""
_LOG = "pg_wal"
OTHER_STORAGE: Mapping[str, str] = {
    "cstore_fdw": "cstore_fdw",
    "mooncake_local_tables": "pg_mooncake",
    "orioledb_data": "OrioleDB",
}
"""Directories beside base in which extensions keep tables in files of their own, and whose."""
TDE_KEYS = re.compile(r"pg_tde/(?!1664_)[0-9]+_keys(/.*)?")
"""Keys of a database, by its OID, of Percona's pg_tde, by which its tables may be encrypted; those
with the OID of pg_global are the keys of the log."""


BACKUP_PROGRAMS: Mapping[str, str] = {
    "backup.manifest": "pgBackRest",
    "backup.info.copy": "pgBackRest",  # where all backups of a stanza stand
    "backup_content.control": "pg_probackup",
    "tar_partitions": "WAL-G",
}
"""By a name that only one program gives, in its backup or beside the data in that: what it wrote
is no data directory, whatever it looks like."""


def other_storage(directory: Path) -> list[str]:
    """Which directories of OTHER_STORAGE hold anything."""
    return [name for name in OTHER_STORAGE if any((directory / name).glob("*"))]


def make_cluster(
    build: Build, identity: Identity, account: Account, directory: Path, *, checksums: bool
) -> None:
    """Run initdb in `directory`, which must be empty or not exist yet. ServerError quotes it.

    Locale C, encoding UTF8, superuser `postgres`, trust authentication (the socket directory is
    private) and checksums either way: PostgreSQL 18 turned their default around.
    """
    # What reads a directory needs neither.
    from steelyard.engines.local.cloning import require_reachable
    from steelyard.engines.programs import run

    if not is_empty(directory):
        raise EngineError(f'could not make a cluster in "{directory}": the directory is not empty')
    account.make_directory(directory)
    require_reachable(account, directory)
    command = [build.program("initdb"), *_options(identity, checksums=checksums)]
    command += ["--pgdata", str(directory)]
    status, output = run(account, command, directory=directory, environment=build.environment)
    if status != 0:
        raise ServerError(
            f'could not make a PostgreSQL {identity.version} cluster in "{directory}"',
            detail=output.strip(),
        )


def move_log(data: Path, directory: Path) -> None:
    """Move the log of a data directory into an empty one, on any file system, and leave a link;
    nothing where the link is there. To be called as the account of both. OSError."""
    log = data / _LOG
    if log.is_symlink():
        return
    with os.scandir(directory) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    for parent, names, files in os.walk(log):
        below = directory / Path(parent).relative_to(log)
        for name in names:
            (below / name).mkdir(mode=0o700)
        for name in files:
            copy_file(os.path.join(parent, name), str(below / name))
    shutil.rmtree(log)
    log.symlink_to(directory)


def _options(identity: Identity, *, checksums: bool) -> list[str]:
    number = identity.version_number
    options = [
        f"--username={SUPERUSER}",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        # Throw-away clusters: what a power failure would cost is a repeated weighing.
        "--no-sync",
    ]
    if number >= 150000:
        options.append("--locale-provider=libc")
    if number >= 140000:
        options.append("--no-instructions")
    return options + checksum_options(number, checksums=checksums)


def checksum_options(version_number: int, *, checksums: bool) -> list[str]:
    """initdb's option by which a cluster gets checksums or none: before 18 none is the default,
    and no option says so."""
    if checksums:
        return ["--data-checksums"]
    return ["--no-data-checksums"] if version_number >= 180000 else []
