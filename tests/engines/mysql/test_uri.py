"""URIs of MySQL and MariaDB servers are read in the words of their clients."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.engines.mysql.uri import is_mysql, read_uri
from steelyard.model.endpoint import MYSQL
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret


def test_a_uri_is_told_from_libpqs() -> None:
    assert is_mysql("mysql://u@h/d")
    assert is_mysql("MariaDB://h")
    assert not is_mysql("postgresql://u@h/d")
    assert not is_mysql("mysql")
    assert not is_mysql("host=mysql://")


def test_every_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "from outside")
    monkeypatch.delenv("MYSQL_TCP_PORT", raising=False)
    words = "connect-timeout=5&ssl-mode=disabled"
    found = read_uri(f"mysql://a%40b:p%3Aw@db.example:3307/shop?{words}")
    assert (found.user, found.password) == ("a@b", Secret("p:w"))
    assert (found.host, found.port) == ("db.example", 3307)
    assert (found.database, found.tls, found.connect_timeout_ns) == ("shop", None, 5_000_000_000)
    assert found.protocol == MYSQL
    assert "p:w" not in repr(found)
    bare = read_uri("mariadb://db.example")
    assert (bare.port, bare.database) == (3306, "")
    assert bare.password == Secret("from outside")


@pytest.mark.parametrize("target", ["mysql://db.example/d", "mariadb://:p@db.example/d"])
def test_a_user_that_is_not_named_is_that_of_the_process(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """As their clients do: another one's grants would be tried, and weighed."""
    asked: list[int] = []

    def entry(number: int) -> SimpleNamespace:
        asked.append(number)
        return SimpleNamespace(pw_name="ann")

    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setattr(pwd, "getpwuid", entry)
    assert read_uri(target).user == "ann"
    assert asked == [1234]
    assert read_uri("mysql://app@db.example/d").user == "app"


def test_a_process_without_a_name_has_to_name_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry(number: int) -> SimpleNamespace:
        raise KeyError(number)

    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    with pytest.raises(UsageError, match="no user: user id 1234 has no name") as refused:
        read_uri("mysql://db.example/d")
    assert refused.value.hint == "Name one: mysql://user@host/database"
    assert read_uri("mysql://app@db.example/d").user == "app"


@pytest.mark.parametrize(
    ("target", "variable", "port"),
    [
        ("mysql://u@h/d", "3310", 3310),
        ("mysql://u@h:3307/d", "3310", 3307),
        ("mysql://u@h/d", "", 3306),
    ],
)
def test_a_port_that_is_not_named_is_the_clients_own(
    monkeypatch: pytest.MonkeyPatch, target: str, variable: str, port: int
) -> None:
    monkeypatch.setenv("MYSQL_TCP_PORT", variable)
    assert read_uri(target).port == port


@pytest.mark.parametrize("variable", ["mysql", "0", "65536", "-1", "3306 ", "٣٣٠٦"])
def test_a_port_of_the_environment_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("MYSQL_TCP_PORT", variable)
    with pytest.raises(UsageError, match="invalid port in MYSQL_TCP_PORT") as refused:
        read_uri("mysql://u@h/d")
    assert "Unset it" in (refused.value.hint or "")


def test_a_socket_is_its_path_and_never_encrypted() -> None:
    found = read_uri("mysql://root@/d?socket=/run/mysqld/mysqld.sock&ssl-mode=required")
    assert (found.host, found.tls) == ("/run/mysqld/mysqld.sock", None)
    assert read_uri("mysql://root@localhost/d?socket=/s").host == "/s"


@pytest.mark.parametrize(
    ("asked", "mode", "system"),
    [
        ("", "prefer", False),
        ("?ssl-mode=PREFERRED", "prefer", False),
        ("?ssl-mode=required", "require", False),
        ("?ssl-mode=verify-ca", "verify-ca", True),
        ("?ssl-mode=verify_identity", "verify-full", True),
    ],
)
def test_encryption_is_asked_for_in_mysqls_words(asked: str, mode: str, system: bool) -> None:
    tls = read_uri(f"mysql://u@h/d{asked}").tls
    assert tls is not None
    assert (tls.mode, tls.system_roots, tls.server_name) == (mode, system, "h")


def test_a_file_of_roots_takes_the_place_of_the_systems(tmp_path: Path) -> None:
    roots = tmp_path / "ca.pem"
    roots.write_text("")
    tls = read_uri(f"mysql://u@h/d?ssl-mode=verify-ca&ssl-ca={roots}").tls
    assert tls is not None
    assert (tls.roots, tls.system_roots) == (str(roots), False)
    alone = read_uri(f"mysql://u@h/d?ssl-ca={roots}").tls
    assert alone is not None
    assert (alone.mode, alone.roots, alone.system_roots) == ("verify-ca", str(roots), False)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mysql://u:secret@/d", 'no address: "mysql://…@/d"'),
        ("mysql://u@h/d?socket=/s", "two addresses"),
        ("mysql://u@/d?socket=relative", "begins with /"),
        ("mysql://u@h:port/d", "invalid URI"),
        ("mysql://u@h/d?sslmode=require", 'invalid word in the URI of a server: "sslmode"'),
        ("mysql://u@h/d?ssl-mode=always", 'invalid ssl-mode: "always"'),
        ("mysql://u@h/d?ssl-ca=/there/is/none", "could not read ssl-ca"),
        ("mysql://u@h/d?ssl-mode=preferred&ssl-ca=/ca", "ssl-mode=preferred may leave ssl-ca"),
        ("mysql://u@h/d?ssl-mode=disabled&ssl-ca=/ca", "ssl-mode=disabled may leave ssl-ca"),
        ("mysql://u@h/d?ssl-cert=/crt&ssl-key=/key", "ssl-mode=preferred may leave ssl-cert"),
        ("mysql://u@h/d?ssl-mode=disabled&ssl-key=/key", "ssl-mode=disabled may leave ssl-key"),
        ("mysql://u@h/d?connect-timeout=0", "invalid connect-timeout"),
    ],
)
def test_what_is_no_uri_is_refused_without_its_password(target: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_uri(target)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
