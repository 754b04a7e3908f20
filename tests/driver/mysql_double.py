"""A double of MySQL for tests: greeting, TLS, one authentication that it asks for, and queries."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PASSWORD = "Pässw0rd"
NONCE = b"abcdefgh12345678-_.!"
_PROTOCOL_41, _CONNECT_WITH_DATABASE, _TLS = 1 << 9, 1 << 3, 1 << 11
_CAPABILITIES = 0x0001 | _PROTOCOL_41 | _CONNECT_WITH_DATABASE | 1 << 13 | 1 << 15 | 1 << 17
_PLUGINS = 1 << 19
_OK, _MORE, _SWITCH = b"\0\0\0\2\0\0\0", b"\1", b"\xfe"


@dataclass
class Double:
    """What the server is like, and what it has seen."""

    greets: str = "mysql_native_password"
    """The plugin that it begins with."""
    switch: str | None = None
    """The plugin that the account asks for; None: that of the greeting."""
    asks: tuple[bytes, ...] = ()
    """What it sends after each answer to that; then the client is let in."""
    context: ssl.SSLContext | None = None
    leaves_at: str | None = None
    """A query that begins so is answered by a request for rows, and the connection is closed."""
    answers: list[bytes] = field(default_factory=list)
    """What clients sent to prove their passwords, in order."""
    encrypted: list[bool] = field(default_factory=list)
    """Of each connection that came as far as a response."""
    queries: list[str] = field(default_factory=list)
    port: int = 0

    def uri(self, words: str = "", password: str = PASSWORD) -> str:
        """Where it is reached."""
        return f"mysql://app:{password}@127.0.0.1:{self.port}/d?{words}"

    @contextmanager
    def running(self) -> Iterator[Double]:
        """Serves on a port of its own."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            yield self

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                Connection(self, connection).serve()
            except (OSError, ssl.SSLError):
                return  # the client went, or did not want what there is


class Connection:
    """One client."""

    def __init__(self, double: Double, connection: socket.socket) -> None:
        self.double, self.socket = double, connection
        self.number = 0

    def serve(self) -> None:
        """Until the client goes."""
        double = self.double
        self._send(self._greeting())
        response = self._receive()
        (flags,) = struct.unpack_from("<I", response)
        if flags & _TLS:
            assert double.context is not None
            self.socket = double.context.wrap_socket(self.socket, server_side=True)
            response = self._receive()
        double.encrypted.append(bool(flags & _TLS))
        double.answers.append(_proof(response))
        if double.switch is not None:
            self._send(_SWITCH + double.switch.encode() + b"\0" + NONCE + b"\0")
            double.answers.append(self._receive())
        for asked in double.asks:
            self._send(asked)
            if asked != b"\1\3":  # caching_sha2_password has the password in its cache
                double.answers.append(self._receive())
        self._send(_OK)
        while True:
            self.number = 0
            request = self._receive()
            if request[0] != 3:
                return
            text = request[1:].decode()
            double.queries.append(text)
            if double.leaves_at is not None and text.startswith(double.leaves_at):
                self._send(b"\xfbrows")
                return
            self._send(_OK)

    def _greeting(self) -> bytes:
        double = self.double
        flags = _CAPABILITIES | _PLUGINS | (_TLS if double.context is not None else 0)
        return b"".join(
            [
                *(b"\x0a5.7.29-double\0", struct.pack("<I", 42), NONCE[:8], b"\0"),
                *(struct.pack("<HBHH", flags & 0xFFFF, 45, 2, flags >> 16), b"\x15", bytes(10)),
                *(NONCE[8:], b"\0", double.greets.encode(), b"\0"),
            ]
        )

    def _send(self, payload: bytes) -> None:
        header = struct.pack("<I", len(payload))[:3] + bytes([self.number])
        self.socket.sendall(header + payload)
        self.number = (self.number + 1) % 256

    def _receive(self) -> bytes:
        header = self._exactly(4)
        self.number = (header[3] + 1) % 256
        return self._exactly(header[0] | header[1] << 8 | header[2] << 16)

    def _exactly(self, length: int) -> bytes:
        held = b""
        while len(held) < length:
            received = self.socket.recv(length - len(held))
            if not received:
                raise ConnectionError("the client went")
            held += received
        return held


def _proof(response: bytes) -> bytes:
    """The part of a response that proves the password."""
    user = response.index(b"\0", 32) + 1
    return response[user + 1 : user + 1 + response[user]]
