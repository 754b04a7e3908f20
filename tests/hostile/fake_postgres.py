"""Runs a server that speaks PostgreSQL's protocol as far as a mode goes, and then misbehaves."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
_HALF = 1 << 31
ROW = b"\0\1" + struct.pack(">I", 1) + b"1"
_COLUMN = b"\0\1" + b"one\0" + struct.pack(">IhIhih", 0, 0, 25, -1, -1, 0)


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


def error(severity: str, code: str, text: bytes) -> bytes:
    words = severity.encode()
    body = b"S%s\0V%s\0C%s\0M%s\0\0" % (words, words, code.encode(), text)
    return message(b"N" if severity == "NOTICE" else b"E", body)


LET_IN = (
    message(b"R", struct.pack(">I", 0))
    + message(b"S", b"server_version\x0018.0\0")
    + message(b"S", b"client_encoding\0UTF8\0")
    + message(b"S", b"standard_conforming_strings\0on\0")
    + message(b"K", struct.pack(">II", 1, 1))
)
READY = message(b"Z", b"I")
NOTICE = error("NOTICE", "00000", b"n" * 1000)


class Client:
    """The other end of a connection."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def send(self, data: bytes) -> None:
        self._stream.sendall(data)

    def send_for_ever(self, data: bytes) -> None:
        piece = data * max(1, (1 << 16) // len(data))
        while True:
            self.send(piece)

    def read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self._stream.recv(length - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def startup(self) -> int:
        """The code of the first packet."""
        (length,) = struct.unpack(">I", self.read(4))
        return int.from_bytes(self.read(length - 4)[:4], "big")

    def request(self) -> bytes:
        """The kind of the next message."""
        kind = self.read(1)
        self.read(struct.unpack(">I", self.read(4))[0] - 4)
        return kind

    def queried(self) -> None:
        """Returns when it waits for the answer to a query."""
        while self.request() not in (b"Q", b"S", b"H"):
            pass

    def stay_silent(self) -> None:
        while self._stream.recv(1 << 16):
            pass


def let_in(client: Client) -> None:
    """Every client is, without a password."""
    code = client.startup()
    while code in (SSL_REQUEST, GSS_REQUEST):
        client.send(b"N")
        code = client.startup()
    client.send(LET_IN + READY)


def _scram(client: Client) -> None:
    code = client.startup()
    while code in (SSL_REQUEST, GSS_REQUEST):
        client.send(b"N")
        code = client.startup()
    client.send(message(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"))
    kind = client.read(1)
    assert kind == b"p"
    body = client.read(struct.unpack(">I", client.read(4))[0] - 4)
    nonce = body.split(b"r=")[1]
    challenge = b"r=" + nonce + b"abc,s=c2FsdHNhbHQ=,i=2000000000"
    client.send(message(b"R", struct.pack(">I", 11) + challenge))
    client.stay_silent()


def _no_tls(client: Client) -> None:
    client.startup()
    client.stay_silent()


def _stalled_tls(client: Client) -> None:
    client.startup()
    client.send(b"S")
    client.stay_silent()


def _at_login(data: bytes, *, for_ever: bool = False, closes: bool = False) -> Mode:
    def behave(client: Client) -> None:
        code = client.startup()
        while code in (SSL_REQUEST, GSS_REQUEST):
            client.send(b"N")
            code = client.startup()
        if for_ever:
            client.send_for_ever(data)
        client.send(data)
        if not closes:
            client.stay_silent()

    return behave


def _at_query(
    first: bytes, then: bytes = b"", *, for_ever: bool = False, closes: bool = False
) -> Mode:
    def behave(client: Client) -> None:
        let_in(client)
        client.queried()
        client.send(first)
        if for_ever:
            client.send_for_ever(then)
        client.send(then)
        if not closes:
            client.stay_silent()

    return behave


def _giant_row(client: Client) -> None:
    let_in(client)
    client.queried()
    size = _HALF - 64
    client.send(message(b"T", _COLUMN) + b"D" + struct.pack(">I", size + 10) + b"\0\1")
    client.send(struct.pack(">I", size))
    client.send_for_ever(b"x" * (1 << 20))


def _giant_error(client: Client) -> None:
    let_in(client)
    client.queried()
    client.send(error("ERROR", "XX000", b"e" * (100 << 20)) + READY)
    client.stay_silent()


Mode = Callable[[Client], None]
AT_LOGIN: dict[str, Mode] = {
    "accepts and never speaks": Client.stay_silent,
    "never answers a request to encrypt": _no_tls,
    "stalls in the handshake of TLS": _stalled_tls,
    "speaks half a message": _at_login(b"R\0\0"),
    "a length of 2 GB": _at_login(b"R" + struct.pack(">I", _HALF - 1)),
    "a negative length": _at_login(b"R" + struct.pack(">i", -5)),
    "closes in a message": _at_login(b"R\0\0\0\x08\0", closes=True),
    "2,000,000,000 SCRAM iterations": _scram,
    "notices without end before a login": _at_login(NOTICE, for_ever=True),
    "parameters without end": _at_login(
        message(b"R", struct.pack(">I", 0)) + message(b"S", b"x\0" + b"y" * 1000 + b"\0"),
        for_ever=True,
    ),
}
AT_QUERIES: dict[str, Mode] = {
    "never answers a query": _at_query(b""),
    "rows without end": _at_query(message(b"T", _COLUMN), message(b"D", ROW), for_ever=True),
    "a row of 2 GB": _giant_row,
    "notices without end": _at_query(b"", NOTICE, for_ever=True),
    "an error of 100 MB": _giant_error,
    "closes in a row": _at_query(message(b"T", _COLUMN) + b"D\0\0\0\x20", closes=True),
    "a negative length in an answer": _at_query(b"T" + struct.pack(">i", -5)),
}


def well_at_first(times: int, mode: Mode) -> Mode:
    """Serves so many connections, refusing each query as unknown, before it misbehaves."""
    lock = threading.Lock()
    left = [times]

    def behave(client: Client) -> None:
        with lock:
            left[0] -= 1
            good = left[0] >= 0
        if not good:
            mode(client)
            return
        let_in(client)
        while True:
            client.queried()
            client.send(error("ERROR", "42P01", b"not here") + READY)

    return behave


@contextmanager
def serving(mode: Mode) -> Iterator[int]:
    """The port of a fake server; it ends with the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve(stream: socket.socket) -> None:
        with stream, suppress(OSError, AssertionError, IndexError, struct.error):
            mode(Client(stream))

    def accept() -> None:
        while not ended.is_set():
            with suppress(OSError):
                stream, _ = listener.accept()
                threading.Thread(target=serve, args=(stream,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        ended.set()
        with suppress(OSError):
            socket.create_connection(listener.getsockname(), timeout=1).close()
        time.sleep(0.01)
        listener.close()
