"""The checks that could notice a fault in a file: each says in which copies it did."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.programs import run
from steelyard.integrity.drill.questions import asked, statements
from steelyard.integrity.drill.test_cluster import Ground
from steelyard.integrity.scrub.scrub import Asked, scrub
from steelyard.model.errors import EngineError, ServerError

_WRONG_BLOCK = re.compile(r'in file "([^"]*)", block \d+')
"""Of pg_checksums and of pg_basebackup alike."""
_QUOTED = re.compile(r'"([^"]+)"')
_NAMED_FILE = re.compile(r'(?:relation|file) "?((?:base|global|pg_tblspc)/[^"\s;,]+)')


def copies_of(ground: Ground, paths: Iterable[str]) -> set[int]:
    """The copies that files belong to; a segment's or fork's name leads to its relation."""
    by_path = {path: number for (number, _), path in ground.files.items()}
    return {by_path[path] for path in paths if path in by_path}


def by_scrub(ground: Ground, catalogue: Path | None = None) -> set[int]:
    """Copies in which `steelyard scrub` finds damage; with a catalogue, by that alone."""
    used = None
    if catalogue is not None:
        used = catalogue.with_name("catalogue.used")
        shutil.copy(catalogue, used)
    asked = Asked(ground.clone.directory, threads=1, catalogue=used, crashed=True)
    outcome = scrub(asked, lambda *_: None)
    backwards = catalogue is not None
    found = (f.path for f in outcome.bad if not backwards or f.reason == "backwards")
    return copies_of(ground, found)


def scrub_classes(ground: Ground) -> tuple[bool, bool]:
    """Whether `steelyard scrub` calls something in the clone damaged, and whether it leaves
    something to replay."""
    outcome = scrub(Asked(ground.clone.directory, threads=1, crashed=True), lambda *_: None)
    return bool(outcome.bad), bool(outcome.needs_replay)


def by_server_log(ground: Ground, since: int) -> set[int]:
    """Copies whose files the server's log names behind byte `since`: errors and warnings.

    Maps are read with zero-on-error: of damage in them the log alone tells.
    """
    try:
        content = log_file(ground).read_bytes()[since:]
    except FileNotFoundError:
        return set()
    return copies_of(ground, _NAMED_FILE.findall(content.decode(errors="replace")))


def log_file(ground: Ground) -> Path:
    """Where the clone's server writes its log."""
    return ground.slot.path / "server.log"


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
    """Copies in which amcheck raises or reports something; None: there is no amcheck.

    That it hangs is no finding. verify_heapam is of 14 and later.
    """
    try:
        create = "CREATE EXTENSION IF NOT EXISTS amcheck"
        known = statements(
            cluster.address, [create, "SELECT count(*) FROM pg_proc WHERE proname='verify_heapam'"]
        )
    except ServerError:
        return None
    noticed = set()
    for number in copies:
        index = f"SELECT bt_index_check('drill_{number}_id', heapallindexed => true)"
        heap = f"SELECT count(*) FROM verify_heapam('drill_{number}', check_toast => true)"
        for question in (index, heap) if known != [(0,)] else (index,):
            reply = asked(cluster.address, "SET enable_seqscan = on", question)
            reports = question is heap and not reply.hung and reply.answer != "[(0,)]"
            if reply.error or reports:
                noticed.add(number)
    return noticed


def by_base_backup(ground: Ground, cluster: Cluster) -> tuple[set[int], set[int] | None] | None:
    """Copies that pg_basebackup warns of, and those to whose files pg_verifybackup then objects.

    None: the build lacks the program, or it does not run here.
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
        verified = verify_backup(ground, place)
        objects = None if verified is None else copies_of(ground, _QUOTED.findall(verified[1]))
        return copies_of(ground, _named(words)), objects
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
    command = [
        str(program),
        *cluster.address.client_flags(),
        "-D",
        str(place),
        "-X",
        "fetch",
        "-N",
    ]
    return run(ground.engine.account, [*command, "--checkpoint=fast", "--no-clean", *options])


def verify_backup(ground: Ground, backup: Path) -> tuple[int, str] | None:
    """Exit status and words of pg_verifybackup; None: the build's own does not run here.

    The one in the bundle of 18.4 crashes whatever it is asked, its version included.
    """
    program = Path(ground.engine.identity.bindir) / "pg_verifybackup"
    if not program.is_file():
        return None
    account = ground.engine.account
    if run(account, [str(program), "--version"])[0] != 0:
        return None
    return run(account, [str(program), "-n", "-q", str(backup)])


def _named(words: str) -> set[str]:
    found = _WRONG_BLOCK.findall(words)
    return {path.removeprefix("./") for path in found}
