"""Reads a study: a built-in name or a TOML file, then `--set` overrides, then validation.

Every failure is a `StudyError` whose primary line names the key, and the file that holds it unless
an override does, and whose HINT shows what is accepted or the nearest name.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from steelyard.model.errors import StudyError
from steelyard.model.files.small_file import parse_toml, read_small
from steelyard.model.secrets.redaction import redacted
from steelyard.model.secrets.secret import is_secret
from steelyard.study.arm import Level
from steelyard.study.change import (
    OF_EVERY_ARM,
    Table,
    apply_change,
    general_first,
    key_of,
    leave_overridden,
    setting_name,
    spelling_free,
    stated_names,
    toml_key,
    toml_text,
)
from steelyard.study.earlier.renamed import RENAMED, renamed_keys
from steelyard.study.factors import FactorError, with_cells
from steelyard.study.naming import (
    answering_arms,
    named_anew,
    names_of_arms,
    origin_of_version,
    renamed,
    settings_table,
    with_names,
    with_roles,
)
from steelyard.study.secrets import RECORDED
from steelyard.study.study import Study
from steelyard.study.values import AS_TOML, BARE_SHARES, WrittenFloat
from steelyard.study.wrong_values import message_of, missing_keys, quoting_hint


def builtin_studies() -> dict[str, Path]:
    """The built-in studies: name → TOML file, sorted by name."""
    folder = Path(str(resources.files("steelyard") / "studies"))
    files = {file.stem: file for file in folder.glob("*.toml")}
    return dict(sorted(files.items()))


def read_study(name_or_file: str, overrides: Sequence[str] = ()) -> Study:
    """The study of a built-in name or TOML file with `KEY=VALUE` overrides; raises StudyError."""
    file = _locate(name_or_file)
    table = _read_table(file)
    own_names = names_of_arms(table)
    usual = {*table.get("settings", ())} if file in builtin_studies().values() else set()
    for override in general_first(overrides):
        apply_change(table, override)
    leave_overridden(table, overrides)
    overridden = {setting_name(key_of(each).removeprefix("settings.")) for each in overrides}
    _lay_beneath(table, set() if "settings" in overridden else usual - overridden)
    study = _validate(table, file, overrides)
    _require_effect(study, overrides)
    if not _is_of_record(file):
        _require_answers(study, own_names, file, overrides)
    study = answering_arms(study)
    if any(map(_of_an_arm, overrides)):
        with suppress(StudyError):  # a file of which overrides make a whole study
            return _named_anew(study, file, stated_names(overrides))
    return study


def _named_anew(study: Study, file: Path, stated: Collection[str]) -> Study:
    """With other names for arms that are named by what they are in the file, or in the built-in
    study of a record, and are that no more."""
    usual, ready = _validate(_read_table(file), file), builtin_studies()
    study = named_anew(study, usual)
    of_ready = file in ready.values() or (_is_of_record(file) and usual.name in ready)
    return renamed(study, usual, stated) if of_ready else study


def _require_effect(study: Study, overrides: Sequence[str]) -> None:
    """StudyError: an override says of all arms what each of them, or a level of a factor in each,
    sets by itself."""
    for key in map(key_of, overrides):
        if origin := origin_of_version(study, key):
            raise StudyError(
                f'override "{key}" has no effect: an arm has the version of {origin}',
                hint="Leave it out.",
            )
        for factor, levels in (study.factors or {}).items():
            own_key = "" if key.startswith("settings.") else key.removeprefix("control.")
            if all(level.sets(own_key) for level in levels.values()):
                changed = [f"--set factors.{factor}.{name}.{own_key}=VALUE" for name in levels]
                raise StudyError(
                    f'override "{key}" has no effect: both levels of factor {factor} set that',
                    hint=f"Change a level: {' or '.join(changed)}.",
                )
        name = setting_name(key.removeprefix("settings."))
        if not key.startswith("settings.") or name not in study.settings:
            continue
        spelt = spelling_free(name)
        own = [
            (settings_table(study, arm, other), other, value)
            for arm in study.every_arm
            for other, value in arm.settings.items()
            if spelling_free(other) == spelt
        ]
        values = {value for *_, value in own}
        if len(own) < len(study.every_arm) or values == {study.settings[name]}:
            continue
        raise StudyError(
            f'override "{key}" has no effect: every arm of study {study.name} sets {name} itself',
            hint="Its factors or [control] set it: change it there."
            if study.factors is not None
            else f"Write {' '.join(f'--set {table}.{other}=VALUE' for table, other, _ in own)}.",
        )


def _require_answers(
    study: Study, own_names: Collection[str], file: Path, overrides: Sequence[str]
) -> None:
    """StudyError: `answer` has words for what is no arm of the study, nor of its file
    (`own_names`), of whose arms overrides may leave some out and name others anew."""
    named = {name: None for arm in study.arms for name in (arm.name, arm.role) if name}
    for name in (each for each in study.answer if each not in {*named, *own_names}):
        key, near = f"answer.{name}", difflib.get_close_matches(name, named, n=1)
        raise StudyError(
            f'{_location(file, key, overrides)}unrecognized key: "{key}": it names no arm',
            detail=f"The arms are {', '.join(named)}.",
            hint=f'Perhaps you meant "answer.{near[0]}".' if near else None,
        )


def _is_of_record(file: Path) -> bool:
    """Whether it is the study of a record, which this program wrote."""
    return file.name == "study.toml" and file.with_name("plan.json").is_file()


def own_table(name_or_file: str) -> Table:
    """What a study file of the user's own says, as TOML has it; nothing of a built-in one."""
    file = _locate(name_or_file)
    return {} if file in builtin_studies().values() else _read_table(file)


def names_arm(study: str, arm: str) -> bool:
    """Whether the file of a study names an arm or the control, `arm` or `control`; StudyError."""
    table = _read_table(_locate(study)).get(arm, {})
    return isinstance(table, list) or "name" in table


def _of_an_arm(override: str) -> bool:
    key = key_of(override)
    return key in OF_EVERY_ARM or key.startswith(("control.", "arm.", "settings."))


def _lay_beneath(table: Table, usual: set[str]) -> None:
    """Settings that a built-in study has for data of its own: those of the user's server count more
    where its data are weighed."""
    source = table.get("source")
    if isinstance(source, str):
        source = table["source"] = {"place": source}
    if isinstance(source, dict):
        settings = table.get("settings", {})
        defaults = {name: settings.pop(name) for name in sorted(usual) if name in settings}
        source["beneath"] = {**defaults, **source.get("beneath", {})}


def read_recorded_study(file: Path) -> Study:
    """The study.toml of a record, which may have the keys of an older version. StudyError."""
    path = _locate(str(file))
    return _validate(renamed_keys(_read_table(path)), path, recorded=True)


def _locate(name_or_file: str) -> Path:
    builtin = builtin_studies()
    if name_or_file in builtin:
        return builtin[name_or_file]
    file = Path(name_or_file)
    if file.is_dir() and (file / "study.toml").is_file():
        return file / "study.toml"
    if file.is_file():
        return file
    near = difflib.get_close_matches(name_or_file, builtin, n=1)
    looks_like_file = file.suffix == ".toml" or "/" in name_or_file
    what = "study file not found" if looks_like_file else "unrecognized study"
    raise StudyError(
        f'{what}: "{name_or_file}"',
        detail=None if near else f"The built-in studies are {', '.join(builtin)}.",
        hint=f'Perhaps you meant "{near[0]}"; `steelyard studies` lists all.'
        if near
        else "A study may also be a TOML file.",
    )


def _read_table(file: Path) -> Table:
    text = ""
    try:
        text = read_small(file)
        return _one_list_of_arms(parse_toml(text, WrittenFloat), file)
    except OSError as reason:
        raise StudyError(f'could not read study "{file}": {reason.strerror}') from reason
    except UnicodeDecodeError as reason:
        raise StudyError(f'could not read study "{file}": it is not UTF-8 text') from reason
    except tomllib.TOMLDecodeError as reason:
        hint = quoting_hint(text, str(reason))
        raise StudyError(f'cannot parse study "{file}": {reason}', hint=hint) from reason


def _one_list_of_arms(table: Table, file: Path) -> Table:
    """Arms that are listed as `arms`, as JSON has them, are those that overrides change too."""
    if "arms" in table:
        if "arm" in table:
            raise StudyError(
                f'{file.name}: "arm" and "arms" both say what the arms are',
                hint="Write [[arm]] before each of them.",
            )
        table["arm"] = table.pop("arms")
    return table


def _validate(
    table: Table, file: Path, overrides: Sequence[str] = (), *, recorded: bool = False
) -> Study:
    shaped = dict(table)
    arms = shaped.pop("arm", None)
    if arms is not None:
        shaped["arms"] = [arms] if isinstance(arms, dict) else arms
    shaped.setdefault("name", file.stem)
    try:
        cells = with_roles(with_cells(shaped))
        # An older record has bare shares in its file; what was typed beside that has none.
        bare = float if recorded else WrittenFloat if _is_of_record(file) else ()
        context = {RECORDED: recorded, BARE_SHARES: bare}
        return with_names(Study.model_validate(cells, context=context))
    except FactorError as failure:
        location = _location(file, failure.key, overrides)
        raise StudyError(f'{location}invalid value for "{failure.key}": {failure}') from failure
    except ValidationError as failure:
        raise _study_error(failure, file, overrides, _arm_keys(shaped)) from failure


def _location(file: Path, key: str, overrides: Sequence[str]) -> str:
    """The file before what is wrong in it: none where an override wrote the key, or the study is a
    built-in one, which is right by itself."""
    written = [key_of(override) for override in overrides]
    by_override = any(f"{key}.".startswith(f"{other}.") for other in written) or any(
        other.startswith(f"{key}.") for other in written
    )
    built_in = bool(overrides) and file in builtin_studies().values()
    return "" if by_override or built_in else f"{file.name}: "


_NO_ARMS = ("arm", "tuple_type")
_OF_SEVERAL_TYPES = (["options"], ["variables"])
"""Tables of the workload whose values are texts, numbers or switches."""


def _arm_keys(table: Table) -> list[str]:
    """How an override names each arm: `arm`, `arm.NAME`."""
    arms = with_roles(table).get("arms")
    each = [arm if isinstance(arm, dict) else {} for arm in arms] if isinstance(arms, list) else []
    return ["arm"] if len(each) == 1 else [f"arm.{a.get('name') or a.get('role')}" for a in each]


def _study_error(
    failure: ValidationError, file: Path, overrides: Sequence[str], arms: Sequence[str]
) -> StudyError:
    first = failure.errors()[0]
    parts = [str(part) for part in first["loc"]]
    if parts[:1] == ["arms"]:
        parts[:2] = [arms[int(parts[1])] if len(parts) > 1 else "arm"]
    if parts[:1] == ["workload"] and parts[1:2] in _OF_SEVERAL_TYPES:
        del parts[3:]  # the type that it is not, of those that it may be
    key = ".".join(parts) or "study"
    location = _location(file, key, overrides)
    if first["type"] == "extra_forbidden":
        return _unknown_key(first["loc"], first["input"], key, location)
    if first["type"] in ("model_type", "dict_type") or (key, first["type"]) == _NO_ARMS:
        inner = ", ".join(f"{key}.{name}" for name in _keys_at(Study, first["loc"]))
        return StudyError(
            f'{location}invalid value for "{key}": it is a table',
            hint=f"Its keys are {inner}." if inner else f"Write {key} = {{ NAME = VALUE }}.",
        )
    if first["type"] == "missing":
        return missing_keys(failure, key, location)
    value, message = first["input"], message_of(first)
    hidden = isinstance(value, dict) or any(is_secret(str(part)) for part in first["loc"])
    return StudyError(
        f'{location}invalid value for "{key}": {message[0].lower()}{message[1:]}',
        detail=None if hidden else f"The value is {redacted(repr(value))}.",
    )


def _unknown_key(path: tuple[int | str, ...], value: object, key: str, location: str) -> StudyError:
    """With what was meant, as far as one can say: a key of another table, the near one of this, a
    setting of the server."""
    accepted, old = _keys_at(Study, path[:-1]), str(path[-1])
    if (new := RENAMED.get(old)) in accepted:
        return StudyError(
            f'{location}unrecognized key: "{key}": "{old}" is now "{new}"',
            hint=f'Write "{key.removesuffix(old)}{new}".',
        )
    of_an_arm = path[0] in ("control", "arms")
    hint: str | None = None
    if places := _tables_with(old):
        hint = f"Perhaps you meant {' or '.join(places)}."
    elif near := difflib.get_close_matches(old, accepted, n=1):
        hint = f'Perhaps you meant "{near[0]}".'
    elif path[0] == "arms" and isinstance(value, dict):
        hint = f'Write [[arm]] before each arm, and name = "{old}" beneath it.'
    elif of_an_arm or (len(path) == 1 and not isinstance(value, dict)):
        hint = f"A setting of the server is {key.removesuffix(old)}settings.{old}."
        if len(path) == 1:
            hint = f"A setting of the arm is arm.settings.{old}; of all arms, settings.{old}."
    return StudyError(
        f'{location}unrecognized key: "{key}"',
        detail=f"Accepted here: {', '.join(accepted)}." if accepted else None,
        hint=hint,
    )


def _tables_with(name: str) -> list[str]:
    """The keys of a study that are called so, in quotes: "control.checksums", "arm.checksums"."""
    places = [f'"{name}"'] if name in Study.model_fields else []
    for table, field in Study.model_fields.items():
        inner = None if table in _OF_FREE_NAMES else _model_in(field.annotation)
        if inner is not None and name in inner.model_fields:
            arm_or_table = "arm" if table == "arms" else table
            places.append(f'"{arm_or_table}.{name}"')
    return places


_OF_FREE_NAMES = ("factors", "answer")
"""Tables whose own keys are what a study calls its factors and arms."""


def _keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """The keys a table accepts, found by walking the models along a validation error's path."""
    if path[:1] == ("factors",):  # and the free names of a factor and of a level
        return _keys_at(Level, path[3:])
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
    names = list(model.model_fields)
    return ["arm" if name == "arms" else name for name in names]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if (model := _model_in(inner)) is not None:
            return model
    return None


def write_study(study: Study) -> str:
    """The study as TOML, every default filled in, so that it can be read back unchanged."""
    context = {AS_TOML: True}
    shaped: Mapping[str, Any] = study.model_dump(mode="json", exclude_none=True, context=context)
    tables = {**shaped, "arm": shaped["arms"]}
    del tables["arms"]
    scalars = {k: v for k, v in tables.items() if k != "arm" and not isinstance(v, dict)}
    lines = [f"{key} = {toml_text(value)}" for key, value in scalars.items()]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *_table_lines(value)]
        elif key == "arm":
            for item in value:
                lines += ["", "[[arm]]", *_table_lines(item)]
    return "\n".join(lines) + "\n"


def _table_lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{toml_key(key)} = {toml_text(value)}" for key, value in table.items()]
