"""Finds builds of MySQL and MariaDB on this machine: all, and those that a study names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.same_builder import (
    AvailableBuild,
    BuildRequest,
    SelectedBuild,
    Selection,
)
from steelyard.engines.cache import known_cache, open_cache
from steelyard.engines.mysql.builds.added import added_engines
from steelyard.engines.mysql.builds.build import (
    MARIADB,
    MYSQL,
    Build,
    accessible_build,
    build_in,
    build_of,
    identify,
)
from steelyard.engines.mysql.builds.fetching import Provenance, provenance
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

SYSTEM_PLACES = ("usr/sbin", "usr/libexec", "usr/bin", "usr/local/mysql/bin", "usr/local/bin")
"""Where packages and `make install` put the server, below the root."""


@dataclass(frozen=True)
class DiscoveredBuild:
    """A build that runs here, and the name by which a study can request it."""

    name: str  # "mysql-5.7.29", "system-mariadb-10.11.19", or what a directory was named
    build: Build
    identity: Identity
    provenance: Provenance

    def answers(self, request: str) -> bool:
        """Whether it is what is wanted: a series ("5.7"), a version, either with its product
        before it ("mariadb-10.11"), or its name."""
        version = self.identity.version
        series = request.removeprefix(f"{self.identity.kind}-")
        return request == self.name or f"{version}.".startswith(f"{series}.")


def discovered() -> list[DiscoveredBuild]:
    """Every build that runs: MySQL's, then MariaDB's, each newest first; of one version what the
    system has installed is first."""
    builds = []
    for build in _installed():
        try:
            # Under the account of servers: root executes no program that it did not bring.
            identity = identify(build, choose_account())
        except EngineError:
            # A build that cannot run here (another architecture, a missing library) is no engine.
            continue
        name = f"{build.origin}-{identity.kind}-{identity.version}"
        identified = replace(build, product=identity.kind)
        builds.append(DiscoveredBuild(name, identified, identity, provenance(identity)))
    # The identity of an added build was recorded when it was added: root does not execute it here.
    builds += [
        DiscoveredBuild(each.name, each.build, each.identity, each.provenance)
        for each in added_engines(known_cache())
    ]
    order = (MYSQL, MARIADB)
    return sorted(builds, key=lambda f: (order.index(f.identity.kind), -f.identity.version_number))


def _installed() -> list[Build]:
    """The servers of packages and of `make install`, each once."""
    builds: dict[str, Build] = {}
    for directory in (Path("/") / name for name in SYSTEM_PLACES):
        for server in (directory / "mariadbd", directory / "mysqld"):
            if server.is_file():
                builds.setdefault(os.path.realpath(server), build_of(server, "system"))
    return list(builds.values())


def select_builds(
    requests: Sequence[BuildRequest], account: str | None = None
) -> list[SelectedBuild[Build]]:
    """The builds of several arms, in their order, all from the builder of the first where that is
    possible; the account can read and run them.

    A word is "5.7", "mysql-5.7", "mariadb-10.11", a whole version, or a name that `steelyard
    engines` lists; with a directory the build there is taken whatever its version. EngineError
    says what is found and what to do.
    """
    chosen = choose_account(account)
    selected = Selection(discovered, build_in, _missing_build).select(requests)
    return [_usable(build, chosen) for build in selected]


def discover_in(directory: Path, account: str | None = None) -> DiscoveredBuild:
    """The build of an installation in a directory, without a name."""
    (usable,) = select_builds([BuildRequest("", directory)], account)
    return DiscoveredBuild("", usable.build, usable.identity, provenance(usable.identity))


def _usable(build: Build, account: Account) -> SelectedBuild[Build]:
    usable = accessible_build(build, account, open_cache())
    identity = identify(usable, account)
    return SelectedBuild(replace(usable, product=identity.kind), identity, account)


def _missing_build(
    versions: Sequence[str], available: Sequence[AvailableBuild[Build]]
) -> EngineError:
    named = " or ".join(f'"{version}"' for version in versions)
    listed = ", ".join(
        f"{f.identity.product} ({f.identity.origin}, {f.identity.bindir})" for f in available
    )
    return EngineError(
        f"no MySQL and no MariaDB {named} is found on this machine",
        detail=f"Found: {listed}." if listed else "No MySQL and no MariaDB is found at all.",
        hint="`steelyard engines add mysql-5.7` fetches MySQL 5.7 where npm can, `steelyard "
        "engines add mariadb-10.11` MariaDB where apt-get can; or ask for one that `steelyard "
        "engines` lists, or give the directory of an installation (bindir).",
    )
