"""What a load takes of a server's disk: its data, its redo log, and a binary log of every row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steelyard.engines.mysql.sql import database as module
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.errors import EngineError
from steelyard.workloads.loading.disk_space import require_space_at
from steelyard.workloads.reading.folder import find_workload

GB = 1 << 30
REDO = {"innodb_log_file_size": str(GB), "innodb_log_files_in_group": "2"}


def database(monkeypatch: pytest.MonkeyPatch, place: Path, **variables: str) -> MysqlDatabase:
    """One of a server on this machine that has these variables."""

    @contextmanager
    def connection(*_: object, **__: object) -> Iterator[None]:
        yield

    listed = {"datadir": str(place), "pid_file": "pid", **REDO, **variables}
    monkeypatch.setattr(module, "connected", connection)
    monkeypatch.setattr(module, "variables_of", lambda *_: listed)
    monkeypatch.setattr(module, "database_bytes", lambda *_: 0)
    monkeypatch.setattr(module, "_is_local", lambda _: True)
    return MysqlDatabase(read_uri("mysql://u@localhost/"))


@pytest.mark.parametrize("log_bin", ["OFF", "0", "off"])
def test_without_a_binary_log_the_redo_log_alone_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log_bin: str
) -> None:
    assert database(monkeypatch, tmp_path, log_bin=log_bin).disk().log_limit_bytes == 2 * GB
    assert database(monkeypatch, tmp_path).disk().log_limit_bytes == 2 * GB


@pytest.mark.parametrize("log_bin", ["ON", "1", "on"])
def test_a_binary_log_takes_as_much_as_the_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log_bin: str
) -> None:
    """MySQL 8.0 and later write one by default: the disk would fill while rows are loaded."""
    there = database(monkeypatch, tmp_path, log_bin=log_bin)
    workload = find_workload("pgbench", {}, "mysql")
    size = workload.bytes_at(1000)
    assert size > 2 * GB
    free = "steelyard.workloads.loading.disk_space.free_bytes"
    monkeypatch.setattr(free, lambda _: size + size // 2)
    with pytest.raises(EngineError, match="could not load workload"):
        require_space_at(there, workload, 1000, lambda _: None)
    monkeypatch.setattr(free, lambda _: 2 * size + GB)
    require_space_at(there, workload, 1000, lambda _: None)
