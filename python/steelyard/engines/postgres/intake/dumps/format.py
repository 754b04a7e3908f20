"""Recognises the format of a dump, and opens it: plain SQL, custom, tar, directory; gzip of each.

What is no dump is refused here, before a server is made: archives of base backups, other
compression, several databases, and what is no text.
"""

from __future__ import annotations

import gzip
import io
import os
import shlex
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO, cast

from steelyard.engines.postgres.intake.dumps.lexer import DumpLexer, PsqlCommand
from steelyard.engines.postgres.intake.dumps.other_files import refuse_others, unpacking_backup
from steelyard.engines.postgres.intake.dumps.rules import enters_database, makes_contents
from steelyard.model.errors import EngineError, UsageError

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd -dc <",
    b"\x04\x22\x4d\x18": "lz4 -dc <",
    b"BZh": "bunzip2 -c <",
    b"\xfd7zXZ": "unxz -c <",
    b"PK\x03\x04": "unzip -p",
}
"""What unpacks a file whose name follows, whatever its suffix."""
_SUFFIXES = (".gz", ".tgz", ".zst", ".lz4", ".bz2", ".xz", ".zip")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
HINT_ONE_DATABASE = "Dump the one that is to be weighed: pg_dump -Fc -f FILE DATABASE"
_TAR_MAGIC_AT = 257
_HEAD_BYTES = 1 << 20
_TEXT_BYTES = 64 << 20
"""So much is searched for zero bytes and for other databases before a server is made; the rest when
it is read."""
_CONNECTS, _CONNECT_BYTES = b"\n\\c", 4096
"""How a line begins that enters a database, perhaps, and how long it may be."""
_OF_A_BACKUP = ("PG_VERSION", "backup_label", "tablespace_map", "pg_control", "backup_manifest")


class DumpFormat(Enum):
    """How a dump is written."""

    PLAIN = "plain"
    CUSTOM = "custom"
    TAR = "tar"
    DIRECTORY = "directory"


@dataclass(frozen=True)
class Dump:
    """A dump that was recognised."""

    path: Path
    format: DumpFormat
    compressed: bool = False
    """Whether the whole file is compressed by gzip."""


def recognise(path: Path) -> Dump:
    """What a file, or a directory with a table of contents, is. UsageError: no dump of one
    database, with the reason; EngineError: it cannot be read."""
    if path.is_dir():
        return _directory(path)
    with open_file(path) as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    with opened(path, compressed=compressed) as content:
        head = content.read(_HEAD_BYTES)
        form = _form(path, head)
        connects_at = _require_text(path, head, content) if form is DumpFormat.PLAIN else -1
    dump = Dump(path, form, compressed)
    if connects_at >= 0:
        _require_one_database(dump, connects_at + _CONNECT_BYTES)
    return dump


@contextmanager
def opened(path: Path, *, compressed: bool) -> Iterator[BinaryIO]:
    """The content of a file, unpacked as it is read. EngineError: its compression is damaged."""
    with open_file(path) as file:
        if not compressed:
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as content:
                yield cast("BinaryIO", content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise EngineError(
                f'could not read "{path}": its compression by gzip is damaged, or it was cut off',
                detail=str(error),
            ) from error


def open_file(path: Path) -> BinaryIO:
    """A regular file, opened for reading. EngineError: it is another kind of file, or a link that
    its owner put on another account's file: read with our rights, that could be any secret."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        linker = None
    except OSError:
        linker = os.lstat(path).st_uid
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise EngineError(f'could not read "{path}": it is no regular file')
    if linker not in (None, os.geteuid(), status.st_uid):
        os.close(descriptor)
        raise EngineError(
            f'could not read "{path}": it is a link to the file of another account',
            hint=f'Name the file itself: "{os.path.realpath(path)}"',
        )
    return os.fdopen(descriptor, "rb")


def _directory(path: Path) -> Dump:
    for entry in sorted(path.iterdir()):
        if not entry.is_file():
            raise UsageError(
                f'cannot take in "{path}": "{entry.name}" in it is no regular file',
                detail="A dump in directory format has files alone.",
            )
    return Dump(path, DumpFormat.DIRECTORY)


def _form(path: Path, head: bytes) -> DumpFormat:
    if head.startswith(b"PGDMP"):
        return DumpFormat.CUSTOM
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        if head.startswith(b"toc.dat\0"):
            return DumpFormat.TAR
        raise _archive(path, head)
    for magic, program in _OTHERS.items():
        if head.startswith(magic):
            raise UsageError(
                f'cannot take in "{path}": it is compressed', hint=_unpacking(path, program)
            )
    if head.startswith(_GZIP):
        raise UsageError(
            f'cannot take in "{path}": it is compressed twice', hint=_unpacking(path, "gzip -dc <")
        )
    return DumpFormat.PLAIN


def _unpacking(path: Path, program: str) -> str:
    """What to type, of which the result can be named by --from."""
    target = path.with_suffix("")
    if path.suffix.lower() not in _SUFFIXES or target.exists():
        target = path.with_name(f"{path.name}.unpacked")
    return f"Unpack it first: {program} {shlex.quote(str(path))} > {shlex.quote(str(target))}"


def _archive(path: Path, head: bytes) -> UsageError:
    names = list(_names(head))
    if any(Path(name).name == "toc.dat" for name in names):
        what, target = "an archive of a dump in directory format", "dump"
    elif any(Path(name).name in _OF_A_BACKUP for name in names):
        what, target = "an archive of a base backup", "backup"
    else:
        what, target = "an archive", "data"
    typed = f"mkdir {target} && tar -xf {shlex.quote(str(path))} -C {target}"
    if target == "backup":
        typed = unpacking_backup(path)
    return UsageError(
        f'cannot take in "{path}": it is {what}',
        hint=f"Unpack it into a directory and name that by --from: {typed}",
    )


def _names(head: bytes) -> Iterator[str]:
    import tarfile  # which few files need

    try:
        with tarfile.open(fileobj=io.BytesIO(head), mode="r:") as archive:
            for member in archive:
                yield member.name
    except (tarfile.TarError, ValueError, OverflowError):
        return  # the head ends within a file


def _require_text(path: Path, head: bytes, content: BinaryIO) -> int:
    """Where the last line begins that may enter a database; -1: there is none."""
    refused = f'cannot take in "{path}": it is no dump of pg_dump'
    if head.startswith(_UTF_16):
        raise UsageError(
            f"{refused}, but text in UTF-16",
            detail='PowerShell writes it so with ">".',
            hint="Let pg_dump write the file: pg_dump -Fc -f FILE DATABASE",
        )
    if not head.strip():
        raise UsageError(f"{refused}: it is empty")
    refuse_others(path, head)
    if b"PostgreSQL database cluster dump" in head[:512]:
        raise UsageError(
            f'cannot take in "{path}": it is a dump of all databases',
            hint=HINT_ONE_DATABASE,
        )
    read: Callable[[int], bytes] = content.read
    length, connects_at = 0, -1
    chunk, before = head, b""
    while chunk and length < _TEXT_BYTES:
        if b"\0" in chunk:
            raise UsageError(f"{refused}, and no text: it holds zero bytes")
        at = (before + chunk).rfind(_CONNECTS)
        connects_at = length - len(before) + at if at >= 0 else connects_at
        length += len(chunk)
        before = chunk[1 - len(_CONNECTS) :]
        chunk = read(_HEAD_BYTES)
    return connects_at


def _require_one_database(dump: Dump, until: int) -> None:
    """UsageError: as far as it is read here, it makes something and then enters a database, as
    several dumps of pg_dump -C in one file do. A literal may hold such a line, too."""
    with opened(dump.path, compressed=dump.compressed) as file:
        line = _line_of_other_database(file.read(until))
    if line is not None:
        raise UsageError(
            f'cannot take in "{dump.path}": line {line} goes on in another database',
            hint=HINT_ONE_DATABASE,
        )


def _line_of_other_database(text: bytes) -> int | None:
    lexer, makes = DumpLexer(io.BytesIO(text)), False
    with suppress(UsageError):  # raised again where it is restored
        for part in lexer:
            if isinstance(part, PsqlCommand):
                if makes and enters_database(part):
                    return part.line
                continue
            if part.begins("SET", "STANDARD_CONFORMING_STRINGS", "OFF"):
                return None  # literals end elsewhere, by what a server says of each
            makes = makes or makes_contents(part)
            if part.reads_rows:
                for _ in lexer.rows():
                    pass
    return None
