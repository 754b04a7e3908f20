"""A ramp is cut into steps, and says which rate was kept up with."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from driver.served import Server
from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.summary import read_ramp, summarize_ramp
from steelyard.model.errors import UsageError

RECORDS = Path(__file__).parents[1] / "records"
START = "from steelyard.cli.app import main; main()"


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("100:1000", tuple(100.0 * step for step in range(1, 11))),
        ("100:300:3", (100.0, 200.0, 300.0)),
        ("300:100:2", (300.0, 100.0)),
        ("50,5.5,500", (50.0, 5.5, 500.0)),
        ("7", (7.0,)),
    ],
)
def test_a_ramp_is_two_ends_or_a_list(text: str, rates: tuple[float, ...]) -> None:
    assert read_ramp(text) == pytest.approx(rates)


@pytest.mark.parametrize("text", ["", "0:10", "1:2:1", "1:2:3:4", "a,b", "1,-1", "1:inf", "1:2:x"])
def test_what_is_no_ramp_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="invalid ramp"):
        read_ramp(text)


def counted(**changes: Any) -> SliceAnswer:
    """What the driver answers of a step of a second with 1000 arrivals."""
    step = {"transactions": 1000, "busy_ns": 10**9, "end_ns": 10**9, "latency_sum_ns": 0}
    return SliceAnswer.model_validate({"arm": "target", "clients": 1, **step, **changes})


def test_the_rate_that_was_kept_up_with_lies_below_every_step_that_fell_behind() -> None:
    good, late = counted(), counted(transactions=980, unstarted=20)
    ramp = summarize_ramp((1, 2, 3, 4), [good, good, late, good], None)
    assert [step.kept_up for step in ramp.steps] == [True, True, False, True]
    assert ramp.kept_up == 2
    lost = [counted(**{how: 20}) for how in ("failed", "skipped", "capped")]
    for behind in (*lost, late, counted(transactions=0)):
        assert summarize_ramp((5,), [behind], None).kept_up is None
    assert summarize_ramp((5,), [counted(unstarted=10)], None).kept_up == 5
    assert summarize_ramp((5,), [good], 1.0).kept_up is None, "no latency is no proof"


@pytest.mark.parametrize(("limit_ms", "kept_up"), [(1.0, 5), (0.78, 5), (0.77, None)])
def test_a_step_keeps_up_within_its_limit(limit_ms: float, kept_up: float | None) -> None:
    with tarfile.open(RECORDS / "aa.tar.xz") as archive:
        slices = archive.extractfile("slices.jsonl")
        assert slices is not None
        [script] = json.loads(slices.readline())["scripts"]
    p99_us = _core.histogram_quantiles([script["latency"]], [0.99])["values"][0] / 1000
    assert 770 < p99_us < 780, "between the limits"
    step = counted(scripts=[{**script, "transactions": 1000}])
    assert summarize_ramp((5,), [step], limit_ms).kept_up == kept_up


@pytest.mark.long
@pytest.mark.postgres
def test_a_server_that_sleeps_falls_behind_where_it_must(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "nap.sql"
    script.write_text("SELECT pg_sleep(0.02);\n")  # two clients do 100 a second at most
    words = ["-f", str(script), "-c", "2", "-T", "3", "--ramp", "20,40,400", "-P", "0.5"]
    command = [sys.executable, "-c", START, "drive", server.conninfo, *words]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    ramp, machine = told["ramp"], told["machine"]
    assert machine["elapsed_ns"] > 3e9, "what this machine did meanwhile"
    assert machine["busy_ns"] > 0
    assert [step["rate"] for step in ramp["steps"]] == [20, 40, 400]
    assert not ramp["steps"][2]["kept_up"]
    assert ramp["steps"][2]["unstarted"] > 100
    assert ramp["steps"][2]["throughput"] < 110
    elapsed = [line.split()[1] for line in done.stderr.splitlines()]
    assert elapsed == sorted(elapsed, key=float)


@pytest.mark.postgres
def test_a_ramp_is_a_table_for_people(server: Server) -> None:
    words = ["-S", "-T", "0.4", "--ramp", "50:100:2", "-L", "1000"]
    command = [sys.executable, "-c", START, "drive", server.conninfo, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    heads = [row for row in rows if row[:1] == ["ramp"]]
    assert heads[0][1:3] == ["rate/s", "done/s"]
    assert [row[0] for row in rows if row[0] in ("50.0", "100.0")] == ["50.0", "100.0"]
    assert any(row[:2] == ["kept", "up"] for row in rows)
