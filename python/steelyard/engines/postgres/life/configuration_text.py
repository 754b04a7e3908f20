"""Writes settings as a configuration file of a cluster, with room for two segments of its log."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings
from steelyard.engines.postgres.life.control import control_of
from steelyard.model.setting_value import size_bytes

MAIN, AUTOMATIC = "postgresql.conf", "postgresql.auto.conf"
_LIMITS = {"min_wal_size": 80 << 20, "max_wal_size": 1 << 30}
"""Their defaults, whatever the size of a segment (guc_tables.c). A server does not start where one
is less than two segments (ReadControlFile of xlog.c)."""


def configuration_text(settings: Settings) -> str:
    """The file of settings, a line each whatever is in a value; letters that are no UTF-8 are
    surrogates."""
    lines = [f"{name} = {quoted_value(value)}\n" for name, value in settings.items()]
    return "# Written by Steelyard.\n" + "".join(lines)


def quoted_value(value: str) -> str:
    """A value as a file holds it. It is a C string: what follows a zero is lost."""
    return "'" + "".join(map(_escaped, value.partition("\0")[0])) + "'"


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return letter * 2
    if letter < " " or letter == "\x7f":
        return f"\\{ord(letter):03o}"
    return letter


def write_configuration(account: Account, file: Path, settings: Settings) -> None:
    """Write the file as the account that its directory belongs to; a link there is not followed.
    OSError: it cannot be written."""
    content = configuration_text(settings).encode("utf-8", errors="surrogateescape")

    def write() -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, 0o600), "wb") as opened:
            opened.write(content)

    account.call(write)


def enough_log(directory: Path, settings: Settings) -> dict[str, str]:
    """The settings with limits of the log that hold two segments of the cluster's, where they say
    less."""
    least = _least_bytes(directory)
    raised = {
        name: f"{least >> 20}MB"
        for name, value in settings.items()
        # None: the server says what is wrong with it.
        if name in _LIMITS and (size := size_bytes(value, "MB")) is not None and size < least
    }
    return {**settings, **raised}


def log_limits(directory: Path) -> dict[str, str]:
    """The limits of the log that a cluster needs in a file, since the defaults are too small."""
    least = _least_bytes(directory)
    return {name: f"{least >> 20}MB" for name, default in _LIMITS.items() if default < least}


def _least_bytes(directory: Path) -> int:
    try:
        control = control_of(directory)
    except (OSError, ValueError):  # of a version that is not known yet: the server decides
        return 0
    return 2 * int(control["wal_segment_size"])
