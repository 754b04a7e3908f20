"""What turning checksums on takes is measured here, and said without changing anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integrity.conftest import Made, running, tree_marks
from steelyard.cli.checksums import render
from steelyard.engines.postgres.cluster import Cluster
from steelyard.integrity import enabling as module
from steelyard.integrity.enabling import enabling

pytestmark = pytest.mark.postgres


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRITTEN_BYTES", 4 << 20)


def test_a_cluster_without_checksums_gets_times_and_ways(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.set_checksums(False)
    before = tree_marks(cluster.directory)
    found = enabling(cluster.directory, tmp_path, tmp_path)
    assert tree_marks(cluster.directory) == before
    assert list(tmp_path.iterdir()) == []
    least, most = found.seconds
    assert 0 < least <= most
    assert found.bytes > 10_000_000
    assert not found.hints_logged
    words = render(found)
    assert "pg_checksums --enable:" in words
    assert "by a standby" in words
    assert "not weighed here yet" in words
    facts = json.loads(json.dumps(found.to_json()))
    assert facts["wal_bytes_per_checkpoint_at_most"] == facts["bytes"]


def test_hint_bits_that_are_logged_already_cost_nothing_more(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.set_checksums(False)
    with running(made, {"wal_log_hints": "on"}):
        running_words = render(enabling(cluster.directory, tmp_path, tmp_path))
    assert "must be shut down cleanly" in running_words
    assert "no growth; wal_log_hints is on" in running_words


def test_checksums_that_are_on_are_called_so(made: Made, cluster: Cluster, tmp_path: Path) -> None:
    words = render(enabling(cluster.directory, tmp_path, tmp_path))
    assert "are on already" in words
    assert "--enable" not in words
