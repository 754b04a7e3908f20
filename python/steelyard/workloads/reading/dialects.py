"""Chooses among the files of a workload by the engine that it is read for.

Beside NAME.sql may lie NAME.mysql.sql, and NAME.mariadb.sql, which goes before it on MariaDB,
and NAME.sqlserver.sql;
beside `workload.toml` a `workload.mysql.toml`, whose keys go over its own. PostgreSQL has the
generic ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

GENERIC = "postgres"
"""The engine of the files without a dialect."""
_DIALECTS: Mapping[str, tuple[str, ...]] = {
    "mysql": ("mysql",),
    "mariadb": ("mariadb", "mysql"),
    "sqlserver": ("sqlserver",),
}
"""Kind of engine → dialects, the nearest first."""


def dialect_names(name: str, kind: str) -> list[str]:
    """What a file may be called in an engine's own dialects, the nearest first; none: it has the
    generic files alone."""
    path = PurePosixPath(name)
    return [
        str(path.with_suffix(f".{dialect}{path.suffix}")) for dialect in _DIALECTS.get(kind, ())
    ]


def language(kind: str) -> str:
    """By whose rules an engine's SQL is cut into statements, as `_core` names it."""
    return _DIALECTS.get(kind, (GENERIC,))[-1]


def says_nothing(content: bytes) -> bool:
    """Whether a file of SQL has comments alone: on its engine there is nothing to do."""
    lines = (line.strip() for line in content.splitlines())
    return all(not line or line.startswith(b"--") for line in lines)


def laid_over(generic: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A description with the keys of a dialect's over its own; in tables, name by name."""
    merged = dict(generic)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(generic.get(key), Mapping)
        merged[key] = {**generic[key], **value} if both else value
    return merged
