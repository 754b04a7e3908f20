"""Whatever comes to its port, the proxy serves the others, in bounded memory, and counts it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from own_cache import own_server
from postgres.passing import Passing, free_port, passing
from steelyard.engines.engine import Instance

pytestmark = pytest.mark.postgres

TRUSTS = {"pg_hba.conf": "local all all trust\nhost all all 127.0.0.1/32 trust\n"}


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    settings = {"listen_addresses": "127.0.0.1", "max_connections": "200"}
    with own_server("18", settings, port=free_port(), files=TRUSTS) as made:
        yield made


@pytest.fixture
def passed(instance: Instance, tmp_path: Path) -> Iterator[Passing]:
    to = f"host=127.0.0.1 port={instance.address.port} user=postgres dbname=postgres"
    with passing(tmp_path / "passed", to) as made:
        yield made


def works(passed: Passing) -> None:
    with psycopg.connect(passed.conninfo("postgres"), autocommit=True) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def ended(passed: Passing) -> dict[str, int]:
    """What it counted."""
    passed.interrupt()
    passed.end()
    counts: dict[str, int] = passed.facts["passed"]
    return counts


def startup(**words: str) -> bytes:
    body = b"".join(f"{name}\0{value}\0".encode() for name, value in words.items()) + b"\0"
    return struct.pack(">ii", len(body) + 8, 196608) + body


def raw(passed: Passing) -> socket.socket:
    return socket.create_connection(("127.0.0.1", passed.port), 10)


def opened(passed: Passing) -> socket.socket:
    """A session by hand, up to its first ReadyForQuery."""
    client = raw(passed)
    client.sendall(startup(user="postgres", database="postgres"))
    came = b""
    while not came.endswith(b"Z\0\0\0\x05I"):
        part = client.recv(65536)
        assert part, came
        came += part
    return client


@pytest.mark.long
def test_what_is_no_protocol_is_refused_and_others_are_served(passed: Passing) -> None:
    draw = random.Random(5)
    garbage = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 64, b"\xff" * 64,
        b"\x16\x03\x01\x02\x00\x01\x00" + b"\0" * 9,
        struct.pack(">ii", 8, 80877103) + b"Q\0\0\0\x0dselect 1\0",  # behind a request to encrypt
        struct.pack(">ii", 12, 131072) + b"abcd",  # protocol 2
        struct.pack(">ii", 2**31 - 1, 196608), struct.pack(">ii", 9, 196608) + b"x",
        *(draw.randbytes(draw.randrange(8, 200)) for _ in range(30)),
    ]  # fmt: skip
    for words in garbage:
        with raw(passed) as client:
            client.settimeout(10)
            client.sendall(words)
            with contextlib.suppress(OSError):  # it may be closed already
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
    works(passed)
    assert ended(passed)["refused"] >= len(garbage) - 3


def test_half_a_message_holds_nobody_up(passed: Passing) -> None:
    half = [raw(passed) for _ in range(5)]
    for client in half:
        client.sendall(startup(user="postgres")[:11])
    started = opened(passed)
    started.sendall(b"Q\0\0\1\0select")
    works(passed)
    for client in (*half, started):
        client.close()
    counts = ended(passed)
    assert counts["connections"] == 2
    assert sum(passed.kinds.values()) == 1


@pytest.mark.long
def test_messages_of_any_length_pass_in_bounded_memory(passed: Passing) -> None:
    process = psutil.Process(passed.process.pid)
    works(passed)
    before = process.memory_info().rss
    with psycopg.connect(passed.conninfo("postgres"), autocommit=True) as connection:
        for _ in range(3):
            row = connection.execute("SELECT length(%s::text)", ("x" * 60_000_000,)).fetchone()
            assert row == (60_000_000,)
            answer = connection.execute("SELECT repeat('y', 60000000)").fetchone()
            assert answer is not None
            assert len(answer[0]) == 60_000_000
    assert process.memory_info().rss - before < 40 << 20
    ended(passed)
    whys = {one["why"] for one in passed.facts["left_out"]}
    assert "transactions whose values are cut off" in whys


def test_a_client_that_does_not_read_is_waited_for_without_filling_memory(
    passed: Passing,
) -> None:
    process = psutil.Process(passed.process.pid)
    slow = opened(passed)
    before = process.memory_info().rss
    text = b"select repeat('z', 1000) from generate_series(1, 100000)\0"
    slow.sendall(b"Q" + struct.pack(">i", len(text) + 4) + text)
    time.sleep(2)
    assert process.memory_info().rss - before < 20 << 20
    works(passed)
    came = 0
    tail = b""
    while not tail.endswith(b"Z\0\0\0\x05I"):
        part = slow.recv(1 << 20)
        assert part
        came += len(part)
        tail = (tail + part)[-16:]
    assert came > 100_000_000
    slow.close()
    assert ended(passed)["slow"] > 0


@pytest.mark.long
def test_many_connections_at_once_each_do_their_work(passed: Passing) -> None:
    clients = [psycopg.connect(passed.conninfo("postgres"), autocommit=True) for _ in range(150)]
    for number, client in enumerate(clients):
        assert client.execute(f"SELECT {number}".encode()).fetchone() == (number,)
    for client in clients:
        client.close()
    counts = ended(passed)
    assert counts["connections"] == 150
    assert sum(passed.kinds.values()) == 150


def test_a_client_that_is_killed_ends_its_session_at_the_server(
    instance: Instance, passed: Passing
) -> None:
    client = opened(passed)
    client.sendall(b"Q" + struct.pack(">i", 13 + 4) + b"select 12345\0")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.3)
    client.close()
    deadline = time.monotonic() + 10
    with psycopg.connect(passed.conninfo("postgres"), autocommit=True) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            ).fetchone()
            if row == (1,):
                break
            time.sleep(0.1)
        assert row == (1,)
    ended(passed)


@pytest.mark.long
def test_a_server_that_is_killed_closes_its_clients_and_they_come_back_with_it(
    tmp_path: Path,
) -> None:
    settings = {"listen_addresses": "127.0.0.1"}
    with own_server("18", settings, port=free_port(), files=TRUSTS) as instance:
        to = f"host=127.0.0.1 port={instance.address.port} user=postgres dbname=postgres"
        with passing(tmp_path / "passed", to) as passed:
            connection = psycopg.connect(passed.conninfo("postgres"), autocommit=True)
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            os.kill(row[0], signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
            assert connection.closed
            deadline = time.monotonic() + 30
            while True:
                with contextlib.suppress(psycopg.OperationalError):
                    works(passed)
                    break
                assert time.monotonic() < deadline
                time.sleep(0.2)
            ended(passed)


def test_a_proxy_that_is_killed_closes_both_ends(instance: Instance, passed: Passing) -> None:
    connection = psycopg.connect(passed.conninfo("postgres"), autocommit=True)
    assert connection.execute("SELECT 1").fetchone() == (1,)
    passed.process.kill()
    passed.process.wait()
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 2")


@pytest.mark.long
def test_without_a_server_nothing_is_begun_and_a_client_is_told_when_it_goes(
    tmp_path: Path,
) -> None:
    nowhere = passing(tmp_path / "none", f"host=127.0.0.1 port={free_port()} user=u")
    with pytest.raises(AssertionError, match="could not connect to the server"), nowhere:
        pass
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with passing(tmp_path / "passed", f"host=127.0.0.1 port={port} user=u dbname=d") as passed:
        listener.close()
        with pytest.raises(psycopg.OperationalError, match="could not connect to the server"):
            psycopg.connect(passed.conninfo("postgres"), connect_timeout=10)
        passed.interrupt()
        passed.end(json_expected=False)
        assert passed.process.returncode == 2
        assert any("no statement was passed through" in line for line in passed.said)
