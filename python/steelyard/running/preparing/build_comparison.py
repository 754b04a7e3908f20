"""Compares the builds of the arms: which share data, how often it is loaded, which defaults are
set alike.

Builds of one layout share one load and its clones: their arms differ in no byte. Where each build
needs data of its own, the luck of a load (which rows ANALYZE saw, where files lie) would be part of
what is compared: it is then loaded several times, and epochs take the loads in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.engines.capabilities.settings import ComparableBuild, OptionalSettings, SettingsCheck
from steelyard.engines.differences import VERSION, Alignment, compare_defaults, same_build
from steelyard.engines.engine import Engine
from steelyard.engines.loading import StoresValues
from steelyard.model.errors import EngineError, StudyError, UsageError
from steelyard.model.identity import BuildDefaults
from steelyard.running.laboratory import Laboratory
from steelyard.running.stopwatch import Progress
from steelyard.study.arm import Arm
from steelyard.study.design import FEWEST_LOADS
from steelyard.study.naming import arm_key
from steelyard.study.study import Study


@dataclass(frozen=True)
class BuildComparison:
    """What the builds of the arms have in common, and what is done about the rest."""

    loaders: Mapping[str, str]  # arm → the arm whose build loads its data
    loads: int  # separate loads of each loader's data
    defaults: str  # "aligned" or "as-shipped"
    alignment: Alignment = field(default_factory=Alignment)
    knows: Mapping[str, frozenset[str]] = field(default_factory=dict)  # arm → names of settings
    shipped: frozenset[str] = frozenset()  # arms that keep the defaults of their builds

    @property
    def shared(self) -> bool:
        """Whether all arms use clones of the same data."""
        return len(set(self.loaders.values())) == 1

    def settings_of(self, study: Study, arm: Arm) -> dict[str, str]:
        """What an arm is started with: defaults set alike, then what the study says."""
        names = frozenset() if arm.name in self.shipped else self.knows.get(arm.name, frozenset())
        alike = {name: v for name, v in self.alignment.settings.items() if name in names}
        return {**alike, **study.settings_of(arm)}

    def loading(self, study: Study, loader: str, engine: Engine) -> Engine:
        """What makes the data of a loader's arms: its servers store values and gather statistics by
        what those arms are all set to, since both stay so. Where builds have data of their own, a
        default that was set alike for them is not that of the build."""
        if not isinstance(engine, StoresValues):
            return engine
        arms = [arm for arm in study.every_arm if self.loaders[arm.name] == loader]
        settings = [
            study.settings_of(arm) if self.shared else self.settings_of(study, arm) for arm in arms
        ]
        rules = engine.setting_rules
        acting = {
            name: value
            for name, value in (settings[0] if settings else {}).items()
            if name in rules.of_stored_values or rules.of_statistics.get(name, value) != value
        }
        alike = {
            name: value
            for name, value in acting.items()
            if all(each.get(name) == value for each in settings)
        }
        return engine.storing(alike) if alike else engine

    def declared(self, arm: str) -> set[str]:
        """Settings that may differ because the arm's build has another default."""
        changed = {name for name, _, _ in self.alignment.changed.get(arm, ())}
        return changed if arm in self.shipped else changed - {*self.alignment.settings}


def require_unlike_builds(study: Study, engines: Mapping[str, Engine]) -> None:
    """UsageError: an arm and the control have two names of one build, "18" and "18.4", and nothing
    else sets them apart."""
    control = study.control
    for arm in study.arms:
        ours, theirs = (engines[each.name].identity for each in (control, arm))
        if VERSION not in study.declared_differences(arm) or not same_build(ours, theirs):
            continue
        if study.settings_of(arm) == study.settings_of(control) and is_alone(study, arm):
            raise UsageError(
                f"{arm.name} and {control.name} are equal: {theirs.product} in "
                f'"{theirs.bindir}" is the build of both',
                hint=f"Give the arm another build (--set {arm_key(study, arm)}.version=VERSION; "
                "`steelyard engines` lists them), or weigh equal arms as such: steelyard weigh aa",
            )


def unknown_settings(study: Study, engines: Mapping[str, Engine]) -> dict[str, frozenset[str]]:
    """Arm → its settings that its server need not know, and that do nothing there."""
    return {
        arm.name: engine.unknown(study.settings_of(arm))
        if isinstance(engine := engines[arm.name], OptionalSettings)
        else frozenset()
        for arm in study.every_arm
    }


def require_known_settings(study: Study, engines: Mapping[str, Engine]) -> None:
    """StudyError: such settings alone set an arm apart from the control."""
    unknown, control = unknown_settings(study, engines), study.control
    for arm in study.arms:
        differing = study.declared_differences(arm)
        sides = [(unknown[side.name], study.settings_of(side)) for side in (control, arm)]
        idle = {
            name
            for name in differing
            if (having := [passed for passed, settings in sides if name in settings])
            and all(name in passed for passed in having)
        }
        if idle and idle == differing and is_alone(study, arm):
            names = ", ".join(sorted(idle))
            raise StudyError(
                f"{arm.name} and {control.name} are equal: {names} does nothing in their servers",
                hint="Write it without loose_, and why is said; or weigh equal arms as such: "
                "steelyard weigh aa",
            )


def is_alone(study: Study, arm: Arm) -> bool:
    """Whether nothing but its build and its settings can set an arm apart from the control."""
    blank: dict[str, object] = {"name": "", "role": "", "against": None, "needs": ()}
    blank |= {"settings": {}, "version": "", "bindir": None, "defaults": None}
    return arm.model_copy(update=blank) == study.control.model_copy(update=blank)


def compare_builds(
    study: Study, engines: Mapping[str, Engine], laboratory: Laboratory, progress: Progress
) -> BuildComparison:
    """What the builds of the arms share; where there is only one, it is not started for this."""
    control = study.control.name
    bindirs = {arm: engine.identity.bindir for arm, engine in engines.items()}
    if len(set(bindirs.values())) == 1:
        same = dict.fromkeys(engines, control)
        return BuildComparison(same, study.workload.loads or 1, study.defaults)
    progress.stage("compare the builds")
    if study.source is not None:
        progress.note(_versions(study, engines))
    for arm, engine in engines.items():
        if engine.identity.assertions or "-O0" in engine.identity.cflags.split():
            why = "checks assertions" if engine.identity.assertions else "is not optimised"
            progress.note(f"the build of {arm} {why}: its timings are not representative")
    assumed = _assumed(engines, laboratory)
    loaders: dict[str, str] = {}
    for arm in engines:
        older = [a for a in loaders if assumed[a].layout == assumed[arm].layout]
        loaders[arm] = loaders[older[0]] if older else arm
    rules = engines[control].setting_rules
    fixed = set.intersection(
        *({rules.name_of(name) for name in study.settings_of(arm)} for arm in study.every_arm)
    )
    others = {arm: assumed[arm].settings for arm in engines if bindirs[arm] != bindirs[control]}
    names = {name for each in assumed.values() for name in each.settings}
    alignment = compare_defaults(
        assumed[control].settings,
        others,
        {name for name in names if name.lower() in fixed},
        rules,
    )
    shipped = frozenset(a.name for a in study.arms if study.defaults_of(a) == "as-shipped")
    left = {*alignment.settings} if {*others} <= shipped else set()
    comparison = BuildComparison(
        loaders=loaders,
        loads=study.workload.loads or (1 if len(set(loaders.values())) == 1 else FEWEST_LOADS),
        defaults=study.defaults,
        alignment=_acceptable(alignment.without(left), engines, assumed),
        knows={arm: frozenset(assumed[arm].settings) for arm in engines},
        shipped=shipped,
    )
    _report(comparison, progress)
    return comparison


def _assumed(engines: Mapping[str, Engine], laboratory: Laboratory) -> dict[str, BuildDefaults]:
    """Arm → what its build assumes; each build is examined once."""
    by_bindir: dict[str, BuildDefaults] = {}
    defaults: dict[str, BuildDefaults] = {}
    for arm, engine in engines.items():
        where = engine.identity.bindir
        if where not in by_bindir:
            if not isinstance(engine, ComparableBuild):
                raise EngineError(f'cannot compare builds of engine "{engine.identity.kind}"')
            by_bindir[where] = engine.build_defaults(laboratory.engines.slot(0))
        defaults[arm] = by_bindir[where]
    return defaults


def _acceptable(
    alignment: Alignment, engines: Mapping[str, Engine], assumed: Mapping[str, BuildDefaults]
) -> Alignment:
    """Without values that an arm's build refuses: a later version may have dropped them."""
    refused: set[str] = set()
    for arm, engine in engines.items():
        mine = {n: v for n, v in alignment.settings.items() if n in assumed[arm].settings}
        if not isinstance(engine, SettingsCheck) or not _refuses(engine, mine):
            continue
        refused |= {name for name, value in mine.items() if _refuses(engine, {name: value})}
    return alignment.without(refused)


def _refuses(engine: SettingsCheck, settings: Mapping[str, str]) -> bool:
    try:
        engine.validate(settings)
    except (EngineError, UsageError):
        return True
    return False


def _report(builds: BuildComparison, progress: Progress) -> None:
    alignment = builds.alignment
    if alignment.settings:
        listed = ", ".join(f"{name} = {value}" for name, value in alignment.settings.items())
        progress.note(f"defaults that differ between the builds are set alike: {listed}")
    for arm in alignment.changed:
        left = sorted(builds.declared(arm))
        if left:
            progress.note(f"defaults of {arm} that differ and stay so: {', '.join(left)}")
    if not builds.shared:
        progress.note(f"the builds need data of their own: each load is made {builds.loads} times")


def _versions(study: Study, engines: Mapping[str, Engine]) -> str:
    """A dump is of no version: where one arm names one and another does not, they differ."""
    version = engines[study.control.name].identity.version
    names = ", ".join(
        arm if arm == engine.identity.version else f"{arm} {engine.identity.version}"
        for arm, engine in engines.items()
    )
    keys = (arm_key(study, arm) for arm in study.every_arm)
    typed = " ".join(f"--set {key}.version={version}" for key in keys)
    return f"the arms are of different builds: {names}; for one of them: {typed}"
