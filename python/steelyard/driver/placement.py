"""Pins the backends of a driven server to the processors of the driver's threads they serve.

Client k is on thread k mod threads, and thread i on the i-th allowed processor in turn. Where the
backend of client k is pinned to the same one, a request wakes no other processor: the work costs
the same in every epoch, and less (measured on 2 shared cores, 8 clients, read-only:
client CPU a transaction 4.7 against 7.0 µs, throughput 81 000 against 53 000 a second).
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Callable, Sequence

from steelyard.engines.account import Account
from steelyard.engines.adapters import session_tasks
from steelyard.engines.programs import pin
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import DriverError


def backend_processors(
    backends: Sequence[int], threads: int, processors: Sequence[int]
) -> dict[int, list[int]]:
    """Backend process id → the processor of the thread that serves its client."""
    return {
        pid: [processors[client % threads % len(processors)]] for client, pid in enumerate(backends)
    }


def place_backends(
    target: Endpoint, backends: Sequence[int], threads: int, processors: Sequence[int]
) -> Callable[[], None]:
    """Pin every backend with its thread; returns what restores their affinity: a thread of MySQL's
    is reused for another client. EngineError: not permitted; DriverError: not ours.

    A process id means a backend only where the server is seen to be its parent, or its process: in
    a container of its own, the same number may be any other.
    """
    server = _listener(target)
    tasks = session_tasks(target, backends)
    owners = {_owner(task, server) for task in tasks.values()}
    if server is None or len(tasks) < len(backends) or len(owners) != 1 or None in owners:
        raise DriverError(
            "cannot place the backends: the server's processes are not seen from here",
            hint="Placement needs a server on this machine, reached through its Unix socket.",
        )
    uid = next(uid for uid in owners if uid is not None)
    user = pwd.getpwuid(uid) if uid != os.geteuid() else None
    account = Account(user.pw_name if user else "", uid, user.pw_gid if user else os.getegid())
    served = [tasks[backend] for backend in backends]
    before = {task: sorted(os.sched_getaffinity(task)) for task in served}
    pin(account, backend_processors(served, threads, processors))

    def give_back() -> None:
        if target.protocol == MYSQL:
            pin(account, before)

    return give_back


def _listener(target: Endpoint) -> int | None:
    """The process that listens at a Unix socket, when it is seen from here (SO_PEERCRED)."""
    if not target.host.startswith("/"):
        return None
    mysql = target.protocol == MYSQL
    path = target.host if mysql else f"{target.host}/.s.PGSQL.{target.port}"
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return None
        size = struct.calcsize("3i")
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid or None


def _owner(pid: int, parent: int | None) -> int | None:
    """The user id of a child, or a thread, of `parent`; None for any other process."""
    try:
        if os.path.exists(f"/proc/{parent}/task/{pid}"):
            return os.stat(f"/proc/{parent}").st_uid
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    return uid if int(fields[1]) == parent else None
