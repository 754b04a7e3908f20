"""Checks that a file could be written, before the work whose outcome it is to hold."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.model.errors import UsageError


def require_writable(file: Path | None) -> None:
    """UsageError: it could not be; None asks for nothing."""
    if file is None:
        return
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(
            f'could not write "{file}"', hint="Name a file in a directory that can be written to."
        )
