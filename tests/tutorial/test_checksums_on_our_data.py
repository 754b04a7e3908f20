"""A DBA follows the tutorial on checksums beside a server in use, from its backup to the answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engines.postgres.intake.original import OWNER, PORT, Original
from tutorial.conftest import Reader

pytestmark = [pytest.mark.postgres, pytest.mark.long]

TRAFFIC = """\\set id random(1, 20000)
SELECT words FROM orders WHERE id = :id;
SELECT count(*) FROM orders o JOIN lines l USING (id) WHERE o.id BETWEEN :id AND :id + 50;
"""


@contextmanager
def in_use(shop: Original, directory: Path) -> Iterator[None]:
    """Clients who ask for orders all the while."""
    script = directory / "traffic.sql"
    script.write_text(TRAFFIC)
    clients = subprocess.Popen(
        [
            str(shop.bindir / "pgbench"), "-n", "-c", "2", "-R", "100", "-T", "3600",
            "-f", str(script), "-h", str(shop.sockets), "-p", str(PORT), "-U", OWNER, "shop",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        clients.kill()
        clients.wait()


def test_a_dba_gets_an_answer_from_a_backup_and_a_log(reader: Reader, shop: Original) -> None:
    reader.reach(shop)
    with in_use(shop, reader.directory):
        said = reader.follow_all("checksums-on-our-data.md")
    record = reader.directory / "records" / "checksums" / "latest"
    verdict = json.loads((record / "verdict.json").read_text())
    assert verdict["contrasts"][0]["verdict"] != "invalid"
    environment = json.loads((record / "environment.json").read_text())
    assert len(environment["workload"]["scripts"]) == 2
    for arm in environment["arms"].values():
        weighed = {name: arm["settings"][name] for name in ("shared_buffers", "work_mem")}
        assert weighed == {"shared_buffers": "6144 8kB", "work_mem": "5120 kB"}
    names = {one["name"] for one in verdict["contrasts"][0]["threats"]}
    assert "settings not the server's" not in names
    assert "records/checksums/" in said[3], "the weighing's cost stands beside the downtime"
    assert "one bit" in said[-1]
