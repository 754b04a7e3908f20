"""Copies a build of MySQL or MariaDB into the cache where the server's account cannot read it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.copies import can_read, copy_to_cache, mark, unreadable
from steelyard.engines.cache import Cache
from steelyard.engines.mysql.builds.build import Build
from steelyard.model.errors import EngineError

SPREAD = (Path("/usr"), Path("/usr/local"))
"""Where an installation is spread among others', readable for every account by policy."""
_LIBRARIES = ("lib", "lib/private", "lib/mysql/private", "lib64")
"""Where a build keeps libraries of its own, by a path that a copy's server may not find."""


def accessible_build(build: Build, account: Account, cache: Cache) -> Build:
    """The build itself if the account can read all of it, else a copy that it can read."""
    if _can_read(build, account):
        return build
    copied = _copy(build, cache)
    if not _can_read(copied, account):
        raise unreadable(account, build.server.parent, copied.server.parent)
    return copied


def _can_read(build: Build, account: Account) -> bool:
    places = [build.share, *(build.base / name for name in ("lib", "lib64")), *build.libraries]
    roots = (
        [] if build.base in SPREAD else [directory for directory in places if directory.is_dir()]
    )
    return can_read(account, roots, [build.server])


def _copy(build: Build, cache: Cache) -> Build:
    base = build.base
    if base in SPREAD or not build.share.is_relative_to(base):
        raise EngineError(
            f'cannot copy the programs of "{build.server.parent}": they have no tree of their own',
            hint="Make the server executable for the server's account.",
        )
    libraries = [library for library in build.libraries if not library.is_relative_to(base)]

    def fill(half: Path) -> None:
        tree = half / base.name
        (tree / build.server.relative_to(base)).parent.mkdir(parents=True)
        shutil.copy2(build.server, tree / build.server.relative_to(base))
        for name in ("lib", "lib64", "share"):
            if (base / name).is_dir():
                shutil.copytree(base / name, tree / name, symlinks=True)
        for number, library in enumerate(libraries):
            shutil.copytree(library, half / f"libraries{number}", symlinks=True)

    name = f"{build.origin}-{mark(base, build.server)}"
    home = copy_to_cache(cache, name, build.server.parent, fill)
    tree = home / base.name
    inside = (tree / name for name in _LIBRARIES)
    return replace(
        build,
        server=tree / build.server.relative_to(base),
        base=tree,
        share=tree / build.share.relative_to(base),
        libraries=(
            *(home / f"libraries{number}" for number in range(len(libraries))),
            *(directory for directory in inside if directory.is_dir()),
        ),
    )
