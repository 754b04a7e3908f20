"""Reads a matrix of weighings from TOML, and chooses which files go to a host with a study.

A path that is relative leads from the matrix: a script there is sent, a folder of a workload, data
or programs are not. An absolute path is the host's own.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.model.errors import StudyError
from steelyard.model.files.small_file import parse_toml, read_small
from steelyard.study.budget import BUDGETS
from steelyard.study.change import Table, apply_change, general_first, key_of
from steelyard.study.read import read_study
from steelyard.study.study import Study

Files = tuple[tuple[str, str], ...]
"""(path from the matrix, text)."""


def is_file(study: str) -> bool:
    """Whether a study is named by a file, and not built in."""
    return study.endswith(".toml") or "/" in study


def shipped(study: Study, name: str, folder: Path) -> Files:
    """What the host of a study gets: itself where `name` is that of a file, and its scripts.

    `folder`: of the matrix. StudyError: a file is not there, is no text, or stays here.
    """
    for key, place in _local_paths(study, folder):
        raise StudyError(
            f'{name}: "{key}" names "{place}", which is on this machine and is not sent to hosts',
            hint="Name it by an absolute path that every host has.",
        )
    files = {Path(name).name: _text(folder / name, name)} if is_file(name) else {}
    for script in study.workload.scripts:
        path = Path(script)
        if script in study.workload.texts or path.is_absolute() or script.startswith("~"):
            continue
        if "/" not in script and not (folder / path).is_file():
            continue  # one of its workload's own
        if ".." in path.parts:
            raise StudyError(
                f'{name}: script "{script}" cannot be sent: it does not stand below the matrix'
            )
        files[path.as_posix()] = _text(folder / path, name)
    return tuple(sorted(files.items()))


def _local_paths(study: Study, folder: Path) -> Iterator[tuple[str, str]]:
    """(key, relative path) of what a study names and is more than a script."""
    workload = study.workload.name
    by_path = "/" in workload or (folder / workload).is_dir()
    places = [("workload.name", workload)] if by_path else []
    if study.source is not None:
        places.append(("source.place", study.source.place))
        places += [("source.config", study.source.config)] if study.source.config else []
    for arm in study.every_arm:
        places += [(f"{arm.name}.bindir", arm.bindir)] if arm.bindir else []
    for key, place in places:
        if not (Path(place).is_absolute() or place.startswith("~")):
            yield key, place


def _text(file: Path, name: str) -> str:
    try:
        return read_small(file)
    except OSError as error:
        raise StudyError(f'{name}: could not read "{file}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise StudyError(f'{name}: could not read "{file}": it is no UTF-8 text') from error


ANY_KIND = "any"
"""Of a host without a label."""
_FIRST_SEEDS = 2**31


class Matrix(BaseModel):
    """What is to be weighed where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    studies: Annotated[tuple[str, ...], Field(min_length=1)]
    """Built-in names, or files beside the matrix."""
    kinds: Annotated[tuple[str, ...], Field(min_length=1)] = (ANY_KIND,)
    versions: tuple[str, ...] = ()
    """Of both arms; none: the study's own."""
    hosts: Annotated[int, Field(ge=1)] = 1
    """Of each kind, that weigh the same: hosts are the replicates of a kind."""
    prices: dict[str, str] = Field(default_factory=dict)
    """Kind of host → price of one: both arms of its weighings have it."""
    budget: str | None = None
    """In every layout, but those of which `set` says one."""
    set: tuple[str, ...] = ()
    """KEY=VALUE, as `--set`."""
    seed: Annotated[int, Field(ge=0)] = 1


@dataclass(frozen=True)
class MatrixCell:
    """One weighing of a matrix."""

    study: str
    """As its host names it: built-in, or a file that is among `files`."""
    files: tuple[tuple[str, str], ...]
    """(path, text) of what the host gets: a study that is not built in, and its scripts."""
    kind: str
    version: str | None
    replicate: int
    """From 0: no host weighs two of the same."""
    seed: int
    changes: tuple[str, ...]

    @property
    def question(self) -> tuple[str, str | None, str]:
        """What a machine weighs once at most."""
        return self.study, self.version, self.kind

    @property
    def name(self) -> str:
        """Unlike that of every other cell of the matrix; a name of a folder."""
        study = Path(self.study).stem
        parts = (study, self.version, self.kind, str(self.replicate + 1))
        return "-".join(part.replace("/", "_") for part in parts if part)

    def arguments(self, record: Path) -> list[str]:
        """Of `steelyard`: the weighing of this cell, in the folder of its files."""
        changes = [part for change in self.changes for part in ("--set", change)]
        return ["weigh", self.study, *changes, "--seed", str(self.seed), "--record", str(record)]


@dataclass(frozen=True)
class ReadMatrix:
    """A matrix as it was read, with the texts of its studies."""

    cells: tuple[MatrixCell, ...]
    digest: str
    """Of everything that its weighings depend on."""


def read_matrix(file: Path) -> ReadMatrix:
    """The cells of a matrix, their studies read as their hosts will. StudyError: the file, a key of
    it or a study is not there or is wrong, or names a file that cannot go to its host."""
    try:
        matrix = Matrix.model_validate(parse_toml(read_small(file)))
    except FileNotFoundError as error:
        raise StudyError(f'matrix file not found: "{file}"') from error
    except OSError as error:
        raise StudyError(f'could not read matrix "{file}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise StudyError(f'could not read matrix "{file}": it is not UTF-8 text') from error
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f'invalid TOML in "{file}": {error}') from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        accepted = ", ".join(Matrix.model_fields)
        raise StudyError(f'{file}: "{key}": {first["msg"]}', hint=f"Keys: {accepted}.") from error
    unknown = [kind for kind in matrix.prices if kind not in matrix.kinds]
    if unknown:
        raise StudyError(
            f'{file}: "prices": "{unknown[0]}" is none of the kinds of host',
            hint=f"Kinds: {', '.join(matrix.kinds)}.",
        )
    for key, values in (("version", matrix.versions), ("price", matrix.prices)):
        if values and key in map(key_of, matrix.set):
            raise StudyError(
                f'{file}: "{key}s" and "{key}" in "set" say the same thing twice',
                hint="Leave one of them out.",
            )
    cells = tuple(_cells(matrix, file.parent))
    names = [cell.name for cell in cells]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StudyError(f'{file}: two weighings would be named "{twice}"')
    identities = [[*cell.question, cell.files, cell.seed, cell.changes] for cell in cells]
    digest = hashlib.sha256(json.dumps(identities).encode()).hexdigest()
    return ReadMatrix(cells, digest)


def _budget(matrix: Matrix) -> Iterator[str]:
    """The budget in every layout, but those of which `set` says one."""
    table: Table = {}
    for change in general_first(matrix.set):
        if key_of(change).startswith("budget"):
            apply_change(table, change)
    own = table.get("budget")
    for key in BUDGETS if matrix.budget else ():
        if not (isinstance(own, dict) and key in own):
            yield f"budget.{key}={matrix.budget}"


def _cells(matrix: Matrix, folder: Path) -> Iterator[MatrixCell]:
    common = [*matrix.set, *_budget(matrix)]
    every = product(range(matrix.hosts), matrix.studies, matrix.versions or (None,), matrix.kinds)
    for number, (replicate, study, version, kind) in enumerate(every):
        versioned = [] if version is None else [f"version={version}"]  # of every arm
        price = matrix.prices.get(kind)
        priced = [] if price is None else [f"price={price}"]
        changes = (*common, *versioned, *priced)
        location = str(folder / study) if is_file(study) else study
        files = shipped(read_study(location, changes), study, folder)
        yield MatrixCell(
            study=f"./{Path(study).name}" if is_file(study) else study,
            files=files,
            kind=kind,
            version=version,
            replicate=replicate,
            seed=(matrix.seed + number) % _FIRST_SEEDS,
            changes=changes,
        )
