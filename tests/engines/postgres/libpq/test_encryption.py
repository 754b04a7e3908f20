"""libpq's words about encryption, as the driver is told them."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.model.endpoint import Tls
from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_S


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without files of libpq's, and an environment without its words."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HOST", "PORT", "USER", "DATABASE", "PASSWORD", "SSLMODE", "SSLROOTCERT"):
        monkeypatch.delenv(f"PG{name}", raising=False)
    return tmp_path


def tls(conninfo: str) -> Tls:
    found = read_target(conninfo).tls
    assert found is not None
    return found


@pytest.mark.parametrize("conninfo", ["host=127.0.0.9 port=1", "host='127.0.0.9' port=1"])
def test_encryption_is_preferred_and_files_are_looked_for_where_libpq_does(
    conninfo: str, home: Path
) -> None:
    files = home / ".postgresql"
    assert tls(conninfo) == Tls(
        mode="prefer",
        server_name="127.0.0.9",
        tells_name=True,
        direct=False,
        roots=str(files / "root.crt"),
        system_roots=False,
        revoked=str(files / "root.crl"),
        certificate=str(files / "postgresql.crt"),
        key=str(files / "postgresql.key"),
        least_version="TLSv1.2",
        most_version=None,
    )


@pytest.mark.parametrize("conninfo", ["host=/tmp sslmode=require", "host=h sslmode=disable"])
def test_a_unix_socket_and_sslmode_disable_are_not_encrypted(conninfo: str) -> None:
    assert read_target(conninfo).tls is None


def test_the_name_is_checked_and_the_address_connected_to() -> None:
    target = read_target("host=db.example hostaddr=127.0.0.9 port=1 sslmode=verify-full")
    assert target.host == "127.0.0.9"
    assert target.tls is not None
    assert target.tls.server_name == "db.example"


def test_every_word_is_heeded(tmp_path: Path) -> None:
    words = f"host=127.0.0.9 port=1 sslmode=verify-ca sslrootcert={tmp_path}/ca sslcert=c sslkey=k "
    words += "sslcrl=l sslsni=0 ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.3 "
    found = tls(words + "channel_binding=require sslnegotiation=direct connect_timeout=7")
    here = Path.cwd()
    assert found.mode == "verify-ca"
    assert (found.roots, found.revoked) == (f"{tmp_path}/ca", str(here / "l"))
    assert (found.certificate, found.key) == (str(here / "c"), str(here / "k"))
    assert (found.least_version, found.most_version) == ("TLSv1.3", "TLSv1.3")
    assert (found.tells_name, found.direct) == (False, True)
    target = read_target(words + "channel_binding=require connect_timeout=7")
    assert target.channel_binding == "require"
    assert target.connect_timeout_ns == 7 * NS_PER_S


def test_the_environment_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "require")
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    target = read_target("host=127.0.0.9 port=1 user=u dbname=d")
    assert target.tls is not None
    assert target.tls.mode == "require"
    assert target.connect_timeout_ns == 3 * NS_PER_S


def test_the_systems_roots_are_for_full_verification() -> None:
    found = tls("host=localhost port=1 sslrootcert=system")
    assert (found.mode, found.system_roots) == ("verify-full", True)
    with pytest.raises(UsageError, match="weak sslmode"):
        read_target("host=localhost port=1 sslrootcert=system sslmode=require")


@pytest.mark.parametrize(
    "words",
    [
        "sslmode=bogus",
        "require_auth=bogus",
        "requirepeer=postgres",
        "sslcrldir=/tmp",
        "sslcertmode=require",
        "ssl_max_protocol_version=TLSv1.1",
        "sslnegotiation=direct",
        "channel_binding=bogus",
        "connect_timeout=soon",
    ],
)
def test_safety_that_cannot_be_kept_is_not_promised(words: str) -> None:
    with pytest.raises(UsageError):
        read_target(f"host=127.0.0.9 port=1 {words}")


def test_no_name_no_verification() -> None:
    with pytest.raises(UsageError, match="host name must be specified"):
        read_target("hostaddr=127.0.0.9 port=1 sslmode=verify-full")
