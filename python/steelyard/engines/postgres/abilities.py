"""Reports what a build of PostgreSQL was made without, and where to find a build that has it."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.engines.account import Account
from steelyard.engines.engine import MissingFeature
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.settings import accepts
from steelyard.model.identity import Identity

LIBRARIES = ("lib", "lib/postgresql", "lib/pgsql", "lib64", "lib64/pgsql")
"""Below an installation, where its loadable modules may stand."""
FIRST_WITH_METHODS = 180000
"""io_method is a setting from this version number on."""
_PACKAGED = "Debian's and PGDG's packages have it"
_MADE_BY = {
    "jit": ("LLVM (--with-llvm)", f"{_PACKAGED} (of 18: postgresql-18-jit)"),
    "lz4": ("lz4 (--with-lz4)", f"{_PACKAGED}, and so has `steelyard engines add 19`"),
    "zstd": ("zstd (--with-zstd)", f"{_PACKAGED}, and so has `steelyard engines add 19`"),
    "io_uring": ("liburing (--with-liburing)", "packages of 18 have it, on Linux 5.1 and later"),
    "tls": ("OpenSSL (--with-openssl)", f"{_PACKAGED}, and so has `steelyard engines add 18.4`"),
}
"""Need → what a build must be made with, and which are."""
_OPTIONS = {
    "jit": "--with-llvm",
    "lz4": "--with-lz4",
    "zstd": "--with-zstd",
    "io_uring": "--with-liburing",
    "tls": "--with-openssl",
}
"""Need → the option of configure."""
_PACKAGED_APART = {"jit": "llvmjit.so, which a package of its own brings"}
"""Need → the file that decides, whatever the build was configured with."""


def missing(build: Build, identity: Identity, account: Account, need: str) -> MissingFeature | None:
    """What the build lacks of a study's needs; None: it has it. KeyError: no such need."""
    if need == "io_workers":
        return _without_io_workers(build, identity, account)
    made_with, who = _MADE_BY[need]
    if _HAS[need](build, account):
        return None
    name = f"PostgreSQL {identity.version} ({identity.origin})"
    others = _others(account, need)
    also = f" Found here with it: {', '.join(others)}." if others else ""
    packaged_apart = need in _PACKAGED_APART and _OPTIONS[need] in identity.configure
    without = (
        f"has no {_PACKAGED_APART[need]}" if packaged_apart else f"was built without {made_with}"
    )
    return MissingFeature(
        f"{name} {without}",
        f"{who}: name it as the version of every arm, or by bindir.{also}",
    )


def _without_io_workers(
    build: Build, identity: Identity, account: Account
) -> MissingFeature | None:
    """18 has a fixed number of workers; later versions have as many as are needed, up to one."""
    if accepts(build, account, {"io_workers": "3"}):
        return None
    return MissingFeature(
        f"PostgreSQL {identity.version} ({identity.origin}) has no setting io_workers",
        "18 has it; from 19 on: --sweep settings.io_max_workers=3,8,16,32",
    )


def io_uring_builds(account: Account) -> dict[str, bool]:
    """Build found here that has I/O methods, by name → whether io_uring is one of them."""
    from steelyard.engines.postgres.builds.find import discovered

    return {
        each.name: _OPTIONS["io_uring"] in each.identity.configure
        or _has_io_uring(each.build, account)
        for each in discovered()
        if each.identity.version_number >= FIRST_WITH_METHODS
    }


def _others(account: Account, need: str) -> list[str]:
    """Words that choose a build on this machine that has it."""
    from steelyard.engines.postgres.builds.find import discovered

    return [
        f"--set version={engine.name}"
        for engine in discovered()
        if _HAS[need](engine.build, account)
        # An added build may lie where the account cannot read: its recorded options decide.
        or (_OPTIONS[need] in engine.identity.configure and need not in _PACKAGED_APART)
    ][:2]


def _has_jit(build: Build, account: Account) -> bool:
    """Whether the module that jit_provider names by default is there."""
    tree = build.bindir.parent
    return any((tree / library / "llvmjit.so").is_file() for library in LIBRARIES)


def _has_lz4(build: Build, account: Account) -> bool:
    return accepts(build, account, {"default_toast_compression": "lz4"})


def _has_zstd(build: Build, account: Account) -> bool:
    return accepts(build, account, {"wal_compression": "zstd"})


def _has_io_uring(build: Build, account: Account) -> bool:
    return accepts(build, account, {"io_method": "io_uring"})


def _has_tls(build: Build, account: Account) -> bool:
    return accepts(build, account, {"ssl": "on"})


_HAS: dict[str, Callable[[Build, Account], bool]] = {
    "jit": _has_jit,
    "lz4": _has_lz4,
    "zstd": _has_zstd,
    "io_uring": _has_io_uring,
    "tls": _has_tls,
}
