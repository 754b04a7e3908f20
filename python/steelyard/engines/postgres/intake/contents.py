"""Lists the files of a cluster that a copy of it needs, by descriptors, and opens them.

What a base backup leaves out is left out here too (basebackup.c: excludeDirContents,
excludeFiles), and what is the owner's alone: logs, keys, configuration. The directory may be of an
account that would like to read more than it may: links are followed where PostgreSQL makes them,
for the log and for tablespaces, and to what belongs to the directory's own owner
(engines/local/owned_files.py). There other names than PostgreSQL's are passed over: they are mount
points, or lead astray.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.local.owned_files import (
    kind_of,
    open_directory,
    open_regular,
    refusal,
    text_below,
)
from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.life.catalogue_rows import (
    PG_TABLESPACE,
    shared_catalogue,
    tablespace_names,
)
from steelyard.engines.postgres.life.control import SHUT_DOWN, control_of, stored_state
from steelyard.engines.postgres.life.data_directory import TABLESPACES
from steelyard.model.errors import EngineError

FILES = ("PG_VERSION", "backup_label")
"""At the top."""
DIRECTORIES = (
    "base", "global", "pg_commit_ts", "pg_logical", "pg_multixact", "pg_stat", TABLESPACES,
    "pg_twophase", "pg_wal", "pg_xact",
)  # fmt: skip
EMPTY = (
    "pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp",
    "pg_subtrans", "pg_wal/archive_status", "pg_logical/snapshots", "pg_logical/mappings",
)  # fmt: skip
"""What stands in them is of one life of one server, or of slots that the copy does not have."""
_LEFT_OUT = ("pg_internal.init", "pgsql_tmp", "pg_wal/summaries", "pg_wal/archive_status")
_TABLESPACE = re.compile(rf"{TABLESPACES}/\d+")
_NAMES = (
    (re.compile(r"pg_wal"), re.compile(r"[0-9A-F]{24}(\.partial|\.[0-9A-F]{8}\.backup)?"
                                       r"|[0-9A-F]{8}\.history")),
    (re.compile(TABLESPACES), re.compile(r"\d+")),
    (_TABLESPACE, re.compile(r"PG_\d+_\d+")),
)  # fmt: skip
"""Of directories that may lead elsewhere, the names that PostgreSQL gives in them."""
_DEEPEST = 8
_MOST_OF_VERSION = 64
TABLESPACE_MAP = "tablespace_map"
_MAPPED = re.compile(r"(?:\A|(?<!\\)\n)(\d+) ")
FIRST_WITH_OID_COLUMN = 12
"""Of major versions, the first whose catalogues have their OID before the name."""
_FIRST_NORMAL_OID = 16384
"""FirstNormalObjectId: those below are initdb's."""


@dataclass(frozen=True)
class CopiedPath:
    """A directory or a regular file that a copy would hold."""

    name: str
    """Relative to the data directory."""
    path: Path
    status: os.stat_result
    parent: int
    """A descriptor of the directory that it stands in, open until the next entry is taken."""

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    def open(self) -> int:
        """A descriptor of the file for reading. EngineError: it is another one by now."""
        try:
            opened = open_regular(self.path.name, self.parent)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        if not os.path.samestat(os.fstat(opened), self.status):
            os.close(opened)
            raise _vanished(self.name)
        return opened


def contents(directory: Path) -> Iterator[CopiedPath]:
    """What a copy would hold, parents first. The directory itself may be a link.

    EngineError names what cannot be taken in: a link that leads nowhere, as that of a tablespace
    that was not restored, any other link, a pipe or a device, what is another account's.
    """
    top = open_directory(directory, follow=True)
    try:
        version = _version_prefix(top)
        for name in FILES:
            status = _status(name, directory / name, name, top)
            if status is not None and not stat.S_ISREG(status.st_mode):
                raise _refused(directory / name, f"it is {kind_of(status)}", status)
            if status is not None:
                yield _checked(CopiedPath(name, directory / name, status, top))
        for name in DIRECTORIES:
            status = _status(name, directory / name, name, top)
            if status is not None:
                yield from _directory(CopiedPath(name, directory / name, status, top), 1, version)
    finally:
        os.close(top)


def _version_prefix(top: int) -> str:
    """How its directories in tablespaces begin, "PG_18_": after pg_upgrade those of the old cluster
    stand beside them, whose server may run. "PG_": its version cannot be read, which is said by
    what looks at it."""
    try:
        opened = open_regular("PG_VERSION", top)
    except OSError:
        return "PG_"
    try:
        version = os.read(opened, _MOST_OF_VERSION).strip()
    finally:
        os.close(opened)
    return f"PG_{version.decode()}_" if version.isdigit() else "PG_"


def _directory(entry: CopiedPath, depth: int, version: str) -> Iterator[CopiedPath]:
    """A directory, or a link to one, and what is below it."""
    if depth > _DEEPEST:
        raise EngineError(f'could not take in "{entry.path}": its directories are too deep')
    opened = _opened(entry)
    try:
        status = os.fstat(opened)
        yield _checked(CopiedPath(entry.name, entry.path, status, entry.parent))
        for name in _names(entry, opened, version):
            inner = f"{entry.name}/{name}"
            path = entry.path / name
            inner_status = _status(name, path, inner, opened)
            if inner_status is None:
                raise _vanished(inner)
            below = CopiedPath(inner, path, inner_status, opened)
            if stat.S_ISREG(inner_status.st_mode):
                yield _checked(below)
            else:
                yield from _directory(below, depth + 1, version)
    finally:
        os.close(opened)


def _names(directory: CopiedPath, opened: int, version: str) -> list[str]:
    """The names in an open directory that a copy needs, sorted."""
    rule = next((names for where, names in _NAMES if where.fullmatch(directory.name)), None)
    names = sorted(
        name
        for name in os.listdir(opened)
        if (rule is None or rule.fullmatch(name)) and not _left_out(directory.name, name)
    )
    if _TABLESPACE.fullmatch(directory.name):
        names = [name for name in names if name.startswith(version)]
        if not names:
            raise EngineError(
                f'could not take in "{directory.path}": it holds no tablespace',
                detail=f"A tablespace has a directory {version}..., named by version: it is not "
                "mounted, or was not restored.",
            )
    return names


def _left_out(directory: str, name: str) -> bool:
    inner = f"{directory}/{name}"
    return name.startswith(_LEFT_OUT[:2]) or inner in _LEFT_OUT or inner in EMPTY


def _opened(entry: CopiedPath) -> int:
    """A descriptor of a directory; of the one that a link leads to, where PostgreSQL makes one."""
    mode = entry.status.st_mode
    follow = stat.S_ISLNK(mode)
    if follow and entry.name != "pg_wal" and not _TABLESPACE.fullmatch(entry.name):
        raise _refused(entry.path, "it is a symbolic link", entry.status)
    if not follow and not stat.S_ISDIR(mode):
        raise _refused(entry.path, f"it is {kind_of(entry.status)}", entry.status)
    try:
        return open_directory(entry.path.name, entry.parent, follow=follow)
    except OSError as error:
        if not follow:
            raise _unreadable(entry.path, error) from error
        raise _loose(entry, error) from error


def _loose(link: CopiedPath, error: OSError) -> EngineError:
    """The error of a link that could not be followed."""
    where = os.readlink(link.path.name, dir_fd=link.parent)
    primary = f'could not take in "{link.name}": its link to "{where}" '
    if error.errno == errno.ELOOP:
        return EngineError(primary + "goes in a circle")
    if error.errno == errno.ENOENT:
        lost = "A tablespace or the write-ahead log is not mounted, or was not restored."
        return EngineError(primary + "leads nowhere", detail=lost)
    return EngineError(primary + f"cannot be followed: {error.strerror}")


def _status(name: str, path: Path, inner: str, parent: int) -> os.stat_result | None:
    """Of a name itself, whatever it leads to; None: it is not there."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def _checked(entry: CopiedPath) -> CopiedPath:
    """The entry itself. EngineError: its directory's owner has no right to it."""
    wrong = refusal(os.fstat(entry.parent), entry.status)
    if wrong is not None:
        raise _refused(entry.path, wrong, entry.status)
    return entry


def _refused(path: Path, why: str, status: os.stat_result) -> EngineError:
    if stat.S_ISLNK(status.st_mode):
        detail = f"Links are followed for pg_wal and for tablespaces in {TABLESPACES} only."
        hint = "Where the link is yours, put what it leads to in its place."
    elif stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        detail = f"It belongs to user id {status.st_uid}."
        hint = "Where it is yours, give all of the data to one account: chown -R"
    else:
        detail = "PostgreSQL makes only directories and regular files there."
        hint = "Remove it."
    return EngineError(f'cannot take in "{path}": {why}', detail=detail, hint=hint)


def _unreadable(path: Path, error: OSError) -> EngineError:
    return EngineError(
        f'could not read "{path}": {error.strerror}',
        hint="Run as an account that may read it, or take a base backup of the server.",
    )


def _vanished(name: str) -> EngineError:
    return EngineError(
        f'could not take in "{name}": it vanished meanwhile, or became another file',
        detail="The data directory is in use.",
    )


def require_tablespaces(directory: Path, names: Container[str], major: int) -> None:
    """EngineError: tablespaces are not there that the backup's tablespace_map names, as where only
    base.tar was unpacked, or the catalogue of a server that was stopped. A server would make the
    links by the map, to places of its machine. `names`: what is there."""
    mapped = [oid for oid in _mapped(directory) if f"{TABLESPACES}/{oid}" not in names]
    if mapped:
        archives = " and ".join(f"{oid}.tar into {TABLESPACES}/{oid}" for oid in mapped)
        raise EngineError(
            f'could not take in "{directory}": it is not whole',
            detail=f"Its {TABLESPACE_MAP} names tablespace {', '.join(mapped)}, of which there is "
            f"nothing in {TABLESPACES}.",
            hint=f"Unpack {archives}.",
        )
    known = _known_tablespaces(directory, major).items()
    lost = [f"{name} ({oid})" for oid, name in known if f"{TABLESPACES}/{oid}" not in names]
    if lost:
        raise EngineError(
            f'could not take in "{directory}": it is not whole',
            detail=f"Its server had tablespace {printable(', '.join(lost))}, of which there is no "
            f"link in {TABLESPACES}: some programs copy no links (rsync -r, rclone).",
            hint="Copy the directory again with what its links lead to: rsync -aL, cp -aL",
        )


def _mapped(directory: Path) -> list[str]:
    try:
        tablespace_map = text_below(directory, TABLESPACE_MAP)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(directory / TABLESPACE_MAP, error) from error
    return _MAPPED.findall(tablespace_map)


def _known_tablespaces(directory: Path, major: int) -> dict[int, str]:
    """Names by OID of those that were made; none where the files do not surely say: of a server
    that was not stopped some may be made or dropped by the log alone."""
    if stored_state(directory) != SHUT_DOWN or major < FIRST_WITH_OID_COLUMN:
        return {}
    try:
        page_bytes = int(control_of(directory)["block_size"])
        content = shared_catalogue(directory, PG_TABLESPACE, major)
    except (OSError, ValueError, KeyError):
        return {}  # said by what opens the copy
    known = tablespace_names(content, directory, page_bytes)
    return {oid: name for oid, name in known.items() if oid >= _FIRST_NORMAL_OID}
