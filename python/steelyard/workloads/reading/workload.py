"""Holds a workload: everything that its folder said when it was read.

A folder has `workload.toml`, `schema.sql` (unless its data are external), and as it needs them
`load.sql` (rows made by SQL), `keys.sql` (run after the rows and the vacuum, tables side by side),
`constraints.sql` and `routines.sql` (after the keys, in order), `last.sql` (after the checks;
nothing touches the rows after it), `before.sql` (on every server of an epoch, before its clients
come), `checks.sql` (every row returned is a violation), `checks/SCRIPT.sql` (holds where SCRIPT is
the only one that writes), `consistency.sql` (what reads all data: on request only),
`scripts/*.sql`, `rows/*.tsv` that scripts draw from, and `arrivals.tsv` (when transactions
arrived). SQL files are cut into statements by
pgbench's rules and may use `:scale` and the workload's options; those that make rows only the
options that load. Each of them, and `workload.toml`, may have another form for an engine
(dialects.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from steelyard._core import script_statements
from steelyard.model.errors import UsageError
from steelyard.workloads.reading.arrivals import ARRIVALS, Arrival, read_arrivals
from steelyard.workloads.reading.dialects import GENERIC, dialect_names, language
from steelyard.workloads.reading.option import Option, OptionValue, ScriptMix
from steelyard.workloads.reading.rows import read_rows

DESCRIPTION = "workload.toml"
LOADING_FILES = (
    "schema.sql",
    "load.sql",
    "keys.sql",
    "constraints.sql",
    "routines.sql",
    "last.sql",
)
ROWS = "rows/"
"""The folder of what scripts draw from: NAME.tsv, in COPY's text format."""
_TRIED_ROWS = 100

Quantity = Annotated[int, Field(ge=0)] | str
"""A number, or an expression of the options that load, such as "1000 + 10 * :added"."""


@dataclass(frozen=True)
class WorkloadFile:
    """A file of a workload as it was when the folder was read."""

    path: Path
    content: bytes

    def text(self) -> str:
        """The content, without a byte order mark before statements; UsageError: it is no text."""
        encoding = "utf-8" if self.path.suffix == ".tsv" else "utf-8-sig"  # rows may begin with one
        try:
            return TextIOWrapper(BytesIO(self.content), encoding=encoding).read()
        except UnicodeDecodeError as error:
            raise UsageError(f'could not read "{self.path}": it is not UTF-8 text') from error


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _split_words(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


_Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]


class WorkloadTable(_Model):
    """A table of the workload and how many rows it has."""

    name: _Name
    rows_per_scale: Quantity | None = None
    """Before `last.sql`. None: not known beforehand, so not verified."""
    last_per_scale: Quantity | None = None
    """Inserted by `last.sql`. None: not verified."""
    generator: str | None = None
    """What makes its rows, a name of `crates/datagen`; None: nothing, or `load.sql`."""
    columns: Annotated[tuple[_Name, ...], BeforeValidator(_split_words)] = ()
    """The order in which they are made; none: that of `schema.sql`."""


class ScriptFacts(_Model):
    """What is known of a script of the workload."""

    rows: Annotated[int, Field(ge=0)] | None = None
    """Rows that the statements of one transaction return in all; None: not checked."""
    writes: bool


class EachProbe(_Model):
    """A query that is explained once for each of some numbers, each execution by itself."""

    each: str
    """Asks for the numbers, a row for each. What comes before that query is done once; where the
    options leave no query there is no such probe."""
    query: str
    """`:each` is the number."""


class Workload(_Model):
    """A schema, its rows, scripts, and checks that prove that the work was really done.

    It holds its files: what happens to the folder later does not change it.
    """

    folder: Path
    kind: str = GENERIC
    """Of the engine that it was read for."""
    files: dict[str, WorkloadFile] = {}
    """By path within the folder, without a dialect. SQL files that it lacks are those of the
    workload it loads as, and `workload.toml` is the one that decides the rows."""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]
    title: str
    scale_is: str = "nothing: its data are what they are"
    """What the scale counts."""
    scale_name: Annotated[str, Field(pattern=r"^[a-z_]+$")] = "scale"
    """Another name of the scale in `workloads load --set`."""
    default_scale: Annotated[int, Field(ge=1)] = 1
    max_scale: Annotated[int, Field(ge=1)] = 2**31 - 1
    bytes_per_scale: Quantity = 0
    """Size of the loaded database for each unit of scale, keys included."""
    bytes_fixed: Annotated[int, Field(ge=0)] = 0
    """Size of what does not grow with the scale."""
    loads_as: str | None = None
    """Another built-in workload whose rows, checks and options this one has."""
    engines: tuple[str, ...] = ()
    """The kinds of engine that it is for; none: those that it has tables for."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of every random row: equal seeds make equal bytes."""
    tables: tuple[WorkloadTable, ...] = ()
    loaded: bool = True
    """Whether it loads its data; else they are external: a study's source provides them."""
    tried_first: bool = False
    """Whether scripts that fail before the load are left out, and those that write tried on a copy:
    a captured transaction may need what others wrote before it, or types that the log lacks."""
    options: dict[str, Option] = {}
    mixes: tuple[ScriptMix, ...] = ()
    """The scripts that are driven where a study names none: the first mix that fits."""
    begins: dict[str, int] = {}
    """Variables that its scripts change, as they are before a client's first transaction."""
    probes: dict[str, str | EachProbe] = {}
    """Name → query that is explained after an epoch, on rows that no script touches. What comes
    before the query (SET LOCAL) holds for it alone."""
    mode: Literal["simple", "extended", "prepared"] = "prepared"
    """How statements are sent, where a study does not say: slow ones are planned each time."""
    streams: tuple[Annotated[tuple[str, ...], BeforeValidator(_split_words)], ...] = ()
    """Orders of its scripts; where a study names none, client k goes through stream k mod n."""
    around: dict[str, tuple[str, str]] = {}
    """Switch → the scripts before and after the first client's stream, where it is on."""
    counts: dict[str, str] = {}
    """Name → query of one number that grows with the work done, as orders entered do."""
    scripts: dict[str, ScriptFacts] = {}
    chosen: dict[str, OptionValue] = {}
    """The values of all options; those of `workload.toml` until others are chosen."""

    def check_scale(self, scale: int) -> None:
        """UsageError unless the workload exists at this scale."""
        if not 1 <= scale <= self.max_scale:
            raise UsageError(
                f'cannot load workload "{self.name}" at scale {scale}: '
                f"1 to {self.max_scale} are possible",
                detail=f"The scale counts {self.scale_is}.",
            )

    def bytes_at(self, scale: int) -> int:
        """About how large the loaded database is, with the chosen options."""
        return self.bytes_each * scale + self.bytes_fixed

    @property
    def bytes_each(self) -> int:
        """About how large the loaded database is for each unit of scale, 1 at least."""
        return max(1, self.quantity("bytes_per_scale", self.bytes_per_scale))

    @property
    def inserts(self) -> bool:
        """Whether SQL makes rows of it, which the server logs."""
        return any(file in self.files for file in ("load.sql", "last.sql"))

    def largest_scale(self, room: int) -> int:
        """The largest scale whose database is no larger than `room` bytes; 0: none."""
        return min(self.max_scale, max(0, room - self.bytes_fixed) // self.bytes_each)

    def rows_at(self, table: WorkloadTable, scale: int) -> int | None:
        """Rows of a table before `last.sql`; None: not known."""
        if table.rows_per_scale is None:
            return None
        return scale * self.quantity(f"tables.{table.name}.rows_per_scale", table.rows_per_scale)

    def last_rows_at(self, table: WorkloadTable, scale: int) -> int | None:
        """Rows that `last.sql` inserts into a table; None: not known."""
        if table.last_per_scale is None:
            return None
        return scale * self.quantity(f"tables.{table.name}.last_per_scale", table.last_per_scale)

    def quantity(self, key: str, quantity: Quantity) -> int:
        """A number that may follow the options; UsageError names its key."""
        try:
            return evaluated(quantity, self._option_variables(loading=True))
        except ValueError as error:
            path = self.folder / DESCRIPTION
            raise UsageError(f'{path}: key "{key}": {error}') from error

    def variables(self, scale: int) -> dict[str, str | int]:
        """The variables that its scripts and SQL files see; a switch is 1 or 0."""
        return {"scale": scale, **self._option_variables(loading=False), **self.begins}

    def _option_variables(self, *, loading: bool) -> dict[str, str | int]:
        """The variables of all options, or of those that load."""
        options: dict[str, str | int] = {}
        for name, option in self.options.items():
            if name in self.chosen and (option.loads or not loading):
                options |= option.variables(name, self.chosen[name])
        return options

    def mix(self) -> dict[str, int]:
        """The scripts of the first mix that fits the chosen options, with their weights."""
        for mix in self.mixes:
            if all(self.chosen.get(name) == value for name, value in mix.when.items()):
                return dict(mix.scripts)
        return dict.fromkeys(self.scripts, 1)

    def streams_of(self, clients: int) -> tuple[tuple[str, ...], ...]:
        """The streams of so many clients, from the one that option "stream" names on."""
        if not self.streams:
            return ()
        first = int(self.chosen.get("stream", 0))
        streams = [self.streams[(first + k) % len(self.streams)] for k in range(clients)]
        for switch, (before, after) in self.around.items():
            if self.chosen.get(switch):
                streams[0] = (before, *streams[0], after)
        return tuple(streams)

    @property
    def excluded(self) -> tuple[str, ...]:
        """The scripts around the first client's stream that are switched on: no queries."""
        on = (pair for switch, pair in self.around.items() if self.chosen.get(switch))
        return tuple(script for pair in on for script in pair)

    @property
    def loading(self) -> dict[str, OptionValue]:
        """The chosen values of the options that decide what is loaded."""
        return {name: self.chosen[name] for name, o in self.options.items() if o.loads}

    @property
    def loaded_name(self) -> str:
        """The name under which its rows are loaded and kept."""
        return self.loads_as or self.name

    @cached_property
    def draws(self) -> dict[str, list[list[str | None]]]:
        """The rows that its scripts draw from, by the name of their file. UsageError: a file of
        them is wrong."""
        rows = {}
        for name, file in self.files.items():
            if name.startswith(ROWS):
                try:
                    rows[Path(name).stem] = read_rows(file.text())
                except ValueError as error:
                    raise UsageError(f"{file.path}: {error}") from error
        return rows

    @property
    def drawn_first(self) -> dict[str, list[list[str | None]]]:
        """A few of those rows: enough to try a script."""
        return {name: rows[:_TRIED_ROWS] for name, rows in self.draws.items()}

    @cached_property
    def arrivals(self) -> list[Arrival]:
        """When its transactions arrived, where it was captured. UsageError: it has no times."""
        file = self.files.get(ARRIVALS)
        if file is None:
            raise UsageError(
                f'workload "{self.name}" has no arrival times ({ARRIVALS})',
                detail="A capture writes them where it knows when each transaction began: times of "
                "a log must have fractions of a second, and its entries durations.",
                hint="Capture it anew, or drive at a rate: -R.",
            )
        try:
            return read_arrivals(file.text())
        except ValueError as error:
            raise UsageError(f"{file.path}: {error}") from error

    def part(self, file: str) -> str:
        """How messages say in which part of the workload a statement is."""
        return f'workload "{self.name}": {file}'

    def script(self, name: str) -> WorkloadFile:
        """The file of one of its scripts."""
        return self.files[f"scripts/{name}.sql"]

    def statements(self, file: str, scale: int) -> list[str]:
        """The statements of one of its SQL files, `:scale` filled in; none if it has no such file.

        UsageError names file, line and column of what cannot be parsed, and an option that decides
        what is loaded without saying so: other values of it would find what is there.
        """
        if file not in self.files:
            return []
        loads = file in LOADING_FILES
        values = (
            {"scale": scale, **self._option_variables(loading=True)}
            if loads
            else self.variables(scale)
        )
        variables = {name: str(value) for name, value in values.items()}
        text = self.files[file].text()
        try:
            path, dialect = str(self.files[file].path), language(self.kind)
            return script_statements(path, text, variables, dialect=dialect)
        except ValueError as error:
            hidden = self._hidden(str(error)) if loads else None
            hint = f'Option "{hidden}" decides what is loaded here: it needs loads = true.'
            raise UsageError(
                f'workload "{self.name}" is wrong',
                detail=str(error),
                hint=hint if hidden else None,
            ) from error

    def _hidden(self, message: str) -> str | None:
        """The option that was not seen because it does not load, where that is what was said."""
        for name, option in self.options.items():
            variables = option.variables(name, self.chosen.get(name, option.default))
            if any(f'undefined variable "{each}"' in message for each in variables):
                return name
        return None

    def digest(self) -> str:
        """A hash of all that decides which bytes a load makes, and whether they are right."""
        hasher = hashlib.sha256()
        described = [n for n in dialect_names(DESCRIPTION, self.kind) if n in self.files]
        for name in (DESCRIPTION, *described, *LOADING_FILES, "checks.sql"):
            file = self.files.get(name)
            hasher.update(name.encode() + b"\0" + (file.content if file else b"\0"))
        hasher.update(repr(sorted(self.loading.items())).encode())
        return hasher.hexdigest()


def evaluated(quantity: Quantity, variables: Mapping[str, str | int]) -> int:
    """The number. ValueError: it cannot be evaluated, or is no whole number from 0 on."""
    if isinstance(quantity, int):
        return quantity
    script = f"\\set quantity {quantity}\nSELECT :quantity;"
    texts = {name: str(value) for name, value in variables.items()}
    try:
        number = script_statements("", script, texts)[0].removeprefix("SELECT ").removesuffix(";")
    except ValueError as error:
        reason = str(error).splitlines()[0].split(": ", 1)[-1]
        raise ValueError(f'"{quantity}": {reason}') from error
    if not (number.isascii() and number.isdecimal()):
        raise ValueError(f'"{quantity}": it is {number}, and no whole number from 0 on')
    return int(number)
