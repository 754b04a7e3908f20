"""JSON of others is read within bounds, and what lies beyond them is refused in words."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from steelyard.model.files.bounded_json import JsonError, parse_json, read_json

HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "deep": ("[" * 100_000, "nested deeper"),
    "deep and closed": ("[" * 300 + "]" * 300, "nested deeper"),
    "deep beside a surrogate": ('["\\ud800",' + "[" * 300 + "]" * 300 + "]", "nested deeper"),
    "deep objects": ('{"a":' * 5_000 + "1" + "}" * 5_000, "nested deeper"),
    "digits": ('{"seed": ' + "9" * 5_000 + "}", "digits"),
    "NaN": ('{"estimate": NaN}', "NaN"),
    "infinity": ('{"estimate": -Infinity}', "-Infinity"),
    "beyond a double": ('{"estimate": 1e999}', "1e999"),
    "beyond a double, in capitals": ("[-1.5E+4000]", "-1.5E+4000"),
    "beyond a double, beside names with escapes": (r'{"a\"": 1, "b": 1e999}', "1e999"),
    "beyond a double, without an exponent": ("[1" + "0" * 400 + ".5]", "1000000000"),
    "torn": ('{"a": ', "line 1 column 7"),
    "nothing": ("", "Expecting value"),
    "no text": (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_beyond_the_bounds_is_refused_in_words(case: str) -> None:
    content, words = HOSTILE[case]
    with pytest.raises(JsonError, match=re.escape(words)):
        parse_json(content)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "µ"]},
        "\ud800",
        10**4_000,
        1e300,
        1e-400,
        [[[[]]]],
        {},
        {"1e999": "1e999", "a\\": "1e999", '"1e999': 10**400},
    ],
    ids=lambda value: str(value)[:20].encode("ascii", "replace").decode(),
)
def test_what_lies_within_them_is_read_as_the_standard_library_reads_it(value: object) -> None:
    text = json.dumps(value)
    assert parse_json(text) == json.loads(text)
    assert parse_json(text.encode()) == json.loads(text)


def test_as_many_levels_as_are_allowed_are_read_by_either_parser() -> None:
    for inside in ("1", '"\\ud800"'):
        assert json.dumps(parse_json("[" * 200 + inside + "]" * 200)).count("[") == 200


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    sparse.touch()
    os.truncate(sparse, 1 << 40)
    with pytest.raises(JsonError, match="more than 16 MB"):
        read_json(sparse)


def test_a_file_that_never_ends_is_refused() -> None:
    with pytest.raises(JsonError, match="not a regular file"):
        read_json(Path("/dev/zero"))


def test_a_pipe_that_nothing_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(JsonError, match="not a regular file"):
        read_json(tmp_path / "pipe")


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none")
