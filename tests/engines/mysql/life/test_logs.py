"""Why a server did not start, in its own words."""

from __future__ import annotations

from steelyard.engines.mysql.life.server import quoted, reason

OF_5_7 = """\
2026-11-23T23:22:47.1Z 0 [Warning] TIMESTAMP with implicit DEFAULT value is deprecated.
2026-11-23T23:22:47.2Z 0 [ERROR] InnoDB: Data file './ibdata1' uses page size 16384
2026-11-23T23:22:47.3Z 0 [ERROR] Failed to initialize builtin plugins.
2026-11-23T23:22:47.4Z 0 [ERROR] Aborting
"""
OF_8 = "2026-11-23T23:22:47.1Z 0 [ERROR] [MY-000067] [Server] unknown variable 'foo=1'.\n"


def test_the_first_error_is_the_reason() -> None:
    assert reason(OF_5_7) == "InnoDB: Data file './ibdata1' uses page size 16384"
    assert reason(OF_8) == "unknown variable 'foo=1'."


def test_an_abort_is_the_reason_only_where_there_is_no_other() -> None:
    assert reason("0 [ERROR] Aborting\n") == "Aborting"
    assert reason("ready for connections\n") == ""


def test_errors_are_quoted_and_without_any_the_end_of_the_log() -> None:
    assert quoted(OF_5_7).splitlines()[0].endswith("uses page size 16384")
    assert "Warning" not in quoted(OF_5_7)
    assert quoted("a\nb\n") == "a\nb"
