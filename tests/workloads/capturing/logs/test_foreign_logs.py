"""Objects of other servers' logs are called what they are, and not an empty log of PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import CAPTURED, entries, jsonlog, outcomes, stderr, texts

MYSQL, MONGODB = "one of MySQL or MariaDB", "one of MongoDB"
Object = Mapping[str, Any]
AT = "2026-11-28 03:00:00"
LOGS: list[tuple[str, str, list[Object]]] = [
    # Audit logs of MySQL and of Percona's plugin, and the error log.
    (MYSQL, "mysql://", [
        {"timestamp": AT, "id": 0, "class": "audit", "event": "startup", "connection_id": 0},
        {"timestamp": AT, "id": 1, "class": "general", "event": "status", "connection_id": 8,
         "general_data": {"command": "Query", "sql_command": "select", "query": "SELECT 1"}},
    ]),
    (MYSQL, "mysql://", [
        {"audit_record": {"name": "Query", "record": "4_2026", "sqltext": "SELECT 1", "db": "a"}},
    ]),
    (MYSQL, "mysql://", [
        {"prio": 0, "err_code": 10910, "msg": "ready", "err_symbol": "ER_A", "subsystem": "Server"},
    ]),
    # MongoDB's log, audit log and profiler.
    (MONGODB, "PostgreSQL alone", [
        {"t": {"$date": "2026-11-28T03:00:00.123Z"}, "s": "I", "c": "COMMAND", "id": 51803,
         "ctx": "conn8", "msg": "Slow query", "attr": {"ns": "shop.orders", "durationMillis": 7}},
    ]),
    (MONGODB, "PostgreSQL alone", [
        {"atype": "authCheck", "ts": {"$date": AT}, "param": {"command": "find"}, "result": 0},
    ]),
    (MONGODB, "PostgreSQL alone", [{"op": "query", "ns": "shop.orders", "millis": 7, "ts": AT}]),
    # The audit of SQL Server, and as Azure exports it.
    ("one of SQL Server", "sqlserver://", [
        {"action_id": "BCM", "server_principal_name": "sa", "statement": "SELECT 1"},
    ]),
    ("one of SQL Server", "sqlserver://", [
        {"category": "SQLSecurityAuditEvents", "time": AT,
         "properties": {"action_id": "BCM", "server_principal_name": "sa", "statement": "SELECT"}},
    ]),
    ("an export of counted statements", "capture DSN", [
        {"queryid": 7, "query": "select a from t where id = $1", "calls": 900},
    ]),
    ("objects are no entries of PostgreSQL", "log_destination = jsonlog", [
        {"level": "INFO", "query": "SELECT 1", "took": {"ms": 3}},
    ]),
]  # fmt: skip


def forms(values: list[Object]) -> list[str]:
    """An object a line, a list with one a line, one that is laid out, and an envelope."""
    lines = [json.dumps(value) for value in values]
    return [
        "\n".join(lines) + "\n",
        "[\n" + ",\n".join(lines) + "\n]\n",
        json.dumps(values, indent=2),
        json.dumps({"records": values}),
    ]


@pytest.mark.parametrize(("what", "hint", "values"), LOGS)
def test_objects_of_another_server_are_called_so(
    tmp_path: Path, what: str, hint: str, values: list[Object]
) -> None:
    for text in forms(values * 3):
        with pytest.raises(UsageError, match=what) as refused:
            entries(tmp_path, text)
        assert hint in str(refused.value.hint)
    # Of lines in envelopes of another kind, too.
    wrapped = [json.dumps({"log": json.dumps(value) + "\n"}) + "\n" for value in values]
    known = what if "PostgreSQL" not in what else "no prefix that is known"
    with pytest.raises(UsageError, match=known):
        entries(tmp_path, "".join(wrapped))


@pytest.mark.parametrize("values", [values for _, _, values in LOGS])
def test_they_are_nothing_beside_entries(tmp_path: Path, values: list[Object]) -> None:
    others = "".join(json.dumps(value) + "\n" for value in values)
    for own in (
        jsonlog(1, "select 1"), json.dumps({"log": stderr(1, "select 1")}) + "\n",
        stderr(1, "select 1"),
    ):  # fmt: skip
        for text in (others + own, own + others):
            if text.startswith("{"):
                assert texts(entries(tmp_path, text)) == ["select 1"]
    assert outcomes(tmp_path, others + jsonlog(1, "select 1")) == {CAPTURED: 1}


def test_keys_are_named_on_one_line(tmp_path: Path) -> None:
    value = {"a\x1b[1m\n": 1} | {f"k{n}": n for n in range(9)} | {"x" * 99: 1}
    with pytest.raises(UsageError, match="no entries of PostgreSQL") as refused:
        entries(tmp_path, json.dumps(value) + "\n")
    assert refused.value.detail == (
        "Object 1 has the keys: a\\x1b[1m\\x0a, k0, k1, k2, k3, k4, k5, k6, ...."
    )


SESSIONS, OTHERS = ("pid", "session_id"), ("timestamp", "error_severity", "message")


@pytest.mark.parametrize("kept", [(), *((name,) for name in SESSIONS), SESSIONS])
def test_statements_without_a_session_are_refused(tmp_path: Path, kept: tuple[str, ...]) -> None:
    """What exported them left it out: all sessions would be one, and their transactions mixed."""

    def without(line: str) -> str:
        fields = json.loads(line)
        return json.dumps({k: v for k, v in fields.items() if k in (*kept, *OTHERS)}) + "\n"

    own = [jsonlog(n, text) for n, text in enumerate(["BEGIN", "select 1", "COMMIT"])]
    log = "".join(map(without, own))
    names = {"pid": "process_id"}
    heads = ["log_time", "user_name", "error_severity", "message", *(names.get(k, k) for k in kept)]
    rows = [f'{AT} UTC,joe,LOG,"statement: select {n}"{",7" * len(kept)}\n' for n in range(3)]
    for text in (log, ",".join(heads) + "\n" + "".join(rows)):
        if kept:
            assert len(entries(tmp_path, text)) == 3
            continue
        with pytest.raises(UsageError, match="cannot tell sessions apart") as refused:
            entries(tmp_path, text)
        assert "session_id" in str(refused.value.hint)
    lines = own[0].replace("duration: 1.000 ms  statement: BEGIN", "checkpoint starting: time")
    assert len(entries(tmp_path, without(lines))) == 1


CRI = "2026-11-28T03:00:00.1Z stderr F 2026-11-28 03:00:00.000 UTC [7] LOG:  statement: SELECT 0"
LINES = [
    ("one of PgBouncer", "server behind it",
     f"{AT}.123 UTC [1] LOG C-0x55d: shop/app@10.0.0.1:5000 login attempt: db=shop user=app"),
    ("one of PgBouncer", "server behind it", f"{AT}.123 UTC [1] LOG kernel file descriptor limit"),
    ("one of SQL Server", "sqlserver://", f"{AT}.12 spid51      Starting up database 'shop'."),
    ("one of SQL Server", "sqlserver://",
     '<events>\n<event name="sql_batch_completed" package="sqlserver" timestamp="2026">'),
    ("counted statements", "capture DSN", "query,calls,total_exec_time,rows\nselect 1,900,1.5,9"),
    (MYSQL, "mysql://", "DIGEST_TEXT,COUNT_STAR,SUM_TIMER_WAIT\nSELECT,900,12"),
    (MYSQL, "mysql://", '"Query","49_2026-11-28T03:00:00","2026-11-28T03:00:01 UTC","select","8"'),
    ("syslog without the numbers of processes", r"sed -E 's/^\S+ +\S+ \S+ \S+ \S+: //'",
     f"Nov 28 03:00:00 db1 postgres: {AT}.000 UTC [77] LOG:  statement: SELECT 1"),
    ("syslog without the numbers of processes", r"sed -E 's/^\S+ \S+ \S+: //'",
     f"2026-11-28T03:00:00.1+00:00 db1 pg: {AT}.000 UTC [77] LOG:  statement: SELECT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "hint", "text"), LINES)
def test_lines_that_no_prefix_helps_are_called_what_they_are(
    tmp_path: Path, what: str, hint: str, text: str
) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        entries(tmp_path, f"{text}\n")
    assert hint in str(refused.value.hint)


@pytest.mark.parametrize(
    ("what", "hint", "row"),
    [
        ("a container", "rtrimstr", {"log": f"{CRI}\n"}),
        ("a container", "rtrimstr", {"log": jsonlog(1, "select 1")}),
        ("a container", "rtrimstr", {"log": json.dumps({"record": {"error_severity": "LOG"}})}),
        ("numbered for syslog", "journalctl -o short-iso-precise",
         {"MESSAGE": f"[1-1] {AT}.000 UTC [77] LOG:  statement: SELECT 1", "_PID": "77"}),
    ],
)  # fmt: skip
def test_lines_in_envelopes_that_no_prefix_helps_are_called_what_they_are(
    tmp_path: Path, what: str, hint: str, row: Object
) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        entries(tmp_path, (json.dumps(row) + "\n") * 3)
    assert hint in str(refused.value.hint)
    assert "--prefix" not in str(refused.value.hint)


def test_values_are_in_no_refusal(tmp_path: Path) -> None:
    values = "('Jane Roe','4111 1111 1111 1111','jane@example.com')"
    for log in (f"{values},\nx\n", f"{values}\n" * 9):
        with pytest.raises(UsageError, match="no prefix that is known") as refused:
            entries(tmp_path, log)
        assert not {"Jane", "4111", "example"} & {*str(refused.value).replace("'", " ").split()}
        assert "4111" not in str(refused.value)
    listed = [stderr(n, values).rstrip("\n") for n in range(3)]
    with pytest.raises(UsageError, match="list of texts") as refused:
        entries(tmp_path, json.dumps(listed, indent=1))
    assert "4111" not in str(refused.value)
    assert "jq -r '.[]' LOG > NEW" in str(refused.value.hint)
    with pytest.raises(UsageError, match="list of values"):
        entries(tmp_path, "[\n4111,\n4112]")


@pytest.mark.parametrize("others", [0, 300])
def test_stamps_of_syslog_are_no_containers(tmp_path: Path, others: int) -> None:
    head = "2026-11-28T03:00:00.123456+00:00 db1"
    cron = f"{head} CRON[500]: (root) CMD (true)\n" * others
    own = "".join(f"{head} postgres[77]: [{n}-1] {stderr(n, f'select {n}')}" for n in range(1, 4))
    assert texts(entries(tmp_path, cron + own)) == ["select 1", "select 2", "select 3"]
    named = "joe db: %m [%p] "  # of a server whose container has the stamp
    stamp, _, _ = head.partition(" ")
    joe = "".join(f"{stamp} joe db: {stderr(n, 'select 1')}" for n in range(9))
    assert len(texts(entries(tmp_path, joe, prefix=named))) == 9
    stamped = "".join(f"2026-11-28T03:00:00.1Z {stderr(n, 'select 1')}" for n in range(9))
    assert len(texts(entries(tmp_path, stamped))) == 9
