"""Arms that do not differ are refused before anything is loaded, with what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli.options.arm_options import require_unlike
from steelyard.study.read import read_study

A = "host=127.0.0.1 port=5432 dbname=shop"
SAME = "dbname=shop  port=5432 host=127.0.0.1"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["settings"], "--set arm.settings.NAME=VALUE"),
        (["queries"], "--set arm.settings.NAME=VALUE"),
        (["sessions", "--address", A, "-f", "q.sql"], "--set arm.settings.NAME=VALUE"),
        (["settings", "--set", "settings.jit=off"], "--set arm.settings.NAME=VALUE"),
        (["checksums", "--set", "arm.checksums=true"], "--set arm.settings.NAME=VALUE"),
        (["versions", "--set", "control.version=18"], "--set control.version=16"),
        (
            ["addresses", "--control", f"address={A}", "--arm", f"address={SAME}", "-f", "q.sql"],
            "--arm address=DSN",
        ),
        (
            ["settings", "--set", "control.settings.jit=off", "--set", "arm.settings.jit=off"],
            "--set arm.settings.NAME=VALUE",
        ),
        (["settings", "--from", "missing", "-f", "q.sql"], "--set arm.settings.NAME=VALUE"),
    ],
)
def test_equal_arms_are_refused(words: list[str], hint: str, refused: Callable[..., str]) -> None:
    said = refused("weigh", *words)
    assert "arm and control are equal" in said
    assert hint in said
    assert "steelyard weigh aa" in said


@pytest.mark.parametrize("name", ["aa", "calibrate", "checksums", "versions", "wal-compression"])
def test_a_study_that_is_about_equal_arms_or_names_them_is_weighed(name: str) -> None:
    require_unlike(read_study(name))


def test_two_names_of_one_directory_are_one_build(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "bin")
    places = [f"control.bindir={tmp_path / 'bin'}", f"arm.bindir={tmp_path / 'link'}"]
    with pytest.raises(Exception, match="arm and control are equal"):
        require_unlike(read_study("builds", places))


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("30", "--budget 30 has no unit: 30s, 30m?"),
        ("10s", "--budget 10s is too short: at least 20 s"),
        ("9999h", "--budget 9999h is longer than a week"),
        ("30sec", 'invalid value for --budget: "30sec"'),
    ],
)
def test_a_budget_that_nobody_means_is_said(
    budget: str, words: str, refused: Callable[..., str]
) -> None:
    assert words in refused("weigh", "checksums", "--budget", budget)
