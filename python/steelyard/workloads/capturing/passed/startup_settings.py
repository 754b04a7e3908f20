"""Reads what a client set for its session in the startup message: parameters by their own names,
and those in the command line of its server process (`options`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steelyard.workloads.capturing.leading_words import setting_with_effect

_OPTIONS = "options"
_WORD = re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def startup_settings(parameters: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The names of settings by which statements may meet other tables, rows or plans, each once.
    `parameters`: of the message, those aside that are no settings. What is set twice counts as it
    was set last, and a parameter of its own over the command line (process_startup_options in
    postinit.c)."""
    named = list(parameters)
    switched = (pair for name, value in named if name == _OPTIONS for pair in _switches(value))
    own = ((name, value) for name, value in named if name != _OPTIONS)
    values = {name.lower(): value for pairs in (switched, own) for name, value in pairs}
    names = (setting_with_effect(name, value) for name, value in values.items())
    return tuple(dict.fromkeys(name for name in names if name))


def _switches(options: str) -> Iterator[tuple[str, str]]:
    """Names and values of `-c NAME=VALUE` and `--NAME=VALUE`, between blanks that no backslash
    escapes (pg_split_opts and ParseLongOption)."""
    words = (_ESCAPE.sub(r"\1", word) for word in _WORD.findall(options))
    for word in words:
        setting = ""
        if word.startswith("--"):
            setting = word[2:]
        elif word.startswith("-c"):
            setting = word[2:] or next(words, "")
        name, equals, value = setting.partition("=")
        if equals:
            yield name.replace("-", "_"), value
