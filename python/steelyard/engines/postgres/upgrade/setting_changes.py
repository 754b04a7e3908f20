"""Compares what two versions make of a server's settings: gone, renamed, other defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.intake.configuration import PRELOADING
from steelyard.engines.postgres.upgrade.outcome import SettingChange
from steelyard.model.identity import BuildDefaults

RENAMED = {
    "force_parallel_mode": "debug_parallel_query",  # 16
    "io_workers": "io_min_workers, io_max_workers",  # 19
    "wal_keep_segments": "wal_keep_size",  # 13, in megabytes
    "ssl_ecdh_curve": "ssl_groups",  # 18; the old name is taken too
    "promote_trigger_file": "pg_promote() or pg_ctl promote",  # 16
    "vacuum_cleanup_index_scale_factor": "vacuum_index_cleanup (storage parameter)",  # 14
}
"""Old name → new one, of the release notes of PostgreSQL 13 to 19."""


def setting_changes(
    offered: ServerSettings,
    old_refused: frozenset[str],
    new_known: ServerSettings,
    old: BuildDefaults,
    new: BuildDefaults,
) -> tuple[SettingChange, ...]:
    """`offered`: the original's, with the names of what a copy is not given of them. `old_refused`:
    of them, what its own version refuses here too. `new_known`: what the new version left."""
    lacking = frozenset(_names(old) - _names(new))
    return (
        *_configured(offered, old_refused - lacking, new_known, new),
        *(_gone(each.what, new) for each in offered.neutralised if each.what in lacking),
        *_defaults(offered.settings, old, new),
    )


def _names(build: BuildDefaults) -> set[str]:
    """As files have them once they are read: in lower case."""
    return {name.lower() for name in build.settings}


def _configured(
    offered: ServerSettings,
    old_refused: frozenset[str],
    new_known: ServerSettings,
    new: BuildDefaults,
) -> Iterator[SettingChange]:
    for name in offered.settings:
        if name in PRELOADING:  # the build of the old version may lack them here, too
            if offered.settings[name] != new_known.settings.get(name):
                lost = _lost(offered.settings[name], new_known.settings.get(name, ""))
                yield SettingChange(name, "library", lost, "", True)
        elif name not in new_known.settings and name not in old_refused:
            yield _gone(name, new)


def _gone(name: str, new: BuildDefaults) -> SettingChange:
    if name in _names(new):
        return SettingChange(name, "value", "", "", True)
    if name in RENAMED:
        return SettingChange(name, "renamed", "", RENAMED[name], True)
    return SettingChange(name, "removed", "", "", True)


def _lost(before: str, after: str) -> str:
    left = {part.strip() for part in after.split(",")}
    return ", ".join(part.strip() for part in before.split(",") if part.strip() not in left)


def _defaults(
    configured: Mapping[str, str], old: BuildDefaults, new: BuildDefaults
) -> Iterator[SettingChange]:
    """Defaults that change under a server which does not set them, and those that it sets."""
    for name, before in sorted(old.settings.items()):
        after = new.settings.get(name)
        if after is None or before.context == "internal":
            continue
        if (before.value, before.unit) != (after.value, after.unit):
            yield SettingChange(
                name,
                "default",
                _with_unit(before.value, before.unit),
                _with_unit(after.value, after.unit),
                name.lower() in configured,
            )


def _with_unit(value: str | None, unit: str) -> str:
    text = "" if value is None else value
    return f"{text} {unit}".strip() if unit and text not in ("", "-1") else text or "(empty)"
