"""A server that listens on loopback lets in the load alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from steelyard.engines.account import Account
from steelyard.engines.capabilities.external import TCP
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.recovery import configure_copy
from steelyard.engines.postgres.loopback import SOCKET_ALONE, listening, loopback_arguments
from steelyard.engines.programs import free_port
from steelyard.model.errors import EngineError

OURSELVES = Account("", os.geteuid(), os.getegid())


def slot_in(place: Path) -> Slot:
    return Slot(0, place, place, 54320)


def test_a_server_that_listens_nowhere_is_started_as_before(tmp_path: Path) -> None:
    assert (
        loopback_arguments(slot_in(tmp_path), tmp_path / "data", {"work_mem": "4MB"}, OURSELVES)
        == []
    )
    assert list(tmp_path.iterdir()) == []


def test_by_tcp_a_password_is_needed(tmp_path: Path) -> None:
    given = loopback_arguments(
        slot_in(tmp_path), tmp_path / "data", listening(encrypted=False), OURSELVES
    )
    assert given == ["-c", f"hba_file={tmp_path}/access.conf"]
    rules = (tmp_path / "access.conf").read_text().splitlines()
    assert rules == ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"]


def test_a_certificate_is_made_once_for_a_slot(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    settings = listening(encrypted=True)
    given = loopback_arguments(slot_in(tmp_path), tmp_path / "data", settings, OURSELVES)
    certificate, key = tmp_path / "tls" / "server.crt", tmp_path / "tls" / "server.key"
    assert f"ssl_cert_file={certificate}" in given
    assert f"ssl_key_file={key}" in given
    assert key.stat().st_mode & 0o077 == 0
    said = subprocess.run(
        ["openssl", "x509", "-noout", "-subject", "-in", certificate],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "steelyard" in said
    before = certificate.read_bytes()
    assert loopback_arguments(slot_in(tmp_path), tmp_path / "data", settings, OURSELVES) == given
    assert certificate.read_bytes() == before
    own = {**settings, "ssl_cert_file": "/own.crt"}
    assert loopback_arguments(slot_in(tmp_path), tmp_path / "data", own, OURSELVES) == given[:2]


def test_a_directory_that_says_who_may_connect_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "pg_hba.conf").write_text("host all all 127.0.0.1/32 md5\n")
    (tmp_path / "server.crt").write_text("its own")
    settings = listening(encrypted=True)
    assert loopback_arguments(slot_in(tmp_path), tmp_path, settings, OURSELVES) == []


def test_a_copy_of_external_data_lets_in_who_comes_by_tcp_with_the_password(
    tmp_path: Path,
) -> None:
    """Its own access file has the socket alone: with `--from`, it refused TCP and TLS."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pg_hba.conf").write_text(SOCKET_ALONE)
    given = loopback_arguments(
        slot_in(tmp_path), tmp_path / "data", listening(encrypted=False), OURSELVES
    )
    assert given == ["-c", f"hba_file={tmp_path}/access.conf"]


@pytest.mark.postgres
def test_clients_come_in_by_tcp_with_the_password_of_this_life(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    slot = replace(slot_of(0), port=free_port())
    cluster.start(slot, listening(encrypted=False))
    address = cluster.way_in(TCP, "postgres")
    assert cluster.way_in(TCP, "postgres") == address, "one password a life"
    words = f"host={address.host} port={address.port} user={address.user} dbname=postgres"
    with psycopg.connect(words, password=address.password.reveal()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(words, password="guessed")
    cluster.stop()
    with pytest.raises(EngineError, match="is not running"):
        cluster.way_in(TCP, "postgres")


@pytest.mark.postgres
def test_clients_come_by_tcp_to_a_copy_of_external_data(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    configure_copy(cluster.account, cluster, {})
    cluster.start(replace(slot_of(0), port=free_port()), listening(encrypted=False))
    address = cluster.way_in(TCP, "postgres")
    words = f"host={address.host} port={address.port} user={address.user} dbname=postgres"
    assert address.password is not None
    with psycopg.connect(words, password=address.password.reveal()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(words, password="guessed")
