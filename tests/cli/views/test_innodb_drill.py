"""The text of a drill of InnoDB has a table for each algorithm and place."""

from __future__ import annotations

from steelyard.cli.views.drilled import render_innodb
from steelyard.integrity.drill.matrix import PLANTED, QUERY_ERROR, DetectionMatrix, Rate
from steelyard.integrity.innodb.drill import INNOCHECKSUM, SCRUB, InnodbDrillResult


def result(ended_by: BaseException | None = None) -> InnodbDrillResult:
    matrix = DetectionMatrix()
    for algorithm, seen in (("none", 1), ("crc32", 4)):
        matrix.add("one bit", "rows", algorithm, PLANTED, Rate(4, 4))
        matrix.add("one bit", "rows", algorithm, QUERY_ERROR, Rate(seen, 4))
        matrix.add("lost write", "BLOB", algorithm, PLANTED, Rate(0, 4))
    matrix.add("one bit", "rows", "crc32", INNOCHECKSUM, Rate(4, 4))
    matrix.add("one bit", "rows", "crc32", SCRUB, Rate(3, 4))
    return InnodbDrillResult("MariaDB 10.3.1", ("none", "crc32"), 1, 4, 2.0, matrix, ended_by)


def test_percents_stand_by_algorithm_and_a_check_that_was_not_run_has_none() -> None:
    words = render_innodb(result())
    lines = words.splitlines()
    head = "innodb_checksum_algorithm = {}, in rows:"
    none = lines[lines.index(head.format("none")) + 2].split()
    crc32 = lines[lines.index(head.format("crc32")) + 2].split()
    assert none[:4] == ["one", "bit", "4", "25"]
    assert set(none[4:]) == {"-"}
    assert crc32[:4] == ["one", "bit", "4", "100"]
    assert crc32[-2:] == ["100", "75"]
    assert "  lost write, BLOB: 0 of 4" in words


def test_one_that_ended_early_says_so() -> None:
    assert "It ended early" in render_innodb(result(KeyboardInterrupt()))
    assert "It ended early" not in render_innodb(result())
