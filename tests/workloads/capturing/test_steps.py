"""Durations and failures in entries of their own are of the statement that they are of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.statements import LoggedStatement, statements


def read(entries: Iterable[LogEntry], ledger: CaptureLedger | None = None) -> list[LoggedStatement]:
    return [event for event in statements(entries, ledger) if isinstance(event, LoggedStatement)]


def entry(message: str) -> LogEntry:
    return LogEntry("1", 0.0, "LOG", message, "")


UPDATE = "execute {name}: UPDATE t SET a = $1"


@pytest.mark.parametrize(
    ("name", "before", "vxids", "expected"),
    [
        # Of a SELECT that log_statement = mod does not log: bind and execute.
        ("S_2", (), "", [1.0, 1.0, 1.0]),
        ("S_2", (100.0, 0.5), "", [101.5, 1.5, 1.5]),
        ("S_2", (3.0, 100.0, 0.25, 0.5), "", [1.75, 1.5, 1.5]),
        ("S_2/C_{n}", (3.0, 100.0, 0.5), "", [101.5, 1.5, 1.5]),
        ("<unnamed>", (3.0, 100.0, 0.25, 0.5), "", [1.75, 1.75, 1.75]),
        ("pdo_stmt_{n}", (3.0, 100.0, 0.25, 0.5), "", [1.75, 1.75, 1.75]),
        ("S_2", (3.0, 100.0, 0.5), "112", [1.5, 1.5, 1.5]),
        ("<unnamed>", (3.0, 100.0, 0.25, 0.5), "1122", [1.75, 1.75, 1.75]),
        ("<unnamed>", (100.0, 0.5), "02", [1.5, 1.5, 1.5]),
    ],
)
def test_the_time_of_what_is_not_logged_is_no_logged_statements(
    name: str, before: tuple[float, ...], vxids: str, expected: list[float]
) -> None:
    entries = []
    for n in range(3):
        own = f"4/{10 * n + 2}" if vxids else ""
        for at, ms in enumerate(before):
            vxid = f"4/{10 * n + int(vxids[at])}" if vxids else ""
            entries.append(replace(entry(f"duration: {ms} ms"), vxid=vxid))
        entries += [
            replace(entry(UPDATE.format(name=name.format(n=n))), vxid=own),
            replace(entry("duration: 1 ms"), vxid=own),
        ]
    ledger = CaptureLedger()
    found = read(entries, ledger)
    updates = [each.duration_ms for each in found if each.outcome is None]
    assert updates == expected
    others = sum(each.duration_ms or 0 for each in found if each.outcome is not None)
    assert others + sum(expected) == 3 * (sum(before) + 1)


@pytest.mark.parametrize(("between", "expected"), [("DISCARD ALL", 1.75), ("SELECT 1", 1.5)])
def test_what_is_given_up_is_parsed_anew(between: str, expected: float) -> None:
    """As by a pooler between two clients."""
    once = ["duration: 0.25 ms", "duration: 0.5 ms", UPDATE.format(name="S_1"), "duration: 1 ms"]
    messages = [*once, f"statement: {between}", "duration: 2 ms", *once]
    assert read(map(entry, messages))[-1].duration_ms == expected


AT_BIND = (
    "unnamed portal parameter $1 = 'abc'", 'portal "C_3" parameter $1 = \'a: b\'',
    "unnamed portal parameter $12", "PL/pgSQL function f() line 1\nunnamed portal parameter $2",
    "unbenanntes Portal Parameter $1 = 'x'", "Portal »p« Parameter $1",
    'ポータル"p" パラメータ$1 = 5',
    "이름없는 포탈 $1 매개 변수 = 'x'", "portal sin nombre, parámetro 1 = 'x'",
    "неименованный портал, параметр $1 = 'x'", 'параметр порталу "p": $1 = 5',
    "paramètre de portail non nommé $1", 'parametro "p" del portale $1 = 5',
    "უსახელო პორტალის პარამეტრი $1", "ej namngiven portalparameter $1 = 'x'",
)  # fmt: skip
AT_WORK = (
    "", "unnamed portal with parameters: $1 = '5', $2 = '6'", "SQL function f statement 1",
    'portal "p" with parameters: $1 = \'5\'', "unbenanntes Portal mit Parametern: $1 = '5'",
    "portail non nommé avec les paramètres : « $1 = 5 »", 'портал "p" з параметрами: $1 = 5',
    'SQL statement "SELECT a FROM portal WHERE b = $1"',
)  # fmt: skip


@pytest.mark.parametrize("context", [*AT_BIND, *AT_WORK])
@pytest.mark.parametrize("text", ["SELECT a FROM t WHERE id = $1", ""])
def test_a_failure_to_read_a_parameter_is_of_no_execution_before_it(
    context: str, text: str
) -> None:
    """log_min_error_statement may hide the text."""
    good = LogEntry("1", 0.0, "LOG", "execute S_1: SELECT a FROM t WHERE id = $1", "")
    bad = LogEntry(
        "1", 1.0, "ERROR", "invalid input syntax", "", statement=text, context=context
    )  # fmt: skip
    failed = [each.outcome is StatementOutcome.FAILED for each in read([good, bad])]
    assert failed == ([False, True] if context in AT_BIND else [True])


def test_a_duration_in_another_language_is_of_the_statement_before_it() -> None:
    own = [entry("ifade: SELECT 1"), entry("süre: 0.1 milisaniye")]
    others = [replace(each, session="2") for each in own]
    mixed = [own[0], others[0], own[1], others[1], own[1], *own]
    assert [one.outcome for one in read(mixed)] == [StatementOutcome.OTHER_LANGUAGE] * 4


@pytest.mark.parametrize(
    "words",
    ["checkpoint starting: time", "received replication command: SHOW data_directory_mode",
     "received replication command: IDENTIFY_SYSTEM", "cron job 1 starting: SELECT 1",
     "automatic vacuum of table \"a.b.c\": index scans: 0", "listening on port: 5432",
     "connection received: host=[local]", "note: done", "could not send data to client: Broken",
     "AUDIT: SESSION,1,1,READ,SELECT,,,SELECT a FROM t,<not logged>", "parameter: "],
)  # fmt: skip
def test_words_behind_which_is_no_statement_are_none_in_another_language(words: str) -> None:
    assert read([entry(words)]) == []
