"""Checks the relation maps (pg_filenode.map) in the tar archives of a base backup.

A map says which files hold the mapped catalogues. A server reads it before any catalogue and does
not start with a damaged one, so that without its map a restored backup cannot be read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import read_relation_map
from steelyard.integrity.scrub.finding import Damage


@dataclass(frozen=True)
class StoredMap:
    """A pg_filenode.map as an archive holds it."""

    label: str
    tablespace: int
    database: int  # 0: of what all databases share
    content: bytes


def damaged_maps(maps: Iterable[StoredMap], major: int) -> list[Damage]:
    """A finding for each map that a server of a major version would refuse."""
    damages = []
    with tempfile.NamedTemporaryFile(prefix="steelyard-map-") as file:
        for each in maps:
            file.seek(0)
            file.truncate()
            file.write(each.content)
            file.flush()
            try:
                read_relation_map(Path(file.name), major)
            except ValueError as error:
                damages.append(_finding(each, str(error)))
    return damages


def _finding(stored: StoredMap, reason: str) -> Damage:
    return Damage(
        path=stored.label,
        block=0,
        fork="main",
        reason="relation map",
        database=stored.database,
        tablespace=stored.tablespace,
        guess_detail=reason,
    )
