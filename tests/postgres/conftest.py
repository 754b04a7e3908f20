"""A cache for whole weighings, and a way to start one that never outlives its test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from underway import Underway

from own_cache import open_directory
from steelyard.engines.cache import open_cache
from steelyard.engines.registry import clean_leftovers

Start = Callable[..., Underway]


@pytest.fixture(scope="session")
def weighing_cache() -> Iterator[Path]:
    """A cache root of this session; what a killed weighing left in it is removed at the end."""
    with open_directory() as home:
        yield home
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STEELYARD_CACHE", str(home))
            clean_leftovers(open_cache())


@contextmanager
def starter(cache: Path, directory: Path) -> Iterator[Start]:
    """Starts weighings whose records stand in `directory`; kills those that still run at last."""
    started: list[Underway] = []

    def start(record: str, *arguments: str, **about: str) -> Underway:
        one = Underway.start(cache, directory / record, *arguments, **about)
        started.append(one)
        return one

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def start(weighing_cache: Path, tmp_path: Path) -> Iterator[Start]:
    with starter(weighing_cache, tmp_path) as begin:
        yield begin


@pytest.fixture(scope="module")
def start_shared(weighing_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """As `start`, for a weighing that several tests look at."""
    with starter(weighing_cache, tmp_path_factory.mktemp("weighing")) as begin:
        yield begin
