"""Protocols for loading a workload into a server, checking its data, and explaining its probes.

What holds for every engine (which tables in which order, how many rows, how much disk space, which
templates there are) is in `workloads`; how a server does it is behind these protocols.

Copies a share of a table's rows into a server exactly once, whichever machine generates it.

The share's line in a table of shares and its rows are one transaction: a share is there with its
sums and digests, or nothing of it is. The line's key refuses a second copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, cast, runtime_checkable

from steelyard._core import RowStream
from steelyard.engines.account import Account
from steelyard.engines.capabilities.external import ExternalServer
from steelyard.engines.capabilities.life import Crashable
from steelyard.engines.engine import Engine, Instance, LocalInstance, Settings, Slot
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.model.files.bounded_json import JsonError, parse_json

RowEncoding = Literal["copy", "lines"]
"""How a bulk load takes rows: tuples of COPY's binary format, or lines of LOAD DATA."""

DATABASE = "steelyard"
"""Every workload is loaded into a database of this name."""


def require_replaceable(host: str, *, marked: bool, loaded: bool, replacing: bool) -> None:
    """EngineError where the database that a server has already is not to be replaced by a load: it
    has no marker of ours, or is `loaded` and the caller is not `replacing`. One whose load was
    interrupted has a marker and is not loaded."""
    message = f'cannot load into the server at "{host}": it has a database "{DATABASE}" already'
    if not marked:
        raise EngineError(
            message,
            detail="It was not made by Steelyard, or its marker is gone.",
            hint="Steelyard writes only into a database that it has just made.",
        )
    if loaded and not replacing:
        raise EngineError(
            message,
            hint="Steelyard writes only into a database that it has just made. "
            "`workloads load --replace` drops this one first.",
        )


@dataclass(frozen=True)
class LoadedData:
    """What a database was loaded with, as its marker records it."""

    workload: str
    scale: int
    rows: int
    digest: str
    options: str | None = None
    """The options that decided the rows, as a JSON object; None: loaded by an older Steelyard."""

    @classmethod
    def read(cls, values: Sequence[object]) -> Self:
        """Of the values of a marker, in the order of the fields; a server of others may hold any.
        ServerError: they are none."""
        kinds: Sequence[type] = (str, int, int, str)
        options = values[4] if len(values) > len(kinds) else None
        typed = all(isinstance(value, kind) for value, kind in zip(values, kinds, strict=False))
        if not typed or not len(kinds) <= len(values) <= len(kinds) + 1:
            raise ServerError(_NO_MARKER)
        try:
            parsed = None if options is None else parse_json(str(options))
        except JsonError as error:
            raise ServerError(_NO_MARKER, detail=f"Its options: {error}") from error
        if parsed is not None and not isinstance(parsed, dict):
            raise ServerError(_NO_MARKER)
        workload, scale, rows, digest = cast(tuple[str, int, int, str], tuple(values[:4]))
        return cls(workload, scale, rows, digest, cast("str | None", options))


_NO_MARKER = f'could not read what database "{DATABASE}" was loaded with: its marker is not ours'


@dataclass(frozen=True)
class ServerDisk:
    """Where a server keeps its data, and what a load changes there."""

    directory: Path | None
    """None: it is on another machine, or cannot be seen from here."""
    log_limit_bytes: int
    """To which the write-ahead log grows before it is recycled."""
    replaced_bytes: int
    """Of the database that a load would replace."""


class Checker(Protocol):
    """A connection to the loaded database. A ServerError about a statement begins with `source`,
    which names workload and file, and quotes the statement."""

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        """Rows that each statement returned or changed, -1 where the server does not say."""

    def rows(self, query: str, source: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def loaded(self) -> LoadedData | None:
        """What the database was loaded with; None: Steelyard did not make it, or not to the end."""


class Loader(Checker, Protocol):
    """A connection that fills the database."""

    @property
    def session(self) -> int:
        """The number by which the server knows this connection."""

    def transaction(self) -> AbstractContextManager[object]:
        """What is done within is committed together, or not at all."""

    def has_table(self, table: str) -> bool:
        """Whether there is a table of this name."""

    def copy(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """Append rows, encoded as the engine's bulk load reads them; how many arrived.

        No columns: those of the table, in its order. In the transaction that made the table.
        """

    def append(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """The same, to a table that others fill too; `freeze` it when all rows are there."""

    def count_and_sum(self, table: str) -> tuple[int, int]:
        """Rows of a table, and the sum of its integer columns as a signed 64-bit number wraps."""

    def count(self, table: str) -> int:
        """Rows of a table."""

    def analyze(self, table: str) -> None:
        """Gather the planner's statistics of a table whose rows were copied."""

    def freeze(self, table: str) -> None:
        """Gather them of a table that SQL or several connections have filled, and leave nothing of
        it to clean up later."""

    def begin_mark(self) -> None:
        """Mark the database as made by Steelyard, and not loaded yet."""

    def mark(self, loaded: LoadedData) -> None:
        """Mark it as loaded."""

    def size_bytes(self) -> int:
        """Size of the database."""

    def cancel(self) -> None:
        """End the statement under way with an error; called from another thread."""


class Prober(Protocol):
    """A connection on which statements are executed and their work is counted."""

    def explain(self, settings: Sequence[str], query: str) -> dict[str, int]:
        """Counter → amount of one execution, with settings that hold for it alone."""


class WorkloadDatabase(Protocol):
    """The database "steelyard" of a server."""

    @property
    def host(self) -> str:
        """The server, as messages name it."""

    @property
    def kind(self) -> str:
        """The engine whose files of a workload it takes: "postgres", "mysql", "mariadb"."""

    @property
    def encoding(self) -> RowEncoding:
        """How its loader's `copy` takes rows."""

    @property
    def session(self) -> tuple[str, ...]:
        """Statements that a session which drives a workload in it begins with."""

    def create(self, *, replacing: bool = False) -> None:
        """Make it empty; EngineError: it cannot be made here, or the one that is there is kept.

        What an interrupted load left is replaced, and a loaded one where `replacing`; a database of
        that name that Steelyard did not make never is.
        """

    def disk(self) -> ServerDisk:
        """Where it would be."""

    def loader(self) -> AbstractContextManager[Loader]:
        """A connection that fills it."""

    def checker(self) -> AbstractContextManager[Checker]:
        """A connection that reads it."""

    def counter(self) -> AbstractContextManager[Checker]:
        """A connection that reads it while what works in the background is held still."""

    def prober(self) -> AbstractContextManager[Prober]:
        """A connection that counts what statements cost."""


@runtime_checkable
class Doubtful(Protocol):
    """A database of a server that may forbid a load, and does not say so to every user."""

    def doubts(self) -> Sequence[str]:
        """What its server did not answer, and what that means for a load."""


@runtime_checkable
class HoldsWorkload(Protocol):
    """An instance that a workload can be loaded into."""

    def workload_database(self) -> WorkloadDatabase:
        """Its database "steelyard"; only after a start."""


@runtime_checkable
class TemplateEngine(Engine, Protocol):
    """An engine whose loaded, stopped clusters can be kept on disk and found again."""

    @property
    def account(self) -> Account:
        """The account that its servers run under."""

    @property
    def load_settings(self) -> Settings:
        """Of a server that is loaded and then stopped: a crash loses nothing worth keeping."""

    def catalogue_edition(self) -> list[int]:
        """Distinguishes builds of one version whose data directories may differ."""

    def stopped_identifier(self, directory: Path) -> int | None:
        """The identifier of a cluster that was stopped cleanly, its pages protected; else None."""


@runtime_checkable
class StoresValues(Protocol):
    """An engine whose servers store values by settings that builds have other defaults of."""

    def storing(self, settings: Settings) -> TemplateEngine:
        """The same build, whose servers are loaded with these settings too; what they come to is
        kept by a name of its own."""


@contextmanager
def serving(
    instance: LocalInstance, slot: Slot, settings: Settings, report: Callable[[str], None]
) -> Iterator[None]:
    """The server runs inside of the block; exceptions of the block propagate."""
    instance.start(slot, settings)
    try:
        yield
    except BaseException:
        # Its files are thrown away, and a server that recovers from a crash may take minutes to
        # stop: on a signal at the wrong moment, 18.4 waits for its checkpointer forever.
        if isinstance(instance, Crashable):
            instance.discard()
        else:
            instance.stop()
        raise
    report("stop the server")
    instance.stop()


def work_database(instance: Instance) -> str:
    """The name of the database that an arm works in: ours, or at an address the one it names."""
    return instance.address.database if isinstance(instance, ExternalServer) else DATABASE


def database_of(instance: Instance) -> WorkloadDatabase:
    """The database "steelyard" of an instance; UsageError: its engine takes no workloads."""
    if not isinstance(instance, HoldsWorkload):
        raise UsageError(f'cannot load data into engine "{instance.identity.kind}"')
    return instance.workload_database()


SHARES = "steelyard_shares"
"""The table of shares; dropped when the load is complete."""
_MAKE = (
    f"CREATE TABLE {SHARES} (of_table VARCHAR(64) NOT NULL, first_chunk BIGINT NOT NULL, "
    "row_count BIGINT, control_sum BIGINT, digests TEXT, PRIMARY KEY (of_table, first_chunk))"
)
_READ = (
    f"SELECT of_table, first_chunk, row_count, control_sum, digests FROM {SHARES} "
    "ORDER BY of_table, first_chunk"
)
_SOURCE = "could not keep account of the shares"


@dataclass(frozen=True, slots=True)
class RowShare:
    """Chunks of a table's rows that follow each other: all that is needed to make them anywhere."""

    table: str
    columns: tuple[str, ...]
    generator: str
    scale: int
    options: Mapping[str, str]
    seed: int
    encoding: RowEncoding
    first: int
    """The number of its first chunk."""
    chunks: int

    def rows(self) -> RowStream:
        """Its rows, made as they are read; ValueError: no such generator or table."""
        return RowStream(
            self.generator,
            self.table,
            self.scale,
            dict(self.options),
            self.seed,
            encoding=self.encoding,
            part=(self.first, self.chunks),
        )


@dataclass(frozen=True, slots=True)
class CopiedShare:
    """A share that the server has, as its copier kept account of it."""

    table: str
    first: int
    rows: int
    control_sum: int
    digests: tuple[str, ...]
    """Of its chunks, in order."""


def begin_shares(loader: Loader) -> None:
    """Make the table of shares."""
    loader.execute([_MAKE], _SOURCE)


def end_shares(loader: Loader) -> None:
    """Remove it."""
    loader.execute([f"DROP TABLE {SHARES}"], _SOURCE)


def copied_shares(checker: Checker) -> Sequence[CopiedShare]:
    """Those that were committed, by table and place."""
    records = checker.rows(_READ, _SOURCE)
    return [
        CopiedShare(str(table), int(first), int(rows), int(total), tuple(digests.split()))
        for table, first, rows, total, digests in records
    ]


def copy_share(loader: Loader, share: RowShare) -> int:
    """Make a share and copy it; its rows. ServerError: the server's words, or it has the share."""
    source = f'could not fill table "{share.table}"'
    condition = f"of_table = '{share.table}' AND first_chunk = {share.first}"
    begin = f"INSERT INTO {SHARES} (of_table, first_chunk) VALUES ('{share.table}', {share.first})"
    with loader.transaction():
        loader.execute([begin], source)
        stream = share.rows()
        arrived = loader.append(share.table, share.columns, stream)
        if arrived != stream.sent:
            raise ServerError(f"{source}: {arrived} rows arrived, not {stream.sent}")
        update = (
            f"UPDATE {SHARES} SET row_count = {stream.sent}, control_sum = {stream.control_sum}, "
            f"digests = '{' '.join(stream.chunk_digests)}' WHERE {condition}"
        )
        loader.execute([update], source)
    return arrived
