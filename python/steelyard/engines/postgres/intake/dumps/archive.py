"""Turns an archive of pg_dump (custom, tar, directory) into SQL, by pg_restore.

So every format is restored in one way and by one set of rules. pg_restore parses what a stranger
wrote: it runs under the servers' account, connects to nothing, and is given the archive as an open
descriptor, since that account may not be able to read where it lies. A directory cannot be given
so: where the account cannot read it, it is copied first.

Its output is read while the disk that it is unpacked on has room: a few megabytes of gzip or of a
custom archive can hold terabytes, and how large a dump is when it is restored is not known before.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, BinaryIO, cast

from steelyard.engines.account import Account
from steelyard.engines.builds.build_files import can_read
from steelyard.engines.cache import free_bytes
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.client_programs import clients
from steelyard.engines.postgres.intake.dumps.format import Dump, DumpFormat, open_file, opened
from steelyard.engines.programs import launch
from steelyard.model.errors import EngineError, ServerError, SteelyardError
from steelyard.model.units import format_bytes

_CHUNK_BYTES = 1 << 20
_MESSAGE_BYTES = 4000
RESERVE_BYTES = 256 << 20
"""What stays free on the disk."""
STEP_BYTES = 64 << 20
"""Between two looks at it."""
_DAMAGED = re.compile(
    r"could not (?:read from input file|open input file|close data file|uncompress data|find block)"
    r"|unexpected end of file|unexpected data offset|did not find magic string"
)


class MeteredFile:
    """A file that is read from; what it holds goes to the disk of `directory`."""

    def __init__(self, file: BinaryIO | IO[bytes], directory: Path) -> None:
        self._file = file
        self._directory = directory
        self._unchecked = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none: the end. EngineError: the disk is nearly full."""
        chunk = self._file.read(size)
        self._unchecked += len(chunk)
        if self._unchecked >= STEP_BYTES:
            self._unchecked = 0
            free = free_bytes(self._directory)
            if free < RESERVE_BYTES:
                raise EngineError(
                    f"the disk is nearly full, and the dump goes on: {format_bytes(free)} are free",
                    hint="Free some room, or move the cache: STEELYARD_CACHE.",
                )
        return chunk


@contextmanager
def archive_script(
    dump: Dump, build: Build, account: Account, directory: Path
) -> Iterator[IO[bytes]]:
    """The SQL of an archive, to be read to its end; what is unpacked meanwhile stands in
    `directory`. ServerError: pg_restore could not read it, in its words."""
    with (
        tempfile.TemporaryFile(buffering=0) as messages,  # programs write where it was read to
        _input(dump, account, directory) as (name, file),
    ):
        process = _started(dump, build, account, directory, name, file, messages)
        script = process.stdout
        assert script is not None  # a pipe
        try:
            try:
                yield script
            except SteelyardError as error:
                # What it had written may end anywhere: its own reason is the right one.
                if script.read(1) == b"" and process.wait() != 0:
                    raise _failed(dump, _words(messages), process.returncode) from error
                raise
            if process.wait() != 0:
                raise _failed(dump, _words(messages), process.returncode)
        finally:
            script.close()
            process.kill()
            process.wait()


def _started(
    dump: Dump,
    build: Build,
    account: Account,
    directory: Path,
    name: list[str],
    file: IO[bytes] | int,
    messages: IO[bytes],
) -> Popen[bytes]:
    """The newest pg_restore that can read the archive, once it writes: it says before whether it
    knows the format and the compression, which a newer one may be built without."""
    # With what concerns the database itself, so that the rules see it as in a plain dump.
    options = ["-f", "-", "--create", f"--format={dump.format.value}"]
    refusals: list[str] = []
    for program, environment in clients("pg_restore", build, account):
        messages.seek(0)
        messages.truncate()
        if not isinstance(file, int):
            os.lseek(file.fileno(), 0, os.SEEK_SET)
        process = launch(
            account,
            [program, *options, *name],
            directory=directory,
            output=PIPE,
            environment=environment,
            stdin=file,
            errors=messages,
        )
        script = cast("io.BufferedReader", process.stdout)
        try:
            if script.peek(1) or process.wait() == 0 or not _needs_other(_words(messages)):
                return process
        except BaseException:
            process.kill()
            process.wait()
            raise
        script.close()
        refusals.append(_words(messages))
    raise _failed(dump, refusals[0], 1)


def _words(messages: IO[bytes]) -> str:
    messages.seek(0)
    return messages.read(_MESSAGE_BYTES).decode(errors="replace").strip()


def _failed(dump: Dump, words: str, status: int) -> ServerError:
    text = words or f"pg_restore ended with status {status}: the archive may be damaged."
    return ServerError(f'could not restore "{dump.path}"', detail=text, hint=_hint(text))


@contextmanager
def _input(
    dump: Dump, account: Account, directory: Path
) -> Iterator[tuple[list[str], IO[bytes] | int]]:
    """The name that pg_restore is given, if any, and its standard input."""
    if dump.format is DumpFormat.DIRECTORY:
        with _accessible_directory(dump.path, account, directory) as source:
            yield [str(source)], DEVNULL
    elif dump.compressed:
        with tempfile.TemporaryFile(dir=directory) as unpacked:  # pg_restore seeks in it
            with opened(dump.path, compressed=True) as content:
                _copy(content, unpacked, directory)
            unpacked.seek(0)
            _require_whole(dump, unpacked)
            yield [], unpacked
    else:
        with open_file(dump.path) as file:
            _require_whole(dump, file)
            yield [], file


def _require_whole(dump: Dump, file: IO[bytes]) -> None:
    """EngineError: a tar file that was cut off, which pg_restore reads without an end."""
    if dump.format is not DumpFormat.TAR:
        return
    import tarfile  # which few dumps need

    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    whole = False
    with suppress(tarfile.TarError), tarfile.open(fileobj=file, mode="r:") as archive:
        inside = all(member.offset_data + member.size <= length for member in archive)
        file.seek(archive.offset)
        whole = inside and file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)
    file.seek(0)
    if not whole:
        raise EngineError(
            f'could not read "{dump.path}": the archive was cut off, or is damaged',
            hint="Copy the file again, or dump the database again.",
        )


@contextmanager
def _accessible_directory(source: Path, account: Account, directory: Path) -> Iterator[Path]:
    """The directory itself where the account can read it, by its own rights, else a copy."""
    if can_read(account, [source], []):
        yield source
        return
    copied = Path(tempfile.mkdtemp(dir=directory))
    try:
        copied.chmod(0o711)
        for entry in sorted(source.iterdir()):
            with open_file(entry) as original, (copied / entry.name).open("xb") as copy:
                os.fchmod(copy.fileno(), 0o400)
                os.fchown(copy.fileno(), account.uid, account.gid)
                _copy(original, copy, directory)
        yield copied
    finally:
        shutil.rmtree(copied)


def _copy(content: BinaryIO, target: IO[bytes], directory: Path) -> None:
    metered = MeteredFile(content, directory)
    while chunk := metered.read(_CHUNK_BYTES):
        target.write(chunk)
    target.flush()


def _needs_other(messages: str) -> bool:
    """Whether this pg_restore cannot read the archive, and another one may."""
    known = r"unsupported version|does not support compression|not supported in this"
    return re.search(known, messages) is not None


def _hint(messages: str) -> str | None:
    """What to do where the archive cannot be read."""
    if _needs_other(messages):
        return (
            "Install the pg_restore of the pg_dump that wrote it (Debian: postgresql-client), or "
            "write the dump again: pg_dump -Fc -Z gzip -f FILE DATABASE"
        )
    if _DAMAGED.search(messages):
        return (
            "It was cut off, or changed on its way, as FTP in text mode does: copy it again, or "
            "write the dump again: pg_dump -Fc -f FILE DATABASE"
        )
    return None
