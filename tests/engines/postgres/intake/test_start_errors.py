"""A start that fails for another reason costs no setting whose name is a word of its error."""

from __future__ import annotations

import pytest

from steelyard.engines.postgres.intake.accepting import _without
from steelyard.engines.postgres.intake.configuration import Configuration
from steelyard.model.errors import ServerError

SETTINGS = {
    "fsync": "on", "jit": "on", "timezone": "UTC", "autovacuum": "on", "huge_pages": "on",
    "work_mem": "1MB", "max_connections": "8", "wal_level": "minimal", "role": "x",
    "max_wal_senders": "10", "superuser_reserved_connections": "9", "io_method": "io_uring",
    "shared_buffers": "6TB", "my.x": "1", "backend_flush_after": "1", "hot_standby": "on",
    "shared_memory_type": "sysv", "database": "x", "archive_mode": "on",
}  # fmt: skip


def left_out(error: str, settings: dict[str, str] | None = None) -> list[str]:
    smaller = _without(Configuration(settings or SETTINGS), ServerError("no start", detail=error))
    return [setting.what for setting in smaller.neutralised]


@pytest.mark.parametrize(
    "severity", ["FATAL:  ", "2026-11-28 07:00:00 UTC [7] PANIC:  ", "ERROR:  "]
)
@pytest.mark.parametrize(
    "words",
    [
        'could not fsync file "base/1/2": Input/output error',
        "could not fsync file",
        'could not load library "/x/jit/llvmjit.so": no such file',
        'could not open file "autovacuum": No space left on device',
        'could not open file "work_mem": Permission denied',
        'could not resize shared memory segment "/PostgreSQL.1" to 9 bytes: No space left',
        'could not open shared memory segment "/PostgreSQL.1": Permission denied',
        "could not create shared memory segment: No space left on device",
        'could not write lock file "postmaster.pid": No space left on device',
        'could not read file "global/hot_standby": read 0 of 8192',
        "the database system is shutting down",
        'role "postgres" does not exist',
        'role "work_mem" does not exist',
        'database "shared_buffers" does not exist',
        'relation "max_connections" does not exist',
        'replication slot "wal_level" exists, but is not for this server',
        'directory "/mnt/work_mem" does not exist',
        'lock file "wal_level" already exists',
        'data directory "hot_standby" has wrong ownership',
        "fsync of the role is jit at this timezone",
        "pre-existing shared memory block is still in use",
        "my_work_mem_too and work_memory differ",
        "database files are incompatible with server",
    ],
)  # fmt: skip
def test_an_error_about_something_else_costs_no_setting(severity: str, words: str) -> None:
    assert left_out(severity + words) == []


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ('FATAL:  WAL archival cannot be enabled when "wal_level" is "minimal"', "wal_level"),
        ('FATAL:  WAL archival cannot be enabled when wal_level is "minimal"', "wal_level"),
        ('FATAL:  WAL streaming ("max_wal_senders" > 0) requires "wal_level" to be "replica" or '
         '"logical"', "max_wal_senders"),
        ('FATAL:  WAL streaming (max_wal_senders > 0) requires wal_level "replica" or "logical"',
         "max_wal_senders"),
        ("postgres: superuser_reserved_connections (9) plus reserved_connections (0) must be less "
         "than max_connections (8)", "superuser_reserved_connections"),
        ('postgres: "superuser_reserved_connections" (9) plus "reserved_connections" (0) must be '
         'less than "max_connections" (8)', "superuser_reserved_connections"),
        ('FATAL:  invalid value for parameter "timezone": "Mars/Olympus"', "timezone"),
        ('FATAL:  "jit" cannot be so', "jit"),
        ('FATAL:  "Fsync" cannot be so', "fsync"),
        ("FATAL:  could not map anonymous shared memory: Cannot allocate memory", "huge_pages"),
        ("FATAL:  could not create shared memory segment: Cannot allocate memory", "huge_pages"),
        ("FATAL:  huge pages not supported on this platform", "huge_pages"),
        ('FATAL:  huge pages not supported with the current "shared_memory_type" setting',
         "huge_pages"),
        ("FATAL:  could not setup io_uring queue: Operation not permitted", "io_method"),
    ],
)  # fmt: skip
def test_the_first_setting_that_an_error_names_is_left_out(error: str, name: str) -> None:
    assert left_out(error) == [name]


def test_what_this_machine_refuses_is_no_setting_that_does_not_ask_for_it() -> None:
    error = "FATAL:  could not map anonymous shared memory: Cannot allocate memory"
    assert left_out(error, {"huge_pages": "try", "shared_buffers": "6TB"}) == []
    assert left_out(f"LOG:  {error[8:]}") == []
