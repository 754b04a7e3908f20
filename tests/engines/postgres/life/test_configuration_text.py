"""A configuration of ours is a line a setting, and its log has room for two segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.postgres.life import configuration_text as text
from steelyard.engines.postgres.life.server import quoted


def test_every_setting_is_one_line_whatever_is_in_its_value() -> None:
    written = text.configuration_text({"my.x": "a\nb\r\x1b'\\", "work_mem": "8MB", "my.y": "a\0b"})
    assert written.splitlines()[1:] == [
        r"my.x = 'a\012b\015\033''\\'", "work_mem = '8MB'", "my.y = 'a'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("megabytes", "said", "becomes"),
    [
        (16, "32MB", "32MB"), (16, "16MB", "32MB"), (64, "80", "128MB"), (64, "1GB", "1GB"),
        (64, "131072kB", "131072kB"), (1024, "1.5GB", "2048MB"), (64, "12 parsecs", "12 parsecs"),
    ],
)  # fmt: skip
def test_limits_of_the_log_hold_two_segments(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, said: str, becomes: str
) -> None:
    control: dict[str, Any] = {"wal_segment_size": megabytes << 20}
    monkeypatch.setattr(text, "control_of", lambda _: control)
    settings = {"min_wal_size": said, "max_wal_size": said, "work_mem": "1MB"}
    found = text.enough_log(Path("x"), settings)
    assert found == {"min_wal_size": becomes, "max_wal_size": becomes, "work_mem": "1MB"}


@pytest.mark.parametrize(
    ("megabytes", "limits"),
    [(1, {}), (16, {}), (64, {"min_wal_size": "128MB"}),
     (1024, {"min_wal_size": "2048MB", "max_wal_size": "2048MB"})],
)  # fmt: skip
def test_defaults_that_hold_no_two_segments_are_replaced_in_the_file(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, limits: dict[str, str]
) -> None:
    control: dict[str, Any] = {"wal_segment_size": megabytes << 20}
    monkeypatch.setattr(text, "control_of", lambda _: control)
    assert text.log_limits(Path("x")) == limits


def test_an_error_quotes_what_is_wrong_with_a_file_and_no_value_of_it() -> None:
    log = (
        "x [1] LOG:  starting\n"
        'x [1] LOG:  invalid value for parameter "my.key": "S3cret"\n'
        'x [1] LOG:  unrecognized configuration parameter "foo" in file "/d/a.conf" line 3\n'
        'x [1] FATAL:  configuration file "/d/a.conf" contains errors\n'
    )
    assert quoted(log).splitlines() == [
        'x [1] LOG:  invalid value for parameter "my.key"',
        'x [1] LOG:  unrecognized configuration parameter "foo" in file "/d/a.conf" line 3',
        'x [1] FATAL:  configuration file "/d/a.conf" contains errors',
    ]
