"""The YCSB workload moves the server's counters as go-ycsb does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from interop.places import free_port, installed
from own_cache import own_server
from steelyard.engines.adapters import workload_database
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.sql.counters import wait_until_flushed
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.loading.load import load
from steelyard.workloads.reading.folder import find_workload

pytestmark = [pytest.mark.postgres, pytest.mark.long]

START = "from steelyard.cli.app import main; main()"
ROWS = 2000
OPERATIONS = 2000
COUNTERS = """
    SELECT n_tup_ins, n_tup_upd, n_tup_del, idx_scan, seq_scan
      FROM pg_stat_user_tables WHERE relname = 'usertable'"""


@contextmanager
def loaded() -> Iterator[tuple[Endpoint, Endpoint]]:
    """A server with the rows of the workload, and of a database beside them."""
    settings = {"listen_addresses": "127.0.0.1"}
    files = {"pg_hba.conf": "local all all trust\nhost all all 127.0.0.1/32 trust\n"}
    with own_server("18", settings, port=free_port(), files=files) as instance:
        address = instance.address
        load(find_workload("ycsb"), workload_database(address), ROWS // 1000)
        with connected(address) as connection:
            connection.execute(b"CREATE DATABASE beside")
        yield replace(address, database=DATABASE), replace(address, database="beside")


def rows(address: Endpoint, query: str) -> list[tuple[object, ...]]:
    with connected(address) as connection:
        return [tuple(row) for row in connection.execute(query.encode()).fetchall()]


def go_ycsb(command: str, mix: str, address: Endpoint) -> str:
    program = installed("go", "go-ycsb")
    properties = {
        "pg.host": "127.0.0.1",
        "pg.port": str(address.port),
        "pg.user": str(address.user),
        "pg.db": address.database,
        "recordcount": str(ROWS),
        "operationcount": str(OPERATIONS),
        "requestdistribution": "latest" if mix == "d" else "zipfian",
    }
    described = program.with_name("ycsb") / "workloads" / f"workload{mix}"
    words = [str(program), command, "pg", "-P", str(described), "--threads=1"]
    words += [word for key, value in properties.items() for word in ("-p", f"{key}={value}")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def drive(mix: str, address: Endpoint) -> None:
    target = conninfo_of(replace(address, database="postgres"))
    words = ["drive", target, "-w", "ycsb", "--set", f"mix={mix}", "-t", str(OPERATIONS)]
    command = [sys.executable, "-c", START, *words, "-c", "1", "--json"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def counters(address: Endpoint) -> list[int]:
    wait_until_flushed(conninfo_of(address), 180000)
    return [int(str(field)) for field in rows(address, COUNTERS)[0]]


def test_rows_have_the_shape_and_each_mix_does_the_work_of_go_ycsb() -> None:
    installed("go", "go-ycsb")
    shape = """
        SELECT count(DISTINCT ycsb_key), min(left(ycsb_key, 4)), max(length(ycsb_key)),
               min(length(field0)), max(length(field9))
          FROM usertable"""
    with loaded() as (own, other):
        go_ycsb("load", "a", other)
        # Other keys: go-ycsb hashes the highest byte of a number first, YCSB the lowest.
        assert rows(own, shape) == rows(other, shape)
        for mix in "abcdef":
            before = counters(own), counters(other)
            drive(mix, own)
            go_ycsb("run", mix, other)
            moved = [
                [new - old for old, new in zip(was, counters(address), strict=True)]
                for was, address in zip(before, (own, other), strict=True)
            ]
            ours, theirs = moved
            if mix == "e":  # go-ycsb scans in no order, so by the table, and inserts D's keys again
                assert ours[3] == pytest.approx(theirs[4], abs=150)
                continue
            # Drawn: of 2,000 binomial draws four deviations are 90.
            for one, two in zip(ours, theirs, strict=True):
                assert one == pytest.approx(two, abs=150), (mix, ours, theirs)
