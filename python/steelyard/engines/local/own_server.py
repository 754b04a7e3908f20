"""A data directory of this machine and its server: starts, stops, clones, restores and moves it.

Holds what a query of a damaged table came to.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from steelyard.engines.account import Account
from steelyard.engines.capabilities.memory import MemoryCap, MemoryUse
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local import cloning
from steelyard.engines.local.server_process import ServerProcess
from steelyard.engines.memory.group import MemoryGroup, naming_oom_kills
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity

B = TypeVar("B")
S = TypeVar("S", bound=ServerProcess)


class OwnServer(ABC, Generic[B, S]):
    """A data directory and, between start and stop, its server, of a build B and a process S.

    Implements Restartable, Clonable and Capped; what it starts and how it ends is its engine's.
    """

    noun: ClassVar[str]
    """What messages call it: "cluster"."""

    def __init__(
        self,
        build: B,
        identity: Identity,
        account: Account,
        directory: Path,
        manifest: cloning.Manifest | None = None,
    ) -> None:
        self._build = build
        self._identity = identity
        self._account = account
        self._directory = directory
        self._log_directory: Path | None = None
        self._manifest: cloning.Manifest = manifest or {}
        self._server: S | None = None
        self._last_words = ""  # of the life before
        self._slot: Slot | None = None
        self._group: MemoryGroup | None = None

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def account(self) -> Account:
        """The account that the data directory belongs to and the server runs under."""
        return self._account

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.running

    @property
    def pid(self) -> int:
        """The process id of the server's first process; EngineError when it is not running."""
        return self._required().pid

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot and wait until it accepts connections; ServerError quotes the log."""
        self.launch(slot, settings)
        self.await_ready()

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot; EngineError where it runs or cannot be launched."""
        self._require_stopped("start")
        arguments = self._prepare(slot, settings)
        cloning.require_reachable(self._account, self._directory)
        self._slot = slot
        self._group = None if slot.memory is None else MemoryGroup.make(slot.memory, slot.path)
        try:
            self._server = self._begin(slot, arguments, slot.path / _LOG, self._group)
        except BaseException:
            self._leave_group()
            raise

    @abstractmethod
    def _prepare(self, slot: Slot, settings: Settings) -> list[str]:
        """Make what a start needs in the slot; the arguments of the server's program."""

    @abstractmethod
    def _begin(self, slot: Slot, arguments: list[str], log: Path, group: MemoryGroup | None) -> S:
        """Start the server's program in a group, its output appended to a log."""

    def await_ready(self) -> None:
        """Wait until it accepts connections; ServerError quotes the log, nothing of it is left."""
        server = self._server
        if server is None:
            raise EngineError(f'{self.noun} "{self._directory}" was not launched')
        try:
            with naming_oom_kills(self._group, f"could not start {server.name}"):
                server.await_ready(self._group)
        except BaseException:
            self._server = None
            self._leave_group()
            raise

    def begin_stop(self) -> None:
        """Begin a clean shutdown, which `stop` waits for; nothing where it does not run."""
        self.thaw()
        if self._server is not None and self._server.running:
            self._server.begin_stop()

    @abstractmethod
    def thaw(self) -> None:
        """Resume the processes that were stopped, so that they can end."""

    def stop(self) -> None:
        """Stop cleanly, every dirty page written; nothing of it is left running. Of a server that
        died by itself only the remains are removed; `last_words` quotes it."""
        with self._ending() as server:
            if server is None:
                return
            with naming_oom_kills(self._group, f"could not stop {server.name}"):
                if server.running:
                    server.stop()
                else:
                    server.kill()

    @contextmanager
    def _ending(self) -> Iterator[S | None]:
        """The server of this life, thawed, which ends within; None: there is none."""
        self.thaw()
        server, self._server = self._server, None
        try:
            yield server
        finally:
            self._leave_group()
            if server is not None:
                self._last_words = server.quoted()

    def _leave_group(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.close()

    @property
    def memory_cap(self) -> MemoryCap | None:
        """The cap of the slot that it was started in last."""
        return None if self._slot is None else self._slot.memory

    def memory_use(self) -> MemoryUse | None:
        """The readings of its memory group; None where it has no cap, or is stopped."""
        return None if self._group is None else self._group.use()

    def last_words(self) -> str:
        """The errors of this life's (or the last one's) log, else its tail."""
        return self._server.quoted() if self._server is not None else self._last_words

    def clone(self, directory: Path) -> Self:
        """Copy this stopped server's data to `directory` (reflink where possible, else copy)."""
        self._require_stopped("clone")
        manifest = cloning.clone(self._directory, directory, self._account)
        return type(self)(self._build, self._identity, self._account, directory, manifest)

    def adopted(self, build: B, identity: Identity) -> Self:
        """This stopped server's data, to be started by another build of the same layout."""
        self._require_stopped("hand over")
        adopted = type(self)(build, identity, self._account, self._directory, self._manifest)
        adopted._log_directory = self._log_directory
        return adopted

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again; bytes that were copied."""
        self._require_stopped("restore")
        copied, self._manifest = cloning.restore(
            template, self._directory, self._account, self._manifest
        )
        return copied

    def move(self, directory: Path) -> None:
        """Rename this stopped server's data directory, within one file system."""
        self._require_stopped("move")
        directory.parent.mkdir(parents=True, exist_ok=True)
        self._directory.rename(directory)
        self._directory = directory

    def _required(self) -> S:
        if self._server is None:
            raise EngineError(f'{self.noun} "{self._directory}" is not running')
        if not self._server.running:
            raise ServerError(
                f"{self._server.name} died: status {self._server.process.returncode}",
                detail=self.last_words() or None,
            )
        return self._server

    def _placed(self) -> Slot:
        """The slot that it was started in last; EngineError before its first start."""
        if self._slot is None:
            raise EngineError(
                f'{self.noun} "{self._directory}" has no address: it was never started'
            )
        return self._slot

    def _require_stopped(self, action: str) -> None:
        running = self._server.pid if self.running and self._server else None
        pid = self._serving_pid() if running is None else running
        if pid is not None:
            raise EngineError(
                f'could not {action} {self.noun} "{self._directory}": it is running',
                detail=f"Its server is process {pid}.",
            )

    @abstractmethod
    def _serving_pid(self) -> int | None:
        """The process id of a server that works in the data directory, whatever started it."""


SOCKET_PATH_LIMIT = 107  # sun_path of struct sockaddr_un holds 108 bytes with the final zero
_LOG = "server.log"


def require_short(socket: Path) -> Path:
    """The path of a Unix socket; EngineError: it is longer than the kernel takes."""
    length = len(os.fsencode(socket))
    if length > SOCKET_PATH_LIMIT:
        raise EngineError(
            f'socket path "{socket}" is too long: {length} bytes',
            detail=f"A Unix socket's path has at most {SOCKET_PATH_LIMIT} bytes.",
            hint="Choose a shorter directory for the sockets, such as one under /tmp.",
        )
    return socket


def prepare_slot(slot: Slot, account: Account) -> None:
    """Make the slot's directories, which the account may pass through."""
    slot.path.mkdir(parents=True, exist_ok=True)
    if account.switched:
        slot.path.chmod(slot.path.stat().st_mode & 0o777 | 0o011)  # to its data directory
    account.make_directory(slot.socket_directory)


@dataclass(frozen=True)
class Reply:
    """The result of one query: rows as text, an error, or a timeout."""

    answer: str = ""
    error: str = ""
    hung: bool = False
    died: bool = False  # the connection, and maybe the server with it
