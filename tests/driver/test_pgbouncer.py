"""Through PgBouncer in transaction mode: the same work, whoever's connection does it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.pooling import KEEPS_STATEMENTS, Pooler, pooling
from driver.served import Server
from driver.stuck import interrupt_stuck_load
from thinned import thinned

pytestmark = pytest.mark.postgres

START = "from steelyard.cli.app import main; main()"


@pytest.fixture(scope="module")
def pooler(server: Server) -> Iterator[Pooler]:
    with pooling(server.address) as made:
        yield made


def _drive(pooler: Pooler, *words: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, "-c", START, "drive", pooler.conninfo, *words]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@thinned("mode", ["simple", "extended"], 1)
def test_more_clients_than_connections_do_all_the_work(
    server: Server, pooler: Pooler, mode: str
) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    summary, _ = _drive(pooler, "-c", "20", "-j", "2", "-t", "5", "-M", mode)
    assert (summary["transactions"], summary["errors"], summary["lost"]) == (100, {}, 0)
    assert summary["wrong_rows"] == 0
    assert server.one("SELECT count(*) FROM pgbench_history") - before == 100


def test_prepared_statements_are_kept_or_their_loss_is_said(server: Server, pooler: Pooler) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    summary, said = _drive(pooler, "-c", "20", "-j", "2", "-t", "10", "-M", "prepared")
    done = server.one("SELECT count(*) FROM pgbench_history") - before
    assert summary["transactions"] == done
    if pooler.version >= KEEPS_STATEMENTS:
        assert (done, summary["errors"], said) == (200, {}, "")
    else:
        assert done + summary["failed"] == 200
        assert set(summary["errors"]) <= {"26000", "42P05"}
        assert "HINT:  Prepared statements are lost between transactions" in said


@pytest.mark.long
def test_a_statement_that_another_run_prepared_is_never_executed(
    server: Server, tmp_path: Path
) -> None:
    """Through a pooler that keeps no statements they stay on its connections after a run.

    The first run's is left on one of them; the second prepares its own on another, and is then
    given the first as well.
    """
    reads, writes = tmp_path / "reads.sql", tmp_path / "writes.sql"
    reads.write_text("SELECT 1;\n")
    writes.write_text("INSERT INTO written VALUES (1);\n")
    with server.connect() as connection:
        connection.execute("CREATE TABLE written (v int)")
    try:
        with pooling(server.address, statements=0) as forgetful:
            load = ("-M", "prepared", "-f")
            _drive(forgetful, *load, str(reads), "-c", "1", "-t", "3")
            summary, _ = _drive(forgetful, *load, str(writes), "-c", "4", "-j", "2", "-t", "200")
            assert summary["transactions"] + summary["failed"] == 800
            assert set(summary["errors"]) <= {"26000", "42P05"}
        assert server.one("SELECT count(*) FROM written") == summary["transactions"] > 0
    finally:
        with server.connect() as connection:
            connection.execute("DROP TABLE written")


def test_pipelines_go_through(pooler: Pooler, tmp_path: Path) -> None:
    script = tmp_path / "pipeline.sql"
    lines = "\n".join(f"SELECT {number};" for number in range(10))
    script.write_text(f"\\startpipeline\n{lines}\n\\endpipeline\n")
    summary, _ = _drive(pooler, "-f", str(script), "-c", "8", "-t", "20", "-M", "extended")
    assert (summary["transactions"], summary["errors"]) == (160, {})


def test_a_connection_for_each_transaction_costs_the_server_none(
    server: Server, pooler: Pooler
) -> None:
    summary, _ = _drive(pooler, "-S", "-C", "-c", "4", "-t", "20")
    assert (summary["transactions"], summary["connections"]) == (80, 76)
    own = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    assert server.one(f"{own} AND pid <> pg_backend_pid()") <= 2


@pytest.mark.long
def test_a_load_that_is_given_up_is_cancelled_through_it(
    server: Server, pooler: Pooler, tmp_path: Path
) -> None:
    interrupt_stuck_load(server, pooler.conninfo, tmp_path)
