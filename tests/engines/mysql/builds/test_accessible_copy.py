"""Builds that the server's account may not read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from engines.mysql.fake_packages import installed, npm_files
from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import Cache, entries
from steelyard.engines.mysql.builds.build import accessible_build, build_in
from steelyard.engines.mysql.builds.find import select_builds
from steelyard.model.errors import EngineError

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can hide files from its servers"
)


@pytest.fixture
def hidden(place: Path) -> Path:
    """An installation that only root can enter, with libraries of its own."""
    tree = installed(place / "private" / "mysql", {
        "bin/mysqld": npm_files("8.4.1")["package/server/mysqld"],
        "share/english/errmsg.sys": b"messages",
        "lib/private/libprotobuf.so.24": b"library",
        "mysql-test/large": b"x",
    })  # fmt: skip
    (place / "private").chmod(0o700)
    return tree


def test_a_build_that_the_account_can_read_is_used_where_it_is(
    place: Path, cache: Cache, account: Account
) -> None:
    build = build_in(installed(place / "open", npm_files("5.7.29")) / "package/server")
    assert accessible_build(build, account, cache) == build
    assert entries(cache.binaries) == []


def test_a_hidden_build_is_copied_once_and_runs(
    hidden: Path, cache: Cache, account: Account
) -> None:
    [first] = select_builds([BuildRequest("", hidden)])
    build = first.build
    assert build.server.is_relative_to(cache.binaries)
    assert first.identity.bindir == str(build.server.parent)
    assert first.identity.version == "8.4.1"
    assert (build.share / "english/errmsg.sys").read_bytes() == b"messages"
    assert build.environment["LD_LIBRARY_PATH"].endswith(f"{build.base}/lib/private")
    assert not (build.base / "mysql-test").exists(), "what a server needs, and no more"
    assert select_builds([BuildRequest("", hidden)]) == [first]
    assert len(entries(cache.binaries)) == 1


def test_libraries_that_stand_elsewhere_are_copied_too(
    hidden: Path, place: Path, cache: Cache, account: Account
) -> None:
    elsewhere = installed(place / "private" / "libraries", {"libaio.so.1": b"library"})
    build = replace(build_in(hidden), libraries=(elsewhere,))
    copied = accessible_build(build, account, cache)
    assert account.call((copied.libraries[0] / "libaio.so.1").read_text) == "library"


def test_a_server_among_others_of_the_system_is_not_copied(
    hidden: Path, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.engines.mysql.builds.build.SPREAD", (hidden,))
    with pytest.raises(EngineError, match="cannot copy the programs"):
        accessible_build(build_in(hidden), account, cache)
