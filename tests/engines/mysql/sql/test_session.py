"""Control connections: a password goes only where it is safe, and no answer is awaited for ever."""

from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path

import pytest
from pymysql import _auth

from driver.mysql_double import NONCE, PASSWORD, Double
from driver.secured import Certified, authority
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import ServerError

CLEAR = PASSWORD.encode() + b"\0"
FULL = (b"\1\4",)
"""caching_sha2_password does not have the password in its cache."""


@pytest.fixture(scope="module")
def signer() -> Certified:
    return authority("signer of tests")


@pytest.fixture
def roots(signer: Certified, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    path.write_bytes(signer.pem)
    return path


@pytest.fixture
def encrypts(signer: Certified, tmp_path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = signer.sign("double", "127.0.0.1").save(tmp_path, "server")
    context.load_cert_chain(certificate, key)
    return context


def query(double: Double, words: str = "", password: str = PASSWORD) -> None:
    with connected(read_uri(double.uri(words, password))) as connection:
        rows_of(connection, "DO 1")


def require_refused(double: Double, words: str, plugin: str) -> None:
    with double.running(), pytest.raises(ServerError) as refused:
        query(double, words)
    assert f"the password itself ({plugin}" in (refused.value.detail or "")
    assert double.queries == []
    assert not [answer for answer in double.answers if PASSWORD.encode() in answer]


@pytest.mark.parametrize("plugin", ["mysql_clear_password", "dialog"])
@pytest.mark.parametrize("words", ["ssl-mode=disabled", "", "ssl-mode=required"])
def test_a_server_that_anything_could_pose_as_gets_no_password(
    plugin: str, words: str, encrypts: ssl.SSLContext
) -> None:
    require_refused(Double(switch=plugin, context=encrypts), words, plugin)


def test_a_server_whose_certificate_was_verified_gets_it(
    encrypts: ssl.SSLContext, roots: Path
) -> None:
    words = f"ssl-mode=verify_identity&ssl-ca={roots}"
    with Double(switch="mysql_clear_password", context=encrypts).running() as double:
        query(double, words)
    assert double.answers[1] == CLEAR
    assert double.encrypted == [True]


@pytest.mark.parametrize(
    "mode", ["", *(f"ssl-mode={word}&" for word in ("required", "verify_ca", "verify_identity"))]
)
def test_a_server_that_another_authority_signed_is_refused_and_gets_no_proof(
    mode: str, encrypts: ssl.SSLContext, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(authority("another").pem)
    with (
        Double(context=encrypts).running() as double,
        pytest.raises(ServerError, match="could not work on") as refused,
    ):
        query(double, f"{mode}ssl-ca={other}")
    assert "certificate verify failed" in (refused.value.detail or "")
    assert double.answers == []


@pytest.mark.parametrize("mode", ["", "ssl-mode=required&", "ssl-mode=verify_identity&"])
def test_a_server_that_wants_a_certificate_gets_the_clients(
    mode: str, encrypts: ssl.SSLContext, signer: Certified, roots: Path, tmp_path: Path
) -> None:
    encrypts.load_verify_locations(roots)
    encrypts.verify_mode = ssl.CERT_REQUIRED
    certificate, key = signer.sign("app").save(tmp_path, "client")
    with Double(context=encrypts).running() as double:
        query(double, f"{mode}ssl-ca={roots}&ssl-cert={certificate}&ssl-key={key}")
    assert double.encrypted == [True]


@pytest.mark.parametrize("greets", ["mysql_native_password", "caching_sha2_password"])
def test_a_key_that_came_over_an_open_network_is_not_trusted(greets: str) -> None:
    double = Double(greets=greets, switch="caching_sha2_password", asks=FULL)
    require_refused(double, "", "caching_sha2_password")
    proof = _auth.scramble_caching_sha2(PASSWORD.encode(), NONCE)
    assert double.answers[1:] == [proof]  # and no request for a key
    double = Double(greets="sha256_password", switch="sha256_password")
    require_refused(double, "", "sha256_password")


def test_a_proof_is_enough_while_the_server_has_the_password_in_its_cache() -> None:
    with Double(switch="caching_sha2_password", asks=(b"\1\3",)).running() as double:
        query(double)
    assert "DO 1" in double.queries


@pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])
def test_the_password_goes_through_an_encrypted_connection(
    plugin: str, encrypts: ssl.SSLContext
) -> None:
    asks = FULL if plugin.startswith("caching") else ()
    with Double(switch=plugin, asks=asks, context=encrypts).running() as double:
        query(double, "ssl-mode=required")
    assert double.answers[-1] == CLEAR


@pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])
def test_a_user_without_a_password_is_let_in_over_plain_tcp(plugin: str) -> None:
    with Double(switch=plugin).running() as double:
        query(double, password="")
    assert "DO 1" in double.queries


def test_a_plugin_that_is_not_known_is_an_error_in_words() -> None:
    with Double(switch="mysql_old_password").running() as double, pytest.raises(ServerError) as no:
        query(double)
    assert "mysql_old_password, which is not known here" in (no.value.detail or "")


def test_a_server_that_can_encrypt_is_encrypted_with_and_the_proof_is_of_utf_8(
    encrypts: ssl.SSLContext,
) -> None:
    with Double(context=encrypts).running() as double:
        query(double)
        query(double, "ssl-mode=disabled")
    assert double.encrypted == [True, False]
    proof = _auth.scramble_native_password(PASSWORD.encode(), NONCE)
    assert double.answers == [proof, proof]


def test_encryption_that_is_required_is_not_given_up(encrypts: ssl.SSLContext) -> None:
    with Double().running() as double, pytest.raises(ServerError, match="could not work on"):
        query(double, "ssl-mode=required")
    assert double.answers == []


def test_an_answer_that_does_not_come_is_not_awaited_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = Endpoint("127.0.0.1", mute.getsockname()[1], "root", "", protocol=MYSQL)
        began = time.monotonic()
        with pytest.raises(ServerError) as late, connected(address, read_s=0.2):
            raise AssertionError("it is connected")
    assert "timed out" in (late.value.detail or "")
    assert time.monotonic() - began < 30
