"""Copies a build into the cache where the server's account cannot read it.

A virtual environment under a directory only root can enter (/root, a private checkout) is the
common case: root installs the bundle there, and the server's account may not look at it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.file_lock import locked
from steelyard.engines.postgres.builds.build import Build, parts_of_copy
from steelyard.model.errors import EngineError


def readable_build(build: Build, account: Account, cache: Cache) -> Build:
    """The build itself if the account can read all of it, else a copy that it can read."""
    return build if _can_read(build, account) else copied_build(build, account, cache)


def copied_build(
    build: Build,
    account: Account,
    cache: Cache,
    kind: str = "",
    complete: Callable[[Path], None] = lambda tree: None,
) -> Build:
    """A copy of the build in the cache, made once, that the account can read.

    `complete` is given the tree of the copy to add to it, and `kind` names what was added.
    """
    copied = _copy(build, cache, f"-{kind}" if kind else "", complete)
    if not _can_read(copied, account):
        raise EngineError(
            f'could not give account "{account.name}" the programs of "{build.bindir}"',
            detail=f'The account cannot read the copy in "{copied.bindir}" either.',
            hint="Set STEELYARD_CACHE to a directory that every account may enter.",
        )
    return copied


def _can_read(build: Build, account: Account) -> bool:
    """Whether the account can open every file; a child with its user id really tries."""
    roots = [build.bindir, *_library_directories(build)]

    def try_all() -> bool:
        for root in roots:
            for directory, _, files in os.walk(root, onerror=_raise):
                for name in files:
                    path = os.path.join(directory, name)
                    if not os.access(path, os.R_OK) and os.path.exists(path):
                        return False
        return all(os.access(build.program(p), os.X_OK) for p in ("postgres", "initdb"))

    try:
        return bool(account.call(try_all))
    except OSError:
        return False


def _raise(error: OSError) -> None:
    raise error


def _library_directories(build: Build) -> list[Path]:
    if build.origin == "system":
        # Debian spreads lib and share over /usr, which every account can read by policy.
        return []
    tree = build.bindir.parent
    beside = parts_of_copy(build)[1:] if build.origin == "bundle" else []
    return [p for p in (tree / "lib", tree / "lib64", tree / "share", *beside) if p.is_dir()]


def _copy(build: Build, cache: Cache, kind: str, complete: Callable[[Path], None]) -> Build:
    tree = build.bindir.parent
    if not any((tree / d).is_dir() for d in ("share", "lib")):
        raise EngineError(
            f'cannot copy the programs of "{build.bindir}": no "share" and "lib" beside them',
            hint="Make the directory readable for the server's account.",
        )
    status = (build.bindir / "postgres").stat()
    mark = hashlib.sha256(f"{tree}:{status.st_size}:{status.st_mtime_ns}".encode()).hexdigest()[:12]
    home = cache.binaries / f"{build.origin}-{mark}{kind}"
    with locked(cache.binaries / ".lock"):
        if not home.is_dir():
            half = cache.binaries / f".half-{mark}{kind}"
            shutil.rmtree(half, ignore_errors=True)
            try:
                _fill(half, build)
                complete(half / _relative(build))
                _open(half)
                half.rename(home)
            except (OSError, shutil.Error) as error:
                shutil.rmtree(half, ignore_errors=True)
                raise EngineError(
                    f'could not copy the programs of "{build.bindir}" to "{home}"',
                    detail=str(error),
                ) from error
    inside = home / _relative(build)
    # An absolute RPATH of a build under a private prefix leads where the account may not look.
    library_path = inside / "lib" if build.origin == "bindir" else None
    return replace(build, bindir=inside / "bin", library_path=library_path)


def _relative(build: Build) -> Path:
    """The place of the tree in the copy: a bundle keeps its three levels."""
    tree = build.bindir.parent
    return Path(tree.parent.name) / tree.name if build.origin == "bundle" else Path(tree.name)


def _fill(half: Path, build: Build) -> None:
    tree = build.bindir.parent
    shutil.copytree(tree, half / _relative(build), symlinks=True)
    for part in parts_of_copy(build)[1:] if build.origin == "bundle" else []:
        shutil.copytree(part, half / part.name, symlinks=True)


def _open(half: Path) -> None:
    """Let every account read the copy."""
    for directory, _, files in os.walk(half):
        os.chmod(directory, 0o755)
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, (os.stat(path).st_mode & 0o777) | 0o444)
