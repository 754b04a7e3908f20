"""Finds the SQL text of a name for a server version: NAME_pgNN.sql, NN the lowest it is for."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from steelyard.model.errors import EngineError


@cache
def query(name: str, version_number: int) -> str:
    """The statement `name` for a server of `version_number` (180004, as server_version_num).

    EngineError: there is no statement of that name for so old a server.
    """
    major = version_number // 10000
    prefix, suffix = f"{name}_pg", ".sql"
    versions = {
        int(entry.name[len(prefix) : -len(suffix)]): entry
        for entry in files(__name__).iterdir()
        if entry.name.startswith(prefix) and entry.name.endswith(suffix)
    }
    usable = [version for version in versions if version <= major]
    if not usable:
        oldest = min(versions, default=None)
        raise EngineError(
            f'cannot read "{name}" from a PostgreSQL {major} server: no statement for that version',
            hint=f"PostgreSQL {oldest} is the oldest it is known for." if oldest else None,
        )
    return versions[max(usable)].read_text(encoding="utf-8")
