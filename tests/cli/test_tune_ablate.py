"""`steelyard tune` does what its options say, or says where they belong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Steelyard
from steelyard.cli.commands import weigh as weighing
from steelyard.study.read import read_study
from steelyard.study.study import Study

Asked = Callable[..., tuple[Study, dict[str, Any]]]
GROUPS = ["memory", "log", "planner", "storage", "workers"]


@pytest.fixture
def ablated(forked: Steelyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The study that `tune --ablate` hands to `weigh`, and what else it hands over."""

    def note(study: str | None = None, **more: Any) -> None:
        Path("asked.json").write_text(json.dumps({"study": study, **more}, default=str))

    monkeypatch.setattr(weighing, "weigh", note)

    def call(*arguments: str) -> tuple[Study, dict[str, Any]]:
        said = forked("tune", "--ablate", *arguments)
        assert said.returncode == 0, said.stderr
        asked = json.loads((tmp_path / "asked.json").read_text())
        return read_study(asked.pop("study"), asked.pop("overrides")), asked

    return call


def profiles(study: Study) -> list[tuple[str | None, str | None, list[str]]]:
    """Name, kind of work and missing groups of every arm's profile."""
    choices = [arm.profile for arm in study.every_arm if arm.profile is not None]
    return [(one.name, one.work, list(one.without)) for one in choices]


def test_each_group_of_our_profile_goes_back_to_the_defaults(ablated: Asked) -> None:
    study, more = ablated("--seed", "7", "--budget", "30m", "--json")
    assert study == read_study("tuning-ablation")
    assert profiles(study) == [("ours", None, []), *(("ours", None, [one]) for one in GROUPS)]
    assert (more["seed"], more["budget"], more["as_json"]) == (7, "30m", True)


def test_the_profile_that_is_named_is_the_one_that_is_taken_apart(ablated: Asked) -> None:
    study, _ = ablated("--profile", "theirs", "--work", "mixed")
    assert profiles(study) == [
        ("theirs", "mixed", []),
        *(("theirs", "mixed", [one]) for one in GROUPS),
    ]


def test_memory_clients_and_the_build_are_those_of_every_arm(
    ablated: Asked, tmp_path: Path
) -> None:
    study, _ = ablated("--memory", "2GB", "-c", "4", "--version", "16")
    assert (study.memory, study.workload.clients) == (2 << 30, 4)
    assert {arm.version for arm in study.every_arm} == {"16"}
    study, _ = ablated("--bindir", "build/bin")
    assert {arm.bindir for arm in study.every_arm} == {str(tmp_path / "build/bin")}


def test_an_arm_that_a_key_gives_another_name_has_the_options_too(ablated: Asked) -> None:
    study, _ = ablated("--version", "16", "--set", "arm.no-log.settings.max_wal_size=4GB")
    assert {arm.version for arm in study.every_arm} == {"16"}


def test_a_key_that_is_set_lies_above_the_options(ablated: Asked) -> None:
    study, _ = ablated("--memory", "2GB", "--set", "memory=3GB", "--set", "workload.scale=8")
    assert (study.memory, study.workload.scale) == (3 << 30, 8)


def test_a_study_of_ones_own_is_taken_apart(ablated: Asked, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'title = "t?"\nquestion = "q?"\n[control]\nname = "defaults"\n'
        '[[arm]]\nname = "less"\nprofile = { name = "ours", work = "olap", without = ["log"] }\n'
    )
    study, _ = ablated("--study", str(tmp_path / "own.toml"), "--profile", "theirs")
    assert profiles(study) == [("theirs", "olap", ["log"])]
    assert study.control.profile is None


def test_a_study_without_a_profile_is_refused(refused: Callable[..., str]) -> None:
    told = refused("tune", "--ablate", "--study", "checksums")
    assert 'cannot ablate with study "checksums": none of its arms has a profile' in told
    assert 'profile = { name = "ours", without = ["log"] }' in told


def test_an_interrupted_ablation_is_resumed_by_its_folder_alone(
    refused: Callable[..., str],
) -> None:
    told = refused("tune", "--ablate", "--resume", "there", "--profile", "theirs")
    assert "cannot change a weighing that is resumed" in told
    assert "steelyard tune --ablate --resume DIR" in told
    assert 'cannot resume "there"' in refused("tune", "--ablate", "--resume", "there")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--ablate", "--processors", "4", "--servers", "2"),
            "options --processors and --servers belong to a proposal, not to --ablate",
        ),
        (("--ablate", "--data", "4GB"), "option --data belongs to a proposal, not to --ablate"),
        (("--ablate", "."), "option DIR belongs to a proposal, not to --ablate"),
        (("--ablate", "--format", "sql"), "option --format belongs to a proposal"),
        (("--ablate", "--trials", "4"), "option --trials belongs to --search"),
        (("--ablate", "--search"), "options --ablate and --search exclude each other"),
        (("--ablate", "--memory", "much"), 'invalid size for --memory: "much"'),
        (("--search", ".", "-o", "f"), "options DIR and --output belong to a proposal"),
        (("--search", "--servers", "2"), "option --servers belongs to a proposal, not to --search"),
        (("--resume", "there", "--trials", "4"), "cannot change a search that is resumed"),
        (("--resume", "there", "--memory", "1GB"), "cannot change a search that is resumed"),
        (("--trials", "4"), "option --trials belongs to --search"),
        (("--durability", "fsync"), "option --durability belongs to --search"),
        (
            ("--study", "tuning", "--seed", "0"),
            "options --study and --seed belong to --ablate or --search",
        ),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    refused: Callable[..., str], options: tuple[str, ...], told: str
) -> None:
    assert told in refused("tune", *options)
