"""The Rust crates as Python sees them; one section a file of `crates/bindings/src`."""

from os import PathLike
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
    block_size: int
    segment_blocks: int
    wal_segment_size: int
    checksum_version: int
    crc_ok: bool

def read_control(path: str | PathLike[str]) -> Control:
    """What stands in global/pg_control; OSError, or ValueError when it is of no known version."""

def set_checksum_version(path: str | PathLike[str], version: int, time: int | None = None) -> None:
    """Switch page verification (0 off, 1 on) of a stopped cluster in place, and sync the file.

    `time` also sets when the file was last written, as pg_checksums does. ValueError, and the
    file as it was: wrong CRC, unknown version, or a cluster that was not shut down.
    """

def page_checksum(page: bytes, block: int) -> int:
    """The checksum an 8192-byte page should carry as this block of its relation fork."""

# datagen

COPY_HEADER: bytes
COPY_TRAILER: bytes

class RowStream:
    """The rows of a table in chunks of binary COPY, made ahead by threads: the same bytes always.

    ValueError: no such generator, table or scale.
    """

    rows: int
    """Rows of the whole table."""
    def __init__(
        self,
        generator: str,
        table: str,
        scale: int,
        options: dict[str, str],
        seed: int,
        threads: int = 1,
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

# script

def builtin_script(name: str) -> str | None:
    """The text of a built-in script; None when there is none of that name."""

def script_statements(
    name: str, text: str, variables: dict[str, str], seed: int = 0, count: int = 1
) -> list[str]:
    """The statements of `count` executions, variables filled in as the simple mode sends them.

    ValueError: the script is wrong (file:line:column: reason, the line, a caret), or an
    expression has no result.
    """

def check_scripts(scripts: list[tuple[str, str]], variables: dict[str, str], mode: str) -> None:
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
