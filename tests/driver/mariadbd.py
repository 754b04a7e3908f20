"""A real MariaDB 10.11 for tests, as `steelyard engines add mariadb-10.11` brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver.mysqld import Mysqld
from engines.mysql.real_packages import fetch
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Slot
from steelyard.engines.mysql.adapter import find_arms
from steelyard.engines.mysql.life.data_directory import CRC32


@contextmanager
def running(home: Path, *options: str) -> Iterator[Mysqld]:
    """A server under the account of servers, started with options ("--name=value"), until the
    end; the test is skipped where it cannot be had."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(home / "cache"))
        fetch("mariadb-10.11")
        [engine] = find_arms([BuildRequest("mariadb-10.11")], None, contrib=False)
    instance = engine.create(home / "data", protection=CRC32)
    given = [option.removeprefix("--").partition("=") for option in options]
    settings = {name: value or "1" for name, _, value in given}
    instance.start(Slot(0, home / "slot", home / "s", 3306), settings)
    try:
        yield Mysqld(Path(instance.address.host))
    finally:
        instance.discard()
