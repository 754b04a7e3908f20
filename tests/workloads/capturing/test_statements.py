"""Statements are found in a log's entries with all that the server got, and with what failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.entry import WORKER, LogEntry
from steelyard.workloads.capturing.statements import LoggedStatement, statements
from steelyard.workloads.capturing.transactions import transactions


def read(entries: Iterable[LogEntry], ledger: CaptureLedger | None = None) -> list[LoggedStatement]:
    return [event for event in statements(entries, ledger) if isinstance(event, LoggedStatement)]


def entry(message: str, detail: str = "", session: str = "1", seconds: float = 0.0) -> LogEntry:
    severity = "ERROR" if message.startswith("!") else "LOG"
    return LogEntry(session, seconds, severity, message, detail)


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
            ]
        )
    )
    assert [(one.text, one.duration_ms) for one in found] == [
        ("SELECT 1", 5.5), ("SELECT broken", None), ("SELECT 2", None),
    ]  # fmt: skip
    assert found[0].ended == 1.2
    # Where durations have entries of their own, one without any was still running.
    outcomes = [one.outcome for one in found]
    assert outcomes == [None, StatementOutcome.FAILED, StatementOutcome.RUNNING]


UNIT = ("statement: BEGIN", "statement: SELECT 1", "statement: COMMIT")
DISCONNECTED = "disconnection: session time: 0:00:00.010 user=a database=b host=[local]"


@pytest.mark.parametrize("unit", [UNIT, UNIT[1:2]])
@pytest.mark.parametrize("end", [[DISCONNECTED], []])
@pytest.mark.parametrize("one_process", [True, False])
def test_with_the_durations_of_slow_statements_alone_the_others_had_ended(
    unit: tuple[str, ...], end: list[str], one_process: bool
) -> None:
    """log_statement = all, log_min_duration_statement = 1000: one connection a transaction."""
    entries = [entry("statement: SELECT pg_sleep(2)", session="0")]
    entries += [entry("duration: 2000.5 ms", session="0", seconds=2.0)]
    for number in range(1, 21):
        session = "1" if one_process else str(number)
        begun = ["connection received: host=[local]"] if one_process and not end else []
        entries += [entry(message, session=session) for message in (*begun, *unit, *end)]
    ledger = CaptureLedger()
    logged = list(transactions(statements(entries, ledger)))
    assert [(len(one.statements), one.outcome) for one in logged if one.seconds == 0] == [
        (len(unit), None)
    ] * 20
    assert (ledger.executed, ledger.timed, ledger.is_timed) == (1 + 20 * len(unit), 1, False)


@pytest.mark.parametrize(
    "end",
    [
        replace(entry("terminating connection due to administrator command"), severity="FATAL"),
        entry("all server processes terminated; reinitializing", session="9"),
        entry("checkpoint starting: time", session="9"),
    ],
)
def test_with_all_durations_what_has_none_was_running_at_the_end(end: LogEntry) -> None:
    entries = []
    for session in "23":
        entries += [entry("statement: SELECT 1", session=session)]
        entries += [
            entry("duration: 0.1 ms", session=session),
            entry(DISCONNECTED, session=session),
        ]
    ledger = CaptureLedger()
    logged = read([*entries, entry("statement: SELECT 2"), end], ledger)
    assert [one.outcome for one in logged] == [None, None, StatementOutcome.RUNNING]
    assert (ledger.executed, ledger.timed, ledger.is_timed) == (2, 2, True)


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


@pytest.mark.parametrize(
    ("message", "statements_there"),
    [
        ("", 1), ("dur", 1), ("duration: 1.5 ms  stat", 1), ("statement: SELECT 1 FR", 1),
        ("execute <unn", 1), ("execute <unnamed>: SELECT", 1), ("duration: 1 ms  bind S_1: S", 0),
        ("checkpoint sta", 0), ("connection rec", 0),
    ],
)  # fmt: skip
def test_what_is_cut_off_counts_where_it_may_be_a_statement(
    message: str, statements_there: int
) -> None:
    ledger = CaptureLedger()
    found = read([replace(entry(message), whole=False)], ledger)
    assert [one.outcome for one in found] == [StatementOutcome.CUT_ENTRY] * statements_there
    assert ledger.read == statements_there


def test_time_is_that_of_parse_bind_and_execute() -> None:
    ledger = CaptureLedger()
    found = read(
        [
            entry("duration: 1 ms  parse a:b: SELECT $1"),
            entry("duration: 2 ms  bind a:b: SELECT $1"),
            entry("duration: 4 ms  execute a:b: SELECT $1", "Parameters: $1 = '7'"),
            entry("duration: 8 ms  bind a:b: SELECT $1"),
            entry("duration: 16 ms  execute a:b: SELECT $1", "Parameters: $1 = '7'"),
            entry("duration: 32 ms  parse never: SELECT 2"),
            # log_duration and log_statement, which write steps before the statement.
            entry("duration: 64 ms"),
            entry("duration: 128 ms"),
            entry("execute <unnamed>: SELECT 3"),
            entry("duration: 256 ms"),
            entry("duration: 512 ms"),
            entry("duration: 1024 ms  statement: SELECT 4"),
        ],
        ledger,
    )
    durations = [(one.text, one.duration_ms, one.outcome) for one in found]
    assert durations == [
        ("SELECT $1", 7, None), ("SELECT $1", 24, None), ("SELECT 3", 448, None),
        ("", 512, StatementOutcome.NO_TEXT), ("SELECT 4", 1024, None),
    ]  # fmt: skip
    assert ledger.seconds == {StatementOutcome.NOT_EXECUTED: 0.032}


@pytest.mark.parametrize(
    "words",
    ["Dauer: 0.100 ms  Anweisung: SELECT 1", "durée : 0.100 ms, instruction : SELECT 1",
     "продолжительность: 0.100 мс, оператор: SELECT 1", "期間: 0.100 ミリ秒 文: SELECT 1",
     "duração: 0,100 ms  comando: SELECT 1", "comando: SELECT a\nFROM t", "ifade: select 1",
     "executar <unnamed>: SELECT a FROM t WHERE id = $1", "wykonanie S_1/C_2: SELECT 1",
     "süre: 0.100 milisaniye", "文 : SELECT 1"],
)  # fmt: skip
def test_statements_in_another_language_are_counted_as_such(words: str) -> None:
    assert [one.outcome for one in read([entry(words)])] == [StatementOutcome.OTHER_LANGUAGE]
    translated = replace(entry(words), severity="DZIENNIK")
    assert [one.outcome for one in read([translated])] == [StatementOutcome.OTHER_LANGUAGE]
    for raised in (replace(entry(words), severity="NOTICE"), replace(entry(words), context="f")):
        assert read([raised]) == []


def test_statements_of_other_databases_are_counted_as_such() -> None:
    entries = [replace(entry("statement: SELECT 1"), database=name) for name in ("a", "b", "a")]
    ledger = CaptureLedger()
    found = [s for s in statements(entries, ledger, "a") if isinstance(s, LoggedStatement)]
    assert [one.outcome for one in found].count(StatementOutcome.OTHER_DATABASE) == 1
    assert ledger.databases == {"a": 2, "b": 1}


def test_a_session_ends_where_another_begins_or_the_server_fails() -> None:
    for last in (
        replace(entry("terminating connection", session="1"), severity="FATAL"),
        entry("disconnection: session time: 0:00:01", session="1"),
        entry("connection received: host=[local]", session="1"),
        replace(entry("out of memory", session="2"), severity="PANIC"),
        entry("all server processes terminated; reinitializing", session="9"),
        replace(entry("terminating connection because of crash", session="1"), severity="WARNING"),
    ):
        told = [entry("duration: 1 ms  statement: BEGIN"), last]
        ends = [event for event in statements(told) if not isinstance(event, LoggedStatement)]
        assert ends[0].session in ("1", None), last.message
    other = [replace(entry("statement: SELECT 1"), user=user) for user in ("a", "b")]
    assert sum(not isinstance(event, LoggedStatement) for event in statements(other)) == 2


ERROR = 'duplicate key value violates unique constraint "x"'


def failure(session: str, message: str = ERROR, **more: str) -> LogEntry:
    return LogEntry(session, 0.0, "ERROR", message, "", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("user", ["", "joe"])
def test_an_error_without_its_statement_fails_the_transaction_around_it(
    logged: bool, user: str
) -> None:
    """log_min_error_statement = fatal hides the statement."""
    prefix = "" if logged else "duration: 1 ms  "
    texts = ["BEGIN", "UPDATE t SET a = 1"]
    entries = [replace(entry(f"{prefix}statement: {text}"), user=user) for text in texts]
    entries += [failure("1", user=user), replace(entry(f"{prefix}statement: COMMIT"), user=user)]
    ledger = CaptureLedger()
    [cut] = transactions(statements(entries, ledger))
    assert cut.outcome is StatementOutcome.IN_FAILED
    # Where it was logged before, it is that statement; else one that the log does not have.
    assert len(cut.statements) == ledger.read == (3 if logged else 4)


@pytest.mark.parametrize(
    ("before", "user", "counts"),
    [
        ((), "joe", 1), ((), "", 0), (("duration: 1 ms  statement: SELECT 1",), "", 1),
        (("automatic vacuum of table",), "", 0),
    ],
)  # fmt: skip
def test_errors_of_the_servers_own_processes_are_of_no_statement(
    before: tuple[str, ...], user: str, counts: int
) -> None:
    entries = [*(entry(message) for message in before), *[failure("1", user=user)] * 2]
    outcomes = [statement.outcome for statement in read(entries)]
    assert outcomes.count(StatementOutcome.FAILED) == 2 * counts


SQL = "SELECT 1 / x FROM t"
DIVISION = "division by zero"


@pytest.mark.parametrize(
    ("inner", "context"),
    [
        ("", WORKER), ("", "paralleler Arbeitsprozess"), (WORKER, WORKER),
        ("SQL function f", f"SQL function f\n{WORKER}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("between", [0, 5])
def test_what_parallel_workers_and_their_leader_fail_in_is_one_failure(
    inner: str, context: str, workers: int, between: int
) -> None:
    entries = [entry("duration: 1 ms  statement: BEGIN", session="7")]
    entries += [
        failure(f"7{n}", message=DIVISION, statement=SQL, context=inner) for n in range(workers)
    ]
    entries += [entry("duration: 1 ms  statement: SELECT 2", session="8")] * between
    entries += [failure("7", message=DIVISION, statement=SQL, context=context)]
    entries += [failure("70", message="another", statement="SELECT 3")]
    entries += [entry("duration: 1 ms  statement: ROLLBACK", session="7")]
    failed = [
        (each.session, each.text)
        for each in read(entries)
        if each.outcome is StatementOutcome.FAILED
    ]
    assert failed == [("7", SQL), ("70", "SELECT 3")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),  # nothing says that either is a leader
        ({}, {"context": WORKER, "message": "another"}),
        ({}, {"context": WORKER, "statement": "SELECT 2"}),
        ({"context": "SQL function f"}, {"context": "SQL function f"}),
        ({"context": "SQL function f"}, {"context": WORKER}),
    ],
)
def test_clients_that_fail_alike_fail_each(first: dict[str, str], second: dict[str, str]) -> None:
    alike = {"message": DIVISION, "statement": SQL}
    entries = [failure("1", **{**alike, **first}), failure("2", **{**alike, **second})]
    assert [each.outcome for each in read(entries)] == [StatementOutcome.FAILED] * 2
    # A process of which the log has more is a client's.
    client = [entry("duration: 1 ms  statement: SELECT 1", session="1")]
    leader = failure("2", **alike, context=WORKER)
    outcomes = [each.outcome for each in read([*client, failure("1", **alike), leader])]
    assert outcomes.count(StatementOutcome.FAILED) == 2
    late = [failure("1", **alike), *[entry("checkpoint starting")] * 200, leader]
    assert len(read(late)) == 2


def test_what_says_that_a_parallel_worker_wrote_it_is_no_statement() -> None:
    worker = replace(failure("9", message=DIVISION, statement=SQL), of_worker=True)
    ended = replace(
        failure("8", statement=SQL), severity="FATAL",
        message='terminating background worker "parallel worker" due to administrator command',
    )  # fmt: skip
    assert read([worker, ended]) == []


RAISED = (
    "execute job 12: done", "duration: 5 ms", "duration: 5 ms  statement: SELECT 2",
    "statement: x", "elapsed: 1.5 ms for batch",
)  # fmt: skip


@pytest.mark.parametrize("message", RAISED)
@pytest.mark.parametrize(
    "origin",
    [
        {"context": "PL/pgSQL function f() line 3 at RAISE"}, {"statement": "SELECT f()"},
        {"context": "PL/pgSQL function f() line 3 at RAISE", "statement": "SELECT f()"},
    ],
)  # fmt: skip
def test_what_a_function_writes_to_the_log_is_no_statement(
    message: str, origin: dict[str, str]
) -> None:
    before, after = entry("statement: SELECT f()"), entry("duration: 7 ms")
    raised = LogEntry("1", 0.0, "LOG", message, "", **origin)  # type: ignore[arg-type]
    logged = read([before, raised, after])
    assert [(each.text, each.duration_ms, each.outcome) for each in logged] == [
        ("SELECT f()", 7.0, None)
    ]


def test_a_name_with_blanks_and_no_sql_is_no_statement() -> None:
    assert read([entry("execute job 12: done")]) == []
    for name in ("job 12", "fetch from a/b", "<unnamed>", "a:b"):
        assert [each.text for each in read([entry(f"execute {name}: SELECT 1")])] == ["SELECT 1"]


@pytest.mark.parametrize("logged", [True, False])
def test_a_warning_that_none_is_open_is_of_its_statement(logged: bool) -> None:
    warning = replace(entry("there is no transaction in progress"), severity="WARNING")
    commit = [entry("statement: COMMIT"), warning, entry("duration: 1 ms")]
    if not logged:
        commit = [warning, entry("duration: 1 ms  statement: COMMIT")]
    stray = [(each.text, each.stray) for each in read([*commit, entry("statement: SELECT 1")])]
    assert stray == [("COMMIT", True), ("SELECT 1", False)]


SHARD = "SELECT a FROM public.t_102008 t WHERE (id OPERATOR(pg_catalog.=) 5)"


@pytest.mark.parametrize(
    ("application", "text", "is_of_node"),
    [
        ("citus_internal gpid=10000000123", "SELECT 1", True), ("citus", "COMMIT", True),
        ("citus_rebalancer gpid=7", "SELECT citus_shard_sizes()", True), ("", SHARD, True),
        ("web", "SELECT a FROM t_102008 WHERE id = 5", False), ("citus_web", "SELECT 1", False),
        ("", "SELECT a FROM t WHERE id OPERATOR(pg_catalog.=) 5 AND b = 'x_102008'", False),
    ],
)  # fmt: skip
def test_what_nodes_of_citus_send_each_other_is_no_traffic_of_clients(
    application: str, text: str, is_of_node: bool
) -> None:
    logged = replace(entry(f"duration: 1 ms  statement: {text}"), application=application)
    [found] = read([logged])
    assert found.outcome is (StatementOutcome.NODES if is_of_node else None)


def test_a_transaction_of_a_node_is_left_out_as_a_whole() -> None:
    begin = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED;SELECT "
    begin += "assign_distributed_transaction_id(0, 5, '2026-11-28 03:00:00+00')"
    work = ("UPDATE public.t_102008 SET a = 1", "COMMIT", "SELECT 1")
    logged = [entry(f"duration: 1 ms  statement: {text}") for text in (begin, *work)]
    found = list(transactions(statements(logged)))
    assert [(len(each.statements), each.outcome) for each in found] == [
        (3, StatementOutcome.NODES), (1, None),
    ]  # fmt: skip
