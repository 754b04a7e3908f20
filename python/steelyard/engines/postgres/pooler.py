"""Runs a pooler in front of a server: PgBouncer in transaction mode, or pgpool-II.

Its socket lies in the directory that only the account may enter, so there it needs no
authentication; encrypted, PgBouncer listens on loopback and asks for the password of this life.
Sources: pgbouncer.org/config.html, pgpool.net's manual of 4.3.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.external import PoolerPlan
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import adopting_orphans, kill, tree, wait_for_orphans
from steelyard.engines.postgres.loopback import LOOPBACK, certificate_of
from steelyard.engines.programs import free_port, launch, run
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.model.secrets.secret import Secret

KEEPS_STATEMENTS = (1, 21)
"""The first PgBouncer that keeps prepared statements in transaction mode."""
NAMES = {"pgbouncer": "PgBouncer", "pgpool": "pgpool-II"}
_INSTALL = {"pgbouncer": "apt-get install pgbouncer", "pgpool": "apt-get install pgpool2"}
_PLACES = "/usr/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"
_PORT_ABOVE = 10_000
"""Over the server's own; on a socket it names that only."""
_SPARE = 20
"""Clients and files beside those of the load."""
_PATIENCE_S, _POLL_S, _GOODBYE_S = 10.0, 0.01, 5.0
_PGBOUNCER = """\
[databases]
* = host={address.host} port={address.port} user={address.user}
[pgbouncer]
listen_port = {port}
unix_socket_dir = {address.host}
unix_socket_mode = 0700
pool_mode = transaction
default_pool_size = {plan.connections}
max_client_conn = {clients}
ignore_startup_parameters = extra_float_digits,options
"""
_BY_SOCKET = "listen_addr =\nauth_type = any\n"
_BY_TLS = """\
listen_addr = {listens}
auth_type = scram-sha-256
auth_file = {users}
client_tls_sslmode = require
client_tls_cert_file = {certificate}
client_tls_key_file = {key}
"""
_PGPOOL = """\
backend_clustering_mode = 'raw'
listen_addresses = ''
port = {port}
{sockets} = '{address.host}'
pcp_listen_addresses = ''
pcp_socket_dir = '{home}'
pid_file_name = '{home}/pgpool.pid'
logdir = '{home}'
backend_hostname0 = '{address.host}'
backend_port0 = {address.port}
backend_weight0 = 1
enable_pool_hba = off
pool_passwd = ''
num_init_children = {clients}
max_pool = 1
child_life_time = 0
sr_check_period = 0
health_check_period = 0
"""


@dataclass
class Pooler:
    """One life of a pooler."""

    process: subprocess.Popen[bytes]
    address: Endpoint
    """Where clients connect by the socket, with the server's database."""
    account: Account
    name: str

    @classmethod
    def start(
        cls,
        plan: PoolerPlan,
        slot: Slot,
        server: Endpoint,
        account: Account,
        password: Secret | None = None,
    ) -> Pooler:
        """In front of the server at an address; with a password also encrypted on loopback.
        EngineError: it did not begin to serve."""
        program = require_program(plan)
        version = version_of(plan, account)
        port = server.port + _PORT_ABOVE if password is None else free_port()
        address = replace(server, port=port)
        home = slot.path / "pooler"
        account.make_directory(home)
        clients = plan.clients + _SPARE
        if plan.name == "pgbouncer":
            secured = (
                _BY_SOCKET if password is None else _tls(home, slot, address, account, password)
            )
            text = _PGBOUNCER + secured
            if version >= KEEPS_STATEMENTS:
                text += "max_prepared_statements = 200\n"
            arguments = ["-q", str(slot.path / "pooler.conf")]
        else:
            text = _PGPOOL
            arguments = [
                "-n",
                "-f",
                str(slot.path / "pooler.conf"),
                "-F",
                str(slot.path / "pcp.conf"),
            ]
            _write(slot.path / "pcp.conf", "")
        sockets = "socket_dir" if version < (4, 4) else "unix_socket_directories"
        facts = {"address": server, "port": address.port, "plan": plan, "clients": clients}
        _write(slot.path / "pooler.conf", text.format(**facts, home=home, sockets=sockets))
        log = slot.path / "pooler.log"
        with log.open("ab") as output:
            process = launch(
                account,
                [*_more_files(clients + plan.connections + _SPARE), program, *arguments],
                directory=home,
                output=output,
                environment=_libraries(program),
            )
        started = cls(process, address, account, plan.name)
        try:
            started._wait(log)
        except BaseException:
            started.stop()
            raise
        return started

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        path = f"{self.address.host}/.s.PGSQL.{self.address.port}"
        while not _answers(path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = log.read_text(errors="replace")[-2000:].strip()
                raise EngineError(f"could not start {NAMES[self.name]}", detail=tail or None)
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """End it; safe to call twice. pgpool-II removes its shared memory in a fast shutdown."""
        if self.name == "pgpool" and self.process.poll() is None:
            kill(self.process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GOODBYE_S)
        with adopting_orphans():
            members = tree(self.process.pid) if self.process.poll() is None else []
            for member in members:
                kill(member.pid, signal.SIGKILL)
            self.process.wait()
            wait_for_orphans(member.pid for member in members[1:])
        file = Path(self.address.host) / f".s.PGSQL.{self.address.port}"
        self.account.remove([file, file.with_name(f"{file.name}.lock")])


def program(name: str = "pgbouncer") -> str | None:
    """Where a pooler is; None: nowhere that an administrator would have it."""
    return shutil.which(name, path=_PLACES)


def require_program(plan: PoolerPlan) -> str:
    """The pooler's program, as the study names it or as it is installed; EngineError: there is
    none."""
    if plan.program is not None:
        if not (os.path.isfile(plan.program) and os.access(plan.program, os.X_OK)):
            raise EngineError(
                f'there is no program "{plan.program}" that can be executed',
                hint=f'Name the file of {NAMES[plan.name]}, or leave out "program".',
            )
        return plan.program
    installed = program(plan.name)
    if installed is None:
        raise EngineError(
            f'the program "{plan.name}" is not installed',
            hint=f"{_INSTALL[plan.name]}, or name its file: pooler.program=/opt/bin/{plan.name}",
        )
    return installed


def version_of(plan: PoolerPlan, account: Account) -> tuple[int, ...]:
    """Major and minor version, as the program says it; EngineError: it says none."""
    path = require_program(plan)
    _, output = run(account, [path, "--version"], environment=_libraries(path))
    match = re.search(r"(\d+)\.(\d+)", output)
    if match is None:
        raise EngineError(
            f'"{path}" does not tell its version', detail=output.strip()[-500:] or None
        )
    return int(match[1]), int(match[2])


def _tls(home: Path, slot: Slot, address: Endpoint, account: Account, password: Secret) -> str:
    """Settings of PgBouncer that let clients in encrypted, by the password of this life."""
    certificate, key = certificate_of(slot, account)
    users = home / "users"
    line = f'"{address.user}" "{password.reveal()}"\n'

    def write() -> None:
        users.unlink(missing_ok=True)
        opened = os.open(users, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "w") as file:
            file.write(line)

    account.call(write)
    return _BY_TLS.format(listens=LOOPBACK, users=users, certificate=certificate, key=key)


def _write(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o644)


def _more_files(needed: int) -> Sequence[str]:
    """Words before a program that give it so many open files, where it would have fewer.
    EngineError: the hard limit is below."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if needed <= soft or soft == resource.RLIM_INFINITY:
        return ()
    if resource.RLIM_INFINITY != hard < needed:
        raise EngineError(
            f"the pooler needs {needed} open files, and {hard} are allowed",
            hint=f"Raise the limit, as root (ulimit -Hn {needed}, or nofile in limits.conf), or "
            "take fewer clients: --set workload.clients=...",
        )
    return ("/bin/sh", "-c", f'ulimit -Sn {needed} && exec "$@"', "sh")


def _libraries(program: str) -> dict[str, str]:
    """Where a program that was unpacked and not installed has its libraries."""
    home = Path(program).absolute().parent.parent
    if str(home) in ("/", "/usr", "/usr/local"):
        return {}
    places = {str(file.parent) for file in (home / "lib").rglob("lib*.so*")}
    return {"LD_LIBRARY_PATH": ":".join(sorted(places))} if places else {}


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
