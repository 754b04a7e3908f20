"""A script writes where one of its branches does, whichever of them one execution takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import resolve_scripts
from steelyard.workloads.reading.statements import Assignments, every_statement, may_write

GIVEN = {"mode": "0", "limit": "5"}
WRITES = {
    "a branch that is drawn": (
        "\\set r random(1, 1000000)\n\\if :r = 7\nUPDATE t SET a = 1;\n\\else\nSELECT 1;\n\\endif\n"
    ),
    "a condition that draws": "\\if random(1, 100) > 100\nDELETE FROM t;\n\\endif\nSELECT 1;\n",
    "a condition by hash": "\\if hash(:limit) = 0\nDELETE FROM t;\n\\endif\nSELECT 1;\n",
    "an answer": (
        "SELECT count(*) AS n FROM t \\gset\n\\if :n = 0\nINSERT INTO t VALUES (1);\n\\endif\n"
    ),
    "an answer with a prefix": (
        "\\set x_n 1\nSELECT 1 AS n \\aset x_\n\\if :x_n = 2\nSELECT 1;\n"
        "\\elif :x_n = 3\nTRUNCATE t;\n\\endif\n"
    ),
    "one of the clients": "\\if :client_id = 7\nDELETE FROM t;\n\\endif\nSELECT 1;\n",
    "the number of clients": "\\if :clients > 4\nDELETE FROM t;\n\\endif\nSELECT 1;\n",
    "a variable that it changes": (
        "\\if :mode = 1\nDELETE FROM t;\n\\endif\n\\set mode 1 - :mode\nSELECT 1;\n"
    ),
    "a branch within a branch": (
        "\\set r random(1, 9)\n\\if :mode = 0\n\\if :r > 9\nUPDATE t SET a = 1;\n\\endif\n\\endif\n"
        "SELECT 1;\n"
    ),
    "a branch on the line of a statement": (
        "SELECT 1; \\if :client_id\nDELETE FROM t; \\else\nSELECT 2; \\endif\n"
    ),
    "a condition on two lines": "\\if :client_id \\\n = 7\nDELETE FROM t;\n\\endif\nSELECT 1;\n",
    "a division that an answer permits": (
        "SELECT 2 AS n \\gset\n\\set m 1 / (:n - 1)\n\\if :m = 7\nDELETE FROM t;\n\\endif\n"
    ),
    "several statements in one message": "SELECT ';' \\; UPDATE t SET a = 1 \\; SELECT 2;\n",
    "a branch that a variable opens": "\\if :limit = 5\nUPDATE t SET a = 1;\n\\endif\n",
    "what was prepared elsewhere": "EXECUTE q(1);\n",
    "commands in capitals": "\\IF :client_id\nDELETE FROM t;\n\\ENDIF\nSELECT 1;\n",
}
READS = {
    "a branch that a variable closes": (
        "\\if :mode = 1 and :limit > 2\nUPDATE t SET a = 1;\n\\else\nSELECT 1;\n\\endif\n"
    ),
    "a branch within such a one": (
        "\\set r random(1, 9)\n\\if :mode = 1\n\\if :r > 3\nDELETE FROM t;\n\\endif\n\\endif\n"
        "SELECT :r;\n"
    ),
    "branches that read": (
        "\\set r random(1, 9)\n\\if :r > 3\nSELECT 1 \\gset\n\\elif :r > 2\nBEGIN;\nSELECT 2;\n"
        "COMMIT;\n\\else\n\\sleep 1 us\n\\endif\n"
    ),
    "comments": (
        "-- \\if :mode\n-- 'UPDATE t'\n/* \\set x 1 */ SELECT 1;\n/*\n\\endif\n*/\nSELECT 2;\n"
    ),
    "texts": "SELECT '\\; DELETE FROM t', 'a -- b' \\; SELECT 2;\n",
    "what it prepares": "PREPARE q(int) AS SELECT $1;\nEXECUTE q(1);\nDEALLOCATE q;\n",
    "a pipeline": "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n",
    "an assignment alone": "\\set a 1\n",
}


def writes(text: str, others: tuple[str, ...] = ()) -> bool:
    return may_write("mine", text, GIVEN, Assignments.of((text, *others)))


@pytest.mark.parametrize("kind", WRITES)
def test_what_some_execution_may_write(kind: str) -> None:
    assert writes(WRITES[kind])


@pytest.mark.parametrize("kind", READS)
def test_what_no_execution_writes(kind: str) -> None:
    assert not writes(READS[kind])


def test_what_another_script_of_the_mix_sets_closes_no_branch() -> None:
    text = READS["a branch that a variable closes"]
    assert not writes(text, ("\\set other 1\nSELECT 1 AS mode \\gset p_\n",))
    assert writes(text, ("\\set mode random(0, 1)\n",))
    assert writes(text, ("SELECT 1 AS ode \\gset m\n",))
    assert writes(text, ("\\draw rows a limit\n",))


def test_a_script_of_the_study_writes_by_all_of_its_branches() -> None:
    pgbench = find_workload("pgbench")
    for written, scripts in ((True, WRITES), (False, READS)):
        for kind, text in scripts.items():
            if "\\;" in text:  # sent by the simple protocol alone
                continue
            [script] = resolve_scripts(pgbench, {"mine": 1}, 1, GIVEN, {"mine": text})
            assert script.writes is written, kind


def test_statements_that_cannot_be_told_apart_are_taken_to_write() -> None:
    with pytest.raises(ValueError, match="unterminated"):
        every_statement("mine", "SELECT 'a", {}, Assignments.of(()))
    assert writes("SELECT 'a")


CONDITIONS = st.sampled_from(
    ("random(0, 1) = 0", ":r > 4", ":client_id % 2", ":mode = 0", ":limit", "null", ":r is null")
)


@st.composite
def nested(draw: st.DrawFn, depth: int, statement: str) -> str:
    """A statement in some branch of branches, among others that read; none of them is closed by a
    given variable."""
    if depth == 0:
        return f"{statement};\n"
    inner = draw(nested(depth - 1, statement))
    condition, place = draw(CONDITIONS), draw(st.sampled_from(("if", "elif", "else")))
    open_condition = draw(st.sampled_from((":r > 4", "random(0, 1) = 0", ":client_id = 3")))
    bodies = {"if": "SELECT 1;\n", "elif": "SELECT 2;\n", "else": "SELECT 3;\n"} | {place: inner}
    return (
        f"\\if {open_condition}\n{bodies['if']}\\elif {condition}\n{bodies['elif']}"
        f"\\else\n{bodies['else']}\\endif\n"
    )


@given(st.data(), st.integers(0, 4), st.sampled_from(("DELETE FROM t", "SELECT 7")))
def test_a_statement_is_listed_in_whatever_branch_it_stands(
    data: st.DataObject, depth: int, statement: str
) -> None:
    text = "\\set r random(1, 9)\n" + data.draw(nested(depth, statement))
    statements = every_statement("mine", text, GIVEN, Assignments.of((text,)))
    assert f"{statement};" in statements
    assert writes(text) is statement.startswith("DELETE")
