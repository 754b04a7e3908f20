"""Copies data directories: as clones, and a used clone back to what its template is.

A manifest (size, inode, mtime and ctime of every file) is taken when the clone is made. A file
cannot change without its ctime moving, so what still agrees with the manifest needs no copy: a
read-only epoch costs a handful of small files to undo.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.copying import copy_file
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes

# Kernel timestamps come from a clock that ticks every 1 to 10 ms: a change within the tick of the
# manifest would not show. The copy therefore ends only when that tick is over.
_TIMESTAMP_TICK_NS = 20_000_000


@dataclass(frozen=True)
class Mark:
    """What shows whether a file was touched since."""

    size: int
    inode: int
    mtime_ns: int
    ctime_ns: int


Manifest = dict[str, Mark]
"""Marks of the files of a clone by path relative to its directory."""


def clone(template: Path, directory: Path, account: Account) -> Manifest:
    """Copy a stopped cluster to `directory`, which must be empty or not exist yet.

    EngineError for tablespaces and other links that lead out of the template.
    """
    if directory.exists() and any(directory.iterdir()):
        raise EngineError(f'could not clone to "{directory}": the directory is not empty')
    try:
        account.make_directory(directory)
        for name, status in _contents(template):
            source, target = template / name, directory / name
            if stat.S_ISDIR(status.st_mode):
                account.make_directory(target, stat.S_IMODE(status.st_mode))
            else:
                _put(source, target, status, account)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)  # half a clone is of no use
        raise _failure("clone", template, directory, error) from error
    return _sealed(directory)


def restore(
    template: Path, directory: Path, account: Account, manifest: Manifest
) -> tuple[int, Manifest]:
    """Put a clone back; the bytes that were copied, and its new manifest.

    An empty manifest is right, too: every file is then copied.
    """
    try:
        copied = _restore(template, directory, account, manifest)
    except OSError as error:
        raise _failure("restore", template, directory, error) from error
    return copied, _sealed(directory)


def _restore(template: Path, directory: Path, account: Account, manifest: Manifest) -> int:
    wanted = dict(_contents(template))
    for name, status in reversed(list(_contents(directory))):
        known = wanted.get(name)
        if known is None or stat.S_IFMT(known.st_mode) != stat.S_IFMT(status.st_mode):
            _remove(directory / name)
    copied = 0
    for name, status in wanted.items():
        target = directory / name
        if stat.S_ISDIR(status.st_mode):
            account.make_directory(target, stat.S_IMODE(status.st_mode))
        elif name not in manifest or _mark(target) != manifest[name]:
            copied += _put(template / name, target, status, account)
    return copied


def _failure(action: str, template: Path, directory: Path, error: OSError) -> EngineError:
    return EngineError(
        f'could not {action} cluster "{template}" in "{directory}": {error.strerror}',
        detail=f"{format_bytes(free_bytes(directory))} are free there.",
        hint="STEELYARD_CACHE moves the cache, with its clones, to another disk.",
    )


def _contents(directory: Path) -> list[tuple[str, os.stat_result]]:
    """Directories and files below `directory` by relative path, parents before children."""
    found: list[tuple[str, os.stat_result]] = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(directory / below) as entries:
            for entry in entries:
                name = os.path.join(below, entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    raise EngineError(
                        f'cannot clone "{directory}": "{name}" is a symbolic link',
                        detail="Tablespaces and a write-ahead log elsewhere would be shared.",
                    )
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(name)
                elif not stat.S_ISREG(status.st_mode):
                    continue
                found.append((name, status))
    return found


def _put(source: Path, target: Path, status: os.stat_result, account: Account) -> int:
    size = copy_file(str(source), str(target))
    account.own(target)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return size


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _mark(path: Path) -> Mark | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return _mark_of(status)


def _mark_of(status: os.stat_result) -> Mark:
    return Mark(status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _sealed(directory: Path) -> Manifest:
    """The manifest of a finished copy, taken so that any later change will show."""
    manifest = {
        name: _mark_of(status)
        for name, status in _contents(directory)
        if stat.S_ISREG(status.st_mode)
    }
    newest = max((mark.ctime_ns for mark in manifest.values()), default=0)
    # A clock set back would make this long: never wait for more than one tick.
    left = min(newest + _TIMESTAMP_TICK_NS - time.time_ns(), _TIMESTAMP_TICK_NS)
    if left > 0:
        time.sleep(left / 1e9)
    return manifest


def require_reachable(account: Account, directory: Path) -> None:
    """EngineError unless the account can enter a directory; a child with its user id tries."""
    try:
        account.call(lambda: len([entry.name for entry in directory.iterdir()]))
    except OSError as error:
        raise EngineError(
            f'account "{account.name}" could not enter directory "{directory}": {error.strerror}',
            hint="Choose a place that every account may enter; STEELYARD_CACHE moves the cache.",
        ) from error
