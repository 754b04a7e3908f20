"""The shared memory of a server is read, and computed, as the server itself says it."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from own_cache import own_server
from steelyard.engines.capabilities.memory import HUGE_PAGE_BYTES, shared_memory_bytes
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.units import parse_bytes
from steelyard.telemetry.doctor.memory import shared_segments
from thinned import thinned

pytestmark = pytest.mark.postgres


@thinned(
    ("version", "pool", "connections"),
    [("18", "64MB", "300"), ("18", "700MB", "100"), ("16", "64MB", "100"), ("16", "1GB", "300")],
    1,
)
def test_shared_memory_is_what_the_server_says(
    tmp_path: Path, version: str, pool: str, connections: str
) -> None:
    settings = {"shared_buffers": pool, "max_connections": connections, "huge_pages": "off"}
    with own_server(version, settings) as server:
        with psycopg.connect(conninfo_of(server.address)) as session:
            [said] = session.execute("SHOW shared_memory_size_in_huge_pages").fetchone() or ("",)
            [postmaster] = session.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
            ).fetchone() or (0,)
        (tmp_path / str(postmaster)).symlink_to(f"/proc/{postmaster}")
        [size] = shared_segments(tmp_path)
    pages = int(said)
    assert -(-size // HUGE_PAGE_BYTES) == pages
    at_most = -(-shared_memory_bytes(parse_bytes(pool)) // HUGE_PAGE_BYTES)
    assert pages <= at_most <= pages * 1.1 + 40
