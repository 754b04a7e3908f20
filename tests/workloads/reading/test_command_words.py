"""A workload that is typed is the folder that was meant, or the built-in one, never the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.command_line import load_command
from steelyard.cli.options.weigh_options import changes_of
from steelyard.model.errors import UsageError
from steelyard.study.read import read_study
from steelyard.workloads.reading.command_words import workload_of
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.resolved import resolve_workload
from workloads.folders import write_folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, with folders of the user: "queue", as a built-in one, and "ours"."""
    for name in ("queue", "ours"):
        (tmp_path / name).mkdir()
        write_folder(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("./queue", "./queue"),
        ("queue/", "./queue"),
        ("././queue", "./queue"),
        ("ours", "ours"),
        ("./ours", "ours"),
        ("ours/", "ours"),
        ("tproc-c", "tproc-c"),
    ],
)
def test_a_path_is_a_folder_and_a_name_alone_may_be_a_built_in_one(
    own: Path, typed: str, word: str
) -> None:
    assert workload_of(typed) == word
    is_folder = word != "tproc-c"
    assert find_workload(word).folder.is_relative_to(own) == is_folder


@pytest.mark.parametrize("name", known_workloads())
def test_a_name_that_a_folder_here_has_too_is_refused_with_both_ways_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert workload_of(name) == name, "a folder that is no workload is in nobody's way"
    (tmp_path / name / "workload.toml").write_text("")
    with pytest.raises(UsageError, match="built in") as refused:
        changes_of(None, None, name, None)
    hint = refused.value.hint or ""
    assert f"./{name}" in hint
    assert f"--set workload={name}" in hint


@pytest.mark.parametrize("command", ["weigh", "calibrate"])
@pytest.mark.parametrize("typed", ["./queue", "queue/"])
def test_the_options_of_a_command_lead_to_the_folder(own: Path, command: str, typed: str) -> None:
    options = load_command(command).make_context(command, ["--workload", typed]).params
    study = read_study("settings", changes_of(None, None, options["workload"], None))
    workload = resolve_workload(study).workload
    assert find_workload(workload.name).folder == own / "queue"
