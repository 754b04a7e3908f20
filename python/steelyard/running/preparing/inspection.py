"""Inspects the arms before they are weighed: they may differ only where the study declares it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from steelyard.engines.differences import VERSION, apart, builds_differ, compare, same_build
from steelyard.engines.loading import DATABASE
from steelyard.evaluation.threats.inspection import (
    SettingsMissing,
    common_threats,
    own_threats,
    source_notes,
    source_threats,
)
from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.model.secrets.redaction import hidden_settings
from steelyard.record.environment import (
    ArmDifferences,
    ArmInspection,
    Environment,
    Inspection,
)
from steelyard.record.epoch import LedgerBalance
from steelyard.record.reader import ENVIRONMENT, INSPECTION, read_environment
from steelyard.record.record import Record
from steelyard.running.layout_choice import LAYOUTS
from steelyard.running.measuring.observation import plans_of, settings_of
from steelyard.running.measuring.slots import Slots
from steelyard.running.preparing.aa_ledger import consult
from steelyard.running.preparing.build_comparison import is_alone, unknown_settings
from steelyard.running.preparing.needs import IdleSetting, idle_settings
from steelyard.running.preparing.places import changes_of_places
from steelyard.running.preparing.planning import (
    changes_of_loads,
    files_of_loads,
    require_same_work,
)
from steelyard.running.preparing.recording import Question
from steelyard.running.preparing.script_trial import execute_scripts
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.arm import Arm
from steelyard.study.study import Study
from steelyard.telemetry.devices import devices_beneath
from steelyard.telemetry.environment import disks_differ, machines_differ, settings_differ
from steelyard.wording.threats.threat import threat_of
from steelyard.wording.unnamed_inserts import unnamed_insert_note


@dataclass(frozen=True)
class Inspected:
    """The environment, and what was found of the arms: what a verdict needs beside the epochs."""

    setup: Setup
    """Without the scripts that failed when each was executed once."""
    environment: Environment
    inspection: Inspection


@dataclass(frozen=True)
class _Arms:
    """What the started arms report of themselves."""

    setup: Setup
    """Without the scripts that fail there."""
    environment: Environment
    settings: Mapping[str, Mapping[str, str]]
    plans: Mapping[str, Mapping[str, str]]
    identities: Mapping[str, Identity]
    idle: Mapping[str, Mapping[str, IdleSetting]]
    """Arm → settings of the study that have no effect."""


def inspect_arms(question: Question, setup: Setup, progress: Progress) -> Inspected:
    """Start every arm once, compare, and consult the A/A ledger; WeighingError when arms differ
    where the study does not declare it. What was found is kept in the record. Every script of the
    user's is executed once on each."""
    progress.stage("compare the arms")
    arms = _read_arms(setup, progress, executes=question.resume is None)
    setup = arms.setup
    if question.resume is None:  # a plan that was made keeps what it set
        LAYOUTS[setup.layout.name].require_time_scale(setup, arms.settings)
    environment, changes = _kept_environment(setup, arms.environment)
    for note in (
        *source_notes(environment.source),
        *bare_settings(setup.study, arms.settings),
        *_passed_over(setup),
        unnamed_insert_note(arms.plans[setup.study.control.name]),
    ):
        if note:
            progress.note(note)
    idle = {name: each for of_arm in arms.idle.values() for name, each in of_arm.items()}
    for name, each in idle.items():
        progress.note(f"{name} has no effect: {each.why}")
    inspection = Inspection(
        compared=len(arms.settings[setup.study.control.name]),
        statements=len(arms.plans[setup.study.control.name]),
        writes=any(script.writes for script in setup.scripts),
        arms={arm.name: _inspect(setup, arms, arm) for arm in setup.study.arms},
        pairs={
            arm.name: _inspect(setup, arms, arm, base)
            for arm in setup.study.arms
            if (base := setup.study.base_of(arm)) is not None
        },
        plans=arms.plans,
        build_profile=setup.laboratory.drivers.build_profile(),
        machine_changes=changes,
        ledger=_consult(question, environment, progress),
    )
    control = setup.study.control.name
    displayed = "" if setup.laid is None else setup.laid.missing  # before the copy was made
    for threat in (*common_threats(inspection), *source_threats(environment.source)):
        if threat != SettingsMissing(displayed):
            progress.threat(threat_of(threat))
    for arm in setup.study.arms:
        for threat in own_threats(inspection, control, arm.name):
            progress.threat(threat_of(threat))
    setup.record.write(INSPECTION, inspection.to_json())
    return Inspected(setup, environment, inspection)


def bare_settings(study: Study, reported: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Settings of the study that have no unit, with the one that the server takes: 128 of
    shared_buffers are 128 blocks. `reported`: arm → setting → value and unit, as the server says.
    """
    bare: dict[str, None] = {}
    for arm in study.every_arm:
        for name, value in study.settings_of(arm).items():
            number, _, unit = reported.get(arm.name, {}).get(name, "").partition(" ")
            if unit and value == number and value.strip("0"):
                times = "× " if unit[:1].isdigit() else ""
                bare[f"{name} = {value} has no unit: the server takes {value} {times}{unit}"] = None
    yield from bare


def _passed_over(setup: Setup) -> Iterator[str]:
    """Settings that servers of arms do not know, where they need not."""
    if isinstance(setup.slots, Slots):
        engines = {name: prepared.engine for name, prepared in setup.slots.arms.items()}
        for arm, names in unknown_settings(setup.study, engines).items():
            if names:
                yield f"{', '.join(sorted(names))} does nothing in the server of {arm}"


def _read_arms(setup: Setup, progress: Progress, *, executes: bool) -> _Arms:
    host = setup.laboratory.host
    with setup.started_arms(0, "restore") as started, setup.phase("inspect"):
        if executes:
            setup = execute_scripts(setup, started, progress)
        environment = host.environment(started, setup.scripts, setup.slots.template)
        files = {**environment.files, **files_of_loads(setup.templates)}
        if setup.laid is not None:
            environment = environment.model_copy(
                update={"source": setup.laid.extend_facts(environment.source)}
            )
        update = {"files": files, "workload": setup.study.workload.model_dump(mode="json")}
        settings = hidden_settings({arm: settings_of(each) for arm, each in started.items()})
        rules = setup.slots.setting_rules
        return _Arms(
            setup,
            _with_record(environment, setup.record).model_copy(update=update),
            settings,
            {arm: plans_of(instance, setup.scripts) for arm, instance in started.items()},
            {arm: instance.identity for arm, instance in started.items()},
            idle_settings(setup.study, settings, rules, setup.scripts) if executes else {},
        )


def _with_record(environment: Environment, record: Record) -> Environment:
    """With whether the record is written to the devices that the data stand on."""
    shared = {*environment.disk.devices} & {*devices_beneath(record.directory).leaves}
    disk = environment.disk.model_copy(update={"holds_record": True})
    return environment.model_copy(update={"disk": disk}) if shared else environment


def _inspect(setup: Setup, arms: _Arms, arm: Arm, base: Arm | None = None) -> ArmInspection:
    """Against the control, or the base. WeighingError: they differ where it is not declared."""
    study, name, control = setup.study, arm.name, base or setup.study.control
    may_differ = study.declared_differences(arm, base) | setup.builds.declared(name)
    if base is not None:
        may_differ |= setup.builds.declared(base.name)
    rules, ours, theirs = (
        setup.slots.setting_rules,
        arms.settings[control.name],
        arms.settings[name],
    )
    differing = {key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)}
    made_by = " ".join(text for side in (arm, control) for text in study.sql_of(side)).lower()
    may_differ |= {key for key in differing if key in made_by}  # ALTER DATABASE … SET
    if _as_it_stands(setup, name):
        may_differ |= differing
    elif arms.identities[control.name].kind != arms.identities[name].kind:
        # Two products: what they do by default is what is weighed, but not what the study gives.
        may_differ |= differing - {rules.name_of(setting) for setting in study.settings}
    differences = compare(ours, theirs, may_differ, rules)
    differences.refuse_undeclared(control.name, name)
    identities = arms.identities[control.name], arms.identities[name]
    idle = arms.idle.get(name, {})
    if base is None and all(setting in idle for setting, *_ in differences.declared):
        names = study.declared_differences(arm) - ({VERSION} if same_build(*identities) else set())
        _require_unlike(study, arm, names, ours, theirs, rules.name_of, idle)
    builds = builds_differ(*identities)
    return ArmInspection(
        may_differ=tuple(sorted(may_differ)),
        differences=ArmDifferences(
            declared=(*differences.declared, *study.differences_outside_settings(arm, base)),
            derived=tuple(differences.derived),
            undeclared=tuple(differences.undeclared),
        ),
        builds=tuple(apart(builds)),
        plans_meant=rules.plans([name for name, *_ in differences.declared])
        or any(key == "sql" for key, *_ in study.differences_outside_settings(arm, base)),
    )


def _require_unlike(
    study: Study,
    arm: Arm,
    different: Set[str],
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
    name_of: Callable[[str], str],
    idle: Mapping[str, IdleSetting],
) -> None:
    """UsageError: settings that are written otherwise (`different`) have one value in both servers,
    or no effect (`idle`), and nothing else sets an arm apart."""
    control, names = study.control, {name_of(name) for name in different}
    settings = {name_of(name) for side in (control, arm) for name in study.settings_of(side)}
    known = settings & {*ours, *theirs}
    if not names or not names <= known | idle.keys() or not is_alone(study, arm):
        return
    if without := sorted(names & idle.keys()):
        reasons = dict.fromkeys(idle[name].why for name in without)
        raise UsageError(
            f"{arm.name} and {control.name} are equal: {' and '.join(reasons)}, so that "
            f"{' and '.join(without)} {'has' if len(without) == 1 else 'have'} no effect",
            hint=idle[without[0]].hint,
        )
    values = ", ".join(f"{name} is {ours.get(name, theirs.get(name))}" for name in sorted(names))
    reset = ", ".join(
        f'"ALTER DATABASE {DATABASE} RESET {name}", "ALTER ROLE ALL RESET {name}"'
        for name in sorted(names)
    )
    raise UsageError(
        f"{arm.name} and {control.name} are equal: {values} in both",
        hint="Give the arm another value, or weigh equal arms as such: steelyard weigh aa"
        if study.source is None
        else "Give the arm another value; or, where the database itself sets one, take that out of "
        f"the copies: --set 'sql=[{reset}]'",
    )


def _as_it_stands(setup: Setup, arm: str) -> bool:
    """Whether whatever differs between an arm and the control is what is weighed: another server,
    or another role or database."""
    addresses = {
        setup.study.control.address,
        *(a.address for a in setup.study.arms if a.name == arm),
    }
    return setup.slots.residency == "several servers" or len(addresses) > 1


def _kept_environment(
    setup: Setup, environment: Environment
) -> tuple[Environment, tuple[str, ...]]:
    """Write environment.json, or compare with the one that an interrupted weighing wrote, which the
    verdict stands on, and what is otherwise. UsageError: the work is not what it was."""
    earlier = read_environment(setup.record)
    if earlier is None:
        setup.record.write(ENVIRONMENT, environment.to_json())
        return environment, ()
    require_same_work(setup.record, earlier, environment)
    changes = machines_differ(earlier.machine.model_dump(), environment.machine.model_dump())
    before, now = earlier.steelyard.version, environment.steelyard.version
    if before and before != now:
        changes.append(f"Steelyard was {before}, is {now}")
    changes += changes_of_loads(earlier, environment)
    every = (*_changes_so_far(setup.record), *changes)  # of every sitting
    every += tuple(_other_conditions(setup, earlier, environment))
    return earlier, tuple(dict.fromkeys(every))


def _other_conditions(setup: Setup, before: Environment, now: Environment) -> Iterator[str]:
    """What of the arms' disks and servers, and of the load driver, is not what it was."""
    if not setup.study.is_external:
        yield from disks_differ(before.disk, now.disk)
        yield from changes_of_places(setup.record, setup.places)
    yield from settings_differ(before, now.redacted(), setup.slots.setting_rules)
    ours, theirs = before.steelyard, now.steelyard
    digests = {ours.driver_sha256, theirs.driver_sha256}
    if ours.version == theirs.version and len(digests - {""}) == 2:
        yield f"the load driver is another build of Steelyard {ours.version}"


def _changes_so_far(record: Record) -> tuple[str, ...]:
    """What an earlier resumption found of the machine."""
    if not (record.directory / INSPECTION).exists():
        return ()
    return Inspection.of_json(record.read(INSPECTION), INSPECTION).machine_changes


def _consult(
    question: Question, environment: Environment, progress: Progress
) -> LedgerBalance | None:
    """None where a new ledger begins with this weighing: earlier entries no longer count."""
    if question.ledger is None:
        return None
    balance = consult(question.ledger, environment.machine, progress)
    return None if question.new_ledger else balance
