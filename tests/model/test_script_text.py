"""A script is cut where pgbench cuts it: commands in strings and comments are none."""

from __future__ import annotations

import pytest

from steelyard.model.script_text import VARIABLE, commands, split_statements, without_commands


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("\\set a 1\nSELECT 1 \\gset p_\n\\IF :a\n\\sleep 1 s\n\\endif", "set gset IF sleep endif"),
        ("-- \\set a 1\n/* \\if 1\n\\endif */ SELECT '\\set', E'\\'\\if'; \\aset", "aset"),
        ("\\set a 1 + \\\n  \\\n 2\n\\startpipeline\n\\syncpipeline\n\\endpipeline",
         "set startpipeline syncpipeline endpipeline"),
        ("SELECT 'it''s' \\gset\nSELECT \"it's\" \\aset\n", "gset aset"),
        ("\\setshell a b\n\\shell c\n\\drawn\n", ""),
    ],
)  # fmt: skip
def test_commands_are_named_by_their_verbs(text: str, verbs: str) -> None:
    assert [command["verb"] for command in commands(text)] == verbs.split()


def test_a_semicolon_stands_for_a_command_and_between_the_statements_of_a_message() -> None:
    text = "SELECT 1 \\gset\n\\if :a\nSELECT 2 \\; SELECT '\\;' \\aset\n\\endif\n"
    assert without_commands(text) == "SELECT 1 ;\n;\nSELECT 2 ; SELECT '\\;' ;\n;\n"
    first, *_ = commands(text)
    assert without_commands(text, {first.start()}).startswith("SELECT 1 \\gset\n;\n")


def test_statements_of_one_message_are_cut_too_and_variables_are_filled_in() -> None:
    text = "SELECT ':a;' \\; SELECT :a::int; SELECT [1:b]"
    expected = ["SELECT '7;' ;", "SELECT 7::int;", "SELECT [1:b]"]
    assert [s.strip() for s in split_statements("s", text, {"a": "7"})] == expected
    with pytest.raises(ValueError, match=r"^s:1:8: undefined variable"):
        split_statements("s", "SELECT :b", {})


def test_a_cast_is_no_variable() -> None:
    assert VARIABLE.findall("SELECT :a::int, b::text, :ä1, x[1:n], '12:30'") == ["a", "ä1", "n"]
