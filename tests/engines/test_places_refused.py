"""Where a weighing cannot have its place it is refused with what to type, and leaves nothing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.engines import registry
from steelyard.engines.account import Account
from steelyard.engines.cache import Cache, cache_root
from steelyard.engines.local.runs import leftovers
from steelyard.engines.registry import clean_leftovers, open_run
from steelyard.model.errors import EngineError

REFUSED = [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EMLINK]


def refusing(number: int, place: Callable[[Path], bool]) -> Callable[..., None]:
    """mkdir(2) that is refused in some places."""
    make = os.mkdir

    def mkdir(path: str | Path, *arguments: int, **more: int) -> None:
        if place(Path(path)):
            raise OSError(number, os.strerror(number), str(path))
        make(path, *arguments, **more)

    return mkdir


@pytest.mark.parametrize("number", REFUSED)
def test_a_cache_that_takes_no_weighing(
    cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "mkdir", refusing(number, lambda path: path.parent == cache.runs))
    with pytest.raises(EngineError, match="could not make a place for servers") as refused:
        open_run(cache, account)
    assert refused.value.primary.endswith(f'"{cache.runs}": {os.strerror(number)}')
    assert "STEELYARD_CACHE" in (refused.value.hint or "")
    assert [path for path in cache.runs.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("number", REFUSED)
def test_a_place_for_sockets_that_takes_none(
    cache: Cache, account: Account, monkeypatch: pytest.MonkeyPatch, place: Path, number: int
) -> None:
    monkeypatch.setattr(registry, "_SOCKET_ROOT", place)
    monkeypatch.setattr(os, "mkdir", refusing(number, lambda path: path.parent == place))
    with pytest.raises(EngineError, match="could not make a directory for sockets") as refused:
        open_run(cache, account)
    assert f"--tmpfs {place}" in (refused.value.hint or "")
    assert [path for path in cache.runs.iterdir() if path.is_dir()] == []
    assert leftovers(cache) == []


def test_a_leftover_that_cannot_be_removed_says_what_to_type(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = cache.runs / "20260101T000000Z-1-abcd"
    directory.mkdir()
    (directory / "owner.json").write_text("")

    def refuse(path: Path, **options: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), f"{path}/.nfs0001")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", refuse)
        with pytest.raises(EngineError, match=r"could not remove .*\.nfs0001") as refused:
            clean_leftovers(cache)
    assert (refused.value.hint or "").endswith(f"rm -rf {directory}")
    clean_leftovers(cache)
    assert not directory.exists()


def test_an_account_without_a_home_is_told_where_the_cache_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("STEELYARD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(EngineError, match="HOME is not set") as refused:
        cache_root()
    assert "STEELYARD_CACHE" in (refused.value.hint or "")
