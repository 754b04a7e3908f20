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
from collections.abc import Sequence

from steelyard.engines.account import Account
from steelyard.engines.programs import pin
from steelyard.model.endpoint import Endpoint
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
) -> None:
    """Pin every backend with its thread. EngineError: not permitted; DriverError: not ours.

    A process id means a backend only where the server is seen to be its parent: in a container
    of its own, the same number may be any other.
    """
    server = _listener(target)
    owners = {_owner(pid, server) for pid in backends}
    if server is None or len(owners) != 1 or None in owners:
        raise DriverError(
            "cannot place the backends: the server's processes are not seen from here",
            hint="Placement needs a server on this machine, reached through its Unix socket.",
        )
    uid = next(uid for uid in owners if uid is not None)
    known = pwd.getpwuid(uid) if uid != os.geteuid() else None
    account = Account(known.pw_name if known else "", uid, known.pw_gid if known else os.getegid())
    pin(account, backend_processors(backends, threads, processors))


def _listener(target: Endpoint) -> int | None:
    """The process that listens at a Unix socket, when it is seen from here (SO_PEERCRED)."""
    if not target.host.startswith("/"):
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(f"{target.host}/.s.PGSQL.{target.port}")
        except OSError:
            return None
        size = struct.calcsize("3i")
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid or None


def _owner(pid: int, parent: int | None) -> int | None:
    """The user id of a child of `parent`; None for any other process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    return uid if int(fields[1]) == parent else None
