"""A drill of InnoDB damages its own server's tables, counts what noticed, and heals them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.mysql.real_packages import fetch
from own_cache import own_cache
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import open_cache
from steelyard.engines.mysql.adapter import find_arms
from steelyard.engines.registry import open_run
from steelyard.integrity.drill.matrix import (
    PLANTED,
    QUERY_ERROR,
    UNNOTICED,
    WRONG_ANSWER,
    DetectionMatrix,
)
from steelyard.integrity.innodb.drill import (
    INNOCHECKSUM,
    SCRUB,
    InnodbDrillRequest,
    TestServer,
    algorithms_of,
    drill_innodb,
    drill_server,
    make_test_server,
    path_of,
)
from steelyard.model.errors import UsageError

COPIES = 2
DRILLS = (
    *(("mysql-5.7", name) for name in ("none", "crc32", "innodb")),
    *(("mariadb-10.11", name) for name in ("crc32", "full_crc32")),
)


def test_what_is_not_known_is_refused_before_anything_is_made() -> None:
    with pytest.raises(UsageError, match='unknown fault: "rust"'):
        drill_innodb(InnodbDrillRequest("mysql-5.7", faults=("rust",)), print)
    with pytest.raises(UsageError, match='unknown place: "heap"'):
        drill_innodb(InnodbDrillRequest("mysql-5.7", places=("heap",)), print)


@pytest.fixture(scope="module", params=DRILLS, ids=" ".join)
def server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A server whose pages carry the checksum of an algorithm."""
    version, algorithm = request.param
    with own_cache():
        fetch(version)
        [engine] = find_arms([BuildRequest(version)], None, contrib=False)
        assert algorithm in algorithms_of(engine.identity)
        with open_run(open_cache(), engine.account) as run:
            yield make_test_server(engine, run.slot(0), algorithm, COPIES)


@pytest.mark.long
def test_each_algorithm_notices_what_it_can(server: TestServer) -> None:
    matrix, checked = DetectionMatrix(), server.algorithm != "none"
    faults = ("run of bits", "misdirected write", "lost write")
    request = InnodbDrillRequest("", copies=COPIES, faults=faults, places=("rows",))
    drill_server(server, request, lambda _: None, matrix)

    def noticed(check: str, fault: str) -> int:
        rate = matrix.rate(check, fault=fault)
        assert rate.times == COPIES, (check, fault)
        return rate.noticed

    assert all(noticed(PLANTED, fault) == COPIES for fault in faults)
    # Bits in the eight bytes of the header that no older checksum covers are drawn seldom.
    assert noticed(SCRUB, "run of bits") == (COPIES if checked else 0)
    if checked:
        assert noticed(QUERY_ERROR, "run of bits") == COPIES
    # By its number, without any checksum.
    assert noticed(SCRUB, "misdirected write") == COPIES
    assert noticed(UNNOTICED, "misdirected write") == 0
    # A page of another time: right to every check of pages, wrong to a reader that knows the rows.
    assert noticed(SCRUB, "lost write") == 0
    assert noticed(WRONG_ANSWER, "lost write") == COPIES
    if matrix.rate(INNOCHECKSUM).times:
        assert noticed(INNOCHECKSUM, "run of bits") == COPIES
        assert noticed(INNOCHECKSUM, "lost write") == 0
    for number in range(COPIES):
        healed = (server.clone.directory / path_of(number)).read_bytes()
        assert healed == server.current(number), "healed"
