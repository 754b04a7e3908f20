"""What a load machine needs of servers, by protocol: passwords, and an end of lost sessions.

A server notices late that a machine is lost: until then its sessions keep their locks, which would
block the next epoch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from steelyard.model.endpoint import POSTGRES, Endpoint

_LOOPBACK = ("", "localhost", "127.0.0.1", "::1")


def is_local(endpoint: Endpoint) -> bool:
    """Whether it leads to the machine that it is used on: a socket, or loopback."""
    return endpoint.host in _LOOPBACK or endpoint.host.startswith("/")


def own_password(endpoint: Endpoint) -> str | None:
    """What this machine itself has for it; None: nothing."""
    if endpoint.protocol != POSTGRES:
        return os.environ.get("MYSQL_PWD")
    from steelyard.engines.postgres.reaching import load_machine as postgres

    return postgres.own_password(endpoint)


def crossing(endpoint: Endpoint) -> Endpoint:
    """The same as it may go to another machine: without its password, and its control connections
    under a name by which `end_sessions` knows them."""
    if endpoint.protocol != POSTGRES:
        return replace(endpoint, password=None)
    from steelyard.engines.postgres.reaching import load_machine as postgres

    return postgres.crossing(endpoint)


def end_sessions(endpoint: Endpoint, sessions: Sequence[int]) -> int:
    """End those of the sessions that are still there, by the server's numbers; how many there were.
    A server that cannot be reached has ended them, or will."""
    if not sessions:
        return 0
    if endpoint.protocol != POSTGRES:
        from steelyard.engines.mysql.sql import load_machine as mysql

        return mysql.end_sessions(endpoint, sessions)
    from steelyard.engines.postgres.reaching import load_machine as postgres

    return postgres.end_sessions(endpoint, sessions)
