"""Holds a workload: what its folder says, and the folders that come with Steelyard.

A folder has `workload.toml`, `schema.sql`, and as it needs them `load.sql` (rows made by SQL),
`keys.sql` (run after the rows and the vacuum), `checks.sql` (every row returned is a violation),
`checks/SCRIPT.sql` (holds where SCRIPT is the only one that writes) and `scripts/*.sql`. SQL files
are cut into statements by pgbench's rules and may use `:scale`.
"""

from __future__ import annotations

import hashlib
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard._core import script_statements
from steelyard.errors import UsageError

DATABASE = "steelyard"
"""Every workload is loaded into a database of this name."""

_BUILT_IN = Path(__file__).parent
_DESCRIPTION = "workload.toml"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Table(_Model):
    """A table of the workload and how many rows it has."""

    name: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
    rows_per_scale: Annotated[int, Field(ge=0)] | None = None
    """None: not known beforehand, so not verified."""
    generator: Literal["pgbench"] | None = None
    """Who makes its rows; None: nobody, or `load.sql`."""


class ScriptFacts(_Model):
    """What is known of a script of the workload."""

    rows: Annotated[int, Field(ge=0)] | None = None
    """Rows that the statements of one transaction return in all; None: not checked."""
    writes: bool


class Workload(_Model):
    """A schema, its rows, scripts, and checks that prove that the work was really done."""

    folder: Path
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]
    title: str
    scale_is: str
    """What the scale counts."""
    max_scale: Annotated[int, Field(ge=1)] = 2**31 - 1
    bytes_per_scale: Annotated[int, Field(ge=1)]
    """Size of the loaded database for each unit of scale, keys included."""
    tables: Annotated[tuple[Table, ...], Field(min_length=1)]
    scripts: dict[str, ScriptFacts] = {}

    def check_scale(self, scale: int) -> None:
        """UsageError unless the workload exists at this scale."""
        if not 1 <= scale <= self.max_scale:
            raise UsageError(
                f'cannot load workload "{self.name}" at scale {scale}: '
                f"1 to {self.max_scale} are possible",
                detail=f"The scale counts {self.scale_is}.",
            )

    def variables(self, scale: int) -> dict[str, int]:
        """The variables that its scripts and SQL files see."""
        return {"scale": scale}

    def statements(self, file: str, scale: int) -> list[str]:
        """The statements of one of its SQL files, `:scale` filled in; none if it has no such file.

        UsageError names file, line and column of what cannot be parsed.
        """
        path = self.folder / file
        if not path.exists():
            return []
        variables = {name: str(value) for name, value in self.variables(scale).items()}
        try:
            return script_statements(str(path), path.read_text(), variables)
        except ValueError as error:
            raise UsageError(f'workload "{self.name}" is wrong', detail=str(error)) from error

    def digest(self) -> str:
        """A hash of everything that decides which bytes a load makes."""
        known = hashlib.sha256()
        for file in (_DESCRIPTION, "schema.sql", "load.sql", "keys.sql"):
            path = self.folder / file
            known.update(file.encode() + b"\0" + (path.read_bytes() if path.exists() else b"\0"))
        return known.hexdigest()


def read_workload(folder: Path) -> Workload:
    """The workload in a folder; UsageError names the file and the key that is wrong."""
    path = folder / _DESCRIPTION
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(
            f'could not read workload "{path}": {error.strerror}',
            hint=f"A workload is a folder with a {_DESCRIPTION}, a schema.sql and scripts.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f'could not read workload "{path}": {error}') from error
    try:
        workload = Workload.model_validate({**found, "folder": folder.absolute()})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f'{path}: key "{key}": {first["msg"].lower()}') from error
    if not (folder / "schema.sql").exists():
        raise UsageError(f'workload "{folder}" has no schema.sql')
    for name in workload.scripts:
        if not (folder / "scripts" / f"{name}.sql").exists():
            raise UsageError(f'{path}: key "scripts.{name}": there is no scripts/{name}.sql')
    return workload


def known_workloads() -> list[str]:
    """Names of the workloads that come with Steelyard."""
    return sorted(path.parent.name for path in _BUILT_IN.glob(f"*/{_DESCRIPTION}"))


def find_workload(name: str) -> Workload:
    """A workload by its name, or by the path of its folder; UsageError suggests the near one."""
    if name in known_workloads():
        return read_workload(_BUILT_IN / name)
    folder = Path(name).expanduser()
    if "/" in name or folder.is_dir():
        return read_workload(folder)
    near = get_close_matches(name, known_workloads(), n=1)
    raise UsageError(
        f'unknown workload: "{name}"',
        hint=(f'Did you mean "{near[0]}"? ' if near else "")
        + f"Known: {', '.join(known_workloads())}; or give the path of a folder.",
    )
