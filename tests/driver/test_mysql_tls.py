"""Encrypted connections to MySQL and MariaDB: who is believed, and where a password goes."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.mysql_double import PASSWORD, Double
from driver.mysql_over_tcp import OverTcp, listening
from driver.secured import Certified, authority
from own_cache import open_directory
from thinned import thinned

START = "from steelyard.cli.app import main; main()"
PRODUCTS = ("mysql-5.7", "mariadb-10.11")


def called(uri: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, "drive", uri, "-f", "-", "--json", *words]
    return subprocess.run(command, input="SELECT 1;\n", capture_output=True, text=True, check=False)


def encryption(uri: str, *words: str) -> str | None:
    done = called(uri, "-t", "20", "-c", "2", "-M", "prepared", *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["transactions"], summary["errors"]) == (40, {})
    found: str | None = summary["encryption"]
    return found


@pytest.fixture(scope="module")
def signer() -> Certified:
    return authority("signer of tests")


@pytest.fixture(scope="module")
def files(signer: Certified, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the root that signed, in ca.pem, and another one, in other.pem."""
    made = tmp_path_factory.mktemp("roots")
    (made / "ca.pem").write_bytes(signer.pem)
    (made / "other.pem").write_bytes(authority("another").pem)
    return made


@pytest.fixture
def encrypts(signer: Certified, tmp_path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = signer.sign("double", "127.0.0.1").save(tmp_path, "server")
    context.load_cert_chain(certificate, key)
    return context


@thinned("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], 1)
def test_the_greeting_is_in_plain_text_and_all_else_encrypted(
    encrypts: ssl.SSLContext, files: Path, version: ssl.TLSVersion
) -> None:
    encrypts.minimum_version = encrypts.maximum_version = version
    with Double(context=encrypts).running() as double:
        for words in ("", "ssl-mode=required", f"ssl-mode=verify_identity&ssl-ca={files}/ca.pem"):
            done = called(double.uri(words), "-t", "2")
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["encryption"].startswith(f"TLSv1.{int(version) - 0x301}")
        assert set(double.encrypted) == {True}
        assert called(double.uri("ssl-mode=disabled"), "-t", "2").returncode == 0
        assert double.encrypted[-1] is False


@thinned(
    ("words", "said"),
    [
        ("ssl-mode=verify_ca&ssl-ca={}/other.pem", "signed by none of the trusted ones"),
        ("ssl-mode=verify_identity&ssl-ca={}/ca.pem", "does not match host name"),
    ],
    1,
)
def test_a_server_that_is_not_believed_gets_no_proof(
    signer: Certified, files: Path, tmp_path: Path, words: str, said: str
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*signer.sign("double", "elsewhere.example").save(tmp_path, "server"))
    with Double(context=context).running() as double:
        refused = called(double.uri(words.format(files)), "-t", "1")
        assert refused.returncode == 3
        assert said in refused.stderr
        assert double.answers == []


@pytest.mark.long
def test_encryption_that_is_required_is_not_given_up() -> None:
    with Double().running() as double:
        refused = called(double.uri("ssl-mode=required"), "-t", "1")
        assert refused.returncode == 3
        assert double.answers == []
        assert called(double.uri(), "-t", "1").returncode == 0


@thinned("words", ["ssl-mode=disabled", "", "ssl-mode=required"], 1)
def test_the_password_itself_goes_to_no_server_that_was_not_verified(
    encrypts: ssl.SSLContext, words: str
) -> None:
    with Double(switch="mysql_clear_password", context=encrypts).running() as double:
        refused = called(double.uri(words), "-t", "1")
        assert refused.returncode == 3
        assert "an encrypted connection whose certificate is verified" in refused.stderr
        assert not [answer for answer in double.answers if PASSWORD.encode() in answer]


def test_the_password_itself_goes_to_a_server_that_was_verified(
    encrypts: ssl.SSLContext, files: Path
) -> None:
    with Double(switch="mysql_clear_password", context=encrypts).running() as double:
        done = called(double.uri(f"ssl-mode=verify_ca&ssl-ca={files}/ca.pem"), "-t", "1")
        assert done.returncode == 0, done.stderr
        assert double.answers[1] == PASSWORD.encode() + b"\0"


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest, signer: Certified) -> Iterator[OverTcp]:
    with (
        open_directory() as home,
        listening(request.param, home, signer.sign("real", "127.0.0.1")) as running,
    ):
        yield running


@pytest.mark.long
def test_a_real_server_is_driven_encrypted(server: OverTcp, files: Path) -> None:
    verified = f"ssl-mode=verify_identity&ssl-ca={files}/ca.pem"
    for words in ("", "ssl-mode=required", verified):
        assert (encryption(server.uri(words)) or "").startswith("TLSv1.")
    assert encryption(server.uri("ssl-mode=disabled")) is None
    # A connection for each transaction, and one beside it that ends a statement.
    assert (encryption(server.uri(verified), "-C") or "").startswith("TLSv1.")
    refused = called(server.uri(f"ssl-mode=verify_ca&ssl-ca={files}/other.pem"), "-t", "1")
    assert "signed by none of the trusted ones" in refused.stderr


@pytest.mark.long
def test_an_account_that_must_be_encrypted_is(server: OverTcp, files: Path) -> None:
    server.words("ALTER USER app@'127.0.0.1' REQUIRE SSL")
    try:
        refused = called(server.uri("ssl-mode=disabled"), "-t", "1")
        assert "Access denied" in refused.stderr
        assert encryption(server.uri()) is not None
    finally:
        server.words("ALTER USER app@'127.0.0.1' REQUIRE NONE")
