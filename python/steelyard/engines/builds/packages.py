"""Runs the tools that fetch packages, each in a directory of its own and killed with its children
if it must end, and compares what they fetched with the SHA-512 of packages that were looked at.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import EngineError

TIMEOUT_S = 600
# Debian 12's, by the name that apt-get gives the file. Other distributions build packages of the
# same names and versions themselves.
DEBIAN: Mapping[str, str] = {
    "mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb": (
        "95b9bcc59d3c14f82757911246f4044caf8a1c50bbb3f039ad3afd205d26ee57"
        "56fb021ea6b39e22a75017ac253c93a5359e95fd17a02cdaa0aa16d58ac45820"
    ),
    "mariadb-server-core_1%3a10.11.18-0+deb12u1_amd64.deb": (
        "a38c8dcd4dad7f989e4d7035da8f54a45798389cd1a409333cfef830aa2893ce"
        "daf72c2ba552a677247aa730271bc8b02aec4c8ab3630955e4408981a8bf8ccd"
    ),
    "libaio1_0.3.113-4_amd64.deb": (
        "7154283652212be8a79ed97c930d632dea71b72b88c103e37661bcbc74b3c8eb"
        "c940c5b83d34932c1ba73aafbd4076b6ae7876ce576a9a59d3b9ba2fb4ec6a58"
    ),
    "liburing2_2.3-3_amd64.deb": (
        "e0b4e0a9580859cefa659a834fd844a3ea6553092b64cac91b06b828735f72ab"
        "30823706e79a51a864e0c29ca9b2c964d8e78ace29b128d22f2f11ab67bb8b1d"
    ),
    "libnuma1_2.0.16-1_amd64.deb": (
        "c873c6c167f8ac722b82e6dd4c84560aad961735f6404b66564678b0ccf2a8ed"
        "42a8593c529a80cb47c5f9bb5c45dcde10a69e954349edeea16c855ea4b01171"
    ),
    "libatomic1_12.2.0-14+deb12u1_amd64.deb": (
        "e9596945b890eaf1c574e74e20d8eef8c3ffc970501b7bcf8983af62f1d47ce7"
        "20760eb513d0a5586c913f830c46493971c4c2d657d2af8b14794f9dbb0ebb53"
    ),
}


@dataclass(frozen=True)
class ToolOutcome:
    """How a tool ended, and what it wrote."""

    status: int
    output: bytes
    errors: str


def run_tool(
    command: Sequence[str], directory: Path, what: str, environment: Mapping[str, str] | None = None
) -> ToolOutcome:
    """The answer of a tool that runs in `directory`, with our environment and `environment`.

    EngineError: `what` could not be fetched within TIMEOUT_S.
    """
    tool = os.path.basename(command[0])
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C meant for us ends it in `finally`, its children too
    )
    try:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"could not fetch {what}: {tool} took more than {TIMEOUT_S} s") from None
    finally:
        with defer_signals():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return ToolOutcome(process.returncode, output, errors.decode(errors="replace"))


@dataclass(frozen=True)
class PinnedPackage:
    """One file that was fetched for a build."""

    file: str
    sha512: str  # in hexadecimal
    pinned: bool  # whether it was compared with a sum that Steelyard holds


def compared(file: Path, expected: str | None) -> PinnedPackage:
    """What was brought; EngineError where it is not what is `expected` (None: nothing known)."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha512").hexdigest()
    if expected is not None and digest != expected:
        raise EngineError(
            f'cannot use "{file.name}": it is damaged or is another one',
            detail=f"Its SHA-512 is {digest}, and the one that is known of it is {expected}.",
            hint="Try again; if it persists, do not trust where it comes from.",
        )
    return PinnedPackage(file.name, digest, expected is not None)
