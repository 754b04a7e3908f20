"""Opens files below a directory that another account can write, following no link on the way.

That account can put a link, a pipe, or by link(2) another's file under any name there, at any
moment. So a name is opened component by component (openat(2) with O_NOFOLLOW), without waiting
(O_NONBLOCK), and what was opened is looked at by its descriptor: a regular file, of an account that
had the right to put it there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.account import Account

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MOST = 1 << 20

ANOTHERS = "it belongs to another account than the directory it is in"
LINKED = "it has a second name, and every account can write the directory it is in"


def open_directory(path: Path | str, parent: int | None = None, *, follow: bool = False) -> int:
    """A descriptor of a directory; `parent`: that of the directory that `path` is relative to.
    OSError: there is none, or, unless links are followed, it is a link."""
    return os.open(path, _DIRECTORY | (0 if follow else os.O_NOFOLLOW), dir_fd=parent)


def open_regular(name: str, parent: int) -> int:
    """A descriptor, for reading, of a regular file directly in an open directory. OSError: there is
    none, it is a link or no regular file, or another account's."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    _require_regular(name, status)  # opening a device could already do something
    try:
        opened = os.open(name, _FILE | os.O_NOATIME, dir_fd=parent)
    except PermissionError:  # of another's file, without the right to leave its times
        opened = os.open(name, _FILE, dir_fd=parent)
    try:
        status = os.fstat(opened)
        _require_regular(name, status)
        wrong = refusal(os.fstat(parent), status)
        if wrong is not None:
            raise PermissionError(errno.EPERM, wrong, name)
    except BaseException:
        os.close(opened)
        raise
    return opened


def _require_regular(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind_of(status)}, not a regular file", name)


def kind_of(status: os.stat_result) -> str:
    """What a name stands for, in words: "a symbolic link"."""
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "a file")


def refusal(directory: os.stat_result, status: os.stat_result) -> str | None:
    """Why what stands in a directory cannot be read with our rights; None: it can.

    The account that owns a directory has a right to what belongs to it alone. In a directory of
    root's or ours that others cannot write, only root or we can have put something.
    """
    if status.st_uid != directory.st_uid:
        shared = directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if shared or directory.st_uid not in (0, os.geteuid()):
            return ANOTHERS
    elif directory.st_mode & stat.S_IWOTH and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        return LINKED  # by link(2), where the system does not protect hard links (proc(5))
    return None


@contextmanager
def opened_below(directory: Path, name: str) -> Iterator[int]:
    """A descriptor of the regular file `name`, a relative path, below a directory. The directory
    may itself be a link. OSError names the directory and the file."""
    way, last = os.path.split(name)
    with _naming(directory / name):
        parent = _walk(directory, way)
        try:
            opened = open_regular(last, parent)
        finally:
            os.close(parent)
    try:
        yield opened
    finally:
        os.close(opened)


def names_below(directory: Path, name: str) -> list[str]:
    """The names in a directory below a directory, sorted. OSError as `opened_below`."""
    with _naming(directory / name):
        opened = _walk(directory, name)
        try:
            return sorted(os.listdir(opened))
        finally:
            os.close(opened)


def _walk(directory: Path, name: str) -> int:
    """A descriptor of a directory below another one."""
    opened = open_directory(directory, follow=True)
    for part in filter(None, name.split("/")):
        try:
            inner = open_directory(part, opened)
        finally:
            os.close(opened)
        opened = inner
    return opened


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def read_below(directory: Path, name: str, most: int = _MOST) -> bytes:
    """The bytes of a file below a directory. OSError as `opened_below`, and where it is larger than
    `most`."""
    with opened_below(directory, name) as opened:
        if os.fstat(opened).st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(directory / name))
        content = b""
        while chunk := os.read(opened, most + 1 - len(content)):
            content += chunk
        return content


def text_below(directory: Path, name: str, most: int = _MOST) -> str:
    """As `read_below`, decoded; bytes that are no UTF-8 are replaced."""
    return read_below(directory, name, most).decode(errors="replace")


def path_of(descriptor: int) -> str:
    """A path to what a descriptor has open, for a reader that wants one."""
    return f"/proc/self/fd/{descriptor}"


def is_empty(directory: Path) -> bool:
    """Whether a directory holds nothing, or is not there. OSError: something else is."""
    try:
        opened = open_directory(directory)
    except FileNotFoundError:
        return True
    try:
        return not os.listdir(opened)
    finally:
        os.close(opened)


def overwrite(account: Account, file: Path, content: bytes, at: int | None = None) -> None:
    """Write into a file in a directory of the account, from byte `at` on, or as all of its content;
    a file that is not there is made, mode 0600. OSError: it could not be, a link stands there."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

    def write() -> None:
        with open(os.open(file, flags, 0o600), "wb") as stream:
            _require_regular(str(file), os.fstat(stream.fileno()))
            stream.seek(at or 0)
            stream.write(content)
            if at is None:
                stream.truncate()

    account.call(write)


def replace_text(account: Account, file: Path, text: str) -> None:
    """Write a file in a directory of the account, mode 0600; what had its name is replaced, a link
    too. OSError: it could not be."""
    draft = file.with_name(f".{file.name}.{os.urandom(8).hex()}")

    def write() -> None:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(opened, "wb") as stream:
            os.fchmod(opened, 0o600)  # whatever the umask
            stream.write(text.encode())
        os.replace(draft, file)

    account.call(write)
