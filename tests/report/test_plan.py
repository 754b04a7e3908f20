"""The plan is shown as rows with their reasons, of slices and of turns."""

from __future__ import annotations

import pytest

from record.made import plan_of
from steelyard.cli.views.progress_lines import plan_line
from steelyard.record.plan import Plan
from steelyard.report.layouts.plan_words import about_duration
from steelyard.report.plan import plan_rows

S = 1_000_000_000
TURNS = {
    "time_scale": 3.1,
    "time_scale_why": "the smallest with which the budget holds enough epochs",
    "cycles": 2,
    "warmup_cap_ns": 60 * S,
    "wait_ns": 90 * S,
    "longest_ns": 90 * S,
    "turn_ns": 121 * S,
    "cycle_seconds": {"on": 30.0},
}


def in_turns(**changes: object) -> Plan:
    return plan_of(
        layout="turns",
        layout_why="the work writes, and wal_compression acts through checkpoints",
        epochs=10,
        cost="cycles",
        slice_ns=S,
        slice_why="a turn is driven and read second by second",
        upkeep_why="putting the files back takes 346 ms an epoch",
        turns={**TURNS, **changes},
    )


def test_a_plan_in_slices_says_slices_and_blocks() -> None:
    rows = dict(plan_rows(plan_of()))
    assert list(rows)[2:7] == ["epochs", "looks", "blocks in an epoch", "slice", "warm-up"]
    assert "time scale" not in rows


@pytest.mark.parametrize(
    ("each", "clients", "said"),
    [
        (1, 1, "1 execution, about 1.2 s: they are slow"),
        (5, 1, "5 executions, about 1.2 s: they are slow"),
        (1, 8, "1 execution of each client, about 1.2 s: they are slow"),
    ],
)
def test_slices_by_executions_say_how_many(each: int, clients: int, said: str) -> None:
    counted = {"each": each, "warmup": 1, "blocks": 4, "clients": clients}
    plan = plan_of(
        slice_ns=1.2 * S, slice_why="they are slow", counted=counted, clients=clients, threads=1
    )
    rows = dict(plan_rows(plan))
    assert rows["slice"] == said
    assert rows["load"].startswith("1 client on" if clients == 1 else "8 clients on")
    assert "slices of " + said.partition(",")[0] + " (about 1.2 s)" in plan_line(plan)


def test_a_plan_in_turns_says_why_how_long_and_how_near() -> None:
    rows = dict(plan_rows(in_turns()))
    assert rows["layout"] == (
        "turns, about 40 min in all: the work writes, and wal_compression acts through checkpoints"
    )
    assert rows["epochs"] == "10, each 2 turns of about 2 min"
    assert rows["time scale"] == "3.1: the smallest with which the budget holds enough epochs"
    assert rows["measured in a turn"] == (
        "2 checkpoint cycles, or 1 min 30 s where they take longer"
    )
    assert rows["checkpoints, as expected"] == "every 30 s in on, none in off"
    assert rows["warm-up"] == "until throughput and reads are level, 1 min at most"
    assert rows["files of the arms"] == (
        "put back before every epoch: putting the files back takes 346 ms an epoch"
    )
    assert rows["cost"].startswith("cycles: whole checkpoint cycles")
    assert "blocks in an epoch" not in rows


def test_a_factor_that_whole_segments_make_another_is_told_beside_the_time_scale() -> None:
    nearer = {"on": 2.0, "off": 1.375}
    rows = dict(plan_rows(in_turns(time_scale=1.4, time_scale_why="so", nearer=nearer)))
    assert rows["time scale"] == (
        "1.4, really 2 times as near in on and 1.38 times as near in off: so"
    )
    rows = dict(plan_rows(in_turns(nearer={"on": 3.51, "off": 3.49})))
    assert rows["time scale"].startswith("3.1, really 3.51 times as near: ")


def test_limits_of_a_turn_that_differ_are_told_for_each_arm() -> None:
    limits = {
        "on": {"begin_ns": 40 * S, "wait_ns": 0, "longest_ns": 30 * S},
        "off": {"begin_ns": 25 * S, "wait_ns": 9 * S, "longest_ns": 45 * S},
    }
    rows = dict(plan_rows(in_turns(limits=limits)))
    assert rows["measured from"] == (
        "the end of a checkpoint, or where none comes, after 40 s in on and 25 s in off under load"
    )
    assert rows["measured in a turn"] == (
        "2 checkpoint cycles of the arm with the longest, about as long in the others, "
        "or 30 s in on and 45 s in off where they take longer"
    )


def test_limits_of_a_turn_that_are_alike_are_told_once() -> None:
    one = {"begin_ns": 25 * S, "wait_ns": 9 * S, "longest_ns": 45 * S}
    rows = dict(plan_rows(in_turns(limits={"on": one, "off": one})))
    assert rows["measured from"].endswith("after 25 s under load")
    assert rows["measured in a turn"] == "2 checkpoint cycles, or 45 s where they take longer"


def test_a_stated_time_takes_the_place_of_cycles() -> None:
    rows = dict(plan_rows(in_turns(stated_ns=45 * S)))
    assert rows["measured in a turn"] == "45 s: the study says so"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.3, "300 ms"), (7.4, "7.4 s"), (42.4, "42 s"), (121, "2 min"), (134, "2 min 10 s"),
     (2455, "41 min"), (5000, "1 h 23 min")],
)  # fmt: skip
def test_an_expected_time_is_rounded_as_far_as_it_is_known(seconds: float, said: str) -> None:
    assert about_duration(seconds * S) == said


def test_a_cap_on_memory_is_a_row_and_none_is_not() -> None:
    assert "memory of an arm" not in dict(plan_rows(plan_of()))
    capped = plan_of(memory={"cap_bytes": 400 << 20, "held_by": "v1"})
    assert dict(plan_rows(capped))["memory of an arm"] == (
        "400 MB at most, shared buffers and page cache included, "
        "by a control group each (version 1)"
    )


def test_a_plan_says_what_data_arms_have_of_their_own_and_how_they_are_reached() -> None:
    rows = dict(
        plan_rows(
            plan_of(
                sql={"off": ("ALTER TABLE t SET (fillfactor = 90)", "VACUUM FULL t")},
                connect={"on": "socket", "off": "pgbouncer"},
            )
        )
    )
    assert rows["data of off"] == (
        "as loaded, then ALTER TABLE t SET (fillfactor = 90); VACUUM FULL t"
    )
    assert rows["clients reach"] == ("on by its Unix socket, off by PgBouncer in transaction mode")
    assert "clients reach" not in dict(plan_rows(plan_of()))
