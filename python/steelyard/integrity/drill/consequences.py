"""Shows what people fear: a damaged page on a standby, in a backup, in a dump, and who notices.

Every damaged page has two lives. In the one nobody has read it when a backup and a dump are taken.
In the other it is read, compared with a standby, updated, and then backed up and dumped.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.engines.engine import Settings
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.drill.damage_readers import (
    DONE,
    ERROR,
    NOTICING,
    SAME,
    SILENT,
    SOUND,
    WARNING,
    Row,
    back_up,
    compared,
    dump,
    follow,
    read_rows,
    read_standby,
    update_row,
)
from steelyard.integrity.drill.faults import PAGE, PAGE_FAULTS, Spot, changed_blocks
from steelyard.integrity.drill.matrix import ARMS, settings_of
from steelyard.integrity.drill.questions import statements
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.test_cluster import Ground, require_ours, rows_of

Say = Callable[[str], None]
FEARED = ("one bit in a row", "zeroed page", "torn page, 4 kB", "damaged header", "lost write")
AT_ONCE = "at once"  # nobody has read the page
FIRST_READ, AFTER_READ = "at the first read", "after the read"
AT_UPDATE, AFTER_UPDATE = "at the update", "after the update"
NEVER, UNREACHED = "never", "not reached"
_HEADER = 24


@dataclass(frozen=True)
class Event:
    """What one of those whom a damaged page may reach met at one moment."""

    who: str
    when: str
    saw: str  # a word of witnesses.py


@dataclass(frozen=True)
class Consequence:
    """What became of one damaged heap page under one arm, in the order it happened."""

    fault: str
    arm: str
    events: tuple[Event, ...]

    def noticed(self) -> dict[str, str]:
        """When each noticed first, or never; or that the damage did not reach it at all."""
        found: dict[str, str] = {}
        for event in self.events:
            told = found.setdefault(event.who, UNREACHED)
            if told in (NEVER, UNREACHED) and event.saw in NOTICING:
                found[event.who] = event.when
            elif told == UNREACHED and event.saw not in (SOUND, SAME):
                found[event.who] = NEVER
        return found

    def to_json(self) -> dict[str, Any]:
        """Events in their order, and when each noticed."""
        return {**asdict(self), "noticed": self.noticed()}


@dataclass(frozen=True)
class Harm:
    """A damaged file of the first copy, and a row that was and should be on the damaged page."""

    content: bytes
    neighbour: int


def drill_consequences(
    ground: Ground, times: int, seed: int, say: Say, found: list[Consequence]
) -> None:
    """Every feared fault `times` times under every arm; the same ones under each."""
    for fault in FEARED if times else ():
        for arm in ARMS:
            draw = random.Random(f"{seed} consequences {fault}")
            say(f"{fault} on a standby, in a backup and in a dump, checksums {arm}")
            for _ in range(times):
                harm = harm_of(ground, fault, draw)
                events = (*_untouched(ground, arm, harm), *_used(ground, arm, harm))
                found.append(Consequence(fault, arm, events))


def rates(found: Sequence[Consequence]) -> list[dict[str, Any]]:
    """How often each noticed at each moment, with its interval, and the words it had."""
    words: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    for each in found:
        for event in each.events:
            words[each.fault, each.arm, event.who, event.when][event.saw] += 1
    return [
        {"fault": fault, "arm": arm, "who": who, "when": when, "saw": dict(saw),
         **Rate(sum(saw[word] for word in NOTICING), saw.total()).to_json()}
        for (fault, arm, who, when), saw in words.items()
    ]  # fmt: skip


def harm_of(ground: Ground, fault: str, draw: random.Random) -> Harm:
    """Damage to a page of the first copy that was written twice, where it changes a row."""
    path = ground.files[0, "heap"]
    now, before = ground.now(path), ground.before[path]
    blocks = [b for b in changed_blocks(now, before) if b < len(before) // PAGE]
    draw.shuffle(blocks)
    for block in blocks:
        page = now[block * PAGE : (block + 1) * PAGE]
        # Of the others the page holds a dead version.
        rows = [row for row in rows_of(0) if int(row[0]) % 3 and row[2].encode() in page]
        if len(rows) < 2:
            continue
        hit, neighbour = draw.sample(rows, 2)
        spot = Spot(ground.clone.directory / path, now, before, b"", now, block)
        damaged = _damaged(fault, page, spot, hit, draw)
        if damaged != page:
            content = now[: block * PAGE] + damaged + now[(block + 1) * PAGE :]
            return Harm(content, int(neighbour[0]))
    raise AssertionError(f"no page of the ground can have: {fault}")


def _damaged(fault: str, page: bytes, spot: Spot, row: Row, draw: random.Random) -> bytes:
    if fault == "damaged header":
        return draw.randbytes(_HEADER) + page[_HEADER:]
    if fault != "one bit in a row":
        return PAGE_FAULTS[fault](page, spot, draw)
    text = row[2].encode()
    at = page.index(text) + draw.randrange(len(text))
    # The letter stays one of ASCII: text that is not UTF-8 a client might refuse.
    return page[:at] + bytes([page[at] ^ 1 << draw.randrange(7)]) + page[at + 1 :]


def _plant(ground: Ground, harm: Harm) -> None:
    require_ours(ground.clone.directory)
    (ground.clone.directory / ground.files[0, "heap"]).write_bytes(harm.content)


def _untouched(ground: Ground, arm: str, harm: Harm) -> list[Event]:
    """A backup and a dump of a page that nobody has read: each is the first to meet it."""
    ground.make_ready(arm)
    try:
        _plant(ground, harm)
        with ground.alive(settings_of(arm)) as alive:
            backup, verified = back_up(ground, alive, damaged=True)
            dumped = dump(ground, alive, true_rows())
    finally:
        ground.restore()
    return _told(
        ("base backup", AT_ONCE, backup),
        ("pg_verifybackup", AT_ONCE, verified),
        ("dump", AT_ONCE, dumped),
    )


def _used(ground: Ground, arm: str, harm: Harm) -> list[Event]:
    """The page is read, and updated, while a standby follows."""
    ground.make_ready(arm)
    standby = ground.clone.clone(ground.slot.path / "standby")
    try:
        _plant(ground, harm)
        settings = {**settings_of(arm), "wal_level": "replica", **_keep_log(ground)}
        with ground.alive(settings) as alive:
            follow(ground, standby, alive, settings)
            return _read_and_updated(ground, alive, standby, harm.neighbour)
    finally:
        if standby.running:
            standby.crash()
        standby.stop()
        shutil.rmtree(standby.directory, ignore_errors=True)
        ground.restore()


def _read_and_updated(
    ground: Ground, alive: Cluster, standby: Cluster, neighbour: int
) -> list[Event]:
    truth = true_rows()
    healthy = read_standby(alive, standby)
    # Whoever reads a page may prune it, and the log then carries all of it.
    first = read_rows(alive.address)
    after_read = read_standby(alive, standby)
    # The first change after a checkpoint logs the whole page.
    statements(alive.address, ["CHECKPOINT"])
    updated = update_row(alive.address, neighbour)
    now_true = true_rows(neighbour) if updated in (DONE, WARNING) else truth
    after_update = read_standby(alive, standby)
    later = read_rows(alive.address)
    word = later.word(now_true)
    backup, verified = back_up(ground, alive, damaged=word in (ERROR, WARNING, SILENT))
    return _told(
        ("primary", FIRST_READ, first.word(truth)),
        ("comparison", FIRST_READ, compared(first, healthy)),
        ("standby", AFTER_READ, after_read.word(truth)),
        ("primary", AT_UPDATE, updated),
        ("standby", AFTER_UPDATE, after_update.word(now_true)),
        ("primary", AFTER_UPDATE, word),
        ("comparison", AFTER_UPDATE, compared(later, after_update)),
        ("base backup", AFTER_UPDATE, backup),
        ("pg_verifybackup", AFTER_UPDATE, verified),
        ("dump", AFTER_UPDATE, dump(ground, alive, now_true)),
    )


def true_rows(updated: int | None = None) -> list[Row]:
    """The true rows of the first copy; one of them may have been updated once more."""
    return [
        (row[0], str(int(row[1]) + 1), *row[2:]) if row[0] == str(updated) else row
        for row in rows_of(0)
    ]


def _told(*events: tuple[str, str, str | None]) -> list[Event]:
    return [Event(who, when, saw) for who, when, saw in events if saw is not None]


def _keep_log(ground: Ground) -> Settings:
    """The standby needs the log from the clone's last checkpoint on."""
    if ground.engine.identity.version_number >= 130000:
        return {"wal_keep_size": "1GB"}
    return {"wal_keep_segments": "64"}
