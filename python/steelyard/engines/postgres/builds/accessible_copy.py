"""Copies a build into the cache where the server's account cannot read it.

A virtual environment under a directory only root can enter (/root, a private checkout) is the
common case: root installs the bundle there, and the server's account may not read it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.copies import can_read, copy_to_cache, mark, unreadable
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds.build import Build, debian_share, parts_of_copy
from steelyard.model.errors import EngineError


def accessible_build(build: Build, account: Account, cache: Cache) -> Build:
    """The build itself if the account can read all of it, else a copy that it can read."""
    if _can_read(build, account):
        return build
    if build.origin == "debian":  # its programs run in their place only
        raise unreadable(account, build.bindir, build.bindir)
    return copied_build(build, account, cache)


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
        raise unreadable(account, build.bindir, copied.bindir)
    return copied


def _can_read(build: Build, account: Account) -> bool:
    """Whether the account can open every file of the build."""
    roots = [build.bindir, *_library_directories(build)]
    return can_read(account, roots, [Path(build.program(p)) for p in ("postgres", "initdb")])


def _library_directories(build: Build) -> list[Path]:
    if build.origin == "system":
        # Debian spreads lib and share over /usr, which every account can read by policy.
        return []
    tree = build.bindir.parent
    if build.origin == "debian":
        return [tree, debian_share(tree)]
    libraries = parts_of_copy(build)[1:] if build.origin == "bundle" else []
    return [p for p in (tree / "lib", tree / "lib64", tree / "share", *libraries) if p.is_dir()]


def _copy(build: Build, cache: Cache, kind: str, complete: Callable[[Path], None]) -> Build:
    tree = build.bindir.parent
    if not any((tree / d).is_dir() for d in ("share", "lib")):
        raise EngineError(
            f'cannot copy the programs of "{build.bindir}": no "share" and "lib" beside them',
            hint="Make the directory readable for the server's account.",
        )

    def fill(half: Path) -> None:
        _fill(half, build)
        complete(half / _relative(build))

    name = f"{build.origin}-{mark(tree, build.bindir / 'postgres')}{kind}"
    inside = copy_to_cache(cache, name, build.bindir, fill) / _relative(build)
    # An absolute RPATH of a build under a private prefix leads where the account may not read.
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
