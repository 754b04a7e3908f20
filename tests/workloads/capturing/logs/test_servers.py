"""Statements of two servers in a log are refused, and what others wrote beside one is left out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import entries, message, stamp, stderr, texts


def nested(key: str, name: str) -> dict[str, Any]:
    value: Any = name
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def line(key: str, name: str, text: str) -> str:
    """A line of a stderr log in an envelope, from where `key` says."""
    return json.dumps({"message": text} | nested(key, name)) + "\n"


def record(key: str, name: str, second: int, text: str, level: str = "LOG") -> str:
    """An entry in CloudNativePG's envelope."""
    fields = {"log_time": stamp(second), "session_id": "6.4d", "error_severity": level}
    return json.dumps({"record": fields | {"message": text}} | nested(key, name)) + "\n"


KEYS = (
    "logging_pod", "kubernetes.pod_name", "kubernetes.pod.name", "resource.labels.database_id",
    "resource.labels.pod_name", "logStreamName", "container_name", "CONTAINER_NAME", "_HOSTNAME",
    "_SYSTEMD_UNIT", "host", "host.name", "hostname", "resourceId", "kubernetes.pod", "source",
    "host.hostname", "attrs.tag", "container_id", "container.id", "container.name", "logStream",
)  # fmt: skip
A, B = "pg-a-0", "pg-b-0"


def own_lines(key: str, between: str = "") -> str:
    """Two statements over two lines each."""
    bodies = ("select a\nfrom t", "select b\nfrom u")
    lines = [one for n, body in enumerate(bodies) for one in stderr(n, body).splitlines()]
    return between.join(line(key, A, one) for one in lines)


@pytest.mark.parametrize("key", KEYS)
def test_two_servers_in_envelopes_are_refused(tmp_path: Path, key: str) -> None:
    assert texts(entries(tmp_path, own_lines(key))) == ["select a\nfrom t", "select b\nfrom u"]
    other = line(key, B, stderr(1, "select c").rstrip("\n"))
    for text in (own_lines(key, other), other + own_lines(key), own_lines(key) + other):
        with pytest.raises(UsageError, match=f"several servers: {A}, {B}") as refused:
            entries(tmp_path, text)
        assert f"select(.{key}? == " in str(refused.value.hint)
    records = [record(key, name, n, message("select 1")) for n, name in enumerate((A, A, B))]
    assert len(entries(tmp_path, "".join(records[:2]))) == 2
    with pytest.raises(UsageError, match=f"several servers: {A}, {B}"):
        entries(tmp_path, "".join(records))


@pytest.mark.parametrize(
    ("key", "path"),
    [(("kubernetes.pod_name",), '["kubernetes.pod_name"]'), (("host.name",), '["host.name"]'),
     (("kubernetes", "pod.name"), 'kubernetes["pod.name"]')],
)  # fmt: skip
def test_keys_that_are_joined_by_dots_are_as_objects_in_objects(
    tmp_path: Path, key: tuple[str, ...], path: str
) -> None:
    def flat(name: str, second: int) -> str:
        value: Any = name
        for part in reversed(key):
            value = {part: value}
        text = stderr(second, f"select {second}").rstrip("\n")
        return json.dumps({"message": text} | value) + "\n"

    assert len(entries(tmp_path, flat(A, 0) + flat(A, 1))) == 2
    with pytest.raises(UsageError, match=f"several servers: {A}, {B}") as refused:
        entries(tmp_path, flat(A, 0) + flat(B, 1))
    assert f"select(.{path}? == " in str(refused.value.hint)


def test_a_subscription_says_the_server_of_all_its_events(tmp_path: Path) -> None:
    def portion(name: str, *seconds: int) -> str:
        events = [{"message": stderr(n, f"select {n}").rstrip("\n")} for n in seconds]
        return json.dumps({"logStream": name, "logEvents": events}) + "\n"

    log = portion("orders.0", 0, 1) + portion("orders.1", 2)
    assert texts(entries(tmp_path, log)) == ["select 0", "select 1", "select 2"]
    with pytest.raises(UsageError, match=r"several servers: crm\.0, orders\.0"):
        entries(tmp_path, log + portion("crm.0", 3))


@pytest.mark.parametrize("names", [("stdout", "stderr"), ("/log/Mon.log", "/log/Tue.log")])
def test_a_source_that_is_no_host_says_no_server(tmp_path: Path, names: tuple[str, str]) -> None:
    rows = [
        line("source", name, stderr(n, "select 1").rstrip("\n")) for n, name in enumerate(names)
    ]
    assert len(texts(entries(tmp_path, "".join(rows)))) == 2


def interleaved(servers: int, *, forms: tuple[str, ...] = ("statement",), ms: int = 40) -> str:
    """Servers whose processes have one number, each with a statement after the other."""
    rows = []
    for server in range(servers):
        at = 0.013 * server
        for n in range(40):
            for form in forms:
                at += ms / 1000
                name = "" if form == "statement" else " <unnamed>"
                rows.append((at, f"duration: {ms}.000 ms  {form}{name}: select {n} from t{server}"))
            at += 0.001
    rows.sort()
    return "".join(f"{stamp(at)} [77] LOG:  {text}\n" for at, text in rows)


EXTENDED = ("parse", "bind", "execute")


@pytest.mark.parametrize("forms", [("statement",), EXTENDED])
def test_statements_within_others_of_their_session_are_two_servers(
    tmp_path: Path, forms: tuple[str, ...]
) -> None:
    assert len(entries(tmp_path, interleaved(1, forms=forms))) == 40 * len(forms)
    with pytest.raises(UsageError, match="several servers") as refused:
        entries(tmp_path, interleaved(2, forms=forms))
    assert "began before the one before them" in str(refused.value.detail)


@pytest.mark.parametrize(
    "between",
    [
        "{stamp} [77] LOG:  duration: 39.900 ms  plan:\n\tQuery Text: select 1\n",
        "{stamp} [78] LOG:  duration: 39.900 ms  statement: select 1\n",
        "{stamp} [77] LOG:  duration: 0.900 ms  statement: select 1\n",  # cut to milliseconds
        "{stamp} [77] LOG:  connection authorized: user=joe\n",
    ],
)
def test_what_one_server_writes_within_a_statement_is_its_own(tmp_path: Path, between: str) -> None:
    lines = interleaved(1).splitlines(keepends=True)
    rows = [between.format(stamp=row[:27]) + row for row in lines]
    if "0.900" in between:
        rows = [row + between.format(stamp=row[:27]) for row in lines]
    assert len(entries(tmp_path, "".join(rows))) == 80


def test_times_of_what_carried_a_log_are_no_times_of_statements(tmp_path: Path) -> None:
    """A daemon that was late has many at once."""
    rows = [
        {"MESSAGE": f"[77] LOG:  {message('select 1')}".replace("1.000 ms", "40.000 ms"),
         "__REALTIME_TIMESTAMP": str(1_764_298_800_000_000 + n)}
        for n in range(40)
    ]  # fmt: skip
    log = "".join(json.dumps(row) + "\n" for row in rows)
    assert len(entries(tmp_path, log, prefix="[%p] ")) == 40


def of_seconds(table: str, seconds: range) -> str:
    return "".join(stderr(second, f"select a from {table}") for second in seconds)


def test_two_logs_of_the_same_time_in_one_are_two_servers(tmp_path: Path) -> None:
    first, second = range(0, 600, 3), range(1, 600, 3)
    for log in (
        of_seconds("t", first) + of_seconds("u", second),
        of_seconds("t", second) + of_seconds("u", first),
    ):
        with pytest.raises(UsageError, match="same times twice"):
            entries(tmp_path, log)


@pytest.mark.parametrize(
    "spans",
    [
        ((600, 900), (0, 300), (900, 1200), (300, 600)),  # files by their names
        ((0, 600), (500, 530), (600, 900)),  # a clock that was set back
        ((0, 300), (180, 900)),
    ],
)
def test_what_one_server_wrote_may_be_in_another_order(
    tmp_path: Path, spans: tuple[tuple[int, int], ...]
) -> None:
    log = "".join(of_seconds("t", range(*span, 3)) for span in spans)
    assert texts(entries(tmp_path, log))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "text",
    [
        "\tat Main.run(Main.java:7)", "GET / 200", "2026-11-28 03:00:01.000 UTC [100] LOG:  hello",
        "2026-11-28 03:00:01.000 UTC [100] LOG:  starting PostgreSQL 18",
    ],
)  # fmt: skip
def test_what_others_wrote_is_no_part_of_a_statement(tmp_path: Path, key: str, text: str) -> None:
    read = entries(tmp_path, own_lines(key, line(key, B, text)))
    assert texts(read) == ["select a\nfrom t", "select b\nfrom u"]


def test_entries_of_a_standby_that_executes_nothing_are_left_out(tmp_path: Path) -> None:
    own = [record("logging_pod", A, n, message(f"select {n}")) for n in range(2)]
    other = record("logging_pod", B, 1, "restartpoint starting: time")
    assert texts(entries(tmp_path, other.join([*own, ""]))) == ["select 0", "select 1"]


def test_streams_of_one_server_and_lines_that_say_nothing_are_its_own(tmp_path: Path) -> None:
    streams = ("orders.0", "orders.1", "orders.0")
    rows = [stderr(n, f"select {n}").rstrip("\n") for n in range(3)]
    named = [line("logStreamName", name, row) for name, row in zip(streams, rows, strict=True)]
    assert len(texts(entries(tmp_path, "".join(named)))) == 3
    for key in ("kubernetes.namespace_name", "message_id", "stream"):
        mixed = [line(key, name, row) for name, row in zip("aba", rows, strict=True)]
        assert len(texts(entries(tmp_path, "".join(mixed)))) == 3


def test_parts_of_lines_are_put_together_for_each_server(tmp_path: Path) -> None:
    def part(name: str, tag: str, text: str) -> str:
        return json.dumps({"log": text, "logtag": tag} | nested("kubernetes.pod_name", name)) + "\n"

    whole = stderr(1, "select 'abc'").rstrip("\n")
    text = part(A, "P", whole[:50]) + part(B, "P", "of a") + part(A, "F", whole[50:])
    assert texts(entries(tmp_path, text + part(B, "F", "nother"))) == ["select 'abc'"]


SYSLOG = {
    "traditional": "Nov 28 03:00:{second:02} {host} {name}[77]: [{number}-{part}] {text}\n",
    "unnumbered": "Nov 28 03:00:{second:02} {host} {name}[77]: {text}\n",
    "RFC 5424": "<134>1 2026-11-28T03:00:{second:02}.123Z {host} {name} 77 - - "
    "[{number}-{part}] {text}\n",
}


def syslog(form: str, second: int, text: str, host: str = "db1", name: str = "postgres") -> str:
    """A statement as its server and a daemon write it, a line a part."""
    parts = stderr(second, text).rstrip("\n").replace("\t", "#011").split("\n")
    return "".join(
        SYSLOG[form].format(
            second=second, host=host, name=name, number=second + 1, part=part, text=row
        )
        for part, row in enumerate(parts, 1)
    )


@pytest.mark.parametrize("form", list(SYSLOG))
@pytest.mark.parametrize("where", [{"host": "db2"}, {"name": "pg17"}])
def test_two_servers_in_syslog_are_refused(
    tmp_path: Path, form: str, where: dict[str, str]
) -> None:
    own = [syslog(form, n, f"select {n}\nfrom t") for n in range(4)]
    assert len(texts(entries(tmp_path, "".join(own)))) == 4
    other = syslog(form, 1, "select c", **where)
    [name] = where.values()
    for text in ("".join(own[:1]) + other + "".join(own[1:]), "".join(own) + other):
        with pytest.raises(UsageError, match=f"several servers: .*{name}") as refused:
            entries(tmp_path, text)
        assert str(refused.value.hint).startswith("awk ")


@pytest.mark.parametrize("form", list(SYSLOG))
@pytest.mark.parametrize("where", [{"host": "db2"}, {"host": "db.1"}, {"name": "pg/17"}])
def test_what_the_refusal_says_keeps_lines_without_a_head(
    tmp_path: Path, form: str, where: dict[str, str]
) -> None:
    """As unsplit messages have (syslog_split_messages = off)."""
    rows = []
    for n in range(3):
        for place in ({}, where):
            head, tail = syslog(form, n, f"delete from t\nwhere id = {n}", **place).split("\n")[:2]
            rows.append(f"{head}\n\t{tail.partition('#011')[2]}\n")
    for at in (0, 1):
        with pytest.raises(UsageError, match="several servers") as refused:
            entries(tmp_path, "".join(rows[at:]))
        command = str(refused.value.hint).partition(" LOG > NEW")[0]
        kept_rows = subprocess.run(
            ["sh", "-c", command], input="".join(rows), capture_output=True, text=True, check=True
        ).stdout
        assert kept_rows == "".join(rows[at::2])
        assert texts(entries(tmp_path, kept_rows)) == [
            f"delete from t\nwhere id = {n}" for n in range(3)
        ]


@pytest.mark.parametrize("form", list(SYSLOG))
def test_a_standby_that_executes_nothing_is_left_out_of_syslog(tmp_path: Path, form: str) -> None:
    own = [syslog(form, n, f"select {n}\nfrom t") for n in range(3)]
    other = syslog(form, 1, "x", host="db2").replace(message("x"), "restartpoint starting: time")
    assert "restartpoint" in other
    read = texts(entries(tmp_path, other.join(own)))
    assert read == [f"select {n}\nfrom t" for n in range(3)]


@pytest.mark.parametrize("zones", [("CEST", "CET"), ("UTC", "UTC")])
def test_a_prefix_that_looks_like_syslog_names_no_host(
    tmp_path: Path, zones: tuple[str, str]
) -> None:
    rows = [
        f"2026-10-25 02:00:0{n}.000 {zone} {database}[100]: LOG:  {message(f'select {n}')}\n"
        for n, (zone, database) in enumerate(zip(zones, ("shop", "crm"), strict=True))
    ]
    assert texts(entries(tmp_path, "".join(rows))) == ["select 0", "select 1"]


@pytest.mark.parametrize("sessions", [10, 40])
@pytest.mark.parametrize("each", [1, 4])
def test_last_messages_of_sessions_may_come_late(tmp_path: Path, sessions: int, each: int) -> None:
    """As those of syslog do, which nothing but the next one ends."""
    rows = [
        f"Nov 28 03:{n // 6:02}:{10 * (n % 6):02} db1 postgres[{100 + n}]: [{number}-1] "
        f"[{100 + n}] LOG:  {message('select 1')}\n"
        for n in range(sessions)
        for number in range(1, each + 1)
    ]
    read = entries(tmp_path, "".join(rows), prefix="[%p] ")
    assert len(texts(read)) == sessions * each


def copies(form: str, counts: list[int]) -> str:
    """Statements of two sessions, each as often as it says."""
    heads = ["{stamp} [100] ", "{stamp} [101] "]
    if form == "seconds":
        heads = [head.replace("{stamp}", "2026-11-28 03:00:00 UTC") for head in heads]
    written = [stderr(n / 10, f"select {n}", heads[n % 2]) for n in range(len(counts))]
    if form == "untimed":
        written = [text.replace("duration: 1.000 ms  ", "") for text in written]
    return "".join(text * count for text, count in zip(written, counts, strict=True))


@pytest.mark.parametrize("form", ["", "seconds", "untimed"])
@pytest.mark.parametrize(
    ("counts", "is_doubled"),
    [
        ([2] * 40, True), ([2, 4] * 20, True), ([4] * 30 + [2] * 30, True),
        # What was executed again in a loop, a few entries, and the end of one that is cut off.
        ([1] * 40, False), ([1, 2] * 30, False), ([2] * 39 + [1] * 3, False), ([2] * 12, False),
        ([3] * 40, False),
    ],
)  # fmt: skip
def test_a_log_with_every_line_twice_is_refused(
    tmp_path: Path, form: str, counts: list[int], is_doubled: bool
) -> None:
    log = copies(form, counts)
    if not is_doubled:
        assert len(entries(tmp_path, log)) == sum(counts)
        return
    with pytest.raises(UsageError, match="every entry twice") as refused:
        entries(tmp_path, log)
    assert "the server's own files" in str(refused.value.hint)
