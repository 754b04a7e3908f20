"""One change of a study: a key, its value, and the text that sets it on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable
from datetime import date, time
from itertools import chain
from math import isfinite
from typing import Any, Self

from steelyard.model.errors import StudyError
from steelyard.model.files.printable import printable
from steelyard.model.files.small_file import parse_toml
from steelyard.model.secrets.redaction import redacted

Table = dict[str, Any]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""What a string of TOML may only hold spelt out."""


class Change(str):
    """`KEY=VALUE` whose value is known: nothing reads it again from its text, which stands in
    records and repeats the command. A plain string is one as it was typed.

    >>> Change("source.place", "/data")
    'source.place="/data"'
    """

    key: str
    value: object

    def __new__(cls, key: str, value: object) -> Self:
        """`value`: a text, truth value, number, or a list or table of such."""
        change = super().__new__(cls, f"{key}={toml_text(value)}")
        change.key, change.value = key, value
        return change

    def __reduce__(self) -> tuple[type[Change], tuple[str, object]]:
        return type(self), (self.key, self.value)


def key_of(change: str) -> str:
    """The key that a change is of: `"workload.clients"`."""
    return change.partition("=")[0].strip()


def short_key(key: str) -> str:
    """A key without the tables it is in: `"clients"` of `"workload.clients"`. The name of a setting
    may hold dots, and stays whole: `"auto_explain.log_min_duration"`."""
    _, is_setting, setting = f".{key}".partition(".settings.")
    return setting if is_setting else key.rpartition(".")[2]


def toml_text(value: object) -> str:
    """A value as TOML has it; StudyError for what is no UTF-8, as a file's name may be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        _require_utf8(value)
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"' + _CONTROL.sub(lambda letter: f"\\u{ord(letter[0]):04x}", escaped) + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, dict):
        rows = (f"{toml_key(key)} = {toml_text(each)}" for key, each in value.items())
        return "{" + ", ".join(rows) + "}"
    return str(value)


def _require_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StudyError(
            f'a study cannot hold "{printable(text)}": it is not UTF-8',
            hint="Rename the file or the directory, or name it by a link: ln -s",
        ) from error


def toml_key(key: str) -> str:
    """A key as TOML has it, in quotes where it must be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_text(key)


def setting_name(key: str) -> str:
    """The name of a setting however it is spelt: `Work_Mem` is work_mem."""
    return key.lower()


def spelling_free(name: str) -> str:
    """What is one for all spellings of a setting: options of MySQL have dashes too."""
    return setting_name(name).replace("-", "_")


def general_first(overrides: Iterable[str]) -> list[str]:
    """Overrides in the order in which they are applied: as they were given, but one of a whole
    table (another workload) before those of its keys, and one of every arm before those of a single
    one, which it would take back unseen. The word `none` takes back what stands before it."""
    ordered: list[str] = []
    for override in overrides:
        covered = (n for n, other in enumerate(ordered) if _covers(override, key_of(other)))
        ordered.insert(next(covered, len(ordered)), override)
    return ordered


def _covers(override: str, other: str) -> bool:
    """Whether an override sets what the other key is a part of."""
    key = key_of(override)
    whole = other.startswith(f"{key}.")
    of_an_arm = other.startswith(("control.", "arm.")) and other.endswith(f".{key}")
    every = key in OF_EVERY_ARM and of_an_arm and ".settings." not in other
    return (whole or every) and _value_of(override, is_text=True) != "none"


def apply_change(table: Table, override: str) -> None:
    """Change one key of a study as TOML has it. StudyError: it is no change, is of no table, or
    does not say of which arm."""
    key, equals, _ = override.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise StudyError(
            f'invalid override: "{redacted(override)}"',
            hint="Write it as KEY=VALUE: --set workload.scale=50",
        )
    if path[0] == "arms":  # as JSON has them: here it would stand beside those that count
        raise StudyError(
            f'unrecognized key: "{key}"', hint=f'Write "{".".join(["arm", *path[1:]])}".'
        )
    if path[0] in ("control", "arm", "factors", "fraction") and {"factors", "arm"} <= {*table}:
        raise StudyError(
            f'override "{key}" cannot change cells that are laid out already',
            hint="Change the study that has factors only, not the one of a record.",
        )
    if len(path) == 1 and path[0] in OF_EVERY_ARM:
        for arm in _every_arm(table, override):
            arm[path[0]] = _value_of(override, is_text=True)
        return
    if path == ["arm"]:
        table["arm"] = _value_of(override, is_text=False)
        return
    target, path = _target(table, path, override)
    if path == ["workload"]:  # another workload: the study's scale and scripts were the old one's
        former = table.get("workload")
        driven = former.items() if isinstance(former, dict) else ()
        clients = {key: value for key, value in driven if key in _OF_CLIENTS}
        table["workload"] = {"name": str(_value_of(override, is_text=True)), **clients}
        return
    if path == ["source", "place"]:
        _forget_data(target)
    if path in (["name"], ["control", "name"]):  # it is no longer named by what it is
        target.pop("role", None)
    if "settings" in path[:-1]:  # it takes the place of the study's, however that is spelt
        path = [*path[:-1], setting_name(path[-1])]
        spelt = spelling_free(path[-1])
        for other in [name for name in target if spelling_free(name) == spelt]:
            del target[other]
    if path[:2] == ["workload", "variables"] and len(path) > 2:
        target[path[-1]] = _variable_of(override)
        return
    target[path[-1]] = (
        _setting_of(override, path[-1])
        if "settings" in path[:-1]
        else _value_of(override, is_text=path[-1] in _TEXTS)
    )


def leave_overridden(table: Table, overrides: Iterable[str]) -> None:
    """Take away what the file says of what an override says otherwise: what it drives where scripts
    are named; and how many epochs it has where slices are cut by executions and a time is named,
    which counts there by the number of epochs alone."""
    keys = {*map(key_of, overrides)}
    _leave_undriven(table, keys)
    budget = table.get("budget")
    by_time = "budget.measuring" in keys and "budget.epochs" not in keys
    if by_time and isinstance(budget, dict) and budget.get("counted"):
        budget.pop("epochs", None)


def _leave_undriven(table: Table, keys: Collection[str]) -> None:
    """`keys`: of the overrides, whose own texts and streams stay."""
    workload = table.get("workload")
    if "workload.scripts" not in keys or not isinstance(workload, dict):
        return
    scripts = workload.get("scripts")
    if not isinstance(scripts, dict):
        return
    texts, streams = workload.get("texts"), workload.get("streams")
    if isinstance(texts, dict) and "workload.texts" not in keys:
        for name in {*texts} - {*scripts}:
            if f"workload.texts.{name}" not in keys:
                del texts[name]
    lists = [s for s in streams if isinstance(s, list)] if isinstance(streams, list) else []
    names = [name for name in chain(*lists) if isinstance(name, str)]
    if "workload.streams" not in keys and not {*names} <= {*scripts}:
        del workload["streams"]
        workload.pop("excluded", None)


def stated_names(changes: Iterable[str]) -> set[str]:
    """The names that changes give to the control and to arms."""
    return {str(_value_of(each, is_text=True)) for each in changes if _is_name(key_of(each))}


def _is_name(key: str) -> bool:
    """Whether it is that of an arm, and not of its pooler, its profile or a setting."""
    table, _, name = key.rpartition(".")
    path = [part.strip() for part in table.split(".")]
    of_arm = path[0] in ("control", "arm") and "settings" not in path
    return of_arm and name.strip() == "name" and path[-1] not in _SHORT


def says_key(change: str, *keys: str) -> bool:
    """Whether a change says one of these keys, of the study or of an arm, by its own key or in a
    table. What is called so beside them, as settings and variables may be, does not count."""
    path = [part.strip() for part in key_of(change).split(".")]
    if path[0] not in ("control", "arm", "factors"):
        return len(path) == 1 and path[0] in keys
    return _says(path, _value_of(change, is_text=False), keys)


def _forget_data(source: Table) -> None:
    """Of other data nothing is known that was found of the former; what was said of it stays."""
    if source.get("reported"):  # the file is of its server's settings
        source.pop("config", None)
    for each in _FOUND_OF_DATA:
        source.pop(each, None)


def _says(path: list[str], value: object, keys: Collection[str]) -> bool:
    """`path`: from the study to the value."""
    if "settings" in path:
        return False
    if isinstance(value, dict):
        return any(_says([*path, key], inner, keys) for key, inner in value.items())
    if isinstance(value, list):
        return any(_says(path, each, keys) for each in value)
    return path[-1] in keys


def _target(table: Table, path: list[str], override: str) -> tuple[Table, list[str]]:
    """The table that a key is in, and its path from the study or the arm."""
    target = table
    if path[0] == "arm":
        target, path = _arm_of(table, path[1:], override)
    for i, part in enumerate(path[:-1]):
        target = _table_in(target, part, override)
        if part == "settings":
            # a setting's own name may hold dots (an extension's): the rest is one key
            return target, [*path[: i + 1], ".".join(path[i + 1 :])]
    return target, path


def _table_in(target: Table, part: str, override: str) -> Table:
    inner = target.setdefault(part, {})
    if isinstance(inner, str) and part in _SHORT:
        inner = target[part] = {_SHORT[part]: inner}
    if not isinstance(inner, dict):
        raise StudyError(f'"{part}" in override "{redacted(override)}" is not a table')
    return inner


def _every_arm(table: Table, override: str) -> list[Table]:
    return [_table_in(table, "control", override), *_arms(table, override)]


def _arms(table: Table, override: str) -> list[Table]:
    """Of a study that lists several, or has one; none where factors make them."""
    arms = table.get("arm", [])
    if not isinstance(arms, list):
        return [_table_in(table, "arm", override)]
    if not all(isinstance(arm, dict) for arm in arms):
        raise StudyError(f'"arm" in override "{redacted(override)}" is not a table')
    return arms


def _arm_of(table: Table, path: list[str], override: str) -> tuple[Table, list[str]]:
    if not isinstance(table.get("arm", {}), list):
        arm = _table_in(table, "arm", override)
        return arm, _behind_name(arm, path)
    arms = _arms(table, override)
    every = [
        str(arm.get("name") or arm.get("role") or usual_role(number))
        for number, arm in enumerate(arms, 1)
    ]
    # A version's name has dots too: 17.0, 17.0.1.
    roles = {str(arm["role"]): arm for arm in arms if arm.get("role")}
    names = {**roles, **dict(zip(every, arms, strict=True))}
    for name in sorted(names, key=len, reverse=True):
        parts = name.split(".")
        if parts == path[: len(parts)]:
            return names[name], path[len(parts) :]
    certain = [arm for arm in arms if "needs" not in arm or len(arms) == 1]
    if len(certain) == 1:  # the others are left out: the question is about this one
        table["arm"] = certain
        return certain[0], path
    raise StudyError(
        f'override "{key_of(override)}" does not say which arm',
        hint=f"Write arm.NAME.key; the arms are {', '.join(every)}.",
    )


def usual_role(number: int) -> str:
    """The role of the arm of this number, from 1, where it has neither name nor role."""
    return f"arm{number}" if number > 1 else "arm"


def _behind_name(arm: Table, path: list[str]) -> list[str]:
    """The path in the only arm, which need not be named."""
    for name in (str(arm.get(key) or "").split(".") for key in ("name", "role")):
        if name == path[: len(name)] and len(name) < len(path) and path[0] not in arm:
            return path[len(name) :]
    return path


_SHORT = {"workload": "name", "pooler": "name", "profile": "name", "source": "place"}
"""Tables of which a study may give one key alone."""
_FOUND_OF_DATA = ("kind", "digest", "reported", "partial", "backup", "server", "settings_digest")
"""Keys of data that say what was found at their place, and of their server."""
_OF_CLIENTS = ("clients", "clients_when_slow", "threads", "machines", "reconnect")
"""Keys of a workload that say by whom it is driven, whichever it is."""
_TEXTS = frozenset(
    {"name", "role", "against", "title", "question", "version", "address"}
    | {"directory", "wal_directory", "bindir", "program", "place", "database", "config"}
)
"""Keys whose values are texts, whatever they look like: version 18.10 is not the number 18.1."""

_IDENTIFIERS = frozenset({"search_path", "temp_tablespaces", "synchronous_standby_names"})
"""Settings that are lists of identifiers, which quotes keep as they are written."""
_FOLDED = re.compile(r"[a-z_$][a-z0-9_$]*|")


def _value_of(override: str, *, is_text: bool) -> object:
    """Of a typed one a TOML value, else the text itself. Of a text, quotes and truth values alone
    are TOML's: a server's setting is what was typed, 1.10 and 0x10 too."""
    if isinstance(override, Change):
        return override.value
    text = override.partition("=")[2]
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if is_text and not isinstance(value, str | bool) else value


def _setting_of(override: str, name: str) -> object:
    """A server's setting. Of a list of identifiers the quotes of a single one are the server's,
    which folds what has none, or cannot read it; around a list they are TOML's."""
    value = _value_of(override, is_text=True)
    typed = override.partition("=")[2].strip()
    if isinstance(override, Change) or name not in _IDENTIFIERS or typed != f'"{value}"':
        return value
    return value if "," in typed or _FOLDED.fullmatch(typed[1:-1]) else typed


def _variable_of(override: str) -> object:
    """A variable of scripts as -D of pgbench has it: what was typed, 1.10 and 2026-01-01 too; a
    number where it is written as it was typed."""
    value = _value_of(override, is_text=False)
    if isinstance(override, Change) or not isinstance(value, int | float | date | time):
        return value
    text = override.partition("=")[2].strip()
    is_number = not isinstance(value, float) or isfinite(value)  # what is none is refused
    return text if is_number and str(value) != text else value


OF_EVERY_ARM = ("version", "directory", "wal_directory", "price")
"""Keys of an arm that an override sets in the control and every arm where it names none."""
