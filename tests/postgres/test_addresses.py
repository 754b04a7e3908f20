"""Weighings on servers that are running: sessions of one, two as they stand, through a pooler."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from underway import Underway

from driver.pooling import pooling
from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
SECRET = "s3cr3t-of-the-app"
HBA = """\
local all all trust
host all app 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""
FILL = f"""
CREATE TABLE items (id int PRIMARY KEY, words text);
INSERT INTO items SELECT n, repeat('x', 100) || n FROM generate_series(1, 20000) AS n;
CREATE ROLE app LOGIN PASSWORD '{SECRET}';
CREATE ROLE app_slow LOGIN;
ALTER ROLE app_slow SET enable_indexscan = off;
ALTER ROLE app_slow SET enable_bitmapscan = off;
GRANT SELECT, UPDATE ON items TO app, app_slow;
ANALYZE items
"""
QUERY = "\\set id random(1, 20000)\nSELECT words FROM items WHERE id = :id;\n"
BRIEF = ("--budget", "20s", "--set", "budget.slice=50ms", "--set", "workload.clients=2")
ARM = "enable_indexscan=off+enable_bitmapscan=off"
NO_INDEX = (
    *("--set", "arm.settings.enable_indexscan=off"),
    *("--set", "arm.settings.enable_bitmapscan=off"),
)
NO_MATTER = ("--set", "arm.settings.cursor_tuple_fraction=0.2")  # of cursors, which none opens


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _served(version: str) -> Iterator[Endpoint]:
    """A server that listens on a port of this machine too, with a table of 20,000 rows."""
    settings = {"listen_addresses": "127.0.0.1", "shared_buffers": "64MB"}
    files = {"pg_hba.conf": HBA}
    with own_server(version, settings, port=_free_port(), files=files) as instance:
        with psycopg.connect(conninfo_of(instance.address), autocommit=True) as session:
            for statement in FILL.split(";"):
                session.execute(statement.encode())
        yield replace(instance.address, host="127.0.0.1")


@pytest.fixture(scope="module")
def shop() -> Iterator[Endpoint]:
    yield from _served("18")


@pytest.fixture(scope="module")
def other() -> Iterator[Endpoint]:
    yield from _served("16")


@pytest.fixture
def query(tmp_path: Path) -> str:
    file = tmp_path / "q.sql"
    file.write_text(QUERY)
    return str(file)


def words_of(at: Endpoint) -> str:
    return f"host={at.host} port={at.port} user={at.user} dbname={at.database}"


def weighed(start: Start, *words: str) -> tuple[dict[str, Any], Path]:
    under = start("record", *words, *BRIEF)
    assert under.end() == 0, under.said
    return under.verdict, under.record


def threats(verdict: dict[str, Any]) -> list[str]:
    return [threat["name"] for threat in verdict["contrasts"][0]["threats"]]


def test_a_setting_of_the_session_is_weighed_on_one_server_and_no_password_is_kept(
    start: Start, shop: Endpoint, query: str
) -> None:
    address = f"postgresql://app:{SECRET}@127.0.0.1:{shop.port}/{shop.database}"
    verdict, record = weighed(start, "sessions", "--address", address, "-f", query, *NO_INDEX)
    [contrast] = verdict["contrasts"]
    assert contrast["verdict"] == "slower"
    assert contrast["high_percent"] < -50  # a scan of 20,000 rows in place of a key
    assert "shared background" in threats(verdict)
    assert "plans differ" not in threats(verdict), "a setting of the planner is to change them"
    assert "sessions of one running server" in verdict["sentence"]
    environment = json.loads((record / "environment.json").read_text())
    assert environment["arms"][ARM]["settings"]["enable_indexscan"] == "off"
    assert environment["arms"]["as-it-stands"]["settings"]["enable_indexscan"] == "on"
    assert environment["arms"][ARM]["round_trip_us"] > 0
    files = [path for path in record.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_what_a_role_brings_is_weighed_as_it_stands(
    start: Start, shop: Endpoint, query: str
) -> None:
    where = f"host=127.0.0.1 port={shop.port} dbname={shop.database}"
    verdict, _ = weighed(
        start, "sessions", "--address", where, "-f", query,
        "--control", f"address=user={shop.user}", "--arm", "address=user=app_slow",
    )  # fmt: skip
    assert verdict["contrasts"][0]["verdict"] == "slower"
    names = {name for name, _, _ in verdict["differences"]["declared"]}
    assert "enable_indexscan" in names


def test_equal_sessions_are_not_told_apart_by_more_than_a_few_percent(
    start: Start, shop: Endpoint, query: str
) -> None:
    verdict, _ = weighed(start, "aa", "--address", words_of(shop), "-f", query)
    [contrast] = verdict["contrasts"]
    assert contrast["low_percent"] < 5
    assert contrast["high_percent"] > -5


def test_two_servers_are_weighed_as_they_stand(
    start: Start, shop: Endpoint, other: Endpoint, query: str
) -> None:
    verdict, record = weighed(
        start, "addresses", "-f", query,
        "--control", f"address={words_of(shop)}", "--arm", f"address={words_of(other)}",
    )  # fmt: skip
    assert "these instances as they stand" in verdict["sentence"]
    assert "address only" in threats(verdict)
    environment = json.loads((record / "environment.json").read_text())
    versions = {
        at.port: facts["build"]["version_number"] // 10000
        for name, facts in environment["arms"].items()
        for at in (shop, other)
        if str(at.port) in name
    }
    assert versions == {shop.port: 18, other.port: 16}
    read = {one["metric"] for one in verdict["causes"]}
    assert "wal_bytes_per_transaction" in read or "blocks_read_per_transaction" in read


def test_a_pooler_in_front_is_the_same_server(start: Start, shop: Endpoint, query: str) -> None:
    with pooling(shop) as pooler:
        verdict, _ = weighed(
            start, "sessions", "--address", words_of(shop), "-f", query,
            "--arm", f"address=port={pooler.port}", "--set", "workload.mode=simple",
            "--yes",  # it takes no `options`, with which its sessions would begin read-only
        )  # fmt: skip
    assert "sessions of one running server" in verdict["sentence"]
    assert verdict["contrasts"][0]["epochs"] >= 8


def test_a_loaded_workload_is_driven_where_it_was_loaded(start: Start, other: Endpoint) -> None:
    words = (
        *("sessions", "--address", words_of(other), "--workload", "pgbench"),
        *("--set", "workload.scale=1", *NO_MATTER),
    )
    refused = start("before", *words, *BRIEF)
    assert refused.end() == 2
    assert "was not loaded by Steelyard" in refused.said
    load = [sys.executable, "-m", "steelyard", "workloads", "load", "pgbench", words_of(other)]
    subprocess.run([*load, "--set", "scale=1"], check=True, capture_output=True)
    select = ("--set", "workload.scripts={select-only=1}")
    verdict, _ = weighed(start, *words, *select)
    assert verdict["contrasts"][0]["epochs"] >= 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "arm.settings.shared_buffers=1GB"), "cannot be changed without restarting"),
        (("--set", "arm.settings.no_such=1"), "unrecognized configuration parameter"),
        (("--set", "memory=1GB"), "held to it"),
    ],
)
def test_what_a_session_cannot_have_is_refused_in_the_servers_words(
    start: Start, shop: Endpoint, query: str, words: tuple[str, ...], said: str
) -> None:
    refused = start("record", "sessions", "--address", words_of(shop), "-f", query, *words)
    assert refused.end() != 0
    assert said in refused.said


def test_a_script_that_writes_needs_a_yes(start: Start, shop: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "w.sql").write_text("UPDATE items SET words = words WHERE id = 1;\n")
    script = str(tmp_path / "w.sql")
    words = ("sessions", "--address", words_of(shop), "-f", script, *NO_MATTER)
    refused = start("record", *words)
    assert refused.end() == 2
    assert "writes into the database" in refused.said
    verdict, _ = weighed(start, *words, "--yes")
    assert "wrong answer from the workload" not in threats(verdict)
    assert verdict["contrasts"][0]["epochs"] >= 8


def test_a_script_that_cannot_work_is_named_before_any_load(
    start: Start, shop: Endpoint, query: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.sql").write_text("SELECT words FROM itemz;\n")
    words = (
        "sessions",
        "--address",
        words_of(shop),
        "-f",
        query,
        "-f",
        str(tmp_path / "wrong.sql"),
    )
    refused = start("record", *words, *NO_INDEX)
    assert refused.end() == 2
    assert 'wrong.sql" cannot work on arm ' in refused.said
    assert 'relation "itemz" does not exist (SQLSTATE 42P01)' in refused.said
    leave_out = ("--set", "workload.failing=leave-out")
    _, record = weighed(start, *words, *NO_INDEX, *leave_out)
    [left_out] = json.loads((record / "plan.json").read_text())["left_out"]
    assert left_out["script"].endswith("wrong.sql")
    assert (left_out["share"], left_out["tries"], left_out["failed"]) == (0.5, 1, 1)
