"""Reads the folder of a workload, once and whole, into a value."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from errno import EFBIG
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from steelyard.model.errors import UsageError, nearest_hint
from steelyard.model.files.small_file import MOST_BYTES as DEFAULT_BYTES
from steelyard.model.files.small_file import parse_toml, read_small, read_small_bytes
from steelyard.workloads.reading.arrivals import ARRIVALS
from steelyard.workloads.reading.arrivals import MOST_BYTES as MOST_OF_ARRIVALS
from steelyard.workloads.reading.dialects import GENERIC, dialect_names, laid_over, says_nothing
from steelyard.workloads.reading.option import choose
from steelyard.workloads.reading.rows import MOST_BYTES as MOST_OF_ROWS
from steelyard.workloads.reading.workload import (
    DESCRIPTION,
    LOADING_FILES,
    ROWS,
    Workload,
    WorkloadFile,
)

_BUILT_IN = Path(__file__).parents[1]
_MOST_BYTES = {"scripts": MOST_OF_ROWS, "rows": MOST_OF_ROWS}
"""By folder."""
_UNKNOWN = "extra_forbidden"
"""What pydantic calls a key that there is not."""
_NO_KEYS = ("folder", "files", "kind", "chosen")
"""Fields of a workload that its description does not set."""


def read_workload(
    folder: Path, chosen: Mapping[str, object] | None = None, kind: str = GENERIC
) -> Workload:
    """The workload in a folder with these options, for a kind of engine.

    UsageError names file and key that are wrong, or the file that the engine lacks.
    """
    path = folder / DESCRIPTION
    description = _described(path, kind)
    base = description.get("loads_as")
    if base is not None and base not in known_workloads():
        raise UsageError(f'key "loads_as": unknown workload: "{base}"')
    merged = (
        description
        if base is None
        else _inherited(description, _described(_BUILT_IN / base / DESCRIPTION, kind))
    )
    if stray := [key for key in _NO_KEYS if key in merged]:
        raise _unknown_key(path, stray[0])
    try:
        workload = Workload.model_validate({**merged, "folder": folder.absolute(), "kind": kind})
    except ValidationError as error:
        failures = error.errors()
        # What is misspelt is missing too, and its own name says more.
        first = next((each for each in failures if each["type"] == _UNKNOWN), failures[0])
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == _UNKNOWN:
            raise _unknown_key(path, key) from error
        raise UsageError(f'{path}: key "{key}": {first["msg"].lower()}') from error
    workload = workload.model_copy(update={"files": _files(workload)})
    _require_dialect(workload)
    _require_scripts(workload, path)
    scale_names = sorted({"scale", workload.scale_name})
    values = choose(workload.name, workload.options, chosen or {}, scale_names)
    workload = workload.model_copy(update={"chosen": values})
    _require_readable(workload)
    return workload


def _unknown_key(path: Path, key: str) -> UsageError:
    names = [name for name in Workload.model_fields if name not in _NO_KEYS]
    listed = None if "." in key else f"It has: {', '.join(names)}."
    return UsageError(f'{path}: unknown key: "{key}"', hint=nearest_hint(key, names) or listed)


def _described(path: Path, kind: str) -> dict[str, Any]:
    """What a description says, and what an engine's own say otherwise."""
    described = _read_toml(path)
    for name in reversed(dialect_names(DESCRIPTION, kind)):
        if path.with_name(name).exists():
            described = laid_over(described, _read_toml(path.with_name(name)))
    return described


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(read_small(path))
    except OSError as error:
        raise UsageError(
            f'could not read workload "{path}": {error.strerror}',
            hint=f"A workload is a folder with a {DESCRIPTION}, a schema.sql and scripts.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f'could not read workload "{path}": {error}') from error


def _files(workload: Workload) -> dict[str, WorkloadFile]:
    """The files of a workload, and those of the one it loads as; scripts are always its own."""
    checks = [f"checks/{name}.sql" for name in workload.scripts]
    scripts = [f"scripts/{name}.sql" for name in workload.scripts]
    rows = [f"{ROWS}{path.name}" for path in sorted(workload.folder.glob(f"{ROWS}*.tsv"))]
    shared = [*LOADING_FILES, "before.sql", "checks.sql", "consistency.sql", *checks]
    described = [DESCRIPTION, *dialect_names(DESCRIPTION, workload.kind)]
    rows += [ARRIVALS]
    if workload.loads_as is None:
        texts = _read_files(workload.folder, [*described, *rows])
        return texts | _read_sql(workload.folder, [*shared, *scripts], workload.kind)
    base = _BUILT_IN / workload.loads_as
    loaded = _read_files(base, described) | _read_sql(base, shared, workload.kind)
    overrides = _read_sql(workload.folder, [*shared, *scripts], workload.kind)
    return {**loaded, **overrides, **_read_files(workload.folder, rows)}


def _read_files(folder: Path, names: Iterable[str]) -> dict[str, WorkloadFile]:
    paths = {name: folder / name for name in names}
    return {name: _read(path) for name, path in paths.items() if path.exists()}


def _read_sql(folder: Path, names: Iterable[str], kind: str) -> dict[str, WorkloadFile]:
    """By generic name the file of the nearest dialect that there is."""
    files: dict[str, WorkloadFile] = {}
    for name in names:
        candidates = [folder / dialect for dialect in dialect_names(name, kind)]
        there = next((path for path in candidates if path.exists()), None)
        if there is None:
            files |= _read_files(folder, [name])
        elif not says_nothing((read := _read(there)).content):
            files[name] = read
    return files


def _read(path: Path) -> WorkloadFile:
    most_bytes = _MOST_BYTES.get(path.parent.name, DEFAULT_BYTES)
    if path.name == ARRIVALS:
        most_bytes = MOST_OF_ARRIVALS
    try:
        return WorkloadFile(path, read_small_bytes(path, most_bytes))
    except OSError as error:
        is_sampled = error.errno == EFBIG and path.parent.name == "rows"
        raise UsageError(
            f'could not read "{path}": {error.strerror}',
            hint="Put fewer rows there: shuf -n 1000 draws so many lines of a file."
            if is_sampled
            else None,
        ) from error


def _require_dialect(workload: Workload) -> None:
    """UsageError where it makes tables for PostgreSQL and has none for the engine that is meant, or
    is not for that engine."""
    if workload.engines and workload.kind not in workload.engines:
        raise UsageError(
            f'workload "{workload.name}" is not for {workload.kind}',
            detail=f"It is for {', '.join(workload.engines)}.",
        )
    names = dialect_names("schema.sql", workload.kind)
    schema = workload.files.get("schema.sql")
    if names and workload.loaded and schema is not None and schema.path.name == "schema.sql":
        raise UsageError(
            f'workload "{workload.name}" has no tables for {workload.kind}: '
            f"there is no {' and no '.join(names)}",
            detail=f'Looked for in "{schema.path.parent}".',
        )


def _require_scripts(workload: Workload, path: Path) -> None:
    """UsageError unless there is a schema, and every script that the description names."""
    of_no_tables = "tables" in workload.model_fields_set and not workload.tables
    loads = workload.loaded and not of_no_tables
    if loads and "schema.sql" not in workload.files:
        raise UsageError(f'workload "{path.parent}" has no schema.sql')
    if loads and not workload.tables:
        raise UsageError(
            f'{path}: key "tables" is missing: a workload that loads its data has some',
            hint="tables = [] says that its scripts need none.",
        )
    for name in workload.scripts:
        if f"scripts/{name}.sql" not in workload.files:
            raise UsageError(f'{path}: key "scripts.{name}": there is no scripts/{name}.sql')
    driven = [name for stream in workload.streams for name in stream]
    if missing := [name for name in driven if name not in workload.scripts]:
        raise UsageError(f'{path}: key "streams": there is no script "{missing[0]}"')
    for mix in workload.mixes:
        if stray := [name for name in mix.scripts if name not in workload.scripts]:
            raise UsageError(f'{path}: key "mixes": there is no script "{stray[0]}"')


def _require_readable(workload: Workload) -> None:
    """UsageError unless its SQL files and numbers have a meaning with the chosen options."""
    for file in (*LOADING_FILES, "before.sql", "checks.sql", "consistency.sql"):
        workload.statements(file, workload.default_scale)
    workload.bytes_at(workload.default_scale)
    for table in workload.tables:
        workload.rows_at(table, workload.default_scale)
        workload.last_rows_at(table, workload.default_scale)


def _inherited(description: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """What a workload says, and what it leaves to the one it loads as."""
    inherited = {key: value for key, value in base.items() if key not in ("scripts", "mixes")}
    options = {**inherited.pop("options", {}), **description.get("options", {})}
    return {**inherited, **description, "options": options}


def known_workloads() -> list[str]:
    """Names of the workloads that come with Steelyard."""
    return sorted(path.parent.name for path in _BUILT_IN.glob(f"*/{DESCRIPTION}"))


def find_workload(
    name: str, chosen: Mapping[str, object] | None = None, kind: str = GENERIC
) -> Workload:
    """A workload by its name, or by the path of its folder, with these options, for a kind of
    engine.

    UsageError suggests the near name.
    """
    if name in known_workloads():
        return read_workload(_BUILT_IN / name, chosen, kind)
    folder = Path(name).expanduser()
    if "/" in name or folder.is_dir():
        return read_workload(folder, chosen, kind)
    raise UsageError(
        f'unknown workload: "{name}"',
        hint=(_of_another(name) or _near(name))
        + f"Known: {', '.join(known_workloads())}; or give the path of a folder.",
    )


def _near(name: str) -> str:
    near = get_close_matches(name.lower(), known_workloads(), n=1)
    return f'Did you mean "{near[0]}"? ' if near else ""


def _of_another(name: str) -> str:
    """Where a workload has it as the value of an option, or as a script; empty: none has."""
    for workload in known_workloads():
        described = _described(_BUILT_IN / workload / DESCRIPTION, GENERIC)
        for option, facts in described.get("options", {}).items():
            if name.lower() in facts.get("values", ()):
                key = f"workload.options.{option}={name.lower()}"
                return f"It is --set workload={workload} --set {key}. "
        if name.lower() in described.get("scripts", {}):
            return f'It is a script of workload "{workload}". '
    return ""
