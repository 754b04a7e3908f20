"""Finding the builds of MySQL and MariaDB that a study asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engines.mysql.fake_packages import MYSQL_SAYS, debian_files, installed, npm_files, program
from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import Cache
from steelyard.engines.mysql.builds import find
from steelyard.engines.mysql.builds.added import add_directory
from steelyard.engines.mysql.builds.build import Build, identify
from steelyard.engines.mysql.builds.find import (
    DiscoveredBuild,
    discover_in,
    discovered,
    select_builds,
)
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity
from thinned import thinned


@pytest.fixture
def added(place: Path, cache: Cache, account: Account) -> Sequence[DiscoveredBuild]:
    """MySQL 5.7.29 and 8.4.1 by one compiler, another 5.7.29, and MariaDB, each in a directory."""
    compiler = b"exit\n\0GCC: (GNU) 13.1\0"
    for name, version, more in (
        *(("plain", "5.7.29", b""), ("zgcc", "5.7.29", compiler), ("new", "8.4.1", compiler)),
    ):
        said = program(MYSQL_SAYS.format(version)) + more
        files = {**npm_files(version), "package/server/mysqld": said}
        add_directory(installed(place / name, files) / "package/server", name, account, cache)
    add_directory(installed(place / "maria", debian_files("10.11.19")), "maria", account, cache)
    return discovered()


def test_builds_are_listed_by_product_newest_first(added: Sequence[DiscoveredBuild]) -> None:
    assert [each.name for each in added] == ["new", "plain", "zgcc", "maria"]
    assert {each.provenance.licence for each in added} == {"GPLv2"}


@thinned(
    ("word", "kind", "version"),
    [
        ("5.7", "mysql", "5.7.29"),
        ("5.7.29", "mysql", "5.7.29"),
        ("mysql-5.7", "mysql", "5.7.29"),
        ("mysql-8", "mysql", "8.4.1"),
        ("new", "mysql", "8.4.1"),
        ("10.11", "mariadb", "10.11.19"),
        ("mariadb-10.11", "mariadb", "10.11.19"),
        ("mariadb-10.11.19", "mariadb", "10.11.19"),
    ],
    2,
)
def test_a_build_answers_to_its_series_with_or_without_its_product(
    added: Sequence[DiscoveredBuild], account: Account, word: str, kind: str, version: str
) -> None:
    [usable] = select_builds([BuildRequest(word)])
    assert (usable.identity.kind, usable.identity.version) == (kind, version)
    assert usable.build.product == kind
    assert usable.account == account


@thinned("word", ["5", "mariadb-5.7", "5.7.2", "mysql-10.11", "10.1", "mysql", ""], 1)
def test_other_words_are_answered_with_what_is_found_and_how_to_add(
    added: Sequence[DiscoveredBuild], word: str
) -> None:
    if word == "5":
        assert select_builds([BuildRequest(word)])[0].identity.version == "5.7.29"
        return
    with pytest.raises(EngineError) as caught:
        select_builds([BuildRequest(word)])
    assert caught.value.primary == f'no MySQL and no MariaDB "{word}" is found on this machine'
    assert "MySQL 8.4.1 (bindir, " in (caught.value.detail or "")
    assert "MariaDB 10.11.19 (bindir, " in (caught.value.detail or "")
    assert "`steelyard engines add mysql-5.7`" in (caught.value.hint or "")


def test_without_any_build_the_error_says_so(cache: Cache) -> None:
    with pytest.raises(EngineError) as caught:
        select_builds([BuildRequest("mysql-5.7")])
    assert caught.value.detail == "No MySQL and no MariaDB is found at all."


def test_arms_come_from_one_builder_where_that_is_possible_in_their_order(
    added: Sequence[DiscoveredBuild],
) -> None:
    alone = select_builds([BuildRequest("5.7")])
    assert alone[0].identity.builder == ""
    older, newer = select_builds([BuildRequest("5.7"), BuildRequest("8.4")])
    assert (older.identity.version, newer.identity.version) == ("5.7.29", "8.4.1")
    assert older.identity.builder == newer.identity.builder == "GCC: (GNU) 13.1"
    products = select_builds([BuildRequest("mariadb-10.11"), BuildRequest("mysql-5.7")])
    assert [each.identity.kind for each in products] == ["mariadb", "mysql"]


def test_an_explicit_directory_decides_whatever_the_version(cache: Cache, place: Path) -> None:
    tree = installed(place / "it", npm_files("5.7.29")) / "package/server"
    (tree / "mysqld").write_bytes(program("Ver 10.3.2-MariaDB for Linux on x86_64 (x)"))
    [usable] = select_builds([BuildRequest("8.0", tree)])
    assert (usable.build.server, usable.build.origin) == (tree / "mysqld", "bindir")
    assert usable.build.product == usable.identity.kind == "mariadb", "what it says decides"
    assert discover_in(tree).identity == usable.identity
    with pytest.raises(EngineError, match="no MySQL and no MariaDB in directory"):
        select_builds([BuildRequest("8.0", place)])


def test_an_installed_server_is_found_once_and_one_that_does_not_run_is_not(
    cache: Cache, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = installed(place / "root", debian_files("10.11.19"))
    (root / "usr/sbin/mysqld").symlink_to("mariadbd")
    installed(root, {"opt/bin/mysqld": b"#!/bin/sh\nexit 1\n", "opt/share/english/errmsg.sys": b""})
    places = tuple(str(root.relative_to("/") / name) for name in ("usr/sbin", "opt/bin"))
    monkeypatch.setattr(find, "SYSTEM_PLACES", places)
    [found] = discovered()
    assert found.name == "system-mariadb-10.11.19"
    assert (found.build.origin, found.build.product) == ("system", "mariadb")
    assert found.provenance.publisher == ""
    assert select_builds([BuildRequest(found.name)])[0].build.server == root / "usr/sbin/mariadbd"


def test_root_executes_an_installed_server_as_the_account_of_servers(
    cache: Cache, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = installed(place / "root", debian_files("10.11.19"))
    monkeypatch.setattr(find, "SYSTEM_PLACES", (str(root.relative_to("/") / "usr/sbin"),))
    asked: list[Account] = []

    def noted(build: Build, account: Account) -> Identity:
        asked.append(account)
        return identify(build, account)

    monkeypatch.setattr(find, "identify", noted)
    [found] = discovered()
    assert found.identity.version == "10.11.19"
    assert asked == [choose_account()]
    assert asked[0].uid != 0
