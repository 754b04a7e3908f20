"""Registers weighings under way, and removes what a killed one left behind.

Every weighing has a directory `run/ID/` in the cache with its slots inside. The owner holds a lock
on `owner.json` as long as it lives: the kernel drops it even after kill -9, and no process id that
was given out again can be mistaken for the owner. Two weighings side by side never meet: each has
its own directory, socket directories and processes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from steelyard.engines.account import Account
from steelyard.engines.adapters import remove_servers
from steelyard.engines.cache import Cache
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.engine import Slot
from steelyard.engines.file_lock import hold
from steelyard.engines.local.place import (
    make_private,
    private_name,
    remove_private,
    require_usable,
)
from steelyard.engines.local.runs import OWNER_FILE, Leftover, dead_runs, registration, run_name
from steelyard.engines.memory.group import remove_groups
from steelyard.engines.programs import free_port
from steelyard.model.errors import EngineError

# A Unix socket's path has at most 107 bytes: TMPDIR is often too long for one.
_SOCKET_ROOT = Path("/tmp")
_SOCKETS = re.compile(rf"{_SOCKET_ROOT}/sy[0-9a-f]{{8}}/s")


PORT = 54320
"""Of slot 0; it names a socket only: nothing listens on a network."""


class Run:
    """The place of one weighing; use it in a `with` statement, or call `close`."""

    def __init__(self, directory: Path, sockets: Path, account: Account, lock: IO[bytes]) -> None:
        self.directory = directory
        """Where slots stand; the account passes through to what is its own."""
        self.sockets = sockets
        """A short directory for Unix sockets, private to the account."""
        self.account = account
        self.places: tuple[Path, ...] = ()
        """Private directories in places of the user's, where arms' files are."""
        self._lock = lock
        self._free_ports = defaultdict[int, int](free_port)
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def slot(self, number: int, *, listens: bool = False) -> Slot:
        """The slot of this number; its directory exists, its port tells it from its neighbours.
        `listens`: on loopback too, so it is one that was free when the slot was first asked for."""
        path = self.directory / f"slot{number}"
        path.mkdir(exist_ok=True)
        path.chmod(0o711)  # the account passes through to its data directory
        port = self._free_ports[number] if listens else PORT + number
        return Slot(number, path, self.sockets, port)

    def place(self, name: str) -> Path:
        """A private directory in a place of the user's, removed when the weighing ends. UsageError,
        EngineError: it cannot be used."""
        place = require_usable(Path(name))
        directory = place / private_name(self.directory.name, len(self.places))
        self.places = (*self.places, directory)
        self._register()  # before it is made: nothing there is unknown
        make_private(directory, self.account)
        return directory

    def logs(self) -> list[Path]:
        """The servers' logs; copy those that must outlive the run before `close`."""
        standbys = self.directory.glob("*/standby*/server.log")
        return sorted([*self.directory.glob("*/server.log"), *standbys])

    def close(self) -> None:
        """Kill what still runs here and remove every trace; safe to call twice."""
        if self._lock.closed:
            return
        with defer_signals():
            _remove(self._as_leftover())
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _as_leftover(self) -> Leftover:
        return Leftover(
            self.directory, os.getpid(), self._started, self.account, self.sockets, self.places
        )

    def _register(self) -> None:
        facts = {"pid": os.getpid(), "started": self._started}
        facts |= {"account": self.account.name, "sockets": str(self.sockets)}
        places = {"places": [*map(str, self.places)]} if self.places else {}
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(json.dumps({**facts, **places}).encode())


def open_run(cache: Cache, account: Account) -> Run:
    """Register a weighing; what dead owners left is cleaned away first."""
    clean_leftovers(cache)
    directory = cache.runs / run_name()
    with registration(cache):
        directory.mkdir()
        directory.chmod(0o711)
        lock = hold(directory / OWNER_FILE)
        # In a directory of ours: the account could put a link in the place of its own in /tmp.
        sockets = _SOCKET_ROOT / f"sy{secrets.token_hex(4)}" / "s"
        run = Run(directory, sockets, account, lock)
        run._register()  # before the sockets' directory is made: nothing there is unknown
    account.make_directory(run.sockets)
    return run


def clean_leftovers(cache: Cache) -> list[Leftover]:
    """Kill the servers that dead owners left, and remove their directories; what was cleaned."""
    with registration(cache):
        leftovers = dead_runs(cache)
        for leftover in leftovers:
            _remove(leftover)
    return leftovers


def _remove(leftover: Leftover) -> None:
    for directory in (leftover.directory, *leftover.places):
        if directory.is_dir():
            remove_servers(directory, leftover.account)
    for place in leftover.places:
        remove_private(place)
    remove_groups(leftover.directory)
    sockets = leftover.sockets
    # Only what `open_run` made: the file could have been written by another program.
    if sockets is not None and _SOCKETS.fullmatch(str(sockets)):
        shutil.rmtree(sockets.parent, ignore_errors=True)
    try:
        shutil.rmtree(leftover.directory)
    except FileNotFoundError:
        return
    except OSError as error:
        raise EngineError(
            f'could not remove "{error.filename}" of an ended weighing: {error.strerror}'
        ) from error
