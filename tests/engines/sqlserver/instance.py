"""A double of SQL Server that keeps databases: it answers what a weighing asks, and nothing else.

A text that it does not know is refused (and kept in `unknown`), so that nothing is sent unseen. It
can lie about a database: renamed, made anew, without a marker; and it can go away at any text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from driver.sqlserver import tokens
from driver.sqlserver.double import Double

FORBIDDEN = re.compile(
    r"sp_configure|\bRECONFIGURE\b|\bKILL\b|DROPCLEANBUFFERS|FREE\w*CACHE|\bSHUTDOWN\b|TRACEON"
    r"|xp_\w+|\bRESTORE\b|\bBACKUP\b|ALTER\s+SERVER|ALTER\s+LOGIN|\bDETACH\b|SET\s+OFFLINE"
    r"|\bMODIFY\s+NAME\b|SINGLE_USER",
    re.IGNORECASE,
)
"""What must never be sent to a server that is not ours."""
_NAMED = re.compile(r"(?:DROP|ALTER)\s+DATABASE\s+\[([^\]]*)\]", re.IGNORECASE)
_ROW = re.compile(r"\(N'(-?\d+)',N'(-?\d+)',N'(-?\d+)',N'([^']*)'\)")
_MAKING = re.compile(
    r"CREATE DATABASE \[(\w+)\] COLLATE \w+;\n"
    r"EXEC \[(\w+)\]\.sys\.sp_addextendedproperty @name = N'steelyard_marker', @value = N'(\w+)';"
)
_DROPPING = re.compile(
    r"IF EXISTS \(SELECT 1 FROM sys\.databases WHERE name = N'(\w+)' AND database_id = (\d+)"
    r" AND CONVERT\(nvarchar\(23\), create_date, 121\) = N'([^']+)'\)\n"
    r"DROP DATABASE \[(\w+)\];\nSELECT CONVERT\(nvarchar\(11\), DB_ID\(N'\w+'\)\);$"
)
_SET = re.compile(r"ALTER DATABASE \[(\w+)\] SET (\w+)(?: =)? (\w+);")
_OPTIONS = ("PAGE_VERIFY", "DELAYED_DURABILITY", "RECOVERY")


@dataclass
class Database:
    """What the server keeps of one."""

    number: int
    created: str
    marker: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    sources: list[tuple[int, int, int, str]] = field(default_factory=list)
    results: int = 0
    loaded: str = ""
    rebuilt: list[str] = field(default_factory=list)
    """The PAGE_VERIFY that each rebuild of `results` was done under."""


@dataclass
class Instance:
    """A server with databases of others, and whatever is made there."""

    databases: dict[str, Database] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    """Names of those that were made through it."""
    dropped: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Of databases that were renamed: sessions that are in one stay there."""
    checkpoints: int = 0
    before: Callable[[str], bytes | None] | None = None
    """Is called with each text first; tokens in place of the answer, empty: the connection ends."""
    damaged: bool = False
    """DBCC CHECKDB finds something."""
    unchecked: tuple[int, str] | None = None
    """Why DBCC CHECKDB is not carried out: an error's number and words; empty: the connection is
    lost."""
    in_use: int = 0
    """How often a drop is refused because a session is there."""
    blind: bool = False
    """The login may not see what the server counts."""
    edition: int = 3
    double: Double = field(default_factory=Double)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(5))

    def __post_init__(self) -> None:
        self.double.answer_in, self.double.admit = self.answer, self.admit
        self.databases |= {
            "master": Database(1, "2003-04-08 09:13:36.390"),
            "tempdb": Database(2, "2026-11-24 01:02:03.456"),
            "shop": Database(next(self.numbers), "2020-01-01 00:00:00.000"),
        }

    @contextmanager
    def running(self) -> Iterator[Instance]:
        """Serves on a port of its own."""
        with self.double.running():
            yield self

    @property
    def uri(self) -> str:
        """Where it is reached."""
        return self.double.uri().replace("/d?", "/?")

    @property
    def ours(self) -> dict[str, Database]:
        """The databases of ours that are there."""
        return {name: one for name, one in self.databases.items() if name in self.made}

    def require_harmless(self) -> None:
        """Nothing forbidden was sent, and nothing was changed or dropped but what was made here."""
        texts = [request.text for request in self.double.requests]
        assert not [text for text in texts if FORBIDDEN.search(text)]
        named = {name for text in texts for name in _NAMED.findall(text)}
        assert named <= self.made, "a database that was not made here was to be changed"
        assert set(self.dropped) <= self.made
        assert {"master", "tempdb", "shop"} <= self.databases.keys()
        assert not self.unknown, "the double does not know a text"

    def admit(self, database: str) -> bytes | None:
        """A login to a database that is not there is refused."""
        if database and database not in self.databases:
            return tokens.error(4060, f'Cannot open database "{database}" requested by the login.')
        return None

    def answer(self, text: str, database: str) -> bytes | None:
        """The tokens that answer a text."""
        own = self.before(text) if self.before is not None else None
        if own is not None:
            return own
        for pattern, handle in _SERVER_TEXTS:
            if found := pattern.search(text):
                return handle(self, found)
        here = self.databases.get(self.names.get(database, database))
        if here is not None:
            for pattern, work in _DATABASE_TEXTS:
                if found := pattern.search(text):
                    return work(here, text)
        if text.startswith("CHECKPOINT"):
            self.checkpoints += 1
            return tokens.done()
        self.unknown.append(text)
        return tokens.error(102, "Incorrect syntax near something.")

    def rename(self, name: str) -> None:
        """Somebody gives a database another name."""
        self.names[name] = f"archive of {name}"
        self.databases[self.names[name]] = self.databases.pop(name)

    def make(self, found: re.Match[str]) -> bytes:
        """CREATE DATABASE, its marker, and what is listed of it."""
        name, marked, token = found.groups()
        assert name == marked
        if name in self.databases:
            return tokens.error(1801, f"Database '{name}' already exists.")
        number = next(self.numbers)
        one = Database(number, f"2026-11-24 02:03:04.{number:03}", token)
        self.databases[name] = one
        self.made.add(name)
        listed = tokens.table(("id", "created"), (str(one.number), one.created))
        return tokens.done(tokens.MORE) + tokens.done(tokens.MORE) + listed

    def drop(self, found: re.Match[str]) -> bytes:
        """The drop with its own look at what is dropped. A batch that reads in the database has a
        lock on it, and could not drop it."""
        name, number, created, dropped = found.groups()
        assert name == dropped
        one = self.databases.get(name)
        if self.in_use:
            self.in_use -= 1
            return tokens.error(3702, f'Cannot drop database "{name}": it is currently in use.')
        if one and (str(one.number), one.created) == (number, created):
            del self.databases[name]
            self.dropped.append(name)
        left = self.databases.get(name)
        return tokens.table(("id",), (None if left is None else str(left.number),))

    def list(self, found: re.Match[str]) -> bytes:
        """Number and creation of a database by its name."""
        one = self.databases.get(found[1])
        rows = [] if one is None else [(str(one.number), one.created)]
        return tokens.table(("id", "created"), *rows)

    def tell_marker(self, found: re.Match[str]) -> bytes:
        """The marker of a database."""
        one = self.databases.get(found[1])
        if one is None:
            return tokens.error(911, f"Database '{found[1]}' does not exist.")
        return tokens.table(("value",), *([] if one.marker is None else [(one.marker,)]))

    def set_options(self, found: re.Match[str]) -> bytes:
        """ALTER DATABASE SET, several at once."""
        for name, option, value in _SET.findall(found.string):
            assert option in _OPTIONS
            self.databases[name].options[option] = value
        return tokens.done()

    def tell_options(self, found: re.Match[str]) -> bytes:
        """sys.databases of one."""
        columns = ("page_verify", "delayed_durability", "recovery", "compatibility_level")
        options = self.databases[found[1]].options
        values = [options.get(name, "") for name in _OPTIONS]
        return tokens.table(columns, (*values, "160"))

    def tell_counters(self, found: re.Match[str]) -> bytes:
        """What was counted of the log."""
        if self.blind:
            return tokens.error(300, "VIEW SERVER PERFORMANCE STATE permission was denied.", 14)
        written = str(512 * self.databases[found[1]].results)
        return tokens.table(("wal_bytes", "wal_writes"), (written, written))

    def tell_files(self, found: re.Match[str]) -> bytes:
        """What was counted of the files."""
        columns = ("bytes_read", "bytes_written", "data_writes", "data_stall_ms", "wal_stall_ms")
        return tokens.table(columns, ("8192", str(8192 * self.checkpoints), "3", "1", None))

    def check(self, found: re.Match[str]) -> bytes:
        """DBCC CHECKDB."""
        assert found[1] in self.made
        if self.unchecked is not None:
            return tokens.error(*self.unchecked) if all(self.unchecked) else b""
        if self.damaged:
            return tokens.error(8939, "Table error: object ID 1, page (1:99). Test failed.")
        return tokens.done()

    def tell_product(self, found: re.Match[str]) -> bytes:
        """Version, edition, kind of service."""
        row = ("16.0.4135.4", "Developer Edition (64-bit)", str(self.edition))
        return tokens.table(("version", "edition", "engine"), row)


def _instance(_: Instance, found: re.Match[str]) -> bytes:
    return tokens.table(("name", "created"), ("DOUBLE", "2026-11-24 01:02:03.456"))


_SERVER_TEXTS: list[tuple[re.Pattern[str], Callable[[Instance, re.Match[str]], bytes]]] = [
    (_MAKING, Instance.make),
    (_DROPPING, Instance.drop),
    (re.compile(r"SERVERPROPERTY"), Instance.tell_product),
    (re.compile(r"@@SERVERNAME"), _instance),
    (re.compile(r"^SELECT 1;$"), lambda *_: tokens.table(("n",), (1,))),
    (
        re.compile(r"^SELECT CONVERT\(nvarchar\(11\), database_id\).* WHERE name = N'(\w+)';$"),
        Instance.list,
    ),
    (
        re.compile(
            r"^SELECT CONVERT\(nvarchar\(64\), value\) FROM \[(\w+)\]\.sys\.extended_properties"
        ),
        Instance.tell_marker,
    ),
    (_SET, Instance.set_options),
    (
        re.compile(r"page_verify_option_desc.*WHERE name = N'(\w+)'", re.DOTALL),
        Instance.tell_options,
    ),
    (
        re.compile(r"dm_os_performance_counters.*instance_name = N'(\w+)'", re.DOTALL),
        Instance.tell_counters,
    ),
    (re.compile(r"dm_io_virtual_file_stats\(DB_ID\(N'(\w+)'\)"), Instance.tell_files),
    (re.compile(r"^DBCC CHECKDB \(N'(\w+)'\) WITH NO_INFOMSGS;$"), Instance.check),
]
"""What concerns the server or a database by its name."""


def _create(here: Database, text: str) -> bytes:
    here.tables |= set(re.findall(r"CREATE TABLE (\w+)", text))
    return tokens.done()


def _insert_sources(here: Database, text: str) -> bytes:
    rows = [(int(a), int(b), int(c), d) for a, b, c, d in _ROW.findall(text)]
    here.sources += rows
    return tokens.done(tokens.COUNTED | tokens.MORE, len(rows)) + tokens.rows("n", len(rows))


def _tell_integers(here: Database, text: str) -> bytes:
    return tokens.table(("name",), ("id",), ("part",), ("value",))


def _sum(here: Database, text: str) -> bytes:
    total = sum(sum(row[:3]) for row in here.sources)
    return tokens.table(("n", "total"), (len(here.sources), str(total)))


def _read(here: Database, text: str) -> bytes:
    """A row by its key; which one, a parameter says, that the double does not look at."""
    key, _, value, payload = here.sources[here.results % len(here.sources)]
    return tokens.table(("source_id", "value", "payload"), (key, value, payload))


def _insert_result(here: Database, text: str) -> bytes:
    here.results += 1
    return tokens.done(tokens.COUNTED, 1)


def _tell_tables(here: Database, text: str) -> bytes:
    rows = [("dbo", name, "1") for name in sorted(here.tables)]
    return tokens.table(("schema", "table", "index"), *rows)


def _rebuild(here: Database, text: str) -> bytes:
    if "[results]" in text:
        here.rebuilt.append(here.options["PAGE_VERIFY"])
    return tokens.done()


def _load_note(here: Database, text: str) -> bytes:
    here.loaded = text
    return tokens.done()


_DATABASE_TEXTS: list[tuple[re.Pattern[str], Callable[[Database, str], bytes]]] = [
    (re.compile(r"CREATE TABLE \w+"), _create),
    (re.compile(r"CREATE PROCEDURE insert_loop"), lambda *_: tokens.done()),
    (
        re.compile(r"^SELECT COUNT\(\*\) FROM sys\.tables WHERE name = N'\w+';$"),
        lambda here, text: tokens.rows("n", int(text.split("'")[1] in here.tables)),
    ),
    (re.compile(r"^INSERT INTO \[source_rows\] VALUES "), _insert_sources),
    (
        re.compile(r"FROM sys\.columns WHERE object_id = OBJECT_ID\(N'source_rows'\)"),
        _tell_integers,
    ),
    (re.compile(r"^SELECT COUNT_BIG\(\*\), .* FROM \[source_rows\];$"), _sum),
    (
        re.compile(r"^SELECT COUNT_BIG\(\*\) FROM \[results\];$"),
        lambda here, _: tokens.rows("n", here.results),
    ),
    (re.compile(r"^UPDATE STATISTICS \[\w+\];$"), lambda *_: tokens.done()),
    (re.compile(r"@name = N'steelyard_loaded'"), _load_note),
    (re.compile(r"FROM sys\.database_files;$"), lambda *_: tokens.rows("n", 1024)),
    (re.compile(r"FROM sys\.tables t JOIN sys\.schemas"), _tell_tables),
    (re.compile(r"^ALTER INDEX ALL ON \[dbo\]\.\[\w+\] REBUILD;$"), _rebuild),
    (re.compile(r"^SELECT TOP \(10\) CONCAT\('result '"), lambda *_: tokens.table(("wrong",))),
    (re.compile(r"^SELECT CONCAT\('source_rows has '"), lambda *_: tokens.table(("wrong",))),
    (
        re.compile(r"^SELECT COALESCE\(MAX\(id\), 0\) FROM results"),
        lambda here, _: tokens.rows("n", here.results),
    ),
    (re.compile(r"^SELECT id AS source_id, value, payload FROM source_rows"), _read),
    (re.compile(r"^INSERT INTO results \(source_id, value, payload\)"), _insert_result),
]
"""What is said in a database of ours."""
