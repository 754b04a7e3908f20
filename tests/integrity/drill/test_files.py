"""Errors, wrong answers and timeouts of a copy are counted apart."""

from __future__ import annotations

from steelyard.engines.local.own_server import Reply
from steelyard.engines.postgres.sql.drill_tables import DRILL_QUERIES
from steelyard.integrity.drill.files import score
from steelyard.integrity.drill.matrix import (
    HANGS,
    QUERY_ERROR,
    ROW_COMPARISON,
    SERVER_LOG,
    UNNOTICED,
    WRONG_ANSWER,
)
from steelyard.integrity.drill.test_cluster import Answers

TRUE = {way: Reply("[(1,)]") for way in DRILL_QUERIES}


def answers_with(**replies: Reply) -> Answers:
    return Answers({**TRUE, **{way.replace("_", " "): r for way, r in replies.items()}})


def test_an_error_hides_no_wrong_answer_and_what_hangs_is_neither() -> None:
    answers = {
        0: answers_with(table=Reply("[(0,)]"), index=Reply(error="XX001: invalid page")),
        1: answers_with(index_alone=Reply(hung=True, died=True)),
        2: answers_with(),
        3: answers_with(insert=Reply(error="XX001: invalid page")),
        4: answers_with(),
    }
    found = score(answers, dict.fromkeys(answers, Answers(TRUE)), {4, 9})
    assert found[QUERY_ERROR] == {0, 3}
    assert found[WRONG_ANSWER] == {0}
    assert found[HANGS] == {1}
    assert found[SERVER_LOG] == {4}
    assert found[UNNOTICED] == {2}
    assert found[ROW_COMPARISON] == {0, 1}, "whoever reads all rows inserts none"
    assert found["table: wrong answer"] == {0}
    assert found["index: error"] == {0}
    assert found["index alone: hangs"] == {1}
    assert found["insert: error"] == {3}
