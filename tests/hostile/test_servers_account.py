"""Code that a dump or a data directory brings runs as the servers' account, and gets no further.

SAFETY.md: "It can do what that account can, and that is the most it can do"; "nothing in a
directory that another account can write is opened, made, changed or followed with root's rights".
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from hostile.conftest import Call
from hostile.test_directories import holds_secret, needs_root
from own_cache import own_cache, own_run
from steelyard.engines.account import Account, choose_account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import Intake
from steelyard.engines.local.cloning import clone, restore
from steelyard.engines.local.owned_files import replace_text
from steelyard.engines.page_cache import evict
from steelyard.engines.postgres.intake.import_cluster import seal
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import Run
from steelyard.model.errors import EngineError, SteelyardError
from thinned import thinned

pytestmark = pytest.mark.postgres

Guard = Callable[..., AbstractContextManager[None]]
SLEEP = "98765"
"""Seconds, by which a program that was left behind is known."""


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with own_run() as opened:
        yield opened


@pytest.fixture(scope="module")
def engine() -> Iterator[Postgres]:
    with own_cache():
        yield find_postgres("18")


@pytest.fixture(scope="module")
def theirs(run: Run, engine: Postgres) -> Path:
    """A stopped server's data directory; each test works on a copy."""
    return engine.create(run.directory / "theirs" / "data", protection="none").directory


@pytest.fixture
def slot(run: Run) -> Iterator[Slot]:
    free = run.slot(0)
    yield free
    shutil.rmtree(free.path)


@pytest.fixture
def data(theirs: Path, run: Run) -> Iterator[Path]:
    copy = run.directory / "copy" / "data"
    clone(theirs, copy, choose_account())
    yield copy
    shutil.rmtree(copy.parent)


@pytest.fixture
def account() -> Account:
    return choose_account()


def silent(_: str) -> None:
    """No report."""


def planted(account: Account, place: Path, target: Path) -> None:
    """A link of the account's in the place of one of its files or directories."""

    def plant() -> None:
        if place.is_dir():
            place.rename(place.with_name(f"{place.name}-aside"))
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    account.call(plant)


@thinned("name", ["postgresql.conf", "base/1/2600", "base/1", "base", "global"], 2)
def test_a_link_that_a_server_left_is_removed_when_its_files_are_put_back(
    theirs: Path, run: Run, account: Account, victim: Path, name: str, untouched: Guard
) -> None:
    copy = run.directory / "slot9" / "data"
    manifest = clone(theirs, copy, account)
    planted(account, copy / name, victim if (theirs / name).is_file() else victim.parent)
    account.call(lambda: os.mkfifo(copy / "pg_xact" / "0007"))
    with untouched(victim.parent):
        _, manifest = restore(theirs, copy, account, manifest)
    assert not (copy / name).is_symlink()
    assert restore(theirs, copy, account, manifest)[0] == 0
    assert subprocess.run(["diff", "-r", theirs, copy], check=False).returncode == 0
    shutil.rmtree(copy.parent)


@thinned("name", ["base/1/2600", "base"], 1)
def test_a_link_in_a_template_is_not_followed_by_the_next_epoch(
    theirs: Path, data: Path, run: Run, account: Account, victim: Path, name: str, untouched: Guard
) -> None:
    copy = run.directory / "slot9" / "data"
    manifest = clone(data, copy, account)
    planted(account, data / name, victim if (data / name).is_file() else victim.parent)
    with untouched(victim.parent), pytest.raises(EngineError, match="is a symbolic link"):
        restore(data, copy, account, manifest)
    assert not holds_secret(copy)
    shutil.rmtree(copy.parent)


@needs_root
@thinned(
    "action",
    [
        lambda cluster: cluster.protect("checksums"),
        seal,
        lambda cluster: cluster.clone(cluster.directory.with_name("another")),
        lambda cluster: evict([cluster.directory], cluster.account),
        lambda cluster: replace_text(cluster.account, cluster.directory / "global/x", "x"),
    ],
    2,
    ids=["protect", "seal", "clone", "evict", "write"],
)
def test_with_a_link_to_a_directory_of_roots_nothing_there_is_read_or_changed(
    engine: Postgres,
    data: Path,
    account: Account,
    victim: Path,
    untouched: Guard,
    action: Callable[[Cluster], object],
) -> None:
    """Beyond the link there is a control file, as good as any."""
    for name in ("pg_control", "1260"):
        shutil.copy(data / "global" / name, victim.parent)
    cluster = engine.open(data)
    planted(account, data / "global", victim.parent)
    with untouched(victim.parent), suppress(OSError, EngineError):
        action(cluster)
    assert not holds_secret(data.parent)


@needs_root
def test_a_link_in_the_place_of_an_accounts_directory_is_not_given_away(
    open_home: Path, account: Account, victim: Path, untouched: Guard
) -> None:
    (open_home / "sockets").symlink_to(victim.parent)
    account.make_directory(open_home / "own")
    account.call(lambda: (open_home / "own" / "sockets").symlink_to(victim.parent))
    with untouched(victim.parent):
        for place in ("sockets", "own/sockets", "own/sockets/below"):
            with pytest.raises(OSError, match=r"Not a directory|Permission denied|File exists"):
                account.make_directory(open_home / place)


@needs_root
def test_the_directory_of_the_sockets_is_in_one_that_the_account_cannot_rename(
    run: Run, account: Account
) -> None:
    assert run.sockets.lstat().st_uid == account.uid
    assert run.sockets.parent.lstat().st_uid == 0
    with pytest.raises(PermissionError):
        account.call(lambda: run.sockets.rename(run.sockets.with_name("other")))


def test_a_log_that_is_planted_among_the_data_is_not_in_the_servers_logs(
    run: Run, theirs: Path, slot: Slot, account: Account, victim: Path
) -> None:
    clone(theirs, slot.path / "data", account)
    planted(account, slot.path / "data" / "server.log", victim)
    (slot.path / "server.log").write_text("own")
    assert [file for file in run.logs() if file.parent == slot.path] == [slot.path / "server.log"]
    assert [file for file in run.logs() if file.parent.name == "data"] == []


@thinned("kind", ["pipe", "link"], 1)
def test_a_lock_file_that_is_none_keeps_nothing_waiting(
    engine: Postgres, data: Path, account: Account, victim: Path, kind: str
) -> None:
    cluster = engine.open(data)
    if kind == "pipe":
        account.call(lambda: os.mkfifo(data / "postmaster.pid"))
    else:
        planted(account, data / "postmaster.pid", victim)
    with pytest.raises(EngineError, match=r"postmaster\.pid"):
        cluster.restore(data)


HOSTILE_LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void run(void)
{
    FILE *file = fopen("ran", "w");
    if (file) { fprintf(file, "%d", geteuid()); fclose(file); }
    unlink("postgresql.conf");
    unlink("postgresql.auto.conf");
    if (symlink("@VICTIM@", "postgresql.conf") || symlink("@VICTIM@", "postgresql.auto.conf")) {}
    if (fork() == 0) {
        setsid();
        if (fork() == 0) execl("/bin/sleep", "sleep", "@SLEEP@", NULL);
        _exit(0);
    }
    fprintf(stderr, "FATAL:  unrecognized configuration parameter \\"work_mem\\"\\n");
    exit(1);
}
"""


def left_behind() -> list[int]:
    """Process ids of the programs that were to stay."""
    words = f"sleep\0{SLEEP}\0".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_bytes().endswith(words):
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


def ran_as(data: Path) -> set[str]:
    """The user ids that planted code saw."""
    return {file.read_text().strip() for file in data.glob("ran*")}


@pytest.mark.long
def test_a_library_in_the_data_directory_runs_as_the_account_and_neither_writes_nor_stays(
    engine: Postgres, data: Path, slot: Slot, account: Account, victim: Path, untouched: Guard
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source = victim.parent.parent / "evil.c"
    source.write_text(HOSTILE_LIBRARY.replace("@VICTIM@", str(victim)).replace("@SLEEP@", SLEEP))
    library = source.with_suffix(".so")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    shutil.copy(library, data / "pg_stat" / "evil.so")
    with (data / "postgresql.conf").open("a") as file:
        file.write("shared_preload_libraries = 'pg_stat/evil.so'\nwork_mem = '5MB'\n")
    account.own(data / "pg_stat" / "evil.so")
    with untouched(victim.parent, data):
        try:
            engine.take_in(Intake(inspect_source(data), None), slot, silent)
            cluster = engine.open(slot.path / "data")
            cluster.start(slot, {"shared_preload_libraries": "pg_stat/evil.so"})
        except SteelyardError:
            pass
    assert ran_as(slot.path / "data") == {str(account.uid)}
    if account.switched:  # a server of the caller's own may read what is the caller's
        assert not holds_secret(slot.path)
    _end(left_behind(), account)


def _end(stayed: list[int], account: Account) -> None:
    for pid in stayed:
        os.kill(pid, 9)
    assert stayed == [] or not account.switched


@pytest.mark.long
def test_a_program_of_a_dump_runs_as_the_account_and_does_not_stay(
    engine: Postgres, slot: Slot, account: Account, open_home: Path
) -> None:
    """One that leaves its parent, its session and its directory."""
    dump = open_home / "dump.sql"
    daemon = f"cat > /dev/null; id -u > ran; cd /; (setsid sleep {SLEEP} > /dev/null 2>&1 &) &"
    dump.write_text(f"CREATE TABLE t (a int);\nCOPY (SELECT 1) TO PROGRAM '{daemon}';\n")
    engine.take_in(Intake(inspect_source(dump), None), slot, silent)
    assert ran_as(slot.path / "data") == {str(account.uid)}
    _end(left_behind(), account)


@pytest.mark.long
def test_a_dump_that_replaces_the_configuration_by_a_link_changes_nothing_beyond_it(
    steelyard: Call, cache: Path, open_home: Path, victim: Path, untouched: Guard
) -> None:
    """`COPY ... TO PROGRAM` in the data directory, before the configuration of `--config` is
    written."""
    dump, configuration, script = (open_home / name for name in ("dump.sql", "my.conf", "q.sql"))
    names = ("postgresql.conf", "postgresql.auto.conf")
    program = "cat > /dev/null; " + "; ".join(
        f"rm -f {name}; ln -s {victim} {name}" for name in names
    )
    dump.write_text(f"CREATE TABLE t (a int);\nCOPY (SELECT 1) TO PROGRAM '{program}';\n")
    configuration.write_text("work_mem = '5MB'\n")
    script.write_text("SELECT 1;\n")
    with untouched(victim.parent, dump, configuration, script):
        words = ["--config", str(configuration), "-f", str(script), "--budget", "20s"]
        ended = steelyard("weigh", "settings", "--from", str(dump), *words, *ARM, limit_s=300)
    assert "restore the dump" in ended.output
    assert "Traceback" not in ended.output
    assert not holds_secret(cache)


@pytest.mark.long
def test_a_link_to_a_file_of_the_callers_ends_a_weighing_before_anything_is_copied(
    steelyard: Call, data: Path, cache: Path, account: Account, victim: Path, untouched: Guard
) -> None:
    planted(account, data / "base/1/99999", victim)
    script = victim.parent.parent / "q.sql"
    script.write_text("SELECT 1;\n")
    with untouched(data, victim.parent):
        ended = steelyard("weigh", "settings", "--from", str(data), "-f", str(script), *ARM)
    assert ended.status != 0
    assert "99999" in ended.output
    assert "it is a symbolic link" in ended.output
    assert not holds_secret(cache)
    assert not any((cache / "templates").glob("*/data"))


ARM = ("--set", "arm.settings.work_mem=8MB")
