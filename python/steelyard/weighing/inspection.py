"""Looks at the arms before they are weighed: they may differ only where the study declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.arms.arm import declared_names
from steelyard.arms.differences import Differences, builds_differ, compare, told
from steelyard.engines.engine import Instance, Tunable
from steelyard.errors import RecordError
from steelyard.readings.environment import machines_differ
from steelyard.readings.progress import Progress
from steelyard.telemetry.plans import plans_differ
from steelyard.verdict.threat import Threat, ThreatKind, raise_threat
from steelyard.weighing.setup import Setup
from steelyard.weighing.work import Asked


@dataclass(frozen=True)
class Inspection:
    """What the arms are, where they differ, and the doubts that follow from that alone."""

    environment: Mapping[str, Any]
    differences: Mapping[str, Differences]  # arm → against the control
    compared: int  # settings compared
    asked: Asked
    threats: tuple[Threat, ...] = field(default=())


def inspect_arms(setup: Setup, progress: Progress) -> Inspection:
    """Start every arm once and compare; WeighingError when they differ where not declared."""
    progress.stage("compare the arms")
    laboratory = setup.laboratory
    with setup.standing(0, "restore") as standing:
        template = setup.stand.arms[setup.study.control.name].templates[0]
        seen = laboratory.environment(standing, setup.study, setup.scripts, template)
        settings = {arm: _settings(instance) for arm, instance in standing.items()}
        plans = {arm: laboratory.plans(i, setup.scripts) for arm, i in standing.items()}
        identities = {arm: instance.identity for arm, instance in standing.items()}
    control = setup.study.control
    differences: dict[str, Differences] = {}
    threats: list[Threat] = []
    for arm in setup.study.arms:
        declared = declared_names(setup.study, control, arm) | setup.kinship.declared(arm.name)
        found = compare(settings[control.name], settings[arm.name], declared)
        found.refuse_undeclared(control.name, arm.name)
        differences[arm.name] = found
        builds = builds_differ(identities[control.name], identities[arm.name])
        if builds:
            words = f"{control.name} and {arm.name}: {told(builds)}"
            threats.append(raise_threat(ThreatKind.BUILDS_DIFFER, words))
        changed = plans_differ(plans[control.name], plans[arm.name])
        if changed:
            words = "; ".join(statement for statement, _, _ in changed)
            threats.append(
                raise_threat(ThreatKind.PLANS_DIFFER, f"{control.name} and {arm.name}: {words}")
            )
    if laboratory.build_profile() != "release":
        threats.append(raise_threat(ThreatKind.DEBUG_BUILD, "the load driver is a debug build"))
    threats += _machine_changed(setup, seen)
    for threat in threats:
        progress.threat(threat.to_json())
    asked = Asked(len(plans[control.name]), any(script.writes for script in setup.scripts))
    return Inspection(seen, differences, len(settings[control.name]), asked, tuple(threats))


def _machine_changed(setup: Setup, seen: Mapping[str, Any]) -> list[Threat]:
    """Write environment.json, or compare with the one that an interrupted weighing wrote."""
    try:
        earlier = setup.record.read("environment.json")
    except RecordError:
        setup.record.write("environment.json", dict(seen))
        return []
    changes = machines_differ(earlier.get("machine", {}), seen.get("machine", {}))
    return [raise_threat(ThreatKind.MACHINE_CHANGED, "; ".join(changes))] if changes else []


def _settings(instance: Instance) -> dict[str, str]:
    return instance.settings() if isinstance(instance, Tunable) else {}
