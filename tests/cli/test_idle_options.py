"""An option or a key that would have no effect is refused by every command that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from steelyard.cli.commands import calibrate
from steelyard.cli.weighing import bisect
from steelyard.model.errors import StudyError


@pytest.mark.parametrize(
    "option",
    [
        ("--ray", "127.0.0.1:6379"),
        ("--machines", "2"),
        ("--fail-if", "slower:2%"),
        ("--summary", "verdict.md"),
        ("--junit", "verdict.xml"),
    ],
    ids=lambda option: option[0],
)
def test_options_of_a_single_weighing_are_refused(
    option: tuple[str, str], refused: Callable[..., str]
) -> None:
    said = refused("weigh", "aa", "--sweep", "workload.clients=1,2", *option)
    assert option[0] in said
    assert "belong to a single weighing" in said


@pytest.mark.parametrize(
    "words",
    [
        ("weigh", "sessions", "-f", "q.sql", "--set", "arm.settings.jit=off"),
        ("weigh", "sessions", "-f", "q.sql", "--sweep", "arm.settings.work_mem=1MB,2MB"),
        ("calibrate", "-f", "q.sql", "--set", "workload.name=own", "--set", "settings={}"),
        (
            "history",
            "bisect",
            "sessions",
            "-f",
            "q.sql",
            "--along",
            "settings.work_mem=1MB,2MB,4MB",
        ),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_an_account_of_servers_is_refused_where_none_is_started(
    words: tuple[str, ...], refused: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1;\n")
    address = ("--set", "address=host=127.0.0.1 port=1 dbname=shop")
    said = refused(*words, *address, "--as", "nobody")
    assert "option --as has no effect" in said


def calibrated(changes: Sequence[str], folder: Path) -> None:
    calibrate._study(changes, None)


def bisected(changes: Sequence[str], folder: Path) -> None:
    along, command = "settings.work_mem=1MB,2MB,4MB", ("steelyard", "history", "bisect")
    request = bisect.BisectRequest(
        "settings", along, None, None, changes, 7, folder, None, command, False
    )
    bisect.begin_bisect(request)


@pytest.mark.parametrize("command", [calibrated, bisected])
@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("turns.cycles=3", "turns.cycles"),
        ("budget.turns=3h", "budget.turns"),
        ("workload.variables.sclae=7", "workload.variables.sclae"),
    ],
)
def test_a_key_without_effect_is_refused_by_what_weighs_otherwise_than_weigh(
    command: Callable[[Sequence[str], Path], None], change: str, key: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=f'override "{key}" has no effect'):
        command([change], tmp_path / "record")
    assert not (tmp_path / "record").exists()
