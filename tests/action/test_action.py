"""The action's files: every input is declared and used, nothing a caller says reaches a shell as
code, actions of others are pinned by commit, and a linter finds nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "action"
FILES = sorted(FOLDER.rglob("action.yml"))


def read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    action = yaml.safe_load(file.read_text(encoding="utf-8"))
    return action, action["runs"]["steps"]


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.parent.name)
def test_inputs_are_declared_and_used(file: Path) -> None:
    action, steps = read(file)
    used = set(re.findall(r"inputs\.([a-z-]+)", str(steps)))
    assert used == set(action["inputs"])
    assert all(one["description"] for one in action["inputs"].values())


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.parent.name)
def test_no_expression_stands_in_a_shell_and_every_variable_of_one_is_given(file: Path) -> None:
    _, steps = read(file)
    known = {"GITHUB_ACTION_PATH"}
    for step in steps:
        if "run" in step:
            assert "${{" not in step["run"]
            named = set(re.findall(r"\$\{?([A-Z_]+)", step["run"]))
            assert named <= known | set(step.get("env", {}))


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.parent.name)
def test_actions_of_others_are_pinned_by_commit_with_their_version_beside(file: Path) -> None:
    used = re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))
    assert used
    for one in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)


def test_the_script_takes_every_option_that_the_actions_give_it() -> None:
    words = "".join(str(read(file)[1]) for file in FILES)
    given = set(re.findall(r"--[a-z-]+", words))
    for step in ("name", "weigh", "agree", "comment"):
        told = subprocess.run(
            [sys.executable, FOLDER / "gate.py", step, "--help"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        given -= set(re.findall(r"--[a-z-]+", told.stdout))
    assert given == set()


def test_what_a_host_leaves_is_named_by_the_script_in_both_actions() -> None:
    weigh, agree = (read(FOLDER / place)[1] for place in ("action.yml", "agree/action.yml"))
    [kept] = [one["with"]["name"] for one in weigh if "upload-artifact" in one.get("uses", "")]
    [taken] = [one["with"]["pattern"] for one in agree if "download" in one.get("uses", "")]
    assert kept == "${{ steps.name.outputs.artefact }}"
    assert taken == "${{ steps.name.outputs.pattern }}"


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.parent.name)
def test_a_gate_begins_without_what_an_earlier_one_took_or_said(file: Path) -> None:
    """Several gates of one job, and pushes on a runner of one's own, share the folder."""
    first, *others = read(file)[1]
    kept = ("upload-artifact", "download-artifact")
    used = {one["with"]["path"] for one in others if any(x in one.get("uses", "") for x in kept)}
    used |= set(re.findall(r"--out ([\w-]+)", str(others)))
    assert first["run"].split() == ["rm", "-rf", *sorted(used, reverse=True)]


def test_a_linter_for_workflows_finds_nothing() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    assert zizmor is not None, "make build installs it"
    workflows = [one for one in (ROOT / ".github",) if one.is_dir()]
    told = subprocess.run(
        [zizmor, "--offline", "--no-progress", str(FOLDER), *map(str, workflows)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout
