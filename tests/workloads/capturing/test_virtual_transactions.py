"""Statements of one virtual transaction are one transaction, whether or not the log has its BEGIN:
those of a pipeline have none."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.csvlog import COLUMNS
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.statements import LoggedStatement, Protocol, statements
from steelyard.workloads.capturing.transactions import LoggedTransaction, transactions
from steelyard.workloads.capturing.writing import write_workload

FAILED, IN_FAILED, NO_BEGIN, OPEN, NO_TEXT = (
    StatementOutcome.FAILED, StatementOutcome.IN_FAILED, StatementOutcome.NO_BEGIN,
    StatementOutcome.OPEN, StatementOutcome.NO_TEXT,
)  # fmt: skip
Step = tuple[str, bool, str]
"""Protocol or what became of it; whether its transaction was open after it; its text."""
Parts = list[tuple[int, StatementOutcome | None, bool]]
"""Of each transaction: its statements, why it is left out, whether it is implicit."""
READ = "SELECT 1"
UNITS: tuple[tuple[list[Step], Parts], ...] = (
    ([("simple", False, READ)], [(1, None, False)]),
    ([("extended", True, READ)], [(1, None, False)]),
    ([("prepared", True, READ)] * 5, [(5, None, True)]),
    ([("extended", True, READ)] * 2, [(2, None, True)]),
    # In a pipeline what follows a failure is not executed; one at its end has no text.
    ([*[("extended", True, READ)] * 3, ("fail", True, READ)], [(4, IN_FAILED, True)]),
    ([*[("extended", True, READ)] * 2, ("fail", True, "")], [(3, IN_FAILED, True)]),
    ([("fail", True, READ)], [(1, FAILED, False)]),
    (
        [("simple", True, "BEGIN"), ("extended", True, READ), ("simple", False, "COMMIT")],
        [(3, None, False)],
    ),
    (
        [*[("extended", True, text) for text in ("BEGIN", READ, READ)],
         ("extended", False, "COMMIT")],
        [(4, None, False)],
    ),
    (
        [("simple", True, "BEGIN"), ("fail", True, READ), ("simple", False, "ROLLBACK")],
        [(3, IN_FAILED, False)],
    ),
    # Its COMMIT is not in the log, whatever follows.
    ([("simple", True, "BEGIN"), ("simple", True, READ)], [(2, OPEN, False)]),
    # Its BEGIN is not.
    ([("simple", True, READ)] * 2, [(2, NO_BEGIN, True)]),
    ([("simple", True, READ)], [(1, NO_BEGIN, False)]),
    ([("extended", True, READ), ("simple", True, READ)], [(2, NO_BEGIN, True)]),
    ([("extended", True, READ), ("extended", False, "COMMIT")], [(2, NO_BEGIN, True)]),
    ([("extended", True, READ), ("simple", False, "ROLLBACK")], [(2, NO_BEGIN, True)]),
    (
        [("extended", True, READ), ("stray", False, "ROLLBACK")],
        [(1, None, False), (1, NO_BEGIN, False)],
    ),
    # Several in one message: it ends the transaction before it only where that comes first.
    (
        [("extended", True, READ), ("simple", False, "BEGIN; SELECT 2; COMMIT")],
        [(1, None, False), (1, StatementOutcome.SEVERAL, False)],
    ),
    (
        [("extended", True, READ), ("simple", False, "SELECT 2; COMMIT")],
        [(2, StatementOutcome.SEVERAL, True)],
    ),
    # Logged before they were executed, without durations: a COMMIT is still within.
    ([("before", True, READ)], [(1, None, False)]),
    ([("before", True, READ)] * 2, [(2, NO_BEGIN, True)]),
    ([("before", True, text) for text in ("BEGIN", READ, "COMMIT")], [(3, None, False)]),
)  # fmt: skip


def step_of(session: str, number: int, step: Step) -> LoggedStatement:
    how, is_open, text = step
    protocol: Protocol = "simple"
    if how in ("extended", "prepared"):
        protocol = "extended" if how == "extended" else "prepared"
    return LoggedStatement(
        session, 0.0, None if how == "before" else 1.0, text, protocol,
        outcome=FAILED if how == "fail" else None, stray=how == "stray",
        vxid=f"{session}/{number if is_open else 0}",
    )  # fmt: skip


def parts_of(cut: list[LoggedTransaction]) -> Parts:
    return sorted(((len(each.statements), each.outcome, each.implicit) for each in cut), key=str)


@given(
    st.lists(st.tuples(st.sampled_from("123"), st.sampled_from(range(len(UNITS)))), max_size=25),
    st.randoms(use_true_random=False),
)
def test_each_transaction_is_cut_by_what_the_log_says_of_it(
    units: list[tuple[str, int]], draw: random.Random
) -> None:
    of_session: dict[str, list[LoggedStatement]] = {}
    expected: Parts = []
    for number, (session, index) in enumerate(units, 1):
        steps, parts = UNITS[index]
        of_session.setdefault(session, []).extend(step_of(session, number, s) for s in steps)
        expected += parts
    events: list[LoggedStatement] = []
    while any(of_session.values()):
        session = draw.choice([name for name, left in of_session.items() if left])
        events.append(of_session[session].pop(0))
    cut = list(transactions(events))
    assert parts_of(cut) == sorted(expected, key=str)
    assert sum(len(each.statements) for each in cut) == len(events)


def test_without_virtual_transactions_statements_are_cut_by_words_alone() -> None:
    events = [LoggedStatement("1", 0.0, 1.0, READ, "extended") for _ in range(3)]
    assert parts_of(list(transactions(events))) == [(1, None, False)] * 3


def test_a_duration_without_text_leaves_out_its_own_transaction_alone() -> None:
    events = [
        step_of("1", 1, ("extended", True, READ)),
        LoggedStatement("1", 0.0, 1.0, "", "simple", outcome=NO_TEXT, vxid="1/2"),
        step_of("1", 3, ("extended", True, READ)),
        LoggedStatement("1", 0.0, 1.0, "", "simple", outcome=NO_TEXT, vxid="1/3"),
        step_of("1", 3, ("extended", True, READ)),
    ]
    assert parts_of(list(transactions(events))) == sorted(
        [(1, None, False), (2, NO_TEXT, True), (1, NO_TEXT, False), (1, NO_TEXT, False)], key=str
    )


def test_chained_transactions_have_several_virtual_ones() -> None:
    texts = [("BEGIN", 1), (READ, 1), ("COMMIT AND CHAIN", 2), (READ, 2), ("COMMIT", 0)]
    events = [
        LoggedStatement("1", 0.0, 1.0, text, "simple", vxid=f"1/{number}") for text, number in texts
    ]
    assert parts_of(list(transactions(events))) == [(5, None, False)]


Entry = tuple[str, str, str, str, str]
"""Severity, virtual transaction, message, detail, statement."""


def _csv(entry: Entry) -> str:
    severity, vxid, message, detail, statement = entry
    fields = {
        "log_time": "2026-11-28 03:00:00.000 UTC", "process_id": "7", "session_id": "a.7",
        "virtual_transaction_id": vxid, "error_severity": severity, "message": message,
        "detail": detail, "query": statement, "user_name": "joe",
    }  # fmt: skip
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([fields.get(name, "") for name in COLUMNS])
    return text.getvalue()


def _json(entry: Entry) -> str:
    severity, vxid, message, detail, statement = entry
    fields = {
        "timestamp": "2026-11-28 03:00:00.000 UTC", "pid": 7, "user": "joe", "vxid": vxid,
        "error_severity": severity, "message": message, "detail": detail, "statement": statement,
    }  # fmt: skip
    return json.dumps(fields) + "\n"


def _stderr(entry: Entry) -> str:
    severity, vxid, message, detail, statement = entry
    head = f"2026-11-28 03:00:00.000 UTC [7] {vxid} "
    more = (("DETAIL", detail), ("STATEMENT", statement))
    lines = [f"{severity}:  {message}", *(f"{name}:  {text}" for name, text in more if text)]
    return "".join(f"{head}{line}\n" for line in lines)


INSERT = "insert into t(v) values ($1)"
WRITTEN = {"csv": _csv, "json": _json, "stderr": _stderr}


def executed(number: int, vxid: str) -> Entry:
    message = f"duration: 0.100 ms  execute S_1: {INSERT}"
    return ("LOG", vxid, message, f"Parameters: $1 = '{number}'", "")


def captured(path: Path, entries: list[Entry], written: Callable[[Entry], str]) -> Mix:
    path.write_text("".join(written(entry) for entry in entries))
    ledger = CaptureLedger()
    logged = statements(read_entries([path], "%m [%p] %v "), ledger)
    return mix_of(transactions(logged), ledger=ledger)


@pytest.mark.parametrize("kind", sorted(WRITTEN))
def test_a_pipeline_is_driven_as_one_transaction(tmp_path: Path, kind: str) -> None:
    entries = [executed(n, f"4/{17 + n // 5}") for n in range(15)]
    entries += [executed(15, "4/30"), executed(16, "4/31")]
    mix = captured(tmp_path / f"a.{kind}", entries, WRITTEN[kind])
    assert [(each.count, len(each.shapes), each.implicit) for each in mix.kinds] == [
        (3, 5, True), (2, 1, False),
    ]  # fmt: skip
    workload = write_workload(mix, tmp_path / "w", name="w", source="log", writes=True)
    assert workload.statements_share == 1.0
    scripts = {len(each.shapes): name for name, each in workload.scripts}
    texts = {
        count: (tmp_path / "w/scripts" / f"{name}.sql").read_text()
        for count, name in scripts.items()
    }
    lines = texts[5].splitlines()
    assert (lines[0], lines[1], lines[-2:]) == (
        f"\\draw {scripts[5]} p1 p2 p3 p4 p5", "BEGIN", ["COMMIT", ";"],
    )  # fmt: skip
    assert texts[5].count("insert into") == 5
    assert "BEGIN" not in texts[1]
    about = (tmp_path / "w/workload.toml").read_text()
    assert about.count("# One transaction by") == 1


@pytest.mark.parametrize("kind", sorted(WRITTEN))
@pytest.mark.parametrize("text", [INSERT, ""])
def test_a_pipeline_that_failed_is_left_out_whole(tmp_path: Path, kind: str, text: str) -> None:
    failed = ("ERROR", "4/18", "duplicate key value violates unique constraint", "", text)
    entries = [executed(n, "4/17") for n in range(2)]
    entries += [*(executed(n, "4/18") for n in range(4)), failed]
    entries += [executed(n, "4/19") for n in range(2)]
    mix = captured(tmp_path / f"a.{kind}", entries, WRITTEN[kind])
    assert mix.ledger.statements == {FAILED: 1, IN_FAILED: 4}
    assert [(each.count, len(each.shapes)) for each in mix.kinds] == [(2, 2)]


@pytest.mark.parametrize("kind", sorted(WRITTEN))
def test_simple_statements_whose_begin_was_too_quick_are_none_of_their_own(
    tmp_path: Path, kind: str
) -> None:
    update = "duration: 150.1 ms  statement: update t set v = 0"
    entries: list[Entry] = [
        ("LOG", "4/17", update, "", ""), ("LOG", "4/17", update, "", ""),
        ("LOG", "4/18", "statement: select 1", "", ""), ("LOG", "4/0", "duration: 1.0 ms", "", ""),
        ("LOG", "4/19", "statement: select 2", "", ""), ("LOG", "4/19", "duration: 1.0 ms", "", ""),
        ("LOG", "4/0", "duration: 150.1 ms  statement: select 3", "", ""),
    ]  # fmt: skip
    mix = captured(tmp_path / f"a.{kind}", entries, WRITTEN[kind])
    assert mix.ledger.statements == {NO_BEGIN: 3}
    assert sum(each.count for each in mix.kinds) == 2
