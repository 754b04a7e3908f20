"""Searches a program's file for a constant that was compiled into it, and copies a build into the
cache, once, where the server's account cannot read it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.file_lock import locked
from steelyard.model.errors import EngineError


def search(binary: Path, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The first match in a file; it holds no part of the file open."""
    with binary.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return None
        # The match refers to the mapping: search in a copy of the interesting part only.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            match = pattern.search(mapped)
            return pattern.fullmatch(bytes(match[0])) if match else None


def can_read(account: Account, roots: Sequence[Path], programs: Sequence[Path]) -> bool:
    """Whether the account can open every file below `roots` and execute `programs`; a child with
    its user id really tries."""

    def try_all() -> bool:
        for root in roots:
            for directory, _, files in os.walk(root, onerror=_raise):
                for name in files:
                    path = os.path.join(directory, name)
                    if not os.access(path, os.R_OK) and os.path.exists(path):
                        return False
        return all(os.access(program, os.R_OK | os.X_OK) for program in programs)

    try:
        return bool(account.call(try_all))
    except OSError:
        return False


def _raise(error: OSError) -> None:
    raise error


def mark(tree: Path, program: Path) -> str:
    """Distinguishes a build in a directory from one that was later made in its place."""
    status = program.stat()
    stamp = f"{tree}:{status.st_size}:{status.st_mtime_ns}"
    return hashlib.sha256(stamp.encode()).hexdigest()[:12]


def copy_to_cache(cache: Cache, name: str, original: Path, fill: Callable[[Path], None]) -> Path:
    """The directory `name` of the cache's copies, filled by `fill` if it is not there yet, and
    readable for every account. `original` is what is copied, for the error."""
    home = cache.binaries / name
    with locked(cache.binaries / ".lock"):
        if home.is_symlink():
            home.unlink()
        if not home.is_dir():
            half = cache.binaries / f".half-{name}"
            shutil.rmtree(half, ignore_errors=True)
            try:
                fill(half)
                _open(half)
                half.rename(home)
            except (OSError, shutil.Error) as error:
                shutil.rmtree(half, ignore_errors=True)
                raise EngineError(
                    f'could not copy the programs of "{original}" to "{home}"', detail=str(error)
                ) from error
    return home


def unreadable(account: Account, original: Path, copied: Path) -> EngineError:
    """The error where the account cannot read the copy either."""
    return EngineError(
        f'could not give account "{account.name}" the programs of "{original}"',
        detail=f'The account cannot read the copy in "{copied}" either.',
        hint="Set STEELYARD_CACHE to a directory that every account may enter.",
    )


def _open(half: Path) -> None:
    """Let every account read the copy."""
    for directory, _, files in os.walk(half):
        os.chmod(directory, 0o755)
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, (os.stat(path).st_mode & 0o777) | 0o444)
