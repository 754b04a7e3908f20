"""The Rust crates as Python sees them; one section a file of `crates/bindings/src`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Self, TypedDict

def build_profile() -> str:
    """How the extension was built: `"release"` or `"debug"`."""

# pages

class Control(TypedDict):
    system_identifier: int
    pg_control_version: int
    catalog_version: int
    state: str
    time: int
    checkpoint: int
    redo: int
    timeline: int
    full_page_writes: bool  # at the latest checkpoint
    min_recovery_point: int
    backup_start_point: int  # of the backup whose end is still to be replayed; 0: none
    backup_end_point: int
    backup_end_required: bool
    wal_log_hints: bool
    block_size: int
    segment_blocks: int
    wal_segment_size: int
    checksum_version: int
    crc_ok: bool

def read_control(path: str | PathLike[str]) -> Control:
    """What stands in global/pg_control; OSError, or ValueError when it is of no known version."""

def read_relation_map(path: str | PathLike[str], major: int) -> list[tuple[int, int]]:
    """(OID, file number) of mapped relations, by a pg_filenode.map of a major version; OSError: it
    cannot be read; ValueError: the server would refuse it, and why."""

def set_checksum_version(path: str | PathLike[str], version: int, time: int | None = None) -> None:
    """Switch page verification (0 off, 1 on) of a stopped cluster in place, and sync the file.

    `time` also sets when the file was last written, as pg_checksums does. ValueError, and the
    file as it was: wrong CRC, unknown version, or a cluster that was not shut down.
    """

def page_checksum(page: bytes, block: int) -> int:
    """The checksum a page of 1 to 32 kB should carry as this block of its relation fork."""

def write_checksums(
    directory: str | PathLike[str],
    tablespace_version: str,
    page_bytes: int,
    segment_blocks: int,
    threads: int,
) -> tuple[int, int]:
    """Write the checksum of every page of a stopped cluster, as `pg_checksums --enable` does.

    Pages that have one now, and those that had another before; nothing is synced. OSError names a
    file that could not be read or written, or a part that could not be entered (none is written).
    """

# scrub

class Segment:
    """A stretch of a file that holds a segment of a relation fork; its label names the file."""

    path: Path
    label: str
    offset: int
    bytes: int
    tablespace: int
    database: int
    filenode: int
    fork: str
    segment: int
    temporary: bool

    def __init__(
        self,
        path: str | PathLike[str],
        label: str,
        offset: int,
        bytes: int,  # noqa: A002
        tablespace: int,
        database: int,
    ) -> None:
        """ValueError: the label does not end in the name of a relation file."""

def walk_cluster(
    directory: str | PathLike[str], tablespace_version: str
) -> tuple[list[Segment], list[tuple[str, str]], list[tuple[str, str]]]:
    """Every relation file, (label, why) of stray names that were skipped, and of what belongs to
    the cluster and could not be entered; OSError: no base or global."""

def broken_forks(
    segments: list[Segment], page_bytes: int, segment_blocks: int
) -> list[tuple[str, int, str]]:
    """(label, first missing block, reason) where segments do not follow each other."""

def kernels() -> list[str]:
    """The ways to compute checksums that this processor has: "scalar", "SSE2", "AVX2", ..."""

def guess_damage(page: bytes, block: int, blocks: int) -> tuple[str, str]:
    """What probably happened to a damaged page of a fork of so many blocks: (kind, what says so);
    kinds: "one bit", "more than one bit", "cannot tell", "zeroed sector", "overwritten", "shifted",
    "misplaced", "two pages", "torn"."""

Told = tuple[str, int, int, int, int]
"""(fault, expected checksum, found checksum, LSN, LSN at an earlier scrub); faults:
"checksum", "header", "not empty", "short", "unreadable", "backwards"."""

def judge_page(page: bytes, block: int, checksums: bool) -> Told | None:
    """What is wrong with a page as the scan judges it; None: it is sound or all zero."""

Origin = tuple[int, int, int, int, int, int, int]
"""(system identifier, timeline, page bytes, segment blocks, checkpoint, seconds since 1970, a
digest of the log at that checkpoint or 0)."""

def catalogue_origin(path: str | PathLike[str]) -> Origin:
    """Of which cluster a catalogue is. OSError; ValueError: it is none, or damaged."""

# scan

class ScanAsked(TypedDict):
    page_bytes: int
    segment_blocks: int
    checksums: bool
    threads: int
    max_rate: float | None  # bytes a second
    drop_behind: bool
    idle: bool
    kernel: str | None  # the best where None
    gaps_s: list[float]  # between looks at what was wrong at first; none: one look is enough
    catalogue: str | None  # written anew
    origin: Origin | None
    most_lsn: int  # no page can have a higher one: it is not kept in the catalogue
    compare: bool  # with the catalogue that is there
    replayed_from: int | None  # pages of an LSN from here on may be older than they were

class Scanned(TypedDict):
    files: int
    blocks: int
    bytes: int
    empty: int  # blocks that are all zeroes
    wrong: list[tuple[int, int, Told]]  # (index of the segment, block, what is wrong)
    dismissed: list[tuple[int, int, Told]]  # sound at a later look, or gone
    uncounted: int  # wrong blocks beyond the 10,000 that are listed
    unchecked: int  # those of them that were too many to be looked at again
    behind: int  # older than they were, as replay leaves them
    unwritten: str | None  # why the catalogue could not be written
    vanished: list[str]
    denied: list[tuple[str, str]]

def scan_segments(
    segments: list[Segment],
    asked: ScanAsked,
    progress: Callable[[int, int, int, int, int, list[int]], object],
) -> Scanned:
    """Read every page once. `progress` is called ten times a second with bytes, blocks, files,
    wrong blocks so far, blocks that are being looked at again, and the indices of the segments
    that were done since; an exception it raises ends the scan and is raised here."""

# innodb

class InnodbFile:
    """A file of a tablespace of InnoDB."""

    path: Path
    label: str  # relative to the data directory
    bytes: int
    page_bytes: int  # in the file
    logical_bytes: int  # in memory: more under ROW_FORMAT=COMPRESSED
    zip: bool  # ROW_FORMAT=COMPRESSED
    full_crc32: bool  # MariaDB's checksum of whole pages
    space: int | None  # the tablespace's number; None: no page says it
    first_page: int  # not 0 in later files of the system tablespace

class InnodbAsked(TypedDict):
    threads: int
    max_rate: float | None  # bytes a second
    idle: bool
    gaps_s: list[float]  # between looks at what was wrong at first; none: one look is enough

InnodbWrong = tuple[int, int, str, int, int, int]
"""(index of the file, page, reason, expected, found, LSN); reasons: "checksum", "lsn", "misplaced",
"other tablespace", "header", "page type", "short", "unreadable"."""

class InnodbScanned(TypedDict):
    files: int
    blocks: int
    bytes: int
    wrong: list[InnodbWrong]
    dismissed: int  # sound at a later look, or gone
    uncounted: int  # wrong pages beyond the 10,000 that are listed
    unchecked: int  # those of them that were too many to be looked at again
    carried: list[list[tuple[str, int]]]  # of each file: sound pages by what they carry
    vanished: list[str]
    denied: list[tuple[str, str]]

def walk_innodb(
    directory: str | PathLike[str],
) -> tuple[list[InnodbFile], list[tuple[str, str]], list[tuple[str, str]]]:
    """Every tablespace of a data directory, and (label, why) of what was skipped, and of what could
    not be read. OSError: the directory cannot be entered."""

def lock_holder(path: str | PathLike[str]) -> int | None:
    """The process that holds a lock on a file that keeps readers out; -1: one that cannot be seen
    from here. OSError: the file cannot be opened."""

def scan_innodb(
    files: list[InnodbFile],
    asked: InnodbAsked,
    progress: Callable[[int, int, int], object],
) -> InnodbScanned:
    """Read every page once. `progress` is called ten times a second with bytes, wrong pages so far
    and pages that are being looked at again; an exception it raises ends the scan and is raised
    here."""

# drill

PagePair = tuple[bytes, bytes, int]
"""(8 kB page as it was written last, as it was before, relation)."""

def drill_names() -> tuple[list[str], list[str], list[str], list[str]]:
    """The names of faults, checks, algorithms and identities."""

def fault_trials(
    fault: str, pairs: list[PagePair], start: int, trials: int, seed: int, threads: int
) -> tuple[list[int], int]:
    """How often each check (in the order of `drill_names`) let a fault pass, and how often it was
    planted, as a block of any number: a fault that leaves what was written is none. `start` is
    where a base backup began."""

def scheme_trials(
    fault: str,
    algorithm: str,
    identity: str,
    pairs: list[PagePair],
    trials: int,
    seed: int,
    threads: int,
) -> tuple[int, int]:
    """How often an algorithm let a fault pass, and how often it was planted."""

def scheme_cost(
    algorithm: str,
    identity: str,
    work: str,
    buffer_bytes: int,
    rounds: int,
    kernel: str | None = None,
) -> tuple[int, int, int]:
    """Bytes, nanoseconds and time stamp ticks of work "write" or "read" on one core.

    `kernel` is what PostgreSQL's sum is computed with, the widest without; ValueError: not here.
    """

# datagen

COPY_HEADER: bytes
COPY_TRAILER: bytes

class RowStream:
    """The rows of a table in chunks, made ahead by threads: the same bytes always. No row is in two
    chunks.

    `encoding`: "copy", COPY's binary tuples, or "lines", as LOAD DATA reads them. `part`: the first
    chunk and how many; None: all. ValueError: no such generator, table, scale or encoding.
    """

    rows: int
    """Rows of the whole table."""
    chunks: int
    """Chunks of the whole table."""
    def __init__(
        self,
        generator: str,
        table: str,
        scale: int,
        options: dict[str, str],
        seed: int,
        threads: int = 1,
        encoding: str = "copy",
        part: tuple[int, int] | None = None,
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def sent(self) -> int:
        """Rows given out so far."""
    @property
    def control_sum(self) -> int:
        """The sum of every integer field given out so far, NULL as 0, wrapped to 64 bits."""
    @property
    def digest(self) -> str:
        """A hash of the bytes given out so far, as 16 hexadecimal digits."""
    @property
    def chunk_digests(self) -> list[str]:
        """Hashes of the chunks given out so far, in order."""

def digest_of_chunks(digests: list[str]) -> str:
    """The digest of a table, from those of all its chunks in order. ValueError: one is none."""

# script

def builtin_script(name: str) -> str | None:
    """The text of a built-in script; None when there is none of that name."""

def script_statements(
    name: str,
    text: str,
    variables: dict[str, str],
    seed: int = 0,
    count: int = 1,
    tables: Mapping[str, Sequence[Sequence[str | None]]] | None = None,
    dialect: str = "postgres",
) -> list[str]:
    """The statements of `count` executions, variables filled in as the simple mode sends them.

    ValueError: the script is wrong (file:line:column: reason, the line, a caret), or an
    expression has no result. `tables`: the rows that it draws from, by name. `dialect`: whose
    strings, comments and routines it has: "postgres", "mysql" or "sqlserver".
    """

def check_scripts(
    scripts: list[tuple[str, str]],
    variables: dict[str, str],
    mode: str,
    tables: Mapping[str, Sequence[Sequence[str | None]]] | None = None,
    dialect: str = "postgres",
) -> None:
    """Check the scripts (name, text) of one plan together. ValueError: the first wrong one."""

# driver

class Quantiles(TypedDict):
    count: int
    mean_ns: float
    max_ns: int
    values: list[int]

def drive(stdin_fd: int, stdout_fd: int) -> bool:
    """Drive from a plan, JSON lines in and out; False: the last line is an error."""

def cancel_everything() -> None:
    """Ask the servers to stop what this process's driver had them do; two seconds at most."""

def ask(arm: str, sql: str) -> list[list[str | None]]:
    """Rows of text of one question to an arm, JSON as in a plan; DriverError."""

def histogram_quantiles(latencies: list[str], quantiles: list[float]) -> Quantiles:
    """Encoded histograms merged: values in ns at the quantiles (0 … 1); DriverError."""

def histogram_counts(latencies: list[str], edges_ns: list[int]) -> list[int]:
    """How many latencies lie in each bin [edge, next edge); one fewer than edges; DriverError."""

def histogram_merge(latencies: list[str]) -> str:
    """Encoded histograms as one encoded histogram; empty for none; DriverError."""

# sqlserver

class SqlServerSession:
    """A connection to SQL Server on which texts are executed one by one.

    `arm`: JSON as in a plan. DriverError: it cannot be opened.
    """

    def __init__(self, arm: str) -> None: ...
    def execute(self, sql: str) -> list[tuple[list[str], list[list[str | None]]]]:
        """Columns and rows, as text, of each result of a text; None: NULL. DriverError: the server
        refused, which leaves the connection as it is, or the connection is no more."""

    def cancel(self) -> None:
        """End what another thread executes with an error; the connection is closed."""

    def close(self) -> None:
        """Disconnect; safe to call twice."""

class Proxy:
    """Passes connections through to a server, and notes what they execute. DriverError."""

    def __init__(
        self,
        listen: str,
        arm: str,
        spool_fd: int,
        most_bytes: int,
        most_connections: int,
        certificate: tuple[str, str] | None = None,
    ) -> None: ...
    @property
    def address(self) -> str: ...
    def status(self) -> dict[str, int]: ...
    def stop(self) -> None:
        """End the notes, which are in the file then. DriverError: some did not end in time."""

    def latencies(self) -> str: ...  # from receipt to forward, an encoded histogram of ns
    def close(self) -> None: ...  # ends every connection; safe to call twice
