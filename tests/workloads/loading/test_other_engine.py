"""A workload is loaded, checked, counted and probed on any engine that implements the protocols.

The other engine here is SQLite, in a file, with what Python brings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from folders import write_folder

from steelyard.engines.loading import LoadedData, RowEncoding, ServerDisk
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.workloads.checks import check, count_work, explain_probes
from steelyard.workloads.loading import disk_space
from steelyard.workloads.loading.disk_space import require_space_at
from steelyard.workloads.loading.load import before_clients, load
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import EachProbe, Workload

MORE = """
[[tables]]
name = "others"
last_per_scale = 2
[probes]
first = "SELECT n FROM things WHERE n = 1"
each.each = "ANALYZE; SELECT n FROM things WHERE n % 2 = 1 ORDER BY n"
each.query = "SELECT n FROM things WHERE n < :each"
[counts]
done = "SELECT count(*) FROM things"
"""
FILES = {
    "schema": "CREATE TABLE things (n int); CREATE TABLE others (n int);",
    "load": "INSERT INTO things WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s"
    " WHERE n < :scale) SELECT n FROM s;",
    "keys": "CREATE INDEX things_n ON things (n); CREATE INDEX others_n ON others (n);",
    "last": "INSERT INTO others SELECT n FROM things; INSERT INTO others SELECT n FROM things;",
    "before": "CREATE TABLE begun (n int);",
    "checks": "SELECT 'things are ' || count(*) FROM things HAVING count(*) <> :scale;",
}


class Connection:
    """Implements Loader, Checker and Prober."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        return [self._run(statement, source).rowcount for statement in statements]

    def rows(self, query: str, source: str) -> list[tuple[Any, ...]]:
        return self._run(query, source).fetchall()

    def _run(self, statement: str, source: str) -> sqlite3.Cursor:
        try:
            return self.connection.execute(statement)
        except sqlite3.Error as error:
            raise ServerError(f"{source}: {error}", detail=f"In: {statement}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        yield
        self.connection.execute("COMMIT")

    def has_table(self, table: str) -> bool:
        return bool(self.rows(f"SELECT 1 FROM sqlite_master WHERE name = '{table}'", ""))

    def copy(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        raise NotImplementedError

    append = copy
    session = 0

    def count_and_sum(self, table: str) -> tuple[int, int]:
        raise NotImplementedError

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table}", "")[0][0])

    def analyze(self, table: str) -> None:
        self.connection.execute(f"ANALYZE {table}")

    freeze = analyze

    def begin_mark(self) -> None:
        self.connection.execute("CREATE TABLE steelyard_marker (workload, scale, rows)")

    def mark(self, loaded: LoadedData) -> None:
        said = (loaded.workload, loaded.scale, loaded.rows)
        self.connection.execute("INSERT INTO steelyard_marker VALUES (?, ?, ?)", said)

    def size_bytes(self) -> int:
        return int(self.rows("PRAGMA page_count", "")[0][0]) * 4096

    def cancel(self) -> None:
        self.connection.interrupt()

    def explain(self, settings: Sequence[str], query: str) -> dict[str, int]:
        return {"rows_read": len(self.rows(query, "probe"))}


@dataclass
class Database:
    """Implements WorkloadDatabase."""

    file: Path
    opened: int = 0
    host: str = "here"
    kind: str = "postgres"
    encoding: RowEncoding = "copy"
    session: tuple[str, ...] = ()
    seen: ServerDisk = field(default=ServerDisk(None, 0, 0))

    def create(self, *, replacing: bool = False) -> None:
        if self.file.exists() and not replacing:
            raise EngineError("taken")
        self.file.unlink(missing_ok=True)

    def disk(self) -> ServerDisk:
        return self.seen

    @contextmanager
    def loader(self) -> Iterator[Connection]:
        self.opened += 1
        with closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            yield Connection(connection)

    checker = loader
    counter = loader
    prober = loader


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    folder = tmp_path / "mine"
    folder.mkdir()
    return find_workload(str(write_folder(folder, toml=MORE, **FILES)))


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "data.sqlite")


def test_a_workload_is_loaded_checked_counted_and_probed(
    workload: Workload, database: Database
) -> None:
    said: list[str] = []
    report = load(workload, database, 7, said.append)
    assert (report.rows, report.tables) == (21, {"things": 7, "others": 14})
    assert report.bytes == database.file.stat().st_size
    assert said == ["load", "vacuum", "make keys", "check", "insert"]
    assert database.opened == 1 + 2 + 2, "one, and one for each table and for each table's keys"
    before_clients(workload, database, 7)
    assert check(workload, database, 7) == []
    assert count_work(workload, database) == {"done": 7.0}
    assert explain_probes(workload, database, 7) == {
        "first": {"rows_read": 1},
        # Of 1, 3, 5 and 7 there are 0, 2, 4 and 6 less.
        "each": {
            "executions": 4,
            "rows_read": 12,
            "rows_read_least": 0,
            "rows_read_median": 2,
            "rows_read_most": 6,
        },
    }
    with database.loader() as loader:
        assert loader.rows("SELECT * FROM steelyard_marker", "") == [("mine", 7, 21)]
        loader.execute(["DELETE FROM things WHERE n > 5"], "")
    assert check(workload, database, 7) == ["things are 5"]
    with pytest.raises(EngineError, match="taken"):
        load(workload, database, 7)
    assert load(workload, database, 2, replacing=True).rows == 6


@pytest.mark.parametrize(
    ("each", "found"),
    [
        ("SELECT 'seven' FROM things", "Rows: 7; the first: ('seven',)"),
        ("SELECT n, n FROM things", "Rows: 7; the first: (1, 1)"),
        ("SELECT n FROM things WHERE n > 7", "Rows: 0"),
        ("SELECT CASE WHEN n < 7 THEN n END FROM things ORDER BY n DESC", "the first: (None,)"),
    ],
)
def test_a_probe_whose_numbers_are_none_is_refused(
    each: str, found: str, workload: Workload, database: Database
) -> None:
    load(workload, database, 7)
    wrong = EachProbe(each=each, query="SELECT :each")
    with pytest.raises(UsageError, match="not whole numbers, one a row") as refused:
        explain_probes(workload.model_copy(update={"probes": {"odd": wrong}}), database, 7)
    assert 'workload "mine": key "probes.odd.each"' in str(refused.value)
    assert found in (refused.value.detail or "")


def test_a_probe_that_asks_for_nothing_is_left_out(workload: Workload, database: Database) -> None:
    load(workload, database, 7)
    none = EachProbe(each="\\if 0\nSELECT 1;\n\\endif", query="SELECT :each")
    asked = workload.model_copy(update={"probes": {"none": none}})
    assert explain_probes(asked, database, 7) == {}


def test_a_statement_that_fails_is_named_with_its_file(
    workload: Workload, database: Database
) -> None:
    file = workload.files["keys.sql"].path
    file.write_text("CREATE INDEX ON nothing (n);")
    wrong = find_workload(str(workload.folder))
    with pytest.raises(ServerError, match=r'workload "mine": keys\.sql: .*syntax error'):
        load(wrong, database, 7)


def test_the_disk_of_a_server_decides_whether_there_is_space(
    workload: Workload, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    require_space_at(database, workload, 1000, said.append)
    assert said == ["about 98 kB are needed; how much room the server has is not seen"]
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 50_000)
    database.seen = ServerDisk(database.file.parent, 20_000, 60_000)
    with pytest.raises(EngineError, match="117 kB are needed, 107 kB are free") as refused:
        require_space_at(database, workload, 1000, said.append)
    assert "Scale 900 would fit." in str(refused.value)
