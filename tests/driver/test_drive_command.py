"""`steelyard drive` as a person or a script calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from driver.served import Server
from thinned import thinned

START = "from steelyard.cli.app import main; main()"


def _drive(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, "drive", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.postgres
def test_json_is_one_object_with_what_scripts_depend_on(server: Server) -> None:
    load = ["-b", "select-only@3", "-b", "simple-update", "-c", "2", "-T", "0.3", "--json"]
    done = _drive(server.conninfo, *load)
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert set(summary["latency_us"]) == {"mean", "p50", "p95", "p99", "p999", "max"}
    assert summary["errors"] == {}
    assert summary["retries"] == summary["late_starts"] == 0
    assert summary["throughput"] == pytest.approx(
        summary["transactions"] / summary["seconds"], rel=0.5
    )
    counted = {script["name"]: script["transactions"] for script in summary["scripts"]}
    assert sum(counted.values()) == summary["transactions"]
    assert counted["select-only"] > counted["simple-update"] > 0


@pytest.mark.long
@pytest.mark.postgres
def test_scripts_are_numbered_in_the_order_of_the_command_line_as_by_pgbench(
    server: Server, tmp_path: Path
) -> None:
    """Logs of transactions name them by these numbers."""
    script = tmp_path / "mine.sql"
    script.write_text("\\set x debug(7)\n")
    mine = ("-f", f"{script}@3")
    for words, number in (
        ((*mine, "-S"), 0), (("-S", *mine), 1), ((*mine, "-b", "select", "-N"), 0),
        (("-b", "select-only", *mine, "-b", "simple-update"), 1),
    ):  # fmt: skip
        done = _drive(server.conninfo, *words, "-t", "40", "--json")
        assert done.returncode == 0, done.stderr
        assert f"debug(script={number}," in done.stderr
        names = [each["name"] for each in json.loads(done.stdout)["scripts"]]
        assert names.index(str(script)) == number


@pytest.mark.postgres
def test_a_script_file_with_variables_is_driven(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "mine.sql"
    script.write_text("\\set x :top - 1\nSELECT :x::int + :client_id::int;\n")
    done = _drive(
        server.conninfo, "-f", f"{script}@2", "-D", "top=5", "-T", "0.1", "-M", "extended"
    )
    assert done.returncode == 0, done.stderr
    assert "throughput" in done.stdout
    assert "failed         0" in done.stdout


@pytest.mark.postgres
@thinned(
    ("load", "placement"),
    [
        (["-b", "select-only", "--placement", "symmetric"], "symmetric"),
        (["-b", "select-only", "--placement", "free"], "free"),
        (["-b", "select-only", "-c", "64", "-j", "64"], "symmetric"),
        (["-b", "tpcb-like", "-c", "64", "-j", "64"], "free"),
    ],
    1,
)
def test_reading_is_placed_symmetrically_unless_told_otherwise(
    server: Server, load: list[str], placement: str
) -> None:
    done = _drive(server.conninfo, *load, "-T", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["placement"] == placement


@pytest.mark.postgres
def test_pgbench_tables_that_are_not_there_are_said(server: Server) -> None:
    done = _drive(server.conninfo + " dbname=template1", "-T", "0.1")
    assert done.returncode == 3
    assert "holds no pgbench tables" in done.stderr
    assert "HINT" in done.stderr


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("steelyard.driver.process", "numpy scipy psycopg pydantic typer"),
        ("steelyard.cli.commands.drive, steelyard.cli.driving.run", "numpy scipy psycopg"),
    ],
)
def test_driving_imports_nothing_heavy(modules: str, heavy: str) -> None:
    code = f"import sys, {modules}; print([m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
