"""Gives the tests of servers of MySQL and MariaDB real builds, and servers that run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engines.mysql.real_packages import fetch
from own_cache import own_cache
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Slot
from steelyard.engines.mysql.adapter import find_arms, remove_servers
from steelyard.engines.mysql.life.data_directory import CRC32
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.mysql import Mysql

PRODUCTS = ("mysql-5.7", "mariadb-10.11")


@dataclass(frozen=True)
class Made:
    """An engine with a stopped server that is never changed, and a place for clones."""

    engine: Mysql
    template: MysqlInstance
    place: Path

    def slot(self, number: int) -> Slot:
        """A slot below the place."""
        path = self.place / f"slot{number}"
        path.mkdir(exist_ok=True)
        path.chmod(0o711)
        return Slot(number, path, self.place / "s", 54320 + number)

    def clone(self, number: int) -> MysqlInstance:
        """A new clone in a slot."""
        there = len(list(self.slot(number).path.glob("data*")))
        return self.template.clone(self.slot(number).path / f"data{there}")


@pytest.fixture(scope="module", params=PRODUCTS)
def made(request: pytest.FixtureRequest) -> Iterator[Made]:
    with own_cache() as place:
        fetch(request.param)
        [engine] = find_arms([BuildRequest(request.param)], None, contrib=False)
        template = engine.create(place / "template", protection=CRC32)
        yield Made(engine, template, place)
        assert remove_servers(place, engine.account) == []  # nothing was left running


@pytest.fixture
def server(made: Made) -> Iterator[MysqlInstance]:
    clone = made.clone(0)
    clone.start(made.slot(0), {"innodb_buffer_pool_size": "64M"})
    try:
        yield clone
    finally:
        clone.discard()
