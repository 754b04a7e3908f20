"""Registers weighings under way, and removes what a killed one left behind.

Every weighing has a directory `run/ID/` in the cache with its slots inside. The owner holds a lock
on `owner.json` as long as it lives: the kernel drops it even after kill -9, and no process id that
was given out again can be mistaken for the owner. Two weighings side by side never meet: each has
its own directory, socket directories and processes.

In a place of the user's that a study names for an arm's files a weighing has a private directory.
As root nothing is made where another account could put something else under its name: every
directory above must be of root, or of the caller, and closed to others, or sticky as /tmp is.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from steelyard.engines.account import Account
from steelyard.engines.adapters import remove_servers
from steelyard.engines.cache import Cache
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.engine import Slot
from steelyard.engines.file_lock import hold
from steelyard.engines.local.runs import OWNER_FILE, Leftover, dead_runs, registration, run_name
from steelyard.engines.memory.group import remove_groups
from steelyard.engines.programs import free_port
from steelyard.model.errors import EngineError, UntrustedPathError, UsageError
from steelyard.model.files.own_directory import distrust_of

# A Unix socket's path has at most 107 bytes: TMPDIR is often too long for one.
_SOCKET_ROOT = Path("/tmp")
_SOCKETS = re.compile(rf"{_SOCKET_ROOT}/sy[0-9a-f]{{8}}/s")
PORT = 54320
"""Of slot 0; it names a socket only: nothing listens on a network."""

_OWN_NAME = re.compile(r"steelyard-[0-9]{8}T[0-9]{6}Z-[0-9]+-[0-9a-f]+-[0-9]+")
_PROBE = "reach"


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
        self._free_ports: dict[int, int] = {}
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def slot(self, number: int, *, listens: bool = False) -> Slot:
        """The slot of this number; its directory exists, its port tells it from its neighbours.
        `listens`: on loopback too, so it is one that was free when the slot was first asked for."""
        path = self.directory / f"slot{number}"
        path.mkdir(exist_ok=True)
        path.chmod(0o711)  # the account passes through to its data directory
        port = self._free_port(number) if listens else PORT + number
        return Slot(number, path, self.sockets, port)

    def _free_port(self, number: int) -> int:
        """That of a slot whose server listens; no two have the same."""
        while number not in self._free_ports:
            port = free_port()
            if port not in self._free_ports.values():
                self._free_ports[number] = port
        return self._free_ports[number]

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
    """Register a weighing; what dead owners left is cleaned away first. EngineError: it has no
    place, with what to type."""
    try:
        clean_leftovers(cache)
        run = _registered(cache, account)
    except OSError as error:
        raise EngineError(
            f'could not make a place for servers in "{cache.runs}": {error.strerror}',
            detail=f'Refused at "{error.filename}".' if error.filename else None,
            hint="Set STEELYARD_CACHE to a directory that can be written, with room for the data.",
        ) from error
    try:
        account.make_directory(run.sockets)
    except OSError as error:
        run.close()
        raise EngineError(
            f'could not make a directory for sockets in "{_SOCKET_ROOT}" as account '
            f'"{account.name}": {error.strerror}',
            detail="A socket's path must be short, so it is made there whatever TMPDIR is.",
            hint=f"Let {_SOCKET_ROOT} be written: mount -t tmpfs tmpfs {_SOCKET_ROOT}, or of a "
            f"container: docker run --tmpfs {_SOCKET_ROOT}.",
        ) from error
    return run


def _registered(cache: Cache, account: Account) -> Run:
    directory = cache.runs / run_name()
    with registration(cache):
        directory.mkdir()
        directory.chmod(0o711)
        lock = hold(directory / OWNER_FILE)
        # In a directory of ours: the account could put a link in the place of its own in /tmp.
        sockets = _SOCKET_ROOT / f"sy{secrets.token_hex(4)}" / "s"
        run = Run(directory, sockets, account, lock)
        run._register()  # before the sockets' directory is made: nothing there is unknown
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
            f'could not remove "{error.filename}" of an ended weighing: {error.strerror}',
            hint=f"Remove it, as root if need be: rm -rf {shlex.quote(str(leftover.directory))}",
        ) from error


def private_name(run: str, number: int) -> str:
    """What the directory of a weighing is called in the place of this number."""
    return f"steelyard-{run}-{number}"


def require_usable(place: Path) -> Path:
    """The place as it is named without links. UsageError: there is none. UntrustedPathError: others
    could put something in its way."""
    try:
        directory = place.resolve(strict=True)
    except OSError as error:
        raise UsageError(
            f'could not use "{place}" for an arm\'s files: {error.strerror}',
            hint=f"Mount it, or make it: mkdir -p {shlex.quote(str(place))}",
        ) from error
    if not directory.is_dir():
        raise UsageError(f'cannot use "{place}" for an arm\'s files: it is not a directory')
    status = directory.stat()
    distrust = distrust_of(directory, status)
    # In a sticky one its owner alone may rename what is another's.
    sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (0, os.geteuid())
    if distrust is not None and not sticky:
        raise UntrustedPathError(
            f'will not use "{place}" for an arm\'s files: {distrust.reason}',
            hint=f"{distrust.remedy}. Or name a directory of your own below it.",
        )
    for above in directory.parents:
        status = above.stat()
        open_to_others = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (0, os.geteuid()) or (os.geteuid() == 0 and open_to_others):
            raise UntrustedPathError(
                f'will not use "{place}" for an arm\'s files: others could put another in its '
                "place",
                detail=f'"{above}" is of account number {status.st_uid}, mode '
                f"{stat.S_IMODE(status.st_mode):04o}.",
                hint="Name a place below directories that only root, or you, can write.",
            )
    return directory


def make_private(directory: Path, account: Account) -> None:
    """Make the directory of a weighing, which its servers' account passes through. EngineError: it
    cannot be made, or the account cannot enter the place."""
    try:
        directory.mkdir(mode=0o700)
        directory.chmod(0o711)
        probe = directory / _PROBE
        account.make_directory(probe)
        try:
            account.call(lambda: len(os.listdir(probe)))
        finally:
            probe.rmdir()
    except OSError as error:
        place = directory.parent
        raise EngineError(
            f'could not use "{place}" for an arm\'s files as account "{account.name}": '
            f"{error.strerror}",
            hint=f"Every account must be able to enter it: chmod a+x {shlex.quote(str(place))}, "
            "and each directory above it.",
        ) from error


def remove_private(directory: Path) -> None:
    """Remove the directory of an ended weighing; another one, or one that is gone, is left."""
    if _OWN_NAME.fullmatch(directory.name) and not directory.is_symlink():
        shutil.rmtree(directory, ignore_errors=True)
