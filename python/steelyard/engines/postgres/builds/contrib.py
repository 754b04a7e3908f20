"""Adds contrib's modules to a build that lacks them, from npm's build of its version.

The bundle has no contrib; npm's build of the same version has all of it. Since 18 a server looks
for extensions and modules along two settings. Older ones look only beside their own programs: for
them the modules are put into a private copy of the build, with the libraries that they need.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds.accessible_copy import copied_build
from steelyard.engines.postgres.builds.added import Added, added_engines
from steelyard.engines.postgres.builds.build import Build, debian_share
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

FIRST_WITH_PATH = 180000
"""extension_control_path came with 18, and with it modules named $libdir/NAME are looked for along
dynamic_library_path too (src/backend/commands/extension.c)."""

_TELLING = "extension/amcheck.control"
"""A module that every contrib has, and nothing else."""


def with_contrib(build: Build, identity: Identity, account: Account, cache: Cache) -> Build:
    """The build, or one made of it, whose servers can create contrib's extensions.

    EngineError when they are not its own and no npm build of the same version was added.
    """
    if has_contrib(build):
        return build
    source = contrib_source(identity, added_engines(cache))
    if source is None:
        raise EngineError(
            f'PostgreSQL {identity.version} in "{identity.bindir}" has no contrib',
            hint=f"`steelyard engines add {identity.version}` brings it, where npm can fetch it.",
        )
    tree = source.build.bindir.parent
    if identity.version_number >= FIRST_WITH_PATH:
        paths = (
            ("extension_control_path", f"{_share(tree)}:$system"),
            ("dynamic_library_path", f"{_modules(tree)}:$libdir"),
        )
        return replace(build, settings=paths, contrib=source.package)
    copy = copied_build(build, account, cache, "contrib", lambda copy: _put_into(tree, copy))
    return replace(copy, contrib=source.package)


def has_contrib(build: Build) -> bool:
    """Whether contrib is installed with a build."""
    tree = build.bindir.parent
    directories = [tree / "share" / name for name in ("postgresql", "pgsql", "")]
    if tree.parent.name == "postgresql":
        directories.append(debian_share(tree))
    return any((directory / _TELLING).is_file() for directory in directories)


def contrib_source(identity: Identity, added: Sequence[Added]) -> Added | None:
    """The added npm build of exactly this version: modules are compiled for one."""
    same = [a for a in added if a.package and a.identity.version == identity.version]
    return next((each for each in same if has_contrib(each.build)), None)


def _share(tree: Path) -> Path:
    return tree / "share" / "postgresql"


def _modules(tree: Path) -> Path:
    return tree / "lib" / "postgresql"


def _put_into(source: Path, copy: Path) -> None:
    """Add to a copy of a build what it lacks: extensions, modules, and the modules' libraries.

    Modules look for libraries in the directory above their own ($ORIGIN/..); the build's own
    programs and libraries stay as they are.
    """
    for directory in (Path("lib"), Path("lib/postgresql"), Path("share/postgresql/extension"),
                      Path("share/postgresql/tsearch_data")):  # fmt: skip
        for file in sorted((source / directory).iterdir()):
            target = copy / directory / file.name
            if os.path.lexists(target) or file.is_dir() or file.suffix == ".a":
                continue
            shutil.copy2(file, target, follow_symlinks=False)
