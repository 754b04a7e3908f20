"""Starts and ends the process that adds a round trip between a standby and its primary."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from steelyard.engines.account import Account
from steelyard.engines.local.own_server import require_short
from steelyard.engines.postgres.libpq.connection_string import OwnAddress
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError

_PROGRAM = "steelyard.engines.postgres.replication.delay_process"


@dataclass
class Delay:
    """One life of the process."""

    process: subprocess.Popen[bytes]
    address: Endpoint
    """Where the standby connects in place of the primary."""
    account: Account

    @classmethod
    def start(
        cls, primary: OwnAddress, port: int, round_trip_ns: int, account: Account, directory: Path
    ) -> Self:
        """In front of a primary, on a socket beside its own; EngineError: it did not begin."""
        address = replace(primary, port=port)
        listening = require_short(_socket(address))
        account.remove([listening])
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-m", _PROGRAM, str(listening), str(_socket(primary))),
                *(str(round_trip_ns // 2), str(account.uid), str(account.gid)),
            ],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        started = cls(process, address, account)
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            if not process.stdout.readline():
                raise EngineError(
                    "could not add a round trip between primary and standby: its process ended",
                    detail=process.stderr.read().decode(errors="replace")[-500:].strip() or None,
                )
        except BaseException:
            started.stop()
            raise
        return started

    def stop(self) -> None:
        """End it at once; safe to call twice."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.account.remove([_socket(self.address)])


def _socket(address: Endpoint) -> Path:
    return Path(address.host) / f".s.PGSQL.{address.port}"
