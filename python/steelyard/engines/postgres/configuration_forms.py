"""Says of a file that is no configuration of PostgreSQL what it is like, and what makes one of it.

An advised command writes every setting that it reads into a line of its own, and what it cannot
convert as it stands: a server refuses that line, and nothing is lost in silence.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NO_SETTING = "A server does not start with this line either: correct or remove it."
_LINES = "A configuration has NAME = VALUE"
_OF_SERVER = (
    "psql -AtXc \"SELECT format('%s = %L', name, current_setting(name)) FROM pg_settings "
    "WHERE source NOT IN ('default', 'override')\" > FILE"
)
_OPTION_FILE = re.compile(r"\s*(?:\[[^\]]*\]|!include(?:dir)?\s)")
_SQL = re.compile(r"\s*(?:alter\s+system\b|--(?:\s|$))", re.IGNORECASE)
_ALTER = re.compile(r"\balter\s+system\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(r"\balter\s+system\s+(?:reset\b|set[^;]*\bdefault\s*;)", re.IGNORECASE)
_SQL_PROGRAM = (
    r"H;$!d;x;s#/\*[^*]*\*/##g;s/(\n|;)[ \t]*--[^\n]*/\1/g;"
    r"s/alter\s+system\s+set\s+\x22?([a-z0-9_.]+)\x22?(\s*=\s*|\s+to\s+)"
    r"((\x27[^\x27]*\x27|[^;\x27])*);/\n\x01\1 = \3\n/Ig;"
    r"s/(^|\n)[^\x01\n][^\n]*/\1/g;s/\n+/\n/g;s/\x01|^\n|\n$//g;p"
)
"""Of all lines together, since a statement may take several."""
_YAML = re.compile(r"---\s*$|\s*(?:-\s+)?[\"']?[\w.-]+[\"']?\s*:(?:\s|$)")
_BLOCK = re.compile(r"(?P<indent> *)[\"']?(?P<key>[\w.-]+)[\"']?\s*:\s*\|[-+0-9]*\s*(?:#.*)?$")
_SETTINGS_BLOCK = re.compile(r"(?!.*(?:hba|ident)).*(?:conf|configuration)", re.IGNORECASE)
_MAPPING = re.compile(r"(?P<indent> *)[\"']?parameters[\"']?\s*:\s*(?:#.*)?$")
_SCALAR = re.compile(r" *[\"']?[A-Za-z0-9_.]+[\"']?\s*: +\S")
_PAIR = re.compile(r"\s*-\s+option\s*:", re.MULTILINE)
_COMMENT = re.compile(r"\s*(?:#|---|$)")
_VALUE_STEPS = (
    r"s/[ \r]+$//;/= \x22/{s/\x27/\x27\x27/g;s/= \x22([^\x22\\]*)\x22( +#.*)?$/= \x27\1\x27/;p;b;};"
    r"/= \x27/{s/ +#.*$//;p;b;};s/ +#.*$//;s/\x27/\x27\x27/g;s/ = (.*)$/ = \x27\1\x27/;p"
)
"""Of NAME = VALUE as YAML writes values; b: the next line."""
_MAPPING_STEPS = (
    r"/^ *(#|$)/b;s/^ *[\x22\x27]?([A-Za-z0-9_.]+)[\x22\x27]? *: +/\1 = /;" + _VALUE_STEPS
)
_PAIR_STEPS = r"s/^ *- +option *: *[\x22\x27]?([A-Za-z0-9_.]+)[\x22\x27]? *$/\1/;N;" + (
    r"s/\n *value *: +/ = /;" + _VALUE_STEPS
)
_FLAGS = re.compile(r"\s*(?:postgres\s+)?(?:-c\s*|--)[\w.-]+=")
_FLAG_LIST = re.compile(r"\s*(?:--database-flags=|[\w.]+=[^,\s]*,.*[\w.]+=)")
_JSON = re.compile(r"\s*[{\[]\s*(?:$|[\"{\]}])")
_TABLE = re.compile(r"\s*(?:name\b.*[|,]|[-+|]{3,}$|\S+\s*\|)", re.IGNORECASE)
_TERRAFORM = re.compile(r"\s*(?:resource|module|variable|parameter|locals)\b.*\{\s*$")
_RDS_PROGRAM = (
    r'.Parameters[] | select(.ParameterValue) | "\(.ParameterName) = \u0027'
    r'\(.ParameterValue | gsub("\u0027"; "\u0027\u0027"))\u0027"'
)


def advice(file: Path, line: str, text: str) -> str:
    """What to type for a file of another form, by a line of it that is no setting."""
    path = shlex.quote(str(file))
    form = next((form for pattern, form in _FORMS if pattern.match(line)), None)
    return _NO_SETTING if form is None else form(path, text)


def _of_option_file(path: str, text: str) -> str:
    return (
        "It is like an option file of MySQL or MariaDB; read are files of PostgreSQL alone. "
        "Name each setting of such a server: --set arm.settings.NAME=VALUE"
    )


def _of_running() -> str:
    return f"{_LINES}; a running server writes it: {_OF_SERVER}"


def _of_sql(path: str, text: str) -> str:
    if not _ALTER.search(text):
        return f"It is SQL without ALTER SYSTEM. {_of_running()}"
    command = f"sed -nE '{_SQL_PROGRAM}' {path} > FILE"
    if _TAKEN_BACK.search(text):
        return (
            "It is SQL that takes settings back, by RESET or DEFAULT, for which no line stands: "
            f"remove these statements and what they take back, then type: {command}"
        )
    return f"It is SQL, as of pgtune. {_LINES}: {command}"


def _of_command_line(path: str, text: str) -> str:
    program = r"s/^ *postgres +//;s/(^| +)(-c *|--)([a-zA-Z0-9_.]+)=/\n\3 = /g"
    return f"It is a command line. {_LINES}: sed -E '{program}' {path} > FILE"


def _of_flags(path: str, text: str) -> str:
    program = "s/^ *--database-flags=//;s/,/\\n/g"
    return f"It is a list of flags. {_LINES}: sed -E '{program}' {path} > FILE"


def _of_terraform(path: str, text: str) -> str:
    return f"It is like Terraform: write each parameter as NAME = VALUE. {_of_running()}"


def _of_table(path: str, text: str) -> str:
    return f"It is like a table of pg_settings. {_of_running()}"


def _of_json(path: str, text: str) -> str:
    if '"ParameterName"' not in text:
        return f"It is JSON. {_of_running()}"
    return f"It is JSON, as of aws rds. {_LINES}: jq -r {shlex.quote(_RDS_PROGRAM)} {path} > FILE"


@dataclass(frozen=True)
class _Range:
    """Lines below a key, from 1, and how far they are indented."""

    first: int
    last: int
    indent: int

    @property
    def address(self) -> str:
        return f"{self.first},{self.last}"


def _of_yaml(path: str, text: str) -> str:
    lines = text.split("\n")
    blocks = [each for key, each in _below(lines, _BLOCK) if _SETTINGS_BLOCK.fullmatch(key)]
    if blocks:
        steps = ";".join(f"{each.address}s/^ {{0,{each.indent}}}//p" for each in blocks[:1])
        more = f" It has {len(blocks)} of them: this is the first." if len(blocks) > 1 else ""
        return f"It is YAML around the text of a configuration: {_sed(steps, path)}{more}"
    if _PAIR.search(text):
        steps = f"/^ *- +option *:/{{{_PAIR_STEPS}}}"
        return f"It is YAML, as of Ansible. {_LINES}: {_sed(steps, path)}"
    mappings = [each for _, each in _below(lines, _MAPPING)]
    if not mappings and all(_SCALAR.match(line) or _COMMENT.match(line) for line in lines):
        start = next((n for n, line in enumerate(lines, 1) if not _COMMENT.match(line)), 1)
        mappings = [_Range(start, len(lines), 0)]
    if mappings:
        steps = ";".join(f"{each.address}{{{_MAPPING_STEPS}}}" for each in mappings)
        return f"It is YAML, as of Patroni or Kubernetes. {_LINES}: {_sed(steps, path)}"
    return (
        "It is YAML, as of Kubernetes or Docker: write each setting of it, and each -c NAME=VALUE "
        "of a command, as a line NAME = VALUE into a file of its own"
    )


def _sed(program: str, path: str) -> str:
    return f"sed -nE '{program}' {path} > FILE"


def _below(lines: Sequence[str], key: re.Pattern[str]) -> Iterator[tuple[str, _Range]]:
    """The lines below each key that are indented more than it; of a key with none none."""
    for number, line in enumerate(lines, 1):
        match = key.match(line)
        if match is None:
            continue
        last = number
        for below, text in enumerate(lines[number:], number + 1):
            if text.strip() and len(text) - len(text.lstrip(" ")) <= len(match["indent"]):
                break
            last = below if text.strip() else last
        if last > number:
            first = next(text for text in lines[number:last] if text.strip())
            indent = len(first) - len(first.lstrip(" "))
            yield match.groupdict().get("key", ""), _Range(number + 1, last, indent)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[str, str], str]], ...] = (
    (_JSON, _of_json),
    (_OPTION_FILE, _of_option_file),
    (_SQL, _of_sql),
    (_FLAG_LIST, _of_flags),
    (_FLAGS, _of_command_line),
    (_YAML, _of_yaml),
    (_TERRAFORM, _of_terraform),
    (_TABLE, _of_table),
)
