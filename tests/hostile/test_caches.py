"""SAFETY.md: a cache that others could have planted is refused before anything of it is changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hostile.conftest import Call
from steelyard.engines.cache import Cache, clear, known_cache, open_cache
from steelyard.engines.file_lock import hold, is_locked, locked, locked_if_free
from steelyard.engines.local.runs import leftovers
from steelyard.engines.registry import clean_leftovers
from steelyard.model.errors import UntrustedPathError
from steelyard.workloads.loading.template import FORMAT, TemplateDescription, describe, trusted
from thinned import thinned

Untouched = Callable[..., AbstractContextManager[None]]
NOBODY = 65534
ROOMS = ("templates", "binaries", "engines", "run", "probes", "fleet")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")


@pytest.mark.parametrize("name", ["", *ROOMS])
def test_a_cache_or_room_that_is_a_link_is_refused_and_its_target_left_as_it_was(
    cache: Path, victim: Path, untouched: Untouched, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    planted = cache / (name or "root")
    planted.symlink_to(victim.parent)
    if not name:
        monkeypatch.setenv("STEELYARD_CACHE", str(planted))
    for opened in (known_cache, open_cache):
        with untouched(victim.parent, cache), pytest.raises(UntrustedPathError) as refused:
            opened()
        assert f'will not write into "{planted}": it is a link' in refused.value.primary
        assert "cp -rL" in (refused.value.hint or "")


@pytest.mark.parametrize("name", ["", *ROOMS])
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_cache_or_room_that_others_may_write_into_is_refused_as_it_is(
    cache: Path, untouched: Untouched, name: str, mode: int
) -> None:
    (cache / name).mkdir(exist_ok=True)
    (cache / name).chmod(mode)
    with untouched(cache), pytest.raises(UntrustedPathError, match="other accounts may write"):
        open_cache()
    (cache / name).chmod(0o711)  # what the hint says, and then it is taken
    open_cache()


@as_root
@pytest.mark.parametrize("name", ["", *ROOMS])
def test_a_cache_or_room_of_another_account_is_refused_as_it_is(
    cache: Path, untouched: Untouched, name: str
) -> None:
    (cache / name).mkdir(exist_ok=True)
    os.chown(cache / name, NOBODY, NOBODY)
    with untouched(cache), pytest.raises(UntrustedPathError, match='belongs to account "') as told:
        open_cache()
    assert "chown -R root" in (told.value.hint or "")


@as_root
@pytest.mark.parametrize(("owner", "mode", "taken"), [
    (0, 0o777, False), (0, 0o775, False), (NOBODY, 0o755, False), (NOBODY, 0o1777, False),
    (0, 0o1777, True), (0, 0o755, True),
])  # fmt: skip
def test_root_has_no_cache_where_another_account_could_put_its_own_in_its_place(
    cache: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, taken: bool
) -> None:
    above = cache / "above"
    (above / "between").mkdir(parents=True)
    os.chown(above, owner, 1)
    above.chmod(mode)
    monkeypatch.setenv("STEELYARD_CACHE", str(above / "between" / "cache"))
    if taken:
        assert open_cache().root.is_dir()
        return
    with pytest.raises(UntrustedPathError, match="others could put another") as refused:
        open_cache()
    assert f'"{above}"' in (refused.value.detail or "")
    assert not [*(above / "between").iterdir()]


@as_root
@thinned(
    "words",
    [
        ("engines",),
        ("engines", "clear", "--templates"),
        ("engines", "clear", "--all"),
        ("weigh", "aa", "--budget", "20s"),
        ("workloads", "load", "pgbench"),
    ],
    2,
)
def test_no_command_touches_a_cache_that_another_account_planted(
    cache: Path, victim: Path, steelyard: Call, untouched: Untouched, words: tuple[str, ...]
) -> None:
    (victim.parent / "below").mkdir()
    (cache / "run").mkdir()
    (cache / "run" / ".lock").symlink_to(victim)
    (cache / "templates").symlink_to(victim.parent)
    for planted in (cache, cache / "run", cache / "run" / ".lock"):
        os.lchown(planted, NOBODY, NOBODY)
    with untouched(victim.parent, cache):
        called = steelyard(*words)
    assert called.status == 3, called.output
    assert f'error: will not write into "{cache}": it belongs to account' in called.output


TAKES = {
    "locked": locked,
    "locked_if_free": locked_if_free,
    "hold": hold,
}


@pytest.mark.parametrize("how", TAKES)
@pytest.mark.parametrize("kind", ["symbolic link", "second name", "pipe"])
def test_a_lock_is_a_file_of_its_own_and_loses_nothing(
    cache: Path, victim: Path, how: str, kind: str
) -> None:
    lock, content = cache / ".lock", victim.read_bytes()
    plant = {
        "symbolic link": lambda: lock.symlink_to(victim),
        "second name": lambda: os.link(victim, lock),
        "pipe": lambda: os.mkfifo(lock),
    }
    plant[kind]()
    with pytest.raises(UntrustedPathError), cast(Any, TAKES[how](lock)):
        pass
    assert not is_locked(lock)
    assert victim.read_bytes() == content


def test_taking_a_lock_leaves_what_is_in_its_file(cache: Path) -> None:
    (cache / ".lock").write_text("kept")
    for take in (locked, locked_if_free):
        with take(cache / ".lock"):
            pass
    assert (cache / ".lock").read_text() == "kept"


def test_clearing_removes_a_planted_link_and_nothing_behind_it(
    cache: Path, victim: Path, steelyard: Call, untouched: Untouched
) -> None:
    opened = open_cache()
    (opened.templates / "pgbench").symlink_to(victim.parent)
    (opened.runs / "20260101T000000Z-1-abcd").symlink_to(victim.parent)
    with untouched(victim.parent):
        called = steelyard("engines", "clear", "--all")
    assert called.status == 0, called.output
    assert not (opened.templates / "pgbench").is_symlink()


def test_a_room_is_cleared_of_links_and_directories_alike(cache: Path, victim: Path) -> None:
    (cache / "link").symlink_to(victim.parent)
    (cache / "directory").mkdir()
    clear(cache)
    assert not [*cache.iterdir()]
    assert victim.is_file()


OWNERS = {
    "deep": "[" * 100_000,
    "wrong types": '{"account": "root", "pid": [], "started": 5, "sockets": 7}',
    "a list": "[1, 2]",
    "digits": '{"pid": ' + "9" * 5_000 + "}",
    "a link in its place": None,
}


@pytest.mark.parametrize("case", OWNERS)
def test_a_run_that_says_nonsense_of_its_owner_is_cleaned_like_any_other(
    cache: Path, victim: Path, untouched: Untouched, case: str
) -> None:
    opened: Cache = open_cache()
    run = opened.runs / "20260101T000000Z-1-abcd"
    run.mkdir()
    text = OWNERS[case]
    if text is None:
        (run / "owner.json").symlink_to(victim)
    else:
        (run / "owner.json").write_text(text)
    with untouched(victim.parent):
        assert [one.sockets for one in leftovers(opened)] == [None]
        clean_leftovers(opened)
    assert not run.exists()


def described(made: Path) -> TemplateDescription:
    """Of a template whose files are below `made`."""
    facts: dict[str, Any] = {"format": FORMAT, "scale": 1, "rows": 0, "system_identifier": 7}
    words = ("version", "builder", "workload", "digest", "made")
    numbers = ("database_bytes", "bytes", "load_seconds", "seconds")
    facts |= dict.fromkeys(words, "") | dict.fromkeys(numbers, 0)
    return TemplateDescription(**facts, options={}, tables={}, digests={})


@pytest.mark.parametrize("damage", ["none", "truncated", "grown", "gone", "another", "renamed"])
def test_a_template_whose_files_are_not_what_they_were_is_not_used_and_said(
    tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "data" / "base" / "5" / "16384"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(8192 * 4))
    describe(tmp_path, described(tmp_path))
    change: dict[str, Callable[[], object]] = {
        "none": lambda: None,
        "truncated": lambda: os.truncate(file, 8192),
        "grown": lambda: os.truncate(file, 8192 * 5),
        "gone": file.unlink,
        "another": file.with_name("16385").touch,
        "renamed": lambda: file.rename(file.with_name("16386")),
    }
    change[damage]()
    engine, notes = SimpleNamespace(stopped_identifier=lambda data: 7), list[str]()
    assert trusted(cast(Any, engine), tmp_path, notes.append) is (damage == "none")
    assert len(notes) == (damage != "none")
    assert all("steelyard engines clear --templates" in note for note in notes)
