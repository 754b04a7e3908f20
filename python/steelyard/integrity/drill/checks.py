"""The checks that could notice a fault in a file: each says in which copies it did."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from steelyard.engines.postgres.cluster import Cluster
from steelyard.engines.programs import run
from steelyard.errors import EngineError, ServerError
from steelyard.integrity.drill.ground import Ground
from steelyard.integrity.drill.questions import asked, statements
from steelyard.integrity.scrub import Asked, scrub

_WRONG_BLOCK = re.compile(r'in file "([^"]*)", block \d+')
"""Of pg_checksums and of pg_basebackup alike."""


def copies_of(ground: Ground, paths: Iterable[str]) -> set[int]:
    """The copies that files belong to; a segment's or fork's name leads to its relation."""
    by_path = {path: number for (number, _), path in ground.files.items()}
    return {by_path[path] for path in paths if path in by_path}


def by_scrub(ground: Ground, catalogue: Path | None = None) -> set[int]:
    """Copies in which `steelyard scrub` finds damage."""
    used = None
    if catalogue is not None:
        used = catalogue.with_name("catalogue.used")
        shutil.copy(catalogue, used)
    asked = Asked(ground.clone.directory, threads=1, catalogue=used)
    outcome = scrub(asked, lambda *_: None)
    return copies_of(ground, (finding.path for finding in outcome.bad))


def by_pg_checksums(ground: Ground) -> set[int] | None:
    """Copies in which pg_checksums --check finds damage; None: the build lacks it."""
    program = Path(ground.engine.identity.bindir) / "pg_checksums"
    if not program.is_file():
        return None
    directory = ground.clone.directory
    _, words = run(ground.engine.account, [str(program), "--check", "-D", str(directory)])
    paths = (Path(path) for path in _WRONG_BLOCK.findall(words))
    return copies_of(ground, (str(p.relative_to(directory)) for p in paths))


def by_amcheck(cluster: Cluster, copies: Iterable[int]) -> set[int] | None:
    """Copies in which amcheck raises or reports something; None: there is no amcheck."""
    try:
        statements(cluster.address, ["CREATE EXTENSION IF NOT EXISTS amcheck"])
    except ServerError:
        return None
    noticed = set()
    for number in copies:
        index = f"SELECT bt_index_check('drill_{number}_id', heapallindexed => true)"
        heap = f"SELECT count(*) FROM verify_heapam('drill_{number}', check_toast => true)"
        for question in (index, heap):
            answer, error = asked(cluster.address, "SET enable_seqscan = on", question)
            if error or (question is heap and answer != "[(0,)]"):
                noticed.add(number)
    return noticed


def by_base_backup(ground: Ground, cluster: Cluster) -> tuple[set[int], bool | None] | None:
    """Copies that pg_basebackup warns of, and whether pg_verifybackup then objects to anything.

    None: the build lacks the program.
    """
    place = ground.slot.path / "backup"
    try:
        taken = take_base_backup(ground, cluster, place)
        if taken is None:
            return None
        status, words = taken
        if status != 0:
            # It refused to end well; whoever takes one all the same turns its checks off.
            take_base_backup(ground, cluster, place, "--no-verify-checksums")
        return copies_of(ground, _named(words)), verify_backup(ground, place)
    except EngineError:
        return None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def take_base_backup(
    ground: Ground, cluster: Cluster, place: Path, *options: str
) -> tuple[int, str] | None:
    """Exit status and words of a pg_basebackup into an empty `place`; None: the build lacks it."""
    program = Path(ground.engine.identity.bindir) / "pg_basebackup"
    if not program.is_file():
        return None
    shutil.rmtree(place, ignore_errors=True)
    ground.engine.account.make_directory(place)
    address = cluster.address
    command = [str(program), "-D", str(place), "-h", address.host, "-p", str(address.port)]
    command += [
        "-U",
        address.user,
        *["-X", "fetch", "--checkpoint=fast", "-N", "--no-clean"],
        *options,
    ]
    return run(ground.engine.account, command)


def verify_backup(ground: Ground, backup: Path) -> bool | None:
    """Whether pg_verifybackup objects to a backup; None: the build's own does not run here.

    The one in the bundle of 18.4 crashes whatever it is asked, its version included.
    """
    program = Path(ground.engine.identity.bindir) / "pg_verifybackup"
    if not program.is_file():
        return None
    account = ground.engine.account
    if run(account, [str(program), "--version"])[0] != 0:
        return None
    return run(account, [str(program), "-n", "-q", str(backup)])[0] != 0


def _named(words: str) -> set[str]:
    found = _WRONG_BLOCK.findall(words)
    return {path.removeprefix("./") for path in found}
