"""Arms that do not differ are refused before anything is loaded, with what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli.options.arm_options import require_unlike
from steelyard.cli.weighing import sweep as module
from steelyard.model.errors import StudyError
from steelyard.study.read import read_study

A = "host=127.0.0.1 port=5432 dbname=shop"
JIT = ["arm.settings.jit=off"]
SAME = "dbname=shop  port=5432 host=127.0.0.1"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["settings"], "--set arm.settings.NAME=VALUE"),
        (["queries"], "--set arm.settings.NAME=VALUE"),
        (["sessions", "--address", A, "-f", "q.sql"], "--set arm.settings.NAME=VALUE"),
        (["settings", "--set", "settings.jit=off"], "--set arm.settings.NAME=VALUE"),
        (
            ["settings", "--set", "settings.jit=off", "--set", "arm.settings.jit=off"],
            "--set arm.settings.NAME=VALUE",
        ),
        (
            ["settings", "--set", "arm.settings.shared_buffers=128MB"],  # as the study has it
            "--set arm.settings.NAME=VALUE",
        ),
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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["settings", "settings.work_mem=4MB,64MB"], "--sweep arm.settings.work_mem=4MB,64MB"),
        (["queries", "settings.x='',a"], "--sweep 'arm.settings.x='"),
        (["versions", "version=16,18"], "--sweep arm.version=16,18"),
        (["settings", "workload.clients=8,32"], "--set arm.settings.NAME=VALUE"),
        (["settings", "workload.clients=8,32", "--set", "settings.jit=off"], "steelyard weigh aa"),
        (["settings", "workload.clients=8,none"], "--set arm.settings.NAME=VALUE"),
    ],
)
def test_a_sweep_whose_arms_are_equal_at_every_value_is_refused(
    words: list[str], hint: str, refused: Callable[..., str]
) -> None:
    study, sweep, *more = words
    said = refused("weigh", study, "--sweep", sweep, *more)
    assert "arm and control are equal" in said
    assert hint in said


@pytest.mark.parametrize(
    ("study", "sweep", "changes"),
    [
        ("settings", "arm.settings.jit=on,off", ["control.settings.jit=on"]),
        ("settings", "workload.clients=8,32", ["arm.settings.jit=off"]),
        ("versions", "version=16,18", ["arm.version=17"]),
        ("aa", "workload.clients=8,32", []),
    ],
)
def test_a_sweep_is_begun_where_the_arms_differ_at_a_value(
    study: str,
    sweep: str,
    changes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: list[object] = []
    monkeypatch.setattr(module, "_go_on", lambda plan, *_, **__: plans.append(plan))
    begin = module.SweepRequest(
        study, sweep, changes, False, 7, tmp_path / "sweep", None, ("steelyard",), False
    )
    module.begin_sweep(begin)
    assert len(plans) == 1


def test_a_setting_that_a_study_has_for_all_may_differ_from_that_of_the_datas_server(
    refused: Callable[..., str],
) -> None:
    """Which stands over a built-in study's, and is not known before the data are read."""
    words = ("settings", "--set", "arm.settings.shared_buffers=128MB", "-f", "q.sql")
    assert "arm and control are equal" not in refused("weigh", *words, "--from", "missing")


@pytest.mark.parametrize(
    ("study", "sweep", "changes", "key"),
    [
        ("checksums", "turns.cycles=2,3", [], "turns.cycles"),
        ("checksums", "budget.cycles=5m,10m", [], "budget.cycles"),
        ("checksums", "workload.clients=2,4", ["budget.turns=10m"], "budget.turns"),
        ("checksums", "workload.clients=2,4", ["turns.time_scale=2"], "turns.time_scale"),
        ("checksums-rw", "cost=foreground,whole", [], "cost"),
        ("checksums", "layout=slices,turns", ["budget.turns=10m"], ""),
        ("checksums", "layout=slices,cycles", ["budget.cycles=10m", "cost=whole"], ""),
        ("checksums", "workload.clients=2,4", ["budget.measuring=5m"], ""),
        ("checksums", "budget.measuring=1m,2m", [], ""),
        ("queries", "budget.epochs=10,20", ["budget.measuring=5m", *JIT], "budget.measuring"),
        ("queries", "budget.measuring=2m,5m", ["budget.epochs=10", *JIT], "budget.measuring"),
        ("queries", "budget.measuring=2m,5m", JIT, ""),
    ],
)
def test_what_has_no_effect_at_any_value_of_a_sweep_is_refused(
    study: str,
    sweep: str,
    changes: list[str],
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a single weighing: all points would read alike, and be said to be by the key."""
    plans: list[object] = []
    monkeypatch.setattr(module, "_go_on", lambda plan, *_, **__: plans.append(plan))
    request = module.SweepRequest(
        study, sweep, changes, False, 7, tmp_path / "sweep", None, ("steelyard",), False
    )
    if not key:
        module.begin_sweep(request)
        assert len(plans) == 1
        return
    with pytest.raises(StudyError, match=f'override "{key}" has no effect'):
        module.begin_sweep(request)
    assert not (tmp_path / "sweep").exists()


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
