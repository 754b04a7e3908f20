"""Chooses the operating system account of servers, and acts as it in child processes.

PostgreSQL refuses to run as root, and initdb looks its account up in passwd: root therefore hands
servers to an unprivileged account that exists. Root in a container has neither CAP_SYS_NICE nor
CAP_SYS_PTRACE, so what concerns the server's processes is done by a child with the server's own
user id: sched_setaffinity(2) and /proc/PID/io then need no capability.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import pwd
import signal
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import EngineError, ServerError, UsageError

PREFERRED = ("postgres", "nobody")
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_REFUSALS = {kind.__name__: kind for kind in (EngineError, ServerError, UsageError)}


@dataclass(frozen=True)
class Account:
    """An entry of passwd under which servers run and to which their directories belong."""

    name: str
    uid: int
    gid: int

    @property
    def switched(self) -> bool:
        """Whether it is another account than the one this process runs under."""
        return self.uid != os.geteuid()

    def own(self, path: Path) -> None:
        """Give a file or directory to the account; nothing to do when it is our own."""
        if self.switched:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def make_directory(self, path: Path, mode: int = 0o700) -> None:
        """Make a directory that belongs to the account, and parents that it may pass through.

        Below a directory of the account it is made by the account, which could put a link there at
        any moment. OSError: something else stands there, or a directory of another account.
        """

        def make() -> None:
            self.make_way(path)
            self._make(path, mode)

        if self.switched and any(self._has(parent) for parent in path.parents):
            self.call(make)
        else:
            make()

    @staticmethod
    def make_way(path: Path) -> None:
        """Make the missing parents of a path, which every account may pass through."""
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                parent.chmod(0o711)  # whatever the umask

    def _has(self, path: Path) -> bool:
        return os.path.lexists(path) and path.lstat().st_uid == self.uid

    def _make(self, path: Path, mode: int) -> None:
        with suppress(FileExistsError):  # what it is shows when it is opened
            path.mkdir(mode=0o700)
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(opened).st_uid not in (os.geteuid(), self.uid):
                raise PermissionError(errno.EPERM, "it belongs to another account", str(path))
            os.fchmod(opened, mode)
            if self.switched:
                os.fchown(opened, self.uid, self.gid)
        finally:
            os.close(opened)

    def own_tree(self, directory: Path) -> None:
        """Give a directory of ours with all that is below it to the account: what is inside first,
        so that the account enters when nothing is left to be done there."""
        if not self.switched:
            return
        for _, _, names, opened in os.fwalk(directory, topdown=False, follow_symlinks=False):
            for name in names:
                os.chown(name, self.uid, self.gid, dir_fd=opened, follow_symlinks=False)
            os.fchown(opened, self.uid, self.gid)

    def remove(self, files: Iterable[Path]) -> None:
        """Remove files in a directory of the account, by the account; those that are not there are
        no error."""

        def remove() -> None:
            for file in files:
                file.unlink(missing_ok=True)

        self.call(remove)

    def become(self) -> None:
        """Turn this process into the account for good: for a forked child only."""
        os.setgroups([])
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    def call(self, action: Callable[[], Any]) -> Any:
        """The answer of `action`, done by a child with the account's user id; it ends with us.

        The answer must be what JSON can carry. An OSError, a ValueError and an EngineError or
        UsageError of the child are raised here. `action` may import nothing: the child is a fork
        without exec, because the account may not be able to read our interpreter.
        """
        if not self.switched:
            return action()
        reader, writer = os.pipe()
        pid = 0
        try:
            with open(reader, "rb") as pipe:
                try:
                    # Python would swallow what is raised while its own callbacks of a fork run.
                    with warnings.catch_warnings(), defer_signals():
                        # Python 3.12 warns of a fork beside threads (numpy starts some); the child
                        # takes no lock that a thread could hold.
                        warnings.simplefilter("ignore", DeprecationWarning)
                        pid = os.fork()
                        if pid == 0:
                            self._answer(action, writer)
                finally:
                    os.close(writer)
                reply = pipe.read()
        except BaseException:  # an interrupt: it must not go on behind our back
            if pid:
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            if pid:
                os.waitpid(pid, 0)
        return _unpack(reply, self.name)

    def _answer(self, action: Callable[[], Any], writer: int) -> None:
        try:
            try:
                self.become()
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # setuid(2) clears it
                reply = {"value": action()}
            except OSError as error:
                reply = {"errno": error.errno, "text": error.strerror, "file": error.filename}
            except ValueError as error:
                reply = {"wrong": str(error)}
            except (EngineError, UsageError) as error:
                message = {"primary": error.primary, "detail": error.detail, "hint": error.hint}
                reply = {"refused": type(error).__name__, **message}
            except (LookupError, ImportError, AttributeError, TypeError, RuntimeError) as error:
                reply = {"failed": f"{type(error).__name__}: {error}"}
            with open(writer, "wb") as pipe:
                pipe.write(json.dumps(reply).encode())
        finally:
            os._exit(0)


def _unpack(reply: bytes, name: str) -> Any:
    if not reply:
        raise EngineError(f'could not act as account "{name}": the child ended without an answer')
    answer = json.loads(reply)
    if "value" in answer:
        return answer["value"]
    if "failed" in answer:
        raise EngineError(f'could not act as account "{name}": {answer["failed"]}')
    if "wrong" in answer:
        raise ValueError(answer["wrong"])
    if "refused" in answer:
        kind = _REFUSALS[answer["refused"]]
        raise kind(answer["primary"], detail=answer["detail"], hint=answer["hint"])
    raise OSError(answer["errno"], answer["text"], answer["file"])


def choose_account(name: str | None = None) -> Account:
    """The account for servers: `name` if given, else ourselves, else (as root) PREFERRED.

    EngineError when there is none that PostgreSQL would accept.
    """
    if os.geteuid() != 0:
        return _own_account(name)
    if name is None:
        preferred = next(
            (a for a in map(_account_named, PREFERRED) if a is not None and a.uid != 0), None
        )
        if preferred is None:
            raise EngineError(
                "could not choose an account for servers: passwd has neither "
                + " nor ".join(f'"{p}"' for p in PREFERRED),
                hint="Name an unprivileged account by --as USER.",
            )
        return preferred
    account = _account_named(name)
    if account is None:
        raise EngineError(
            f'could not run servers as account "{name}": it is not in passwd',
            hint="Name an account that exists by --as USER.",
        )
    if account.uid == 0:
        raise EngineError(
            f'cannot run servers as account "{name}": PostgreSQL refuses to run as root',
            hint="Name an unprivileged account by --as USER.",
        )
    return account


def _own_account(name: str | None) -> Account:
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise EngineError(
            f"cannot run servers as user id {os.geteuid()}: it is not in passwd",
            detail="initdb looks its account up by user id and stops when there is no entry.",
            hint="Add an entry to /etc/passwd, or run under an account that has one.",
        ) from None
    if name not in (None, entry.pw_name):
        raise EngineError(
            f'cannot run servers as account "{name}": only root can change to another account',
            hint=f'Leave --as out to run them as "{entry.pw_name}", or start Steelyard as root.',
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _account_named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
