"""What an archive of the log takes is what gzip makes of its whole segments."""

from __future__ import annotations

import gzip

import pytest

from engines.postgres.sql.conftest import Server
from steelyard.engines.account import choose_account
from steelyard.engines.postgres.sql.counters import MOST_SEGMENTS, archive_share, log_segment

pytestmark = pytest.mark.by_version

FILL = "INSERT INTO archived SELECT md5(i::text) FROM generate_series(1, 100000) i"


def test_the_share_is_gzips_of_the_newest_whole_segments(server: Server) -> None:
    account, log = choose_account(None), server.directory / "pg_wal"
    first = log_segment(server.conninfo)
    assert archive_share(account, server.directory, first, first) is None
    with server.connect() as session:
        session.execute("CREATE TABLE archived (t text)")
        while len(whole := between(server, first)) <= MOST_SEGMENTS:
            session.execute(
                "INSERT INTO archived SELECT md5(i::text) FROM generate_series(1, 1e5) i"
            )
        session.execute("DROP TABLE archived")
    newest = [(log / name).read_bytes() for name in whole[-MOST_SEGMENTS:]]
    expected = sum(len(gzip.compress(each, 6)) for each in newest) / sum(map(len, newest))
    share = archive_share(account, server.directory, first, after(whole[-1]))
    assert share == pytest.approx(expected, rel=1e-3)
    assert 0.05 < share < 0.9


def between(server: Server, first: str) -> list[str]:
    """Whole segments behind `first`."""
    last, names = log_segment(server.conninfo), (server.directory / "pg_wal").iterdir()
    return sorted(one.name for one in names if first < one.name < last and len(one.name) == 24)


def after(segment: str) -> str:
    """A name that lies behind a segment's."""
    return f"{int(segment, 16) + 1:024X}"
