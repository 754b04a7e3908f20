"""SAFETY.md: what the program did not make stays, though it lies where it makes its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from steelyard.engines import own_backup
from steelyard.engines.account import choose_account
from steelyard.engines.builds.added import move_into_cache, remove_engine
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.local.runs import live_runs
from steelyard.engines.own_backup import backup_token, is_marked, mark_backup, remove_backup
from steelyard.engines.registry import clean_leftovers, open_run
from steelyard.model.errors import EngineError, UsageError
from steelyard.study.read import read_study
from steelyard.study.study import Source, Study
from steelyard.workloads.loading.imported_data import drop_backup, resolve_source

Untouched = Callable[..., AbstractContextManager[None]]
PLACES = (
    "mine", "shop.dump", "templates/mine", "templates/mine/data", "templates/data",
    "templates/shop.dump", "templates/a/b/data", "templates/backup-20261128T000000Z-abcdef-x/data",
    "run/mine", "run/mine/data", "run/20260101T000000Z/slot0/data", "engines/mine/data",
    "binaries/mine", "fleet/mine", "probes/mine/data", "templates", "templates/mine/../mine/data",
)  # fmt: skip


@pytest.fixture
def opened(cache: Path) -> Cache:
    return open_cache()


def cluster_at(place: Path) -> Path:
    """The files of a stopped cluster, as far as they are looked at."""
    for name in ("base/5", "global", "pg_wal", "pg_xact"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "PG_VERSION").write_text("18\n")
    for name in ("global/pg_control", "base/5/1259", "pg_wal/000000010000000000000001"):
        (place / name).write_bytes(bytes(8192))
    return place


def backup_at(cache: Cache, name: str = "backup-20261128T000000Z-012345-shop") -> Path:
    """The data of a backup as `back_up` marks it."""
    home = cache.templates / name
    account = choose_account()
    account.make_directory(home)
    mark_backup(home, account)
    return cluster_at(home / "data")


def source_of(study: Study) -> Source:
    assert study.source is not None
    return study.source


def resolved(place: Path) -> Source:
    change = f"source.place={json.dumps(str(place))}"
    return source_of(resolve_source(read_study("settings", ["workload=own", change])))


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_a_user_names_stays_wherever_it_is(
    opened: Cache, untouched: Untouched, place: str
) -> None:
    home = opened.root / place
    if place.endswith(".dump"):
        home.write_text("SELECT 1;\n")
    else:
        cluster_at(home)
    ours = backup_at(opened)
    with untouched(opened.root):
        for token in (None, "", "0" * 32, backup_token(ours)):
            drop_backup(Source(place=str(home), backup=token))
            drop_backup(Source(place=str(home), backup=token, kind="dump", reported=True))
            assert not remove_backup(home, token)


@pytest.mark.parametrize("place", [place for place in PLACES if "/" in place and ".." not in place])
def test_a_place_in_a_room_of_the_cache_is_refused_with_what_to_type(
    opened: Cache, untouched: Untouched, tmp_path: Path, place: str
) -> None:
    home = opened.root / place
    if place.endswith(".dump"):
        home.write_text("SELECT 1;\n")
    else:
        cluster_at(home)
    link = tmp_path / "link"
    link.symlink_to(home)
    for name in (home, link):
        with untouched(opened.root), pytest.raises(UsageError, match="will not take in") as refused:
            resolved(name)
        assert f"mv {name} DIR" in str(refused.value.hint)


def test_a_place_beside_the_rooms_is_taken_in_and_stays(opened: Cache) -> None:
    source = resolved(cluster_at(opened.root / "mine"))
    assert (source.kind, source.backup) == ("data directory", None)
    drop_backup(source)
    assert Path(source.place).is_dir()


def test_the_backup_of_this_weighing_goes_and_its_settings_stay(opened: Cache) -> None:
    data = backup_at(opened)
    settings = data.parent.with_name(f"{data.parent.name}.conf")
    settings.write_text("jit = off\n")
    other = backup_at(opened, "backup-20261128T000000Z-543210-shop")
    source = resolved(data)
    assert source.backup == backup_token(data) is not None
    drop_backup(source)
    assert not data.parent.exists()
    assert settings.exists()
    assert other.is_dir()
    drop_backup(source)  # a second time does no harm


def test_a_weighing_that_is_resumed_by_another_process_still_removes_its_backup(
    opened: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = backup_at(opened)
    source = resolved(data)
    monkeypatch.setattr(own_backup, "_TOKENS", {})
    assert resolved(data).backup is None, "another weighing names it: it is a place of the user's"
    drop_backup(resolved(data))
    assert data.is_dir()
    drop_backup(source)
    assert not data.parent.exists()


def test_a_backup_that_was_moved_copied_or_linked_is_the_users(opened: Cache) -> None:
    data = backup_at(opened)
    token = backup_token(data)
    copy, moved = opened.templates / "copy", opened.templates / "moved"
    shutil.copytree(data.parent, copy)
    (opened.templates / "link").symlink_to(data.parent)
    for home in (copy, opened.templates / "link"):
        assert not is_marked(home / "data")
        assert not remove_backup(home / "data", token)
    data.parent.rename(moved)
    assert not remove_backup(moved / "data", token)
    shutil.copytree(moved, data.parent)  # under the name of the first, as another directory
    assert not remove_backup(data, token)
    assert all((home / "data").is_dir() for home in (copy, moved, data.parent))


def test_a_backup_elsewhere_than_in_the_templates_stays(opened: Cache) -> None:
    home = opened.root / "backup-1"
    choose_account().make_directory(home)
    mark_backup(home, choose_account())
    data = cluster_at(home / "data")
    assert is_marked(data)
    assert not remove_backup(data, backup_token(data))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"token": 7}', '{"token": "x"}', "[" * 5000, "\0", '{"token": "x'],
)
def test_a_marker_that_is_none_marks_nothing(opened: Cache, text: str) -> None:
    data = backup_at(opened)
    token = backup_token(data)
    (data.parent / "backup.json").write_text(text)
    assert not is_marked(data)
    assert not any(remove_backup(data, each) for each in (token, "x", "7"))
    (data.parent / "backup.json").unlink()
    os.mkfifo(data.parent / "backup.json")
    assert not remove_backup(data, token)


@pytest.mark.parametrize(
    "name", ["mine", "20260101T000000Z", "20260101T000000Z-1-abcd-mine", "monday-1-abcd", "data"]
)
def test_what_a_user_keeps_among_runs_is_neither_ended_nor_cleaned(
    opened: Cache, untouched: Untouched, name: str
) -> None:
    place = cluster_at(opened.runs / name)
    (place / "postmaster.pid").write_text(f"{os.getpid()}\n{place}\n")
    with untouched(place):
        assert clean_leftovers(opened) == []
        assert live_runs(opened) == []
        with open_run(opened, choose_account()) as run:
            assert live_runs(opened) == [run.directory]
        assert not run.directory.exists()


def test_an_engine_takes_no_place_of_a_users_and_removes_none(
    opened: Cache, untouched: Untouched, tmp_path: Path
) -> None:
    place = cluster_at(opened.engines / "mine")
    staging = tmp_path / "made" / "mine"
    staging.mkdir(parents=True)
    with untouched(place):
        with pytest.raises(EngineError, match="would be lost"):
            move_into_cache(staging, place, {})
        with pytest.raises(UsageError, match="was not added as an engine"):
            remove_engine("mine", opened)
    (place / "engine.json").write_text("damaged")
    assert remove_engine("mine", opened) == "mine"
