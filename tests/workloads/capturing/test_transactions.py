"""Messages begin and end transactions by what they do, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.statements import (
    Event,
    LoggedStatement,
    SessionEnd,
    statements,
)
from steelyard.workloads.capturing.transactions import effect_of, transactions
from steelyard.workloads.capturing.writing import Captured, write_workload


@pytest.mark.parametrize(
    ("text", "opens", "leaves_open"),
    [
        # text, whether it is open after: where none was, where one was
        ("BEGIN", True, True), ("/* a */ -- b\n begin work;", True, True),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", True, True),
        ("SELECT 1", False, True), ("COMMIT", False, False), ("END /* a */ ;", False, False),
        ("rollback work", False, False), ("ABORT", False, False),
        ("ROLLBACK TO a", False, True), ("rollback transaction to savepoint a", False, True),
        ("SAVEPOINT commit", False, True), ("RELEASE a", False, True),
        ("COMMIT AND CHAIN", False, True), ("ROLLBACK AND NO CHAIN", False, False),
        ("PREPARE TRANSACTION 'a'", False, False), ("PREPARE a AS SELECT 1", False, True),
        ("COMMIT PREPARED 'a'", False, True), ("BEGIN; SELECT 1", True, True),
        ("BEGIN; SELECT ';'; COMMIT", False, False), ("COMMIT; BEGIN", True, True),
        ("SELECT 1; SELECT 2", False, True), ("SELECT 'a;b'", False, True),
        ("BEGIN; not SQL", True, True), ("", False, True),
    ],
)  # fmt: skip
def test_the_effect_of_a_message(text: str, opens: bool, leaves_open: bool) -> None:
    assert effect_of(text, is_open=False).is_open is opens
    assert effect_of(text, is_open=True).is_open is leaves_open


def said(text: str, session: str = "1", **more: bool | StatementOutcome) -> LoggedStatement:
    return LoggedStatement(session, 0.0, 1.0, text, "simple", **more)  # type: ignore[arg-type]


def outcomes(*events: Event) -> list[tuple[int, StatementOutcome | None]]:
    """Of each transaction how many statements it has, and why it cannot be repeated."""
    return [(len(one.statements), one.outcome) for one in transactions(events)]


@pytest.mark.parametrize(
    ("last_ms", "next_ms", "pause_s"),
    [(2.0, 500.0, 0.5), (2.0, None, 1.0), (None, 500.0, None), (None, None, None)],
)
def test_a_pause_is_known_where_it_is_known_when_the_transaction_ended(
    last_ms: float | None, next_ms: float | None, pause_s: float | None
) -> None:
    """Without a duration the time of a statement is that of its beginning."""
    durations = ((None, 1.0), (1.0, 2.0), (last_ms, 3.0), (next_ms, 4.0))
    texts = ("BEGIN", "SELECT 1", "COMMIT", "SELECT 2")
    logged = [
        LoggedStatement("1", ended, ms, text, "simple")
        for text, (ms, ended) in zip(texts, durations, strict=True)
    ]
    first, last = transactions(logged)
    assert (first.think_s, last.think_s) == (pause_s, None)


def test_what_is_open_ends_with_its_session_or_with_a_next_begin() -> None:
    told = (said("BEGIN"), said("SELECT 1"))
    after = said("SELECT 2")
    assert outcomes(*told, SessionEnd("1"), after) == [(2, StatementOutcome.OPEN), (1, None)]
    assert outcomes(*told, SessionEnd(None), after) == [(2, StatementOutcome.OPEN), (1, None)]
    assert outcomes(*told, SessionEnd("2"), after) == [(3, StatementOutcome.OPEN)]
    # Another session of the same process id: a BEGIN within a transaction warns.
    again = (*told, said("BEGIN"), said("COMMIT"))
    assert outcomes(*again) == [(2, StatementOutcome.OPEN), (2, None)]
    warned = (*told, said("BEGIN", nested=True), said("COMMIT"))
    assert outcomes(*warned) == [(4, None)]


def test_a_statement_that_failed_leaves_its_transaction_out() -> None:
    failed = said("SELECT 1 / 0", outcome=StatementOutcome.FAILED)
    begin, end, after = said("BEGIN"), said("COMMIT"), said("SELECT 2")
    assert outcomes(begin, failed, end, after) == [(3, StatementOutcome.IN_FAILED), (1, None)]
    # Nothing but its end could follow: the end is not in the log.
    assert outcomes(begin, failed, after) == [(2, StatementOutcome.IN_FAILED), (1, None)]
    assert outcomes(failed, after) == [(1, StatementOutcome.FAILED), (1, None)]
    message = said("BEGIN; SELECT 1 / 0; COMMIT", outcome=StatementOutcome.FAILED)
    assert outcomes(message, said("ROLLBACK"), after) == [
        (2, StatementOutcome.IN_FAILED),
        (1, None),
    ]


def test_what_has_no_text_leaves_the_transaction_around_it_out() -> None:
    unknown = said("", outcome=StatementOutcome.NO_TEXT)
    assert outcomes(said("BEGIN"), unknown, said("COMMIT"), said("SELECT 1")) == [
        (1, StatementOutcome.NO_TEXT), (2, StatementOutcome.NO_TEXT), (1, None),
    ]  # fmt: skip


def captured_of(folder: Path, messages: list[str]) -> Captured:
    """What a log of one session makes; an execution has a parameter."""
    entries = [
        LogEntry("1", 0.0, "LOG", text, "Parameters: $1 = '7'" if " execute " in text else "")
        for text in messages
    ]
    ledger = CaptureLedger()
    mix = mix_of(transactions(statements(entries, ledger)), ledger=ledger)
    return write_workload(mix, folder, name="made", source="log")


def steps_of(name: str, *steps: str, text: str = "SELECT a FROM t WHERE id = $1") -> list[str]:
    return [f"duration: 0.2 ms  {step} {name}: {text}" for step in steps]


def simple(text: str) -> str:
    return f"duration: 0.1 ms  statement: {text}"


def test_statements_of_php_stay_in_their_transactions_and_are_parsed_each_time(
    tmp_path: Path,
) -> None:
    """PDO prepares each by a name of its own, executes it once, and gives it up."""
    messages = list[str]()
    for number in range(8):
        name = f"pdo_stmt_{number:08x}"
        own = [*steps_of(name, "parse", "bind", "execute"), simple(f"DEALLOCATE {name}")]
        messages += own if number < 3 else [simple("BEGIN"), *own, simple("COMMIT")]
    captured = captured_of(tmp_path / "made", messages)
    counts = sorted((len(kind.shapes), kind.count) for _, kind in captured.scripts)
    assert counts == [(1, 3), (3, 5)]
    assert (captured.mode, captured.protocols) == ("extended", {"extended": 8})
    [(why, share, _)] = captured.left_out
    assert (why, share) == (StatementOutcome.SESSION, 8 / 26)


@pytest.mark.parametrize(
    ("executions", "mode"), [(1, "extended"), (2, "prepared"), (9, "prepared")]
)
def test_statements_that_are_executed_again_are_prepared(
    tmp_path: Path, executions: int, mode: str
) -> None:
    messages = [*steps_of("S_1", "parse"), *steps_of("S_1", "bind", "execute") * executions]
    captured = captured_of(tmp_path / "made", messages)
    assert (captured.mode, captured.protocols) == (mode, {mode: executions})
    unnamed = steps_of("<unnamed>", "parse", "bind", "execute")
    assert captured_of(tmp_path / "unnamed", unnamed * 3).mode == "extended"


def test_a_statement_that_cannot_be_given_up_fails_its_transaction() -> None:
    failed = said("DEALLOCATE a", outcome=StatementOutcome.FAILED)
    assert outcomes(said("BEGIN"), said("SELECT 1"), failed, said("ROLLBACK")) == [
        (4, StatementOutcome.IN_FAILED)
    ]
