"""Passes clients' connections through to a server, for `workloads capture --listen`."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO

from steelyard._core import Proxy, histogram_quantiles
from steelyard.cli.command_line import say
from steelyard.cli.options.sizes import duration_option
from steelyard.driver.plan import DriveArm
from steelyard.model.endpoint import Endpoint, on_this_machine
from steelyard.model.errors import DriverError, EngineError, UsageError
from steelyard.model.units import NS_PER_S, format_duration, whole_number
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.passed.spool import passed_statements
from steelyard.workloads.capturing.passed.startup_settings import startup_settings
from steelyard.workloads.capturing.passed.type_names import NO_TYPES, Types
from steelyard.workloads.capturing.transactions import transactions

Status = Mapping[str, int]
"""What a proxy counted, by name."""
MOST_NOTES = 4 << 30
"""Bytes of notes, in a file without a name beside the folder."""
MOST_CONNECTIONS = 4000
QUANTILES = (0.5, 0.9, 0.99, 0.999)
_LOOK_S = 0.1
_CONNECT_S = 5.0


@dataclass(frozen=True)
class ForwardingDelay:
    """From receiving bytes to having forwarded them, in ns; the wake-up of the thread before it is
    not in it."""

    forwards: int
    mean_ns: float
    max_ns: int
    quantiles_ns: tuple[int, ...]
    """At QUANTILES."""


@dataclass(frozen=True)
class Passed:
    """What was passed through."""

    seconds: float
    status: Status
    added: ForwardingDelay


@dataclass(frozen=True)
class PassingOptions:
    """Where clients come in, and where they are passed on to."""

    listen: str
    target: Endpoint
    length_ns: int | None
    """None: until a signal."""
    certificate: tuple[str, str] | None


def read_passing(
    listen: str, target: Endpoint, length: str | None, certificate: Path | None, key: Path | None
) -> PassingOptions:
    """The options of the command. UsageError: one is wrong."""
    if (certificate is None) != (key is None):
        raise UsageError("options --certificate and --key belong together")
    length_ns = None if length is None else duration_option("--for", length)
    if length_ns == 0:
        raise UsageError("--for 0 is too short: accepted is more than 0")
    return PassingOptions(
        listen=_listen(listen),
        target=target,
        length_ns=length_ns,
        certificate=None if certificate is None else (str(certificate), str(key)),
    )


def _listen(listen: str) -> str:
    """`ADDRESS:PORT` of a port, or of both."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise UsageError(
            f'invalid address to listen on: "{listen}"', hint="Accepted: PORT, ADDRESS:PORT."
        ) from error
    if (number := whole_number(port)) is None or number > 65535:
        raise UsageError(f'invalid port number: "{port}"')
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


@contextlib.contextmanager
def passing(options: PassingOptions, folder: Path) -> Iterator[tuple[Proxy, IO[bytes]]]:
    """A proxy that listens, and the file of its notes; its connections end with the block.

    `folder`: the folder that is to be made. DriverError: the server or the port is not to be had.
    """
    target = options.target
    _require_reachable(target)
    arm = DriveArm("server", target, 1).to_json() | {"password": None}
    with tempfile.TemporaryFile(dir=_existing(folder.absolute().parent)) as notes:
        proxy = Proxy(
            options.listen, json.dumps(arm), notes.fileno(), MOST_NOTES, MOST_CONNECTIONS,
            options.certificate,
        )  # fmt: skip
        try:
            yield proxy, notes
        finally:
            proxy.close()


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _require_reachable(target: Endpoint) -> None:
    """DriverError where nothing listens: a client would be the first to see it."""
    try:
        if target.host.startswith("/"):
            with socket.socket(socket.AF_UNIX) as local:
                local.settimeout(_CONNECT_S)
                local.connect(f"{target.host}/.s.PGSQL.{target.port}")
        else:
            socket.create_connection((target.host, target.port), _CONNECT_S).close()
    except OSError as error:
        raise DriverError(
            f'could not connect to the server at "{target.host}", port {target.port}',
            detail=error.strerror or str(error),
        ) from error


def first_lines(options: PassingOptions, address: str) -> list[str]:
    """Where clients connect, and what is otherwise than at the server itself."""
    target = options.target
    length = options.length_ns
    until = "until Ctrl-C" if length is None else f"for {format_duration(length)}, or until Ctrl-C"
    lines = [f"listening on {address}, passing through to {target.host}:{target.port} {until}"]
    if options.certificate is None:
        lines.append(
            "note: clients are told that there is no encryption here; those that require it need "
            "--certificate and --key"
        )
        if not on_this_machine(address.rpartition(":")[0].strip("[]")):
            lines.append("note: what clients send here crosses the network in plain text")
    elif target.tls is not None:
        lines.append(
            "note: authentication that is bound to the channel (SCRAM-SHA-256-PLUS) passes only "
            "with the server's own certificate; else clients need channel_binding=disable"
        )
    return lines


def wait(options: PassingOptions, address: str) -> float:
    """Say where clients connect, and wait until the time is over, or Ctrl-C; seconds."""
    begun = time.monotonic()
    length_ns = options.length_ns
    ends = float("inf") if length_ns is None else begun + length_ns / NS_PER_S
    with contextlib.suppress(KeyboardInterrupt):  # as soon as it may be pressed
        for line in first_lines(options, address):
            say(line)
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
    return time.monotonic() - begun


def wait_for_clients(proxy: Proxy) -> None:
    """Until every connection has ended by itself, or Ctrl-C ends them."""
    count = proxy.status()["open"]
    if not count:
        return
    say(
        f"recording has ended; {count} connections are still passed through until their clients "
        "end them, new ones are refused. Ctrl-C ends them."
    )
    with contextlib.suppress(KeyboardInterrupt):
        while proxy.status()["open"]:
            time.sleep(_LOOK_S)


@dataclass(frozen=True)
class DatabaseReader:
    """Reads of a database, by its name, what only its server knows."""

    types: Callable[[str], Types]
    """The types that it defines."""
    roles: Callable[[str], Mapping[str, Mapping[str, str]]]
    """Role → setting → value, of what sessions of the role begin with there."""


def passed_mix(
    notes: IO[bytes], status: Status, database: str | None, reader: DatabaseReader
) -> Mix:
    """The kinds of what was passed through. `reader`: is asked for types where values of them were
    sent, and for the roles that did something. UsageError: no statement was."""
    ledger = CaptureLedger()
    notes.seek(0)
    events = passed_statements(notes, ledger, database, cache(partial(_types_of, reader.types)))
    mix = mix_of(transactions(events), ledger=ledger)
    _note_roles(ledger, reader)
    ledger.read += status["lost_statements"]
    ledger.enter(
        StatementOutcome.NOT_RECORDED, status["lost_ns"] / NS_PER_S, status["lost_statements"]
    )
    if not ledger.read:
        raise UsageError(
            "no statement was passed through",
            detail=f"{status['connections']} connections came.",
            hint="Clients must connect to the port of --listen instead of the server's.",
        )
    return mix


def _types_of(read: Callable[[str], Types], database: str) -> Types:
    """The types that a database defines; where they cannot be read it is said, and there are
    none."""
    try:
        return read(database)
    except EngineError as error:
        say(
            f'note: could not read which types database "{database}" defines '
            f"({error.detail or error.primary}): statements with binary values of them are left "
            "out; name a user that may connect in --to"
        )
        return NO_TYPES


def _note_roles(ledger: CaptureLedger, reader: DatabaseReader) -> None:
    """Counts what sessions had set by their role, as if they had done it; where that cannot be
    read it is said."""
    for database in sorted({database for database, _ in ledger.logins}):
        try:
            roles = reader.roles(database)
        except EngineError as error:
            say(
                f'note: could not read what roles set in database "{database}" '
                f"({error.detail or error.primary}): a search_path of ALTER ROLE is not named"
            )
            continue
        for (where, user), sessions in ledger.logins.items():
            settings = roles.get(user, {}) if where == database else {}
            for name in startup_settings(settings.items()):
                ledger.note_setting(name, sessions)


def added_by(proxy: Proxy) -> ForwardingDelay:
    """What the proxy itself added."""
    encoded = proxy.latencies()
    if not encoded:
        return ForwardingDelay(0, 0.0, 0, (0,) * len(QUANTILES))
    read = histogram_quantiles([encoded], list(QUANTILES))
    return ForwardingDelay(read["count"], read["mean_ns"], read["max_ns"], tuple(read["values"]))
