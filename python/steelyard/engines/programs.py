"""Starts programs, and pins processes, as the server's account; a port for one that listens."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO

from steelyard.engines.account import Account
from steelyard.engines.memory.group import MemoryGroup
from steelyard.model.errors import EngineError

CLEAN_ENVIRONMENT: Mapping[str, str] = {
    # No PG* variable, no locale and no time zone of the caller may reach a cluster: initdb would
    # write them into postgresql.conf, and they would differ from machine to machine.
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "TZ": "UTC",
}


def launch(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path,
    output: IO[bytes] | int,
    environment: Mapping[str, str] | None = None,
    group: MemoryGroup | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    errors: IO[bytes] | int = subprocess.STDOUT,
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a program as the account, in a process group of its own, with `directory` as working
    directory.

    `own_session`: in a session of its own too; without it the scheduler puts the program into one
    autogroup with us and with our driver. `stdin`: what its standard input is. Standard output and,
    without `errors`, standard error go to `output`. The working directory matters: what a killed
    owner leaves behind is found by it (registry.py). With a memory group it is in that before its
    first page; EngineError: it could not enter.
    """
    if group is not None:
        command = group.command(account, command)
        environment = {**(environment or {}), **group.environment}
    with nullcontext() if group is None else group.entrance() as door:
        # What enters a group drops the user id itself, afterwards; systemd-run does both.
        switch = account.switched and group is None

        def enter() -> None:
            assert door is not None
            os.write(door, b"0")  # cgroup.procs: the writer
            if account.switched:
                account.become()

        try:
            return subprocess.Popen(
                list(command),
                cwd=directory,
                env={**CLEAN_ENVIRONMENT, **(environment or {})},
                stdin=stdin,
                stdout=output,
                stderr=errors,
                start_new_session=own_session,
                process_group=None if own_session else 0,
                umask=0o077,
                user=account.uid if switch else None,
                group=account.gid if switch else None,
                extra_groups=[] if switch else None,
                # Beside threads only because the child makes system calls and nothing else.
                preexec_fn=None if door is None else enter,  # noqa: PLW1509
            )
        except subprocess.SubprocessError as failure:
            raise EngineError(f'could not start "{command[0]}" in a memory group') from failure


def piped(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str] | None = None,
    group: MemoryGroup | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """A launched program whose output comes by a pipe. EngineError: it cannot be executed."""
    try:
        return launch(
            account,
            command,
            directory=directory,
            output=subprocess.PIPE,
            environment=environment,
            group=group,
            stdin=stdin,
        )
    except OSError as error:
        raise EngineError(
            f'could not execute "{command[0]}" as account "{account.name}": {error.strerror}',
        ) from error


def run(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    group: MemoryGroup | None = None,
    timeout_s: float = 300,
    stdin: str | None = None,
) -> tuple[int, str]:
    """Exit status and everything a program wrote; EngineError when it cannot be executed. `stdin`:
    what it reads from its standard input."""
    channel = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    process = piped(
        account, command, directory=directory, environment=environment, group=group, stdin=channel
    )
    try:
        written, _ = process.communicate(
            None if stdin is None else stdin.encode(), timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise EngineError(f'"{command[0]}" did not end within {timeout_s:.0f} s') from None
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process.returncode, written.decode(errors="replace")


def pin(account: Account, processors: Mapping[int, Sequence[int]]) -> None:
    """Pin each process id to its processors; EngineError names the first that could not be. One
    that has ended needs none and is left out.

    sched_setaffinity(2) wants CAP_SYS_NICE or the target's user id; root in a container lacks the
    first, so the call is made by a child that has the second.
    """
    masks = {pid: sorted(set(allowed)) for pid, allowed in processors.items()}
    if not masks:
        return

    def pin_all() -> list[int] | None:
        for pid, allowed in masks.items():
            try:
                os.sched_setaffinity(pid, allowed)
            except ProcessLookupError:
                continue
            except OSError as error:
                return [pid, error.errno or 0]
        return None

    failed = account.call(pin_all)
    if failed is not None:
        pid, number = failed
        raise EngineError(
            f"could not pin process {pid} to processors {masks[pid]}: {os.strerror(number)}",
            detail=_DETAILS.get(number),
        )


_DETAILS = {
    errno.EINVAL: "None of these processors may be used here (container, cpuset).",
    errno.EPERM: "The process belongs to another account than the server's.",
}


_PORTS_OF_CLIENTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_PORTS = range(10_000, 20_000)
"""Sockets of poolers and standbys are called by numbers above them."""
_MOST_TRIES = 100


def free_port() -> int:
    """A port of loopback that nothing listens on now, and that no client is given for its own end:
    while a server is stopped a client could take its port, which then waits for a minute after the
    connection was closed (ip(7), ip_local_port_range). Any free one where there is no such."""
    ports = _ports_of_no_client()
    for _ in range(_MOST_TRIES if ports else 0):
        port = secrets.choice(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ports_of_no_client() -> Sequence[int]:
    try:
        first, last = map(int, _PORTS_OF_CLIENTS.read_text().split())
    except (OSError, ValueError):
        return ()
    return [port for port in _PORTS if not first <= port <= last]
