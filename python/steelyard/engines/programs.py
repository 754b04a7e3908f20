"""Starts programs as the server's account, in a clean environment and a session of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from steelyard.engines.account import Account
from steelyard.model.errors import EngineError

CLEAN_ENVIRONMENT: Mapping[str, str] = {
    # No PG* variable, no locale and no time zone of the caller may reach a cluster: initdb would
    # write them into postgresql.conf, and they would differ from machine to machine.
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "TZ": "UTC",
}


def launch(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path,
    output: IO[bytes] | int,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program as the account, in its own session, with `directory` as working directory.

    Standard output and error both go to `output`. The working directory matters: what a killed
    owner leaves behind is found by it (registry.py).
    """
    switch = account.switched
    return subprocess.Popen(
        list(command),
        cwd=directory,
        env={**CLEAN_ENVIRONMENT, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        umask=0o077,
        user=account.uid if switch else None,
        group=account.gid if switch else None,
        extra_groups=[] if switch else None,
    )


def run(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 300,
) -> tuple[int, str]:
    """Exit status and everything a program wrote; EngineError when it cannot be executed."""
    try:
        process = launch(
            account,
            command,
            directory=directory,
            output=subprocess.PIPE,
            environment=environment,
        )
    except OSError as error:
        raise EngineError(
            f'could not execute "{command[0]}" as account "{account.name}": {error.strerror}',
        ) from error
    try:
        written, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise EngineError(f'"{command[0]}" did not end within {timeout_s:.0f} s') from None
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process.returncode, written.decode(errors="replace")
