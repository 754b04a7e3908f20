"""Turns `--address` and `address=` into overrides of a study: sessions of servers that run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.cli.command_line import say
from steelyard.driver.read_only import ON, READ_ONLY
from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.engines.postgres.libpq.connection_words import (
    connection_words,
    without_password,
    without_secrets,
)
from steelyard.engines.sqlserver import uri as sqlserver
from steelyard.model.endpoint import POSTGRES, Endpoint, on_this_machine
from steelyard.model.errors import UsageError
from steelyard.model.secrets.redaction import redacted
from steelyard.model.secrets.secret import Secret
from steelyard.study.change import Change, Table, key_of, says_key
from steelyard.study.read import own_table
from steelyard.study.secrets import holds_password
from steelyard.study.study import Study

ADDRESS = "address="
_OWN = "own"
"""The workload of scripts that the user names."""


def with_addresses(
    changes: Sequence[str],
    common: str | None,
    control: str | None,
    arm: str | None,
    study: str | None = None,
) -> list[str]:
    """Overrides with those of the addresses; the same where none was given. At a SQL Server the
    study's own workload stays: it is loaded there.

    `study`: what a built-in one sets is for servers of its own, and goes; the settings of a user's
    file are those of the sessions, which is said.
    """
    if common is not None and sqlserver.is_sqlserver(common):
        return [*changes, *_at_sqlserver(common, control, arm)]
    addresses = {"--control": _of(control), "--arm": _of(arm)}
    overrides = [*changes, *(["address="] if common is not None else [])]
    missing = [option for option, address in addresses.items() if address is None]
    if len(missing) == 1 and not any(says_key(override, "address") for override in overrides):
        raise UsageError(
            f"the arms need an address each: {missing[0]} has none",
            hint=f'{missing[0]} address="host=... port=... dbname=..."',
        )
    address_keys = address_changes(common, control, arm)
    if not address_keys:
        return list(changes)
    no_settings, *places = address_keys
    own = {} if study is None else own_table(study)
    if not own:  # the study's own settings go, those of the command stay
        return [no_settings, *with_own_workload(changes), *places]
    settings = own.get("settings")
    if isinstance(settings, dict) and settings and "settings" not in map(key_of, changes):
        say(
            f"the settings of {study} are set in the sessions at the address: "
            f"{', '.join(settings)}. To leave them out: --set 'settings={{}}'"
        )
    return [*with_own_workload(changes, own), *places]


def address_changes(common: str | None, control: str | None, arm: str | None) -> list[str]:
    """The keys of the study that its address and those of its arms stand for; none where no address
    was given. `control`, `arm`: as the options of these names say, other words of theirs ignored.

    No password is among them: `address_password` has it, and refuses what is no address.
    """
    addresses = _given(common, control, arm)
    if not addresses:
        return []
    # What the study would start its own servers with is none of a running one's.
    return [
        Change("settings", {}),
        *(Change(key, _bare(address)) for key, address in addresses.items()),
    ]


@dataclass(frozen=True)
class AddressPassword:
    """A password that an address held."""

    variable: str
    """Of the environment, where the clients of its server look for it."""
    password: Secret

    def export(self) -> None:
        """Hand it to this process and those that it starts; it is in no study and no record."""
        os.environ[self.variable] = self.password.reveal()


def address_password(
    common: str | None, control: str | None, arm: str | None
) -> AddressPassword | None:
    """The password in the addresses of a command; None: they hold none. UsageError: no connection
    string or URI, or two passwords."""
    if common is not None and sqlserver.is_sqlserver(common):
        _, password = sqlserver.without_password(common)
        return None if password is None else AddressPassword("SQLCMDPASSWORD", password)
    every = _given(common, control, arm).values()
    passwords = {connection_words(address).get("password") for address in every} - {None}
    if len(passwords) > 1:
        raise UsageError(
            "the addresses have two passwords",
            hint="Leave them to a password file, ~/.pgpass: a record must not hold them.",
        )
    return next((AddressPassword("PGPASSWORD", Secret(str(word))) for word in passwords), None)


def _given(common: str | None, control: str | None, arm: str | None) -> dict[str, str]:
    """Key of the study → the address that an option gives."""
    addresses = {"address": common, "control.address": _of(control), "arm.address": _of(arm)}
    return {key: address for key, address in addresses.items() if address is not None}


def _at_sqlserver(common: str, control: str | None, arm: str | None) -> list[str]:
    """The key of the study."""
    if _of(control) is not None or _of(arm) is not None:
        raise UsageError(
            "the arms of SQL Server are databases on one server: give --address alone",
            hint="What they differ in are their settings: --set arm.settings.page_verify=NONE",
        )
    sqlserver.read_uri(common)
    return [Change("address", sqlserver.without_password(common)[0])]


def with_own_workload(changes: Sequence[str], own: Table | None = None) -> list[str]:
    """Overrides in which the user's scripts are driven, unless a workload is named. `own`: what a
    study file of the user's says, whose clients and the like stay; a workload of it that is left
    out is said."""
    has_workload = any(
        key_of(change) in ("workload", "workload.name", "workload.scale") for change in changes
    )
    workload = (own or {}).get("workload")
    name = workload.get("name") if isinstance(workload, dict) else workload
    if has_workload or name == _OWN:
        return [*changes]
    if isinstance(workload, dict) and name is None:
        return [Change("workload.name", _OWN), *changes]
    if name is not None:
        say(
            f'workload "{name}" of the study is left out: scripts of the command are driven. To '
            f"drive it on the data that are there: --set {shlex.quote(f'workload={name}')}"
        )
    return [f"workload={_OWN}", *changes]


def endpoint_at(address: str) -> Endpoint:
    """Where a connection string leads, completed as libpq does; UsageError: it is none."""
    return read_target(address)


def without_passwords(arguments: Sequence[str]) -> list[str]:
    """A command's arguments as they may be kept: no address says its password."""
    return [_argument(argument) for argument in arguments]


def quoted_address(words: Sequence[str]) -> str:
    """A connection string that a shell took apart, in quotes, without what it has of secrets; with
    the `address=` of an arm's."""
    whole = " ".join(words)
    address = whole.removeprefix(ADDRESS)
    return shlex.quote(whole[: len(whole) - len(address)] + without_secrets(address))


def require_agreed(study: Study, *, agreed: bool) -> None:
    """UsageError without --yes where scripts write into a database that Steelyard did not make, or
    databases are made on a server that is not on this machine."""
    if not study.is_external or agreed:
        return
    if study.uses_own_databases:
        _require_near(study)
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


def require_own_servers(study: Study, account: str | None) -> None:
    """UsageError: an account is named for servers, and the study starts none."""
    if account is not None and study.is_external:
        raise UsageError(
            f"option --as has no effect: the server at {_places(study)} runs already",
            hint="Leave it out: it is the account of servers that are started for a weighing.",
        )


def with_read_only_sessions(study: Study, *, agreed: bool) -> Study:
    """The study whose sessions begin read-only where scripts that read are driven at an address of
    PostgreSQL: what functions of a query do, its text does not say. The same with --yes, where
    some write, and where they are copies. UsageError: a setting says that they may write."""
    if not study.is_external or agreed or study.engine != POSTGRES:
        return study
    from steelyard.workloads.reading.resolved import resolve

    if not resolve(study.workload).begins_read_only:
        return study
    for arm in study.every_arm:
        own = study.settings_of(arm).get(READ_ONLY, ON)
        if own != ON:
            raise UsageError(
                f'sessions of arm "{arm.name}" would not begin read-only: {READ_ONLY} is {own}',
                detail="Queries are driven at an address: functions that they call might write.",
                hint="Leave the setting out, or agree with --yes.",
            )
    settings = {READ_ONLY: ON, **study.settings}
    return study.model_copy(update={"settings": settings})


def agreed_at_address(study: Study, *, agreed: bool) -> Study:
    """The study as it may be weighed at its address; the same of servers that are made. UsageError:
    as of `require_agreed` and `with_read_only_sessions`."""
    require_agreed(study, agreed=agreed)
    return with_read_only_sessions(study, agreed=agreed)


def _require_near(study: Study) -> None:
    host = sqlserver.read_uri(study.address or "").host
    if not on_this_machine(host):
        raise UsageError(
            f'{len(study.every_arm)} databases would be made and loaded on the server at "{host}"',
            detail="Their names begin with steelyard_, and they are dropped at the end.",
            hint="Agree with --yes.",
        )


def _places(study: Study) -> str:
    addresses = (study.address, *(arm.address for arm in study.every_arm))
    return " and ".join(f'"{address}"' for address in dict.fromkeys(addresses) if address)


def _of(option: str | None) -> str | None:
    if option is None or not option.startswith(ADDRESS):
        return None
    return option.removeprefix(ADDRESS)


def _bare(address: str) -> str:
    """Without its password."""
    if not holds_password(address):
        return address
    if sqlserver.is_sqlserver(address):
        return sqlserver.without_password(address)[0]
    return without_password(address)


def _argument(argument: str) -> str:
    option, equals, value = (
        argument.partition("=") if argument.startswith("--") else ("", "", argument)
    )
    before = option + equals
    if value.startswith(ADDRESS):
        before, value = before + ADDRESS, value.removeprefix(ADDRESS)
    if not holds_password(value):
        return redacted(argument)
    try:
        bare = _bare(value)
    except UsageError:
        bare = value
    return before + (without_secrets(bare) if holds_password(bare) else bare)
