"""Encrypted connections to a real server with OpenSSL: who is believed, who is let in, and how."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from driver.secured import Certified, authority
from driver.served import PASSWORD, Server
from engines.real_npm import fetch
from own_cache import open_directory
from steelyard import _core
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import conninfo_of, read_target
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.errors import DriverError, ServerError

pytestmark = pytest.mark.postgres

HBA = """\
local all all trust
hostssl all cert_user all cert
hostnossl all plain_user all trust
host all plain_user all reject
hostssl all scram_user all scram-sha-256
hostnossl all scram_user all scram-sha-256
hostssl all tls_user all trust
host all tls_user all reject
host all postgres all trust
"""
USERS = ("cert_user", "plain_user", "scram_user", "tls_user")
WHO = "SELECT ssl, version, cipher, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@dataclass(frozen=True)
class Secured:
    """A server that encrypts, and the files that its clients use."""

    cluster: Cluster
    port: int
    files: Path
    root: Certified

    def present(self, shown: Certified) -> None:
        """Let the server show another certificate, from the next connection on."""
        directory = self.cluster.directory
        for path in shown.save(directory, "server"):
            self.cluster.account.own(path)
        with psycopg.connect(conninfo_of(self.cluster.address), autocommit=True) as connection:
            before = connection.execute("SELECT pg_conf_load_time()").fetchone()
            connection.execute("SELECT pg_reload_conf()")
        while True:
            with psycopg.connect(conninfo_of(self.cluster.address)) as connection:
                if connection.execute("SELECT pg_conf_load_time()").fetchone() != before:
                    return
            time.sleep(0.01)

    def conninfo(self, user: str, words: str, *, host: str = "localhost") -> str:
        """Where it listens for TCP; a host other than the real one is only its name."""
        where = f"hostaddr=127.0.0.1 port={self.port} host={host} dbname=postgres"
        return f"{where} user={user} {words}"

    def ask(self, user: str, words: str, sql: str = WHO, **where: str) -> list[str | None]:
        """The first row of an answer."""
        target = read_target(self.conninfo(user, words, **where))
        return _core.ask(json.dumps(DriveArm("target", target, 1).to_json()), sql)[0]

    def verified(self, mode: str, **where: str) -> list[str | None]:
        """Who we are to it, once its certificate is found in order."""
        return self.ask("tls_user", f"sslmode={mode} sslrootcert={self.files}/root.crt", **where)


@pytest.fixture(scope="module")
def made() -> Iterator[Secured]:
    root = authority("Steelyard's tests")
    with open_directory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(home / "cache"))
        patch.setenv("HOME", str(home))
        fetch("18.1")
        engine = find_postgres("npm-18.1")
        cluster = engine.create(home / "data", protection="checksums")
        (home / "data" / "pg_hba.conf").write_text(HBA)
        (home / "data" / "root.crt").write_bytes(root.pem)
        for path in root.sign("localhost", "localhost").save(home / "data", "server"):
            cluster.account.own(path)
        yield from _serving(cluster, home, root)


def _serving(cluster: Cluster, home: Path, root: Certified) -> Iterator[Secured]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"listen_addresses": "127.0.0.1", "ssl": "on", "ssl_ca_file": "root.crt"}
    cluster.start(Slot(0, home, home / "socket", port), settings)
    try:
        with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
            for user in USERS:
                quoted = PASSWORD.replace("'", "''")
                connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{quoted}'".encode())
        files = home / "files"
        files.mkdir()
        root.save(files, "root")
        yield Secured(cluster, port, files, root)
    finally:
        cluster.stop()


@pytest.fixture
def secured(made: Secured, monkeypatch: pytest.MonkeyPatch) -> Secured:
    """The server with its good certificate; nothing of libpq's stands in our own home."""
    monkeypatch.setenv("HOME", str(made.files / "nobody"))
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    made.present(made.root.sign("localhost", "localhost"))
    return made


@pytest.mark.long
def test_encryption_is_preferred_where_the_server_has_it(secured: Secured) -> None:
    assert secured.ask("postgres", "")[:2] == ["t", "TLSv1.3"]
    assert secured.ask("postgres", "sslmode=disable")[0] == "f"
    assert secured.ask("postgres", "sslmode=allow")[0] == "f"


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_a_server_in_order_is_believed_in_every_mode(secured: Secured, mode: str) -> None:
    assert secured.verified(mode)[0] == "t"
    direct = f"sslmode={mode} sslrootcert={secured.files}/root.crt sslnegotiation=direct"
    assert secured.ask("tls_user", direct)[0] == "t"


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_the_version_is_the_one_that_is_asked_for(secured: Secured, version: str) -> None:
    words = f"ssl_min_protocol_version={version} ssl_max_protocol_version={version}"
    assert secured.ask("postgres", f"sslmode=require {words}")[1] == version
    bound = f"{words} sslmode=require channel_binding=require password='{_quoted()}'"
    assert secured.ask("scram_user", bound)[1] == version


def test_who_is_refused_one_way_comes_the_other_way(secured: Secured) -> None:
    assert secured.ask("plain_user", "")[0] == "f"
    assert secured.ask("tls_user", "sslmode=allow")[0] == "t"
    with pytest.raises(DriverError, match="rejects connection"):
        secured.ask("plain_user", "sslmode=require")
    with pytest.raises(DriverError, match="rejects connection"):
        secured.ask("tls_user", "sslmode=disable")


def test_a_wrong_authority_is_not_believed(secured: Secured, tmp_path: Path) -> None:
    wrong = authority("Somebody else")
    wrong.save(tmp_path, "wrong")
    words = f"sslrootcert={tmp_path}/wrong.crt"
    for mode in ("verify-ca", "verify-full", "require"):
        with pytest.raises(DriverError, match="signed by none of the trusted ones"):
            secured.ask("tls_user", f"sslmode={mode} {words}")
    assert secured.ask("postgres", words)[0] == "f", "what is only preferred is given up"
    assert secured.ask("tls_user", "sslmode=require")[0] == "t", "nothing to check it against"
    with pytest.raises(DriverError, match="does not exist"):
        secured.ask("tls_user", f"sslmode=verify-ca sslrootcert={tmp_path}/none.crt")


def test_the_hosts_name_counts_in_full_verification_only(secured: Secured) -> None:
    assert secured.verified("verify-ca", host="elsewhere.example")[0] == "t"
    with pytest.raises(DriverError, match="does not match host name"):
        secured.verified("verify-full", host="elsewhere.example")


@pytest.mark.parametrize(
    ("names", "host", "believed"),
    [
        ((), "db.example", True),  # the common name, where no other name stands
        (("127.0.0.1",), "db.example", True),
        (("other.example",), "db.example", False),
        (("*.example",), "db.example", True),
        (("*.example",), "a.db.example", False),
        (("127.0.0.1",), "127.0.0.1", True),
        (("127.0.0.2",), "127.0.0.1", False),
    ],
)
def test_names_are_compared_as_libpq_does(
    secured: Secured, names: tuple[str, ...], host: str, believed: bool
) -> None:
    secured.present(secured.root.sign("db.example", *names))
    root = f"sslmode=verify-full sslrootcert={secured.files}/root.crt"
    try:
        with psycopg.connect(secured.conninfo("tls_user", root, host=host)):
            theirs = True
    except psycopg.OperationalError:
        theirs = False
    assert theirs is believed
    if believed:
        assert secured.verified("verify-full", host=host)[0] == "t"
    else:
        with pytest.raises(DriverError, match="does not match host name"):
            secured.verified("verify-full", host=host)


def test_an_expired_and_a_revoked_certificate_are_not_believed(
    secured: Secured, tmp_path: Path
) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    secured.present(secured.root.sign("localhost", "localhost", until=yesterday))
    with pytest.raises(DriverError, match="has expired"):
        secured.verified("verify-ca")
    assert secured.ask("tls_user", "sslmode=require")[0] == "t"
    revoked = secured.root.sign("localhost", "localhost")
    secured.present(revoked)
    (tmp_path / "root.crl").write_bytes(secured.root.revoke(revoked))
    root = f"sslrootcert={secured.files}/root.crt sslcrl={tmp_path}/root.crl"
    with pytest.raises(DriverError, match="revoked"):
        secured.ask("tls_user", f"sslmode=verify-ca {root}")


def test_a_certificate_of_the_first_version_is_refused_in_words(
    secured: Secured, tmp_path: Path
) -> None:
    """As older versions of `openssl x509 -req` make it, which the manual of PostgreSQL uses."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on the path")
    root, root_key = secured.root.save(tmp_path, "authority")

    def run(*words: str | Path) -> str:
        done = subprocess.run([openssl, *words], check=True, capture_output=True, text=True)
        return done.stdout

    request, key, certificate = (tmp_path / f"old.{end}" for end in ("csr", "key", "crt"))
    run("req", "-new", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=localhost",
        "-keyout", key, "-out", request)  # fmt: skip
    run("x509", "-req", "-in", request, "-CA", root, "-CAkey", root_key, "-set_serial", "7",
        "-out", certificate)  # fmt: skip
    if "Version: 1 " not in run("x509", "-in", certificate, "-noout", "-text"):
        pytest.skip("this openssl makes certificates of version 3")
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    secured.present(Certified(loaded, private))
    with pytest.raises(DriverError, match=r"the form of X\.509 version 1"):
        secured.verified("verify-ca")
    assert secured.ask("tls_user", "sslmode=require")[0] == "t"


def test_a_self_signed_certificate_is_its_own_root(secured: Secured, tmp_path: Path) -> None:
    own = authority("localhost")
    own.save(tmp_path, "own")
    secured.present(own)
    words = f"sslmode=verify-full sslrootcert={tmp_path}/own.crt"
    assert secured.ask("tls_user", words)[0] == "t"
    with pytest.raises(DriverError, match="does not match host name"):
        secured.ask("tls_user", words, host="db.example")
    with pytest.raises(DriverError, match="could not encrypt"):
        secured.verified("verify-ca")


def test_our_own_certificate_says_who_we_are(secured: Secured, tmp_path: Path) -> None:
    certificate, key = secured.root.sign("cert_user").save(tmp_path, "mine")
    words = f"sslmode=require sslcert={certificate} sslkey={key}"
    assert secured.ask("cert_user", words)[3] == "/CN=cert_user"
    stranger = authority("Somebody else").sign("cert_user").save(tmp_path, "stranger")
    with pytest.raises(DriverError, match="the server ended the TLS handshake"):
        secured.ask("cert_user", f"sslmode=require sslcert={stranger[0]} sslkey={stranger[1]}")
    with pytest.raises(DriverError, match="requires a valid client certificate"):
        secured.ask("cert_user", "sslmode=require")
    other = secured.root.sign("somebody").save(tmp_path, "other")
    with pytest.raises(DriverError, match="certificate authentication failed"):
        secured.ask("cert_user", f"sslmode=require sslcert={other[0]} sslkey={other[1]}")


def test_a_key_that_others_can_read_is_not_used(secured: Secured, tmp_path: Path) -> None:
    certificate, key = secured.root.sign("cert_user").save(tmp_path, "mine")
    words = f"sslmode=require sslcert={certificate} sslkey={key}"
    key.chmod(0o640)
    if os.geteuid() == 0:
        assert secured.ask("cert_user", words)[0] == "t", "root's keys may be a group's"
        os.chown(key, 1, -1)
    with pytest.raises(DriverError, match="group or world access"):
        secured.ask("cert_user", words)
    key.unlink()
    with pytest.raises(DriverError, match="but not private key file"):
        secured.ask("cert_user", words)
    key.mkdir()
    with pytest.raises(DriverError, match="is not a regular file"):
        secured.ask("cert_user", words)


def test_a_key_of_another_certificate_is_seen_before_the_start(
    secured: Secured, tmp_path: Path
) -> None:
    certificate, _ = secured.root.sign("cert_user").save(tmp_path, "mine")
    _, key = secured.root.sign("cert_user").save(tmp_path, "other")
    with pytest.raises(DriverError, match="could not use certificate file"):
        secured.ask("cert_user", f"sslmode=require sslcert={certificate} sslkey={key}")


@pytest.mark.parametrize("hashed", [hashes.SHA256(), hashes.SHA384(), hashes.SHA512()])
def test_a_password_is_proved_for_this_connection_alone(
    secured: Secured, hashed: hashes.HashAlgorithm
) -> None:
    secured.present(secured.root.sign("localhost", "localhost", hashed=hashed))
    for binding in ("require", "prefer", "disable"):
        words = f"sslmode=require channel_binding={binding} password='{_quoted()}'"
        assert secured.ask("scram_user", words)[0] == "t"
    with pytest.raises(DriverError, match="password authentication failed"):
        secured.ask("scram_user", "sslmode=require channel_binding=require password=wrong")


def test_a_required_binding_is_not_given_up(secured: Secured) -> None:
    with pytest.raises(DriverError, match="channel binding is required"):
        secured.ask("tls_user", "sslmode=require channel_binding=require")
    words = f"sslmode=disable channel_binding=require password='{_quoted()}'"
    with pytest.raises(DriverError, match="channel binding is required"):
        secured.ask("scram_user", words)


@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_load_goes_through_encryption_unharmed(secured: Secured, io: str) -> None:
    class Plan(DrivePlan):
        def to_json(self) -> dict[str, Any]:
            return super().to_json() | {"io": io}

    long = "SELECT repeat('x', 100000), length('" + "y" * 300_000 + "');"
    scripts = (DriveScript("short", "SELECT 1;", rows=1), DriveScript("long", long, rows=1))
    arm = DriveArm("target", read_target(secured.conninfo("tls_user", "sslmode=require")), 4)
    with Driver.start(Plan(arms=(arm,), scripts=scripts, threads=2)) as driver:
        assert (driver.encryption["target"] or "").startswith("TLSv1.3 TLS_")
        slices = list(driver.run([SliceRequest(arm=0, each=20)] * 2))
    for driven in slices:
        assert (driven.transactions, driven.wrong_rows, driven.errors) == (80, 0, {})


def test_control_sessions_are_encrypted_and_verified_as_the_load_is(secured: Secured) -> None:
    words = f"sslmode=verify-full sslrootcert={secured.files}/root.crt"
    with connected(read_target(secured.conninfo("tls_user", words))) as session:
        row = session.execute(WHO.encode()).fetchone()
    assert row is not None
    assert row[0] is True
    target = read_target(secured.conninfo("tls_user", words, host="elsewhere"))
    with pytest.raises(ServerError, match="elsewhere"), connected(target):
        pass
    target = read_target(secured.conninfo("tls_user", "sslmode=disable"))
    with pytest.raises(ServerError, match="tls_user"), connected(target):
        pass  # its line of pg_hba.conf wants encryption


def test_a_silent_encrypted_server_is_cancelled_through_encryption(secured: Secured) -> None:
    arm = DriveArm("target", read_target(secured.conninfo("tls_user", "sslmode=require")), 1)
    script = DriveScript("stuck", "SELECT pg_sleep(3600) AS stuck;")
    plan = DrivePlan(arms=(arm,), scripts=(script,), drain_cap_ns=50_000_000)
    with Driver.start(plan) as driver:
        (driven,) = driver.run([SliceRequest(arm=0, length_ns=50_000_000)])
        assert driven.capped == 1
    stuck = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query ~ 'AS stuck'"
    with psycopg.connect(conninfo_of(secured.cluster.address), autocommit=True) as connection:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = connection.execute(f"{stuck} AND pid <> pg_backend_pid()".encode()).fetchone()
            if found == (0,):
                break
            time.sleep(0.02)
    assert found == (0,)


def test_a_server_without_encryption_is_used_plain_or_refused(server: Server) -> None:
    address = server.address
    where = f"host=127.0.0.1 port={address.port} user={address.user} dbname={address.database}"

    def ask(mode: str) -> list[str | None]:
        arm = DriveArm("target", read_target(f"{where} sslmode={mode}"), 1)
        return _core.ask(json.dumps(arm.to_json()), WHO)[0]

    assert ask("prefer")[0] == ask("allow")[0] == "f"
    with pytest.raises(DriverError, match="does not support encryption, which sslmode requires"):
        ask("require")


def _quoted() -> str:
    return PASSWORD.replace("'", "\\'")
