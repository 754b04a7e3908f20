"""Reads from a backup_manifest how long every file of a base backup is (13 and later)."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.engines.postgres.regular import read_regular

_FILE = re.compile(r'"Path":\s*"([^"\\]*)",\s*"Size":\s*(\d+)')
_START = re.compile(r'"Start-LSN":\s*"([0-9A-F]+)/([0-9A-F]+)"')


def manifest_sizes(file: Path, start: int) -> dict[str, int]:
    """Bytes by path, of the backup that begins at the LSN `start`.

    Empty where there is none: a manifest may have come along from an earlier backup.
    """
    try:
        text = read_regular(file)
    except OSError:
        return {}
    starts = [(int(high, 16) << 32) + int(low, 16) for high, low in _START.findall(text)]
    if min(starts, default=None) != start:
        return {}
    return {path: int(size) for path, size in _FILE.findall(text)}
