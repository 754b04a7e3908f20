"""Words for what is wrong in a study file: keys that are missing, values of another kind, and lines
that are no TOML."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from datetime import date, time

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from steelyard.model.errors import StudyError
from steelyard.model.files.small_file import parse_toml
from steelyard.model.secrets.redaction import redacted
from steelyard.study.change import toml_text
from steelyard.study.values import WrittenFloat

_MISSING = {
    "control": "Write [control]; with nothing beneath it is the newest PostgreSQL 18 as it comes.",
    "arm": "Write [[arm]], and beneath it what it differs in.",
    "title": 'Write above all tables what the arms are about: title = "What does ... cost?"',
    "question": 'Write above all tables what is to be decided: question = "May we ...?"',
}
"""Key that every study has → what to write."""
_ACCEPTED = {
    "bool_parsing": "accepted: true, false",
    "bool_type": "accepted: true, false",
    "int_parsing": "accepted: a whole number",
    "float_parsing": "accepted: a number",
}
"""In place of the words of the library that reads values."""


def message_of(error: ErrorDetails) -> str:
    """What is wrong with a value."""
    value, kind = error["input"], error["type"]
    if kind == "string_type" and isinstance(value, bool | int | float | date | time):
        letters = value.text if isinstance(value, WrittenFloat) else toml_text(value)
        return f'it is a text: write it in quotes: "{letters}"'
    if kind == "tuple_type" and isinstance(value, str):
        return f"it is a list: [{toml_text(value)}]"
    return _ACCEPTED.get(kind, error["msg"].removeprefix("Value error, "))


_BARE_VALUE = re.compile(r"""\s*([\w."'-]+)\s*=\s*([^\s"'\[{#][^#]*?)\s*(?:#.*)?""")
_BARE_IN_TABLE = re.compile(r"""(?<==)(\s*)([^\s"'\[\]{}#,=][^"'\[\]{}#,=]*?)(?=\s*[,}])""")
_LINE_OF_ERROR = re.compile(r"\(at line (\d+)")


def quoting_hint(text: str, reason: str) -> str | None:
    """How the line that no TOML can be read from is to be written, where a value of it stands
    without quotes, as a server's own file has it: `work_mem = "64MB"`. `reason`: of the
    TOMLDecodeError."""
    number = _LINE_OF_ERROR.search(reason)
    line = text.split("\n")[int(number[1]) - 1] if number else ""
    bare = _BARE_VALUE.fullmatch(line)
    if bare is not None:
        quoted = f"{bare[1]} = {toml_text(bare[2])}"
    else:
        quoted = _BARE_IN_TABLE.sub(lambda bare: bare[1] + _quoted(bare[2]), line).strip()
    # Else it is something else, as a key that stands twice.
    if _is_toml(quoted) and not _is_toml(line):
        return f"Texts, and values with a unit, stand in quotes: {redacted(quoted)}"
    return None


def _quoted(value: str) -> str:
    """The value as a text where it is nothing else."""
    return value if _is_toml(f"value = {value}") else toml_text(value)


def _is_toml(line: str) -> bool:
    with suppress(tomllib.TOMLDecodeError):
        parse_toml(line)
        return True
    return False


def missing_keys(failure: ValidationError, key: str, location: str) -> StudyError:
    """All that every study has and this one lacks, so that no second try is refused by the next.
    `key`: the first of all; `location`: the file before it."""
    missing = [error["loc"] for error in failure.errors() if error["type"] == "missing"]
    top = [{"arms": "arm"}.get(str(path[0]), str(path[0])) for path in missing if len(path) == 1]
    keys = top if key in top else [key]
    hints = [_MISSING[name] for name in keys if name in _MISSING]
    names = ", ".join(f'"{name}"' for name in keys)
    return StudyError(
        f"{location}missing key{'s' if len(keys) > 1 else ''}: {names}",
        hint=" ".join(hints) or None,
    )
