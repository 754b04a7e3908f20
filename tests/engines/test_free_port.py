"""The port of a server that is started again and again is nobody's meanwhile."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import pytest

from steelyard.engines import programs, registry
from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.programs import free_port
from steelyard.engines.registry import open_run


def ports_of_clients() -> range:
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first, last = map(int, text.split())
    return range(first, last + 1)


def test_no_client_is_given_it() -> None:
    clients = ports_of_clients()
    if clients.start <= 10_000:
        pytest.skip("clients are given every port here")
    drawn = {free_port() for _ in range(200)}
    assert not drawn & {*clients}
    assert len(drawn) > 100, "two weighings do not take the same"
    assert max(drawn) + 10_000 <= 65_535, "a pooler's number is above it"


def test_what_listens_keeps_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken, free = other.getsockname()[1], free_port()
        tries = iter([taken, taken, free])
        monkeypatch.setattr(secrets, "choice", lambda ports: next(tries))
        monkeypatch.setattr(programs, "_ports_of_no_client", lambda: [taken, free])
        assert free_port() == free


@pytest.mark.parametrize("text", ["1024\t65535\n", "", "odd", None])
def test_where_clients_have_every_port_any_free_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "range").write_text(text)
    monkeypatch.setattr(programs, "_PORTS_OF_CLIENTS", tmp_path / "range")
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))


def test_two_slots_have_two_ports_and_each_keeps_its_own(
    cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([12_000, 12_000, 12_000, 13_000])
    monkeypatch.setattr(registry, "free_port", lambda: next(drawn))
    with open_run(cache, account) as run:
        ports = [run.slot(number, listens=True).port for number in (0, 1, 0, 1)]
    assert ports == [12_000, 13_000, 12_000, 13_000]
