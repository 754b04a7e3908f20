"""Builds a server's command line: what belongs to its slot, and the settings of its arm.

Settings go on the command line, not into a file: the data directory stays byte-identical, and the
server refuses a bad one in words that name it.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.settings import refuse_slot_settings
from steelyard.model.errors import EngineError

SOCKET_PATH_LIMIT = 107  # sun_path of struct sockaddr_un holds 108 bytes with the final zero

_DEFAULTS = {
    "listen_addresses": "",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",  # the words that errors quote
}


def arguments(slot: Slot, settings: Settings) -> list[str]:
    """The server's command line after -D; EngineError for a setting that the slot owns."""
    refuse_slot_settings(settings)
    socket = slot.socket_directory / f".s.PGSQL.{slot.port}"
    if len(str(socket).encode()) > SOCKET_PATH_LIMIT:
        raise EngineError(
            f'socket path "{socket}" is too long: {len(str(socket).encode())} bytes',
            detail=f"A Unix socket's path has at most {SOCKET_PATH_LIMIT} bytes.",
            hint="Choose a shorter directory for the sockets, such as one under /tmp.",
        )
    place = {
        "port": str(slot.port),
        # A quoted list of one: the path may hold a comma or a space.
        "unix_socket_directories": '"' + str(slot.socket_directory).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
    }
    chosen = {**_DEFAULTS, **{name.lower(): value for name, value in settings.items()}, **place}
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]


def prepare_slot(slot: Slot, account: Account) -> Path:
    """Make the slot's directories; the path of its log, which every life appends to."""
    slot.path.mkdir(parents=True, exist_ok=True)
    if account.switched:
        slot.path.chmod(slot.path.stat().st_mode & 0o777 | 0o011)  # to its data directory
    account.make_directory(slot.socket_directory)
    socket = f".s.PGSQL.{slot.port}"
    for remains in (socket, f"{socket}.lock"):  # a killed server's; the slot is ours alone
        (slot.socket_directory / remains).unlink(missing_ok=True)
    return slot.path / "server.log"
