"""Small files of others are read within bounds: no wait for a pipe, no memory for zeros, no
traceback for depth, and nothing of them in a message.

Promise: SAFETY.md, "Servers and files of others".
"""

from __future__ import annotations

import json
import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from hostile.conftest import SECRET, Call
from steelyard.engines.postgres.intake import manifest
from steelyard.engines.postgres.intake.manifest import manifest_sizes
from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.engines.postgres.sql.relation_files import local_conninfo
from steelyard.fleet.matrix.matrix import read_matrix
from steelyard.integrity.scrub.backup.archive_paths import manifest_end, manifest_files
from steelyard.model.errors import ServerError, SteelyardError, UsageError
from steelyard.model.files.bounded_json import JsonError
from steelyard.model.files.small_file import parse_toml, read_small, read_small_bytes
from steelyard.reproductions.reproduction import read_reproduction
from steelyard.study.read import read_study
from steelyard.workloads.reading.folder import find_workload
from thinned import thinned

Plant = Callable[[Path], object]


def _sparse(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(1 << 40)


def _socket(file: Path) -> None:
    home = os.open(file.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{home}/{file.name}")
    finally:
        os.close(home)


PLANTS: dict[str, Plant] = {
    "a pipe": os.mkfifo,
    "a directory": lambda file: file.mkdir(),
    "a link to zeros without end": lambda file: file.symlink_to("/dev/zero"),
    "a link in a circle": lambda file: file.symlink_to(file.name),
    "a socket": _socket,
    "a sparse file of 1 TB": _sparse,
}
planted = pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)


@planted
def test_what_is_no_small_regular_file_is_refused_by_its_kind(plant: Plant, tmp_path: Path) -> None:
    file = tmp_path / "planted"
    plant(file)
    with pytest.raises(OSError, match=r".+") as raised:
        read_small_bytes(file)
    assert raised.value.strerror


@pytest.mark.parametrize(("size", "taken"), [(0, True), (1000, True), (1001, False)])
def test_a_file_of_its_largest_size_is_read_whole(size: int, taken: bool, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    if taken:
        assert read_small_bytes(file, 1000) == b"x" * size
        return
    with pytest.raises(OSError, match="it is larger than"):
        read_small_bytes(file, 1000)


def test_a_file_without_a_size_of_its_own_is_read_all_the_same() -> None:
    assert read_small(Path("/proc/self/status")).startswith("Name:")


def test_lines_end_alike_wherever_a_file_was_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a\r\nb\rc\n")
    assert read_small(file) == "a\nb\nc\n" == file.read_text()


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a study": ("study.toml", lambda file: read_study(str(file))),
    "a matrix": ("matrix.toml", read_matrix),
    "a reproduction": ("published.toml", lambda file: read_reproduction(str(file))),
    "a workload": ("workload.toml", lambda file: find_workload(str(file.parent))),
}
reading = pytest.mark.parametrize(("name", "read"), READERS.values(), ids=READERS)


@reading
@planted
def test_a_description_that_is_no_small_file_is_refused_in_words(
    plant: Plant, name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    plant(tmp_path / name)
    with pytest.raises(SteelyardError) as raised:
        read(tmp_path / name)
    assert raised.value.exit_status == 2


@reading
@thinned(
    "deep",
    [
        "a = " + "[" * 100_000 + "]" * 100_000,
        "a = " + "{a=" * 100_000 + "1" + "}" * 100_000,
        ".".join(["a"] * 5000) + " = 1",
        "[" + ".".join(["a"] * 5000) + "]",
    ],
    1,
    ids=["arrays", "tables", "a dotted key", "a header"],
)
def test_a_description_is_no_deeper_than_its_reader(
    deep: str, name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(deep)
    with pytest.raises(SteelyardError) as raised:
        read(tmp_path / name)
    assert "nested deeper than" in str(raised.value)
    assert len(str(raised.value)) < 1000


@reading
def test_a_description_is_not_quoted(
    name: str, read: Callable[[Path], object], victim: Path, tmp_path: Path
) -> None:
    place = tmp_path / "described"
    place.mkdir()
    (place / name).symlink_to(victim)
    with pytest.raises(SteelyardError) as raised:
        read(place / name)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("depth", [1, 98])
def test_toml_of_a_depth_that_occurs_is_parsed(depth: int) -> None:
    table = parse_toml("a = " + "[" * depth + "]" * depth)
    assert table["a"] in ([], [[]]) or depth > 2


@pytest.mark.parametrize("limit", ["a", "line"])
def test_a_value_on_the_command_line_may_be_nested_like_a_text(limit: str, steelyard: Call) -> None:
    value = "[" * 50_000 if limit == "a" else "{a=" * 30_000
    ended = steelyard("weigh", "settings", "--set", f"arm.settings.work_mem={value}", "--dry-run")
    assert ended.status in (2, 3)
    assert "Traceback" not in ended.output


@planted
def test_the_lock_file_of_a_data_directory_is_refused_likewise(
    plant: Plant, tmp_path: Path
) -> None:
    plant(tmp_path / "postmaster.pid")
    with pytest.raises(ServerError):
        local_conninfo(tmp_path)
    with pytest.raises(OSError, match=r".+"):
        read_pid_file(tmp_path)


@planted
def test_a_script_that_is_no_small_file_is_refused_in_words(
    plant: Plant, tmp_path: Path, steelyard: Call
) -> None:
    plant(tmp_path / "q.sql")
    ended = steelyard("drive", "host=/nonexistent dbname=d", "-f", "q.sql", "-T", "1", limit_s=30)
    assert ended.status == 2
    assert 'could not read script "q.sql"' in ended.output


def test_a_script_may_come_through_a_pipe_that_the_shell_opened(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"SELECT 1;\n")
    os.close(writer)
    try:
        assert read_small(Path(f"/dev/fd/{reader}")) == "SELECT 1;\n"
    finally:
        os.close(reader)


@planted
def test_a_service_file_that_is_no_small_file_is_refused_before_libpq_reads_it(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "services")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with pytest.raises(UsageError, match="could not read service file"):
        read_target("service=shop")


def test_a_service_file_is_read_by_libpq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "services").write_text("[shop]\nhost=/nonexistent\nport=7\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert read_target("service=shop").port == 7


HEAD = '{ "PostgreSQL-Backup-Manifest-Version": 1,\n"Files": [\n'
TAIL = (
    '\n],\n"WAL-Ranges": [\n{ "Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100" }\n'
    '],\n"Manifest-Checksum": "00"}\n'
)


def _entry(number: int) -> str:
    return f'{{ "Path": "base/5/{number}", "Size": {number}, "Checksum": "ab" }}'


def _written(file: Path, entries: list[str]) -> Path:
    file.write_text(HEAD + ",\n".join(entries) + TAIL)
    return file


@pytest.mark.parametrize("whole_bytes", [0, 16 << 20], ids=["by lines", "as a whole"])
def test_a_manifest_lists_the_same_however_it_is_read(
    whole_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "WHOLE_BYTES", whole_bytes)
    file = _written(tmp_path / "m", [_entry(number) for number in range(1000)])
    listed = {f"base/5/{number}": number for number in range(1000)}
    assert manifest_sizes(file) == listed == manifest_files(file, 0x2000028)
    assert manifest_files(file, 0x3000028) == {}
    assert manifest_end(file) == 0x2000100


BROKEN = {
    "deep": "[" * 1_000_000,
    "deep within": HEAD + '{ "Path": "a", "Size": ' + "[" * 50_000,
    "a line without end": HEAD + '{ "Path": "' + "a" * 70_000,
    "cut": HEAD + _entry(1) + ",\n",
    "no list": "{}",
    "a text": '"Files"',
    "entries that are no files": HEAD + "1" + TAIL,
    "a size that is no number": HEAD + '{ "Path": "a", "Size": "1" }' + TAIL,
    "a name that is no text": HEAD + '{ "Path": [], "Size": 1 }' + TAIL,
    "a name with a zero byte": HEAD + '{ "Path": "a\\u0000", "Size": 1 }' + TAIL,
    "not UTF-8": HEAD.encode() + b'{ "Path": "\xff", "Size": 1 }',
}


@pytest.mark.parametrize("whole_bytes", [0, 16 << 20], ids=["by lines", "as a whole"])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_manifest_is_one_error(
    content: str | bytes, whole_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "WHOLE_BYTES", whole_bytes)
    file = tmp_path / "m"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(JsonError):
        manifest_sizes(file)
    assert manifest_files(file) == {}


@planted
def test_a_manifest_that_is_no_file_is_refused_or_left_out(plant: Plant, tmp_path: Path) -> None:
    plant(tmp_path / "m")
    with pytest.raises((OSError, JsonError)):
        manifest_sizes(tmp_path / "m")
    assert manifest_files(tmp_path / "m") == {}
    assert manifest_end(tmp_path / "m") is None


def test_a_manifest_by_lines_takes_no_more_memory_than_what_it_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "WHOLE_BYTES", 0)
    padding = json.dumps("x" * 20_000)
    entries = [
        f'{{ "Path": "base/{number}", "Size": 1, "Checksum": {padding} }}' for number in range(500)
    ]
    file = _written(tmp_path / "m", entries)
    tracemalloc.start()
    try:
        assert len(manifest_sizes(file)) == 500
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < file.stat().st_size / 4


def test_a_folder_that_is_no_workload_names_what_one_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="workload"):
        find_workload(str(tmp_path))
