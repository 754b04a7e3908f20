"""A prefix is guessed only where it fits, and a named one may have padded escapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import entries, stderr


@pytest.mark.parametrize(
    "head",
    [
        "{stamp} [{process}] joe@shop/web ", "{stamp} [{process}] joe@my shop ",
        "{stamp} [{process}] joe@shop|web ", "{stamp} [{process}] joe@shop,web ",
        "{stamp} [{process}]: [7-1] db=shop,user=joe,app=web ",
        "{stamp} [{process}]: [7-1] db=shop,user=joe/web ",
    ],
)  # fmt: skip
def test_a_prefix_that_nearly_fits_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(UsageError) as refused:
        entries(tmp_path, stderr(1, "select 1", head) * 3)
    assert "--prefix" in str(refused.value.hint)


@pytest.mark.parametrize("user", ["joe", "joe@example.com", "app-1", "[unknown]", "j.o.e", ""])
@pytest.mark.parametrize(
    "head",
    [
        "{{stamp}} [{{process}}] {user}@shop ",
        "{{stamp}} {user}@shop [{{process}}] ",
        "{{stamp}}:2001:db8::1(5000):{user}@shop:[{{process}}]:",
        "{{stamp}}:10.0.0.1(5000):{user}@shop:[{{process}}]:",
        "{{stamp}} [{{process}}]: [7-1] user={user},db=shop,app=a, b=c,client=::1 ",
        "{{stamp}} [{{process}}]: db=shop,user={user},app=web,client=h ",
        "{{stamp}} [{{process}}] [user={user},db=shop,app=[unknown]] ",
        "{{stamp}} [{{process}}] [user={user},db=shop,app=a, b=c,host=[local]] ",
        "{{stamp}} [{{process}}-7] {user}@shop ",
        "pid={{process}},user={user},db=shop,app=[unknown],client=10.0.0.1 ",
        "[{{process}}]: [7-1] db=shop,user={user} ",
        "{{stamp}}|{user}|shop|6563.64|",
    ],
)
def test_users_and_databases_are_told_apart(tmp_path: Path, head: str, user: str) -> None:
    [entry] = entries(tmp_path, stderr(1, "select 1", head.format(user=user)))
    assert (entry.user, entry.database, entry.zone) == (user, "shop", "")


def test_a_change_of_application_is_no_change_of_session(tmp_path: Path) -> None:
    head = "{{stamp}} [{{process}}]: [7-1] db=shop,user=joe,app={app},client=10.0.0.1 "
    text = "".join(stderr(n, "select 1", head.format(app=f"web {n}")) for n in range(4))
    read = entries(tmp_path, text)
    assert {(entry.session, entry.user, entry.database) for entry in read} == {
        ("100", "joe", "shop")
    }
    assert [entry.application for entry in read] == ["web 0", "web 1", "web 2", "web 3"]


@pytest.mark.parametrize(
    ("prefix", "head"),
    [
        ("%m [%6p] ", "{stamp} [   100] "), ("%m [%6p] ", "{stamp} [1234567] "),
        ("%m [%-6p] %-10d ", "{stamp} [100   ] shop       "),
        ("%m [%p] %10d ", "{stamp} [100]       shop "), ("%m [%p] %-4d ", "{stamp} [100] shop "),
        ("%m [%p] %12u@%-8d ", "{stamp} [100]          joe@shop     "),
    ],
)  # fmt: skip
def test_padded_escapes_are_read_without_their_blanks(
    tmp_path: Path, prefix: str, head: str
) -> None:
    [entry] = entries(tmp_path, stderr(1, "select 1", head), prefix=prefix)
    assert entry.session in ("100", "1234567")
    assert entry.database == ("shop" if "d" in prefix else "")
    assert entry.user == ("joe" if "u" in prefix else "")


@pytest.mark.parametrize("zone", ["UTC", "CEST", "+0330", "-03", "<+07>-7", "<+0330>"])
def test_every_zone_that_a_server_writes_is_part_of_the_time(tmp_path: Path, zone: str) -> None:
    text = stderr(1, "select 1").replace("UTC", zone)
    assert entries(tmp_path, text)[0].session == "100"


SLOW = """/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock
Time                 Id Command    Argument
# Time: 2026-11-28T03:00:00.123456Z
# User@Host: app[app] @ localhost []  Id:     8
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1764298800;
SELECT 1;
"""
GENERAL = """/usr/sbin/mariadbd, Version: 11.4.2-MariaDB-log (MariaDB Server). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
2026-11-28T03:00:00.123456Z\t    8 Query\tSELECT 1
"""


PARTS = (
    # Of a general log, and of the audit logs of MariaDB's plugin and of Amazon Aurora.
    "2026-11-28T03:00:00.123456Z\t    8 Query\tSELECT 1\n",
    "2026-11-28T03:00:00.123456+01:00\t    8 Execute\tSELECT 1\n",
    "261128  3:00:00\t    8 Query\tSELECT 1\n\t\t    8 Quit\t\n",
    "20261128 03:00:00,db1,app,10.0.0.7,8,71,QUERY,shop,'SELECT 1',0\n",
    "1764298800123456,shop-1,app,10.0.0.7,8,71,QUERY,shop,'SELECT 1',0\n",
    '<?xml version="1.0" encoding="utf-8"?>\n<AUDIT>\n <AUDIT_RECORD>\n  <NAME>Query</NAME>\n',
    '<AUDIT_RECORD TIMESTAMP="2026-11-28T03:00:00 UTC" NAME="Query" SQLTEXT="SELECT 1"/>\n',
)


@pytest.mark.parametrize("log", [SLOW, GENERAL, SLOW.split("\n", 3)[3], *PARTS])
def test_a_log_of_mysql_is_called_so(tmp_path: Path, log: str) -> None:
    with pytest.raises(UsageError, match="one of MySQL or MariaDB") as refused:
        entries(tmp_path, log * 3)
    assert "steelyard drive mysql://" in str(refused.value.hint)


@pytest.mark.parametrize(
    "export",
    [
        "userid,dbid,toplevel,queryid,query,calls\n10,5,t,7,select a from t where id = $1,900\n",
        " queryid |              query              | calls\n"
        "---------+---------------------------------+-------\n"
        "       7 | select a from t where id = $1   |   900\n(1 row)\n",
    ],
)
def test_an_export_of_counted_statements_is_called_so(tmp_path: Path, export: str) -> None:
    with pytest.raises(UsageError, match="an export of counted statements") as refused:
        entries(tmp_path, export)
    assert "capture DSN" in str(refused.value.hint)
