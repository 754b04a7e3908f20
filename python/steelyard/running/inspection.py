"""Looks at the arms before they are weighed: they may differ only where the study declares it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from textwrap import shorten
from typing import Any

from steelyard.engines.differences import (
    Difference,
    Differences,
    builds_differ,
    compare,
    plans_differ,
    told,
)
from steelyard.evaluation.work_done import Asked
from steelyard.model.errors import RecordError
from steelyard.model.threat import Threat, ThreatKind, raise_threat
from steelyard.record.environment import machines_differ
from steelyard.running.observation import plans_of, settings_of
from steelyard.running.progress import Progress
from steelyard.running.setup import Setup
from steelyard.study.declared import declared_names

MOST_STATEMENTS = 3
MOST_WORDS = 160
"""Statements, and characters of each, that a threat names."""


@dataclass(frozen=True)
class Inspection:
    """What the arms are, where they differ, and the doubts that follow from that alone."""

    environment: Mapping[str, Any]
    differences: Mapping[str, Differences]  # arm → against the control
    compared: int  # settings compared
    asked: Asked
    declared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Arm → names of what may differ from the control: settings, "data_checksums", "version"."""
    threats: tuple[Threat, ...] = field(default=())  # about every arm
    own: Mapping[str, tuple[Threat, ...]] = field(default_factory=dict)  # arm → its own

    def threats_to(self, arm: str) -> tuple[Threat, ...]:
        """The doubts about the contrast of an arm."""
        return (*self.threats, *self.own.get(arm, ()))


def inspect_arms(setup: Setup, progress: Progress) -> Inspection:
    """Start every arm once and compare; WeighingError when they differ where not declared."""
    progress.stage("compare the arms")
    laboratory = setup.laboratory
    with setup.started_arms(0, "restore") as standing:
        prepared = setup.slots.arms[setup.study.control.name]
        place = laboratory.host.environment(standing, setup.scripts, prepared.templates[0])
        settings = {arm: settings_of(instance) for arm, instance in standing.items()}
        plans = {arm: plans_of(instance, setup.scripts) for arm, instance in standing.items()}
        identities = {arm: instance.identity for arm, instance in standing.items()}
    seen = {**place, "workload": setup.study.workload.model_dump(mode="json")}
    control, rules = setup.study.control, prepared.engine.setting_rules
    differences: dict[str, Differences] = {}
    own: dict[str, tuple[Threat, ...]] = {}
    names: dict[str, frozenset[str]] = {}
    for arm in setup.study.arms:
        declared = declared_names(setup.study, control, arm) | setup.builds.declared(arm.name)
        names[arm.name] = frozenset(declared)
        found = compare(settings[control.name], settings[arm.name], declared, rules)
        found.refuse_undeclared(control.name, arm.name)
        differences[arm.name] = found
        builds = builds_differ(identities[control.name], identities[arm.name])
        changed = plans_differ(plans[control.name], plans[arm.name])
        pair = f"{control.name} and {arm.name}"
        own[arm.name] = tuple(_unlike(pair, builds, changed))
    common = _machine_changed(setup, seen)
    if laboratory.drivers.build_profile() != "release":
        common.append(raise_threat(ThreatKind.DEBUG_BUILD, "the load driver is a debug build"))
    for threat in (*common, *chain.from_iterable(own.values())):
        progress.threat(threat.to_json())
    asked = Asked(len(plans[control.name]), any(script.writes for script in setup.scripts))
    compared = len(settings[control.name])
    return Inspection(seen, differences, compared, asked, names, tuple(common), own)


def _unlike(
    pair: str, builds: Sequence[Difference], changed: Sequence[Difference]
) -> Iterator[Threat]:
    """Two arms of different builds, or that run different plans."""
    if builds:
        yield raise_threat(ThreatKind.BUILDS_DIFFER, f"{pair}: {told(builds)}")
    if changed:
        words = shown_statements([statement for statement, _, _ in changed])
        yield raise_threat(ThreatKind.PLANS_DIFFER, f"{pair}: {words}")


def shown_statements(statements: Sequence[str]) -> str:
    """The first few, each cut to what tells it from others, and how many more there are."""
    shown = [shorten(one, MOST_WORDS, placeholder=" …") for one in statements[:MOST_STATEMENTS]]
    more = len(statements) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _machine_changed(setup: Setup, seen: Mapping[str, Any]) -> list[Threat]:
    """Write environment.json, or compare with the one that an interrupted weighing wrote."""
    try:
        earlier = setup.record.read("environment.json")
    except RecordError:
        setup.record.write("environment.json", dict(seen))
        return []
    changes = machines_differ(earlier.get("machine", {}), seen.get("machine", {}))
    return [raise_threat(ThreatKind.MACHINE_CHANGED, "; ".join(changes))] if changes else []
