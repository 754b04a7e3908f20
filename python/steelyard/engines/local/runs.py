"""Reads which weighings are under way in the cache, and which have lost their owner.

`registry.py` says what a run is; nothing is removed here.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache, entries
from steelyard.engines.file_lock import is_locked, locked
from steelyard.model.files.bounded_json import read_json

OWNER_FILE = "owner.json"
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9]+-[0-9a-f]{4}")


@dataclass(frozen=True)
class Leftover:
    """A run whose owner is dead."""

    directory: Path
    owner_pid: int
    started: str  # UTC, "2026-11-21T20:15:00Z"
    account: Account
    sockets: Path | None
    places: tuple[Path, ...] = ()
    """Its directories in places of the user's."""


def leftovers(cache: Cache) -> list[Leftover]:
    """Runs whose owner is dead, oldest first."""
    with registration(cache):
        return dead_runs(cache)


def live_runs(cache: Cache) -> list[Path]:
    """Runs whose owner lives."""
    dead = {leftover.directory for leftover in leftovers(cache)}
    return [directory for directory in _runs(cache) if directory not in dead]


def registration(cache: Cache) -> AbstractContextManager[None]:
    """Only one process registers or cleans at a time: a run half registered looks dead."""
    return locked(cache.runs / ".lock")


def dead_runs(cache: Cache) -> list[Leftover]:
    """As `leftovers`, for a caller that is inside of `registration`."""
    return [_read(directory) for directory in _runs(cache) if not is_locked(directory / OWNER_FILE)]


def run_name() -> str:
    """What the directory of a run is called that begins now."""
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{now}-{os.getpid()}-{secrets.token_hex(2)}"


def _runs(cache: Cache) -> list[Path]:
    """By their names: what else stands there was made by another, and is left alone."""
    return [directory for directory in entries(cache.runs) if _NAME.fullmatch(directory.name)]


def _read(directory: Path) -> Leftover:
    """What the owner wrote; killed while writing, it wrote nothing that can be trusted."""
    try:
        document = read_json(directory / OWNER_FILE)
        entry = pwd.getpwnam(document["account"])
        pid, started, sockets = (
            int(document["pid"]),
            str(document["started"]),
            Path(document["sockets"]),
        )
        places = tuple(map(Path, document.get("places", ())))
    except (OSError, ValueError, KeyError, TypeError):
        return Leftover(directory, 0, "", _owner_of(directory), None)
    account = Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    return Leftover(directory, pid, started, account, sockets, places)


def _owner_of(directory: Path) -> Account:
    """The account of the first data directory inside, else our own."""
    # Those of standbys are ours, with the account's inside.
    places = [*directory.glob("slot*/data*"), *directory.glob("slot*/*")]
    for inside in (path for path in places if path.is_dir()):
        status = inside.stat()
        return Account(str(status.st_uid), status.st_uid, status.st_gid)
    return Account("", os.geteuid(), os.getegid())
