"""Reads which files a base backup has, as its backup_manifest says (13 and later)."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.engines.postgres.life.pidfile import read_regular
from steelyard.integrity.scrub.wal import parse_lsn


def manifest_files(file: Path, start: int | None = None) -> dict[str, int]:
    """Sizes in bytes by path, with tablespaces under pg_tblspc/.

    {}: there is no manifest, or none that can be read, or it is of a backup that begins at another
    LSN than `start`: one may have come along from an earlier backup. A name that is no UTF-8 is
    left out.
    """
    try:
        told = json.loads(read_regular(file))
        if start is not None:
            starts = [parse_lsn(each["Start-LSN"]) for each in told["WAL-Ranges"]]
            if min(starts, default=None) != start:
                return {}
        return {each["Path"]: int(each["Size"]) for each in told["Files"] if "Path" in each}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
