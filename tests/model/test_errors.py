"""An error shows no secret in any of its parts, of servers or ours, and all of its advice."""

from __future__ import annotations

import copy
import pickle

import pytest

from steelyard.model.errors import ServerError, SteelyardError, WeighingError

T = "S3cretTok"
SECRET = [
    (f"Connect by postgres://app:{T}@prod/shop", "Connect by postgres://app:…@prod/shop"),
    (f"host=h user=u password={T} dbname=d", "host=h user=u password=… dbname=d"),
    (f"Write ALTER ROLE a PASSWORD '{T}'.", "Write ALTER ROLE a PASSWORD '…'."),
    (f"Try PGPASSWORD={T} psql -h h", "Try PGPASSWORD=… psql -h h"),
]
ADVICE = [
    "Give the arm another value; or take that out of the copies: --set 'sql=[\"ALTER DATABASE "
    'steelyard RESET work_mem", "ALTER ROLE ALL RESET work_mem"]\'',
    "Name a host, or a socket: mysql://user@/database?socket=/run/mysqld/mysqld.sock",
    'Say where one runs: --address "sqlserver://user@host".',
    "In a user, a password and a database / ? # [ ] @ are written %2F %3F %23 %5B %5D %40.",
    "Leave them to a password file, ~/.pgpass: a record must not hold them.",
    "Use encrypt=mandatory, or encrypt=disable for plain text, the password too.",
    "Use its socket or TLS (ssl-mode), or a user with mysql_native_password.",
    "It reads them: sed -nE 's/^ {4}([a-z_.]+): *(.*)$/\\1 = \\2/p' a.yaml > postgresql.conf",
    "settings of sessions are weighed one by one: steelyard weigh sessions --address DSN -f FILE "
    "--set arm.settings.NAME=VALUE",
    "What they are weighed against is the control: --set control.settings.NAME=VALUE.",
    "Leave ssl_key_file and password_encryption out: --config FILE.",
]


@pytest.mark.parametrize(("text", "left"), SECRET)
@pytest.mark.parametrize("kind", [SteelyardError, ServerError, WeighingError])
def test_no_part_of_an_error_holds_a_secret(
    kind: type[SteelyardError], text: str, left: str
) -> None:
    error = kind(text, detail=text, hint=text)
    assert error.lines() == [f"error: {left}", f"DETAIL:  {left}", f"HINT:  {left}"]
    for another in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (another.hint, str(another)) == (left, str(error))


@pytest.mark.parametrize(("text", "left"), SECRET)
def test_advice_that_is_given_later_holds_none_either(text: str, left: str) -> None:
    error = ServerError("x")
    error.hint = text
    assert error.hint == left
    error.hint = f"{error.hint} Or in cycles: --set layout=cycles."
    assert error.hint == f"{left} Or in cycles: --set layout=cycles."
    error.hint = None
    assert error.lines() == ["error: x"]


@pytest.mark.parametrize("advice", ADVICE)
def test_advice_of_ours_is_shown_whole(advice: str) -> None:
    assert SteelyardError("x", hint=advice).hint == advice
