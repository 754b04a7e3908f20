"""`steelyard studies`: lists what can be weighed, and prints what can be copied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from steelyard.study.answer import GROUPS, Group
from steelyard.study.read import builtin_studies, read_study

Steelyard = Callable[..., Any]


def test_every_built_in_study_has_its_line(steelyard: Steelyard) -> None:
    lines = steelyard("studies").stdout.splitlines()
    titles = [line.removesuffix(":") for line in lines if not line.startswith(" ")]
    assert titles == list(GROUPS.values())
    assert set(GROUPS) == set(get_args(Group))
    listed = [line.split()[0] for line in lines if line.startswith(" ")]
    assert sorted(listed) == list(builtin_studies())
    assert all(line.endswith("?") for line in lines if line.startswith(" "))


def test_json_is_one_object(steelyard: Steelyard) -> None:
    said = json.loads(steelyard("studies", "--json").stdout)
    assert [study["name"] for study in said["studies"]] == list(builtin_studies())
    assert all(
        set(study) == {"name", "title", "question", "group", "needs"} for study in said["studies"]
    )
    needs = {study["name"]: study["needs"] for study in said["studies"]}
    assert needs["checksums"] == []
    assert needs["pg-stat-statements"] == ["contrib"]
    assert needs["jit"] == ["jit"]


def test_a_printed_study_can_be_copied_changed_and_weighed(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    copy = tmp_path / "mine.toml"
    copy.write_text(steelyard("studies", "checksums").stdout)
    own, built_in = read_study(str(copy)), read_study("checksums")
    assert own.model_copy(update={"name": "checksums"}) == built_in


def test_a_near_study_is_suggested(refused: Callable[..., str]) -> None:
    said = refused("studies", "cheksums")
    assert 'unrecognized study: "cheksums"' in said
    assert 'Perhaps you meant "checksums".' in said


def test_the_page_lists_the_studies_by_the_same_groups() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "studies.md").read_text()
    studies = [read_study(name) for name in builtin_studies()]
    for group, title in GROUPS.items():
        names = ", ".join(f"`{study.name}`" for study in studies if study.group == group)
        assert f"| {title} | {names} |" in page
