"""Drills relation files: plants each fault in every copy, runs all checks, and restores."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from steelyard._core import judge_page, page_checksum
from steelyard.engines.postgres.sql.drill_tables import DRILL_QUERIES, detect_by_amcheck
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.faults import FILE_FAULTS, PAGE, Target, changed_blocks, damaged_file
from steelyard.integrity.drill.matrix import (
    ARMS,
    HANGS,
    PLANTED,
    QUERY_ERROR,
    ROW_COMPARISON,
    SERVER_LOG,
    UNNOTICED,
    WRONG_ANSWER,
    DetectionMatrix,
    Rate,
    settings_of,
)
from steelyard.integrity.drill.test_cluster import (
    Answers,
    TestCluster,
    query_copies,
    require_drill_cluster,
)
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

Progress = Callable[[str], None]
MAX_DRAWS = 200
"""Of a block and a fault, until something changes: zeroing an empty sector changes nothing."""


def drill_files(
    cluster: TestCluster,
    faults: Sequence[str],
    places: Sequence[str],
    seed: int,
    progress: Progress,
    matrix: DetectionMatrix,
) -> None:
    """Plant every fault in every place under every arm, once in each copy.

    Adds each result to `matrix` at once, since a drill may be interrupted.
    """
    catalogue = cluster.slot.path / "catalogue"
    cluster.restore()
    scrub(ScrubRequest(cluster.clone.directory, catalogue=catalogue), lambda *_: None)
    for fault in faults:
        for place in places:
            for arm in ARMS:
                progress(f"{fault} in {place}, checksums {arm}")
                # The same seed under every arm plants the same faults.
                rng = random.Random(f"{seed} {fault} {place}")
                try:
                    damaged = plant_in_copies(cluster, fault, place, rng)
                    planted = Rate(len(damaged), cluster.copies)
                    matrix.add(fault, place, arm, PLANTED, planted)
                    if damaged:
                        _run_checks(cluster, (fault, place, arm), damaged, catalogue, matrix)
                finally:
                    cluster.restore()


def plant_in_copies(
    cluster: TestCluster, fault: str, place: str, rng: random.Random
) -> dict[int, list[int]]:
    """Plant a fault in each copy of the clone; the blocks that differ afterwards, by copy."""
    require_drill_cluster(cluster.clone.directory)
    damaged: dict[int, list[int]] = {}
    for number in range(cluster.copies):
        path = cluster.files[number, place]
        current, earlier = cluster.current(path), cluster.earlier[path]
        if len(current) < PAGE:
            continue
        other = cluster.files[number, "index" if place == "heap" else "heap"]
        sibling = cluster.current(cluster.files[(number + 1) % (cluster.copies + 1), place])
        changed = changed_blocks(current, earlier)
        # A block that did not exist earlier has no older version.
        changed = [block for block in changed if block < len(earlier) // PAGE] or changed
        # Stale content must differ from the current one; the other faults may hit any page.
        stale = fault.startswith(("torn", "lost", "stale")) and changed
        foreign = cluster.current(other)
        # A page from another relation has the same number there.
        from_other = fault == "from another relation"
        blocks = min(len(current), len(foreign)) if from_other else len(current)
        for _ in range(MAX_DRAWS):
            block = rng.choice(changed) if stale else rng.randrange(max(1, blocks // PAGE))
            target = Target(current, earlier, foreign, sibling, block)
            content = damaged_file(fault, target, rng)
            if content is not None:
                cluster.write(path, content)
                damaged[number] = changed_blocks(content, current)
                break
    return damaged


def _run_checks(
    cluster: TestCluster, case: tuple[str, str, str], damaged: dict[int, list[int]],
    catalogue: Path, matrix: DetectionMatrix,
) -> None:  # fmt: skip
    fault, place, arm = case

    def count(check: str, noticed: Iterable[int] | None) -> None:
        if noticed is not None:
            hits = sum(number in damaged for number in set(noticed))
            matrix.add(fault, place, arm, check, Rate(hits, len(damaged)))

    if arm == "off":
        cluster.clone.protect("none")
    count("scrub", checks.detect_by_scrub(cluster))
    count("catalogue", checks.detect_by_scrub(cluster, catalogue))
    if arm == "on":
        count("pg_checksums", checks.detect_by_pg_checksums(cluster))
        if fault not in FILE_FAULTS or fault == "cluster of blocks":
            count("page checksum", _copies_refused(cluster, place, damaged, _has_wrong_checksum))
            count("header sanity", _copies_refused(cluster, place, damaged, _has_invalid_header))
    with cluster.running(settings_of(arm)) as server:
        if arm != "ignore":
            backup = checks.detect_by_base_backup(cluster, server)
            count("pg_basebackup", backup and backup[0])
            count("pg_verifybackup", backup and backup[1])
        begun = checks.log_file(cluster).stat().st_size
        answers = query_copies(server.address, damaged, cluster.intact)
        logged = checks.detect_in_server_log(cluster, begun)
        for check, noticed in score(answers, cluster.truth, logged).items():
            matrix.add(fault, place, arm, check, Rate(len(noticed), len(answers)))
        if len(answers) == len(damaged):  # else the server no longer answers
            count("amcheck", detect_by_amcheck(server.address, damaged))


def score(
    answers: Mapping[int, Answers],
    truth: Mapping[int, Answers],
    logged: set[int],
    paths: Collection[str] = DRILL_QUERIES,
) -> dict[str, set[int]]:
    """Copies by what noticed them; one copy may raise an error on one access path and answer
    wrongly on another."""
    copies: dict[str, set[int]] = {}
    for kind, affected in (
        ("error", {n: each.erred for n, each in answers.items()}),
        ("wrong answer", {n: each.wrong(truth[n]) for n, each in answers.items()}),
        ("hangs", {n: each.hung for n, each in answers.items()}),
    ):
        copies[f"query: {kind}"] = {n for n in answers if affected[n]}
        for path in paths:
            copies[f"{path}: {kind}"] = {n for n in answers if path in affected[n]}
    copies[SERVER_LOG] = logged & set(answers)
    noticing = (QUERY_ERROR, WRONG_ANSWER, HANGS, SERVER_LOG)
    copies[UNNOTICED] = set(answers).difference(*(copies[check] for check in noticing))
    copies[ROW_COMPARISON] = {n for n in answers if answers[n].misread(truth[n])}
    return copies


def _copies_refused(
    cluster: TestCluster,
    place: str,
    damaged: dict[int, list[int]],
    is_refused: Callable[[bytes, int], bool],
) -> set[int]:
    """Copies in which one rule alone refuses a damaged page."""
    noticed = set()
    for number, blocks in damaged.items():
        file = cluster.read(cluster.files[number, place])
        for block in blocks:
            page = file[block * PAGE : (block + 1) * PAGE]
            if len(page) == PAGE and is_refused(page, block):
                noticed.add(number)
    return noticed


def _has_wrong_checksum(page: bytes, block: int) -> bool:
    """The checksum's rule alone: a page whose pd_upper is 0 counts as new and has none."""
    stored = int.from_bytes(page[8:10], "little")
    return page[14:16] != b"\0\0" and page_checksum(page, block) != stored


def _has_invalid_header(page: bytes, block: int) -> bool:
    """What the server refuses also without checksums."""
    return judge_page(page, block, False) is not None
