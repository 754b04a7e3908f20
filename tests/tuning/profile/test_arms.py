"""The arms of a study get the settings that their profiles come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.record.machine import RANDOM_READ, SEQUENTIAL_READ
from steelyard.running.layout_choice import concurrent_servers
from steelyard.study.read import read_study, write_study
from steelyard.study.study import Study
from steelyard.tuning.profile import arms, proposing
from steelyard.tuning.profile.proposing import Accepting
from steelyard.workloads.reading.resolved import data_bytes
from thinned import thinned
from tuning.probes import figure, probe_of
from tuning.profile.accepting import ALLOWED, GB

Resolved = tuple[list[str], Callable[[Study], Study]]
IDENTITY = Identity("postgres", "18.4", 180004, "gcc", "", "", "bundle", "/bin", False)
READING = [
    "workload.name=pgbench", "workload.options={}", "workload.scripts={select-only = 1}"
]  # fmt: skip


def uncapped(overrides: list[str]) -> Study:
    """The study with all of the machine's memory."""
    return read_study("tuning", overrides).model_copy(update={"memory": None})


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Resolved:
    """What is said, and a function that resolves a study on a machine of 2 processors."""
    said: list[str] = []
    monkeypatch.setattr(arms, "read_allowed_settings", lambda *_: Accepting(IDENTITY, ALLOWED))
    monkeypatch.setattr(proposing, "processors_here", lambda: 2)
    monkeypatch.setattr(
        proposing, "memory_here", lambda cap, servers: (cap or (8 << 30) // servers, "here")
    )

    def resolve(study: Study) -> Study:
        place = (tmp_path, tmp_path)
        return arms.with_profiles(study, *place, None, said.append, concurrent_servers, data_bytes)

    return said, resolve


def test_a_profile_becomes_settings_and_the_record_can_be_read_back(
    resolved: Resolved, tmp_path: Path
) -> None:
    said, resolve = resolved
    study = resolve(uncapped(["arm.ours.settings.work_mem=7MB"]))
    ours, theirs = study.arms
    assert study.control.settings == {}
    assert ours.settings["shared_buffers"] == "2GB", "in turns one server stands at a time"
    assert ours.settings["work_mem"] == "7MB", "an arm's own settings lie above its profile"
    assert theirs.settings["random_page_cost"] == "1.1"
    assert all(arm.profile is None for arm in study.every_arm)
    assert [words.split(" (")[0] for words in said] == [
        f"profile of {arm.name}" for arm in study.arms
    ]
    file = tmp_path / "study.toml"
    file.write_text(write_study(study))
    assert read_study(str(file)) == study


@pytest.mark.parametrize("study", ["tuning", "tuning-ablation"])
@thinned("name", ["shared_buffers", "work_mem", "max_wal_size", "checkpoint_timeout"], 1)
def test_a_setting_that_is_stated_for_every_arm_lies_above_every_profile(
    resolved: Resolved, study: str, name: str
) -> None:
    said, resolve = resolved
    before = resolve(read_study(study))
    setting = {"checkpoint_timeout": "77s"}.get(name, "77MB")
    assert any(name in arm.settings for arm in before.every_arm), "a profile sets it"
    said.clear()
    after = resolve(read_study(study, [f"settings.{name.upper()}={setting}"]))
    assert {after.settings_of(arm)[name] for arm in after.every_arm} == {setting}
    for arm in after.every_arm:
        [old] = [each for each in before.every_arm if each.name == arm.name]
        assert {**old.settings, name: ""} == {**arm.settings, name: ""}, "nothing else is touched"
        sentences = [words for words in said if words.startswith(f"profile of {arm.name} (")]
        shown = [f"count for {name}" in words for words in sentences]
        assert shown == [name in old.settings] * len(sentences)


def test_an_arms_own_setting_lies_above_what_is_stated_for_every_arm(resolved: Resolved) -> None:
    _, resolve = resolved
    study = resolve(uncapped(["settings.work_mem=77MB", "arm.ours.settings.work_mem=7MB"]))
    work_mem = [study.settings_of(arm)["work_mem"] for arm in study.every_arm]
    assert work_mem == ["77MB", "7MB", "77MB"]


def test_a_cap_is_the_memory_that_a_profile_is_made_for(resolved: Resolved) -> None:
    _, resolve = resolved
    for layout in ("turns", "slices"):
        study = resolve(read_study("tuning", [f"layout={layout}"]))
        assert study.memory == 1 << 30
        assert study.arms[0].settings["shared_buffers"] == "256MB"


def test_what_the_cap_does_not_hold_of_the_workloads_data_makes_random_pages_dearer(
    resolved: Resolved, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, resolve = resolved
    probed = probe_of(figure(RANDOM_READ, 10_000), figure(SEQUENTIAL_READ, 10_000, 128 << 10))
    monkeypatch.setattr(proposing, "last_probe", lambda *_: probed)
    ratio = probed.random_page_cost
    assert ratio is not None

    def cost(*overrides: str) -> float:
        made = resolve(read_study("tuning", overrides)).arms[0].settings["random_page_cost"]
        return float(made)

    held = 0.75 * (1 << 30) / (data_bytes(read_study("tuning")) or 0)
    assert cost() == pytest.approx(1 + (ratio - 1) * (1 - held), rel=0.05)
    assert cost("workload.scale=4") == 1.1, "the cap holds them all"


def test_an_arm_with_places_of_its_own_has_the_profile_of_these_places(
    resolved: Resolved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, resolve = resolved
    probed = probe_of(figure(RANDOM_READ, 10_000), figure(SEQUENTIAL_READ, 10_000, 128 << 10))
    nvme, log = tmp_path / "nvme", tmp_path / "log"
    rooms = {tmp_path: 100 * GB, nvme: 60 * GB, log: 20 * GB}
    monkeypatch.setattr(proposing, "last_probe", lambda place, _: probed if place == nvme else None)
    monkeypatch.setattr(proposing, "why_not_cached", lambda _: "")
    monkeypatch.setattr(proposing, "free_disk", rooms.__getitem__)

    def ours(*overrides: str) -> Mapping[str, str]:
        return resolve(read_study("tuning", overrides)).arms[0].settings

    assert ours().get("max_wal_size") == "8GB"
    assert "random_page_cost" not in ours()
    placed = ours(f"arm.ours.directory={nvme}")
    assert placed["max_wal_size"] == "6GB"
    assert "random_page_cost" in placed
    apart = ours(f"arm.ours.directory={nvme}", f"arm.ours.wal_directory={log}")
    assert apart["max_wal_size"] == "2GB"
    assert "random_page_cost" in apart


def test_servers_that_stand_at_once_share_the_memory(
    resolved: Resolved,
) -> None:
    _, resolve = resolved
    study = resolve(uncapped(["layout=slices"]))
    assert study.arms[0].settings["shared_buffers"] == "682MB", "a quarter of a third of 8 GB"


@pytest.mark.parametrize(
    ("overrides", "pool"),
    [
        (["layout=auto"], "2GB"),  # it writes, and profiles set what acts through checkpoints
        (["layout=auto", *READING], "682MB"),  # all stand at once
        (["layout=auto", "bound=none", "workload.scale=4"], "682MB"),  # so they do in cycles
        (["layout=auto", "bound=none", "workload.scale=100000"], "2GB"),  # memory has no room
    ],
)
def test_memory_is_shared_by_as_many_servers_as_the_layout_that_is_chosen_has_at_once(
    resolved: Resolved, overrides: list[str], pool: str
) -> None:
    said, resolve = resolved
    study = resolve(uncapped(overrides))
    assert study.arms[0].settings["shared_buffers"] == pool
    assert [words.split(" (")[0] for words in said] == ["profile of ours", "profile of theirs"]
    assert study.layout == "auto"


def test_a_group_is_set_back_and_one_that_sets_nothing_is_no_arm(
    resolved: Resolved,
) -> None:
    said, resolve = resolved
    study = resolve(read_study("tuning-ablation"))
    assert [arm.name for arm in study.arms] == ["no-memory", "no-log", "no-planner"]
    assert "arm no-storage is left out" in " ".join(said)
    whole, [memory, log, _] = study.control.settings, study.arms
    assert set(whole) - set(memory.settings) >= {"shared_buffers", "work_mem"}
    assert set(whole) - set(log.settings) >= {"max_wal_size", "checkpoint_timeout"}


def test_a_cell_of_a_factorial_stays_though_its_profile_changes_nothing(
    resolved: Resolved, tmp_path: Path
) -> None:
    _, resolve = resolved
    file = tmp_path / "cells.toml"
    file.write_text(
        'title = "t?"\nquestion = "q?"\n[factors.storage]\nwith = { profile = "ours" }\n'
        'less = { profile = { name = "ours", without = ["storage"] } }\n'
        "[factors.checksums]\noff = { checksums = false }\non = { checksums = true }\n"
    )
    study = resolve(read_study(str(file)).model_copy(update={"memory": None}))
    assert [arm.name for arm in study.every_arm] == ["with+off", "with+on", "less+off", "less+on"]
    assert study.arms[1].settings == study.control.settings != {}
    file.write_text(write_study(study))
    assert read_study(str(file)).arms == study.arms


def test_an_ablation_of_nothing_is_refused(resolved: Resolved) -> None:
    _, resolve = resolved
    study = read_study("tuning-ablation")
    only = study.model_copy(update={"arms": study.arms[-1:]})
    with pytest.raises(UsageError, match="nothing is left to weigh"):
        resolve(only)


def test_a_study_without_profiles_is_left_as_it_is(resolved: Resolved) -> None:
    said, resolve = resolved
    study = read_study("checksums")
    assert resolve(study) is study
    assert said == []
