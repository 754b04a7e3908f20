"""Chooses the operating system account of servers, and acts as it in child processes.

PostgreSQL refuses to run as root, and initdb looks its account up in passwd: root therefore hands
servers to an unprivileged account that exists. Root in a container has neither CAP_SYS_NICE nor
CAP_SYS_PTRACE, so what concerns the server's processes is done by a child with the server's own
user id: sched_setaffinity(2) and /proc/PID/io then need no capability.
"""

from __future__ import annotations

import json
import os
import pwd
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import EngineError

PREFERRED = ("postgres", "nobody")


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
        """Make a directory that belongs to the account, and parents that it may pass through."""
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                parent.chmod(0o711)  # whatever the umask
        path.mkdir(exist_ok=True)
        path.chmod(mode)
        self.own(path)

    def become(self) -> None:
        """Turn this process into the account for good: for a forked child only."""
        os.setgroups([])
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    def call(self, action: Callable[[], Any]) -> Any:
        """The answer of `action`, done by a child with the account's user id.

        The answer must be what JSON can carry; an OSError of the child is raised here. `action`
        may only make system calls and read files: the child is a fork without exec, because the
        account may not be able to execute our interpreter.
        """
        if not self.switched:
            return action()
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of a fork beside threads (numpy starts some); the child takes no
            # lock that a thread could hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._answer(action, writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            reply = pipe.read()
        os.waitpid(pid, 0)
        return _unpack(reply, self.name)

    def _answer(self, action: Callable[[], Any], writer: int) -> None:
        try:
            try:
                self.become()
                reply = {"value": action()}
            except OSError as error:
                reply = {"errno": error.errno, "text": error.strerror, "file": error.filename}
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
    raise OSError(answer["errno"], answer["text"], answer["file"])


def choose_account(name: str | None = None) -> Account:
    """The account for servers: `name` if given, else ourselves, else (as root) PREFERRED.

    EngineError when there is none that PostgreSQL would accept.
    """
    if os.geteuid() != 0:
        return _own_account(name)
    if name is None:
        found = next((a for a in map(_look_up, PREFERRED) if a is not None and a.uid != 0), None)
        if found is None:
            raise EngineError(
                "could not choose an account for servers: passwd has neither "
                + " nor ".join(f'"{p}"' for p in PREFERRED),
                hint="Name an unprivileged account by --as USER.",
            )
        return found
    account = _look_up(name)
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


def _look_up(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
