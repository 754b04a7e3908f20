"""Fetches packages of Debian by apt-get and unpacks them; nothing is installed, no script is run.

`apt-get download` needs no privileges: it uses the sources of the machine's own configuration, and
compares what it gets with the index of packages that the distribution signs. Other suites of the
same source are read into lists of our own, beside the machine's, which stay as they are.
"""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.builds.added import new_directory
from steelyard.engines.builds.packages import DEBIAN, PinnedPackage, ToolOutcome, compared, run_tool
from steelyard.model.errors import EngineError

INSTEAD = (
    "Debian, Ubuntu and their relatives have apt-get and dpkg-deb. Elsewhere install it by the "
    "system's own package tool: a library is found then, and a server is added by its directory: "
    "steelyard engines add /usr/sbin"
)
KEYRINGS = tuple(Path("/usr/share/keyrings/debian-archive-keyring").with_suffix(suffix)
                 for suffix in (".pgp", ".gpg"))  # fmt: skip
"""Debian's keys, of package debian-archive-keyring; without them apt uses what it trusts itself."""
_ADDRESS = re.compile(r"https?://\S+")
_FIELD = re.compile(r"^([A-Z][A-Za-z-]*): *(.*)$", re.MULTILINE)
_ENGLISH = {"LC_ALL": "C"}


def offered(
    names: Sequence[str], directory: Path, options: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """(package, version) that apt's lists have of packages: ("libaio1", "0.3.113-4").

    The order is apt's; a package that it does not know is left out. `options` are of lists of our
    own (`other_suites`).
    """
    command = [_program("apt-cache", names[0]), *options, "madison", *names]
    done = run_tool(command, directory, names[0], _ENGLISH)
    rows = [line.split("|") for line in done.output.decode(errors="replace").splitlines()]
    return [(row[0].strip(), row[1].strip()) for row in rows if len(row) == 3]


def records(
    names: Sequence[str], directory: Path, options: Sequence[str] = ()
) -> list[dict[str, str]]:
    """What apt's lists say of every version of packages, by field: "Package", "Version",
    "Depends"."""
    command = [_program("apt-cache", names[0]), *options, "show", *names]
    done = run_tool(command, directory, names[0], _ENGLISH)
    text = done.output.decode(errors="replace")
    return [dict(_FIELD.findall(record)) for record in text.split("\n\n") if record.strip()]


def other_suites(suites: Sequence[str], directory: Path) -> list[str]:
    """Read further suites of the machine's own source of Debian into lists below `directory`; the
    options with which apt's tools use them.

    EngineError: apt has no source of Debian, or could not fetch the lists. The lists of apt must
    be signed by Debian's keys, as the machine's own.
    """
    address = _source(directory)
    home = new_directory(directory / "apt")
    for part in ("sources", "lists", "lists/partial", "archives", "archives/partial"):
        new_directory(home / part)
    (home / "status").touch()
    keys = next((file for file in KEYRINGS if file.is_file()), None)
    signed = f"Signed-By: {keys}\n" if keys else ""
    (home / "sources/debian.sources").write_text(
        f"Types: deb\nURIs: {address}\nSuites: {' '.join(suites)}\nComponents: main\n{signed}"
    )
    facts = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": home / "sources",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State": home,
        "Dir::State::status": home / "status",
        "Dir::Cache": home,
        # Read once: containers are often configured to keep no such file.
        "Dir::Cache::pkgcache": home / "pkgcache.bin",
        "Dir::Cache::srcpkgcache": home / "srcpkgcache.bin",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Default-Release": "",
    }
    options = [part for key, value in facts.items() for part in ("-o", f"{key}={value}")]
    what = f"lists of {' and '.join(suites)}"
    done = run_tool(
        [_program("apt-get", what), *options, "update", "-q"], directory, what, _ENGLISH
    )
    if done.status != 0:
        raise _failure(what, done)
    return options


def _source(directory: Path) -> str:
    """Where the machine's own apt gets packages of Debian."""
    command = [_program("apt-get", "packages of Debian"), "indextargets"]
    command += ["--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    done = run_tool(command, directory, "the sources of apt", _ENGLISH)
    # The source of security updates has neither of the suites that are wanted.
    lines = [line for line in done.output.decode().split() if "-security" not in line]
    if not lines:
        raise EngineError(
            "could not fetch packages of Debian: apt has no source of Debian's packages",
            hint="`apt-get update` (as root) reads the lists of the sources that there are; or add "
            "a build of your own: steelyard engines add DIRECTORY",
        )
    return lines[0]


def satisfies(version: str, relation: str, required: str, directory: Path) -> bool:
    """Whether a version fulfils a relation of Debian's (">=", "=", "<<"); none asks for nothing."""
    if not relation:
        return True
    command = [_program("dpkg", "packages of Debian"), "--compare-versions"]
    return (
        run_tool([*command, version, relation, required], directory, "dpkg", _ENGLISH).status == 0
    )


def download(name: str, version: str, directory: Path) -> tuple[Path, PinnedPackage]:
    """The package's file in `directory`, which must be empty, and its sum, compared with ours where
    we have one. EngineError: apt-get, the network, or another sum."""
    ((file, package),) = download_all([(name, version)], directory)
    return file, package


def download_all(
    packages: Sequence[tuple[str, str]], directory: Path, options: Sequence[str] = ()
) -> list[tuple[Path, PinnedPackage]]:
    """The files of packages, as (name, version), by name, in one call of apt-get. EngineError."""
    (name, version), *others = packages
    what = f'package "{name}" {version}' + (f" and {len(others)} more" if others else "")
    command = [_program("apt-get", name), *options, "download", "-q", "-y"]
    command += ["-o", "APT::Get::AllowUnauthenticated=false"]
    done = run_tool([*command, *(f"{n}={v}" for n, v in packages)], directory, what, _ENGLISH)
    files = sorted(directory.glob("*.deb"))
    if done.status != 0 or len(files) != len(packages):
        raise _failure(what, done)
    ours = DEBIAN if distribution("ID") == "debian" else {}
    return [(file, compared(file, ours.get(file.name))) for file in files]


def unpack(file: Path, tree: Path) -> None:
    """Put the files of a package below `tree`."""
    command = [_program("dpkg-deb", file.name), "-x", str(file), str(tree)]
    done = run_tool(command, file.parent, file.name, _ENGLISH)
    if done.status != 0:
        raise EngineError(f'cannot unpack "{file.name}"', detail=done.errors.strip()[-400:])


def distribution(name: str) -> str:
    """A fact of os-release: "ID" is "debian"; "" where the machine does not have it."""
    try:
        return platform.freedesktop_os_release().get(name, "")
    except OSError:
        return ""


def _program(name: str, what: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise EngineError(f'cannot fetch "{what}": {name} is not installed', hint=INSTEAD)
    return path


def _failure(what: str, done: ToolOutcome) -> EngineError:
    """apt-get's error as an EngineError, without the addresses of its sources."""
    lines = [line[3:] for line in done.errors.splitlines() if line.startswith("E: ")]
    message = "; ".join(dict.fromkeys(lines)) or done.errors.strip()[-400:]
    unknown = "Unable to locate" in message or "was not found" in message
    return EngineError(
        f"could not fetch {what} by apt-get",
        detail=_ADDRESS.sub("(address)", message) or None,
        hint="`apt-get update` (as root) brings the lists of packages up to date."
        if unknown
        else "Look at the network, the proxy and apt's sources.",
    )
