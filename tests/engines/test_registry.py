"""Weighings side by side, and what a killed one leaves for the next start to clean."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import sample, tree
from steelyard.engines.local.runs import leftovers, live_runs
from steelyard.engines.postgres.cleanup import segments_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.engines.registry import Run, clean_leftovers, open_run


def owner_that_dies(cache: Cache, account: Account, before_death: Callable[[Run], object]) -> None:
    """Open a run in a child, let it act, and kill it with SIGKILL."""
    pid = os.fork()
    if pid == 0:
        try:
            run = open_run(cache, account)
            before_death(run)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child failed before it could be killed"


def test_a_run_has_its_own_places_and_leaves_none(cache: Cache, account: Account) -> None:
    with open_run(cache, account) as one, open_run(cache, account) as other:
        places = {one.directory, other.directory, one.sockets, other.sockets}
        assert len(places) == 4
        assert all(place.is_dir() for place in places)
        assert one.sockets.stat().st_mode & 0o777 == 0o700
        assert one.sockets.stat().st_uid == account.uid
        assert one.sockets.parent.stat().st_uid == os.geteuid()
        assert len(str(one.sockets)) < 60
        ways = [one.sockets.parent, other.sockets.parent]
    assert not any(place.exists() for place in [*places, *ways])


def test_a_living_weighing_is_never_cleaned_away(cache: Cache, account: Account) -> None:
    with open_run(cache, account) as run:
        assert clean_leftovers(cache) == []
        assert live_runs(cache) == [run.directory]
        assert run.directory.is_dir()
    run.close()  # twice does no harm


def test_a_run_whose_owner_was_killed_is_a_leftover(cache: Cache, account: Account) -> None:
    owner_that_dies(cache, account, lambda run: (run.directory / "slot0").mkdir())
    (found,) = leftovers(cache)
    assert found.account == account
    assert found.sockets is not None
    assert found.sockets.is_dir()
    with open_run(cache, account):  # the next start cleans
        assert not found.directory.exists()
        assert not found.sockets.exists()


def test_what_a_killed_owner_had_in_a_place_of_the_users_is_removed(
    cache: Cache, account: Account, place: Path
) -> None:
    disk = place / "disk"
    (disk / "kept").mkdir(parents=True)

    def act(run: Run) -> None:
        (run.place(str(disk)) / "data0").mkdir()

    owner_that_dies(cache, account, act)
    [left] = leftovers(cache)
    [private] = left.places
    assert (private / "data0").is_dir()
    clean_leftovers(cache)
    assert [entry.name for entry in disk.iterdir()] == ["kept"]


def test_a_half_written_owner_file_does_not_stop_the_cleaning(cache: Cache) -> None:
    directory = cache.runs / "20260101T000000Z-1-abcd"
    directory.mkdir()
    (directory / "owner.json").write_text('{"pid": 1, "acc')
    assert [found.directory for found in clean_leftovers(cache)] == [directory]
    assert not directory.exists()


def test_an_owner_file_cannot_lead_the_cleaning_elsewhere(
    cache: Cache, account: Account, place: Path
) -> None:
    directory = cache.runs / "20260101T000000Z-1-abcd"
    directory.mkdir()
    precious = place / "sy-precious"
    precious.mkdir()
    facts = {"pid": 1, "started": "", "account": account.name, "sockets": str(precious)}
    (directory / "owner.json").write_text(json.dumps(facts))
    clean_leftovers(cache)
    assert precious.is_dir()


@pytest.mark.long
@pytest.mark.postgres
def test_servers_of_a_killed_owner_are_killed_by_the_next_start(
    template: Cluster, cluster: Cluster, slot_of: Any, cache: Cache, account: Account, place: Path
) -> None:
    note = place / "traces"

    def start_and_freeze(run: Run) -> None:
        left = template.clone(run.directory / "slot0" / "data")
        left.start(Slot(0, run.directory / "slot0", run.sockets, 54320), {})
        left.freeze()
        lock = read_pid_file(left.directory)
        assert lock is not None
        pids = [member.pid for member in tree(left.pid)]
        segments = segments_of(left.directory, account)
        note.write_text(json.dumps([pids, segments, lock.shared_memory_id]))

    owner_that_dies(cache, account, start_and_freeze)
    pids, segments, guard = json.loads(note.read_text())
    assert all(map(lives, pids))
    assert segments
    (found,) = leftovers(cache)
    cluster.start(slot_of(0), {})  # of another weighing, whose owner lives
    with open_run(cache, account):
        assert not any(map(lives, pids))
        assert not any(map(os.path.exists, segments))
        assert str(guard) not in system_v_segments()
        assert not found.directory.exists()
    assert cluster.running
    assert cluster.settings()["data_checksums"] == "on"


def lives(pid: int) -> bool:
    """Zombies of a killed owner's servers belong to init, which waits for them when it likes."""
    now = sample(pid)
    return now is not None and now.state != "Z"


def system_v_segments() -> set[str]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}
