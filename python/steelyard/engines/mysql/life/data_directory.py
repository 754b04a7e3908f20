"""Makes data directories of MySQL and MariaDB, and reads in what state one was left.

A server of ours has the superuser "root" without a password, reached through a Unix socket in a
directory that is the account's alone.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.cloning import require_reachable
from steelyard.engines.local.owned_files import (
    is_empty,
    names_below,
    opened_below,
    replace_text,
    text_below,
)
from steelyard.engines.mysql.builds.build import MARIADB, Build
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity

SUPERUSER = "root"
VERSION_FILE = "steelyard.version"
PID_FILE = "server.pid"
CRC32 = "crc32"

_SYSTEM_SQL = ("system_tables", "performance_tables", "system_tables_data")
"""MariaDB's files of its system tables, without what stands before: mariadb_ from 11 on, mysql_ in
older ones."""
# A system table without a password for root on its socket, as mariadb-install-db's method "normal"
# has it; no anonymous accounts (scripts/mysql_system_tables_data.sql of MariaDB reads these).
_ACCOUNTS = """
SET @auth_root_socket=NULL;
SET @skip_auth_anonymous=1;
"""


def product(identity: Identity) -> str:
    """As people write it: "MySQL 5.7.29"."""
    return identity.product


def series(identity: Identity) -> str:
    """Whose data directories are of one form: "mysql 5.7"."""
    number = identity.version_number
    return f"{identity.kind} {number // 10000}.{number // 100 % 100}"


def base_arguments(build: Build, directory: Path) -> list[str]:
    """What every start of a server's program begins with."""
    return [
        "--no-defaults",  # the machine's own option files do not apply
        f"--basedir={build.base}",
        f"--datadir={directory}",
        f"--lc-messages-dir={build.share}",
        "--secure-file-priv=",  # its compiled-in directory is not there, which ends 5.7
    ]


def make_instance(build: Build, identity: Identity, account: Account, directory: Path) -> None:
    """Make the system tables in `directory`, which must be empty or not exist yet. ServerError
    quotes the server."""
    if not is_empty(directory):
        raise EngineError(f'could not make a server in "{directory}": the directory is not empty')
    account.make_directory(directory)
    require_reachable(account, directory)
    command = [str(build.server), *base_arguments(build, directory), *protected(identity)]
    script = None
    if build.product == MARIADB:
        command.append("--bootstrap")
        script = _bootstrap(build)
    else:
        command.append("--initialize-insecure")
    status, output = run(
        account, command, directory=directory, environment=build.environment, stdin=script
    )
    if status != 0 or not os.path.lexists(directory / "ibdata1"):
        raise ServerError(
            f'could not make a server of {product(identity)} in "{directory}"',
            detail=output.strip(),
        )
    replace_text(account, directory / VERSION_FILE, series(identity) + "\n")


def protected(identity: Identity) -> list[str]:
    """What makes pages carry a checksum that can be left unverified later without loading again:
    files that full_crc32 made keep it, whatever is set (MDEV-21666)."""
    return [f"--innodb-checksum-algorithm={CRC32}"] if can_be_unprotected(identity) else []


def can_be_unprotected(identity: Identity) -> bool:
    """Whether a server can leave pages unverified; MariaDB from 10.6 on cannot (MDEV-25105)."""
    return identity.kind != MARIADB or identity.version_number < 100600


def _bootstrap(build: Build) -> str:
    parts = ["create database mysql;", "use mysql;", _ACCOUNTS]
    parts += [_system_sql(build, name).read_text(encoding="utf-8") for name in _SYSTEM_SQL]
    return "\n".join(parts)


def _system_sql(build: Build, name: str) -> Path:
    paths = [build.share / f"{prefix}_{name}.sql" for prefix in ("mariadb", "mysql")]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise EngineError(
            f'no SQL of MariaDB\'s system tables in "{build.share}": neither "{paths[0].name}" nor '
            f'"{paths[1].name}" is there',
            hint="Install the server whole, or name the directory of one that is.",
        )
    return path


def series_of(directory: Path) -> str:
    """The series that a data directory of ours says; EngineError: it is none of ours."""
    try:
        return text_below(directory, VERSION_FILE).strip()
    except OSError as error:
        raise EngineError(
            f'could not open data directory "{directory}": {error.strerror}',
            detail=f'One that Steelyard made has a file "{VERSION_FILE}".',
        ) from error


def serving_pid(directory: Path) -> int | None:
    """The process id of a server of ours that lives in `directory`."""
    try:
        pid = int(text_below(directory, PID_FILE))
        return pid if os.path.samefile(f"/proc/{pid}/cwd", directory) else None
    except (OSError, ValueError):
        return None


_HEAD = 12_288
"""Bytes of a redo log's file in front of its records: the header and both checkpoints. 2 kB up to
MariaDB 10.7 and MySQL 8, 12 kB in MariaDB 10.8 and later, where the log begins at that offset."""
_REDO = "#innodb_redo"
_NO_CHECKSUM = b"\xde\xad\xbe\xef"


def stopped_identifier(directory: Path) -> int | None:
    """What changes with every start of a server on it; None where its pages carry no checksum, or
    there is no redo log. 63 bits of a digest over the checkpoints."""
    try:
        logs = _logs(directory)
        first = _head(directory, "ibdata1", 64)
        if not logs or first[:4] == _NO_CHECKSUM:
            return None
        digest = hashlib.sha256(first)
        for log in logs:
            digest.update(_head(directory, log, _HEAD))
    except OSError:
        return None
    return int.from_bytes(digest.digest()[:8], "big") >> 1


def _logs(directory: Path) -> list[str]:
    """The files of the redo log: of MySQL 8.0.30 and later, and of others."""
    names = names_below(directory, "")
    new = names_below(directory, _REDO) if _REDO in names else []
    return [
        *(f"{_REDO}/{name}" for name in new if name.startswith("#ib_redo")),
        *(name for name in names if name == "ib_logfile0"),
    ]


def _head(directory: Path, name: str, length: int) -> bytes:
    with opened_below(directory, name) as opened:
        return os.read(opened, length)
