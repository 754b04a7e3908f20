"""Copies data directories: as clones, and a used clone back to what its template is.

The account that owns both does it (account.py): where a server has worked, any name may be a link
by now. A manifest (size, inode, mtime and ctime of every file) is taken when the clone is made. A
file cannot change without its ctime moving, so what still agrees with the manifest needs no copy: a
read-only epoch costs a handful of small files to undo.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.copying import copy_file
from steelyard.engines.local.owned_files import is_empty
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

    The account copies, which both belong to. EngineError for tablespaces and other links that lead
    out of the template, and for a template of another account.
    """
    if not is_empty(directory):
        raise EngineError(f'could not clone to "{directory}": the directory is not empty')
    _require_own(template, account)
    try:
        account.make_directory(directory)
        require_reachable(account, directory)
        _, *differences = account.call(lambda: _copy(template, directory))
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)  # half a clone is of no use
        raise _failure("clone", template, directory, error) from error
    return _sealed({}, *differences)


def restore(
    template: Path, directory: Path, account: Account, manifest: Manifest
) -> tuple[int, Manifest]:
    """Put a clone back, by the account; the bytes that were copied, and its new manifest.

    An empty manifest is right, too: every file is then copied.
    """
    _require_own(template, account)
    try:
        copied, *differences = account.call(lambda: _restore(template, directory, manifest))
    except OSError as error:
        raise _failure("restore", template, directory, error) from error
    return copied, _sealed(manifest, *differences)


def _require_own(template: Path, account: Account) -> None:
    owner = template.lstat().st_uid
    if account.switched and owner != account.uid:
        raise EngineError(
            f'cannot clone cluster "{template}" as account "{account.name}": it belongs to the '
            f"account with user id {owner}",
            hint="Weigh with --as and that account, or steelyard engines clear --templates.",
        )


_Changed = list[tuple[str, int, int, int, int]]
"""Of files: name, and what a Mark holds."""
_Copied = tuple[int, list[str], _Changed]
"""Bytes, names of the manifest before that are gone, and files whose marks are others: what a child
passes on, which is little where little changed."""


def _copy(template: Path, directory: Path) -> _Copied:
    copied = 0
    for name, status in _contents(template):
        if stat.S_ISDIR(status.st_mode):
            _make_directory(directory / name, status)
        else:
            copied += _put(template / name, directory / name, status)
    return copied, *_differences(directory, {})


def _restore(template: Path, directory: Path, manifest: Manifest) -> _Copied:
    originals = dict(_contents(template))
    for name, status in reversed(list(_everything(directory))):
        original = originals.get(name)
        if original is None or stat.S_IFMT(original.st_mode) != stat.S_IFMT(status.st_mode):
            _remove(directory / name, status)
    copied = 0
    for name, status in originals.items():
        target = directory / name
        if stat.S_ISDIR(status.st_mode):
            _make_directory(target, status)
        elif name not in manifest or _mark(target) != manifest[name]:
            copied += _put(template / name, target, status)
    return copied, *_differences(directory, manifest)


def _failure(action: str, template: Path, directory: Path, error: OSError) -> EngineError:
    return EngineError(
        f'could not {action} cluster "{template}" in "{directory}": {error.strerror}',
        detail=f"{format_bytes(free_bytes(directory))} are free there.",
        hint="STEELYARD_CACHE moves the cache, with its clones, to another disk.",
    )


def _contents(directory: Path) -> list[tuple[str, os.stat_result]]:
    """Directories and files below `directory` by relative path, parents before children; what is
    neither is left out. EngineError: a link."""
    listed = []
    for name, status in _everything(directory):
        if stat.S_ISLNK(status.st_mode):
            raise EngineError(
                f'cannot clone "{directory}": "{name}" is a symbolic link',
                detail="Tablespaces and a write-ahead log elsewhere would be shared.",
            )
        if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
            listed.append((name, status))
    return listed


def _everything(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Whatever has a name below `directory`, by relative path, parents before children."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(directory / below) as entries:
            for entry in entries:
                name = os.path.join(below, entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(name)
                yield name, status


def _make_directory(path: Path, status: os.stat_result) -> None:
    path.mkdir(exist_ok=True)
    path.chmod(stat.S_IMODE(status.st_mode))


def _put(source: Path, target: Path, status: os.stat_result) -> int:
    size = copy_file(str(source), str(target))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return size


def _remove(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
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


def _differences(directory: Path, before: Manifest) -> tuple[list[str], _Changed]:
    now = {
        name: _mark_of(status)
        for name, status in _contents(directory)
        if stat.S_ISREG(status.st_mode)
    }
    changed = [
        (name, mark.size, mark.inode, mark.mtime_ns, mark.ctime_ns)
        for name, mark in now.items()
        if before.get(name) != mark
    ]
    return [name for name in before if name not in now], changed


def _sealed(before: Manifest, gone: list[str], changed: _Changed) -> Manifest:
    """The manifest of a finished copy; any later change will show."""
    manifest = {name: mark for name, mark in before.items() if name not in set(gone)}
    manifest |= {name: Mark(*numbers) for name, *numbers in changed}
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
