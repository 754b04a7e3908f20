"""Compresses whole segments of a server's log as an archive does, to see what they would take."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError

MOST_SEGMENTS = 3
"""That are compressed: the newest, whose share stands for all."""
LEVEL = 6
"""gzip's own, which archive programs take where nothing else is said."""
_SEGMENT = re.compile(r"[0-9A-F]{24}")
_PIECE_BYTES = 1 << 20


def log_segment(conninfo: str) -> str:
    """The segment that the server writes now, by its name. EngineError: it does not tell."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            query = b"SELECT pg_walfile_name(pg_current_wal_lsn())"
            row = connection.execute(query).fetchone()
    except psycopg.Error as reason:
        raise EngineError("could not read where the log stands", detail=str(reason)) from reason
    assert row is not None  # a SELECT without FROM
    return str(row[0])


def archive_share(account: Account, directory: Path, first: str, last: str) -> float | None:
    """Bytes that gzip makes of a byte of the log that was written behind segment `first` and before
    `last`; None: no whole segment of it is there. EngineError: the log cannot be read."""

    def compress() -> list[int]:
        log = directory / "pg_wal"
        segments = sorted(
            name for name in os.listdir(log) if first < name < last and _SEGMENT.fullmatch(name)
        )
        sizes = [0, 0]
        for name in segments[-MOST_SEGMENTS:]:
            squeezed = zlib.compressobj(LEVEL)
            with open(log / name, "rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    sizes[0] += len(piece)
                    sizes[1] += len(squeezed.compress(piece))
            sizes[1] += len(squeezed.flush())
        return sizes

    try:
        whole, compressed = account.call(compress)
    except OSError as error:
        raise EngineError(f'could not read "{error.filename}": {error.strerror}') from error
    return compressed / whole if whole else None
