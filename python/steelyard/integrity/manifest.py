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
