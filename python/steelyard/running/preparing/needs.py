"""Asks for what a study needs before anything is loaded, and says how to get what is missing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from steelyard.engines.capabilities.memory import (
    HUGE_PAGE_BYTES,
    MemorySettings,
    NeedsMemory,
    shared_memory_bytes,
)
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Abilities, Engine, MissingFeature
from steelyard.model.errors import EngineError, StudyError, UsageError, nearest_hint
from steelyard.running.laboratory import Laboratory
from steelyard.study.arm import Arm
from steelyard.study.naming import arm_key
from steelyard.study.reaching.pooler import pooler_of
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

_OF_THE_MACHINE = ("huge_pages", "pgbouncer")
_SETTING_OF_JIT = re.compile("jit|jit_(?!provider).*", re.IGNORECASE)
_SETTING_OF_HUGE_PAGES = re.compile("huge_pages|(loose[_-])?large[_-]pages", re.IGNORECASE)
"""PostgreSQL's, and that of MySQL and MariaDB, which go on in common pages where there are none."""
_MAKES_TABLES = re.compile(r"\b(?:alter|create|optimize|truncate)\b", re.IGNORECASE)
_AS_THEY_ARE = "Leave it out: the tables of a server that is not ours are the same for all arms."
_ADMINISTRATORS = "/usr/sbin:/sbin:/usr/local/sbin"
"""Where programs stand that an ordinary user has not on the path."""


def require_abilities(study: Study, engines: Mapping[str, Engine]) -> None:
    """EngineError for the first need that a build was made without, with how to get one that has
    it: asked before a build that lacks it refuses the arm's settings."""
    for need in study.needs:
        for arm in study.every_arm if need not in _OF_THE_MACHINE else ():
            _require_ability(study, arm.name, engines[arm.name], need)
    if _differs_alone(study, _SETTING_OF_JIT):
        for arm in study.every_arm:
            if isinstance(engines[arm.name], Abilities):
                _require_ability(study, arm.name, engines[arm.name], "jit")


class RuledSettings(Protocol):
    """What has rules about settings: an engine, or a server at an address."""

    @property
    def setting_rules(self) -> SettingRules: ...


def require_effects(
    study: Study, engines: Mapping[str, RuledSettings], scripts: Sequence[Script]
) -> None:
    """StudyError for a setting that arms differ in and that changes nothing for them: they would be
    equal, and weighed as if they were not."""
    makes_tables = any(_MAKES_TABLES.search(script.text) for script in scripts)
    writes = any(script.writes for script in scripts)
    for arm in study.arms:
        rules = engines[arm.name].setting_rules
        names = {rules.name_of(name) for name in study.declared_differences(arm)}
        for name in sorted(names & rules.without_effect.keys()):
            raise StudyError(
                f'arms cannot differ in "{name}": {rules.without_effect[name]}',
                hint="Leave it out: the arms would be equal.",
            )
        for name in sorted(names) if names <= rules.of_other_clients.keys() else []:
            raise StudyError(
                f'arms cannot differ in "{name}" alone: {rules.of_other_clients[name]}',
                hint="Leave it out: the arms would be equal.",
            )
        for name in [] if makes_tables else sorted(names & rules.of_new_tables):
            raise StudyError(
                f'arms cannot differ in "{name}": it acts where a table is made, and the tables of '
                "all arms are copies of those that were loaded",
                hint=_AS_THEY_ARE
                if study.is_external
                else "Change the tables of an arm: "
                f'--set {arm_key(study, arm)}.sql="ALTER TABLE ..."',
            )
        if not writes:
            _require_acting_on_reads(study, arm, names, rules)


@dataclass(frozen=True)
class IdleSetting:
    """Why a setting has no effect."""

    why: str
    hint: str


def idle_settings(
    study: Study,
    reported: Mapping[str, Mapping[str, str]],
    rules: SettingRules,
    scripts: Sequence[Script],
) -> dict[str, dict[str, IdleSetting]]:
    """Arm → settings without effect: of modules that are not loaded, and those that it and the
    control differ in while what switches them on is off in both. `reported`: arm → settings, as its
    server says. UsageError as of `settings_of_unloaded`."""
    unloaded = {
        name: IdleSetting(
            f"{module} is not loaded",
            "A server that is not ours loads it by its own shared_preload_libraries."
            if study.is_external
            else f"Load it: --set settings.shared_preload_libraries={module} --set contrib=true",
        )
        for name, module in settings_of_unloaded(study, reported, rules, scripts).items()
    }
    texts = _texts(study, scripts)
    idle: dict[str, dict[str, IdleSetting]] = {}
    for arm in study.arms:
        idle[arm.name] = {**unloaded}
        sides = [reported.get(side.name, {}) for side in (study.control, arm)]
        for name in sorted({rules.name_of(name) for name in study.declared_differences(arm)}):
            switch = rules.switch_of(name)
            # A script may switch it on.
            if switch is None or any(switch.name in text.lower() for text in texts):
                continue
            if all(switch.leaves_idle(name, settings) for settings in sides):
                values = dict.fromkeys(settings[switch.name] or "empty" for settings in sides)
                idle[arm.name][name] = IdleSetting(
                    f"{switch.name} is {' and '.join(values)}",
                    switch.hint or f"Switch it on: --set settings.{switch.on}",
                )
    return idle


def _texts(study: Study, scripts: Sequence[Script]) -> list[str]:
    """All SQL that is executed."""
    texts = [script.text for script in scripts]
    return texts + [text for arm in study.every_arm for text in study.sql_of(arm)]


def settings_of_unloaded(
    study: Study,
    reported: Mapping[str, Mapping[str, str]],
    rules: SettingRules,
    scripts: Sequence[Script],
) -> dict[str, str]:
    """Setting without effect → the module that it is of, which is not loaded. `reported`: arm →
    settings, as its server says. UsageError: the module is loaded, and has no such setting."""
    texts = _texts(study, scripts)
    known = {name for settings in reported.values() for name in settings}
    unloaded: dict[str, str] = {}
    for arm in study.every_arm:
        settings = reported.get(arm.name, {})
        loaded = " ".join(settings.get(name, "") for name in rules.preloading)
        for name in study.settings_of(arm):
            module, _, setting = name.partition(".")
            library = rules.modules.get(module) if setting else None
            # A script may load it, or read the setting.
            if library is None or name in known or any(module in text for text in texts):
                continue
            own = sorted(each for each in settings if each.partition(".")[0] == module)
            if own and re.search(rf"\b{library}\b", loaded):
                raise _no_setting_of(library, name, own)
            unloaded[name] = library
    return unloaded


def _no_setting_of(library: str, name: str, own: Sequence[str]) -> UsageError:
    return UsageError(
        f'unrecognized setting: "{name}"',
        detail=f"{library} is loaded, and has no such setting: a server takes it, and nothing "
        f"follows. There are {', '.join(own)}.",
        hint=nearest_hint(name, own),
    )


def _require_acting_on_reads(study: Study, arm: Arm, names: Set[str], rules: SettingRules) -> None:
    """StudyError for a setting that acts where data are written, of work that only reads."""
    sides = {"control": study.control, arm_key(study, arm): arm}
    for name in sorted(names & rules.of_statistics.keys()):
        loaded = rules.of_statistics[name]
        values = {key: study.settings_of(side).get(name, loaded) for key, side in sides.items()}
        gathered = any(name in text.lower() for each in sides.values() for text in each.sql)
        if gathered or len({*values.values()}) == 1:
            continue
        statements = " ".join(
            f'--set \'{key}.sql=["SET {name} = {value}", "ANALYZE"]\''
            for key, value in values.items()
            if value != loaded
        )
        raise StudyError(
            f'arms cannot differ in "{name}": it acts where ANALYZE gathers statistics, and those '
            "of all arms were gathered before, alike",
            hint=_AS_THEY_ARE
            if study.is_external
            else f"Have those of an arm gathered so: {statements}",
        )
    for name in sorted(names) if names <= rules.of_stored_values else ():
        raise StudyError(
            f'arms cannot differ in "{name}": it acts where a value is stored, and the work only '
            "reads",
            hint=_AS_THEY_ARE
            if study.is_external
            else "Store the data of an arm anew: "
            f'--set {arm_key(study, arm)}.sql="ALTER TABLE ...", as study '
            "default-toast-compression does; or drive work that writes.",
        )


def _differs_alone(study: Study, setting: re.Pattern[str]) -> bool:
    """Whether arms differ in nothing but such settings, which a server takes and does nothing by
    where it or the machine has not what they are of."""
    differing = {name for arm in study.arms for name in study.declared_differences(arm)}
    return bool(differing) and all(map(setting.fullmatch, differing))


def require_needs(study: Study, engines: Mapping[str, Engine], laboratory: Laboratory) -> None:
    """EngineError for the first need that is not met, with how to get it."""
    if _differs_alone(study, _SETTING_OF_HUGE_PAGES):
        _require_huge_pages(study, engines, laboratory, {"on", "try"})
    elif "huge_pages" in study.needs:
        _require_huge_pages(study, engines, laboratory, {"on"})
    for need in study.needs:
        if need == "pgbouncer":
            if _pooled(study):
                _require_program("pgbouncer", study, "apt-get install pgbouncer")
        elif need == "tls":
            _require_program("openssl", study, "apt-get install openssl")


def arms_left_out(
    study: Study, engines: Mapping[str, Engine], refusals: Mapping[str, tuple[str, str]]
) -> dict[str, MissingFeature]:
    """Arm that needs what its build or the kernel has not → that, in words, and how to get it.
    `refusals`: need → what the kernel says, and what to type."""
    left_out: dict[str, MissingFeature] = {}
    for arm in study.arms:
        for need in arm.needs:
            engine = engines[arm.name]
            missing = engine.missing(need) if isinstance(engine, Abilities) else None
            if missing is None and need in refusals:
                missing = MissingFeature(*refusals[need])
            if missing is not None:
                left_out.setdefault(arm.name, missing)
    return left_out


def _pooled(study: Study) -> bool:
    """Whether an arm comes through the PgBouncer that is installed."""
    poolers = (pooler_of(arm) for arm in study.every_arm)
    return any(pooler and pooler.name == "pgbouncer" and not pooler.program for pooler in poolers)


def require_machines(study: Study, laboratory: Laboratory) -> None:
    """UsageError where the load would come from fewer machines than the study says, or from more:
    the result would not be comparable."""
    required, there = study.workload.machines, laboratory.drivers.machines
    if required != there:
        raise UsageError(
            f"the load of this study comes from {required} machines, and not from {there}",
            hint="Only `steelyard weigh` puts load on by several machines: --machines N.",
        )


def _require_ability(study: Study, arm: str, engine: Engine, need: str) -> None:
    if not isinstance(engine, Abilities):
        raise StudyError(
            f'engine "{engine.identity.kind}" does not tell whether it has "{need}"',
            hint='Leave it out of "needs".',
        )
    missing = engine.missing(need)
    if missing is not None:
        raise EngineError(
            f'cannot weigh "{study.name}": arm "{arm}" needs {need}, and {missing.why}',
            hint=missing.how,
        )


def _require_huge_pages(
    study: Study,
    engines: Mapping[str, Engine],
    laboratory: Laboratory,
    values: Container[str],
) -> None:
    """Those that are free must hold the shared memory of all arms whose setting is one of
    `values`."""
    needed, pool = 0, MemorySettings().pool
    for arm in study.every_arm:
        engine = engines[arm.name]
        if isinstance(engine, NeedsMemory):
            memory = engine.memory_need(study.settings_of(arm))
            if memory.huge_pages in values:
                needed += -(-shared_memory_bytes(memory.pool_bytes) // HUGE_PAGE_BYTES)
                pool = memory.settings.pool
    free = laboratory.host.huge_pages_free()
    if free < needed:
        raise EngineError(
            f'cannot weigh "{study.name}": about {needed} free huge pages are needed, and this '
            f"machine has {free}",
            hint=f"As root: sysctl -w vm.nr_hugepages=$(($(sysctl -n vm.nr_hugepages) + "
            f"{needed - free})), so many fewer afterwards. Or with smaller {pool}.",
        )


def _require_program(name: str, study: Study, how: str) -> None:
    if shutil.which(name) is None and shutil.which(name, path=_ADMINISTRATORS) is None:
        raise EngineError(
            f'cannot weigh "{study.name}": the program "{name}" is not installed', hint=f"{how}."
        )
