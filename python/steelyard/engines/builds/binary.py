"""Searches a program's file for a constant that was compiled into it."""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path


def search(binary: Path, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The first match in a file; it holds no part of the file open."""
    with binary.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return None
        # The match refers to the mapping: search in a copy of the interesting part only.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            match = pattern.search(mapped)
            return pattern.fullmatch(bytes(match[0])) if match else None
