"""The driver's process and a real server: what is counted is what was done."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from driver.served import PASSWORD, Server
from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import (
    DriveArm,
    DrivePlan,
    DriveScript,
    DriveWeight,
    QueryMode,
    SliceRequest,
)
from steelyard.model.errors import DriverError
from steelyard.model.secrets.secret import Secret
from thinned import thinned

pytestmark = pytest.mark.postgres

MS = 1_000_000
SELECT_ONE = DriveScript("one", "SELECT 1;", rows=1)


def _builtin(name: str, rows: int | None = 1) -> DriveScript:
    text = _core.builtin_script(name)
    assert text is not None
    return DriveScript(name, text, rows=rows)


def _plan(*arms: DriveArm, scripts: tuple[DriveScript, ...], **changes: Any) -> DrivePlan:
    return DrivePlan(arms=arms, scripts=scripts, variables={"scale": 1}, **changes)


def _drive(plan: DrivePlan, *slices: SliceRequest) -> list[SliceAnswer]:
    with Driver.start(plan) as driver:
        return list(driver.run(slices))


@thinned("mode", ["simple", "extended", "prepared"], 1)
def test_every_mode_does_the_work_of_tpcb_like_exactly_as_often_as_counted(
    server: Server, mode: QueryMode
) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    plan = _plan(server.arm(clients=3), scripts=(_builtin("tpcb-like"),), threads=2, mode=mode)
    (driven,) = _drive(plan, SliceRequest(arm=0, count=60))
    assert driven.errors == {}
    assert driven.transactions == 60
    assert (driven.rows, driven.wrong_rows) == (60, 0)
    assert server.one("SELECT count(*) FROM pgbench_history") - before == 60
    assert server.one("SELECT sum(abalance) FROM pgbench_accounts") == server.one(
        "SELECT sum(delta) FROM pgbench_history"
    )


def test_the_backends_are_those_the_server_shows(server: Server) -> None:
    plan = _plan(server.arm("a"), server.arm("b", clients=3), scripts=(SELECT_ONE,), threads=2)
    with Driver.start(plan) as driver:
        shown = server.one(
            "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'steelyard'"
        )
        assert {name: len(pids) for name, pids in driver.connected.items()} == {"a": 2, "b": 3}
        assert sorted(shown) == sorted(driver.connected["a"] + driver.connected["b"])


def test_slices_move_between_arms_on_open_connections(server: Server) -> None:
    plan = _plan(server.arm("a"), server.arm("b"), scripts=(_builtin("select-only"),))
    order = [0, 1, 1, 0]
    slices = [SliceRequest(arm=arm, length_ns=20 * MS, tag=[arm, "x"]) for arm in order]
    driven = _drive(plan, *slices)
    assert [one.arm for one in driven] == ["a", "b", "b", "a"]
    assert [one.tag for one in driven] == [[arm, "x"] for arm in order]
    for one, after in itertools.pairwise(driven):
        assert one.end_ns <= after.start_ns
        assert one.end_ns - one.start_ns >= 20 * MS
        assert one.transactions > 0
        assert one.reconnected == ()
    assert driven[0].driver_cpu_ns > 0
    assert driven[0].driver_queue_ns is not None
    assert 0 <= driven[0].driver_queue_ns < driven[0].driver_threads_ns


def test_a_transaction_that_began_before_the_bell_counts_with_its_whole_time(
    server: Server,
) -> None:
    script = DriveScript("slow", "SELECT pg_sleep(0.2);", rows=1)
    plan = _plan(server.arm(clients=2), scripts=(script,))
    (driven,) = _drive(plan, SliceRequest(arm=0, length_ns=50 * MS))
    assert driven.transactions == 2
    assert driven.busy_ns >= 2 * 200 * MS
    assert driven.capped == 0


def test_a_client_that_is_not_back_at_the_cap_is_cancelled_in_the_server(server: Server) -> None:
    script = DriveScript("stuck", "SELECT pg_sleep(3600);")
    plan = _plan(server.arm(clients=2), scripts=(script,), drain_cap_ns=100 * MS)
    one = SliceRequest(arm=0, length_ns=10 * MS)
    with Driver.start(plan) as driver:
        first, second = driver.run([one, one])
        pids = set(driver.connected["arm"])
    assert (first.capped, first.transactions) == (2, 0)
    assert first.busy_ns >= 2 * 110 * MS
    reconnected = {pid for _, pid in second.reconnected}
    assert len(reconnected) == 2
    assert not reconnected & pids
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)%'"
    assert server.one(f"{sleeping} AND state = 'active' AND pid = ANY (ARRAY{list(pids)})") == 0


def test_errors_are_counted_by_sqlstate_and_the_block_is_rolled_back(server: Server) -> None:
    text = "\\set n random(0, 1)\nBEGIN;\nSELECT 1 / :n;\nEND;\n"
    for mode in ("simple", "prepared"):
        plan = _plan(server.arm(clients=1), scripts=(DriveScript("x", text),), mode=mode)
        (driven,) = _drive(plan, SliceRequest(arm=0, count=100))
        assert set(driven.errors) == {"22012"}
        assert driven.failed == driven.errors["22012"]
        assert driven.failed + driven.transactions == 100
        assert 20 < driven.failed < 80
        assert "division by zero" in driven.error_messages["22012"]


def test_a_killed_backend_is_counted_and_taken_back(server: Server) -> None:
    plan = _plan(server.arm(clients=2), scripts=(SELECT_ONE,))
    with Driver.start(plan) as driver:
        victim = driver.connected["arm"][1]
        server.one(f"SELECT pg_terminate_backend({victim}, 5000)")
        one = SliceRequest(arm=0, length_ns=20 * MS)
        first, second = driver.run([one, one])
    assert first.lost == 1
    assert first.errors == {"57P01": 1}
    assert first.transactions > 0
    assert second.lost == 0
    assert [client for client, _ in second.reconnected] == [1]


def test_equal_seeds_give_equal_keys_in_every_arm_and_mode(server: Server) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE keys (arm text, client int, n serial, key int)")
    try:
        text = (
            "\\set key random(1, 1000000)\n"
            "INSERT INTO keys (arm, client, key) VALUES (:arm, :client_id, :key);\n"
        )
        for arm, mode in (("a", "simple"), ("b", "prepared")):
            plan = DrivePlan(
                arms=(server.arm(clients=2),),
                scripts=(DriveScript("keys", text.replace(":arm", f"'{arm}'")),),
                seed=42,
                mode=mode,
            )
            _drive(plan, SliceRequest(arm=0, count=20))
        first_keys = (
            "SELECT array_agg(key ORDER BY n) FROM keys WHERE arm = '{arm}' AND client = {client}"
        )
        for client in (0, 1):
            a, b = (server.one(first_keys.format(arm=x, client=client)) for x in "ab")
            shared = min(len(a), len(b))
            assert shared >= 1
            assert a[:shared] == b[:shared]
    finally:
        with server.connect() as connection:
            connection.execute("DROP TABLE keys")


def test_double_work_is_done_twice_and_counted_once(server: Server) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    arm = server.arm(clients=1, weight=DriveWeight(double_work=0.5))
    plan = _plan(arm, scripts=(_builtin("simple-update"),), seed=3)
    (driven,) = _drive(plan, SliceRequest(arm=0, count=200))
    done = server.one("SELECT count(*) FROM pgbench_history") - before
    assert driven.transactions == 200
    assert 250 < done < 350


def test_the_plans_files_are_read_at_both_borders_of_every_slice(server: Server) -> None:
    files = ("/proc/uptime", "/nowhere/at/all")
    plan = _plan(server.arm(clients=1), scripts=(SELECT_ONE,), files=files)
    first, second = _drive(plan, *[SliceRequest(arm=0, length_ns=50 * MS)] * 2)
    assert first.files is not None
    assert second.files is not None
    told = [
        one.partition(" ")[0]
        for ends in (first.files, second.files)
        for one in (ends.before[0], ends.after[0])
    ]
    assert [float(one) for one in told] == sorted(map(float, told))
    assert float(told[1]) - float(told[0]) >= 0.04
    assert (first.files.before[1], first.files.after[1]) == ("", "")
    [plain] = _drive(
        _plan(server.arm(clients=1), scripts=(SELECT_ONE,)), SliceRequest(arm=0, count=1)
    )
    assert plain.files is None


@pytest.mark.parametrize("user", ["scram_user", "md5_user", "cleartext_user"])
def test_passwords_open_tcp_connections(server: Server, user: str) -> None:
    arm = server.arm(host="127.0.0.1", user=user, password=Secret(PASSWORD))
    (driven,) = _drive(_plan(arm, scripts=(SELECT_ONE,)), SliceRequest(arm=0, count=10))
    assert driven.transactions == 10


@pytest.mark.parametrize(
    ("password", "words"), [("wrong", "password authentication failed"), (None, "none is given")]
)
def test_a_refused_password_is_said_in_the_servers_words(
    server: Server, password: str | None, words: str
) -> None:
    arm = server.arm(host="127.0.0.1", user="scram_user", password=Secret(password))
    with pytest.raises(DriverError, match=words):
        Driver.start(_plan(arm, scripts=(SELECT_ONE,)))


def test_a_script_that_cannot_be_read_is_an_error_with_its_place(server: Server) -> None:
    plan = _plan(server.arm(), scripts=(DriveScript("my.sql", "SELECT :unheard_of;"),))
    with pytest.raises(DriverError, match=r'cannot read script "my\.sql"') as caught:
        Driver.start(plan)
    assert "unheard_of" in (caught.value.detail or "")


def test_a_driver_that_is_killed_is_reported_with_its_signal(server: Server) -> None:
    with Driver.start(_plan(server.arm(), scripts=(SELECT_ONE,))) as driver:
        os.kill(driver.pid, signal.SIGKILL)
        with pytest.raises(DriverError, match="signal 9"):
            list(driver.run([SliceRequest(arm=0, length_ns=60_000 * MS)]))


def test_a_driver_is_in_our_session_and_no_ctrl_c_reaches_it(server: Server) -> None:
    with Driver.start(_plan(server.arm(), scripts=(SELECT_ONE,))) as driver:
        assert os.getsid(driver.pid) == os.getsid(0), "else its servers are another autogroup"
        assert os.getpgid(driver.pid) == driver.pid


def test_a_driver_left_in_the_middle_of_slices_leaves_nothing_running(server: Server) -> None:
    plan = _plan(server.arm(), scripts=(SELECT_ONE,))
    with Driver.start(plan) as driver:
        pid = driver.pid
        slices = driver.run([SliceRequest(arm=0, length_ns=10 * MS)] * 1000)
        next(slices)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_load_ends_when_nobody_listens_any_more(server: Server) -> None:
    plan = _plan(server.arm(), scripts=(SELECT_ONE,))
    load = [{"plan": plan.to_json()}, {"slices": [{"arm": 0, "length_ns": 3_600_000 * MS}]}]
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "steelyard.driver.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(json.dumps(line) + "\n" for line in load).encode())
    process.stdin.flush()
    assert b"connected" in process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    process.stdin.close()
