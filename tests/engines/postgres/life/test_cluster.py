"""The life of a cluster on real servers of both bundled versions."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from steelyard.engines.capabilities.counters import Observable
from steelyard.engines.capabilities.life import Clonable, Crashable, Freezable, Placeable
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import programs_inside, sample, tree
from steelyard.engines.postgres.cleanup import PROGRAMS
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.server import Server
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.registry import Run
from steelyard.model.errors import EngineError, ServerError
from thinned import thinned

pytestmark = pytest.mark.postgres
Slots = Callable[[int], Slot]


def ask(cluster: Cluster, query: str) -> object:
    """The first column of the first row."""
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
        answer = connection.execute(query.encode())
        row = answer.fetchone() if answer.description else None
    return row[0] if row else None


@pytest.mark.parametrize(
    "capability", [Clonable, Tunable, Placeable, Freezable, Crashable, Observable]
)
def test_a_cluster_has_every_capability(capability: type, template: Cluster) -> None:
    assert isinstance(template, capability)


def test_a_cluster_starts_answers_and_stops_without_a_trace(
    cluster: Cluster, slot_of: Slots, run: Run, traces_of: Any
) -> None:
    others = {*run.sockets.iterdir()}  # of servers that tests of other files killed
    cluster.start(slot_of(0), {"shared_buffers": "16MB"})
    assert cluster.running
    assert ask(cluster, "SELECT current_user") == "postgres"
    assert ask(cluster, "SHOW server_version_num") == str(cluster.identity.version_number)
    traces = traces_of(cluster)
    assert len(traces.left) > 7  # six processes at least, and both kinds of shared memory
    cluster.stop()
    assert not cluster.running
    assert traces.left == []
    assert {*run.sockets.iterdir()} <= others
    cluster.stop()  # twice does no harm


def test_settings_are_reported_with_their_units(cluster: Cluster, slot_of: Slots) -> None:
    cluster.start(slot_of(0), {"shared_buffers": "16MB", "work_mem": "5MB"})
    settings = cluster.settings()
    assert settings["shared_buffers"] == "2048 8kB"
    assert settings["work_mem"] == "5120 kB"
    assert settings["data_checksums"] == "on"
    assert settings["listen_addresses"] == ""


def test_settings_are_those_of_sessions_in_the_loaded_database(
    cluster: Cluster, slot_of: Slots
) -> None:
    """What the database of a copy sets itself counts more than what an arm's server is given."""
    cluster.start(slot_of(0), {"work_mem": "5MB"})
    ask(cluster, "CREATE DATABASE steelyard")
    ask(cluster, "ALTER DATABASE steelyard SET work_mem = '7MB'")
    ask(cluster, "ALTER DATABASE postgres SET work_mem = '9MB'")
    assert cluster.settings()["work_mem"] == "7168 kB"


@pytest.mark.long
def test_nothing_of_the_callers_environment_reaches_a_cluster(
    engine: Postgres, run: Run, slot_of: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "PGDATA": "/nowhere", "PGPORT": "1",
        "TZ": "Asia/Tokyo", "PGOPTIONS": "-c work_mem=77MB", "PGHOST": "elsewhere",
        "PGTZ": "Asia/Tokyo", "PGDATESTYLE": "German",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    cluster = engine.create(run.directory / engine.identity.version / "data", protection="none")
    cluster.start(slot_of(0), {})
    settings = cluster.settings()
    assert settings["work_mem"] == "4096 kB"
    assert settings["data_checksums"] == "off"
    assert settings["TimeZone"] == "UTC"
    assert settings["DateStyle"] == "ISO, MDY"
    with psycopg.connect(conninfo_of(cluster.address), options="") as connection:
        row = connection.execute(
            "SELECT datcollate, datctype, pg_encoding_to_char(encoding)"
            " FROM pg_database WHERE datname = 'template1'"
        ).fetchone()
    assert row == ("C", "C", "UTF8")
    cluster.stop()
    shutil.rmtree(cluster.directory)


@thinned(
    ("settings", "words"),
    [
        ({"shared_buffers": "lots"}, 'invalid value for parameter "shared_buffers": "lots"'),
        ({"no_such_setting": "1"}, 'unrecognized configuration parameter "no_such_setting"'),
        ({"shared_preload_libraries": "nothing_there"}, "could not access file"),
    ],
    1,
)
def test_a_refused_setting_is_answered_in_the_servers_words(
    settings: dict[str, str], words: str, cluster: Cluster, slot_of: Slots, run: Run
) -> None:
    with pytest.raises(ServerError) as caught:
        cluster.start(slot_of(0), settings)
    assert words in caught.value.primary
    assert "FATAL" in (caught.value.detail or "")
    assert not cluster.running
    assert programs_inside(run.directory, run.account, PROGRAMS) == []
    cluster.start(slot_of(0), {})  # and nothing stands in the way of a good one


@pytest.mark.parametrize("name", ["port", "unix_socket_directories", "Data_Directory"])
def test_a_setting_that_belongs_to_the_slot_is_refused(
    name: str, cluster: Cluster, slot_of: Slots
) -> None:
    with pytest.raises(EngineError, match="belongs to the slot"):
        cluster.start(slot_of(0), {name: "1"})


def test_a_socket_path_that_is_too_long_is_refused(cluster: Cluster, run: Run) -> None:
    slot = Slot(0, run.directory / "slot0", run.sockets / ("x" * 90), 54320)
    with pytest.raises(EngineError, match="too long"):
        cluster.start(slot, {})


@pytest.mark.long
def test_a_crashed_cluster_recovers_what_was_committed(
    cluster: Cluster, slot_of: Slots, traces_of: Any
) -> None:
    cluster.start(slot_of(0), {})
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    traces = traces_of(cluster)
    cluster.freeze()
    cluster.crash()
    assert not cluster.running
    assert traces.left == []
    cluster.start(slot_of(0), {})
    assert ask(cluster, "SELECT answer FROM kept") == 42
    log = (slot_of(0).path / "server.log").read_text()
    assert "database system was not properly shut down" in log


@pytest.mark.long
def test_a_server_that_died_is_seen_quoted_and_cleaned_up(
    cluster: Cluster, slot_of: Slots, traces_of: Any
) -> None:
    cluster.start(slot_of(0), {})
    traces = traces_of(cluster)
    os.kill(cluster.pid, signal.SIGKILL)
    while cluster.running:
        time.sleep(0.01)
    with pytest.raises(ServerError, match="died: status -9"):
        cluster.settings()
    assert cluster.last_words()
    cluster.stop()
    # Its children were orphaned at its death and end by themselves: their zombies are init's.
    assert [left for left in traces.left if not left.startswith("process")] == []
    assert programs_inside(cluster.directory, cluster.account, PROGRAMS) == []
    cluster.start(slot_of(0), {})


def test_a_stop_that_is_interrupted_is_a_kill(
    cluster: Cluster, slot_of: Slots, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(server: Server, patience_s: float) -> bool:
        raise KeyboardInterrupt

    cluster.start(slot_of(0), {})
    processes = [member.pid for member in tree(cluster.pid)]
    monkeypatch.setattr(Server, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster.stop()
    assert not cluster.running
    assert [pid for pid in processes if sample(pid) is not None] == []
    for socket in run.sockets.iterdir():
        socket.unlink()


def test_a_running_cluster_is_neither_started_nor_cloned_nor_opened_again(
    engine: Postgres, cluster: Cluster, slot_of: Slots, run: Run
) -> None:
    cluster.start(slot_of(0), {})
    with pytest.raises(EngineError, match="it is running"):
        cluster.start(slot_of(0), {})
    with pytest.raises(EngineError, match="it is running"):
        cluster.clone(run.directory / "copy")
    with pytest.raises(EngineError, match="it is running"):
        engine.open(cluster.directory)


def test_another_versions_cluster_is_not_opened(engine: Postgres, place: Path) -> None:
    (place / "PG_VERSION").write_text("12\n")
    with pytest.raises(EngineError, match="made by version 12"):
        engine.open(place)
    with pytest.raises(EngineError, match="could not open cluster"):
        engine.open(place / "none")


@pytest.mark.long
def test_two_clusters_stand_side_by_side(cluster: Cluster, second: Cluster, slot_of: Slots) -> None:
    cluster.start(slot_of(0), {"work_mem": "1MB"})
    second.start(slot_of(1), {"work_mem": "2MB"})
    assert ask(cluster, "SHOW work_mem") == "1MB"
    assert ask(second, "SHOW work_mem") == "2MB"
    cluster.crash()
    assert ask(second, "SELECT 1") == 1
