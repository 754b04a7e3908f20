"""Turns `--address` and `address=` into overrides of a study: sessions of servers that run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from steelyard.engines.postgres.libpq.connection_string import (
    connection_words,
    read_target,
    without_password,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.study.address import holds_password
from steelyard.study.study import Study

ADDRESS = "address="


def with_addresses(
    changes: Sequence[str], common: str | None, control: str | None, arm: str | None
) -> list[str]:
    """Overrides with those of the addresses; the same where none was given."""
    found = address_changes(common, control, arm)
    return [*with_own_workload(changes), *found] if found else list(changes)


def address_changes(common: str | None, control: str | None, arm: str | None) -> list[str]:
    """The keys of the study that its address and those of its arms stand for; none where no address
    was given. `control`, `arm`: as the options of these names say, other words of theirs ignored.

    A password goes to PGPASSWORD, where libpq and the load find it, and into no record.
    UsageError: no connection string, or two passwords.
    """
    given = {"address": common, "control.address": _of(control), "arm.address": _of(arm)}
    found = {key: words for key, words in given.items() if words is not None}
    if not found:
        return []
    passwords = {connection_words(words).get("password") for words in found.values()} - {None}
    if len(passwords) > 1:
        raise UsageError(
            "the addresses have two passwords",
            hint="Leave them to a password file, ~/.pgpass: a record must not hold them.",
        )
    for password in passwords:
        os.environ["PGPASSWORD"] = str(password)
    # What the study would start its own servers with is none of a running one's.
    return ["settings={}", *(f"{key}={json.dumps(_bare(words))}" for key, words in found.items())]


def with_own_workload(changes: Sequence[str]) -> list[str]:
    """Overrides in which the user's scripts are driven, unless a workload is named."""
    named = any(
        one.partition("=")[0] in ("workload", "workload.name", "workload.scale") for one in changes
    )
    return [*([] if named else ["workload=own"]), *changes]


def endpoint_at(words: str) -> Endpoint:
    """Where a connection string leads, completed as libpq does; UsageError: it is none."""
    return read_target(words)


def without_passwords(arguments: Sequence[str]) -> list[str]:
    """A command's arguments as they may be kept: no address says its password."""
    return [_argument(one) for one in arguments]


def require_agreed(study: Study, *, agreed: bool) -> None:
    """UsageError where scripts write into a database that Steelyard did not make, without --yes."""
    if not study.reaches or agreed:
        return
    from steelyard.workloads.reading.resolved import resolve

    resolved = resolve(study.workload)
    writing = [script.name for script in resolved.scripts if script.writes]
    if writing and not resolved.workload.loaded:
        raise UsageError(
            f'script "{writing[0]}" writes into the database at {_places(study)}',
            detail="Steelyard did not make it, and what was written stays there.",
            hint="Agree with --yes, or weigh a copy: steelyard weigh ... --from DSN",
        )


def _places(study: Study) -> str:
    words = (study.address, *(arm.address for arm in study.every_arm))
    return " and ".join(f'"{one}"' for one in dict.fromkeys(words) if one)


def _of(option: str | None) -> str | None:
    if option is None or not option.startswith(ADDRESS):
        return None
    return option.removeprefix(ADDRESS)


def _bare(words: str) -> str:
    """Without its password."""
    if not holds_password(words):
        return words
    return without_password(words)


def _argument(argument: str) -> str:
    option, equals, words = (
        argument.partition("=") if argument.startswith("--") else ("", "", argument)
    )
    before = option + equals
    if words.startswith(ADDRESS):
        before, words = before + ADDRESS, words.removeprefix(ADDRESS)
    if not holds_password(words):
        return argument
    try:
        return before + _bare(words)
    except UsageError:
        return argument
