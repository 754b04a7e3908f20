"""Runs the checks that read files, logs and backups, and returns the copies each found damaged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from steelyard.engines.local.owned_files import read_below
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.programs import run
from steelyard.integrity.drill.test_cluster import MOST_BYTES, TestCluster
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import EngineError

_WRONG_BLOCK = re.compile(r'in file "([^"]*)", block \d+')
"""In the output of pg_checksums and of pg_basebackup."""
_QUOTED = re.compile(r'"([^"]+)"')
_NAMED_FILE = re.compile(r'(?:relation|file) "?((?:base|global|pg_tblspc)/[^"\s;,]+)')


def copies_of(cluster: TestCluster, paths: Iterable[str]) -> set[int]:
    """The copies that files belong to."""
    by_path = {path: number for (number, _), path in cluster.files.items()}
    return {by_path[path] for path in paths if path in by_path}


def detect_by_scrub(cluster: TestCluster, catalogue: Path | None = None) -> set[int]:
    """Copies in which `steelyard scrub` finds damage; with a catalogue, by that alone."""
    used = None
    if catalogue is not None:
        used = catalogue.with_name("catalogue.used")
        shutil.copy(catalogue, used)
    request = ScrubRequest(cluster.clone.directory, threads=1, catalogue=used, crashed=True)
    outcome = scrub(request, lambda *_: None)
    backwards = catalogue is not None
    paths = (f.path for f in outcome.bad if not backwards or f.reason == "backwards")
    return copies_of(cluster, paths)


def scrub_classes(cluster: TestCluster) -> tuple[bool, bool]:
    """Whether `steelyard scrub` reports damage in the clone, and whether it reports pages that
    replay will heal."""
    request = ScrubRequest(cluster.clone.directory, threads=1, crashed=True)
    outcome = scrub(request, lambda *_: None)
    return bool(outcome.bad), bool(outcome.needs_replay)


def detect_in_server_log(cluster: TestCluster, since: int) -> set[int]:
    """Copies whose files the server's log names behind byte `since`: errors and warnings.

    Maps are read with zero-on-error, so that only the log shows damage in them.
    """
    try:
        log = log_file(cluster)
        content = read_below(log.parent, log.name, MOST_BYTES)[since:]
    except FileNotFoundError:
        return set()
    return copies_of(cluster, _NAMED_FILE.findall(content.decode(errors="replace")))


def log_file(cluster: TestCluster) -> Path:
    """The log of the clone's server."""
    return cluster.slot.path / "server.log"


def detect_by_pg_checksums(cluster: TestCluster) -> set[int] | None:
    """Copies in which pg_checksums --check finds damage; None: the build lacks it."""
    program = Path(cluster.engine.identity.bindir) / "pg_checksums"
    if not program.is_file():
        return None
    directory = cluster.clone.directory
    _, output = run(cluster.engine.account, [str(program), "--check", "-D", str(directory)])
    paths = (Path(path) for path in _WRONG_BLOCK.findall(output))
    return copies_of(cluster, (str(p.relative_to(directory)) for p in paths))


def detect_by_base_backup(
    cluster: TestCluster, server: Cluster
) -> tuple[set[int], set[int] | None] | None:
    """Copies that pg_basebackup warns about, and those whose files pg_verifybackup then rejects.

    None: the build lacks the program, or it does not run here.
    """
    backup = cluster.slot.path / "backup"
    try:
        outcome = take_base_backup(cluster, server, backup)
        if outcome is None:
            return None
        status, output = outcome
        if status != 0:
            # It failed because of the damage; a backup all the same needs its checks off.
            take_base_backup(cluster, server, backup, "--no-verify-checksums")
        verified = verify_backup(cluster, backup)
        rejected = None if verified is None else copies_of(cluster, _QUOTED.findall(verified[1]))
        warned = {path.removeprefix("./") for path in _WRONG_BLOCK.findall(output)}
        return copies_of(cluster, warned), rejected
    except EngineError:
        return None
    finally:
        shutil.rmtree(backup, ignore_errors=True)


def take_base_backup(
    cluster: TestCluster, server: Cluster, backup: Path, *options: str
) -> tuple[int, str] | None:
    """Exit status and output of a pg_basebackup into an empty `backup`; None: the build lacks
    it."""
    program = Path(cluster.engine.identity.bindir) / "pg_basebackup"
    if not program.is_file():
        return None
    shutil.rmtree(backup, ignore_errors=True)
    cluster.engine.account.make_directory(backup)
    command = [str(program), *client_flags(server.address), "-D", str(backup), "-X", "fetch", "-N"]
    return run(cluster.engine.account, [*command, "--checkpoint=fast", "--no-clean", *options])


def verify_backup(cluster: TestCluster, backup: Path) -> tuple[int, str] | None:
    """Exit status and output of pg_verifybackup; None: the build's own does not run here.

    The one in the bundle of 18.4 crashes on every call, also with --version.
    """
    program = Path(cluster.engine.identity.bindir) / "pg_verifybackup"
    if not program.is_file():
        return None
    account = cluster.engine.account
    if run(account, [str(program), "--version"])[0] != 0:
        return None
    return run(account, [str(program), "-n", "-q", str(backup)])
