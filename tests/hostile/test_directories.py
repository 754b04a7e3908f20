"""Of a data directory of others, nothing but its own files is read, and nothing else written.

SAFETY.md: "Links are followed for the log and for tablespaces alone, and to what belongs to the
owner of the directory"; "nothing in a directory that another account can write is opened, made,
changed or followed with root's rights".
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hostile.conftest import SECRET
from steelyard.engines.account import Account, choose_account
from steelyard.engines.postgres.intake.copying import copy_in
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import EngineError, SteelyardError

Guard = Callable[..., AbstractContextManager[None]]
Plant = Callable[[Path, Path], object]
"""What is done to a data directory, with a file of the caller's."""
PATIENCE_S = 30
TERABYTE = 1 << 40

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has more rights than others")


@pytest.fixture
def account() -> Account:
    return choose_account()


@pytest.fixture
def data(open_home: Path, account: Account) -> Path:
    """The files of a stopped server of another account, as far as an intake looks at them."""
    directory = open_home / "theirs" / "data"
    for name in ("base/5", "global", "pg_wal", "pg_xact", "pg_tblspc"):
        (directory / name).mkdir(parents=True)
    (directory / "PG_VERSION").write_text("18\n")
    for name in ("global/pg_control", "base/5/1259", "pg_wal/000000010000000000000001"):
        (directory / name).write_bytes(bytes(8192))
    account.own_tree(directory.parent)
    return directory


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """A test that waits for a pipe or for a terabyte fails instead."""

    def fail(*_: object) -> None:
        raise AssertionError(f"not refused within {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def holds_secret(directory: Path) -> bool:
    """Whether a regular file below a directory has the caller's secret in it."""
    files = (Path(parent) / name for parent, _, names in os.walk(directory) for name in names)
    return any(
        SECRET.encode() in file.read_bytes()
        for file in files
        if stat.S_ISREG(file.lstat().st_mode) and file.lstat().st_size < 1 << 30
    )


def instead(name: str, make: Callable[[Path, Path], object]) -> Plant:
    """Something else under a name of the directory, whether or not it is there."""

    def plant(data: Path, victim: Path) -> None:
        place = data / name
        if place.is_dir():
            place.rename(data.parent / f"{place.name}-aside")
        place.unlink(missing_ok=True)
        make(place, victim)

    return plant


def link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def link_to_directory(place: Path, victim: Path) -> None:
    place.symlink_to(victim.parent)


def link_to_itself(place: Path, victim: Path) -> None:
    place.symlink_to(place)


def link_to_zeros(place: Path, victim: Path) -> None:
    place.symlink_to("/dev/zero")


def hard_link(place: Path, victim: Path) -> None:
    place.hardlink_to(victim)


def pipe(place: Path, victim: Path) -> None:
    os.mkfifo(place)


def listening_socket(place: Path, victim: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))


def device(place: Path, victim: Path) -> None:
    try:
        os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("devices cannot be made here")


def directory(place: Path, victim: Path) -> None:
    place.mkdir()


def terabyte(place: Path, victim: Path) -> None:
    with place.open("wb") as file:
        file.truncate(TERABYTE)
    choose_account().own(place)


def written(text: str) -> Callable[[Path, Path], object]:
    def write(place: Path, victim: Path) -> None:
        place.write_text(text)
        choose_account().own(place)

    return write


@dataclass(frozen=True)
class Hostile:
    """A data directory, and what the refusal of it says."""

    name: str
    plant: Plant
    words: str
    as_root: bool = False


MANIFEST_OUTSIDE = json.dumps({"Files": [{"Path": "../../../etc/passwd", "Size": 1}]})
CASES = (
    Hostile("relation-link", instead("base/5/99999", link), "99999.*symbolic link"),
    Hostile("relation-zeros", instead("base/5/99999", link_to_zeros), "99999.*symbolic link"),
    Hostile("database-link", instead("base/6", link_to_directory), "base/6.*symbolic link"),
    Hostile("base-link", instead("base", link_to_directory), "base.*symbolic link"),
    Hostile("global-link", instead("global", link_to_directory), "global.*symbolic link"),
    Hostile("log-segment-link", instead("pg_wal/000000010000000000000002", link), "symbolic link"),
    Hostile("relation-pipe", instead("base/5/16384", pipe), "16384.*a pipe"),
    Hostile("relation-socket", instead("base/5/16384", listening_socket), "16384.*a socket"),
    Hostile("relation-device", instead("base/5/16384", device), "16384.*a device", as_root=True),
    Hostile("relation-hard-link", instead("base/5/16384", hard_link), "another account", True),
    Hostile("database-of-others", instead("base/6", directory), "another account", True),
    Hostile("version-link", instead("PG_VERSION", link), "PG_VERSION.*symbolic link"),
    Hostile("version-pipe", instead("PG_VERSION", pipe), "PG_VERSION.*a pipe"),
    Hostile("version-terabyte", instead("PG_VERSION", terabyte), "PG_VERSION.*File too large"),
    Hostile("version-hard-link", instead("PG_VERSION", hard_link), "another account", True),
    Hostile("control-link", instead("global/pg_control", link), "pg_control.*symbolic link"),
    Hostile("control-pipe", instead("global/pg_control", pipe), "pg_control.*a pipe"),
    Hostile("label-link", instead("backup_label", link), "backup_label.*symbolic link"),
    Hostile("label-pipe", instead("backup_label", pipe), "backup_label.*a pipe"),
    Hostile("lock-pipe", instead("postmaster.pid", pipe), "postmaster.pid.*a pipe"),
    Hostile("lock-link", instead("postmaster.pid", link), "postmaster.pid.*symbolic link"),
    Hostile("lock-zeros", instead("postmaster.pid", link_to_zeros), "postmaster.pid.*symbolic"),
    Hostile("map-link", instead("tablespace_map", link), "tablespace_map.*symbolic link"),
    Hostile("map-pipe", instead("tablespace_map", pipe), "tablespace_map.*a pipe"),
    Hostile("map-missing", instead("tablespace_map", written("16409 /etc\n")), "16409.tar"),
    Hostile("tablespace-loop", instead("pg_tblspc/16400", link_to_itself), "circle"),
    Hostile("tablespace-of-others", instead("pg_tblspc/16400", link_to_directory), "another", True),
    Hostile("tablespace-pipe", instead("pg_tblspc/16400", pipe), "16400.*a pipe"),
    Hostile("log-of-others", instead("pg_wal", link_to_directory), "another account", True),
    Hostile("log-loop", instead("pg_wal", link_to_itself), "circle"),
)
MANIFESTS = (
    Hostile("manifest-link", instead("backup_manifest", link), "cannot be read"),
    Hostile("manifest-pipe", instead("backup_manifest", pipe), "cannot be read"),
    Hostile("manifest-terabyte", instead("backup_manifest", terabyte), "cannot be read"),
    Hostile("manifest-deep", instead("backup_manifest", written("[" * 10**6)), "cannot be read"),
    Hostile("manifest-outside", instead("backup_manifest", written(MANIFEST_OUTSIDE)), "missing"),
)


@pytest.mark.parametrize("hostile", [pytest.param(one, id=one.name) for one in CASES + MANIFESTS])
def test_what_others_could_have_put_there_is_refused_by_name(
    hostile: Hostile, data: Path, victim: Path, untouched: Guard
) -> None:
    if hostile.as_root and os.geteuid() != 0:
        pytest.skip("only root has more rights than others")
    if hostile in MANIFESTS:
        written("START WAL LOCATION: 0/2000028\n")(data / "backup_label", victim)
    hostile.plant(data, victim)
    with (
        untouched(data, victim.parent),
        pytest.raises(SteelyardError, match=f"(?s){hostile.words}") as refused,
    ):
        inspect_source(data)
    assert SECRET not in str(refused.value)
    assert SECRET not in f"{refused.value.detail} {refused.value.hint}"


@pytest.mark.parametrize("hostile", [pytest.param(one, id=one.name) for one in CASES])
def test_what_is_put_there_after_the_look_is_not_copied_either(
    hostile: Hostile, data: Path, victim: Path, open_home: Path, account: Account, untouched: Guard
) -> None:
    if hostile.as_root and os.geteuid() != 0:
        pytest.skip("only root has more rights than others")
    place = inspect_source(data)
    hostile.plant(data, victim)
    with untouched(data, victim.parent), suppress(EngineError):
        copy_in(place, open_home / "slot0" / "data", account)
    assert not holds_secret(open_home / "slot0")
    copied = [path for path in (open_home / "slot0").rglob("*") if not path.is_dir()]
    assert [path for path in copied if not stat.S_ISREG(path.lstat().st_mode)] == []


def test_a_directory_that_is_named_by_a_link_is_taken_in(
    data: Path, open_home: Path, account: Account, untouched: Guard
) -> None:
    (open_home / "current").symlink_to(data)
    with untouched(data):
        copy_in(inspect_source(open_home / "current"), open_home / "slot0" / "data", account)
    copy = open_home / "slot0" / "data"
    assert (copy / "base/5/1259").stat().st_size == 8192
    assert {path.lstat().st_uid for path in [copy, *copy.rglob("*")]} == {account.uid}
    modes = {stat.S_IMODE(path.lstat().st_mode) for path in [copy, *copy.rglob("*")]}
    assert modes == {0o700, 0o600}


def test_links_to_a_log_and_tablespaces_of_the_same_owner_are_followed(
    data: Path, open_home: Path, account: Account
) -> None:
    elsewhere = data.parent / "elsewhere"
    (elsewhere / "space/PG_18_202506291/5").mkdir(parents=True)
    (elsewhere / "space/PG_18_202506291/5/16384").write_bytes(bytes(8192))
    account.own_tree(elsewhere)
    (data / "pg_wal").rename(elsewhere / "log")
    (data / "pg_wal").symlink_to(elsewhere / "log")
    (data / "pg_tblspc/16400").symlink_to(elsewhere / "space")
    copy_in(inspect_source(data), open_home / "slot0" / "data", account)
    copy = open_home / "slot0" / "data"
    assert (copy / "pg_wal/000000010000000000000001").is_file()
    assert (copy / "pg_tblspc/16400/PG_18_202506291/5/16384").is_file()
    assert [path for path in copy.rglob("*") if path.is_symlink()] == []


@needs_root
def test_of_what_an_archive_links_to_in_roots_own_name_only_files_of_postgresql_are_read(
    data: Path, victim: Path, open_home: Path, account: Account
) -> None:
    """Unpacked by root, everything is root's: also a link to a directory of root's."""
    for path in [data.parent, *data.parent.rglob("*")]:
        os.chown(path, 0, 0)
    instead("pg_wal", link_to_directory)(data, victim)
    copy_in(inspect_source(data), open_home / "slot0" / "data", account)
    assert not holds_secret(open_home / "slot0")
    instead("pg_tblspc/16400", link_to_directory)(data, victim)
    with pytest.raises(EngineError, match="holds no tablespace"):
        inspect_source(data)


@needs_root
def test_a_directory_that_all_may_write_is_not_trusted_with_files_of_two_names(
    data: Path, victim: Path
) -> None:
    for path in [data.parent, *data.parent.rglob("*")]:
        os.chown(path, 0, 0)
    (data / "base/5").chmod(0o777)
    assert inspect_source(data).major == "18"
    hard_link(data / "base/5/16384", victim)
    with pytest.raises(EngineError, match=r"16384.*second name"):
        inspect_source(data)


def test_an_ordinary_backup_of_two_accounts_is_taken_in_where_root_alone_put_it(
    data: Path, account: Account
) -> None:
    """A directory that root made, with the files of the server's account in it."""
    os.chown(data, os.geteuid(), os.getegid())
    assert inspect_source(data).major == "18"
