"""Real InnoDB data directories for tests: MySQL 5.7 and MariaDB 10.11, unpacked, never installed.

With them innochecksum of Debian's mariadb-server-core, the oracle: MySQL's package has none.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from driver.mysqld import fetched
from steelyard.engines.account import choose_account
from steelyard.engines.programs import launch

READY_S = 90
LIBRARIES = ("libaio1", "liburing2", "libpcre2-8-0", "libssl3")
SYSTEM_TABLES = (
    "mysql_system_tables.sql",
    "mysql_performance_tables.sql",
    "mysql_system_tables_data.sql",
)

Connection = pymysql.Connection


@dataclass(frozen=True)
class Trees:
    """Where the unpacked servers are."""

    mysql: Path
    mysql_libraries: Path
    mariadb: Path

    @property
    def mariadb_libraries(self) -> Path:
        """Debian's libraries that mariadbd and innochecksum need beside."""
        [library] = self.mariadb.rglob("libaio.so.1")
        return library.parent

    @property
    def innochecksum(self) -> list[str]:
        """The oracle's command, up to its options."""
        program = self.mariadb / "usr/bin/innochecksum"
        return ["env", f"LD_LIBRARY_PATH={self.mariadb_libraries}", str(program)]


def downloaded(place: Path, name: str) -> Path:
    """A package of Debian's; the test is skipped where it cannot be had."""
    place.mkdir()
    if shutil.which("apt-get") is None:
        pytest.skip("apt-get is not installed")
    command = ["apt-get", "download", "-q", name]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    files = list(place.iterdir())
    if done.returncode != 0 or len(files) != 1:
        pytest.skip(f"apt-get brings nothing: {done.stderr[-300:]}")
    return files[0]


def unpack(home: Path) -> Trees:
    """Both servers below an open directory; the test is skipped where they cannot be had."""
    build = fetched(home / "mysql").build
    server, libraries = build.base, (build.libraries or (Path("/usr/lib"),))[0]
    tree = home / "mariadb"
    for name in ("mariadb-server-core", *LIBRARIES):
        package = downloaded(home / name, name)
        subprocess.run(["dpkg", "-x", package, tree], check=True)
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    return Trees(server, libraries, tree)


@dataclass(frozen=True)
class Instance:
    """A data directory, and how its server is started."""

    home: Path
    command: tuple[str, ...]
    libraries: Path
    maria: bool

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self.home / "data"

    @contextmanager
    def running(self, *options: str) -> Iterator[Connection]:
        """A connection to the server while it runs; it is shut down cleanly at the end."""
        socket = self.home / "s"
        log = self.home / "log"
        log.write_text("")
        words = [*self.command, f"--socket={socket}", "--skip-networking", *options]
        server = self._start([*words, f"--pid-file={self.home / 'pid'}"])
        try:
            _await_ready(server, log)
            with pymysql.connect(unix_socket=str(socket), user="root", autocommit=True) as open_:
                yield open_
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(READY_S)

    def initialize(self) -> None:
        """Make the data directory."""
        if not self.maria:
            server = self._start([*self.command, "--initialize-insecure"])
        else:
            share = Path(self.command[0]).parents[1] / "share/mysql"
            script = self.home / "bootstrap.sql"
            texts = [(share / name).read_text() for name in SYSTEM_TABLES]
            script.write_text("create database mysql;\nuse mysql;\n" + "\n".join(texts))
            choose_account().make_directory(self.data)
            with script.open("rb") as words:
                server = self._start([*self.command, "--bootstrap"], words.fileno())
        assert server.wait(READY_S) == 0, (self.home / "log").read_text()[-3000:]

    def _start(
        self, command: Sequence[str], words: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        environment = {"LD_LIBRARY_PATH": str(self.libraries)}
        with (self.home / "log").open("ab") as output:
            return launch(
                choose_account(),
                command,
                directory=self.home,
                output=output,
                environment=environment,
                stdin=words,
            )


def instance(trees: Trees, home: Path, *options: str, maria: bool = False) -> Instance:
    """An instance with nothing in it; `options` are given at every start."""
    choose_account().make_directory(home)
    if maria:
        base = trees.mariadb / "usr"
        program, share, libraries = base / "sbin/mariadbd", base, trees.mariadb_libraries
        messages = base / "share/mysql"
    else:
        program, share, libraries = trees.mysql / "mysqld", trees.mysql, trees.mysql_libraries
        messages = trees.mysql / "share/mysql"
    command = (
        *(str(program), "--no-defaults", "--secure-file-priv=", f"--basedir={share}"),
        *(f"--datadir={home / 'data'}", f"--lc-messages-dir={messages}"),
        *("--innodb-buffer-pool-dump-at-shutdown=OFF", *options),
    )
    made = Instance(home, command, libraries, maria)
    made.initialize()
    return made


def _await_ready(server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while "ready for connections" not in log.read_text():
        assert server.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.05)


def fill(connection: Connection, *, compressed: Sequence[int] = ()) -> None:
    """Tables of a few hundred pages, each with a smaller one beside it, whose name ends in `b`.

    One pair more for every size of compressed pages, in kB.
    """
    with connection.cursor() as cursor:
        cursor.execute("create database d")
        cursor.execute("use d")
    make_table(connection, "plain", "", 300)
    make_table(connection, "plainb", "", 100)
    for size in compressed:
        options = f"row_format=compressed key_block_size={size}"
        make_table(connection, f"zip{size}", options, 300)
        make_table(connection, f"zip{size}b", options, 100)


def make_table(connection: Connection, name: str, options: str, rows: int) -> None:
    """A table with an index and blobs, some of its rows deleted and some changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"create table {name} (id int primary key, words varchar(200), big longblob, "
            f"key (words)) engine=innodb {options}"
        )
        made = [
            (n, f"{n * 2654435761 % 2**32:08x}" * 12, bytes([n % 251]) * (n % 40 * 700))
            for n in range(rows)
        ]
        cursor.executemany(f"insert into {name} values (%s, %s, %s)", made)
        cursor.execute(f"delete from {name} where id % 7 = 0")
        cursor.execute(f"update {name} set words = 'changed' where id % 11 = 0")


def bad_pages(trees: Trees, file: Path) -> set[int] | None:
    """The pages that innochecksum calls wrong; None: it gives up at the first page."""
    done = subprocess.run(
        [*trees.innochecksum, "-a", "1000000", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "can't continue" in done.stderr:
        return None
    return {int(number) for number in re.findall(r"Fail: page::(\d+) invalid", done.stderr)}
