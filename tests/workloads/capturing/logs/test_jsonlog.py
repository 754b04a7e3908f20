"""Entries and lines in JSON are all read, whatever stands between them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.logs import clock
from steelyard.workloads.capturing.logs import jsonlog as reading
from thinned import thinned
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    CUT,
    csv,
    entries,
    jsonlog,
    message,
    outcomes,
    stamp,
    stderr,
    texts,
)


def docker(text: str, stream: str = "stderr") -> str:
    return json.dumps({"log": text, "stream": stream, "time": "2026-11-28T03:00:00Z"}) + "\n"


def cnpg(second: float, text: str) -> str:
    record = {
        "log_time": stamp(second), "session_id": "6563.64", "error_severity": "LOG",
        "message": message(text),
    }  # fmt: skip
    return json.dumps({"level": "info", "msg": "record", "record": record}) + "\n"


@pytest.mark.parametrize("entry", [jsonlog, cnpg])
@pytest.mark.parametrize("many", [1, 250])
def test_entries_and_lines_are_read_as_they_come(tmp_path: Path, entry: object, many: int) -> None:
    write = jsonlog if entry is jsonlog else cnpg
    first = [f"select {n}" for n in range(many)]
    own = "".join(write(n, text) for n, text in enumerate(first))
    lines = "".join(docker(stderr(300 + n, f"select a\nfrom t{n}")) for n in range(40))
    second = [f"select a\nfrom t{n}" for n in range(40)]
    assert texts(entries(tmp_path, own + lines)) == first + second
    assert texts(entries(tmp_path, lines + own)) == second + first


@pytest.mark.parametrize(
    "other",
    [
        "panic: something\n", "goroutine 1 [running]:\n", "\tmain.go:7\n", "123\n", "null\n",
        '{"level":"info","message":"starting up","logger":"x"}\n', '{"level":"info","msg":"x"}\n',
        '{"log":"+ exec postgres\\n","stream":"stdout"}\n', '"text"\n', "[info] x\n",
    ],
)  # fmt: skip
def test_lines_of_others_are_nothing(tmp_path: Path, other: str) -> None:
    own = "".join(cnpg(n, f"select {n}") for n in range(4))
    assert texts(entries(tmp_path, own + other + own)) == [f"select {n}" for n in range(4)] * 2
    if other.startswith("{"):
        assert len(texts(entries(tmp_path, other + own))) == 4


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab \t'\u00fc"), max_size=12), min_size=1, max_size=6),
    st.integers(0, 40_000),
)
def test_lines_that_docker_cut_come_back_with_their_blanks(
    folder: Path, lines: list[str], long: int
) -> None:
    body = "\n".join([f"insert into t values ('{'x' * long}", *lines, "')  "])
    written = stderr(1, "select 1") + stderr(2, body) + stderr(3, "select 3")
    parts = []
    for line in written.splitlines(keepends=True):
        data = line.encode()
        cuts = range(0, len(data), 16_384)
        parts += [docker(data[at : at + 16_384].decode(errors="replace")) for at in cuts]
    read = texts(entries(folder, "".join(parts)))
    assert read == ["select 1", body, "select 3"]


def test_envelopes_without_line_feeds_are_a_line_each(tmp_path: Path) -> None:
    lines = [f"select {n}" for n in range(3)]
    own = "".join(docker(stderr(n, text).rstrip("\n")) for n, text in enumerate(lines))
    assert texts(entries(tmp_path, own)) == lines
    long = "select '" + "x" * 20_000 + "'"
    whole = stderr(1, long).rstrip("\n")
    assert texts(entries(tmp_path, docker(whole[:16_384]) + docker(whole[16_384:]))) == [long]
    for key, values in (("logtag", "PF"), ("partial_last", ("false", "true"))):
        fields = [{"log": text} for text in (whole[:9000], whole[9000:])]
        for field, value in zip(fields, values, strict=True):
            field.update({key: value} | ({"partial_message": "true"} if len(value) > 1 else {}))
        text = "".join(json.dumps(field) + "\n" for field in fields)
        assert texts(entries(tmp_path, text)) == [long]


def test_a_carriage_return_at_the_end_takes_no_time_from_its_line(tmp_path: Path) -> None:
    line = f"[100] LOG:  {message('select 1')}\r\n"
    read = entries(tmp_path, docker(line) * 2, prefix="[%p] ")
    assert texts(read) == ["select 1"] * 2
    assert all(entry.seconds for entry in read)


def test_streams_are_put_together_each_by_itself(tmp_path: Path) -> None:
    line = stderr(1, "select 'abc'")
    text = docker(line[:50]) + docker("of another\n", "stdout") + docker(line[50:])
    first = docker(stderr(0, "select\n0"))
    assert texts(entries(tmp_path, first + text)) == ["select\n0", "select 'abc'"]


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.integers(20, 140), st.sampled_from(["", "\n", "\0\0\0\n"]))
def test_a_cut_anywhere_is_one_entry_that_is_not_whole(folder: Path, at: int, end: str) -> None:
    own = "".join(jsonlog(n, f"select {n}") for n in range(3))
    read = entries(folder, own + jsonlog(7, "select 7")[:at] + end + own)
    assert texts(read) == [f"select {n}" for n in range(3)] * 2
    assert [entry.whole for entry in read].count(False) == 1


def test_what_began_before_the_file_is_counted_once(tmp_path: Path) -> None:
    own = jsonlog(1, "select 1") + jsonlog(2, "select 2")
    assert outcomes(tmp_path, jsonlog(0, "select 0")[50:] + own) == {CUT: 1, CAPTURED: 2}


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("key", ["events", "records", "entries", "logEvents"])
def test_objects_over_several_lines_are_read(tmp_path: Path, indent: int | None, key: str) -> None:
    values = [
        {"timestamp": n, "message": stderr(n, f"select a\nfrom t{n}").rstrip("\n")}
        for n in range(5)
    ]
    expected = [f"select a\nfrom t{n}" for n in range(5)]
    text = json.dumps({key: values}, indent=indent)
    assert texts(entries(tmp_path, text)) == expected
    several = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert texts(entries(tmp_path, several + "\n")) == expected
    if indent is not None:  # of what is cut off much would be lost in silence
        with pytest.raises(UsageError, match="line 1 is cut off"):
            entries(tmp_path, text[:-60])


def test_a_file_without_an_object_is_refused(tmp_path: Path) -> None:
    for text in ('{"broken\n', '{"broken\nmore\n'):
        with pytest.raises(UsageError, match="line 1 is no entry") as refused:
            entries(tmp_path, text)
        assert refused.value.hint is not None
    with pytest.raises(UsageError, match="in another format"):
        entries(tmp_path, jsonlog(1, "select 1") + csv(2, "select 2") * 9)


@pytest.mark.parametrize("levels", [201, 5000])
@thinned("place", ['{{"detail": {}}}\n', '{{"x": [1, {}]}}\n', "{}\n"], 1)
def test_values_within_each_other_are_one_entry_that_is_not_whole(
    tmp_path: Path, levels: int, place: str
) -> None:
    for deep in ("[" * levels + "]" * levels, '{"a":' * levels + "1" + "}" * levels):
        if place == "{}\n" and deep.startswith("["):
            continue  # a list over several lines
        text = jsonlog(1, "select 1") + place.format(deep) + jsonlog(2, "select 2")
        assert outcomes(tmp_path, text) == {CUT: 1, CAPTURED: 2}


def journal(line: str | None, how: str = "text", **fields: object) -> str:
    """A record of `journalctl -o json`; a line is null, text, or its bytes in an encoding."""
    as_bytes = line is not None and how != "text"
    message = list(line.encode(how)) if as_bytes and line is not None else line
    return json.dumps({"MESSAGE": message, "_PID": "9"} | fields) + "\n"


def journal_lines(*bodies: str) -> list[str]:
    return [
        line for n, body in enumerate(bodies) for line in stderr(n, body).rstrip("\n").split("\n")
    ]


BODIES = ("select b from u\nwhere id = 1", "select \x1b\rfrom t\nwhere a = '\u00e4'", "select 3")


@pytest.mark.parametrize("in_bytes", [(), (0,), (1,), (2, 3), (0, 1, 2, 3, 4)])
def test_lines_that_journald_wrote_as_bytes_are_read(
    tmp_path: Path, in_bytes: tuple[int, ...]
) -> None:
    lines = journal_lines(*BODIES)
    for encoding in ("utf-8", "latin-1"):
        text = "".join(
            journal(line, encoding if n in in_bytes or not line.isascii() else "text")
            for n, line in enumerate(lines)
        )
        name = None if encoding == "utf-8" else "LATIN1"
        assert texts(entries(tmp_path, text, encoding=name)) == list(BODIES)
    with pytest.raises(UsageError, match="MESSAGE of object 4 is not UTF-8") as refused:
        entries(tmp_path, text)
    assert "--encoding" in str(refused.value.hint)


UNIT = {"_SYSTEMD_UNIT": "postgresql.service", "_HOSTNAME": "db1"}
KERNEL = journal(None, _TRANSPORT="kernel", _HOSTNAME="db1")


@pytest.mark.parametrize("fields", [{}, UNIT, {"_HOSTNAME": "db1"}, {"CONTAINER_NAME": "pg"}])
@pytest.mark.parametrize("missing", range(5))
def test_a_line_that_journald_left_out_is_refused(
    tmp_path: Path, fields: dict[str, object], missing: int
) -> None:
    lines: list[str | None] = [*journal_lines(*BODIES)]
    own = "".join(journal(line, **fields) for line in lines)
    assert texts(entries(tmp_path, own)) == list(BODIES)
    lines[missing] = None
    text = "".join(journal(line, **fields) for line in lines)
    with pytest.raises(UsageError, match=f"MESSAGE of object {missing + 1} is null") as refused:
        entries(tmp_path, text)
    assert "journalctl --all" in str(refused.value.hint)


@pytest.mark.parametrize("other", [KERNEL, journal(None, _SYSTEMD_UNIT="a", _HOSTNAME="db1")])
def test_lines_of_other_programs_may_be_missing(tmp_path: Path, other: str) -> None:
    lines = [journal(line, **UNIT) for line in journal_lines(*BODIES)]
    assert texts(entries(tmp_path, other + other.join(lines) + other)) == list(BODIES)


FLEXIBLE = [
    # Its default, a usual one, and one of a user's own.
    (None, "{stamp} UTC-6563.64-", ""),
    (None, "{stamp} UTC [100] [user=joe,db=shop,app=[unknown]] ", "shop"),
    (
        "%m [%p]: [%l-1] xact=%x,user=%u,db=%d,client=%h, app=%a",
        "{stamp} UTC [100]: [7-1] xact=0,user=joe,db=shop,client=[local], app=[unknown]",
        "shop",
    ),
]


def flexible(second: int, head: str, text: str, detail: str = "", level: str = "LOG") -> str:
    """As Azure's flexible server exports entries: the line in "message", DETAIL beside it."""
    at = stamp(second).removesuffix(" UTC")
    properties = {
        "timestamp": f"{at} UTC", "processId": 100, "errorLevel": level, "sqlerrcode": "00000",
        "message": f"{head.format(stamp=at)}{level}:  {text}", "backend_type": "client backend",
    }  # fmt: skip
    if detail:
        properties["detail"] = detail
    record = {"properties": properties, "time": f"{at}Z", "category": "PostgreSQLLogs"}
    return json.dumps(record) + "\n"


@pytest.mark.parametrize(("prefix", "head", "database"), FLEXIBLE)
@pytest.mark.parametrize("feed", ["\n", "\n\t"])
def test_lines_of_azures_flexible_server_are_read_with_their_details(
    tmp_path: Path, prefix: str | None, head: str, database: str, feed: str
) -> None:
    asked = f"select a{feed}from t where b = $1 and c = 'LOG:  x'"
    log = "".join(
        flexible(n, head, f"duration: 1.0 ms  {step} <unnamed>: {asked}", f"parameters: $1 = '{n}'")
        for n in range(3)
        for step in ("bind", "execute")
    )
    failed = flexible(4, head, 'relation "u" does not exist at character 15', level="ERROR")
    read = entries(tmp_path, log + failed, prefix=prefix)
    assert [entry.severity for entry in read] == ["LOG"] * 6 + ["ERROR"]
    assert all(entry.whole for entry in read)
    text = "select a\nfrom t where b = $1 and c = 'LOG:  x'"
    assert read[1].message == f"duration: 1.0 ms  execute <unnamed>: {text}"
    assert [entry.detail for entry in read[1:6:2]] == [f"parameters: $1 = '{n}'" for n in range(3)]
    assert {entry.database for entry in read} == {database}
    counted = outcomes(tmp_path, log + failed, prefix=prefix)
    assert counted == {CAPTURED: 3, StatementOutcome.FAILED: 1}


def cloud_sql(second: int) -> str:
    head = "{stamp} [{process}]: [1-1] db=shop,user=joe "
    line = stderr(second, f"select {second}", head)
    return json.dumps({"textPayload": line, "timestamp": stamp(second)}) + "\n"


@thinned("many", [2, 999, 1001, 2500], 1)
@pytest.mark.parametrize("newest_first", [True, False])
def test_an_export_is_read_from_its_oldest_entry_on(
    tmp_path: Path, many: int, newest_first: bool
) -> None:
    lines = [cloud_sql(second) for second in range(many)]
    expected = [f"select {second}" for second in range(many)]
    ordered = lines[::-1] if newest_first else lines
    assert texts(entries(tmp_path, "".join(ordered))) == expected
    assert texts(entries(tmp_path, f"[{','.join(ordered)}]")) == expected
    assert texts(entries(tmp_path, f"[ {' , '.join(ordered)} ]")) == expected


def test_what_must_be_held_as_a_whole_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [cloud_sql(second) for second in range(2000)]
    monkeypatch.setattr(clock, "_MOST_TURNED", 500)
    with pytest.raises(UsageError, match="newest entries come first") as refused:
        entries(tmp_path, "".join(lines[::-1]))
    assert "tac LOG > NEW" in str(refused.value.hint)
    assert len(entries(tmp_path, "".join(lines))) == 2000
    monkeypatch.setattr(reading, "_MOST_OF_A_LIST", 10_000)
    with pytest.raises(UsageError, match="it is longer than") as refused:
        entries(tmp_path, f"[{','.join(lines)}]")
    assert "jq -c" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("name", "text", "time"),
    [
        ("timestamp", "textPayload", "2026-11-28T03:00:{:02}.500000001Z"),
        ("time", "log", "2026-11-28T03:00:{:02}.500000001Z"),
        ("__REALTIME_TIMESTAMP", "MESSAGE", "17642988{:02}500000"),
    ],
)
@pytest.mark.parametrize("has_time", [True, False])
def test_where_the_prefix_has_no_time_it_is_the_envelopes(
    tmp_path: Path, name: str, text: str, time: str, has_time: bool
) -> None:
    """As Cloud SQL's earlier one had none."""
    head = (
        "{stamp} [{process}]: [7-1] db=shop,user=joe "
        if has_time
        else ("[{process}]: [7-1] db=shop,user=joe ")
    )
    log = "".join(
        json.dumps({
            text: stderr(n, f"select a\nfrom t where b = {n}", head),
            name: time.format(2 * n),
        }) + "\n"
        for n in range(4)
    )  # fmt: skip
    read = entries(tmp_path, log)
    steps = [after.seconds - before.seconds for before, after in itertools.pairwise(read)]
    assert steps == [1.0 if has_time else 2.0] * 3
    assert all(entry.exact for entry in read)
