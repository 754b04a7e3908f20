"""A weighing of two versions: loads taken in turn, defaults set alike, and all of it kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from steelyard.engines.differences import SettingRules, Switch
from steelyard.engines.engine import Engine
from steelyard.model.errors import UsageError
from steelyard.model.identity import BuildDefaults, Default
from steelyard.study.study import Study
from story.asked import Facts, study_of
from story.noop import engine as engine_module
from story.noop.engine import NoopEngine, NoopInstance
from story.noop.journal import NOOP_IDENTITY
from story.scripted import ScriptedWorld

Weigh = Callable[..., Facts]

DEFAULTS = {"16": {"io": Default("1", "", "user")}, "18": {"io": Default("16", "", "user")}}


@dataclass
class TwoVersions(ScriptedWorld):
    """A world with two builds that cannot open each other's data."""

    builder: Mapping[str, str] = field(default_factory=dict)  # version → who built it, "none" else
    loaded: list[str] = field(default_factory=list)

    def engines(self, study: Study) -> Mapping[str, Engine]:
        return {arm.name: self._engine(arm.version) for arm in study.every_arm}

    def _engine(self, version: str) -> NoopEngine:
        identity = replace(
            NOOP_IDENTITY,
            version=version,
            bindir=f"/{version}",
            builder=self.builder.get(version, "none"),
        )
        defaults = BuildDefaults({"catalogue": int(version)}, DEFAULTS[version])
        return NoopEngine(identity, defaults, self.noop.journal)

    def template(
        self,
        engine: Engine,
        study: Study,
        say: Callable[[str], None],
        *,
        number: int,
        copies: int,
    ) -> Path:
        made = self.directory / f"template-{engine.identity.version}-{number}"
        if made not in self.noop.journal.stopped:
            engine.create(made, protection="checksums")
            self.loaded.append(made.name)
        assert copies >= 12 - len(self.loaded) or study.workload.loads == 1
        return made


@pytest.fixture
def world(tmp_path: Path) -> TwoVersions:
    return TwoVersions(tmp_path / "world")


def versions(**changes: object) -> Study:
    return study_of(
        control={"name": "before", "version": "16"},
        arms=[{"name": "after", "version": "18"}],
        **changes,
    )


def read(tmp_path: Path, name: str) -> Facts:
    return dict(json.loads((tmp_path / "record" / name).read_text()))


def names(verdict: Facts) -> set[str]:
    return {threat["name"] for threat in verdict["contrasts"][0]["threats"]}


def test_epochs_take_the_loads_of_each_version_in_turn(
    world: TwoVersions, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(world, versions(budget={"measuring": "30s", "epochs": 12}))
    assert sorted(world.loaded) == [f"template-{v}-{n}" for v in ("16", "18") for n in range(3)]
    lines = (tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()
    loads = [json.loads(line)["loads"] for line in lines if '"type":"epoch"' in line]
    for arm in ("before", "after"):
        taken = [each[arm] for each in loads]
        turns = [sorted(taken[turn : turn + 3]) for turn in range(0, len(taken) - 2, 3)]
        assert turns == [[0, 1, 2]] * len(turns)
    assert len({(each["before"], each["after"]) for each in loads}) > 3, "not in step"
    arms = verdict["loads"]["arms"]
    assert (verdict["loads"]["shared"], arms["after"]["count"]) == (False, 3)
    assert "data directory tied to the arm" not in names(verdict)


def test_data_that_was_loaded_once_is_tied_to_its_arm(world: TwoVersions, weigh_in: Weigh) -> None:
    verdict = weigh_in(world, versions(workload={"clients": 4, "loads": 1}))
    [threat] = [
        t for t in verdict["contrasts"][0]["threats"]
        if t["name"] == "data directory tied to the arm"
    ]  # fmt: skip
    assert threat["seen"] == "the builds cannot share data, and that of each was loaded once"


def test_both_servers_start_with_the_controls_defaults_and_the_verdict_keeps_what_differed(
    world: TwoVersions, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(world, versions())
    started = [call.arguments[1] for call in world.noop.calls if call.action == "start"]
    assert all(settings == {"io": "1"} for settings in started)
    assert verdict["defaults"]["alike"] == {"io": "1"}
    assert verdict["defaults"]["changed"] == {"after": [["io", "1", "16"]]}
    assert read(tmp_path, "plan.json")["defaults"] == verdict["defaults"]
    page = (tmp_path / "record" / "report.html").read_text()
    assert "1 in every arm" in page
    assert "each was loaded 3 times" in page


def test_as_shipped_nothing_is_set_and_the_difference_is_kept(
    world: TwoVersions, weigh_in: Weigh
) -> None:
    verdict = weigh_in(world, versions(defaults="as-shipped"))
    started = [call.arguments[1] for call in world.noop.calls if call.action == "start"]
    assert all(settings == {} for settings in started)
    assert (verdict["defaults"]["rule"], verdict["defaults"]["alike"]) == ("as-shipped", {})
    assert verdict["defaults"]["changed"] == {"after": [["io", "1", "16"]]}


def test_versions_of_two_builders_are_doubted(tmp_path: Path, weigh_in: Weigh) -> None:
    world = TwoVersions(tmp_path / "world", builder={"18": "another compiler"})
    assert "builds differ" in names(weigh_in(world, versions()))


def test_versions_of_one_builder_are_not(world: TwoVersions, weigh_in: Weigh) -> None:
    assert "builds differ" not in names(weigh_in(world, versions()))


class OneBuild(ScriptedWorld):
    """A world with one build, whatever arms name it by."""

    def engines(self, study: Study) -> Mapping[str, Engine]:
        identity = replace(NOOP_IDENTITY, version="18.4", bindir="/18.4/bin")
        return {
            arm.name: NoopEngine(identity, BuildDefaults({}, {}), self.noop.journal)
            for arm in study.every_arm
        }


def named_twice(control: Mapping[str, str], arm: Mapping[str, str]) -> Study:
    return study_of(
        control={"name": "before", "version": "18", "settings": control},
        arms=[{"name": "after", "version": "18.4", "settings": arm}],
    )


def test_two_names_of_one_build_are_refused_before_anything_is_started(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world = OneBuild(tmp_path / "world")
    with pytest.raises(UsageError, match=r"after and before are equal: noop 18\.4"):
        weigh_in(world, named_twice({}, {}))
    assert not [call for call in world.noop.calls if call.action == "start"]
    assert not (tmp_path / "record").exists()


def test_settings_that_are_written_otherwise_set_no_names_of_one_build_apart(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = NoopInstance.settings
    monkeypatch.setattr(
        NoopInstance,
        "settings",
        lambda self: {name: value.lower() for name, value in reported(self).items()},
    )
    with pytest.raises(UsageError, match="after and before are equal: jit is off in both"):
        weigh_in(OneBuild(tmp_path / "world"), named_twice({"jit": "off"}, {"jit": "OFF"}))


def test_a_setting_of_a_module_that_is_not_loaded_sets_no_names_of_one_build_apart(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes it, and does not report it."""
    reported = NoopInstance.settings
    monkeypatch.setattr(
        NoopInstance,
        "settings",
        lambda self: {name: value for name, value in reported(self).items() if "." not in name},
    )
    rules = SettingRules(modules={"auto_explain": "auto_explain"})
    monkeypatch.setattr(engine_module, "SettingRules", lambda: rules)
    study = named_twice({}, {"auto_explain.log_analyze": "on"})
    with pytest.raises(UsageError, match="equal: auto_explain is not loaded, so that") as refused:
        weigh_in(OneBuild(tmp_path / "world"), study)
    assert "shared_preload_libraries=auto_explain" in str(refused.value.hint)


def test_a_setting_whose_switch_is_off_sets_no_names_of_one_build_apart(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The servers report a difference, and do the same."""
    rules = SettingRules(switches={"sync_binlog": Switch("log_bin", "OFF", "log_bin=binlog")})
    monkeypatch.setattr(engine_module, "SettingRules", lambda: rules)
    control, arm = ({"log_bin": "OFF", "sync_binlog": count} for count in ("1", "0"))
    with pytest.raises(UsageError, match="equal: log_bin is OFF, so that sync_binlog") as refused:
        weigh_in(OneBuild(tmp_path / "world"), named_twice(control, arm))
    assert refused.value.hint == "Switch it on: --set settings.log_bin=binlog"
