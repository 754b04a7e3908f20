"""Builds from the real npm and from the real apt: added, run, found, removed."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engines.mysql.real_packages import NOWHERE, fetch
from own_cache import own_cache
from steelyard.engines.account import choose_account
from steelyard.engines.builds.added import remove_engine
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import open_cache
from steelyard.engines.mysql.builds.added import added_engines
from steelyard.engines.mysql.builds.fetching import directories, missing, unpack_libraries
from steelyard.engines.mysql.builds.find import select_builds
from steelyard.engines.programs import run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with own_cache() as made:
        yield made


@pytest.mark.parametrize(
    ("product", "version", "pinned"),
    [("mysql-5.7", "5.7.29", True), ("mariadb-10.11", "10.11.", False)],
)
def test_a_fetched_server_runs_as_the_account_of_servers(
    root: Path, product: str, version: str, pinned: bool
) -> None:
    added = fetch(product)
    assert added.identity.version.startswith(version)
    assert added.fetched_packages[0].pinned or not pinned
    assert len(added.fetched_packages[0].sha512) == 128
    [usable] = select_builds([BuildRequest(product)])
    assert (usable.build, usable.identity) == (added.build, added.identity)
    data = root / f"data-{product}"
    usable.account.make_directory(data)
    options = [f"--basedir={usable.build.base}", f"--lc-messages-dir={usable.build.share}"]
    command = [str(usable.build.server), "--no-defaults", *options, f"--datadir={data}"]
    status, words = run(
        usable.account,
        [*command, "--secure-file-priv=", "--verbose", "--help"],
        environment=usable.build.environment,
    )
    assert status == 0, words
    assert "innodb-page-size" in words
    assert "innodb-checksum-algorithm" in words


def test_a_library_of_the_distribution_is_found_by_the_dynamic_linker(root: Path) -> None:
    added = fetch("mysql-5.7")
    half = root / "half"
    half.mkdir()
    [brought] = unpack_libraries(["libaio.so.1"], half, root / "libraries", lambda _: None)
    assert brought.file.startswith("libaio1")
    build = replace(added.build, libraries=directories(root / "libraries"))
    _, words = run(choose_account(), ["ldd", str(build.server)], environment=build.environment)
    assert f"libaio.so.1 => {root}/libraries/" in words
    assert missing(build, choose_account()) == []


def test_what_was_added_is_removed_again(root: Path) -> None:
    names = [fetch(product).name for product in ("mysql-5.7", "mariadb-10.11")]
    assert {each.name for each in added_engines(open_cache())} >= set(names)
    for name in names:
        remove_engine(name, open_cache())
    assert added_engines(open_cache()) == []


# All is imported before, what is only imported where it is used too: the user may not be able to
# read our interpreter.
ADD = """
import fractions, gzip, lzma, os, sys, tarfile
import pydantic_core
from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.mysql.builds.added import add_product
uid, gid, product = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
os.setgroups([]); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid)
print(add_product(product, choose_account(), open_cache(), print).name)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is what the tests run as")
@pytest.mark.parametrize("product", ["mysql-5.7", "mariadb-10.11"])
def test_an_ordinary_user_adds_them_too(root: Path, product: str) -> None:
    fetch(product)  # skips where it cannot be had
    user = pwd.getpwnam(choose_account().name)
    home = root / f"home-{product}"
    choose_account().make_directory(home)
    environment = {**os.environ, "STEELYARD_CACHE": str(home / "cache"), "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", ADD, str(user.pw_uid), str(user.pw_gid), product],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if any(words in done.stderr for words in NOWHERE):
        pytest.skip(f"an ordinary user is brought nothing: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{product}.")
