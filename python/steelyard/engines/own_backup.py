"""Marks base backups that this program takes, so that nothing else is ever removed as one.

A backup is a directory of the cache's templates with its data below; the file beside these says
which directory it was written into. A study holds its token where the same process took the backup:
a place that a user names has none, wherever it is and whatever it is called.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import known_cache
from steelyard.engines.local.owned_files import read_below, replace_text
from steelyard.model.files.bounded_json import JsonError, parse_json

DATA, MARKER = "data", "backup.json"
_MOST_BYTES = 4096
_TOKENS: dict[Path, str] = {}
"""Of the backups that this process has taken, by their data."""


def mark_backup(directory: Path, account: Account) -> None:
    """Mark a directory, which was just made for the account, as that of a backup. OSError."""
    token = secrets.token_hex(16)
    document = {"token": token, **_identity(directory)}
    replace_text(account, directory / MARKER, json.dumps(document) + "\n")
    _TOKENS[directory / DATA] = token


def backup_token(data: Path) -> str | None:
    """The token of a backup that this process has taken; None: it has not."""
    return _TOKENS.get(data)


def is_marked(data: Path) -> bool:
    """Whether these are the data of a backup that this program took, in whatever process."""
    return _marked_token(data) is not None


def remove_backup(data: Path, token: str | None) -> bool:
    """Remove the backup of this token, whose data these are; whether it was there. Whatever else
    stands at the place stays as it is."""
    home = data.parent
    if token is None or token != _marked_token(data) or home.parent != known_cache().templates:
        return False
    shutil.rmtree(home, ignore_errors=True)
    return True


def _marked_token(data: Path) -> str | None:
    """What the marker beside these data says; None: it is none, or was written elsewhere."""
    home = data.parent
    if data.name != DATA or ".." in data.parts or home.is_symlink():
        return None
    try:
        document = parse_json(read_below(home, MARKER, _MOST_BYTES))
        identity = _identity(home)
    except (OSError, JsonError):
        return None
    if not isinstance(document, dict) or not identity.items() <= document.items():
        return None
    token = document.get("token")
    return token if isinstance(token, str) else None


def _identity(directory: Path) -> dict[str, str | int]:
    """A copy, or a directory that was renamed, has another."""
    return {"directory": directory.name, "inode": os.stat(directory).st_ino}
