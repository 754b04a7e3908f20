"""Every workload is weighed, with its rates and its scripts' latencies told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from underway import QUICK, Underway

from steelyard.record.record import Record
from steelyard.workloads.reading.folder import find_workload

pytestmark = pytest.mark.postgres

Start = Callable[..., Underway]


@pytest.mark.long
@pytest.mark.parametrize(
    ("workload", "rate", "scripts"),
    [
        ("tproc-c", "new_orders_per_minute", 5),
        ("tproc-c-client", "new_orders_per_minute", 5),
        ("reserva", "payments_per_minute", 0),
        ("select-insert", "turns_per_minute", 0),
        ("queue", "finished_per_minute", 2),
        ("time-series", "ticks_per_minute", 4),
    ],
)
def test_a_workload_is_weighed(start: Start, workload: str, rate: str, scripts: int) -> None:
    changed = ("--set", "arm.settings.wal_compression=pglz", "--set", f"workload={workload}")
    weighing = start("record", "settings", *changed, *QUICK, "--set", "workload.timed=true")
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict
    assert all(row["control_us"] > 0 for row in verdict["statements"])
    assert len(verdict["statements"]) >= max(scripts, 2)
    [contrast] = verdict["contrasts"]
    assert contrast["verdict"] != "invalid", contrast["threats"]
    kinds = [rate, "transactions_per_minute"] if scripts else [rate]
    assert [row["metric"] for row in verdict["work"]] == kinds
    assert all(row["control_value"] > 0 for row in verdict["work"])
    assert all(row["low_percent"] < row["high_percent"] for row in verdict["work"])
    # A rare script may be missing from an epoch of a slow machine, and then has no row.
    told = {one["script"] for one in verdict["latency_by_script"]}
    common = {"queue": "enqueue", "time-series": "insert"}
    assert common.get(workload, "new-order") in told if scripts else not told


FORGETFUL = """\
name = "forgetful"
title = "TPROC-C in which one payment of a hundred forgets the district"
loads_as = "tproc-c"
[[mixes]]
scripts = { "new-order" = 1, "payment" = 1 }
[scripts.new-order]
writes = true
[scripts.payment]
writes = true
"""


@pytest.mark.long
def test_a_broken_condition_of_tpc_c_makes_the_verdict_invalid(
    start: Start, tmp_path: Path
) -> None:
    folder, known = tmp_path / "forgetful", find_workload("tproc-c").folder
    shutil.copytree(known / "scripts", folder / "scripts")
    (folder / "workload.toml").write_text(FORGETFUL)
    forgets = "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = :warehouse;"
    payment = folder / "scripts" / "payment.sql"
    payment.write_text(f"{payment.read_text()}\\if random(1, 100) = 1\n{forgets}\n\\endif\n")
    changed = ("--set", "arm.settings.wal_compression=pglz", "--workload", str(folder))
    weighing = start("record", "settings", *changed, *QUICK)
    assert weighing.end() == 0, weighing.said
    [contrast] = weighing.verdict["contrasts"]
    assert contrast["verdict"] == "invalid"
    threats = {threat["name"]: threat["seen"] for threat in contrast["threats"]}
    assert "condition 1: warehouse 1 has w_ytd" in threats["wrong answer from the workload"]


@pytest.mark.long
@pytest.mark.parametrize("checkpoint", ["true", "false"])
def test_first_touches_are_weighed_by_executions(start: Start, checkpoint: str) -> None:
    counted = "budget.counted={each = 20, blocks = 6, warmup = 1}"
    smaller = ("--set", "workload.scale=200", "--set", counted, "--set", "budget.epochs=8")
    begins = ("--set", f"workload.options.checkpoint={checkpoint}")
    weighing = start("record", "read-after-insert", *smaller, *begins)
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict
    images = {
        row["arm"]: row["median"]
        for row in verdict["probes"]
        if (row["probe"], row["counter"]) == ("first_touch", "wal_full_page_images")
    }
    logged = 10 if checkpoint == "true" else 0
    assert images == {"off": 0, "hints": logged, "on": logged}
    assert {c["verdict"] for c in verdict["contrasts"]} != {"invalid"}


@pytest.mark.long
def test_queries_are_weighed_one_by_one_and_by_their_geometric_mean(start: Start) -> None:
    smaller = ("--set", "workload.scale=1", "--set", "budget.epochs=8")
    counted = ("--set", "budget.counted={each = 1, blocks = 22, warmup = 22}")
    weighing = start("record", "queries", *smaller, *counted, "--set", "arm.settings.work_mem=64MB")
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict
    [contrast] = verdict["contrasts"]
    assert (contrast["metric"], contrast["higher_is_better"]) == ("geometric_mean", False)
    assert contrast["verdict"] != "invalid", contrast["threats"]
    assert [row["query"] for row in verdict["queries"]] == [f"q{n:02}" for n in range(1, 23)]
    assert all(row["control_ms"] > 0 for row in verdict["queries"])


def test_keying_times_are_refused_in_slices_by_time_and_nothing_is_loaded(start: Start) -> None:
    work = ("--set", "workload=tproc-c", "--set", "workload.options.thinking=true")
    weighing = start("record", "settings", "--set", "arm.settings.work_mem=8MB", *work)
    assert weighing.end() == 2, weighing.said
    assert 'cannot cut slices by time: a transaction of script "new-order"' in weighing.said
    assert "load" not in weighing.said.splitlines()
    assert not weighing.record.exists()


@pytest.mark.long
def test_a_few_first_touches_are_weighed_within_seconds(start: Start) -> None:
    work = ("--set", "workload=insert-read", "--set", "workload.options={added = 50}")
    work += ("--set", "workload.scale=20", "--set", "workload.clients=2")
    counted = ("--set", "budget.counted={each = 5, blocks = 2, warmup = 1}")
    weighing = start("record", "checksums", *work, *counted, "--set", "budget.epochs=2")
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict
    images = {
        (row["arm"], row["probe"]): row["median"]
        for row in verdict["probes"]
        if row["counter"] == "wal_full_page_images" and row["median"]
    }
    # 165 pages have new rows; either client touches 15 of its own in an epoch, the other probes 10,
    # which the scan leaves out with the 3 behind them.
    assert images == {
        ("on", "first_touch"): 10,
        ("on", "sequential_scan"): 165 - 30 - 13,
        ("on", "after_checkpoint"): 10,
    }
    wal = next(x for x in verdict["causes"] if x["metric"] == "wal_bytes_per_transaction")
    # Beside the pages of the reads there are some of the catalog, in 30 executions.
    assert wal["control_value"] > 8_000
    assert wal["arm_value"] < 1_000
    [contrast] = verdict["contrasts"]
    assert contrast["verdict"] != "invalid", contrast["threats"]
    plan = Record(weighing.record).read("plan.json")
    assert plan["epoch_ns"] == 2 * 2 * plan["slice_ns"]  # blocks, arms: no share of the budget


@pytest.mark.long
def test_queries_are_weighed_once_each_within_seconds(start: Start) -> None:
    smaller = ("--set", "workload.scale=1", "--set", "budget.epochs=2")
    counted = ("--set", "budget.counted={each = 1, blocks = 22, warmup = 0}")
    smaller += ("--set", "workload.options.refresh=true")
    weighing = start("record", "queries", *smaller, *counted, "--set", "arm.settings.work_mem=64MB")
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict
    [contrast] = verdict["contrasts"]
    assert (contrast["metric"], contrast["higher_is_better"]) == ("geometric_mean", False)
    assert contrast["verdict"] != "invalid", contrast["threats"]
    told = [(row["query"], row["excluded"]) for row in verdict["queries"]]
    refreshed = [("rf1", True), ("rf2", True)]
    assert told == [*((f"q{n:02}", False) for n in range(1, 23)), *refreshed]
    assert all(row["control_ms"] > 0 and row["arm_ms"] > 0 for row in verdict["queries"])
    assert Record(weighing.record).read("plan.json")["blocks_per_epoch"] == 24
