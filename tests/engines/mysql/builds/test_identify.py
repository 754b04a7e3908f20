"""What a server says of itself, and what its file tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_packages import installed, npm_files, program
from steelyard.engines.account import Account
from steelyard.engines.mysql.builds.build import Build, build_in, identify, version_number
from steelyard.model.errors import EngineError


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
