"""Writes into a directory that no other account may write into, through no link.

A record, a cache or a site may come from elsewhere, with links planted under the names that are
written next. So a directory is opened without following its last name, its owner and mode are read
from what was opened, whole files are written under a random name and renamed, and what is appended
to must be a regular file of this account with no second name.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import os
import pwd
import secrets
import shlex
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from steelyard.model.errors import UntrustedPathError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
OWN_MODE = 0o755
"""Of directories that are made here. A umask of 000 or 002 leaves more, and what others may write
into is refused when it is opened."""
_OWN_FILE_MODE = 0o644


@dataclass(frozen=True)
class Distrust:
    """Why a path is not written into, and what to type so that it can be."""

    reason: str
    remedy: str


class OwnDirectory:
    """A directory, held open; use it in a `with` statement."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Self:
        """UntrustedPathError: it is a link, another account's, or others may write into it.
        OSError: it is no directory, or cannot be entered."""
        # The name itself: with a slash behind it the system would follow a link.
        name = os.path.normpath(path)
        if os.path.islink(name):
            raise _refused(path, _of_link(path))
        opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        distrust = distrust_of(path, os.fstat(opened))
        if distrust is not None:
            os.close(opened)
            raise _refused(path, distrust)
        return cls(path, opened)

    @staticmethod
    def make(path: Path) -> None:
        """Make a directory and what is missing above it, into which no other account may write
        whatever the umask; one that is there stays as it is. OSError: it cannot be made."""
        for directory in (*reversed(path.parents), path):
            if not directory.exists():
                directory.mkdir(mode=OWN_MODE, exist_ok=True)

    def hold(self) -> bool:
        """Whether no other process holds it: then it is held here until it is closed or this
        process has ended, even killed. A file system that locks no directories (NFS) refuses none.
        """
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def write(self, name: str, content: str | bytes) -> None:
        """A whole file, there entirely or not at all; what had its name before is replaced.

        OSError. A lone surrogate, which UTF-8 cannot say, is written as its escape.
        """
        raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        with self.draft(name) as stream:
            stream.write(raw)

    @contextlib.contextmanager
    def draft(self, name: str) -> Iterator[FileIO]:
        """A new file that gets its name when the block has ended without an error. OSError."""
        draft = f".{name}.{secrets.token_hex(8)}.draft"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(draft, flags, _OWN_FILE_MODE, dir_fd=self.descriptor)
        try:
            with os.fdopen(opened, "r+b", buffering=0) as stream:
                yield stream
                os.fsync(stream.fileno())
            os.replace(draft, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=self.descriptor)
            raise

    def appending(self, name: str) -> FileIO:
        """A file, made where there is none, that is written at its end, without a buffer; it can be
        read too. UntrustedPathError: it is a link, or another file than this account alone names.
        """
        return open_to_append(self.path / name, name, self.descriptor)

    def close(self) -> None:
        """Close it; the directory stays."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file in a directory of this account, entirely or not at all; a link that has its name
    is replaced. UntrustedPathError: the directory is none of this account alone; OSError."""
    with OwnDirectory.open(file.parent) as directory:
        directory.write(file.name, content)


def write_named(file: Path, content: str) -> None:
    """Write a file that the command line names, as a shell's `>` does: a link is followed, and a
    pipe or device written to. UntrustedPathError: the link is another account's; OSError."""
    with contextlib.suppress(FileNotFoundError):
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
            raise _refused(file, _of_link(file))
    file.write_bytes(content.encode("utf-8", "backslashreplace"))


def open_to_append(file: Path, name: str | Path = "", directory: int | None = None) -> FileIO:
    """As `OwnDirectory.appending`, for a file whose directory is the user's choice."""
    target = name or file
    with contextlib.suppress(FileNotFoundError):
        _require_own_file(file, os.lstat(target, dir_fd=directory))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(target, flags, _OWN_FILE_MODE, dir_fd=directory)
    try:
        _require_own_file(file, os.fstat(opened))  # it may be another one by now
    except BaseException:
        os.close(opened)
        raise
    return FileIO(opened, "r+")


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path, in a new directory of this account alone beside `file`, of what becomes that file
    when the block has ended without an error. OSError."""
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as private:
        yield Path(private) / file.name
        os.replace(Path(private) / file.name, file)


def distrust_of(directory: Path, status: os.stat_result) -> Distrust | None:
    """What speaks against writing into a directory with this status; None: nothing."""
    if stat.S_ISLNK(status.st_mode):
        return _of_link(directory)
    if not stat.S_ISDIR(status.st_mode):
        return Distrust("it is not a directory", f"Remove it: rm {_quoted(directory)}")
    if status.st_uid != os.geteuid():
        return _of_other(directory, status)
    if status.st_mode & _OTHERS and not _of_private_group(status):
        return Distrust(
            f"other accounts may write into it (mode {stat.S_IMODE(status.st_mode):04o})",
            f"If you trust what is in it: chmod -R go-w {_quoted(directory)}",
        )
    return None


def _require_own_file(file: Path, status: os.stat_result) -> None:
    distrust = _of_file(file, status)
    if distrust is not None:
        raise _refused(file, distrust)


def _of_file(file: Path, status: os.stat_result) -> Distrust | None:
    if stat.S_ISLNK(status.st_mode):
        return _of_link(file)
    if not stat.S_ISREG(status.st_mode):
        return Distrust("it is not a regular file", f"Remove it: rm {_quoted(file)}")
    if status.st_uid != os.geteuid():
        return _of_other(file, status)
    if status.st_nlink > 1:
        old, new = _quoted(file), _quoted(f"{file}.copy")
        return Distrust(
            "it has a second name, which would be written too",
            f"Make a copy of it: cp {old} {new} && mv {new} {old}",
        )
    return None


def _of_link(path: Path) -> Distrust:
    old, new = _quoted(os.path.normpath(path)), _quoted(f"{os.path.normpath(path)}.copy")
    return Distrust(
        f'it is a link to "{os.readlink(os.path.normpath(path))}"',
        "Name what it leads to where that is yours, or put a copy in its place: "
        f"cp -rL {old} {new} && rm {old} && mv {new} {old}",
    )


def _of_other(path: Path, status: os.stat_result) -> Distrust:
    user = _account(os.geteuid())
    return Distrust(
        f'it belongs to account "{_account(status.st_uid)}", not to "{user}"',
        f"Work on a copy of your own (cp -r), or, if you trust it: chown -R {user} {_quoted(path)}",
    )


def _refused(path: Path, distrust: Distrust) -> UntrustedPathError:
    return UntrustedPathError(
        f'will not write into "{path}": {distrust.reason}', hint=distrust.remedy
    )


def _quoted(path: str | Path) -> str:
    return shlex.quote(str(path))


def _account(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _of_private_group(status: os.stat_result) -> bool:
    """Whether only the group may write, and it is the one that an account has to itself, as
    systems with umask 002 give it."""
    if status.st_mode & stat.S_IWOTH:
        return False
    try:
        group, account = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid)
    except KeyError:
        return False
    private = group.gr_gid == account.pw_gid and group.gr_name == account.pw_name
    return private and set(group.gr_mem) <= {account.pw_name}
