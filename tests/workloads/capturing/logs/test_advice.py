"""What a refusal says to type writes a log that is read."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import csv, entries, stderr, texts

WRITTEN = [f"select a, {n}\n  from t where id = {n}" for n in range(4)]
LINES = "".join(stderr(n, text) for n, text in enumerate(WRITTEN)).splitlines()
ROWS = "".join(csv(n, text) for n, text in enumerate(WRITTEN))
HEADINGS = (
    "log_time,user_name,database_name,process_id,connection_from,session_id,session_line_num,"
    "command_tag,session_start_time,virtual_transaction_id,transaction_id,error_severity,"
    "sql_state_code,message,detail,hint,internal_query,internal_query_pos,context,query,query_pos,"
    "location,application_name,backend_type,leader_pid,query_id\n"
)


def headed(head: str) -> str:
    return "".join(f"{head.format(n=n, two=f'{n:02}')}{line}\n" for n, line in enumerate(LINES))


def table(heading: str, before: str) -> str:
    """An event a row, as CloudWatch and Datadog export them."""
    events = "\n".join(LINES).replace("\n\t", "\0\t").split("\n")
    rows = (before + '"' + event.replace("\0", "\n").replace('"', '""') + '"\n' for event in events)
    return heading + "".join(rows)


def followed(folder: Path, log: str | bytes) -> list[str]:
    """The statements of what a refusal's advice writes."""
    with pytest.raises(UsageError) as refused:
        entries(folder, log)
    command = re.split(r" > NEW|  reads", str(refused.value.hint))[0]
    command = command.replace(" | steelyard workloads capture -", "")
    command = re.sub(r"\bLOG\b", str(folder / "0.log"), command)
    written = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=60)
    return texts(entries(folder, written.stdout))


@pytest.mark.parametrize(
    "head",
    [
        "pg-0 postgres ",  # stern
        "2026-11-28T03:00:{two}.123000+00:00 shop-db.0 ",  # aws logs tail --format detailed
        "2026-11-28T03:00:{two} ",
        '2026-11-28T03:00:{two}Z {{app="db", pod="db-0"}} ',  # logcli
        '{{app="db"}} ',
        "Nov 28 03:00:{two} ",  # ts
        "postgresql-Mon.log:", "logs/postgresql-{n}.log:{n}:",  # grep
        "     {n}\t",  # cat -n
        "\x1b[32m", "db   ",
    ],
)  # fmt: skip
def test_what_stands_before_a_prefix_is_taken_off_as_advised(tmp_path: Path, head: str) -> None:
    assert followed(tmp_path, headed(head)) == WRITTEN


def test_of_several_sources_the_advice_takes_one(tmp_path: Path) -> None:
    own = "".join(f"db-0 postgres {line}\n" for line in LINES)
    other = f"db-1 postgres {stderr(1, 'select 9 from u')}"
    assert followed(tmp_path, own + other) == WRITTEN


@pytest.mark.parametrize(
    "head",
    [
        "1795834800.1{two} db-0 postgres[100]: [{n}-1] ",  # journalctl -o short-unix
        "Sat 2026-11-28 03:00:{two} UTC db-0 postgres[100]: [{n}-1] ",  # -o short-full
        "[  123.4{two}] db-0 postgres[100]: ",  # -o short-monotonic
        "Nov 28 03:00:{two} db-0 local0.info postgres[100]: [{n}-1] ",
        "8{two}\t2026-11-28T03:00:{two}\tdb-0\tLocal0\tInfo\tpostgres[100]\t[{n}-1] ",  # Papertrail
        "MESSAGE=[{n}-1] ",  # journalctl -o export
    ],
)
def test_a_head_of_syslog_is_not_taken_off(tmp_path: Path, head: str) -> None:
    """For the numbers in it say what belongs together."""
    with pytest.raises(UsageError, match="heads of syslog in a form that is not") as refused:
        entries(tmp_path, headed(head))
    assert "sed" not in str(refused.value.hint)
    assert "short-iso-precise" in str(refused.value.hint)


@pytest.mark.parametrize(
    "log",
    [
        # A text that looks so is none of what stands before lines.
        "{stamp} <100> LOG:  x\n\tinsert into l values ('2026-11-28 03:00:00 UTC [1] LOG:  x')\n",
        "x 1\nx 2\n", "LOG:  x\n",
    ],
)  # fmt: skip
def test_other_logs_want_their_prefix(tmp_path: Path, log: str) -> None:
    with pytest.raises(UsageError, match="no prefix that is known") as refused:
        entries(tmp_path, log * 3)
    assert "--prefix" in str(refused.value.hint)


@pytest.mark.parametrize("heading", ["", HEADINGS])
@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_marks_between_columns_become_commas(tmp_path: Path, heading: str, mark: str) -> None:
    rows = re.sub(r'("(?:[^"]|"")*")|,', lambda match: match[1] or mark, ROWS)
    assert followed(tmp_path, heading.replace(",", mark) + rows) == WRITTEN


@pytest.mark.parametrize(
    ("heading", "before"),
    [
        ("@timestamp,@message\n", "2026-11-28 03:00:00.000,"),
        ("Date,Host,Service,Message\n", '"2026-11-28T03:00:00Z","db","postgres",'),
        ('"TimeGenerated [UTC]","Message"\n', '"11/28/2026, 3:00:00.000 AM",'),
    ],
)
def test_lines_in_a_column_of_a_table_are_written_alone(
    tmp_path: Path, heading: str, before: str
) -> None:
    assert followed(tmp_path, table(heading, before)) == WRITTEN


@pytest.mark.parametrize("packed", [2, 3])
def test_what_was_packed_twice_is_unpacked_once(tmp_path: Path, packed: int) -> None:
    log = ("\n".join(LINES) + "\n").encode()
    for _ in range(packed):
        log = gzip.compress(log)
    if packed == 2:
        assert followed(tmp_path, log) == WRITTEN
    with pytest.raises(UsageError, match="packed twice"):
        entries(tmp_path, log)


@pytest.mark.parametrize(
    "names",
    [
        ["log_time", "session_id", "error_severity", "message"],
        ["message", "error_severity", "process_id"],
        ["error_severity", "session_id", "detail", "query", "message", "log_time"],
    ],
)
def test_a_part_of_the_columns_is_read_by_its_headings(tmp_path: Path, names: list[str]) -> None:
    values = {
        "log_time": "2026-11-28 03:00:0{}.000 UTC", "session_id": "6563.64", "process_id": "100",
        "error_severity": "LOG", "message": '"duration: 1.000 ms  statement: select {}, 2"',
    }  # fmt: skip
    rows = [",".join(values.get(name, "").format(n) for name in names) for n in range(3)]
    read = entries(tmp_path, "\n".join([",".join(names), *rows]) + "\n")
    assert texts(read) == [f"select {n}, 2" for n in range(3)]


@pytest.mark.parametrize(
    "names", ["log_time,message", "log_time,session_id,message", "log_time,error_severity,message"]
)
def test_columns_without_a_severity_or_a_session_are_refused(tmp_path: Path, names: str) -> None:
    row = ",".join("x" for _ in names.split(",")[1:])
    with pytest.raises(UsageError, match="have no error_severity, or neither") as refused:
        entries(tmp_path, f"{names}\n{row},duration: 1.000 ms  statement: select 1\n")
    assert "psql --csv" in str(refused.value.hint)


EXPORTS = [
    ("YAML", "---\ninsertId: s=1\ntextPayload: x\n"),
    ("Greenplum", '2026-11-28 03:00:00.123456 UTC,"a","shop",p123,th1234,"10.0.0.1","5432",,0,\n'),
    ("Redshift", "'2026-11-28T03:00:00Z UTC [ db=dev user=a pid=1 userid=1 xid=5 ]' LOG: S\n"),
    ("MySQL", '"2026-11-28 03:00:00.000000","app[app] @ localhost []","00:00:00",1,"shop"\n'),
    ("MySQL", "2026-11-28T03:00:00.123000+00:00 # Time: 2026-11-28T03:00:00.123456Z\n"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "log"), EXPORTS)
def test_other_exports_are_called_what_they_are(tmp_path: Path, what: str, log: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        entries(tmp_path, log * 3)
    assert refused.value.hint
