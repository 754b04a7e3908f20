"""A matrix of two versions on two kinds of host, which are two nodes of a Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet.clusters import add_host, cluster_of
from steelyard.fleet.collecting import collect
from steelyard.fleet.load_generators.load_agent import machine_facts
from steelyard.fleet.matrix.matrix import read_matrix
from steelyard.fleet.matrix.run import MatrixRun, homes
from steelyard.fleet.on_ray import cluster as of_cluster
from steelyard.fleet.on_ray.cluster import RayHosts
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


def test_every_weighing_comes_home_also_of_a_agent_that_was_killed(
    cluster: Any, tmp_path: Path
) -> None:
    file = tmp_path / "m.toml"
    file.write_text(MATRIX)
    said: list[str] = []
    killed: list[int] = []
    hosts = RayHosts(cluster.address, print)

    def pause(seconds: float) -> None:
        """Kill the agent of the first weighing a second after it has begun."""
        if said and not killed:
            [first] = [one for one in hosts.hosts() if said[0].endswith(one.name)]
            pid = ray.get(first.actor.__ray_call__.remote(lambda _: os.getpid()))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
        time.sleep(seconds)

    try:
        assert sorted(one.kind for one in hosts.hosts()) == ["large", "small"]
        for one in hosts.hosts():
            assert one.machine == machine_facts().identity, "all nodes are this machine"
        state = MatrixRun(read_matrix(file), tmp_path / "out", hosts, said.append).run(pause)
    finally:
        hosts.close()
    assert {cell.how for cell in state.cells.values()} == {"done"}, said
    assert sorted(cell.losses for cell in state.cells.values()) == [0, 0, 0, 1]
    home = homes(state, read_matrix(file))
    found = collect([*home], tmp_path / "records", home)
    assert len(found.taken) == 4
    assert (found.refused, found.skipped) == ((), ())
    for _, place in found.taken:
        assert json.loads((Path(place) / "verdict.json").read_text())["study"] == "aa"


def test_a_cluster_without_hosts_is_said(cluster: Any) -> None:
    with cluster_of(0) as empty, pytest.raises(DriverError, match="no machine of the Ray cluster"):
        RayHosts(empty.address, print)


def test_a_host_with_another_steelyard_is_refused_and_one_that_joins_later_is_left_out(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(machine_facts(), version="9.9.9")
    with monkeypatch.context() as patch:
        patch.setattr(of_cluster, "machine_facts", lambda: other)
        with pytest.raises(DriverError, match="other versions of Steelyard"):
            RayHosts(cluster.address, print)
    said: list[str] = []
    hosts = RayHosts(cluster.address, said.append)
    try:
        hosts._own = other
        node = add_host(cluster)
        _until_joined(node)
        assert len(hosts.hosts()) == 2
        assert len(said) == 1
        assert "left out host" in said[0]
        assert "other versions of Steelyard" in said[0]
        assert len(hosts.hosts()) == 2
        assert len(said) == 1, "and it is not asked again"
    finally:
        hosts.close()
        cluster.remove_node(node)


def _until_joined(node: Any) -> None:
    limit = time.monotonic() + 30
    while node.node_id not in {one["NodeID"] for one in ray.nodes() if one["Alive"]}:
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_agent_may_take_long_to_start(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first answer is waited for: no weighing is ordered of an agent that is being started."""
    started = of_cluster._agent_on

    def slowly(node: str) -> Any:
        actor = started(node)
        actor.__ray_call__.remote(lambda _: time.sleep(12))
        return actor

    monkeypatch.setattr(of_cluster, "_agent_on", slowly)
    hosts = RayHosts(cluster.address, print)
    try:
        assert len(hosts.hosts()) == 2
        for one in hosts.hosts():
            ray.get(one.actor.facts.remote(), timeout=5)
    finally:
        hosts.close()
