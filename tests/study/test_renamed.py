"""A key with a new name is refused in a study, and renamed in the study of an older record."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.earlier.renamed import renamed_keys
from steelyard.study.read import read_study, write_study

OLD = """
title = "t"
question = "q"
[control]
name = "a"
settings = { twice = "1" }
[[arm]]
name = "b"
weight = { twice = "3%" }
[[arm]]
name = "c"
weight = { stall_worth = "5%", stall_time = "10ms" }
[workload]
aside = ["rf1"]
variables = { aside = 1, twice = 2 }
"""
NEW = (
    OLD.replace("{ twice = ", "{ double_work = ")
    .replace("settings = { double_work", "settings = { twice")
    .replace("stall_worth", "stall_share")
    .replace("aside = [", "excluded = [")
)


def test_a_study_with_old_keys_is_renamed_and_one_with_new_keys_stays() -> None:
    assert renamed_keys(tomllib.loads(OLD)) == tomllib.loads(NEW)
    assert renamed_keys(tomllib.loads(NEW)) == tomllib.loads(NEW)


def test_a_study_as_json_dumps_it_is_renamed_too(tmp_path: Path) -> None:
    file = tmp_path / "new.toml"
    file.write_text(NEW)
    study = read_study(str(file))
    dumped = study.model_dump(mode="json")
    old = study.model_dump(mode="json")
    old["workload"]["aside"] = old["workload"].pop("excluded")
    for arm in (old["control"], *old["arms"]):
        arm["weight"]["twice"] = arm["weight"].pop("double_work")
        arm["weight"]["stall_worth"] = arm["weight"].pop("stall_share")
    assert renamed_keys(old) == dumped
    assert 'double_work = "3%"' in write_study(study)


@pytest.mark.parametrize("old", ["twice", "stall_worth", "aside"])
def test_a_file_with_an_old_key_is_refused_with_the_new_one(tmp_path: Path, old: str) -> None:
    file = tmp_path / "old.toml"
    kept = "\n".join(
        line for line in NEW.splitlines() if not line.startswith(("weight", "excluded"))
    )
    line = 'aside = ["rf1"]' if old == "aside" else ""
    weight = "" if old == "aside" else f'[control.weight]\n{old} = "3%"\n'
    file.write_text(kept.replace("[workload]", f"[workload]\n{line}") + f"\n{weight}")
    with pytest.raises(StudyError, match=rf'"{old}" is now "(double_work|stall_share|excluded)"'):
        read_study(str(file))
