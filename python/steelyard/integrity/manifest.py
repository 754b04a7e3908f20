"""Reads which files a base backup has, as its backup_manifest says (13 and later)."""

from __future__ import annotations

import json
from pathlib import Path


def manifest_files(file: Path) -> dict[str, int]:
    """Sizes in bytes by path, with tablespaces under pg_tblspc/.

    {}: there is no manifest, or none that can be read; a name that is no UTF-8 is left out.
    """
    try:
        listed = json.loads(file.read_bytes())["Files"]
        return {each["Path"]: int(each["Size"]) for each in listed if "Path" in each}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def sizes_of_backup(file: Path, start: int) -> dict[str, int]:
    """As `manifest_files`, of the backup that begins at the LSN `start`.

    {} otherwise: a manifest may have come along from an earlier backup.
    """
    try:
        ranges = json.loads(file.read_bytes())["WAL-Ranges"]
        starts = [lsn_of_text(each["Start-LSN"]) for each in ranges]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return manifest_files(file) if min(starts, default=None) == start else {}


def lsn_of_text(text: str) -> int:
    """`"0/1A00ED80"` as a number. ValueError: it is none."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)
