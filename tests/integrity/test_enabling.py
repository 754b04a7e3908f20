"""The estimate for enabling checksums is measured here and changes nothing."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from integrity.conftest import Made, running, tree_marks
from steelyard.cli.commands.checksums import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity import checksum_cost as module
from steelyard.integrity.checksum_cost import estimate_enabling

pytestmark = [pytest.mark.postgres, pytest.mark.by_version]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRITE_SAMPLE_BYTES", 4 << 20)


def test_a_cluster_without_checksums_gets_times_and_ways(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.protect("none")
    before = tree_marks(cluster.directory)
    found = estimate_enabling(cluster.directory, tmp_path, tmp_path)
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
    cluster.protect("none")
    with running(made, {"wal_log_hints": "on"}):
        running_words = render(estimate_enabling(cluster.directory, tmp_path, tmp_path))
    assert "must be shut down cleanly" in running_words
    assert "no growth; wal_log_hints is on" in running_words


def test_checksums_that_are_on_are_called_so(made: Made, cluster: Cluster, tmp_path: Path) -> None:
    words = render(estimate_enabling(cluster.directory, tmp_path, tmp_path))
    assert "are on already" in words
    assert "--enable" not in words


def test_what_may_not_be_read_is_told_and_is_in_no_sum(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    whole = estimate_enabling(cluster.directory, tmp_path, tmp_path)
    assert (whole.denied, whole.exit_status) == ((), 0)
    links = cluster.directory / "pg_tblspc"
    (links / "16999").symlink_to(tmp_path / "nowhere")
    database = cluster.directory / "base" / "1"
    owner = database.stat()
    if made.engine.account.switched:
        os.chown(database, 0, 0)
        database.chmod(0o700)
    try:
        status, words, facts = made.engine.account.call(lambda: estimate(cluster.directory))
    finally:
        (links / "16999").unlink()
        os.chown(database, owner.st_uid, owner.st_gid)
    wanted = [f"pg_tblspc/16999/{whole.state.layout.tablespace_version}"]
    if made.engine.account.switched:
        wanted.insert(0, "base/1")
        assert facts["bytes"] < whole.bytes
    assert sorted(each["path"] for each in facts["denied"]) == wanted
    assert status == 3
    assert all(f"not read: {label}: " in words for label in wanted), words
    assert "at least " in words


def estimate(directory: Path) -> tuple[int, str, dict[str, Any]]:
    """Exit status, words and facts, as the command has them."""
    found = estimate_enabling(directory, directory, Path(tempfile.gettempdir()))
    return found.exit_status, render(found), found.to_json()
