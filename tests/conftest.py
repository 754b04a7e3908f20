"""The order of the suite: what takes longest begins first, so that nothing is left to end alone.

Properties are tried on the same examples each time and may take as long as the machine needs.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from scheduling import WholeUnits
from steelyard.engines.cache import spread
from steelyard.engines.defer_signals import ENDING

settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

LONGEST = (
    "tests/postgres/test_interruptions.py",
    "tests/postgres/test_calibrate.py",
    "tests/calibration/test_broken_servers.py",
    "tests/postgres/test_workloads.py",
    "tests/postgres/",
    "tests/workloads/",
    "tests/integrity/",
)
"""Files and folders whose tests wait for real servers, the slowest first."""

OLDER = "16"
"""The older bundled version of PostgreSQL."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeUnits | None:
    return WholeUnits(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: looking for garbage among it took half of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def directories_apart(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Clusters come and go in them."""
    spread(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """No test leaves a signal ignored or handled: the programs of later tests inherit that."""
    before = _handlers()
    yield
    assert _handlers() == before


def _handlers() -> dict[int, object]:
    return {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by file, as LONGEST has them; the order within a file stays.

    What is tried on both bundled versions takes the older one in the long suite, unless it is of
    what differs between them.
    """
    items.sort(key=_place)
    for item in items:
        if OLDER in _values(item) and item.get_closest_marker("by_version") is None:
            item.add_marker(pytest.mark.long)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes name no test: what packs them may write the second of the day into them.

    Each worker collects for itself, and the names must be the same in all of them.
    """
    return argname if isinstance(val, bytes) else None


def _values(item: pytest.Item) -> list[object]:
    """What the test and its fixtures are tried with."""
    return list(item.callspec.params.values()) if hasattr(item, "callspec") else []


def _place(item: pytest.Item) -> int:
    places = (n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start))
    return next(places, len(LONGEST))
