"""Reads the scripts of `steelyard drive`, their weights, and the variables of --define."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.cli.options.drive_parameters import BUILTIN_NAMES
from steelyard.driver.plan import DriveScript
from steelyard.model.errors import UsageError

AUTOMATIC = {"client_id": "0", "random_seed": "0", "default_seed": "0"}
_BUILTIN_ROWS = {"tpcb-like": 1, "simple-update": 1, "select-only": 1}


def read_definitions(defined: list[str]) -> dict[str, Any]:
    """Variables given as NAME=VALUE. UsageError: another form."""
    variables = {}
    for definition in defined:
        name, equals, value = definition.partition("=")
        if not equals or not name:
            raise UsageError(f'invalid variable definition: "{definition}"; accepted: NAME=VALUE')
        variables[name] = value
    return variables


def read_scripts(
    files: list[str], builtins: list[str], variables: dict[str, Any], mode: str
) -> tuple[DriveScript, ...]:
    """The scripts named on the command line, checked together. UsageError: one is wrong."""
    if not files and not builtins:
        builtins = ["tpcb-like"]
    scripts = [_builtin(name) for name in builtins]
    for file in files:
        path, weight = _weighted(file)
        scripts.append(DriveScript(path, _text(path), weight))
    try:
        texts = [(script.name, script.text) for script in scripts]
        _core.check_scripts(texts, {**AUTOMATIC, **variables}, mode)
    except ValueError as error:
        path = str(error).split(":", 1)[0]
        raise UsageError(f'cannot drive script "{path}"', detail=str(error)) from error
    return tuple(scripts)


def only_reads(script: DriveScript, variables: dict[str, Any]) -> bool:
    """Whether every statement that the first transaction sends is a SELECT."""
    given = {name: str(value) for name, value in variables.items()}
    try:
        sent = _core.script_statements(script.name, script.text, {**AUTOMATIC, **given})
    except ValueError:
        return False  # an expression without a result: the driver will say so
    return all(statement.lstrip().lower().startswith("select") for statement in sent)


def _builtin(text: str) -> DriveScript:
    """A built-in script; as with pgbench, the beginning of a name is enough."""
    name, weight = _weighted(text)
    found = [known for known in BUILTIN_NAMES if name and known.startswith(name)]
    script = _core.builtin_script(found[0]) if len(found) == 1 else None
    if script is None:
        kind = "ambiguous" if found else "unrecognized"
        hint = f"There are {', '.join(BUILTIN_NAMES)}."
        raise UsageError(f'{kind} built-in script: "{name}"', hint=hint)
    return DriveScript(found[0], script, weight, _BUILTIN_ROWS[found[0]])


def shown_script(name: str | None) -> str:
    """What a built-in script holds, or which ones there are. UsageError: there is none."""
    if name is None:
        return "".join(f"{known}\n" for known in BUILTIN_NAMES)
    return _builtin(name).text


def _weighted(text: str) -> tuple[str, int]:
    name, at, weight = text.rpartition("@")
    if not at:
        return text, 1
    if not weight.isdecimal():
        raise UsageError(f'invalid weight of script "{name}": "{weight}"; accepted: whole numbers')
    return name, int(weight)


def _text(path: str) -> str:
    try:
        return Path("/dev/stdin" if path == "-" else path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f'could not read script "{path}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'cannot drive script "{path}": it is not UTF-8 text') from error
