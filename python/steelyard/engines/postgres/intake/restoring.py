"""Restores a dump of pg_dump into a new cluster: custom, directory and tar format, plain SQL."""

from __future__ import annotations

import gzip
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from steelyard.engines.engine import Instance
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.client_programs import client_program, run_client
from steelyard.engines.postgres.intake.place import CUSTOM, GZIP
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.model.errors import ServerError, UsageError

_JOBS = 2
_HARMLESS = re.compile(r'role "[^"]*" does not exist|must be (?:able to SET ROLE|member of role)')
_COPY = re.compile(rb"^COPY .* FROM stdin;\s*$")
_TABLESPACE = re.compile(rb"^SET default_tablespace = ")
_ALLOWED = (b"\\restrict", b"\\unrestrict")
_WORDS_KEPT = 8


def restore_dump(build: Build, instance: Instance, dump: Path) -> None:
    """Restore a dump into database "steelyard", which exists and is empty.

    Owners, rights and tablespaces are left out: nothing else of the original is needed. ServerError
    quotes what failed; UsageError: a plain dump that is more than SQL and rows.
    """
    if _is_plain(dump):
        _restore_plain(build, instance, dump)
        return
    program, environment = client_program("pg_restore", build)
    options = ["--no-owner", "--no-privileges", "--no-tablespaces"]
    options += ["--no-publications", "--no-subscriptions"]
    # A file of our own: the servers' account may not read where the dump lies.
    jobs = [] if _is_tar(dump) else [f"--jobs={_JOBS}"]
    command = [program, *client_flags(instance.address), *options, *jobs, "-d", DATABASE]
    ended = run_client([*command, "--exit-on-error", str(dump)], environment)
    if ended.returncode != 0:
        raise _failed(dump, ended.stderr)


def _is_plain(dump: Path) -> bool:
    if dump.is_dir() or _is_tar(dump):
        return False
    with dump.open("rb") as file:
        return not file.read(len(CUSTOM)).startswith(CUSTOM)


def _is_tar(dump: Path) -> bool:
    if dump.is_dir():
        return False
    with dump.open("rb") as file:
        return file.read(8) == b"toc.dat\0"


def _restore_plain(build: Build, instance: Instance, dump: Path) -> None:
    program, environment = client_program("psql", build)
    command = [program, "-X", "-q", *client_flags(instance.address), "-d", DATABASE]
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command,
            env={**environment, "PGOPTIONS": "-c client_min_messages=warning"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=words,
        )
        assert process.stdin is not None  # a pipe
        try:
            for line in _statements(dump):
                process.stdin.write(line)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended early; its output has the reason
        except BaseException:
            process.kill()
            process.wait()
            raise
        status = process.wait()
        words.seek(0)
        said = words.read().decode(errors="replace")
    errors = [line for line in said.splitlines() if re.search(r"\b(ERROR|FATAL):", line)]
    serious = [line for line in errors if not _HARMLESS.search(line)]
    if status != 0 or serious:
        raise _failed(dump, "\n".join(serious) or said)


def _statements(dump: Path) -> Iterator[bytes]:
    """The lines of a plain dump that are SQL or rows. UsageError: another command of psql, which
    could do anything on this machine."""
    rows = False
    with _opened(dump) as file:
        for number, line in enumerate(file, 1):
            if rows:
                rows = line.rstrip(b"\r\n") != b"\\."
            elif line.startswith(b"\\"):
                if not line.startswith(_ALLOWED):
                    raise _refused(dump, number, line)
                continue
            elif _TABLESPACE.match(line):
                continue
            else:
                rows = bool(_COPY.match(line))
            yield line


def _opened(dump: Path) -> IO[bytes]:
    with dump.open("rb") as file:
        packed = file.read(2) == GZIP
    return gzip.open(dump, "rb") if packed else dump.open("rb")  # type: ignore[return-value]


def _refused(dump: Path, number: int, line: bytes) -> UsageError:
    command = line.split(None, 1)[0].decode(errors="replace")
    return UsageError(
        f'cannot restore "{dump}": line {number} is a command of psql, {command}',
        hint="Dump the database without -C: pg_dump -Fc -f FILE DATABASE"
        if command in ("\\connect", "\\c")
        else "Only SQL and rows are restored.",
    )


def _failed(dump: Path, words: str) -> ServerError:
    lines = [line for line in words.strip().splitlines() if line.strip()]
    more = len(lines) - _WORDS_KEPT
    detail = "\n".join(lines[:_WORDS_KEPT]) + (f"\n{more} more lines" if more > 0 else "")
    missing = re.search(r'extension "([^"]+)" is not available|extension control file', words)
    return ServerError(
        f'could not restore "{dump}"',
        detail=detail or None,
        hint="--set contrib=true brings PostgreSQL's own extensions; for others name a build that "
        "has them: --set control.bindir=DIR"
        if missing
        else None,
    )
