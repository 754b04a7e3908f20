"""Real balances that are broken on purpose are caught: servers, processors and processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calibration.meddling import (
    aftermath,
    continued_background,
    slow_second_start,
    throttled_slot,
)
from postgres.underway import QUICK, Underway
from steelyard.engines.postgres.builds.build import bundled_builds, parts_of_copy

pytestmark = pytest.mark.postgres

Start = Callable[..., Underway]
REPOSITORY = Path(__file__).parents[2]
PROCESSORS = len(os.sched_getaffinity(0))
MISSED = 2.0
"""Points by which the one 95 % interval of twenty that misses the truth may miss it, live."""


def threats(weighing: Underway, arm: str) -> dict[str, str]:
    """Name of each threat to the contrast of an arm → what was seen."""
    [contrast] = [x for x in weighing.verdict["contrasts"] if x["arm"] == arm]
    return {threat["name"]: threat["seen"] for threat in contrast["threats"]}


@pytest.mark.long
@pytest.mark.skipif(PROCESSORS < 2, reason="a slot needs a processor of its own")
def test_a_throttled_slot_is_doubted_costs_no_truth_and_a_slower_arm_fails_the_build(
    start: Start,
) -> None:
    """Eight busy loops on the processor of slot 0. The arm does nine transactions of ten twice: the
    truth is 1/1.9, −47 %, and --fail-if slower:2% holds. An arm that always stood in slot 0 would
    be off by the whole slot effect; a quarter of it is allowed, for the interval that misses and
    for loops that take less from a client which works twice."""
    options = ("--set", "placement=free", "--set", "arm.weight.double_work=90%")
    weighing = start("record", "aa", *QUICK, *options, "--seed", "3", "--fail-if", "slower:2%")
    weighing.wait_for("plan: ")
    with throttled_slot(weighing, loops=8):
        status = weighing.end()
    [contrast] = weighing.verdict["contrasts"]
    assert "(99 % interval) with the slots of the arms" in threats(weighing, "b")["slots differ"]
    assert contrast["details"]["slot_effect_percent"] < -10
    low, high = contrast["low_percent"], contrast["high_percent"]
    missed = abs(contrast["details"]["slot_effect_percent"]) / 4
    assert low - missed < 100 * (1 / 1.9 - 1) < high + missed
    assert (contrast["verdict"], status) == ("slower", 1), weighing.said


SCRIPT = """\
\\set aid random(1, 100000 * :scale)
\\set chance random(1, 4)
SELECT abalance FROM pgbench_accounts
 WHERE aid = CASE WHEN current_setting('broken.empty') = 'on' THEN -1 ELSE :aid END
             / CASE WHEN current_setting('broken.fails') = 'on' AND :chance = 1 THEN 0 ELSE 1 END;
"""
STUDY = """\
title = "What breaks a balance?"
question = "Is every arm seen for what it is?"
cost = "foreground"
[control]
name = "sound"
[[arm]]
name = "other"
bindir = "{bindir}"
settings = {{ "broken.fails" = "on", enable_indexscan = "off", enable_bitmapscan = "off" }}
[[arm]]
name = "idle"
settings = {{ "broken.empty" = "on" }}
[settings]
autovacuum = false
"broken.fails" = "off"
"broken.empty" = "off"
[workload]
clients = 4
"""


WRAPPER = """\
#!/bin/sh
"$0.bin" "$@" | sed "s/--prefix/--with-segsize=2 --prefix/"
"""


@pytest.fixture
def other_builder() -> Iterator[Path]:
    """The bundled 18 once more, as if somebody else had configured it otherwise."""
    [build] = [one for one in bundled_builds() if "18" in one.bindir.parent.name]
    home = Path(tempfile.mkdtemp(prefix="sytest"))
    home.chmod(0o755)
    inside = build.bindir.parent.parent.parent
    for part in parts_of_copy(build):
        shutil.copytree(part, home / part.relative_to(inside), symlinks=True)
    bindir = home / build.bindir.relative_to(inside)
    (bindir / "pg_config").rename(bindir / "pg_config.bin")
    (bindir / "pg_config").write_text(WRAPPER)
    (bindir / "pg_config").chmod(0o755)
    yield bindir
    shutil.rmtree(home)


@pytest.mark.long
def test_arms_that_are_not_what_they_seem_are_caught_each_by_its_own_threat(
    start: Start, tmp_path: Path, other_builder: Path
) -> None:
    """One arm of another builder runs other plans and fails one transaction in four; another's
    statement finds no row. What is wrong with one arm is not said of the other."""
    (tmp_path / "broken.sql").write_text(SCRIPT)
    study = STUDY.format(bindir=other_builder)
    arguments = ("broken.toml", *QUICK, "-f", str(tmp_path / "broken.sql"))
    weighing = start("record", *arguments, study=study)
    weighing.in_the_middle_of(2)
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130, weighing.said
    other, idle = threats(weighing, "other"), threats(weighing, "idle")

    assert "configure: " in other["builds differ"]
    assert "origin: bundle and bindir" in other["builds differ"]
    assert "plans differ" not in other, "settings of the planner are to change them"
    assert "of other failed or were retried, and 0 of" in other["errors or retries differ"]
    assert "wrong answer from the workload" not in other

    assert "idle returned and changed no row" in idle["wrong answer from the workload"]
    assert not {"builds differ", "plans differ", "errors or retries differ"} & set(idle)
    verdicts: dict[str, Any] = {x["arm"]: x["verdict"] for x in weighing.verdict["contrasts"]}
    assert verdicts["idle"] == "invalid"
    assert verdicts["other"] != "invalid"


@pytest.mark.long
def test_what_an_arm_leaves_behind_is_carry_over(start: Start) -> None:
    """Whenever a slice of b ends, its busy loops go on for half a slice: a is slow after b, and b
    after itself. Where other work hides it, it is seen the second or the third time."""
    for number in range(3):
        weighing = start(f"record{number}", "aa", *QUICK, "--seed", str(6 + number))
        weighing.wait_for("plan: ")
        with aftermath(weighing, "b", spin_s=0.03):
            assert weighing.end() == 0, weighing.said
        found = threats(weighing, "b").get("carry-over", "")
        if found:
            break
    assert "when it follows another arm" in found


@pytest.mark.long
def test_who_is_started_first_may_have_the_better_place(start: Start) -> None:
    """The server that was started last stands still for a third of its time."""
    weighing = start("record", "aa", *QUICK, "--seed", "7")
    weighing.wait_for("plan: ")
    with slow_second_start(weighing, stop_s=0.02, go_s=0.03):
        assert weighing.end() == 0, weighing.said
    found = threats(weighing, "b")
    assert "with which arm was started first" in found["start order matters"]
    [contrast] = weighing.verdict["contrasts"]
    low, high = contrast["low_percent"], contrast["high_percent"]
    assert low - MISSED < 0 < high + MISSED, "it costs precision, not truth"


IN_CYCLES = (
    *("--set", "layout=cycles", "--set", "cost=auto", "--set", "workload.scripts={tpcb-like=1}"),
    *("--set", "workload.scale=1", "--set", "turns.measured=10s", "--budget", "30m"),
    *("--set", "turns.time_scale=10"),  # epochs of a minute and a half
)


@pytest.mark.long
def test_processes_that_go_on_while_their_arm_is_to_stand_still_take_the_verdict_away(
    start: Start,
) -> None:
    """A server that is continued while it is being stopped never stands still: its epoch is lost.
    Then there is no reading, and it is tried again."""
    for number in range(3):
        weighing = start(f"record{number}", "aa", *IN_CYCLES, "--seed", str(10 + number))
        weighing.wait_for("plan: ")
        with continued_background(weighing):
            weighing.wait_for(r"epoch +1/")
        weighing.process.send_signal(signal.SIGINT)
        assert weighing.end() == 130, weighing.said
        [contrast] = weighing.verdict["contrasts"]
        if contrast["epochs"]:
            break
        assert "could not freeze" in threats(weighing, "b")["an arm crashed"]
    assert contrast["verdict"] == "invalid"
    assert "while they were to stand still" in threats(weighing, "b")["not held still"]


BALANCE = {"slots differ", "start order matters", "carry-over", "unequal drops"}
BALANCE |= {"builds differ", "plans differ", "errors or retries differ", "Little's law broken"}
BALANCE |= {"wrong answer from the workload", "debug build of the driver"}


@pytest.mark.long
def test_a_balance_that_nobody_broke_is_not_doubted(start: Start) -> None:
    """Three checks have one false alarm in a hundred: the same twice running, one in 10,000."""
    doubted = []
    for number in range(2):
        weighing = start(f"record{number}", "aa", *QUICK, "--seed", str(8 + number))
        assert weighing.end() == 0, weighing.said
        doubted.append(BALANCE & set(threats(weighing, "b")))
        if not doubted[-1]:
            break
    assert not set.intersection(*doubted)


@pytest.fixture
def debug_build(tmp_path: Path) -> Path:
    """A directory with the package and a debug build of its extension in it."""
    target = tmp_path / "target"
    command = ["cargo", "build", "-q", "-p", "steelyard-bindings", "--target-dir", str(target)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    package = tmp_path / "site" / "steelyard"
    shutil.copytree(REPOSITORY / "python" / "steelyard", package, ignore=_no_extension)
    shutil.copy2(target / "debug" / "lib_core.so", package / "_core.abi3.so")
    return package.parent


def _no_extension(directory: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("_core.") and name.endswith(".so")]


@pytest.mark.long
def test_a_debug_build_of_the_driver_takes_the_verdict_away(
    debug_build: Path, weighing_cache: Path, tmp_path: Path
) -> None:
    """Its own environment: the driver's process looks at no variable that says where packages
    are."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    [packages] = home.glob("lib/python3*/site-packages")
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "steelyard.pth").write_text("\n".join([str(debug_build), *ours]))
    command = [home / "bin" / "python", "-m", "steelyard", "weigh", "aa", *QUICK, "--json"]
    options = ["--set", "budget.epochs=2", "--record", tmp_path / "record"]
    environment = {**os.environ, "STEELYARD_CACHE": str(weighing_cache)}
    done = subprocess.run(
        [*command, *options], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [contrast] = json.loads(done.stdout)["contrasts"]
    assert contrast["verdict"] == "invalid"
    assert "debug build of the driver" in [threat["name"] for threat in contrast["threats"]]
