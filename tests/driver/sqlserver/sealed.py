"""A server's end of TLS whose handshake goes inside of packets, and the bytes after it do not."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Protocol

from driver.sqlserver.tokens import PRELOGIN, packets


class Pipe(Protocol):
    """Bytes to and from a client."""

    def send(self, content: bytes) -> None:
        """All of them."""

    def receive(self) -> bytes:
        """Some; none at the end."""


class Plain:
    """A socket, or TLS that began at once."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, content: bytes) -> None:
        """All of them."""
        self.connection.sendall(content)

    def receive(self) -> bytes:
        """Some; none at the end."""
        return self.connection.recv(65536)


class Sealed:
    """TLS after a handshake in packets."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self.connection = connection
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        held = b""
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._send_in_packets()
                held += self._received()
                while len(held) >= 8:
                    kind, _, length = struct.unpack_from(">BBH", held)
                    if len(held) < length:
                        break
                    assert kind == PRELOGIN, "the handshake goes in packets"
                    self.incoming.write(held[8:length])
                    held = held[length:]
        self._send_in_packets()
        assert not held

    def _received(self) -> bytes:
        received = self.connection.recv(65536)
        if not received:
            raise ConnectionError("the client went in the middle of the handshake")
        return received

    def _send_in_packets(self) -> None:
        if self.outgoing.pending:
            # Small ones, which cut the records of TLS.
            self.connection.sendall(packets(PRELOGIN, self.outgoing.read(), 100))

    def send(self, content: bytes) -> None:
        """All of them."""
        self.tls.write(content)
        self.connection.sendall(self.outgoing.read())

    def receive(self) -> bytes:
        """Some; none at the end."""
        while True:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                received = self.connection.recv(65536)
                if not received:
                    return b""
                self.incoming.write(received)
            except ssl.SSLZeroReturnError:
                return b""
