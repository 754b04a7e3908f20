"""The tutorial's workload is what it says: its folder loads, works and passes its checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from driven import drive

from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check, count_work
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "own-workload.md"
FILES = ("workload.toml", "schema.sql", "load.sql", "keys.sql", "scripts/turn.sql", "checks.sql")


@pytest.mark.postgres
def test_a_workload_of_ones_own_is_loaded_driven_and_checked(
    tmp_path: Path,
    engine18: Postgres,
    place: Path,
    serve: Callable[[Cluster], AbstractContextManager[Endpoint]],
) -> None:
    blocks = re.findall(r"```(?:toml|sql)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "scripts").mkdir()
    for file, text in zip(FILES, blocks, strict=True):
        (tmp_path / file).write_text(text)
    workload = find_workload(str(tmp_path))
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        _, scripts = drive(workload, address, 1, 10)
        assert count_work(workload, PostgresDatabase(address)) == {"taken": 40}
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
