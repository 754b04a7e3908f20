"""A tutorial's commands are found in order, and what it shows is held to what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutorial.page import Step, fences, missing, run, steps

PAGE = """# A tutorial
```sh
echo one 1
```
```text
one 7
```
```console
$ never run
```
```sh
echo two
echo three
```
and so on
"""


def test_commands_are_found_with_the_output_that_is_shown_behind_them() -> None:
    assert list(steps(PAGE)) == [Step("echo one 1\n", ("one 7",)), Step("echo two\necho three\n")]
    assert fences(PAGE, "console") == ["$ never run\n"]


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("took 2 min 50 s", "took  1 min 3 s"),
        ("server CPU  20.66 µs  −4.10 % [−4.52, −3.67]", "server CPU 3 µs +1 % [+0.1, +2]"),
        ("covered: ... of the statements", "covered: 97.2 % of the statements"),
        ("▲ FASTER", "? INCONCLUSIVE"),
        ("off is faster than on by 3 %", "off against on reads −1 %"),
    ],
)
def test_numbers_spaces_and_verdicts_may_be_others(shown: str, output: str) -> None:
    assert missing([shown], output) == []


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        (["took 2 min"], "took long"),
        (["record  records/a"], "report  records/a"),
        (["▲ FASTER"], "FASTER"),
        (["one", "two"], "two\none"),
    ],
)
def test_other_words_or_another_order_are_noticed(shown: list[str], output: str) -> None:
    assert missing(shown, output) == [shown[-1]]


def test_a_command_that_fails_or_says_another_thing_fails_the_test(tmp_path: Path) -> None:
    assert run(Step("echo one; echo two >&2\n", ("one", "two")), tmp_path, {}) == "one\ntwo\n"
    with pytest.raises(AssertionError, match="said no"):
        run(Step("echo said no; false\n"), tmp_path, {})
    with pytest.raises(AssertionError, match="not said"):
        run(Step("echo one\n", ("two",)), tmp_path, {})
