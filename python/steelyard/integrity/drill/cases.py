"""Drills the files of relations: plant one fault in every copy, ask everybody, and heal."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from steelyard._core import judge_page, page_checksum
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.faults import FILE_FAULTS, PAGE, Spot, changed_blocks, plant
from steelyard.integrity.drill.matrix import (
    ARMS,
    HANGS,
    NOBODY,
    PLANTED,
    QUERY_ERROR,
    READER,
    SERVER_LOG,
    WRONG_ANSWER,
    Matrix,
    settings_of,
)
from steelyard.integrity.drill.questions import WAYS, Answers, ask_all
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.test_cluster import Ground, require_ours
from steelyard.integrity.scrub.scrub import Asked, scrub

Say = Callable[[str], None]
MOST_DRAWS = 200
"""Of a block and what is spoiled in it, until something is: an empty sector cannot be zeroed."""


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
                    planted = Rate(len(hit), ground.copies)
                    matrix.add(fault, place, arm, PLANTED, planted)
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
        sibling = ground.now(ground.files[(number + 1) % (ground.copies + 1), place])
        changed = changed_blocks(now, before)
        # A block that was not there before has no other state to be left in.
        changed = [block for block in changed if block < len(before) // PAGE] or changed
        # What is stale must differ from what it was: the other faults may hit any page.
        stale = fault.startswith(("torn", "lost", "stale")) and changed
        foreign = ground.now(other)
        # A page from another relation has the same number there.
        blocks = min(len(now), len(foreign)) if fault == "from another relation" else len(now)
        for _ in range(MOST_DRAWS):
            block = draw.choice(changed) if stale else draw.randrange(max(1, blocks // PAGE))
            spot = Spot(ground.clone.directory / path, now, before, foreign, sibling, block)
            if plant(fault, spot, draw):
                hit[number] = changed_blocks((ground.clone.directory / path).read_bytes(), now)
                break
    return hit


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
        ground.clone.protect("none")
    count("scrub", checks.by_scrub(ground))
    count("catalogue", checks.by_scrub(ground, catalogue))
    if arm == "on":
        count("pg_checksums", checks.by_pg_checksums(ground))
        if fault not in FILE_FAULTS or fault == "cluster of blocks":
            count("page checksum", _by_pages(ground, place, hit, _is_summed_wrong))
            count("header sanity", _by_pages(ground, place, hit, _is_insane))
    with ground.alive(settings_of(arm)) as alive:
        if arm != "ignore":
            backup = checks.by_base_backup(ground, alive)
            count("pg_basebackup", backup and backup[0])
            count("pg_verifybackup", backup and backup[1])
        begun = checks.log_file(ground).stat().st_size
        answers = ask_all(alive.address, hit, ground.sound)
        logged = checks.by_server_log(ground, begun)
        for check, noticed in score(answers, ground.truth, logged).items():
            matrix.add(fault, place, arm, check, Rate(len(noticed), len(answers)))
        if len(answers) == len(hit):  # otherwise the server is not to be asked any more
            count("amcheck", checks.by_amcheck(alive, hit))


def score(
    answers: Mapping[int, Answers], truth: Mapping[int, Answers], logged: set[int]
) -> dict[str, set[int]]:
    """The copies by who noticed what; a copy that erred one way may answer wrongly another."""
    found: dict[str, set[int]] = {}
    for kind, ways in (
        ("error", {n: each.erred for n, each in answers.items()}),
        ("wrong answer", {n: each.wrong(truth[n]) for n, each in answers.items()}),
        ("hangs", {n: each.hung for n, each in answers.items()}),
    ):
        found[f"query: {kind}"] = {n for n in answers if ways[n]}
        for way in WAYS:
            found[f"{way}: {kind}"] = {n for n in answers if way in ways[n]}
    found[SERVER_LOG] = logged & set(answers)
    seen = (QUERY_ERROR, WRONG_ANSWER, HANGS, SERVER_LOG)
    found[NOBODY] = set(answers).difference(*(found[check] for check in seen))
    found[READER] = {n for n in answers if answers[n].unread(truth[n])}
    return found


def _by_pages(
    ground: Ground, place: str, hit: dict[int, list[int]], is_refused: Callable[[bytes, int], bool]
) -> set[int]:
    """Copies in which one rule alone refuses a page that was hit."""
    noticed = set()
    for number, blocks in hit.items():
        file = (ground.clone.directory / ground.files[number, place]).read_bytes()
        for block in blocks:
            page = file[block * PAGE : (block + 1) * PAGE]
            if len(page) == PAGE and is_refused(page, block):
                noticed.add(number)
    return noticed


def _is_summed_wrong(page: bytes, block: int) -> bool:
    """The checksum's rule: a page whose pd_upper is 0 counts as new and has none."""
    stored = int.from_bytes(page[8:10], "little")
    return page[14:16] != b"\0\0" and page_checksum(page, block) != stored


def _is_insane(page: bytes, block: int) -> bool:
    """What the server refuses without checksums too."""
    return judge_page(page, block, False) is not None
