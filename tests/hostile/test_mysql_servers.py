"""MySQL servers that are not ours keep no control connection waiting, and take no memory.

Promise: SAFETY.md, "Servers and files of others".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from driver.mysql_double import Connection, Double
from hostile.fake_postgres import Client, serving
from steelyard.engines.mysql.sql import authentication
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError


def _address(port: int) -> Endpoint:
    return read_uri(f"mysql://app:p@127.0.0.1:{port}/d?ssl-mode=disabled&connect-timeout=1")


def _drip(client: Client) -> None:
    client.send(b"\x4a\0\0\0\x0a")
    while True:
        client.send(b"5")
        time.sleep(0.05)


AT_LOGIN: dict[str, Callable[[Client], None]] = {
    "never speaks": Client.stay_silent,
    "sends a greeting byte by byte": _drip,
    "packets of 16 MB without end": lambda client: client.send_for_ever(
        b"\xff\xff\xff\0\x0a" + b"5" * 65_531
    ),
}


@pytest.mark.parametrize("mode", AT_LOGIN.values(), ids=AT_LOGIN)
def test_a_login_ends_in_the_time_to_connect(mode: Callable[[Client], None]) -> None:
    began = time.monotonic()
    with (
        serving(mode) as port,
        pytest.raises(ServerError) as raised,
        connected(_address(port)),
    ):
        pass
    assert raised.value.detail
    assert time.monotonic() - began < 30  # its answers may take 60 s


class _Answering(Connection):
    """Lets the client in, then answers its query without end."""

    answer: Callable[[_Answering], None]

    def serve(self) -> None:
        self._send(self._greeting())
        self._receive()
        self._send(b"\0\0\0\2\0\0\0")
        while True:
            self.number = 0
            if self._receive()[1:] == b"SELECT hostile":
                type(self).answer(self)
            else:
                self._send(b"\0\0\0\2\0\0\0")


COLUMN = b"\3def\0\0\0\1c\1c\x0c" + b"\x2d\0" + b"\xff\0\0\0" + b"\xfd" + b"\0\0" + b"\0" + b"\0\0"


def _send_for_ever(client: _Answering, payload: bytes) -> None:
    numbers = range(client.number, client.number + 256)
    head = len(payload).to_bytes(3, "little")
    piece = b"".join(head + bytes([number % 256]) + payload for number in numbers)
    while True:
        client.socket.sendall(piece)


def _rows(client: _Answering) -> None:
    client._send(b"\1")
    client._send(COLUMN)
    client._send(b"\xfe\0\0\2\0")
    _send_for_ever(client, b"\x64" + b"x" * 100)


def _columns(client: _Answering) -> None:
    client._send(b"\xfe" + b"\xff" * 7 + b"\x7f")  # 2^63 columns, nearly
    _send_for_ever(client, COLUMN)


def _long_rows(client: _Answering) -> None:
    client._send(b"\1")
    client._send(COLUMN)
    client._send(b"\xfe\0\0\2\0")
    while True:
        client.socket.sendall(b"\xff\xff\xff" + bytes([client.number]) + bytes(0xFFFFFF))
        client.number = (client.number + 1) % 256


def _dripping(client: _Answering) -> None:
    client._send(b"\1")
    client._send(COLUMN)
    client._send(b"\xfe\0\0\2\0")
    while True:
        client._send(b"\1x")
        time.sleep(0.02)


ENDLESS = {
    "rows": (_rows, 60.0, "sent more than 5000 packets"),
    "columns": (_columns, 60.0, "sent more than 5000 packets"),
    "a row of packets of 16 MB": (_long_rows, 60.0, "sent more than 16 MB"),
    "a row now and then": (_dripping, 1.0, "no answer within 1 s"),
}


@pytest.mark.parametrize(("answer", "read_s", "words"), ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_end_is_cut(
    answer: Callable[[_Answering], None],
    read_s: float,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authentication, "MOST_PACKETS", 5000)
    kind = type("Kind", (_Answering,), {"answer": staticmethod(answer)})

    def mode(client: Client) -> None:
        kind(Double(), client._stream).serve()

    with (
        serving(mode) as port,
        pytest.raises(ServerError) as raised,
        connected(_address(port), read_s=read_s) as wire,
    ):
        rows_of(wire, "SELECT hostile")
    assert words in (raised.value.detail or "")


def test_a_time_to_connect_of_ten_years_is_taken() -> None:
    with Double().running() as double:
        endless = replace(read_uri(double.uri()), connect_timeout_ns=10**18, tls=None)
        with connected(endless) as wire:
            assert wire.open
