"""A primary's standbys start, follow, stand still and end with it, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import psycopg
import pytest

from engines.conftest import VERSIONS, Made
from steelyard.engines.capabilities.life import Standbys
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import tree
from steelyard.engines.postgres import standby_group
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.primary import Primary
from steelyard.engines.postgres.standby_group import replication_settings
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from thinned import thinned

pytestmark = pytest.mark.postgres

MS = 1_000_000


@pytest.fixture(params=["18"])
def made(request: pytest.FixtureRequest, made_of: Callable[[str], Made]) -> Made:
    """Of one version, where a test does not name more."""
    return made_of(request.param)


@pytest.fixture
def primary(cluster: Cluster) -> Iterator[Primary]:
    assert isinstance(cluster, Primary)
    yield cluster
    with suppress(EngineError):
        cluster.discard()
    cluster.replicate(None)


def below(slot: Slot) -> list[psutil.Process]:
    """Processes that work below the slot's directory."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(slot.path) in process.cwd():
                found.append(process)
    return found


def settings(standbys: int = 1, quorum: int = 1, **more: str) -> dict[str, str]:
    return {**replication_settings(standbys, quorum), **more}


def execute(address: Endpoint, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo_of(address), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@pytest.mark.long
@pytest.mark.parametrize("made", VERSIONS, indirect=True)
def test_what_is_committed_with_remote_apply_is_read_on_every_standby_at_once(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(2, reads=True))
    primary.start(slot_of(0), settings(2, 2, synchronous_commit="remote_apply"))
    assert primary.standby_names() == ("standby1", "standby2")
    execute(primary.address, "CREATE TABLE t AS SELECT 42 AS n")
    assert primary.load_address() != primary.address
    assert execute(primary.load_address(), "SELECT n, pg_is_in_recovery() FROM t") == [(42, True)]
    assert primary.lag().log_bytes == 0
    primary.require_streaming()
    primary.stop()
    assert below(slot_of(0)) == []


def test_without_standbys_it_is_a_cluster_like_any_other(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.start(slot_of(0), {})
    assert primary.standby_names() == ()
    assert primary.load_address() == primary.address
    with pytest.raises(EngineError, match="has no standby"):
        primary.lag()


@pytest.mark.long
def test_after_a_clean_stop_its_files_keep_no_log_for_standbys_that_are_gone(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    primary.start(slot_of(0), settings())
    primary.stop()
    primary.replicate(None)
    primary.start(slot_of(0), {})
    assert execute(primary.address, "SELECT slot_name FROM pg_replication_slots") == []


@thinned(("end", "still"), [("stop", "suspend"), ("discard", "freeze"), ("crash", "")], 1)
def test_standbys_end_with_it_however_it_ends(
    end: str, still: str, primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1, round_trip_ns=MS))
    primary.start(slot_of(0), settings())
    assert len(below(slot_of(0))) > 8
    if still:
        getattr(primary, still)()
    getattr(primary, end)()
    assert below(slot_of(0)) == []
    sockets = [path.name for path in slot_of(0).socket_directory.iterdir()]
    assert [name for name in sockets if name.startswith(".s.PGSQL.3")] == []


def test_the_whole_tree_stands_still_and_the_lag_is_that_of_the_moment_before(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    primary.start(slot_of(0), settings(quorum=0))
    primary.suspend()
    time.sleep(0.1)
    assert {process.status() for process in below(slot_of(0))} == {psutil.STATUS_STOPPED}
    assert primary.lag().log_bytes >= 0  # asks no server that stands still
    assert primary.resume() == 0
    execute(primary.address, "CREATE TABLE t ()")
    primary.require_streaming()


def test_frozen_its_sessions_still_answer_and_its_standby_does_nothing(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    primary.start(slot_of(0), settings(quorum=0))
    with psycopg.connect(conninfo_of(primary.address), autocommit=True) as session:
        primary.freeze()
        [(before,)] = session.execute("SELECT pg_current_wal_flush_lsn() - '0/0'").fetchall()
        session.execute("SET synchronous_commit = local")
        session.execute("CREATE TABLE t AS SELECT generate_series(1, 100000)")
        rows = session.execute("SELECT replay_lsn - '0/0' FROM pg_stat_replication").fetchall()
        assert all(replayed <= before for (replayed,) in rows)
        primary.thaw()


@pytest.mark.long
def test_a_standby_that_dies_is_named_with_its_last_words(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(2))
    primary.start(slot_of(0), settings(2, 1))
    [victim] = [
        process
        for process in below(slot_of(0))
        if process.cwd().endswith("standby2/data") and "-D" in process.cmdline()
    ]
    os.kill(victim.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while primary.running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not primary.running
    with pytest.raises(ServerError, match="standby2 died"):
        primary.require_standbys()
    primary.discard()
    assert below(slot_of(0)) == []


@pytest.mark.long
def test_a_standby_that_stops_to_follow_is_noticed(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    primary.start(slot_of(0), settings(quorum=0))
    standby = psycopg.connect(
        f"host={slot_of(0).socket_directory} port=30001 user=postgres dbname=postgres",
        autocommit=True,
    )
    with standby:
        standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
    # The command line counts before the file: so the walsender is ended again and again.
    [(slot,)] = execute(primary.address, "SELECT slot_name FROM pg_replication_slots")
    receiver = [p for p in below(slot_of(0)) if "walreceiver" in " ".join(p.cmdline())]
    for process in receiver:
        process.send_signal(signal.SIGSTOP)
    execute(
        primary.address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_replication",
    )
    deadline = time.monotonic() + 10
    while (
        execute(primary.address, "SELECT pid FROM pg_stat_replication")
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    with pytest.raises(ServerError, match="standby1 does not follow its primary any more"):
        primary.require_streaming()
    for process in receiver:
        process.send_signal(signal.SIGCONT)
    assert slot == "standby1"


@thinned("names", ["nobody", "ANY 2 (standby1, standby2)"], 1)
def test_commits_that_would_wait_for_ever_are_refused_with_the_standbys_names(
    names: str,
    primary: Primary,
    slot_of: Callable[[int], Slot],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standby_group, "_REPLY_S", 0.2)
    primary.replicate(Standbys(1))
    with pytest.raises(EngineError, match="commits would wait for ever") as refused:
        primary.start(slot_of(0), settings(synchronous_standby_names=names))
    assert refused.value.hint == "They are called standby1."
    assert below(slot_of(0)) == []


def test_a_standby_that_cannot_start_is_quoted_and_nothing_is_left(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    with pytest.raises(ServerError, match="could not"):
        primary.start(slot_of(0), settings(max_wal_senders="0", wal_level="minimal"))
    assert below(slot_of(0)) == []


@pytest.mark.long
def test_its_use_counts_the_processes_of_its_standbys(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1))
    primary.start(slot_of(0), settings())
    kinds = [process.kind for process in primary.use().processes]
    assert kinds.count("postmaster") == 2
    assert {"walsender", "walreceiver", "startup"} <= set(kinds)
    own = {member.pid for member in tree(primary.pid)}
    used = primary.use()
    assert used.cpu_ns > sum(one.cpu_ns for one in used.processes if one.pid in own)


@pytest.mark.long
def test_a_round_trip_is_added_to_every_commit_that_waits(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1, round_trip_ns=30 * MS))
    primary.start(slot_of(0), settings(fsync="off"))
    with psycopg.connect(conninfo_of(primary.address), autocommit=True) as session:
        session.execute("CREATE TABLE t (n int)")
        began = time.monotonic()
        for _ in range(5):
            session.execute("INSERT INTO t VALUES (1)")
        assert time.monotonic() - began >= 5 * 0.030  # never less: a lower bound is no timed test
        session.execute("SET synchronous_commit = local")
        assert session.execute("SELECT count(*) FROM t").fetchone() == (5,)


@pytest.mark.long
def test_the_delay_passes_bytes_on_unchanged_and_in_order(
    primary: Primary, slot_of: Callable[[int], Slot]
) -> None:
    primary.replicate(Standbys(1, round_trip_ns=2 * MS, reads=True))
    primary.start(slot_of(0), settings(synchronous_commit="remote_apply"))
    execute(
        primary.address,
        "CREATE TABLE t AS SELECT n, repeat(md5(n::text), 20) AS w "
        "FROM generate_series(1, 50000) AS n",
    )
    query = "SELECT count(*), md5(string_agg(w, '' ORDER BY n)) FROM t"
    assert execute(primary.load_address(), query) == execute(primary.address, query)
