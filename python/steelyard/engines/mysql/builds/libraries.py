"""Brings the libraries that a server needs and that this machine lacks, from Debian's packages."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds import apt
from steelyard.engines.builds.adding import Says, new_directory
from steelyard.engines.builds.sums import Brought
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError

# By what the library is called in the server's file. Since 2024 (64-bit times) some packages are
# called ...t64; on 64-bit machines, where nothing changed, the library is the same.
PACKAGES = {
    "libaio.so.1": ("libaio1", "libaio1t64"),
    "libatomic.so.1": ("libatomic1",),
    "libcrypt.so.1": ("libcrypt1",),
    "libcrypto.so.3": ("libssl3", "libssl3t64"),
    "libnuma.so.1": ("libnuma1",),
    "libpcre2-8.so.0": ("libpcre2-8-0",),
    "libssl.so.3": ("libssl3", "libssl3t64"),
    "libsystemd.so.0": ("libsystemd0",),
    "liburing.so.2": ("liburing2",),
}
_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def missing(build: Build, account: Account) -> list[str]:
    """The libraries that its server needs and the dynamic linker does not find, by name."""
    _, words = run(account, ["ldd", str(build.server)], environment=build.environment)
    return sorted(set(_MISSING.findall(words)))


def bring(names: list[str], half: Path, tree: Path, say: Says) -> list[Brought]:
    """Unpack the packages of these libraries below `tree`; `half` is where apt-get may write.

    EngineError: a library that no known package has, or a package that could not be fetched.
    """
    brought: list[Brought] = []
    for name in names:
        if name not in PACKAGES:
            raise EngineError(
                f'cannot run the server: library "{name}" is not on this machine',
                hint="Install it by the system's package tool, and try again.",
            )
        known = apt.offered(PACKAGES[name], half)
        if not known:
            raise EngineError(
                f'could not fetch library "{name}": apt knows no package '
                + " or ".join(f'"{each}"' for each in PACKAGES[name]),
                hint="`apt-get update` (as root) brings the lists of packages; or install it.",
            )
        package, version = known[0]
        if not (half / package).exists():  # several libraries can be in one
            say(f"fetch {package} {version} for {name}")
            file, sums = apt.download(package, version, new_directory(half / package))
            apt.unpack(file, tree)
            brought.append(sums)
    _link(names, tree)
    return brought


def directories(tree: Path) -> tuple[Path, ...]:
    """The directories below `tree` that hold libraries."""
    return tuple(sorted({file.parent for file in tree.rglob("*.so.*")}))


def _link(names: list[str], tree: Path) -> None:
    """Give a library its old name where its package has it under the new one only."""
    for name in names:
        for new in [] if any(tree.rglob(name)) else tree.rglob(f"{name}t64"):
            (new.parent / name).symlink_to(new.name)
