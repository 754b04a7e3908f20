"""Configuration files are read as the server reads them, within bounds, and never quoted."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from own_cache import own_server
from steelyard.engines.account import choose_account
from steelyard.engines.postgres.intake.configuration_file import (
    MOST_BYTES,
    ConfigurationReader,
    parse_line,
)
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.configuration_text import configuration_text
from steelyard.model.errors import EngineError


def read(directory: Path, text: str) -> dict[str, str]:
    (directory / "main.conf").write_text(text)
    return ConfigurationReader().settings(directory / "main.conf")


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("work_mem = 8MB", "work_mem", "8MB"),
        ("work_mem=8MB# more", "work_mem", "8MB"),
        ("\twork_mem 8MB\r", "work_mem", "8MB"),
        ("Work_Mem = '8MB'", "work_mem", "8MB"),
        ("work_mem'8MB'", "work_mem", "8MB"),
        ("search_path = '\"$user\", public'", "search_path", '"$user", public'),
        ("x.y = 'it''s'", "x.y", "it's"),
        (r"x.y = 'a\'b\\c\n\101'", "x.y", "a'b\\c\nA"),
        (r"x.y = '\303\274'", "x.y", "ü"),
        (r"x.y = 'a\000b'", "x.y", "a"),
        ("x.y = '# no comment'", "x.y", "# no comment"),
        ("x.y = -1.5e3", "x.y", "-1.5e3"),
        ("x.y = 0x1F", "x.y", "0x1F"),
        ("lc_time = de_DE.UTF-8", "lc_time", "de_DE.UTF-8"),
        ("work_mem = ''", "work_mem", ""),
        ("größe = 1", "größe", "1"),
    ],
)
def test_a_line_is_read(line: str, name: str, value: str) -> None:
    assert parse_line(line) == (name, value)


@pytest.mark.parametrize(
    "line",
    ["= 3", "jit", "a.b.c = 1", "x = a.b", "x = 'a", "x = 'a'b'", "x = 1 2", "x-y = 1", "x = 1e3",
     "a$b = 1", "x = 'a\0b'"],
)  # fmt: skip
def test_what_no_server_starts_with_is_no_setting(line: str) -> None:
    assert parse_line(line) is None


def test_the_last_line_counts_whatever_its_letters(tmp_path: Path) -> None:
    found = read(tmp_path, "work_mem = 1MB\njit = off\nWORK_MEM = 2MB\n")
    assert list(found.items()) == [("jit", "off"), ("work_mem", "2MB")]


def test_includes_are_followed_from_the_file_that_names_them_in_the_order_of_their_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "d" / "sub.conf").mkdir(parents=True)
    (tmp_path / "d" / "b.conf").write_text("jit = off\ninclude 'deep.inc'\n")
    (tmp_path / "d" / "a.conf").write_text("jit = on\n")
    (tmp_path / "d" / "Z.conf").write_text("jit = z\n")
    (tmp_path / "d" / "deep.inc").write_text("geqo = off\n")
    (tmp_path / "d" / ".hidden.conf").write_text("geqo = on\n")
    found = read(tmp_path, "INCLUDE_DIR = 'd'\ninclude_if_exists 'nothing'\n")
    assert found == {"jit": "off", "geqo": "off"}


def test_a_file_that_cannot_be_read_is_named_with_its_line_and_never_quoted(tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.write_text("root:$6$SECRET:1::\n")
    for text, words in {
        "include 'main.conf'\n": "circle",
        "jit = on\n= 3\n": "line 2 is no setting",
        "jit = on\ninclude 'missing'\n": 'line 2 includes ".*/missing", which is not there',
        "include_dir 'conf.d'\n": 'line 1 includes ".*/conf.d", which is not there',
        "include ''\n": "line 1 includes nothing",
        "include '.'\n": "not a regular file",
        f"include '{shadow}'\n": "line 1 is no setting",
        "\ufeffjit = on\n": "begins with a byte order mark",
        "\ufeff# comment\n": "begins with a byte order mark",
    }.items():
        with pytest.raises(EngineError, match=words) as refused:
            read(tmp_path, text)
        assert "SECRET" not in f"{refused.value} {refused.value.detail} {refused.value.hint}"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("[mysqld]\nport = 1\n", "arm.settings.NAME=VALUE"),
        ("# MariaDB\n  [mariadb-11.4]\n", "arm.settings.NAME=VALUE"),
        ("!includedir /etc/mysql/conf.d/\n", "arm.settings.NAME=VALUE"),
        ("skip-name-resolve\n", "correct or remove it"),
        ("!include\n", "correct or remove it"),
    ],
)
def test_an_option_file_of_another_server_is_called_so(
    text: str, advice: str, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="is no setting") as refused:
        read(tmp_path, text)
    assert advice in str(refused.value.hint)


def test_a_byte_order_mark_is_taken_out_by_the_command_that_is_advised(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as refused:
        read(tmp_path, "\ufeffjit = off\ngeqo = on\n")
    assert refused.value.hint is not None
    command = refused.value.hint.partition(": ")[2].removesuffix("> FILE")
    clean = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    assert read(tmp_path, clean) == {"jit": "off", "geqo": "on"}


def test_files_without_end_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for number in range(4):
        (tmp_path / f"{number}.inc").write_text(f"include '{number + 1}.inc'\n" * 12)
    (tmp_path / "4.inc").write_text("jit = on\n")
    for name in ("/dev/zero", "pipe", "sparse", "0.inc"):
        with pytest.raises(EngineError, match=r"regular|longer than|more than"):
            read(tmp_path, f"include '{name}'\n")


def test_one_long_line_is_read(tmp_path: Path) -> None:
    value = "x" * (1 << 20)
    assert read(tmp_path, f"my.x = '{value}'\n") == {"my.x": value}
    assert MOST_BYTES > 1 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what its owner may not")
def test_root_reads_no_file_that_the_owner_of_the_data_may_not(tmp_path: Path) -> None:
    own, other = tmp_path / "own.conf", tmp_path / "other.conf"
    other.write_text("my.secret = 'x'\n")
    other.chmod(0o600)
    own.write_text(f"include '{other}'\n")
    os.chown(own, 12345, 12345)
    with pytest.raises(EngineError, match="may not read it"):
        ConfigurationReader(12345).settings(own)
    other.chmod(0o644)
    assert ConfigurationReader(12345).settings(own) == {"my.secret": "x"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")
@pytest.mark.parametrize(
    ("group", "mode", "readable"),
    [("own", 0o640, True), ("more", 0o640, True), ("own", 0o600, False), ("other", 0o640, False),
     ("other", 0o604, True), ("root", 0o640, False), ("own", 0o620, False)],
)  # fmt: skip
def test_a_file_that_a_group_of_the_owner_may_read_is_read_as_its_server_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, mode: int, readable: bool
) -> None:
    """root:postgres 0640, as configuration management leaves it."""
    groups = {"own": 12345, "more": 12346, "other": 12347, "root": 0}
    account = pwd.struct_passwd(("theirs", "x", 12345, 12345, "", "/", "/bin/false"))
    monkeypatch.setattr(pwd, "getpwuid", {12345: account}.__getitem__)
    monkeypatch.setattr(os, "getgrouplist", lambda name, group: [group, 12346])
    file = tmp_path / "more.conf"
    file.write_text("my.x = 'y'\n")
    os.chown(file, 0, groups[group])
    file.chmod(mode)
    (tmp_path / "main.conf").write_text("include 'more.conf'\n")
    (tmp_path / "main.conf").chmod(0o644)
    if readable:
        assert ConfigurationReader(12345).settings(tmp_path / "main.conf") == {"my.x": "y"}
        return
    with pytest.raises(EngineError, match="may not read it") as refused:
        ConfigurationReader(12345).settings(tmp_path / "main.conf")
    assert "--config FILE" in str(refused.value.hint)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")
def test_a_number_without_a_name_is_in_no_group(tmp_path: Path) -> None:
    file = tmp_path / "own.conf"
    file.write_text("my.x = 'y'\n")
    os.chown(file, 0, 54321)
    file.chmod(0o640)
    with pytest.raises(EngineError, match="may not read it"):
        ConfigurationReader(54321).settings(file)


@dataclass(frozen=True)
class Oracle:
    """A running server that reads a file of ours as its configuration."""

    session: psycopg.Connection
    file: Path

    def put(self, content: bytes) -> None:
        """Write what the server reads next, as its own account."""

        def write() -> None:
            self.file.write_bytes(content)

        choose_account().call(write)

    def settings(self) -> dict[str, str] | None:
        """What the server read; None: it refuses a line."""
        rows = self.session.execute(
            "SELECT convert_to(lower(name), 'UTF8'), convert_to(setting, 'UTF8'), error"
            " FROM pg_file_settings WHERE sourcefile LIKE '%/postgresql.auto.conf'"
            " AND setting IS NOT NULL OR error LIKE 'syntax error%' ORDER BY seqno"
        ).fetchall()
        if any(error and error.startswith("syntax error") for _, _, error in rows):
            return None
        found: dict[str, str] = {}
        for name, value, _ in rows:
            found.pop(name.decode(), None)
            found[name.decode()] = value.decode()
        return found


@pytest.fixture(scope="module", params=["18", "16"])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    with (
        own_server(request.param) as server,
        psycopg.connect(conninfo_of(server.address), autocommit=True) as session,
    ):
        directory: Path = server.directory  # type: ignore[attr-defined]
        yield Oracle(session, directory / "postgresql.auto.conf")


_PIECES = st.sampled_from(
    ["work_mem", "my.x", "a", "=", " ", "\t", "'", "''", "\\", "\\n", "\\101", "#", "8MB", "-1",
     "1.5e3", "1e", ".", "on", "de_DE.UTF-8", "x.y", "0x1F", "ü", "$", '"', ",", "\r"]
)  # fmt: skip
_LINES = st.lists(_PIECES, min_size=1, max_size=8).map("".join)
_EXAMPLES = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.long
@pytest.mark.postgres
@_EXAMPLES
@given(
    lines=st.lists(
        st.one_of(_LINES, _LINES.map("my.x = ".__add__), _LINES.map(lambda one: f"my.y = '{one}'")),
        min_size=1,
        max_size=3,
    )
)
def test_a_file_is_read_as_the_server_reads_it(
    oracle: Oracle, tmp_path: Path, lines: list[str]
) -> None:
    content = "\n".join(lines).encode() + b"\n"
    oracle.put(content)
    (tmp_path / "same.conf").write_bytes(content)
    try:
        ours: dict[str, str] | None = ConfigurationReader().settings(tmp_path / "same.conf")
    except EngineError:
        ours = None
    assert ours == oracle.settings()


@pytest.mark.long
@pytest.mark.postgres
@_EXAMPLES
@given(
    value=st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
    | st.text("\\'\n\r\t\b#\x01 a", max_size=12)
)
def test_any_value_that_is_written_is_what_the_server_reads_and_we_read(
    oracle: Oracle, tmp_path: Path, value: str
) -> None:
    content = configuration_text({"my.x": value}).encode()
    oracle.put(content)
    assert oracle.settings() == {"my.x": value}
    (tmp_path / "same.conf").write_bytes(content)
    assert ConfigurationReader().settings(tmp_path / "same.conf") == {"my.x": value}


@pytest.mark.postgres
def test_includes_are_read_as_the_server_reads_them(oracle: Oracle) -> None:
    home = oracle.file.parent / "more"

    def make() -> None:
        (home / "d").mkdir(parents=True)
        for name, text in {
            "d/b.conf": "my.x = b\n", "d/B.conf": "my.y = 'B'\n", "d/a.conf": "my.x = 'a'\n",
            "d/.h.conf": "my.z = 1\n", "d/c.txt": "my.z = 2\n", "e.inc": "MY.x = e\n",
        }.items():  # fmt: skip
            (home / name).write_text(text)

    choose_account().call(make)
    text = "my.x = 1\ninclude_dir 'more/d'\nInclude 'more/e.inc'\ninclude_if_exists 'more/none'\n"
    oracle.put(text.encode())
    try:
        rows = oracle.session.execute(
            "SELECT DISTINCT ON (lower(name)) lower(name), setting FROM pg_file_settings"
            " WHERE name ILIKE 'my.%' ORDER BY lower(name), seqno DESC"
        ).fetchall()
        assert ConfigurationReader().settings(oracle.file) == dict(rows) == {
            "my.x": "e", "my.y": "B",
        }  # fmt: skip
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("ALTER SYSTEM SET shared_buffers = '4GB';", "sed -nE 'H;$!d;x;"),
        ("alter system set work_mem to '4MB'; -- more", "sed -nE 'H;$!d;x;"),
        ("shared_buffers: 4GB", "sed -nE '2,3{"),
        ("      work_mem: 64MB", "sed -nE '2,3{"),
        ('shared_buffers: "4GB"  # more', "sed -nE '2,3{"),
        ("---", "It is YAML"),
        ("parameters:", "It is YAML"),
        ("[mysqld]", "--set arm.settings.NAME=VALUE"),
        ("work_mem == 4MB", "correct or remove it"),
    ],
)
def test_a_file_of_another_form_is_refused_with_what_makes_a_configuration_of_it(
    tmp_path: Path, line: str, typed: str
) -> None:
    with pytest.raises(EngineError, match="line 2 is no setting") as refused:
        read(tmp_path, f"# settings\n{line}\n")
    assert typed in str(refused.value.hint)
    if "sed" in str(refused.value.hint) and line != "---":
        converted = converted_as_advised(refused.value, f"# settings\n{line}\n")
        assert parse_line(converted.rstrip("\n")) is not None


def converted_as_advised(refused: EngineError, text: str) -> str:
    program = str(refused.hint).partition(": sed -nE '")[2].partition("'")[0]
    return subprocess.run(
        ["sed", "-nE", program], input=text, capture_output=True, text=True, check=True
    ).stdout


def test_of_pgtunes_sql_the_advised_program_makes_a_configuration(tmp_path: Path) -> None:
    """As its page writes it, isAlterSystem in le0pard/pgtune."""
    text = (
        "-- DB Version: 17\n-- OS Type: linux\n\nALTER SYSTEM SET\n max_connections = '200';\n"
        "ALTER SYSTEM SET\n shared_buffers = '4GB';\nSELECT pg_reload_conf();\n"
    )
    with pytest.raises(EngineError, match="line 1 is no setting") as refused:
        read(tmp_path, text)
    converted = converted_as_advised(refused.value, text)
    assert read(tmp_path, converted) == {"max_connections": "200", "shared_buffers": "4GB"}
