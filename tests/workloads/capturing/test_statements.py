"""Statements are found in a log's entries with all that the server got, and with what failed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from steelyard.workloads.capturing.ledger import Ledger, Outcome
from steelyard.workloads.capturing.logs.entry import Entry
from steelyard.workloads.capturing.statements import LoggedStatement, statements


def read(entries: Iterable[Entry], ledger: Ledger | None = None) -> list[LoggedStatement]:
    return [event for event in statements(entries, ledger) if isinstance(event, LoggedStatement)]


def entry(message: str, detail: str = "", session: str = "1", seconds: float = 0.0) -> Entry:
    severity = "ERROR" if message.startswith("!") else "LOG"
    return Entry(session, seconds, severity, message, detail)


def test_statements_come_with_protocol_parameters_and_duration() -> None:
    found = list(
        read(
            [
                entry("duration: 1.25 ms  statement: SELECT 1;"),
                entry("duration: 0.01 ms  parse <unnamed>: SELECT $1"),
                entry("duration: 0.01 ms  bind <unnamed>: SELECT $1"),
                entry("duration: 2 ms  execute <unnamed>: SELECT $1", "parameters: $1 = '7'"),
                entry("duration: 3 ms  execute S_1: SELECT $1", "Parameters: $1 = NULL"),
                entry("duration: 3 ms  execute fetch from S_1/C_2: SELECT $1"),
                entry("checkpoint starting: time"),
            ]
        )
    )
    assert [(one.text, one.protocol, one.parameters, one.duration_ms) for one in found] == [
        ("SELECT 1;", "simple", (), 1.25),
        ("SELECT $1", "extended", ("7",), 2.02),
        ("SELECT $1", "prepared", (None,), 3.0),
        ("SELECT $1", "prepared", (), 3.0),
    ]


def test_a_duration_of_its_own_belongs_to_the_last_statement_of_its_session() -> None:
    found = list(
        read(
            [
                entry("statement: SELECT 1", session="1", seconds=1.0),
                entry("statement: SELECT 2", session="2", seconds=1.1),
                entry("duration: 5.5 ms", session="1", seconds=1.2),
                entry("statement: SELECT broken", session="1"),
                entry("!column does not exist", session="1"),
                entry("statement: SELECT 3", session="2"),
            ]
        )
    )
    assert [(one.text, one.duration_ms) for one in found] == [
        ("SELECT 1", 5.5), ("SELECT broken", None), ("SELECT 2", None), ("SELECT 3", None),
    ]  # fmt: skip
    assert found[0].ended == 1.2
    # Where durations have entries of their own, one without any was still running.
    outcomes = [one.outcome for one in found]
    assert outcomes == [None, Outcome.FAILED, None, Outcome.RUNNING]


@pytest.mark.parametrize(
    ("detail", "parameters", "whole"),
    [
        ("Parameters: $1 = 'a, $2 = b', $2 = 'x'", ("a, $2 = b", "x"), True),
        ("Parameters: $1 = 'it''s'", ("it's",), True),
        ("Parameters: $1 = 'long'..., $2 = '1'", ("long", "1"), False),
        ("Parameters: $1 = 'long...', $2 = '1'", ("long...", "1"), False),
        ("Parameters: $1 = 'a\nb'", ("a\nb",), True),
        ("Parameters: nonsense", (), False),
        ("", (), True),
    ],
)
def test_parameters_are_read_as_the_server_quotes_them(
    detail: str, parameters: tuple[str, ...], whole: bool
) -> None:
    [found] = read([entry("duration: 1 ms  execute S_1: SELECT 1", detail)])
    assert (found.parameters, found.whole) == (parameters, whole)
