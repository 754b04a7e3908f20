"""Where the server of an installation is, what belongs to it, and what it says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_packages import debian_files, installed, npm_files, program
from steelyard.engines.account import Account
from steelyard.engines.mysql.builds.build import (
    MARIADB,
    MYSQL,
    Build,
    build_in,
    identify,
    server_in,
    version_number,
)
from steelyard.model.errors import EngineError

ERRMSG = "english/errmsg.sys"


@pytest.mark.parametrize(
    ("server", "share", "named", "base"),
    [
        ("usr/sbin/mariadbd", "usr/share/mysql", ".", "usr"),
        ("usr/sbin/mysqld", "usr/share/mysql", "usr/sbin", "usr"),
        ("usr/libexec/mariadbd", "usr/share/mariadb", ".", "usr"),
        ("usr/sbin/mysqld", "usr/share/mysql-8.4", ".", "usr"),
        ("bin/mysqld", "share", ".", "."),
        ("bin/mysqld", "share", "bin", "."),
        ("mysqld", "share/mysql", ".", "."),
    ],
)
def test_an_installation_is_found_from_its_top_or_from_its_programs(
    tmp_path: Path, server: str, share: str, named: str, base: str
) -> None:
    installed(tmp_path, {server: b"#!", f"{share}/{ERRMSG}": b""})
    build = build_in(tmp_path / named)
    assert build.server == tmp_path / server
    assert build.base == tmp_path / base
    assert build.share == tmp_path / share
    assert build.product == (MARIADB if "mariadb" in server else MYSQL)
    assert build.environment == {}


def test_of_two_names_for_one_server_the_newer_tells_the_product(tmp_path: Path) -> None:
    installed(tmp_path, debian_files("10.11.19"))
    (tmp_path / "usr/sbin/mysqld").symlink_to("mariadbd")
    assert build_in(tmp_path).server.name == "mariadbd"
    assert build_in(tmp_path).product == MARIADB


def test_a_directory_without_a_server_is_refused_with_what_to_name(tmp_path: Path) -> None:
    assert server_in(tmp_path) is None
    with pytest.raises(EngineError, match="no MySQL and no MariaDB") as caught:
        build_in(tmp_path)
    assert "/usr/sbin" in (caught.value.hint or "")


def test_a_server_without_its_messages_is_refused(tmp_path: Path) -> None:
    files = {name: text for name, text in npm_files("5.7.29").items() if "errmsg" not in name}
    with pytest.raises(EngineError, match='share" is missing'):
        build_in(installed(tmp_path, files) / "package/server")


def saying(place: Path, content: bytes) -> Build:
    """A build whose server is this program."""
    return build_in(installed(place, {**npm_files("5.7.29"), "package/server/mysqld": content})
                    / "package/server")  # fmt: skip


@pytest.mark.parametrize(
    ("says", "kind", "version", "number", "assertions"),
    [
        ("Ver 5.7.29 for Linux on x86_64 (MySQL Community Server (GPL))",
         "mysql", "5.7.29", 50729, False),
        ("Ver 5.7.29-debug for Linux on x86_64 (Source distribution)",
         "mysql", "5.7.29", 50729, True),
        ("Ver 8.0.36-0ubuntu0.22.04.1 for Linux on x86_64 ((Ubuntu))",
         "mysql", "8.0.36", 80036, False),
        ("Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)",
         "mysql", "8.0.36-28", 80036, False),
        ("Ver 8.0.36-28.1-debug for Linux on x86_64 (Source distribution)",
         "mysql", "8.0.36-28.1", 80036, True),
        ("Ver 8.0.36-1 for Linux on x86_64 ((Debian))", "mysql", "8.0.36", 80036, False),
        ("Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
         "mariadb", "10.11.19", 101119, False),
        ("Ver 11.4.2-MariaDB-debug for Linux on x86_64 (Source distribution)",
         "mariadb", "11.4.2", 110402, True),
    ],
)  # fmt: skip
def test_product_version_and_debugging_are_what_the_server_says(
    place: Path, account: Account, says: str, kind: str, version: str, number: int, assertions: bool
) -> None:
    identity = identify(saying(place, program(says)), account)
    assert (identity.kind, identity.version) == (kind, version)
    assert identity.version_number == number == version_number(version)
    assert identity.assertions == assertions
    assert identity.bindir == str(place / "package/server")
    assert identity.builder == ""


@pytest.mark.parametrize(
    "compiler", ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", "clang version 17.0.6 (Fedora)"]
)
def test_the_compiler_is_read_from_the_file_where_it_was_left(
    place: Path, account: Account, compiler: str
) -> None:
    content = program("Ver 8.4.0 for Linux on x86_64 (x)") + b"exit\n\0" + compiler.encode() + b"\0"
    assert identify(saying(place, content), account).builder == compiler


def test_a_server_that_was_built_again_is_seen_anew(place: Path, account: Account) -> None:
    build = saying(place, program("Ver 8.4.0 for Linux on x86_64 (x)"))
    assert identify(build, account).version == "8.4.0"
    build.server.write_bytes(program("Ver 8.4.10 for Linux on x86_64 (x)"))
    assert identify(build, account).version == "8.4.10"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"#!/bin/sh\necho libaio.so.1: cannot open; exit 127\n", "libaio.so.1: cannot open"),
        (b"#!/bin/sh\necho this is no server\n", "this is no server"),
        (b"#!/bin/sh\nexit 3\n", "status 3"),
    ],
)
def test_a_server_that_does_not_run_is_refused_in_its_own_words(
    place: Path, account: Account, content: bytes, words: str
) -> None:
    with pytest.raises(EngineError, match="could not identify server") as caught:
        identify(saying(place, content), account)
    assert words in (caught.value.detail or "")
