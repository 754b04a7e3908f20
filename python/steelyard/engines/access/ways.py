"""Protocols of servers that clients reach by a network, encrypted or not, or through a pooler."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from steelyard.engines.engine import Settings
from steelyard.model.endpoint import Endpoint

SOCKET, TCP, TLS, POOLED = "socket", "tcp", "tls", "pgbouncer"
"""Every way, as `connect` of an arm names it."""


@runtime_checkable
class Listening(Protocol):
    """An engine whose servers can listen on this machine's loopback."""

    def listening(self, *, encrypted: bool) -> Settings:
        """What is to be set beside an arm's own settings."""


@runtime_checkable
class WaysIn(Protocol):
    """A running server that clients can reach otherwise than by its Unix socket."""

    def way_in(self, way: str, database: str) -> Endpoint:
        """Where clients connect; opened on first use, and closed when the server stops.
        EngineError: it could not be opened."""
