"""`steelyard weigh` on real servers of MySQL and MariaDB, from the weighing to its report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from engines.mysql.real_packages import fetch
from engines.mysql.thread_states import states_of
from own_cache import own_cache
from steelyard.engines.account import choose_account
from steelyard.engines.local.processes import every_pid
from steelyard.engines.mysql.adapter import remove_servers
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.long

START = "from steelyard.cli.app import main; main()"
PRODUCTS = ("mysql-5.7", "mariadb-10.11")
_SMALL = (
    *("--set", "budget.epochs=2", "--set", "workload.scale=1", "--set", "workload.clients=4"),
    *("--seed", "3"),
)
BRIEF = (*_SMALL, "--budget", "20s", "--set", "budget.slice=200ms")
LONGEST_S = 400.0
"""Many times what it takes; a weighing that hangs is ended."""


@pytest.fixture(scope="module")
def cache() -> Iterator[Path]:
    """A cache root with builds of both products."""
    with own_cache() as place:
        for product in PRODUCTS:
            fetch(product)
        yield place
        assert remove_servers(place, choose_account()) == []  # nothing was left running


def weigh(
    cache: Path,
    record: Path,
    *words: str,
    beside: Callable[[], object] = lambda: None,
    brief: tuple[str, ...] = BRIEF,
) -> subprocess.CompletedProcess[str]:
    """Weigh to the end, and do something again and again beside it."""
    command = [sys.executable, "-c", START, "weigh", *words, *brief, "--json"]
    command += ["--record", str(record)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
    ) as process:
        deadline = time.monotonic() + LONGEST_S
        while True:
            beside()
            try:
                said, told = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
                process.terminate()
                pytest.fail(f"it hangs: {process.communicate()[1][-2000:]}")
            return subprocess.CompletedProcess(command, process.returncode, said, told)


def read(record: Path, name: str) -> Any:
    return json.loads((record / name).read_text())


def lines(record: Path, name: str) -> list[dict[str, Any]]:
    file = record / name
    return [json.loads(one) for one in file.read_text().splitlines()] if file.exists() else []


def arms_of(product: str) -> tuple[str, ...]:
    """What makes a study of MySQL's one of a product."""
    engine = product.partition("-")[0]
    keys = ("control.version", "arm.version")
    return ("--set", f"engine={engine}", *(w for k in keys for w in ("--set", f"{k}={product}")))


def test_pages_are_read_with_each_checksum_and_the_report_says_so(
    cache: Path, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    done = weigh(cache, record, "innodb-checksums")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert [one["arm"] for one in verdict["contrasts"]] == ["none", "innodb"]
    plan = read(record, "plan.json")
    assert (plan["layout"], plan["cost"]) == ("slices", "foreground")
    settings = {
        arm: facts["settings"] for arm, facts in read(record, "environment.json")["arms"].items()
    }
    algorithms = {arm: one["innodb_checksum_algorithm"] for arm, one in settings.items()}
    assert algorithms == {"crc32": "crc32", "none": "none", "innodb": "innodb"}
    for one in settings.values():
        assert one["innodb_buffer_pool_load_at_startup"] == "OFF"
        assert one["innodb_buffer_pool_dump_at_shutdown"] == "OFF"
    epochs = [line for line in lines(record, "telemetry.jsonl") if line["type"] == "epoch"]
    assert [line["outcome"] for line in epochs] == ["complete", "complete"]
    assert not any(wrong for line in epochs for wrong in line["violations"].values())
    measured = [line for line in lines(record, "slices.jsonl") if line["kind"] == "measured"]
    assert {line["arm"] for line in measured} == {"crc32", "none", "innodb"}
    assert all(line["transactions"] > 0 for line in measured)
    assert not any(line["errors"] for line in measured)
    assert "innodb_checksum_algorithm" in (record / "report.html").read_text()


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_client_that_was_cancelled_comes_back_and_is_placed_before_its_arm_is_held_still(
    cache: Path, tmp_path: Path, product: str
) -> None:
    """With cost "whole" an arm that waits is stopped, and answers nothing."""
    record, held = tmp_path / "record", []

    def hold() -> None:
        """Until a client was cancelled: a server may be held still, or the epoch nearly over."""
        slices = lines(record, "slices.jsonl")
        began = any(one["kind"] == "measured" for one in slices)
        if began and len(held) < 4 and not any(one["capped"] for one in slices):
            held.extend(hold_rows(cache))

    done = weigh(
        cache,
        record,
        "doublewrite",
        *arms_of(product),
        *("--set", "placement=symmetric"),
        beside=hold,
    )
    assert done.returncode == 0, done.stderr
    assert read(record, "plan.json")["cost"] == "whole"
    slices = lines(record, "slices.jsonl")
    back = [number for number, line in enumerate(slices) if line.get("reconnected")]
    assert back, "no client came back"
    assert back[-1] < len(slices) - 1, "the weighing went on"
    assert all(line["debt_ns"] > 0 for line in slices if line["kind"] == "measured")
    epochs = [line for line in lines(record, "telemetry.jsonl") if line["type"] == "epoch"]
    assert [line["outcome"] for line in epochs] == ["complete", "complete"]


@pytest.mark.parametrize("product", PRODUCTS)
def test_work_is_counted_on_servers_that_are_held_still(
    cache: Path, tmp_path: Path, product: str
) -> None:
    """With cost "whole" all are, as the measured slices begin."""
    record = tmp_path / "record"
    words = ("doublewrite", *arms_of(product), "--set", "workload=select-insert")
    done = weigh(cache, record, *words)
    assert done.returncode == 0, done.stderr
    assert read(record, "plan.json")["cost"] == "whole"
    epochs = [line for line in lines(record, "telemetry.jsonl") if line["type"] == "epoch"]
    assert [line["outcome"] for line in epochs] == ["complete", "complete"]
    done_a_minute = [arm["work_per_minute"] for one in epochs for arm in one["arms"].values()]
    assert len(done_a_minute) == 4
    assert all(one["turns"] > 0 for one in done_a_minute)


@pytest.mark.parametrize(
    ("product", "layout"),
    [("mysql-5.7", "cycles"), ("mariadb-10.11", "cycles"), ("mariadb-10.11", "turns")],
)
def test_writes_are_weighed_at_one_age_for_one_time(
    cache: Path, tmp_path: Path, product: str, layout: str
) -> None:
    record = tmp_path / "record"
    own = ("layout=" + layout, "settings.innodb_log_file_size=8M", "turns.measured=10s")
    words = [word for change in own for word in ("--set", change)]
    brief = (*_SMALL, "--budget", "60m")  # the pilot chooses the slices
    done = weigh(cache, record, "doublewrite", *arms_of(product), *words, brief=brief)
    assert done.returncode == 0, done.stderr
    plan = read(record, "plan.json")
    assert (plan["layout"], plan["turns"]["continuous"]) == (layout, True)
    names = {each["name"] for each in json.loads(done.stdout)["contrasts"][0]["threats"]}
    assert names.isdisjoint({"not held still", "no checkpoint in a turn", "unequal turns"})
    told = lines(record, "telemetry.jsonl")
    epochs = [line for line in told if line["type"] == "epoch"]
    assert [line["outcome"] for line in epochs] == ["complete", "complete"]
    in_turns = [line for line in told if line["type"] == "turn"]
    windows = in_turns or [window for line in epochs for window in line["windows"].values()]
    assert len(windows) == 4
    assert all(one["end"] == "stated" for one in windows)
    assert all(min(one["seconds"]["wal_bytes"]) > 0 for one in windows)
    if layout == "cycles":
        assert plan["slice_ns"] == 950_000_000
        assert [one["suspended_use_ns"] for one in windows] == [0] * 4
        assert all(one["suspensions"] > 30 for one in windows)
        ages = [one["warmup_ns"] for one in windows]
        assert max(ages) - min(ages) < 2 * 1_000_000_000
        settings = plan["turns"]["settings"]
        assert {one["wait_timeout"] for one in settings.values()} == {"57600"}


IN_CYCLES = (
    *("layout=cycles", "settings.innodb_log_file_size=8M", "turns.measured=10s"),
    *("budget.cycles=60m", "workload.scale=1", "workload.clients=2"),
)


@pytest.mark.parametrize(
    ("product", "number"),
    [("mysql-5.7", signal.SIGKILL), ("mariadb-10.11", signal.SIGKILL),
     ("mysql-5.7", signal.SIGTERM), ("mariadb-10.11", signal.SIGHUP)],
)  # fmt: skip
def test_a_weighing_that_ends_while_an_arm_stands_still_leaves_none_that_does(
    cache: Path, tmp_path: Path, product: str, number: signal.Signals
) -> None:
    """Killed it leaves all; the next start, or another command that cleans up, ends them."""
    with in_cycles(cache, tmp_path / "record", product) as process:
        servers = server_pids(cache)
        assert len(servers) == 2
        process.send_signal(number)
        _, told = process.communicate(timeout=LONGEST_S)
    if number == signal.SIGKILL:
        # The kernel thaws a group of processes whose parent has gone (setpgid(2)); they stay.
        assert server_pids(cache) == servers
        command = [sys.executable, "-c", START, "engines", "clear"]
        environment = {**os.environ, "STEELYARD_CACHE": str(cache)}
        subprocess.run(command, env=environment, check=True, capture_output=True)
    else:
        assert process.returncode == 128 + number
        assert "Traceback" not in told
        assert not set(servers) & set(every_pid()), "no zombie either"
    assert server_pids(cache) == []


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_server_that_is_killed_while_it_stands_still_is_named(
    cache: Path, tmp_path: Path, product: str
) -> None:
    record = tmp_path / "record"
    with in_cycles(cache, record, product) as process:
        [dead, *_] = [pid for pid in server_pids(cache) if states_of(pid) == {"T"}]
        slot = next(int(n) for n in re.findall(r"/slot(\d+)/", command_of(dead)))
        os.kill(dead, signal.SIGKILL)
        deadline = time.monotonic() + LONGEST_S
        while not (epochs := [x for x in lines(record, "telemetry.jsonl") if x["type"] == "epoch"]):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert "Traceback" not in told
    [arm] = [name for name, place in epochs[0]["slots"].items() if place == slot]
    assert epochs[0]["outcome"] == f"crashed: {arm}"
    assert epochs[0]["error"]
    assert server_pids(cache) == []


@contextmanager
def in_cycles(cache: Path, record: Path, product: str) -> Iterator[subprocess.Popen[str]]:
    """A weighing under way in its first epoch, an arm of which stands still."""
    command = [sys.executable, "-c", START, "weigh", "doublewrite", *arms_of(product)]
    command += [word for change in IN_CYCLES for word in ("--set", change)]
    command += ["--json", "--record", str(record)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        preexec_fn=_hears_ctrl_c,  # noqa: PLW1509  this process has no threads
    ) as process:
        try:
            deadline = time.monotonic() + LONGEST_S
            while not (
                any(one["epoch"] == 0 for one in lines(record, "slices.jsonl"))
                and any(states_of(pid) == {"T"} for pid in server_pids(cache))
            ):
                assert process.poll() is None, process.communicate()[1][-2000:]
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def _hears_ctrl_c() -> None:
    """A shell that runs tests in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def server_pids(cache: Path) -> list[int]:
    """Servers whose data are below a directory."""
    return [pid for pid in every_pid() if f"--datadir={cache}" in command_of(pid)]


def sockets(cache: Path) -> Iterator[str]:
    """Those of the servers whose data are below a directory."""
    for pid in every_pid():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if any(word.startswith(f"--datadir={cache}") for word in words):
                found = [word.removeprefix("--socket=") for word in words if "--socket=" in word]
                yield from found


def hold_rows(cache: Path) -> list[str]:
    """Lock what every transaction needs for longer than a slice waits for its clients, on a server
    that is not held still now."""
    for socket in sockets(cache):
        address = Endpoint(socket, 3306, "root", "steelyard", protocol=MYSQL)
        with suppress(ServerError), connected(address, read_s=60) as connection:
            rows_of(connection, "SELECT SLEEP(7) FROM pgbench_branches FOR UPDATE")
            return [socket]
    return []
