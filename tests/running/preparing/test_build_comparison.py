"""Builds share data where they can, are loaded several times where not, and are set alike."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError, UsageError
from steelyard.model.identity import BuildDefaults, Default
from steelyard.running.preparing.build_comparison import (
    compare_builds,
    require_known_settings,
    require_unlike_builds,
    unknown_settings,
)
from steelyard.study.read import read_study
from steelyard.study.study import Study
from story.asked import Silent, study_of
from story.noop.engine import NoopEngine
from story.noop.journal import NOOP_IDENTITY
from story.scripted import ScriptedWorld

OLD = {"io": Default("1", "", "user"), "gone": Default("a", "", "user")}
NEW = {"io": Default("16", "", "user"), "come": Default("b", "", "user")}


class Notes(Silent):
    """Keeps what was noted."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def engine(name: str, catalogue: int, defaults: dict[str, Default]) -> NoopEngine:
    identity = replace(NOOP_IDENTITY, version=name, bindir=f"/{name}")
    return NoopEngine(identity, BuildDefaults({"catalogue": catalogue}, defaults))


@pytest.fixture
def world(tmp_path: Path) -> ScriptedWorld:
    return ScriptedWorld(tmp_path)


def study(**changes: Any) -> Study:
    return study_of(
        control={"name": "before", "version": "16"},
        arms=[{"name": "after", "version": "18"}],
        **changes,
    )


def test_one_build_is_asked_nothing(world: ScriptedWorld) -> None:
    one = NoopEngine()
    found = compare_builds(study(), {"before": one, "after": one}, world.laboratory, Silent())
    assert (found.shared, found.loads, found.alignment.settings) == (True, 1, {})
    assert one.calls == []


def test_builds_of_one_layout_share_one_load(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 7, OLD)}
    found = compare_builds(study(), engines, world.laboratory, Silent())
    assert found.loaders == {"before": "before", "after": "before"}
    assert (found.shared, found.loads) == (True, 1)


def test_builds_of_two_layouts_are_loaded_three_times_each(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 8, OLD)}
    found = compare_builds(study(), engines, world.laboratory, Silent())
    assert found.loaders == {"before": "before", "after": "after"}
    assert (found.shared, found.loads) == (False, 3)
    fewer = compare_builds(study(workload={"loads": 1}), engines, world.laboratory, Silent())
    assert fewer.loads == 1


def test_builds_of_several_versions_on_external_data_are_named_with_what_makes_them_one(
    world: ScriptedWorld,
) -> None:
    """A dump is of no version: one arm may have one that was not meant."""
    engines: dict[str, Engine] = {
        "before": engine("15.18", 7, OLD),
        "after": engine("18.4", 7, OLD),
    }
    asked, notes = study(source={"place": "/shop.dump", "kind": "dump"}), Notes()
    compare_builds(asked, engines, world.laboratory, notes)
    assert notes.said[0] == (
        "the arms are of different builds: before 15.18, after 18.4; for one of them: "
        "--set control.version=15.18 --set arm.version=15.18"
    )


def test_aligned_defaults_are_given_to_every_arm_that_knows_them(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 8, NEW)}
    asked, notes = study(settings={"x": "1"}), Notes()
    found = compare_builds(asked, engines, world.laboratory, notes)
    for arm in asked.every_arm:
        assert found.settings_of(asked, arm) == {"io": "1", "x": "1"}
    assert found.declared("after") == set()
    assert "set alike: io = 1" in notes.said[0]
    assert found.alignment.added == {"after": ("come",)}


class Storing(NoopEngine):
    """A build that stores values by its setting "io"."""

    stored_by: Mapping[str, str] | None = None

    def storing(self, settings: Mapping[str, str]) -> Storing:
        """As it is told."""
        other = copy(self)
        other.stored_by = settings
        return other


def storing(name: str, catalogue: int, defaults: dict[str, Default]) -> Storing:
    identity = replace(NOOP_IDENTITY, version=name, bindir=f"/{name}")
    made = Storing(identity, BuildDefaults({"catalogue": catalogue}, defaults))
    made.setting_rules = SettingRules(
        of_stored_values=frozenset({"io"}), of_statistics={"target": "100"}
    )
    return made


@pytest.mark.parametrize(
    ("catalogue", "changes", "stored_by"),
    [
        (8, {}, {"io": "1"}),  # the control's default, as its servers will have it
        (8, {"settings": {"io": "3"}}, {"io": "3"}),
        (8, {"defaults": "as-shipped"}, None),
        (7, {}, None),  # one load for both
    ],
)
def test_data_of_its_own_is_stored_as_its_servers_are_set(
    world: ScriptedWorld,
    catalogue: int,
    changes: dict[str, Any],
    stored_by: dict[str, str] | None,
) -> None:
    """What 19 stored by its own default would be lz4, beside a setting of pglz."""
    builds = {"before": storing("a", 7, OLD), "after": storing("b", catalogue, NEW)}
    asked = study(**changes)
    engines: dict[str, Engine] = {**builds}
    found = compare_builds(asked, engines, world.laboratory, Silent())
    after = found.loading(asked, "after", builds["after"])
    assert isinstance(after, Storing)
    assert after.stored_by == stored_by
    plain = engine("b", 8, NEW)
    assert found.loading(asked, "after", plain) is plain


def test_arms_that_share_a_load_and_differ_leave_it_as_the_build_stores_it(
    world: ScriptedWorld,
) -> None:
    new = storing("b", 8, NEW)
    asked = study_of(
        control={"name": "before", "version": "16"},
        arms=[
            {"name": "one", "version": "18", "settings": {"io": "2"}},
            {"name": "other", "version": "18", "settings": {"io": "3"}},
        ],
    )
    engines: dict[str, Engine] = {"before": storing("a", 7, OLD), "one": new, "other": new}
    found = compare_builds(asked, engines, world.laboratory, Silent())
    assert found.loading(asked, "one", new) is new


@pytest.mark.parametrize(
    ("settings", "of_the_arm", "stored_by"),
    [
        ({"io": "3", "target": "500", "x": "1"}, {}, {"io": "3", "target": "500"}),
        ({"io": "3", "target": "500"}, {"target": "7"}, {"io": "3"}),
        ({"target": "100"}, {}, None),  # by which they are gathered anyway
        ({}, {"io": "3", "target": "500"}, None),
    ],
)
def test_one_load_is_stored_and_its_statistics_gathered_as_all_arms_are_set(
    world: ScriptedWorld,
    settings: dict[str, str],
    of_the_arm: dict[str, str],
    stored_by: dict[str, str] | None,
) -> None:
    """Both stay as they are: the target of a dump's server would plan nothing."""
    build = storing("a", 7, OLD)
    asked = study_of(
        control={"name": "before", "checksums": True},
        arms=[{"name": "after", "checksums": False, "settings": of_the_arm}],
        settings=settings,
    )
    engines: dict[str, Engine] = {"before": build, "after": build}
    made = compare_builds(asked, engines, world.laboratory, Silent())
    result = made.loading(asked, "before", build)
    assert isinstance(result, Storing)
    assert result.stored_by == stored_by


def test_what_an_arm_sets_itself_is_not_aligned_away(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 8, NEW)}
    asked = study_of(
        control={"name": "before", "version": "16"},
        arms=[{"name": "after", "version": "18", "settings": {"io": "16"}}],
    )
    found = compare_builds(asked, engines, world.laboratory, Silent())
    assert found.settings_of(asked, asked.control) == {"io": "1"}
    assert found.settings_of(asked, asked.arms[0]) == {"io": "16"}


def test_as_shipped_defaults_stay_and_are_declared(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 8, NEW)}
    asked, notes = study(defaults="as-shipped"), Notes()
    found = compare_builds(asked, engines, world.laboratory, notes)
    assert found.settings_of(asked, asked.control) == {}
    assert found.declared("after") == {"io"}
    assert found.alignment.changed == {"after": (("io", "1", "16"),)}
    assert notes.said[0] == "defaults of after that differ and stay so: io"


def test_one_arm_keeps_its_defaults_while_others_are_set_alike(world: ScriptedWorld) -> None:
    asked = study_of(
        control={"name": "before", "version": "16"},
        arms=[
            {"name": "after", "version": "18"},
            {"name": "shipped", "version": "18", "defaults": "as-shipped"},
        ],
    )
    newer = engine("b", 8, NEW)
    engines: dict[str, Engine] = {
        "before": engine("a", 7, OLD), "after": newer, "shipped": newer
    }  # fmt: skip
    found = compare_builds(asked, engines, world.laboratory, Silent())
    settings = [found.settings_of(asked, arm) for arm in asked.every_arm]
    assert settings == [{"io": "1"}, {"io": "1"}, {}]
    assert (found.declared("after"), found.declared("shipped")) == (set(), {"io"})
    assert found.shipped == {"shipped"}


def test_a_default_that_a_build_refuses_stays_and_is_declared(world: ScriptedWorld) -> None:
    older, newer = (
        engine("a", 7, {**OLD, "y": Default("1", "", "user")}),
        engine("b", 8, {**NEW, "y": Default("2", "", "user")}),
    )
    newer.refused = {"io"}
    asked = study()
    found = compare_builds(asked, {"before": older, "after": newer}, world.laboratory, Silent())
    assert found.settings_of(asked, asked.control) == {"y": "1"}
    assert found.declared("after") == {"io"}


def test_builds_with_assertions_or_without_optimisation_are_noted(world: ScriptedWorld) -> None:
    engines: dict[str, Engine] = {"before": engine("a", 7, OLD), "after": engine("b", 7, OLD)}
    checked = engine("c", 7, OLD)
    checked.identity = replace(checked.identity, assertions=True)
    plain = engine("d", 7, OLD)
    plain.identity = replace(plain.identity, cflags="-g -O0")
    said = []
    for built in (checked, plain):
        notes = Notes()
        compare_builds(study(), {**engines, "after": built}, world.laboratory, notes)
        said += notes.said
    assert said == [
        "the build of after checks assertions: its timings are not representative",
        "the build of after is not optimised: its timings are not representative",
    ]


@pytest.mark.parametrize(
    ("control", "arm", "places", "equal"),
    [
        ({"version": "18"}, {"version": "18.4"}, ("real", "real"), True),
        ({"version": "bundle-18"}, {"version": "18.4"}, ("real", "real"), True),
        ({"version": "18"}, {"bindir": "/named/bin"}, ("real", "link"), True),
        ({"bindir": "/link"}, {"bindir": "/real/."}, ("link", "real"), True),
        ({"version": "18"}, {"version": "18.4", "defaults": "as-shipped"}, ("real", "real"), True),
        ({"version": "18"}, {"version": "18.4", "settings": {"x": "1"}}, ("real", "real"), True),
        ({"version": "18"}, {"version": "18.4", "settings": {"x": "2"}}, ("real", "real"), False),
        ({"version": "18"}, {"version": "18.4", "checksums": False}, ("real", "real"), False),
        ({"version": "18"}, {"version": "18.4", "sql": ["ANALYZE"]}, ("real", "real"), False),
        ({"version": "18"}, {"version": "18.4", "weight": {"stall": 0.1}}, ("real",) * 2, False),
        ({"version": "18"}, {"version": "18"}, ("real", "real"), False),  # asked for as such
        ({"version": "18"}, {"version": "18.4"}, ("real", "another"), False),
        ({"version": "18"}, {"version": "18.4"}, ("", ""), False),  # at an address: not known
    ],
)
def test_two_names_of_one_build_are_no_two_arms(
    control: dict[str, Any],
    arm: dict[str, Any],
    places: tuple[str, str],
    equal: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    bindirs = [str(tmp_path / place) if place else "" for place in places]
    built = [NoopEngine(replace(NOOP_IDENTITY, version="18.4", bindir=each)) for each in bindirs]
    engines: dict[str, Engine] = {"before": built[0], "after": built[1]}
    asked = study_of(
        control={"name": "before", **control},
        arms=[{"name": "after", **arm}],
        settings={"x": "1"},
    )
    if not equal:
        require_unlike_builds(asked, engines)
        return
    with pytest.raises(UsageError, match=r"after and before are equal: noop 18\.4 in") as refused:
        require_unlike_builds(asked, engines)
    assert "--set arm.version=VERSION" in str(refused.value.hint)
    assert "steelyard weigh aa" in str(refused.value.hint)


def test_of_several_arms_the_one_is_named_that_is_the_controls_build() -> None:
    one, other = engine("18.4", 7, OLD), engine("16.9", 7, OLD)
    asked = study_of(
        control={"name": "new", "version": "18"},
        arms=[{"name": "old", "version": "16"}, {"name": "newest", "version": "18.4"}],
    )
    with pytest.raises(UsageError, match="newest and new are equal") as refused:
        require_unlike_builds(asked, {"new": one, "old": other, "newest": one})
    assert "--set arm.newest.version=VERSION" in str(refused.value.hint)


class Loose(NoopEngine):
    """Its servers know `known` and nothing else of what they need not know."""

    known: tuple[str, ...] = ()

    def unknown(self, settings: Settings) -> frozenset[str]:
        return frozenset(n for n in settings if n.startswith("loose_") and n[6:] not in self.known)


def loose(study: Study, **known: tuple[str, ...]) -> dict[str, Engine]:
    """Arm → its engine; `known`: what that of an arm knows."""
    engines: dict[str, Engine] = {}
    for arm in study.every_arm:
        engines[arm.name] = engine = Loose()
        engine.known = known.get(arm.name, ())
    return engines


@pytest.mark.parametrize(
    ("changes", "known", "refused"),
    [
        (["arm.settings.loose_a=1"], {}, True),
        (["arm.settings.loose_a=1"], {"b": ("a",)}, False),
        (["arm.settings.loose_a=1"], {"c": ("a",)}, True),  # as the control's is set alike
        (["arm.settings.loose_a=1", "control.settings.loose_a=2"], {"c": ("a",)}, False),
        (["arm.settings.loose_a=1", "control.settings.loose_b=2"], {}, True),
        (["arm.settings.loose_a=1", "arm.settings.work=2"], {}, False),
        (["arm.settings.loose_a=1", "arm.checksums=false"], {}, False),
        (["arm.settings.loose_a=1", "arm.weight.double_work=3%"], {}, False),
        (["settings.loose_a=1", "arm.settings.work=2"], {}, False),
    ],
)
def test_arms_that_differ_in_what_does_nothing_alone_are_equal(
    changes: list[str], known: dict[str, tuple[str, ...]], *, refused: bool
) -> None:
    """A server passes over what it need not know, in silence."""
    asked = read_study("settings", ["control.name=c", "arm.name=b", *changes])
    engines = loose(asked, **known)
    if not refused:
        require_known_settings(asked, engines)
        return
    with pytest.raises(StudyError, match="b and c are equal: loose_a") as error:
        require_known_settings(asked, engines)
    assert "without loose_" in (error.value.hint or "")


def test_what_does_nothing_is_named_by_arm() -> None:
    asked = read_study("settings", ["control.name=c", "arm.name=b", "settings.loose_a=1"])
    assert unknown_settings(asked, loose(asked, b=("a",))) == {
        "c": frozenset({"loose_a"}), "b": frozenset()
    }  # fmt: skip
    assert unknown_settings(asked, {arm: NoopEngine() for arm in ("b", "c")}) == {
        "c": frozenset(), "b": frozenset()
    }  # fmt: skip
