"""The commands on a Ray cluster of four nodes: a weighing, its sudden end, and a check."""

from __future__ import annotations

import json
import os
import signal
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

QUERY = "\\set id random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :id;\n"
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(3) as made:
        yield made


def begun(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A command in a folder of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *words],
        cwd=folder,
        env={**os.environ, **QUIET},
        stdout=subprocess.PIPE,
        stderr=(folder / "said").open("w"),
        text=True,
    )


def weighing(folder: Path, server: Server, cluster: Any) -> subprocess.Popen[str]:
    (folder / "q.sql").write_text(QUERY)
    return begun(
        folder, "weigh", "sessions", "--address", server.conninfo, "-f", "q.sql",
        "--machines", "3", "--ray", cluster.address, "--budget", "20s", "--seed", "5",
        "--set", "workload.clients=6", "--record", "record", "--json",
    )  # fmt: skip


def measured(folder: Path) -> list[dict[str, Any]]:
    file = folder / "record" / "slices.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [one for one in map(json.loads, lines) if one["kind"] == "measured"]


def test_equal_sessions_are_weighed_through_three_nodes(
    cluster: Any, server: Server, tmp_path: Path
) -> None:
    under = weighing(tmp_path, server, cluster)
    said, _ = under.communicate(timeout=500)
    assert under.returncode == 0, (tmp_path / "said").read_text()
    [contrast] = json.loads(said)["contrasts"]
    assert contrast["low_percent"] < 5
    assert contrast["high_percent"] > -5
    lines = measured(tmp_path)
    assert lines
    for line in lines:
        machines = line["together"]["machines"]
        assert len({one["name"] for one in machines}) == 3
        assert sum(one["clients"] for one in machines) == 6
        # The nodes share one clock: what is told of each lies within its bound of 0.
        assert all(abs(one["offset_ns"]) <= one["offset_bound_ns"] for one in machines)
    assert "machines = 3" in (tmp_path / "record" / "study.toml").read_text()


def test_nothing_is_left_of_a_weighing_that_was_killed(
    cluster: Any, server: Server, tmp_path: Path
) -> None:
    under = weighing(tmp_path, server, cluster)
    deadline = time.monotonic() + 300
    while not measured(tmp_path):
        assert under.poll() is None, (tmp_path / "said").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    under.send_signal(signal.SIGKILL)
    under.wait()
    deadline = time.monotonic() + 60
    while server.one(SESSIONS):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_check_tells_of_every_machine_in_under_a_minute(
    cluster: Any, server: Server, tmp_path: Path
) -> None:
    words = ("--machines", "3", "--ray", cluster.address, "--address", server.conninfo)
    under = begun(tmp_path, "fleet", "check", *words, "-c", "2", "-T", "8", "--json")
    said, _ = under.communicate(timeout=300)
    assert under.returncode == 0, (tmp_path / "said").read_text()
    told = json.loads(said)
    assert told["seconds"] < 60
    assert len(told["machines"]) == 3
    for machine in told["machines"]:
        assert abs(machine["offset_ns"]) <= machine["offset_bound_ns"]
        assert abs(machine["drift_ppm"]) <= machine["drift_bound_ppm"]
        assert 0 < machine["round_trip_us"]["p50"] <= machine["round_trip_us"]["max"]
    assert told["load"]["low_percent"] < told["load"]["high_percent"]


def test_servers_that_are_started_here_are_refused_to_other_machines(tmp_path: Path) -> None:
    under = begun(tmp_path, "weigh", "aa", "--machines", "3")
    under.communicate(timeout=120)
    assert under.returncode == 2
    assert "reach arms at addresses only" in (tmp_path / "said").read_text()
