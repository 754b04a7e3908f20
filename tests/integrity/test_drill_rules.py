"""What a drill counts: wrong answers beside errors, damage that is some, words that name a file."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard._core import page_checksum
from steelyard.cli.views.drilled import answer, render, sentence
from steelyard.integrity.drill import checks
from steelyard.integrity.drill.cases import score
from steelyard.integrity.drill.damage_readers import copied_rows
from steelyard.integrity.drill.faults import PAGE, Spot, plant, resealed
from steelyard.integrity.drill.matrix import (
    HANGS,
    NOBODY,
    PLANTED,
    QUERY_ERROR,
    READER,
    SERVER_LOG,
    WRONG_ANSWER,
    Matrix,
)
from steelyard.integrity.drill.questions import WAYS, Answers, Reply
from steelyard.integrity.drill.rate import Rate
from steelyard.integrity.drill.recovery import torn_pages_of
from steelyard.integrity.drill.story import Drill
from steelyard.integrity.drill.test_cluster import rows_of

TRUE = {way: Reply("[(1,)]") for way in WAYS}


def told(**replies: Reply) -> Answers:
    return Answers({**TRUE, **{way.replace("_", " "): r for way, r in replies.items()}})


def test_an_error_hides_no_wrong_answer_and_what_hangs_is_neither() -> None:
    answers = {
        0: told(table=Reply("[(0,)]"), index=Reply(error="XX001: invalid page")),
        1: told(index_alone=Reply(hung=True, died=True)),
        2: told(),
        3: told(insert=Reply(error="XX001: invalid page")),
        4: told(),
    }
    found = score(answers, dict.fromkeys(answers, Answers(TRUE)), {4, 9})
    assert found[QUERY_ERROR] == {0, 3}
    assert found[WRONG_ANSWER] == {0}
    assert found[HANGS] == {1}
    assert found[SERVER_LOG] == {4}
    assert found[NOBODY] == {2}
    assert found[READER] == {0, 1}, "whoever reads all rows inserts none"
    assert found["table: wrong answer"] == {0}
    assert found["index: error"] == {0}
    assert found["index alone: hangs"] == {1}
    assert found["insert: error"] == {3}


def page(number: int) -> bytes:
    """Content of its own, with a sane header."""
    head = bytes(12) + (100).to_bytes(2, "little") + (200).to_bytes(2, "little")
    head += (8192).to_bytes(2, "little") + (8196).to_bytes(2, "little") + bytes(4)
    return resealed(head + random.Random(number).randbytes(PAGE - 24), 0)


def test_a_misdirected_page_is_another_page_and_a_collision_counts(tmp_path: Path) -> None:
    path = tmp_path / "1"
    missed = 0
    for number in range(200):
        now, sibling = page(number), page(1000 + number)
        path.write_bytes(now)
        spot = Spot(path, now, now, b"", sibling, 0)
        assert plant("misdirected by 65,537 blocks", spot, random.Random(number))
        read = path.read_bytes()
        assert read == resealed(sibling, 65_537), "a page of another copy, as there is no other"
        missed += page_checksum(read, 0) == int.from_bytes(read[8:10], "little")
    # As block 0 half of them: the bits that differ are two that cancel in the remainder.
    assert 70 < missed < 130, "those that no checksum sees are planted like the others"


def test_a_page_torn_at_a_crash_is_neither_the_old_one_nor_the_new() -> None:
    old, new = page(1) + page(2), page(3) + page(2)
    halves = torn_pages_of(old, new, PAGE // 2)
    assert [at for at, _ in halves] == [0, 0], "the second page did not change"
    assert {torn for _, torn in halves} == {
        new[:4096] + old[4096:PAGE],
        old[:4096] + new[4096:PAGE],
    }
    assert len(torn_pages_of(old, new, 512)) == 30
    assert torn_pages_of(old, old, 512) == []


def test_the_same_content_under_another_checksum_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "1"
    now = page(1)
    path.write_bytes(now)
    spot = Spot(path, now, now, b"", now, 0)
    for fault in ("misdirected write", "misdirected by 65,536 blocks"):
        assert not plant(fault, spot, random.Random(1))


@pytest.mark.parametrize(
    "words",
    [
        'ERROR:  invalid page in block 0 of relation "base/5/16388"',
        "WARNING:  invalid page in block 0 of relation base/5/16388; zeroing out page",
        'ERROR:  could not read block 3 in file "base/5/16388": read only 0 of 8192 bytes',
    ],
)
def test_the_log_names_the_file_whatever_the_version(tmp_path: Path, words: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(f"of before: {words}\n")
    since = log.stat().st_size
    ground: Any = SimpleNamespace(
        slot=SimpleNamespace(path=tmp_path),
        files={(0, "heap"): "base/5/1638", (3, "heap"): "base/5/16388"},
    )
    assert checks.by_server_log(ground, since) == set()
    with log.open("a") as file:
        file.write(f"2026-11-22 UTC {words}\n")
    assert checks.by_server_log(ground, since) == {3}


def test_a_dump_is_compared_row_by_row() -> None:
    rows = rows_of(0)
    lines = ["--", "COPY public.drill_0 (id, tag, filler, long) FROM stdin;"]
    lines += ["\t".join(row) for row in reversed(rows)]
    assert copied_rows("\n".join([*lines, "\\.", "-- done"])) == rows
    lines[-1] = lines[-1].replace("c", "b", 1)
    assert copied_rows("\n".join([*lines, "\\."])) != rows


def test_what_could_not_be_planted_everywhere_and_what_needs_no_checksum_is_said() -> None:
    matrix = Matrix()
    matrix.add("lost write", "FSM", "on", PLANTED, Rate(3, 20))
    matrix.add("lost write", "FSM", "on", QUERY_ERROR, Rate(0, 3))
    matrix.add("stale file", "FSM", "on", PLANTED, Rate(0, 20))
    pages = {
        "one bit": {"page checksum": Rate(100, 100), "header sanity": Rate(1, 100)},
        "pd_upper zeroed": {"page checksum": Rate(0, 100), "header sanity": Rate(100, 100)},
        "zeroed sector": {
            "page checksum": Rate(93, 100),
            "header sanity": Rate(7, 100),
            "scrub": Rate(100, 100),
        },
    }
    facts = Drill("18", 1, 20, 1.0, True, pages, matrix, Matrix(), [], None).to_json()
    words = render(facts)
    assert "  lost write, FSM: 3 of 20" in words
    assert "  stale file, FSM: 0 of 20" in words
    said = sentence(facts)
    assert "you catch one bit, zeroed sector; you still miss" in said, "by both rules together"
    assert said.endswith("pd_upper zeroed the server sees without them.")
    assert "miss pd_upper" not in said


def test_the_answer_to_torn_bits_or_checksum_is_made_of_the_numbers() -> None:
    def way(algorithm: str, identity: str, torn: float, bit: float) -> dict[str, object]:
        return {
            "algorithm": algorithm,
            "identity": identity,
            "faults": {"torn page": {"share": torn}, "one bit": {"share": bit}},
            "speeds": {"": {"read cached": {"gigabytes_per_s": 20.0}}},
        }

    said = answer([way("torn-page bits", "none", 1.0, 0.0), way("PostgreSQL", "block", 1.0, 0.9)])
    assert "sees torn page; misses one bit." in said
    assert "sees torn page; misses one bit 10 %." in said
