"""Clusters that go wrong: of another version, cut off, or ended by their owner in the middle."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.conftest import server
from driver.served import Server
from fleet.clusters import cluster_of
from fleet.on_ray.test_commands import SESSIONS, begun, measured, weighing
from steelyard.driver.plan import DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.load_generators import drivers as of_crowd
from steelyard.fleet.load_generators.drivers import DriverGroups
from steelyard.fleet.load_generators.load_agent import LostError
from steelyard.fleet.on_ray import cluster as of_cluster
from steelyard.fleet.on_ray import machines as of_machines
from steelyard.fleet.on_ray.machines import RayMachines
from steelyard.model.errors import DriverError

__all__ = ["server"]

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'steelyard[fleet]'")
pytestmark = [pytest.mark.postgres, pytest.mark.long]

MS = 1_000_000
SLOW = DriveScript("slow", "SELECT pg_sleep(3600);")


@pytest.fixture
def cluster() -> Iterator[Any]:
    with cluster_of(3) as made:
        yield made


def await_none(server: Server) -> None:
    """Until no session of a driver is left."""
    limit = time.monotonic() + 60
    while server.one(SESSIONS):
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_cluster_of_another_version_is_refused_with_rays_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "Version mismatch: The cluster was started with: Ray: 2.9.0 Python: 3.9.1"

    def refuse(**_: Any) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(of_cluster, "_require_answer", lambda _: None)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(DriverError, match="could not join a Ray cluster") as told:
        RayMachines(2, "127.0.0.1:6379")
    assert told.value.detail == words
    assert "the same Ray and Python" in (told.value.hint or "")


def test_a_machine_that_is_cut_off_is_lost_at_the_deadline_and_its_sessions_are_ended(
    cluster: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing comes from it any more, and it is not dead: Ray would notice after 15 s or later."""
    monkeypatch.setattr(of_crowd, "REPLY_NS", 500 * MS)
    monkeypatch.setattr(of_machines, "ON_THE_WAY_S", 0.5)
    machines = RayMachines(3, cluster.address)
    try:
        members = machines.members()
        actor = ray.get(members[1].actor.__ray_call__.remote(lambda _: os.getpid()))
        plan = DrivePlan((server.arm(clients=6),), (SLOW,), drain_cap_ns=200 * MS)
        group = DriverGroups(machines).start(plan)
        stop = threading.Timer(0.3, os.kill, [actor, signal.SIGSTOP])
        stop.start()
        began = time.monotonic()
        with pytest.raises(DriverError, match=f'load machine "{members[1].name}": no answer'):
            list(group.run([SliceRequest(arm=0, length_ns=800 * MS)]))
        assert time.monotonic() - began < 15, "by our own deadline"
        assert members[1].lost
        group.close()
        await_none(server)
        with pytest.raises(LostError):
            members[1].read_clock()
    finally:
        machines.close()


def test_a_machine_that_falls_silent_in_a_slice_by_a_count_is_lost_too(
    cluster: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_cluster, "WATCH_S", 0.5)
    monkeypatch.setattr(of_cluster, "CALL_S", 2.0)
    machines = RayMachines(3, cluster.address)
    try:
        members = machines.members()
        actor = ray.get(members[1].actor.__ray_call__.remote(lambda _: os.getpid()))
        plan = DrivePlan((server.arm(clients=6),), (SLOW,), drain_cap_ns=200 * MS)
        group = DriverGroups(machines).start(plan)
        stop = threading.Timer(0.3, os.kill, [actor, signal.SIGSTOP])
        stop.start()
        began = time.monotonic()
        with pytest.raises(DriverError, match=f'load machine "{members[1].name}": no answer'):
            list(group.run([SliceRequest(arm=0, each=1)]))
        assert time.monotonic() - began < 20, "the others have an hour of sleep before them"
        group.close()
        await_none(server)
    finally:
        machines.close()


def test_a_cluster_that_its_owner_ends_leaves_a_record_that_another_one_goes_on_with(
    server: Server, tmp_path: Path
) -> None:
    with cluster_of(3) as theirs:
        under = weighing(tmp_path, server, theirs)
        limit = time.monotonic() + 300
        while len(measured(tmp_path)) < 10:
            assert under.poll() is None, (tmp_path / "said").read_text()
            assert time.monotonic() < limit
            time.sleep(0.2)
    kept = measured(tmp_path)
    assert under.wait(180) != 0
    await_none(server)
    assert measured(tmp_path)[: len(kept)] == kept
    with cluster_of(3) as ours:
        words = ("weigh", "--resume", "record", "--ray", ours.address, "--json")
        again = begun(tmp_path, *words)
        said, _ = again.communicate(timeout=500)
        assert again.returncode == 0, (tmp_path / "said").read_text()
    [contrast] = json.loads(said)["contrasts"]
    assert contrast["epochs"] >= 8
    assert measured(tmp_path)[: len(kept)] == kept
