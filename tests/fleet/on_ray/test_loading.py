"""`workloads load --machines` on a Ray cluster: the rows of one machine, also when nodes die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.conftest import server
from driver.served import Server
from fleet.clusters import QUIET, cluster_of

__all__ = ["server"]

pytest.importorskip("ray", reason="Ray is not installed: pip install 'steelyard[fleet]'")
pytestmark = [pytest.mark.postgres, pytest.mark.long]

SCALE = 80
SHARES = "SELECT count(*) FROM steelyard_shares WHERE row_count IS NOT NULL"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(3) as made:
        yield made


def loading(server: Server, folder: Path, *words: str) -> subprocess.Popen[str]:
    load = ["workloads", "load", "pgbench", server.conninfo, "--set", f"scale={SCALE}"]
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *load, "--replace", "--json", *words],
        env={**os.environ, **QUIET},
        stdout=subprocess.PIPE,
        stderr=(folder / "said").open("w"),
        text=True,
    )


def finish(under: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    said, _ = under.communicate(timeout=300)
    assert under.returncode == 0, (folder / "said").read_text()
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.fixture(scope="module")
def alone(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    return finish(loading(server, folder), folder)


def test_three_nodes_load_what_one_machine_does(
    cluster: Any, server: Server, alone: dict[str, Any], tmp_path: Path
) -> None:
    words = ("--machines", "3", "--ray", cluster.address)
    together = finish(loading(server, tmp_path, *words), tmp_path)
    for key in ("rows", "tables", "digests"):
        assert together[key] == alone[key]
    assert len(together["machines"]) == 3
    assert all(together["machines"].values()), "each has copied"
    assert sum(together["machines"].values()) == sum(alone["tables"].values())
    assert together["lost"] == []


def test_shares_of_nodes_that_die_are_made_again_once(
    cluster: Any, server: Server, alone: dict[str, Any], tmp_path: Path
) -> None:
    under = loading(server, tmp_path, "--machines", "3", "--ray", cluster.address)
    limit = time.monotonic() + 120
    while not begun(server):
        assert under.poll() is None, (tmp_path / "said").read_text()
        assert time.monotonic() < limit
        time.sleep(0.02)
    for node in list(cluster.worker_nodes)[:2]:
        cluster.remove_node(node, allow_graceful=False)
    together = finish(under, tmp_path)
    for key in ("rows", "tables", "digests"):
        assert together[key] == alone[key]
    assert 1 <= len(together["lost"]) <= 2
    assert "are made again" in (tmp_path / "said").read_text()
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"
    assert server.one(left) == 0


def begun(server: Server) -> bool:
    """Whether a share has been committed, and not all."""
    import psycopg

    try:
        with psycopg.connect(f"{server.conninfo} dbname=steelyard") as connection:
            row = connection.execute(SHARES.encode()).fetchone()
            return bool(row and row[0])
    except psycopg.Error:
        return False  # it is being made, or kept by its makers


def test_a_server_that_is_not_named_cannot_be_reached_by_several(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "steelyard", "workloads", "load", "pgbench", "--machines", "3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "name a TARGET" in done.stderr
