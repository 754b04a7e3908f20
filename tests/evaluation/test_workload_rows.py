"""What a workload counts, takes and was not let finish is told with nothing left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from record.made import line_of, verdict_of
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.evaluation.workload_rows import probe_rows, query_rows, work_per_minute, work_rows
from steelyard.model.readings import ArmTotals, EpochTotals, SliceTotals
from steelyard.record.slice import SliceLine
from steelyard.report import tables


def epoch(number: int) -> EpochTotals:
    """An epoch of two arms of one client."""
    arms = {
        name: ArmTotals(name, slot, 1, 100, 1_000_000_000, 990_000_000)
        for slot, name in enumerate(("on", "off"))
    }
    return EpochTotals(number, {"on": 0, "off": 1}, ("on", "off"), arms)


def queries(number: int, arm_busy_ns: int, failed: int) -> EpochTotals:
    """An epoch of two queries, of which the arm's second took so long and so often failed."""
    made = epoch(number)
    times = {"on": (10_000_000, 20_000_000), "off": (10_000_000, arm_busy_ns)}
    arms = {
        name: replace(
            made.arms[name],
            slices=tuple(
                SliceTotals(block, 0, 1 - lost, busy, busy, lost, script)
                for block, (script, busy, lost) in enumerate(
                    [
                        ("q01", first, 0),
                        ("q02", second, failed if name == "off" else 0),
                    ]
                )
            ),
        )
        for name, (first, second) in times.items()
    }
    return replace(made, arms=arms)


def test_a_query_that_is_given_up_counts_with_its_limit_and_is_shown() -> None:
    epochs = [queries(number, 60_000_000, 1) for number in range(10)]
    rows = {row.query: row for row in query_rows(epochs, "on", "off")}
    assert list(rows) == ["q01", "q02"], "none is dropped"
    assert rows["q02"].arm_ms == pytest.approx(60)
    assert rows["q02"].control_ms == pytest.approx(20)
    assert (rows["q02"].control_unfinished, rows["q02"].arm_unfinished) == (0, 10)
    assert rows["q01"].arm_unfinished == 0


def test_what_is_excluded_from_the_mean_comes_last_and_says_so_on_page_and_terminal() -> None:
    epochs = []
    for made in (queries(number, 60_000_000, 0) for number in range(10)):
        arms = {
            name: replace(
                arm, slices=tuple(replace(s, excluded=s.script == "q01") for s in arm.slices)
            )
            for name, arm in made.arms.items()
        }
        epochs.append(replace(made, arms=arms))
    rows = query_rows(epochs, "on", "off")
    assert [(row.query, row.excluded) for row in rows] == [("q02", False), ("q01", True)]
    assert [row["note"] for row in tables.query_rows(rows)] == ["", "not in the mean"]
    said = render_verdict(verdict_of(line_of(), queries=rows), 100).splitlines()
    told = [line for line in said if line.startswith("q0")]
    assert [line.endswith("(not in the mean)") for line in told] == [False, True]


def test_on_a_terminal_queries_have_their_arms_over_them_and_say_which_did_not_finish() -> None:
    """The times of two arms against one control: a table of each."""
    rows = query_rows([queries(number, 60_000_000, 1) for number in range(10)], "on", "off")
    others = [row.model_copy(update={"arm": "other", "arm_unfinished": 0}) for row in rows]
    verdict = verdict_of(line_of(), queries=(*rows, *others))
    lines = [" ".join(line.split()) for line in render_verdict(verdict, 100).splitlines()]
    first = lines.index("time of a query on off change")
    assert lines[first + 1].startswith("q01 10 ms 10 ms")
    assert lines[first + 2].startswith("q02 20 ms 60 ms +200")
    assert lines[first + 3] == "not finished: 10 in off; counted with their time until then"
    assert lines[first + 4 : first + 6] == ["queries in other", "time of a query on other change"]
    assert not any(line.startswith("not finished") for line in lines[first + 4 :])
    for width in (50, 60, 80):
        narrow = render_verdict(verdict, width).partition("queries in ")[2].partition("\n\n")[0]
        assert max(map(len, narrow.splitlines())) <= width
        assert "\nqueries in other\n" in narrow


def measured(**facts: Any) -> SliceLine:
    """A slice of one client."""
    needed = {"epoch": 0, "kind": "measured", "block": 0, "position": 0, "arm": "on", "clients": 1}
    done = {"transactions": 1, "busy_ns": 1, "latency_sum_ns": 1}
    return SliceLine.model_validate({**needed, **done, **facts})


def test_work_is_counted_over_the_time_that_was_measured_and_charged() -> None:
    lines = [
        measured(start_ns=0, end_ns=20_000_000_000, debt_ns=5_000_000_000),
        measured(start_ns=90_000_000_000, end_ns=95_000_000_000),
    ]
    assert work_per_minute({"orders": 100.0}, {"orders": 400.0}, lines) == {"orders": 600.0}
    assert work_per_minute({}, {"orders": 1.0}, []) == {}


def test_what_warms_up_is_not_counted() -> None:
    lines = [
        measured(kind="warmup", start_ns=0, end_ns=60_000_000_000),
        measured(start_ns=60_000_000_000, end_ns=90_000_000_000),
    ]
    assert work_per_minute({"orders": 100.0}, {"orders": 400.0}, lines) == {"orders": 600.0}


def test_transactions_of_several_kinds_are_counted_beside_what_the_workload_counts() -> None:
    kinds = [{"name": "new-order"}, {"name": "payment"}]
    lines = [measured(start_ns=0, end_ns=30_000_000_000, transactions=650, scripts=kinds)]
    assert work_per_minute({}, {"orders": 1.0}, lines) == {"orders": 2.0, "transactions": 1300.0}
    assert work_per_minute({}, {}, lines) == {}, "a workload that counts nothing has no rates"


def test_rates_are_told_where_every_epoch_has_them() -> None:
    rates = {"on": {"orders": 600.0}, "off": {"orders": 660.0}}
    epochs = [replace(epoch(number), work_per_minute=rates) for number in range(10)]
    [row] = work_rows(epochs, "on", "off")
    assert (row.metric, row.unit) == ("orders_per_minute", "1/min")
    assert (row.control_value, row.arm_value) == pytest.approx((600, 660))
    lacking = [*epochs, replace(epoch(10), work_per_minute={"on": {"orders": 600.0}})]
    assert work_rows(lacking, "on", "off") == []


def test_probes_are_told_with_their_spread() -> None:
    counts = (80_000.0, 81_000.0, 79_000.0)
    epochs = [
        replace(epoch(number), probes={"on": {"first": {"wal_bytes": count}}})
        for number, count in enumerate(counts)
    ]
    [row] = probe_rows(epochs, ["on", "off"])
    assert (row.median, row.least, row.most, row.epochs) == (80_000, 79_000, 81_000, 3)
