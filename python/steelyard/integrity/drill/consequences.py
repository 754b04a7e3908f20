"""Shows what people fear: a damaged page on a standby, in a base backup, in a dump."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.cluster import Cluster
from steelyard.engines.programs import run
from steelyard.errors import ServerError
from steelyard.integrity.drill.checks import take_base_backup, verify_backup
from steelyard.integrity.drill.faults import PAGE
from steelyard.integrity.drill.ground import QUIET, Ground, rows_of
from steelyard.integrity.drill.questions import WAYS, asked, statements

Say = Callable[[str], None]


@dataclass(frozen=True)
class Consequence:
    """What became of one damaged heap page under one arm."""

    arm: str
    update: str  # of a row on the page: "refused", "done"
    comparison: str  # of its rows and a standby's: "the same", "differ", "cannot be read"
    standby: str  # after the update: "healthy", "damaged", "behind"
    comparison_after: str  # the same comparison, after the update
    backup: str  # "refused", "warned", "silent"
    verify_backup: str  # pg_verifybackup of it: "passes", "objects", "not asked"
    dump: str  # "fails", "differs", "the same"

    def to_json(self) -> dict[str, Any]:
        """Plain words by name."""
        return asdict(self)


def drill_consequences(
    ground: Ground, times: int, seed: int, say: Say, found: list[Consequence]
) -> None:
    """Each consequence, `times` times under checksums off and on."""
    for arm in ("off", "on"):
        draw = random.Random(f"{seed} consequences")
        say(f"a damaged page on a standby, in a backup and in a dump, checksums {arm}")
        for _ in range(times):
            found.append(_once(ground, arm, draw))


def _once(ground: Ground, arm: str, draw: random.Random) -> Consequence:
    ground.make_ready(arm)
    standby = ground.clone.clone(ground.slot.path / "standby")
    try:
        _damage(ground, draw)
        return _observe(ground, standby, arm)
    finally:
        if standby.running:
            standby.crash()
        standby.stop()
        shutil.rmtree(standby.directory, ignore_errors=True)
        ground.restore()


def _damage(ground: Ground, draw: random.Random) -> None:
    """Spoils a letter of the first row's text in the first block of a copy."""
    path = ground.clone.directory / ground.files[0, "heap"]
    content = path.read_bytes()
    page = content[:PAGE]
    # The last tuple bytes of the page belong to its first row: letters of its text.
    at = PAGE - 40 - draw.randrange(60)
    changed = page[:at] + bytes([page[at] ^ 1]) + page[at + 1 :]
    path.write_bytes(changed + content[PAGE:])


def _observe(ground: Ground, standby: Cluster, arm: str) -> Consequence:
    place = ground.slot.path / "consequence"
    with ground.alive({"wal_level": "replica", **_keep_log(ground)}) as alive:
        address = alive.address
        # A standby from before the damage, fed by this server's log from here on.
        socket = f"host={address.host} port={address.port} user={address.user}"
        _follow(ground, standby, socket)
        # Before anything else: whoever reads the page may prune it, and the log then carries it.
        comparison = _compared(alive, standby)
        backup, verify = _back_up(ground, alive, place)
        dump = _dump(ground, alive)
        try:
            statements(
                address,
                ["CHECKPOINT", "UPDATE drill_0 SET tag = tag + 1 WHERE ctid = '(0,2)'"],
            )
            update = "done"
        except ServerError:
            update = "refused"
        state = _standby_state(alive, standby)
        after = _compared(alive, standby)
    shutil.rmtree(place, ignore_errors=True)
    return Consequence(arm, update, comparison, state, after, backup, verify, dump)


def _keep_log(ground: Ground) -> Settings:
    """The standby needs the log from the clone's last checkpoint on."""
    if ground.engine.identity.version_number >= 130000:
        return {"wal_keep_size": "1GB"}
    return {"wal_keep_segments": "64"}


def _follow(ground: Ground, standby: Cluster, conninfo: str) -> None:
    (standby.directory / "standby.signal").touch()
    ground.engine.account.own(standby.directory / "standby.signal")
    slot = Slot(
        ground.slot.number, ground.slot.path / "beside", ground.slot.socket_directory,
        ground.slot.port + 500,
    )  # fmt: skip
    standby.start(slot, {**QUIET, "primary_conninfo": conninfo, "hot_standby": "on"})


def _standby_state(alive: Cluster, standby: Cluster) -> str:
    """Waits until the standby has replayed, and compares the first copy's filler texts."""
    (target,) = statements(alive.address, ["SELECT pg_current_wal_flush_lsn()::text"])[0]
    question = f"SELECT pg_last_wal_replay_lsn() >= '{target}'::pg_lsn"
    for _ in range(200):
        if statements(standby.address, [question]) == [(True,)]:
            break
        statements(standby.address, ["SELECT pg_sleep(0.05)"])
    else:
        return "behind"
    healthy = "SELECT count(*) FROM drill_0 WHERE filler <> repeat(md5(id::text), 4)"
    wrong = statements(standby.address, ["SET enable_indexscan = off", healthy])
    return "healthy" if wrong == [(0,)] else "damaged"


def _compared(alive: Cluster, standby: Cluster) -> str:
    """Whether a server and its standby give the same rows of the first copy."""
    settings, question = WAYS["table"]
    replies = [asked(one.address, settings, question.format(n=0)) for one in (standby, alive)]
    if any(reply.error or reply.hung for reply in replies):
        return "cannot be read"
    return "the same" if replies[0].answer == replies[1].answer else "differ"


def _back_up(ground: Ground, alive: Cluster, place: Path) -> tuple[str, str]:
    taken = take_base_backup(ground, alive, place)
    if taken is None:
        return "no pg_basebackup", "not asked"
    status, words = taken
    said = "warned" if "checksum verification failed" in words else "silent"
    verified = verify_backup(ground, place) if status == 0 else None
    verify = "not asked" if verified is None else "objects" if verified[0] else "passes"
    return (f"{said}, status {status}" if status else said), verify


def _dump(ground: Ground, alive: Cluster) -> str:
    program = Path(ground.engine.identity.bindir) / "pg_dump"
    if not program.is_file():
        return "no pg_dump"
    command = [str(program), *alive.address.options(), "-t", "drill_0", "-a", "postgres"]
    status, words = run(ground.engine.account, command)
    if status:
        return "fails"
    return "the same" if copied_rows(words) == rows_of(0) else "differs"


def copied_rows(dump: str) -> list[tuple[str, ...]]:
    """The rows of the one COPY in a dump, in order of their first column."""
    lines = iter(dump.splitlines())
    next((line for line in lines if line.startswith("COPY ")), None)
    rows = [tuple(line.split("\t")) for line in itertools.takewhile(lambda li: li != "\\.", lines)]
    return sorted(rows, key=lambda row: (len(row[0]), row[0]))
