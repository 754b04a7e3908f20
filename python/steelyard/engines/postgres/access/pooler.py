"""Runs a PgBouncer in front of a server, in transaction mode, on a socket beside the server's.

Its socket lies in the directory that only the account may enter, so it needs no authentication.
Source: pgbouncer.org/config.html.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Slot
from steelyard.engines.local.process_cleanup import kill
from steelyard.engines.programs import launch
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError

POOL = 16
"""Connections to the server that all clients of a database share."""
_PORT_ABOVE = 10_000
"""Over the server's own; it names a socket only."""
_PATIENCE_S, _POLL_S = 10.0, 0.01
_CONFIG = """\
[databases]
* = host={address.host} port={address.port} user={address.user}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {address.host}
unix_socket_mode = 0700
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 2000
ignore_startup_parameters = extra_float_digits,options
"""


@dataclass
class Pooler:
    """One life of a PgBouncer."""

    process: subprocess.Popen[bytes]
    address: Endpoint
    """Where clients connect, with the server's database."""
    account: Account

    @classmethod
    def start(cls, slot: Slot, server: Endpoint, account: Account) -> Pooler:
        """In front of the server at an address; EngineError: it did not begin to serve."""
        found = program()
        if found is None:
            raise EngineError(
                'the program "pgbouncer" is not installed', hint="apt-get install pgbouncer."
            )
        address = replace(server, port=server.port + _PORT_ABOVE)
        config = slot.path / "pgbouncer.ini"
        config.write_text(_CONFIG.format(address=server, port=address.port, pool=POOL))
        config.chmod(0o644)
        with (slot.path / "pgbouncer.log").open("ab") as output:
            process = launch(
                account, [found, "-q", str(config)], directory=slot.path, output=output
            )
        made = cls(process, address, account)
        try:
            made._wait(slot.path / "pgbouncer.log")
        except BaseException:
            made.stop()
            raise
        return made

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        path = f"{self.address.host}/.s.PGSQL.{self.address.port}"
        while not _answers(path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                words = log.read_text(errors="replace")[-2000:].strip()
                raise EngineError("could not start PgBouncer", detail=words or None)
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """End it at once; safe to call twice."""
        kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        socket_file = Path(self.address.host) / f".s.PGSQL.{self.address.port}"
        self.account.remove([socket_file, socket_file.with_name(f"{socket_file.name}.lock")])


def program() -> str | None:
    """Where PgBouncer is; None: nowhere that an administrator would have it."""
    return shutil.which("pgbouncer", path="/usr/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin")


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
