"""Fetches packages of Debian by apt-get and unpacks them; nothing is installed, no script is run.

`apt-get download` needs no privileges: it uses the sources of the machine's own configuration, and
compares what it gets with the index of packages that the distribution signs.
"""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.builds.asking import Answer, ask
from steelyard.engines.mysql.builds.sums import DEBIAN, Brought, compared
from steelyard.model.errors import EngineError

INSTEAD = (
    "Debian, Ubuntu and their relatives have apt-get and dpkg-deb. Elsewhere install it by the "
    "system's own package tool: a library is found then, and a server is added by its directory: "
    "steelyard engines add /usr/sbin"
)
_ADDRESS = re.compile(r"https?://\S+")
_ENGLISH = {"LC_ALL": "C"}


def offered(names: Sequence[str], place: Path) -> list[tuple[str, str]]:
    """(package, version) that apt's lists have of packages: ("libaio1", "0.3.113-4").

    The order is apt's; a package that it does not know is left out.
    """
    done = ask([_program("apt-cache", names[0]), "madison", *names], place, names[0], _ENGLISH)
    rows = [line.split("|") for line in done.said.decode(errors="replace").splitlines()]
    return [(row[0].strip(), row[1].strip()) for row in rows if len(row) == 3]


def download(name: str, version: str, place: Path) -> tuple[Path, Brought]:
    """The package's file in `place`, which must be empty, and its sum, compared with ours where we
    have one. EngineError: apt-get, the network, or another sum."""
    what = f'package "{name}" {version}'
    command = [_program("apt-get", name), "download", "-q", "-y"]
    command += ["-o", "APT::Get::AllowUnauthenticated=false", f"{name}={version}"]
    done = ask(command, place, what, _ENGLISH)
    files = sorted(place.glob("*.deb"))
    if done.status != 0 or len(files) != 1:
        raise _failure(what, done)
    ours = DEBIAN if distribution("ID") == "debian" else {}
    return files[0], compared(files[0], ours.get(files[0].name))


def unpack(file: Path, tree: Path) -> None:
    """Put the files of a package below `tree`."""
    command = [_program("dpkg-deb", file.name), "-x", str(file), str(tree)]
    done = ask(command, file.parent, file.name, _ENGLISH)
    if done.status != 0:
        raise EngineError(f'cannot unpack "{file.name}"', detail=done.errors.strip()[-400:])


def distribution(name: str) -> str:
    """A fact of os-release: "ID" is "debian"; "" where the machine does not have it."""
    try:
        return platform.freedesktop_os_release().get(name, "")
    except OSError:
        return ""


def _program(name: str, what: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise EngineError(f'cannot fetch "{what}": {name} is not installed', hint=INSTEAD)
    return found


def _failure(what: str, done: Answer) -> EngineError:
    """apt-get's error as an EngineError, without the addresses of its sources."""
    lines = [line[3:] for line in done.errors.splitlines() if line.startswith("E: ")]
    words = "; ".join(dict.fromkeys(lines)) or done.errors.strip()[-400:]
    unknown = "Unable to locate" in words or "was not found" in words
    return EngineError(
        f"could not fetch {what} by apt-get",
        detail=_ADDRESS.sub("(address)", words) or None,
        hint="`apt-get update` (as root) brings the lists of packages up to date."
        if unknown
        else "Look at the network, the proxy and apt's sources.",
    )
