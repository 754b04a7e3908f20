"""Reads file sizes and the end of the needed log from a backup_manifest (13 and later)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from steelyard.engines.postgres.life.pidfile import read_regular, require_regular
from steelyard.integrity.scrub.wal import parse_lsn

_TAIL_BYTES = 1 << 16
_RANGE_END = re.compile(r'"End-LSN": *"([0-9A-F]+/[0-9A-F]+)"')


def manifest_files(file: Path, start: int | None = None) -> dict[str, int]:
    """Sizes in bytes by path, with tablespaces under pg_tblspc/.

    {}: there is no readable manifest, or its backup begins at another LSN than `start`, because it
    was copied along from an earlier backup. Names that are not UTF-8 are left out.
    """
    try:
        manifest = json.loads(read_regular(file))
        if start is not None:
            starts = [parse_lsn(each["Start-LSN"]) for each in manifest["WAL-Ranges"]]
            if min(starts, default=None) != start:
                return {}
        return {each["Path"]: int(each["Size"]) for each in manifest["Files"] if "Path" in each}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def manifest_end(file: Path) -> int | None:
    """The LSN up to which the base backup needs the log; None: no readable manifest gives it."""
    try:
        require_regular(file, file.stat().st_mode)
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            tail = opened.read().decode(errors="replace")
    except OSError:
        return None
    return max(map(parse_lsn, _RANGE_END.findall(tail)), default=None)
