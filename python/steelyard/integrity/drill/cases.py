"""Drills the files of relations: plant one fault in every copy, ask everybody, and heal."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from steelyard._core import judge_page
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.faults import FILE_FAULTS, PAGE, Spot, plant
from steelyard.integrity.drill.ground import Ground, require_ours
from steelyard.integrity.drill.matrix import (
    ARMS,
    NOBODY,
    QUERY_ERROR,
    WRONG_ANSWER,
    Matrix,
)
from steelyard.integrity.drill.questions import ask_all
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.scrub import Asked, scrub

Say = Callable[[str], None]


def drill_files(
    ground: Ground,
    faults: Sequence[str],
    places: Sequence[str],
    seed: int,
    say: Say,
    matrix: Matrix,
) -> None:
    """Every fault in every place under every arm, as often as there are copies.

    What was seen is in `matrix` as soon as it was seen: a drill may be interrupted.
    """
    catalogue = ground.slot.path / "catalogue"
    ground.restore()
    scrub(Asked(ground.clone.directory, catalogue=catalogue), lambda *_: None)
    for fault in faults:
        for place in places:
            for arm in ARMS:
                say(f"{fault} in {place}, checksums {arm}")
                # The same faults under every arm: they differ by who looks, not by what is seen.
                draw = random.Random(f"{seed} {fault} {place}")
                try:
                    hit = plant_everywhere(ground, fault, place, draw)
                    if hit:
                        _ask_everybody(ground, (fault, place, arm), hit, catalogue, matrix)
                finally:
                    ground.restore()


def plant_everywhere(
    ground: Ground, fault: str, place: str, draw: random.Random
) -> dict[int, list[int]]:
    """Plant a fault in each copy of the clone; the blocks that then differ, by copy."""
    require_ours(ground.clone.directory)
    hit: dict[int, list[int]] = {}
    for number in range(ground.copies):
        path = ground.files[number, place]
        now, before = ground.now(path), ground.before[path]
        if len(now) < PAGE:
            continue
        other = ground.files[number, "index" if place == "heap" else "heap"]
        changed = _changed(now, before)
        # What is stale must differ from what it was: the other faults may hit any page.
        stale = fault.startswith(("torn", "lost", "stale")) and changed
        foreign = ground.now(other)
        # A page from another relation has the same number there.
        blocks = min(len(now), len(foreign)) if fault == "from another relation" else len(now)
        block = draw.choice(changed) if stale else draw.randrange(max(1, blocks // PAGE))
        spot = Spot(ground.clone.directory / path, now, before, foreign, block)
        if plant(fault, spot, draw):
            hit[number] = _changed((ground.clone.directory / path).read_bytes(), now)
    return hit


def _changed(now: bytes, before: bytes) -> list[int]:
    blocks = range(0, len(now), PAGE)
    return [at // PAGE for at in blocks if now[at : at + PAGE] != before[at : at + PAGE]]


def _ask_everybody(
    ground: Ground, case: tuple[str, str, str], hit: dict[int, list[int]], catalogue: Path,
    matrix: Matrix,
) -> None:  # fmt: skip
    fault, place, arm = case

    def count(check: str, noticed: Iterable[int] | None) -> None:
        if noticed is not None:
            found = sum(number in hit for number in set(noticed))
            matrix.add(fault, place, arm, check, Rate(found, len(hit)))

    if arm == "off":
        ground.clone.set_checksums(False)
    count("scrub", checks.by_scrub(ground))
    count("catalogue", checks.by_scrub(ground, catalogue))
    if arm == "on":
        count("pg_checksums", checks.by_pg_checksums(ground))
        if fault not in FILE_FAULTS or fault == "cluster of blocks":
            count("page checksum", _by_pages(ground, place, hit, checksums=True))
            count("header sanity", _by_pages(ground, place, hit, checksums=False))
    settings = {"ignore_checksum_failure": "on"} if arm == "ignore" else {}
    with ground.alive(settings) as alive:
        if arm != "ignore":
            backup = checks.by_base_backup(ground, alive)
            count("pg_basebackup", backup and backup[0])
            if backup and backup[1] is not None:
                count("pg_verifybackup", set(hit) if backup[1] else set())
        answers = ask_all(alive.address, hit)
        erred = {n for n, answer in answers.items() if answer.errors}
        wrong = {n for n, answer in answers.items() if answer.differs(ground.truth[n])}
        count(QUERY_ERROR, erred)
        count(WRONG_ANSWER, wrong - erred)
        count(NOBODY, set(hit) - erred - wrong)
        count("a standby's comparison", erred | wrong)
        count("amcheck", checks.by_amcheck(alive, hit))


def _by_pages(
    ground: Ground, place: str, hit: dict[int, list[int]], *, checksums: bool
) -> set[int]:
    """Copies in which the server would refuse a page that was hit, by one rule alone."""
    noticed = set()
    for number, blocks in hit.items():
        file = (ground.clone.directory / ground.files[number, place]).read_bytes()
        for block in blocks:
            page = file[block * PAGE : (block + 1) * PAGE]
            if len(page) == PAGE and judge_page(page, block, checksums) is not None:
                noticed.add(number)
    return noticed
