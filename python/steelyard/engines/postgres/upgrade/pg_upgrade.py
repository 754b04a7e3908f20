"""Makes the new cluster by initdb and calls pg_upgrade on a copy: notes when it wrote each line,
and keeps times by part and its output.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.owned_files import text_below
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.data_directory import checksum_options
from steelyard.engines.postgres.upgrade.copies import (
    CopyHome,
    Programs,
    configure_for_upgrade,
    occupied_bytes,
)
from steelyard.engines.postgres.upgrade.outcome import PARTS, Attempt, without_paths
from steelyard.engines.programs import piped, run
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.secrets.redaction import redacted

OLD_PROGRAMS = ("postgres", "pg_ctl", "pg_controldata", "pg_resetwal")
NEW_PROGRAMS = (
    *(*OLD_PROGRAMS, "initdb", "pg_dump", "pg_dumpall", "pg_restore", "psql", "vacuumdb"),
    "pg_upgrade",
)
"""What pg_upgrade calls (check_bin_dir of src/bin/pg_upgrade/exec.c), and vacuumdb afterwards."""
_FIRST_FLAGS = {"copy": 0, "link": 0, "clone": 12, "copy-file-range": 17, "swap": 18}
"""The first version whose pg_upgrade has the way."""
_WORDS = (
    ("Creating dump of", "dump of the schema"),
    ("Restoring ", "restore of the schema"),
    ("user relation files", "files"),
    ("Swapping ", "files"),
    ("Copying files", "files"),
    ("Sync data directory", "sync"),
)
WORK = "work"
"""The directory beside an upgraded cluster in which pg_upgrade was called."""
_NOTED = (".txt", ".sql")
_MOST_FILES, _MOST_NOTED_BYTES = 20, 8192
_MOST_BYTES = 4 << 20
"""Of output that is kept; a program that writes more is in trouble, and its end matters less."""


@dataclass(frozen=True)
class Upgrader:
    """Two builds, and how their pg_upgrade is called."""

    old: Programs
    new: Programs
    owner: str  # the first superuser of the old cluster
    jobs: int
    sockets: Path
    wal_segment_bytes: int
    template: tuple[str, str, str]  # encoding, collate, ctype of the old template0
    settings: dict[str, str]  # of the original, as far as both builds take them

    @property
    def account(self) -> Account:
        """The account of both."""
        return self.new.account

    @property
    def environment(self) -> dict[str, str]:
        """For programs of both builds; those of the new one come first."""
        paths = [
            str(engine.build.library_path)
            for engine in (self.new, self.old)
            if engine.build.library_path
        ]
        return {"LD_LIBRARY_PATH": ":".join(paths)} if paths else {}

    def applies(self, way: str) -> bool:
        """Whether the new version's pg_upgrade knows the way."""
        return self.new.identity.version_number // 10000 >= _FIRST_FLAGS[way]

    def make_new(self, directory: Path, *, checksums: bool) -> Cluster:
        """The new cluster, as the upgrade's instructions make it. ServerError: initdb failed."""
        account = self.account
        account.make_directory(directory)
        command = [self.new.build.program("initdb"), "--pgdata", str(directory)]
        command += [*self.initdb_options(checksums=checksums), "--auth=trust", "--no-sync"]
        if self._sets_locale:
            command += ["--encoding=UTF8", "--locale=C"]
        status, output = run(
            account, command, directory=directory, environment=self.new.build.environment
        )
        if status != 0:
            raise ServerError(
                f"could not make a PostgreSQL {self.new.identity.version} cluster",
                detail=output.strip(),
            )
        cluster = Cluster(self.new.build, self.new.identity, account, directory)
        configure_for_upgrade(cluster, self.settings)
        return cluster

    def initdb_options(self, *, checksums: bool) -> list[str]:
        """What the new cluster must have in common with the old one; checksums by name, since
        their default was turned around in 18. From 16 on pg_upgrade sets the locale itself."""
        number = self.new.identity.version_number
        encoding, collate, ctype = self.template
        options = [f"--username={self.owner}"]
        if not self._sets_locale:
            options += [f"--encoding={encoding}", f"--lc-collate={collate}", f"--lc-ctype={ctype}"]
        if self.wal_segment_bytes != 16 << 20:
            options.append(f"--wal-segsize={self.wal_segment_bytes >> 20}")
        return options + checksum_options(number, checksums=checksums)

    @property
    def _sets_locale(self) -> bool:
        return self.new.identity.version_number >= 160000

    def attempt(
        self,
        way: str,
        old: CopyHome,
        new: Cluster,
        report: Callable[[str], None],
        *,
        checksums: bool,
        check_only: bool = False,
    ) -> Attempt:
        """Call pg_upgrade; whatever it says is an outcome, no error."""
        command = [
            self.new.build.program("pg_upgrade"),
            *("--old-datadir", str(old.data), "--new-datadir", str(new.directory)),
            *("--old-bindir", str(self.old.build.bindir)),
            *("--new-bindir", str(self.new.build.bindir)),
            *("--username", self.owner, "--jobs", str(self.jobs)),
            *("--socketdir", str(self.sockets)),
            *([] if way == "copy" else [f"--{way}"]),
            *(["--check"] if check_only else []),
        ]
        label = "pg_upgrade --check" if check_only else f"pg_upgrade --{way}"
        work = new.directory.parent / ("check" if check_only else WORK)
        self.account.make_directory(work)
        before = occupied_bytes(old.path, new.directory.parent)
        progress = _PartProgress(label, report)
        timed = run_timed(self.account, command, work, self.environment, progress.begin)
        worked = timed.status == 0
        after = occupied_bytes(old.path, new.directory.parent)
        noted = "" if worked else _notes(new.directory, work)
        names = self._names(old, new)
        if check_only:
            shutil.rmtree(work)
        return Attempt(
            way=way,
            checksums=checksums,
            check_only=check_only,
            worked=worked,
            seconds=round(timed.seconds, 3),
            parts={} if check_only else parts_of(timed),
            needs_bytes=0 if check_only else max(0, after - before),
            output=redacted(without_paths(timed.output, names)),
            initdb=shlex.join(self.initdb_options(checksums=checksums)),
            noted=redacted(without_paths(noted, names)),
        )

    def _names(self, old: CopyHome, new: Cluster) -> list[tuple[str, str]]:
        return [
            (str(old.data), "OLD_DATA"),
            (str(old.tablespaces), "TABLESPACES"),
            (str(new.directory), "NEW_DATA"),
            (str(new.directory.parent / WORK), "."),
            (str(new.directory.parent / "check"), "."),
            (str(self.old.build.bindir), "OLD_BIN"),
            (str(self.new.build.bindir), "NEW_BIN"),
        ]


def parts_of(timed: TimedRun) -> dict[str, float]:
    """Seconds by PARTS: what lies between the ends of two steps belongs to the later one."""
    parts = dict.fromkeys(PARTS, 0.0)
    previous, upgrading = 0.0, False
    for at, line in timed.lines:
        upgrading = upgrading or line.startswith("Performing Upgrade")
        default = PARTS[2] if upgrading else PARTS[0]
        part = _part(line, default)
        parts[part] += at - previous
        previous = at
    parts[PARTS[2]] += timed.seconds - previous
    return {part: round(seconds, 3) for part, seconds in parts.items()}


def _part(line: str, default: str) -> str:
    return next((part for phrase, part in _WORDS if phrase in line), default)


class _PartProgress:
    """Reports each part of pg_upgrade as it begins; its steps are many and short."""

    def __init__(self, label: str, report: Callable[[str], None]) -> None:
        self._label, self._report = label, report
        self._part = ""

    def begin(self, line: str) -> None:
        """A step began."""
        default = PARTS[0] if line.startswith("Checking") else PARTS[2]
        part = _part(line, default)
        if part != self._part:
            self._part = part
            self._report(f"{self._label}: {part}")


def require_programs(engine: Programs, names: tuple[str, ...], option: str) -> None:
    """EngineError names what pg_upgrade needs and a build has not."""
    missing = [name for name in names if not (engine.build.bindir / name).is_file()]
    if missing:
        version = engine.identity.version
        raise EngineError(
            f"cannot upgrade with this build of PostgreSQL {version}: {', '.join(missing)} missing",
            detail=f'Its programs are in "{engine.build.bindir}".',
            hint=f"Install the whole server (Debian: postgresql-{version.split('.')[0]} and "
            f"postgresql-client-{version.split('.')[0]}), or name another build: {option} DIR.",
        )


def extension_updates(directory: Path) -> tuple[str, ...]:
    """Statements of update_extensions.sql, which pg_upgrade writes into its working directory."""
    try:
        script = text_below(directory, "update_extensions.sql")
    except OSError:
        return ()
    return tuple(line for line in script.splitlines() if line.startswith(("ALTER", "\\connect")))


def _notes(new: Path, work: Path) -> str:
    """The lists that pg_upgrade left of what it refuses, and the last lines of its servers."""
    sections = []
    for top, name in sorted({*_files(new / "pg_upgrade_output.d"), *_files(work)})[:_MOST_FILES]:
        try:
            text = text_below(top, name)
        except OSError:
            continue
        sections.append(f"\n{os.path.basename(name)}:\n{text[-_MOST_NOTED_BYTES:].strip()}\n")
    return "".join(sections)


def _files(top: Path) -> Iterator[tuple[Path, str]]:
    for directory, _, names in os.walk(top):
        for name in names:
            listed = name.endswith(_NOTED) and "dump" not in name
            if listed or name.startswith("pg_upgrade_server") or name.endswith("_custom.log"):
                yield top, os.path.relpath(os.path.join(directory, name), top)


@dataclass(frozen=True)
class TimedRun:
    """The end of a program."""

    status: int
    seconds: float
    lines: tuple[tuple[float, str], ...]  # seconds since the start at which each line was complete

    @property
    def output(self) -> str:
        """All lines."""
        return "".join(f"{line}\n" for _, line in self.lines)


def run_timed(
    account: Account,
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    begun: Callable[[str], None] = lambda _: None,
) -> TimedRun:
    """Run it in `directory` until it ends; `begun` gets each line as it begins. Whatever ends us
    meanwhile ends it with its children. EngineError: it cannot be executed."""
    process = piped(account, command, directory=directory, environment=environment)
    started = time.monotonic()
    try:
        lines = _read(process, started, begun)
        status = process.wait()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return TimedRun(status, time.monotonic() - started, tuple(lines))


def _read(
    process: subprocess.Popen[bytes], started: float, begun: Callable[[str], None]
) -> list[tuple[float, str]]:
    assert process.stdout is not None  # it is a pipe
    lines: list[tuple[float, str]] = []
    rest, size, last_step = b"", 0, ""
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        now = time.monotonic() - started
        size += len(chunk)
        if size > _MOST_BYTES:
            continue
        *whole, rest = (rest + chunk).split(b"\n")
        lines += [(now, line.decode(errors="replace").replace("\r", "")) for line in whole]
        step = rest.decode(errors="replace").strip()
        if step and step != last_step:
            begun(step)
        last_step = step
    if rest:
        lines.append((time.monotonic() - started, rest.decode(errors="replace")))
    return lines
