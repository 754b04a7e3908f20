"""URIs of SQL Servers are read in the words of Microsoft's drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.sqlserver.uri import is_sqlserver, read_uri
from steelyard.model.endpoint import SQLSERVER
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret


def test_a_uri_is_told_from_others() -> None:
    assert is_sqlserver("SQLServer://u@h/d")
    assert not is_sqlserver("mysql://u@h/d")
    assert not is_sqlserver("sqlserver")


def test_every_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "from outside")
    found = read_uri("sqlserver://a%40b:p%3Aw@db.example:1444/shop?connect-timeout=5")
    assert (found.user, found.password) == ("a@b", Secret("p:w"))
    assert (found.host, found.port, found.database) == ("db.example", 1444, "shop")
    assert (found.connect_timeout_ns, found.protocol) == (5_000_000_000, SQLSERVER)
    assert "p:w" not in repr(found)
    bare = read_uri("sqlserver://u@db.example")
    assert (bare.port, bare.database, bare.password) == (1433, "", Secret("from outside"))


@pytest.mark.parametrize(
    ("asked", "mode", "direct", "system"),
    [
        ("", "verify-full", False, True),
        ("?encrypt=true", "verify-full", False, True),
        ("?encrypt=Strict", "verify-full", True, True),
        ("?trust-server-certificate=yes", "require", False, False),
        ("?Encrypt=yes&TrustServerCertificate=true", "require", False, False),
    ],
)
def test_everything_is_encrypted_unless_said_otherwise(
    asked: str, mode: str, direct: bool, system: bool
) -> None:
    tls = read_uri(f"sqlserver://u@h/d{asked}").tls
    assert tls is not None
    assert (tls.mode, tls.direct, tls.system_roots) == (mode, direct, system)
    assert tls.server_name == "h"
    assert read_uri("sqlserver://u@h/d?encrypt=disable").tls is None
    unnamed = read_uri("sqlserver://u@h/d?host-name-in-certificate=").tls
    assert unnamed is not None
    assert unnamed.server_name == "h"


def test_a_certificate_takes_the_place_of_the_systems(tmp_path: Path) -> None:
    roots = tmp_path / "ca.pem"
    roots.write_text("")
    words = f"certificate={roots}&host-name-in-certificate=other"
    tls = read_uri(f"sqlserver://u@h/d?{words}").tls
    assert tls is not None
    assert (tls.roots, tls.system_roots, tls.server_name) == (str(roots), False, "other")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sqlserver:///d", "no address"),
        ("sqlserver://h/d", "no user"),
        ("sqlserver://u@h:99999/d", "invalid URI"),
        ("sqlserver://u@h/instance/d", "instances"),
        ("sqlserver://u@h/d?encrypt=false", "the login alone"),
        ("sqlserver://u@h/d?encrypt=perhaps", "invalid encrypt"),
        ("sqlserver://u@h/d?sslmode=require", 'invalid word in the URI of a server: "sslmode"'),
        ("sqlserver://u@h/d?certificate=/no/such", "there is no such file"),
        ("sqlserver://u@h/d?encrypt=strict&trust-server-certificate=yes", "unread"),
        ("sqlserver://u@h/d?trust-server-certificate=perhaps", "accepted: yes, no"),
        ("sqlserver://u@h/d?connect-timeout=0", "accepted: whole seconds"),
        ("sqlserver://u@h/d?connect-timeout=99999999999", "accepted: whole seconds"),
        ("sqlserver://u@h\\express/d", "instances"),
        ("sqlserver://u@h/d?encrypt=disable&host-name-in-certificate=x", "host-name.* unread"),
    ],
)
def test_what_is_wrong_is_said(target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_uri(target)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(UsageError) as refused:
        read_uri("sqlserver://u:secret@:1433/d")
    assert "secret" not in str(refused.value)
