"""Compares settings, builds, plans and defaults of arms, which may differ only where declared.

Between versions defaults change: 18 reads ahead further than 16 and checks pages unasked. Where
they are not set, they would be part of what is weighed. Aligned, a setting that every arm has gets
the control's default in all of them: what an upgrade changes that keeps its configuration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.model.errors import WeighingError
from steelyard.model.identity import Default, Identity
from steelyard.model.setting_value import number_in, quantity, with_unit

Difference = tuple[str, str, str]
"""(name of the setting, value of the control, value of the arm)."""

_OPTION = re.compile(r"'[^']*'|\S+")
_PLACE = re.compile(r"'--(prefix|[a-z]*dir|with-extra-version)=")
_LISTS = ("configure", "cflags")
"""Fields of a build that are lists of options."""

ABSENT = "(absent)"
"""The value of a setting that one of the two servers does not have."""

VERSION = "version"
"""Declared where versions or builds may differ."""


@dataclass(frozen=True)
class Switch:
    """A setting without which others do nothing."""

    name: str
    off: str | tuple[str, ...]
    """Its values then, as servers report them."""
    on: str
    """What is set to have it on: `"slow_query_log=ON"`."""
    alike: frozenset[str] = frozenset()
    """Values of the other setting that do the same then. None: all do."""
    hint: str = ""
    """What to type where it is nothing that is set."""

    def leaves_idle(self, name: str, settings: Mapping[str, str]) -> bool:
        """Whether it is off in a server, and the setting of this name does nothing there."""
        off = (self.off,) if isinstance(self.off, str) else self.off
        is_alike = not self.alike or settings.get(name) in self.alike
        return settings.get(self.name) in off and is_alike


def _stands_for(entry: str, name: str) -> bool:
    """Whether a setting is the one that an entry names, or begins so where that ends in `_`."""
    return name == entry or (entry.endswith("_") and name.startswith(entry))


@dataclass(frozen=True)
class SettingRules:
    """Which settings of an engine may differ between two servers without being declared."""

    slot: frozenset[str] = frozenset()
    """Belong to the slot, which arms exchange every epoch."""
    places: frozenset[str] = frozenset()
    """Say where a build's files are."""
    compiled: frozenset[str] = frozenset()
    """Were decided when the server was compiled."""
    derived: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Computed by the server from others (an empty set: from any), unless they are set."""
    preloading: frozenset[str] = frozenset()
    """Bring the settings of the modules they load, which are named MODULE.SETTING."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """What such names begin with → the module: of those that act only where they are loaded so, and
    have all of their settings then. A server takes what is none of them, and nothing follows."""
    name_of: Callable[[str], str] = str.lower
    """By what name servers report a setting that a study names: one may write TimeZone."""
    usual_connections: int = 100
    """max_connections of a server that is not told otherwise."""
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """Change nothing for the sessions of a load, and why."""
    of_other_clients: Mapping[str, str] = field(default_factory=dict)
    """Concern clients that come in otherwise than those of a load do, and how these would."""
    of_new_tables: frozenset[str] = frozenset()
    """Act where a table is made: those of a workload are made before its arms are set."""
    of_statistics: Mapping[str, str] = field(default_factory=dict)
    """Act where statistics of tables are gathered, and by what value those of loaded tables are."""
    of_stored_values: frozenset[str] = frozenset()
    """Act where a value is stored, and on none that is there."""
    switches: Mapping[str, Switch] = field(default_factory=dict)
    """Setting, or what names begin with where it ends in `_` → what it does nothing without."""
    planner: frozenset[str] = frozenset()
    """Decide how queries are planned; those that end in `_` by how the names of others begin."""

    def plans(self, declared: Collection[str]) -> bool:
        """Whether one of the declared differences is meant to change plans."""
        return any(_stands_for(each, name) for each in self.planner for name in declared)

    def switch_of(self, name: str) -> Switch | None:
        """What a setting does nothing without, by the name that servers report."""
        switches = (switch for each, switch in self.switches.items() if _stands_for(each, name))
        return next(switches, None)

    def follows(self, difference: Difference, declared: Collection[str]) -> bool:
        """Whether a difference follows from the declared ones."""
        name, ours, theirs = difference
        if VERSION in declared and (
            ABSENT in (ours, theirs) or name in self.compiled | self.places
        ):
            return True
        if "." in name and ABSENT in (ours, theirs) and not self.preloading.isdisjoint(declared):
            return True
        switch = self.switch_of(name)
        if switch is not None and switch.name in declared and not switch.alike:
            return True
        causes = self.derived.get(name)
        if causes is None:
            return False
        return bool(declared) if not causes else not causes.isdisjoint(declared)


@dataclass(frozen=True)
class SettingDifferences:
    """Where the settings of an arm are not those of the control, slot settings left out."""

    declared: list[Difference] = field(default_factory=list)
    undeclared: list[Difference] = field(default_factory=list)
    derived: list[Difference] = field(default_factory=list)  # follow from declared ones

    def refuse_undeclared(self, control: str, arm: str) -> None:
        """WeighingError naming every undeclared difference, if there is one."""
        if not self.undeclared:
            return
        listed = "; ".join(
            f'"{name}" is {ours} and {theirs}' for name, ours, theirs in self.undeclared
        )
        raise WeighingError(
            f'cannot weigh arm "{arm}" against "{control}": they differ where the study'
            " does not declare it",
            detail=f"{listed}.",
            hint="Give both arms the same value under [settings], or declare the difference"
            " in the arm's own settings.",
        )


def compare(
    control: Mapping[str, str],
    arm: Mapping[str, str],
    declared: Collection[str],
    rules: SettingRules,
) -> SettingDifferences:
    """Sort the differences between two servers' settings into declared, derived and not declared.

    With `"version"` among the declared, what only one build knows, what was compiled into it and
    where its files are is derived from it; a shared setting whose value differs is not.
    """
    differences = SettingDifferences()
    named = {rules.name_of(name) for name in declared}
    for name in sorted({*control, *arm} - rules.slot):
        ours, theirs = control.get(name, ABSENT), arm.get(name, ABSENT)
        if ours == theirs:
            continue
        difference = (name, ours, theirs)
        if name.lower() in named:
            differences.declared.append(difference)
        elif rules.follows(difference, {*declared, *named}):
            differences.derived.append(difference)
        else:
            differences.undeclared.append(difference)
    return differences


def same_build(control: Identity, arm: Identity) -> bool:
    """Whether two are one build on this machine, whatever names it goes by: its programs are in one
    directory. Of a server at an address no build is known."""
    ours, theirs = (os.path.realpath(each.bindir) for each in (control, arm))
    return bool(control.bindir and arm.bindir) and (control.kind, ours) == (arm.kind, theirs)


def builds_differ(control: Identity, arm: Identity) -> list[Difference]:
    """(field, control's, arm's) where two builds are not from one builder in one way.

    The same 18.4 from two builders differed by 14 % in throughput: compiler, flags, assertions
    and origin each confound whatever else is compared. The version itself is a setting.
    """
    compared = (
        ("builder", control.builder, arm.builder),
        ("configure", _without_prefix(control.configure), _without_prefix(arm.configure)),
        ("cflags", _without_warnings(control.cflags), _without_warnings(arm.cflags)),
        ("origin", control.origin, arm.origin),
        ("assertions", str(control.assertions), str(arm.assertions)),
    )
    return [difference for difference in compared if difference[1] != difference[2]]


def apart(differences: Sequence[Difference]) -> list[Difference]:
    """`builds_differ` as it is shown: of long lists of options only those that one build alone
    has."""
    return [
        (
            what,
            *(_apart(ours, theirs) if what in _LISTS else (ours or "unknown", theirs or "unknown")),
        )
        for what, ours, theirs in differences
    ]


def _apart(ours: str, theirs: str) -> tuple[str, str]:
    if not ours or not theirs:
        return ours or "unknown", theirs or "unknown"
    mine, others = (_OPTION.findall(text) for text in (ours, theirs))
    return (
        " ".join(word for word in mine if word not in others) or "nothing more",
        " ".join(word for word in others if word not in mine) or "nothing more",
    )


def _without_prefix(configure: str) -> str:
    """Options of configure without the places it installs to and the name of the packaging, which
    are in no instruction."""
    return " ".join(word for word in _OPTION.findall(configure) if not _PLACE.match(word))


def _without_warnings(cflags: str) -> str:
    """Flags without warnings: 18 asks for one more than 16, and they change no code."""
    return " ".join(word for word in cflags.split() if not word.startswith("-W"))


Defaults = Mapping[str, Default]


@dataclass(frozen=True)
class Alignment:
    """Where the defaults of the arms differ from the control's, and what sets them alike."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """For every arm that has the setting; values with their unit."""
    changed: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict)
    """Arm → (name, the control's default, the arm's), of settings that both have."""
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Arm → settings that it has and the control does not: these cannot be set alike."""
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Arm → settings that the control has and it does not."""

    def without(self, names: Collection[str]) -> Alignment:
        """The same with these settings left as they are."""
        remaining = {name: value for name, value in self.settings.items() if name not in names}
        return Alignment(remaining, self.changed, self.added, self.removed)


def compare_defaults(
    control: Defaults,
    arms: Mapping[str, Defaults],
    fixed: Collection[str],
    rules: SettingRules,
) -> Alignment:
    """The differences between the control's defaults and each arm's; `fixed`: set by the study."""
    left_out = rules.slot | rules.places
    settings: dict[str, str] = {}
    changed: dict[str, tuple[Difference, ...]] = {}
    for arm, theirs in arms.items():
        differences: list[Difference] = []
        for name in sorted({*control} & {*theirs} - {*fixed} - left_out):
            ours, other = control[name], theirs[name]
            if "internal" in (ours.context, other.context) or _is_same_default(ours, other):
                continue
            differences.append((name, written(ours), written(other)))
            if ours.value is not None:
                settings[name] = written(ours)
        changed[arm] = tuple(differences)
    return Alignment(
        settings=settings,
        changed=changed,
        added={arm: _settable(theirs, control, left_out) for arm, theirs in arms.items()},
        removed={arm: _settable(control, theirs, left_out) for arm, theirs in arms.items()},
    )


def written(default: Default) -> str:
    """A default as one writes it in postgresql.conf: `"16kB"`, `"128MB"`, `"-1"`, `"on"`."""
    return ABSENT if default.value is None else with_unit(default.value, default.unit)


def _is_same_default(ours: Default, theirs: Default) -> bool:
    if ours.unit == theirs.unit:
        return ours.value == theirs.value
    return _amount(ours) == _amount(theirs)


def _amount(default: Default) -> tuple[str, float | str]:
    """A quantity without its unit; another unit for the same size is no other default."""
    value = default.value or ""
    number = number_in(value, "")
    if number is None or number <= 0:
        return "", value
    return quantity(value, default.unit) or (default.unit, number)


def _settable(known: Defaults, unknown: Defaults, left_out: frozenset[str]) -> tuple[str, ...]:
    names = {name for name, default in known.items() if default.context != "internal"}
    return tuple(sorted(names - {*unknown} - left_out))
