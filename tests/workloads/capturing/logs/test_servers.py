"""Statements of two servers in a log are refused, and what others wrote beside one is left out."""

from __future__ import annotations

import json
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
    "_SYSTEMD_UNIT", "host", "host.name", "hostname", "resourceId",
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
        assert str(refused.value.hint).startswith("grep ")


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
