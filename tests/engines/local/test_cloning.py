"""Cloning a directory and putting a used clone back, on files alone."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from steelyard.engines.account import Account, choose_account
from steelyard.engines.copying import copy_file
from steelyard.engines.local.cloning import clone, restore
from steelyard.model.errors import EngineError

Contents = dict[str, tuple[int, bytes | None, int | None]]


def contents(directory: Path) -> Contents:
    """Mode of everything, bytes and modification time of files, by relative path."""
    found: Contents = {}
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        is_file = path.is_file()
        name = str(path.relative_to(directory))
        found[name] = (
            status.st_mode,
            path.read_bytes() if is_file else None,
            status.st_mtime_ns if is_file else None,
        )
    return found


@pytest.fixture
def template(place: Path, account: Account) -> Path:
    """A small tree with nested, empty and odd files, which belongs to the account."""
    directory = place / "template"
    (directory / "base" / "1").mkdir(parents=True)
    (directory / "empty").mkdir(mode=0o750)
    dice = random.Random(1)
    for name in ("PG_VERSION", "base/1/100", "base/1/101", "base/1/102", "base/7"):
        (directory / name).write_bytes(dice.randbytes(dice.randrange(30_000)))
    (directory / "nothing").touch()
    os.utime(directory / "PG_VERSION", ns=(1_000_000_007, 2_000_000_011))
    account.own_tree(directory)
    return directory


@pytest.fixture
def account() -> Account:
    return choose_account()


def test_a_clone_has_the_same_bytes_modes_and_times(
    template: Path, place: Path, account: Account
) -> None:
    clone(template, place / "copy", account)
    assert contents(place / "copy") == contents(template)


def test_a_clone_belongs_to_the_account(template: Path, place: Path, account: Account) -> None:
    clone(template, place / "copy", account)
    everything = [place / "copy", *(place / "copy").rglob("*")]
    assert {path.lstat().st_uid for path in everything} == {account.uid}


def test_an_untouched_clone_costs_no_copying_to_put_back(
    template: Path, place: Path, account: Account
) -> None:
    manifest = clone(template, place / "copy", account)
    assert restore(template, place / "copy", account, manifest)[0] == 0


def test_a_change_is_undone_even_with_the_old_size_and_time(
    template: Path, place: Path, account: Account
) -> None:
    manifest = clone(template, place / "copy", account)
    victim = place / "copy" / "base" / "1" / "100"
    before = victim.stat()
    with victim.open("r+b") as file:
        file.write(b"!")
    os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))
    copied, _ = restore(template, place / "copy", account, manifest)
    assert copied == before.st_size
    assert contents(place / "copy") == contents(template)


@pytest.mark.long
def test_a_change_right_after_the_clone_is_seen(
    template: Path, place: Path, account: Account
) -> None:
    victim = place / "copy" / "base" / "1" / "101"
    manifest = clone(template, place / "copy", account)
    original = (template / "base/1/101").stat()
    for _ in range(20):  # within one tick of the kernel's clock it would pass unseen
        victim.write_bytes(b"\0" * original.st_size)
        os.utime(victim, ns=(0, original.st_mtime_ns))
        copied, manifest = restore(template, place / "copy", account, manifest)
        assert copied == original.st_size
        assert contents(place / "copy") == contents(template)


def test_new_files_go_and_lost_ones_come_back(
    template: Path, place: Path, account: Account
) -> None:
    copy = place / "copy"
    manifest = clone(template, copy, account)

    def work() -> None:
        (copy / "base" / "1" / "102").unlink()
        (copy / "base" / "2").mkdir()
        (copy / "base" / "2" / "200").write_bytes(b"new")
        (copy / "empty").rmdir()
        (copy / "empty").write_bytes(b"a file where a directory was")
        (copy / "nothing").unlink()
        (copy / "nothing").mkdir()
        (copy / "link").symlink_to("nothing")
        os.mkfifo(copy / "base" / "pipe")

    account.call(work)
    _, manifest = restore(template, copy, account, manifest)
    assert contents(copy) == contents(template)
    assert restore(template, copy, account, manifest)[0] == 0


def test_without_a_manifest_everything_is_copied(
    template: Path, place: Path, account: Account
) -> None:
    clone(template, place / "copy", account)
    copied, _ = restore(template, place / "copy", account, {})
    assert copied == sum(p.stat().st_size for p in template.rglob("*") if p.is_file())
    assert contents(place / "copy") == contents(template)


def test_a_link_that_leads_out_is_refused(template: Path, place: Path, account: Account) -> None:
    (template / "pg_tblspc").mkdir()
    (template / "pg_tblspc" / "16400").symlink_to(place)
    with pytest.raises(EngineError) as caught:
        clone(template, place / "copy", account)
    assert '"pg_tblspc/16400" is a symbolic link' in caught.value.primary


def test_a_directory_that_holds_something_is_refused(
    template: Path, place: Path, account: Account
) -> None:
    (place / "copy").mkdir()
    (place / "copy" / "somebody's").write_text("own")
    with pytest.raises(EngineError, match="not empty"):
        clone(template, place / "copy", account)
    assert (place / "copy" / "somebody's").read_text() == "own"


def test_a_full_disk_is_one_error_and_leaves_no_half_clone(
    template: Path, place: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> int:
        Path(target).touch()
        raise OSError(28, "No space left on device", target)

    monkeypatch.setattr("steelyard.engines.local.cloning.copy_file", full)
    with pytest.raises(EngineError) as caught:
        clone(template, place / "copy", account)
    assert "No space left on device" in caught.value.primary
    assert "free there" in (caught.value.detail or "")
    assert not (place / "copy").exists()


def test_holes_stay_holes_and_their_bytes_are_zero(place: Path) -> None:
    source, target = place / "sparse", place / "copied"
    with source.open("wb") as file:
        file.seek(1_000_000)
        file.write(b"middle")
        file.truncate(5_000_000)
    assert copy_file(str(source), str(target)) == 5_000_000
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks <= source.stat().st_blocks + 8


def test_bytes_are_copied_where_the_kernel_cannot_help(
    template: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    copy_file(str(template / "base/7"), str(place / "copied"))
    assert (place / "copied").read_bytes() == (template / "base/7").read_bytes()
