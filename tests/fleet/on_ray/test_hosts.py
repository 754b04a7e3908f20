"""A matrix of two versions on two kinds of host, which are two nodes of a Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet.clusters import add_host, cluster_of
from steelyard.fleet.collecting import collect
from steelyard.fleet.matrix.matrix import read_matrix
from steelyard.fleet.matrix.run import MatrixRun, homes
from steelyard.fleet.on_ray.hosts import RayHosts
from steelyard.model.errors import DriverError

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'steelyard[fleet]'")
pytestmark = [pytest.mark.postgres, pytest.mark.long]

MATRIX = """
studies = ["aa"]
kinds = ["small", "large"]
versions = ["16", "18"]
budget = "20s"
set = ["workload.scale=1", "workload.clients=2", "budget.slice=50ms"]
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(0) as made:
        add_host(made, kind="small")
        add_host(made, kind="large")
        yield made


def test_every_weighing_comes_home_also_of_a_keeper_that_was_killed(
    cluster: Any, tmp_path: Path
) -> None:
    file = tmp_path / "m.toml"
    file.write_text(MATRIX)
    hosts, said, killed = RayHosts(cluster.address), [], []

    def pause(seconds: float) -> None:
        """Kill the keeper of the first weighing a second after it has begun."""
        if said and not killed:
            [first] = [one for one in hosts.hosts() if said[0].endswith(one.name)]
            pid = ray.get(first.actor.__ray_call__.remote(lambda _: os.getpid()))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
        time.sleep(seconds)

    try:
        assert sorted(one.kind for one in hosts.hosts()) == ["large", "small"]
        state = MatrixRun(read_matrix(file), tmp_path / "out", hosts, said.append).run(pause)
    finally:
        hosts.close()
    assert {cell.how for cell in state.cells.values()} == {"done"}, said
    assert sorted(cell.attempts for cell in state.cells.values()) == [1, 1, 1, 2]
    found = collect(homes(state), tmp_path / "records")
    assert len(found.taken) == 4
    assert found.refused == ()
    for _, place in found.taken:
        assert json.loads((Path(place) / "verdict.json").read_text())["study"] == "aa"


def test_a_cluster_without_hosts_is_said(cluster: Any) -> None:
    with cluster_of(0) as empty, pytest.raises(DriverError, match="no machine of the Ray cluster"):
        RayHosts(empty.address)
