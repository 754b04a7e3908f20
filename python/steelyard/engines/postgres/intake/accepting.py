"""Finds which settings of another server a build and this machine accept.

All of them are given to a small cluster of its own, which is removed. What the build does not know,
or whose value it does not take, `postgres -C` names without a start: unknown names first, then
values. What only a start shows (libraries, memory, io_uring, two settings that exclude each other)
is left out start by start, a setting each.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.abilities import LIBRARIES
from steelyard.engines.postgres.builds.build import Build, answer_of
from steelyard.engines.postgres.intake.configuration import (
    PRELOADING,
    Configuration,
    listed,
    without_acting,
)
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CHECKSUMS
from steelyard.engines.postgres.mistyped import refuse_mistyped
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError

Create = Callable[..., Cluster]
"""Makes a cluster: (directory, protection=...)."""
REFUSED = "this build or machine does not take it"
"""Of a foreign server's own files: it ran with them. For a named file, `refuse_mistyped`."""
NO_LIBRARY = "this build does not have it"

_LIBRARY = re.compile(r'could not (?:access file|load library) "([^"]+)"')
_SETTING = re.compile(r'\bparameter (?:name )?"([^"]+)"')
_SEVERE = re.compile(r"\b(?:LOG|WARNING|ERROR|FATAL|PANIC):  (.*)")
_MACHINE = (
    # What a start says without the name of the setting (sysv_shmem.c, method_io_uring.c).
    (re.compile(r"map anonymous shared memory|create shared memory segment:(?!.*No space left)"
                r"|huge page", re.IGNORECASE), "huge_pages", ("on", "true", "yes", "1")),
    (re.compile(r"io_uring(?!.*No space left)"), "io_method", ("io_uring",)),
)  # fmt: skip
_OTHER = (
    "archive|column|conversion|database|device|directory|extension|file|function|group|host|index"
    "|library|link|object|origin|pipe|process|program|provider|publication|relation|role|schema"
    "|segment|sequence|slot|socket|subscription|table|tablespace|timeline|type|user|view"
)
"""Of what else PostgreSQL quotes the name behind its noun: `database "shop"`."""
_NAMES = re.compile(rf'(?:\b(?:{_OTHER}) "[^"]*")|"([^"]*)"|\b([a-z]+(?:_[a-z0-9]+)+)\b')


def accepted_settings(
    build: Build, account: Account, create: Create, slot: Slot, offered: ServerSettings
) -> ServerSettings:
    """The settings with which the build starts here, and acts on no other server. UsageError: what
    is mistyped in a file that the user named; EngineError: it starts with none left out that its
    words name, as where there is too little memory."""
    refuse_mistyped(build, account, offered)
    configuration = without_acting(Configuration(offered.settings, offered.neutralised))
    configuration = without_missing_libraries(build, configuration)
    if configuration.settings:
        directory = slot.path / "tried"
        cluster = create(directory, protection=CHECKSUMS)
        try:
            configuration = _named_by_program(build, account, cluster, configuration)
            configuration = _started(cluster, slot, configuration)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    settings, gone = configuration.settings, configuration.neutralised
    return replace(offered, settings=settings, neutralised=gone, named=None)


def known_settings(build: Build, account: Account, offered: ServerSettings) -> ServerSettings:
    """The settings without libraries that the build has not, and without what `postgres -C` refuses
    on its command line; nothing is started. UsageError as `accepted_settings`."""
    refuse_mistyped(build, account, offered)
    configuration = without_missing_libraries(
        build, Configuration(offered.settings, offered.neutralised)
    )
    for _ in range(len(configuration.settings)):
        status, output = answer_of(build, account, "server_version", configuration.settings)
        refused = _refused(output, configuration)
        if status == 0 or not refused:
            break
        for name in refused:
            configuration = configuration.without(name, REFUSED)
    settings, gone = configuration.settings, configuration.neutralised
    return replace(offered, settings=settings, neutralised=gone, named=None)


def without_missing_libraries(build: Build, configuration: Configuration) -> Configuration:
    """Without libraries that are not in the build, where it can be seen which are."""
    tree = build.bindir.parent
    folder = next(
        (
            tree / directory
            for directory in LIBRARIES
            if (tree / directory / "plpgsql.so").is_file()
        ),
        None,
    )
    if folder is None or build.settings:  # another place lends it contrib
        return configuration
    for name in PRELOADING:
        for library in listed(configuration.settings.get(name, "")):
            plain = library.removeprefix("$libdir/").removesuffix(".so")
            if name.startswith("local") and not plain.startswith("plugins/"):
                plain = f"plugins/{plain}"
            if not (folder / f"{plain}.so").is_file():
                configuration = configuration.without_library(library, NO_LIBRARY)
    return configuration


def _named_by_program(
    build: Build, account: Account, cluster: Cluster, configuration: Configuration
) -> Configuration:
    """Without the settings that `postgres -C` refuses by name."""
    command = [build.program("postgres"), "-D", str(cluster.directory), "-C", "server_version"]
    for _ in range(len(configuration.settings) + 1):
        cluster.configure(configuration.settings)
        status, output = run(account, command, environment=build.environment)
        refused = _refused(output, configuration)
        if status == 0 or not refused:
            break
        for name in refused:
            configuration = configuration.without(name, REFUSED)
    return configuration


def _started(cluster: Cluster, slot: Slot, configuration: Configuration) -> Configuration:
    """Without what a start, or a session, refuses."""
    while True:
        cluster.configure(configuration.settings)
        try:
            cluster.start(slot, {"log_error_verbosity": "default"})
            with connected(cluster.address):
                pass
            return configuration
        except ServerError as failure:
            smaller = _without(configuration, failure)
            if smaller == configuration:
                raise _no_start(cluster, failure) from failure
            configuration = smaller
        finally:
            if cluster.running:
                cluster.stop()


def _without(configuration: Configuration, failure: ServerError) -> Configuration:
    """Without what a failed start names; the same where it names nothing that is in it."""
    messages = f"FATAL:  {failure}\n{failure.detail or ''}"
    library = _LIBRARY.search(messages)
    if library is not None:
        for name in (library[1], Path(library[1]).name.removesuffix(".so")):
            smaller = configuration.without_library(name, NO_LIBRARY)
            if smaller != configuration:
                return smaller
    refused = _refused(messages, configuration) or _mentioned(messages, configuration)
    for name in refused[:1]:
        return configuration.without(name, REFUSED)
    return configuration


def _refused(messages: str, configuration: Configuration) -> list[str]:
    """Settings that messages call a parameter, in the order of the messages."""
    lines = _SEVERE.findall(messages)
    names = [name.lower() for line in lines for name in _SETTING.findall(line)]
    return [name for name in dict.fromkeys(names) if name in configuration.settings]


def _mentioned(messages: str, configuration: Configuration) -> list[str]:
    """Settings that the last error names, or whose refusal by this machine it is. A word of a
    message that could be a setting is none where it is the name of something else."""
    settings = configuration.settings
    # What PostgreSQL compares before it has a log begins with the program's name.
    errors = re.findall(r"(?:\b(?:FATAL|PANIC|ERROR):  |^postgres: )(.*)", messages, re.M)
    by_cause = [
        name
        for error in errors
        for pattern, name, values in _MACHINE
        if pattern.search(error) and (settings.get(name, "").lower() in values)
    ]
    names = [name for error in errors if "could not" not in error for name in _names(error)]
    return [*by_cause, *(name for name in names if name in settings)]


def _names(error: str) -> list[str]:
    """What may name settings in an error, in its order: quoted words, and words with an underscore
    that are not quoted."""
    return [quoted.lower() if quoted else plain for quoted, plain in _NAMES.findall(error)]


def _no_start(cluster: Cluster, failure: ServerError) -> EngineError:
    name = f"PostgreSQL {cluster.identity.version}"
    return EngineError(
        f"could not start {name} with the settings of the data's server",
        detail=failure.detail or str(failure),
        hint="Set what this machine cannot hold: --set settings.NAME=VALUE, or name another file: "
        "--config FILE",
    )
