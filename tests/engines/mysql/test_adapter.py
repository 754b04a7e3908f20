"""Which builds of MySQL and MariaDB can be weighed."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_packages import MYSQL_SAYS, installed, npm_files, program
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import Cache
from steelyard.engines.mysql.adapter import find_arms
from steelyard.model.errors import EngineError, UsageError

MARIADB_SAYS = "Ver {}-MariaDB for Linux on x86_64 (x)"


def build(place: Path, says: str) -> BuildRequest:
    tree = installed(place / "it", npm_files("0.0.0")) / "package/server"
    (tree / "mysqld").write_bytes(program(says))
    return BuildRequest("", tree)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (MYSQL_SAYS.format("5.6.24"), r"cannot weigh MySQL 5\.6\.24: 5\.7 is the oldest"),
        (MARIADB_SAYS.format("10.2.44"), r"cannot weigh MariaDB 10\.2\.44: 10\.3 is the oldest"),
    ],
)
def test_a_server_that_is_too_old_is_refused_by_its_version(
    cache: Cache, place: Path, says: str, words: str
) -> None:
    with pytest.raises(EngineError, match=words):
        find_arms([build(place, says)], None, contrib=False)


@pytest.mark.parametrize("says", [MYSQL_SAYS.format("5.7.0"), MARIADB_SAYS.format("10.3.0")])
def test_the_oldest_that_can_be_weighed_is_taken(cache: Cache, place: Path, says: str) -> None:
    [engine] = find_arms([build(place, says)], None, contrib=False)
    assert engine.identity.version in says


def test_modules_of_postgresql_are_not_looked_for(cache: Cache, place: Path) -> None:
    with pytest.raises(UsageError, match="contrib is PostgreSQL's"):
        find_arms([build(place, MYSQL_SAYS.format("5.7.29"))], None, contrib=True)
