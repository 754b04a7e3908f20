"""What a load machine needs of servers, by protocol: passwords, and an end of lost sessions.

A server notices late that a machine is lost: until then its sessions keep their locks, which would
block the next epoch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

from steelyard.model.endpoint import POSTGRES, Endpoint
from steelyard.model.errors import ServerError
from steelyard.model.secrets.secret import Secret

GONE_S = 30.0
"""Longest until a server has ended a session after the request to end it."""
_AGAIN_S = 0.1
_LOOPBACK = ("", "localhost", "127.0.0.1", "::1")


def is_local(endpoint: Endpoint) -> bool:
    """Whether it leads to the machine that it is used on: a socket, or loopback."""
    return endpoint.host in _LOOPBACK or endpoint.host.startswith("/")


def own_password(endpoint: Endpoint) -> Secret | None:
    """What this machine itself has for it; None: nothing."""
    if endpoint.protocol != POSTGRES:
        return Secret.of(os.environ.get("MYSQL_PWD"))
    from steelyard.engines.postgres import external_server as postgres

    return postgres.own_password(endpoint)


def crossing(endpoint: Endpoint) -> Endpoint:
    """The same as it may go to another machine: without its password, and its control connections
    under a name by which `end_sessions` knows them."""
    if endpoint.protocol != POSTGRES:
        return replace(endpoint, password=None)
    from steelyard.engines.postgres import external_server as postgres

    return postgres.crossing(endpoint)


def end_sessions(endpoint: Endpoint, sessions: Sequence[int]) -> None:
    """End those of the sessions that are still there, by the server's numbers, and wait until the
    server has none of them.

    ServerError: it could not be asked, or has not ended them in time: what they had begun may still
    be committed, and their locks stand.
    """
    limit = time.monotonic() + GONE_S
    while sessions and _request_end(endpoint, sessions):
        if time.monotonic() > limit:
            raise ServerError(
                f'could not end sessions of a lost machine at "{endpoint.host}"',
                detail=f"The server still has some of them after {GONE_S:.0f} s: what they had "
                "begun may be committed, and their locks stand.",
                hint="Go on when they are gone.",
            )
        time.sleep(_AGAIN_S)


def _request_end(endpoint: Endpoint, sessions: Sequence[int]) -> int:
    """How many were there."""
    if endpoint.protocol != POSTGRES:
        from steelyard.engines.mysql.sql import variables as mysql

        return mysql.end_sessions(endpoint, sessions)
    from steelyard.engines.postgres import external_server as postgres

    return postgres.end_sessions(endpoint, sessions)
