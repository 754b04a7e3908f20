"""Real servers start and stop side by side, and a discarded one's files are put back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest

from engines.postgres.life.test_restore import differences, write_something
from steelyard._core import read_control
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import programs_inside
from steelyard.engines.postgres.cleanup import PROGRAMS
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import CONTROL_FILE, Cluster
from steelyard.engines.registry import Run
from steelyard.model.errors import ServerError
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.slots import Prepared, Slots
from steelyard.running.stopwatch import Stopwatch
from steelyard.study.study import Arm

pytestmark = pytest.mark.postgres
SlotOf = Callable[[int], Slot]
BAD = {"shared_preload_libraries": "there_is_no_such_library"}


def count(cluster: Cluster) -> object:
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'filled'")
        return row.fetchone()


def test_two_servers_are_launched_then_waited_for_and_stop_together_cleanly(
    cluster: Cluster, second: Cluster, slot_of: SlotOf, traces_of: Any
) -> None:
    for number, one in enumerate((cluster, second)):
        one.launch(slot_of(number), {})
    for one in (cluster, second):
        one.await_ready()
        assert count(one) == (0,)
    traces = [traces_of(one) for one in (cluster, second)]
    for one in (cluster, second):
        one.begin_stop()
    for one in (cluster, second):
        one.stop()
        assert read_control(one.directory / CONTROL_FILE)["state"] == "shut down"
    assert [trace.left for trace in traces] == [[], []]


def test_a_server_that_cannot_start_does_not_hinder_the_one_beside_it(
    cluster: Cluster, second: Cluster, slot_of: SlotOf, run: Run
) -> None:
    cluster.launch(slot_of(0), BAD)
    second.launch(slot_of(1), {})
    with pytest.raises(ServerError, match="there_is_no_such_library"):
        cluster.await_ready()
    second.await_ready()
    assert count(second) == (0,)
    assert not cluster.running
    assert programs_inside(cluster.directory, cluster.account, PROGRAMS) == []


def test_a_server_discarded_before_it_was_ready_leaves_nothing(
    template: Cluster, cluster: Cluster, slot_of: SlotOf
) -> None:
    cluster.launch(slot_of(0), {})
    cluster.discard()
    assert not cluster.running
    assert programs_inside(cluster.directory, cluster.account, PROGRAMS) == []
    cluster.restore(template.directory)
    assert differences(template.directory, cluster.directory) == []


def test_a_server_that_died_is_cleaned_up_when_it_is_to_be_discarded(
    cluster: Cluster, slot_of: SlotOf, traces_of: Any
) -> None:
    cluster.start(slot_of(0), {})
    traces = traces_of(cluster)
    server = cluster._server
    assert server is not None
    server.process.kill()
    server.process.wait()
    cluster.discard()
    # Ended processes are the zombies of whatever adopts orphans here.
    assert [one for one in traces.left if not one.startswith("process")] == []
    assert programs_inside(cluster.directory, cluster.account, PROGRAMS) == []


@pytest.fixture
def places(
    template: Cluster, engine: Any, run: Run, slot_of: SlotOf
) -> Iterator[Callable[..., Slots]]:
    """Slots of two arms on clones of the template, the second without checksums."""
    opened: list[Slots] = []

    def make(settings: Mapping[str, Mapping[str, str]]) -> Slots:
        arms = [Arm(name="on", checksums=True), Arm(name="off", checksums=False)]
        prepared = [
            Prepared(arm, engine, (template.directory,), settings.get(arm.name, {})) for arm in arms
        ]
        opened.append(Slots(prepared, slot_of, lambda: None, Stopwatch(lambda: 0)))
        return opened[-1]

    yield make
    for slots in opened:
        slots.end_arms("restore")
    for data in run.directory.glob("slot*/data*"):
        shutil.rmtree(data)


@pytest.mark.long
def test_discarded_arms_stand_again_on_what_the_template_is(
    places: Callable[..., Slots], template: Cluster, traces_of: Any
) -> None:
    slots = places({})
    for turned in (False, True):
        standing = slots.start_arms(
            {"on": int(turned), "off": int(not turned)}, ("off", "on"), "restore"
        )
        traces = []
        for arm, one in standing.items():
            assert isinstance(one, Cluster)
            assert count(one) == (0,), "what was written before has gone"
            assert one.settings()["data_checksums"] == arm
            assert "not properly shut down" not in log_of(one)
            write_something(one)
            one.freeze()  # as cost "whole" leaves them
            traces.append(traces_of(one))
        slots.end_arms("restore")
        assert [trace.left for trace in traces] == [[], []]
        assert all(
            read_control(d / CONTROL_FILE)["state"] != "shut down" for d in slots.directories
        )
    slots.lay_arms({"on": 0, "off": 1}, ("on", "off"), "exchange")  # put back all the same
    on, off = slots.directories
    assert differences(template.directory, on) == []
    assert differences(template.directory, off) == [CONTROL_FILE]
    assert read_control(off / CONTROL_FILE)["state"] == "shut down"


def log_of(cluster: Cluster) -> str:
    return (
        (cluster.directory.parent / "server.log").read_text().rpartition("starting PostgreSQL")[2]
    )


@pytest.mark.long
def test_every_arm_that_a_server_refuses_is_named_and_no_server_is_left(
    places: Callable[..., Slots], run: Run, engine: Any
) -> None:
    slots = places({"on": BAD, "off": {"shared_buffers": "nonsense"}})
    with pytest.raises(ArmLostError) as lost:
        slots.start_arms({"on": 0, "off": 1}, ("off", "on"), "restore")
    assert lost.value.outcome == "could not start: off, on"
    assert re.search(r'invalid value for parameter "shared_buffers"', lost.value.detail or "")
    assert "there_is_no_such_library" in (lost.value.detail or "")
    assert programs_inside(run.directory, engine.account, PROGRAMS) == []
