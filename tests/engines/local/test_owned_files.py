"""In a directory of another account files are read by descriptors and written by that account."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from steelyard.engines.account import Account, choose_account
from steelyard.engines.local.owned_files import (
    ANOTHERS,
    LINKED,
    is_empty,
    names_below,
    opened_below,
    overwrite,
    read_below,
    refusal,
    replace_text,
    text_below,
)

OWN, THEIRS, ROOT = os.geteuid(), 4_000, 0


def status(kind: int, mode: int, uid: int, names: int = 1) -> os.stat_result:
    """Of a file or directory; the rest is nothing."""
    return os.stat_result((kind | mode, 0, 0, names, uid, 0, 0, 0, 0, 0))


def directory(uid: int, mode: int = 0o700) -> os.stat_result:
    return status(stat.S_IFDIR, mode, uid)


def file(uid: int, names: int = 1) -> os.stat_result:
    return status(stat.S_IFREG, 0o600, uid, names)


@pytest.mark.parametrize(
    ("place", "found", "wrong"),
    [
        (directory(THEIRS), file(THEIRS), None),
        (directory(THEIRS), file(THEIRS, names=2), None),  # a backup by hard links
        (directory(THEIRS), file(ROOT), ANOTHERS),
        (directory(THEIRS), file(THEIRS + 1), ANOTHERS),
        (directory(THEIRS), directory(ROOT), ANOTHERS),
        (directory(OWN), file(THEIRS), None),
        (directory(ROOT), file(THEIRS), None),
        (directory(ROOT, 0o770), file(THEIRS), ANOTHERS),
        (directory(ROOT, 0o777), file(THEIRS), ANOTHERS),
        (directory(ROOT, 0o777), file(ROOT), None),
        (directory(ROOT, 0o1777), file(ROOT, names=2), LINKED),
    ],
)
def test_a_file_is_its_directorys_owners_or_was_put_there_by_root_or_us(
    place: os.stat_result, found: os.stat_result, wrong: str | None
) -> None:
    assert refusal(place, found) == wrong


@pytest.fixture
def account() -> Account:
    return choose_account()


@pytest.fixture
def owned(place: Path, account: Account) -> Path:
    """A directory of the account with a file two levels down."""
    (place / "data" / "global").mkdir(parents=True)
    (place / "data" / "global" / "control").write_bytes(b"content \xff")
    account.own_tree(place / "data")
    return place / "data"


def test_a_file_below_is_read_up_to_a_limit(owned: Path) -> None:
    assert read_below(owned, "global/control") == b"content \xff"
    assert read_below(owned, "global/control", 9) == b"content \xff"
    assert text_below(owned, "global/control") == "content �"
    with pytest.raises(OSError, match="File too large"):
        read_below(owned, "global/control", 8)
    assert names_below(owned, "global") == ["control"]
    assert names_below(owned, "") == ["global"]


@pytest.mark.parametrize("name", ["link", "linked/control", "global/pipe", "global", "none"])
def test_what_is_no_file_of_its_own_is_not_opened(owned: Path, account: Account, name: str) -> None:
    def plant() -> None:
        (owned / "link").symlink_to("global/control")
        (owned / "linked").symlink_to("global")
        os.mkfifo(owned / "global" / "pipe")

    account.call(plant)
    before = len(os.listdir("/proc/self/fd"))
    words = "|".join([*map(os.strerror, _NUMBERS), "not a regular file"])
    with pytest.raises(OSError, match=words), opened_below(owned, name):
        pass
    assert len(os.listdir("/proc/self/fd")) == before


_NUMBERS = (errno.ELOOP, errno.ENOTDIR, errno.ENOENT)


def test_what_is_written_is_the_accounts_and_replaces_a_link(owned: Path, account: Account) -> None:
    account.call(lambda: (owned / "conf").symlink_to("global/control"))
    replace_text(account, owned / "conf", "äöü\n")
    written = (owned / "conf").lstat()
    assert (written.st_uid, stat.S_IMODE(written.st_mode)) == (account.uid, 0o600)
    assert stat.S_ISREG(written.st_mode)
    assert (owned / "conf").read_text() == "äöü\n"
    assert read_below(owned, "global/control") == b"content \xff"
    assert names_below(owned, "") == ["conf", "global"]  # no draft is left


def test_a_directory_is_empty_where_there_is_none(place: Path) -> None:
    assert is_empty(place / "none")
    (place / "made").mkdir()
    assert is_empty(place / "made")
    (place / "made" / "file").touch()
    assert not is_empty(place / "made")
    (place / "link").symlink_to("made")
    with pytest.raises(NotADirectoryError):
        is_empty(place / "link")


def test_bytes_are_written_by_the_account_which_follows_no_link(
    owned: Path, account: Account
) -> None:
    file = owned / "file"
    overwrite(account, file, b"0123456789")
    overwrite(account, file, b"ab", 3)
    assert file.read_bytes() == b"012ab56789"
    overwrite(account, file, b"xyz")
    assert file.read_bytes() == b"xyz"
    assert file.stat().st_uid == account.uid
    outside = owned.parent / "outside"
    outside.write_bytes(b"ours")
    (owned / "link").symlink_to(outside)
    account.call(lambda: os.mkfifo(owned / "pipe"))
    for name, wrong in (("link", "symbolic links"), ("pipe", "No such device")):
        with pytest.raises(OSError, match=wrong):
            overwrite(account, owned / name, b"theirs")
    assert outside.read_bytes() == b"ours"
