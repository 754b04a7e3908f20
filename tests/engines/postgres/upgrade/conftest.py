"""Homes of originals, and caches in which upgrades are rehearsed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.upgrade.rehearsing import has
from own_cache import MACHINES, open_directory


@pytest.fixture
def cache_of_upgrades(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with open_directory() as home:
        monkeypatch.setenv("STEELYARD_CACHE", str(home))
        yield home


@pytest.fixture
def cache_with_19(monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's own, since engines of Debian's packages run in their place alone."""
    monkeypatch.setenv("STEELYARD_CACHE", str(MACHINES))
    has("19")
    return MACHINES


@pytest.fixture
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)
