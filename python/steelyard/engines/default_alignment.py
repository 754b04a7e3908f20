"""Compares the defaults of several builds, and derives the settings that make them equal.

Between versions defaults change: 18 reads ahead further than 16 and checks pages unasked. Where
they are not set, they would be part of what is weighed. Aligned, a setting that every arm has
gets the control's default in all of them: what an upgrade changes that keeps its configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from steelyard.engines.differences import ABSENT, Difference, SettingRules
from steelyard.model.identity import Default

Defaults = Mapping[str, Default]

_FACTORS = {
    "B": 1,
    "kB": 1 << 10,
    "8kB": 8 << 10,
    "16kB": 16 << 10,
    "32kB": 32 << 10,
    "MB": 1 << 20,
    "16MB": 16 << 20,
}
_SPANS_MS = {"ms": 1, "s": 1000, "min": 60_000}


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
        kept = {name: value for name, value in self.settings.items() if name not in names}
        return Alignment(kept, self.changed, self.added, self.removed)


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
        found: list[Difference] = []
        for name in sorted({*control} & {*theirs} - {*fixed} - left_out):
            ours, other = control[name], theirs[name]
            if "internal" in (ours.context, other.context) or _alike(ours, other):
                continue
            found.append((name, written(ours), written(other)))
            if ours.value is not None:
                settings[name] = written(ours)
        changed[arm] = tuple(found)
    return Alignment(
        settings=settings,
        changed=changed,
        added={arm: _settable(theirs, control, left_out) for arm, theirs in arms.items()},
        removed={arm: _settable(control, theirs, left_out) for arm, theirs in arms.items()},
    )


def written(default: Default) -> str:
    """A default as one writes it in postgresql.conf: `"16kB"`, `"128MB"`, `"-1"`, `"on"`."""
    if default.value is None:
        return ABSENT
    number = _number(default.value)
    if number is None or number <= 0 or not default.unit:
        return default.value
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if default.unit in _FACTORS and number * _FACTORS[default.unit] % factor == 0:
            return f"{number * _FACTORS[default.unit] / factor:.0f}{unit}"
    return f"{default.value}{default.unit}"


def _alike(ours: Default, theirs: Default) -> bool:
    if ours.unit == theirs.unit:
        return ours.value == theirs.value
    return _size(ours) == _size(theirs)


def _size(default: Default) -> tuple[str, float | str]:
    """A quantity without its unit; another unit for the same size is no other default."""
    number = _number(default.value or "")
    if number is None or number <= 0:
        return "", default.value or ""
    if default.unit in _FACTORS:
        return "bytes", number * _FACTORS[default.unit]
    if default.unit in _SPANS_MS:
        return "ms", number * _SPANS_MS[default.unit]
    return default.unit, number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _settable(known: Defaults, unknown: Defaults, left_out: frozenset[str]) -> tuple[str, ...]:
    names = {name for name, default in known.items() if default.context != "internal"}
    return tuple(sorted(names - {*unknown} - left_out))
