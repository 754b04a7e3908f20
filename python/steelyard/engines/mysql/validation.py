"""Validates settings before any data is loaded: what a server would take otherwise is refused."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.life.server import quoted, reason
from steelyard.engines.mysql.settings import (
    defaults_of,
    help_of,
    is_optional,
    listed_in,
    normal,
    refuse_slot_settings,
    same_value,
)
from steelyard.model.errors import ServerError, UsageError

_UNKNOWN = re.compile(r"unknown (?:variable|option) '(?:--)?([^'=]+)")
_IGNORED = re.compile(r"\[Warning\].*(ignoring option '.*' due to invalid value '.*')")
_REMOVED = re.compile(r"\[Warning\].*'([^']+)' was removed\. It does nothing")
"""MariaDB's word about an option of older versions, which it takes and does not report."""


def validate_settings(name: str, build: Build, account: Account, settings: Settings) -> None:
    """Raise the error that the server would report at its start; `name` names the server in it.

    `--verbose --help` reads the command line as a starting server does and needs no data
    directory. A value that the server would silently change is refused too.
    """
    refuse_slot_settings(settings)
    status, output = help_of(build, account, settings)
    unknown = next((m for m in _UNKNOWN.finditer(output) if not is_optional(m[1])), None)
    if unknown is not None:
        setting = unknown[1].lower().replace("-", "_")
        near = difflib.get_close_matches(setting, defaults_of(build, account), n=1)
        raise UsageError(
            f'unrecognized setting: "{setting}"',
            detail=f"{name}: {unknown[0]}'",
            hint=f'Perhaps you meant "{near[0]}".' if near else None,
        )
    refusal = reason(output)
    if status != 0 or refusal:
        why = refusal or f"it ended with status {status}"
        raise ServerError(f"{name} refuses the settings: {why}", detail=quoted(output) or None)
    ignored = _IGNORED.search(output)
    if ignored is not None:
        raise ServerError(f"{name} refuses the settings: {ignored[1]}")
    _refuse_removed(name, normal(settings), _REMOVED.findall(output))
    _require_unchanged(name, normal(settings), listed_in(output))


def _refuse_removed(name: str, settings: Mapping[str, str], removed: Collection[str]) -> None:
    """UsageError for a setting that does nothing: arms that differ in it would be equal."""
    for option in (each.lower().replace("-", "_") for each in removed):
        if option in settings:
            raise UsageError(
                f'setting "{option}" does nothing in {name}: it was removed',
                hint=f"Leave it out, or write loose_{option} where it may do nothing.",
            )


def _require_unchanged(
    name: str, settings: Mapping[str, str], listed: Mapping[str, str | None]
) -> None:
    """ServerError for a value that the server takes as another one: 5.7 does so silently."""
    for setting, written in settings.items():
        parsed = listed.get(setting.removeprefix("loose_"))
        if parsed is not None and not same_value(written, parsed):
            raise ServerError(
                f'{name} refuses the settings: "{setting}" = {written} would be taken as {parsed}'
            )
