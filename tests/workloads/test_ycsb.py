"""The YCSB workload draws keys as YCSB does, and its checks find values in wrong rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from driven import drive

from steelyard._core import script_statements
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import script_variables
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

MIXES = find_workload("ycsb").options["mix"].values
DRAWS = 30_000
THETA = 0.99


def fnv(number: int) -> int:
    """YCSB's Utils.hash: FNV-1a over eight bytes, without its sign."""
    value = 0xCBF29CE484222325
    for byte in number.to_bytes(8, "little"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return min(value, 2**64 - value)


def zipfian(uniform: float, items: int, zeta: float) -> int:
    """YCSB's ZipfianGenerator.nextLong for one uniform number."""
    if uniform * zeta < 1:
        return 0
    if uniform * zeta < 1 + 0.5**THETA:
        return 1
    eta = (1 - (2 / items) ** (1 - THETA)) / (1 - (1 + 0.5**THETA) / zeta)
    return int(items * (eta * uniform - eta + 1) ** (1 / (1 - THETA)))


def drawn(script: str, scale: int, **begins: int) -> list[int]:
    """The numbers of the rows that a script draws, in as many executions as there are draws."""
    workload = find_workload("ycsb")
    until = workload.script(script).text().partition("\\set key")[0]
    given = {**script_variables(workload, scale, {}), **{k: str(v) for k, v in begins.items()}}
    text = until + "SELECT :number;"
    said = (script_statements(script, text, given, seed) for seed in range(DRAWS))
    return [int(one.removeprefix("SELECT ").removesuffix(";")) for [one] in said]


def close(one: list[int], other: list[int], most: int) -> None:
    """The commonest numbers are the same, about as often."""
    ours, theirs = Counter(one), Counter(other)
    for number, count in theirs.most_common(most):
        assert ours[number] == pytest.approx(count, rel=0.25), number
    assert max(one) == pytest.approx(max(other), rel=0.05)
    assert len(ours) == pytest.approx(len(theirs), rel=0.05)


def test_rows_are_drawn_as_by_ycsbs_scrambled_zipfian() -> None:
    random = Random(7)
    ranks = (zipfian(random.random(), 10**10 + 1, 26.46902820178302) for _ in range(DRAWS))
    close(drawn("read", 3), [fnv(rank) % 3000 for rank in ranks], 4)


def test_new_rows_are_drawn_as_by_ycsbs_skewed_latest() -> None:
    random = Random(7)
    newest = 2_999
    zeta = sum(number**-THETA for number in range(1, newest + 1))
    backs = (zipfian(random.random(), newest, zeta) for _ in range(DRAWS))
    close(drawn("read-latest", 3, latest=newest), [newest - back for back in backs], 8)


@pytest.mark.postgres
@thinned("mix", MIXES, 1)
def test_each_mix_does_its_work_and_passes_the_checks(
    mix: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("ycsb", {"mix": mix})
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        line, scripts = drive(workload, address, 1, 250)
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        done = {script.name: script.transactions for script in line.scripts}
        changed, rows = counted(address)
    assert changed == done.get("update", 0) + done.get("read-modify-write", 0)
    assert rows == 1000 + done.get("insert", 0)
    if mix != "c":
        second = list(workload.mix())[1]
        assert done[second] == pytest.approx({"a": 500, "f": 500}.get(mix, 50), abs=60)


def counted(address: Endpoint) -> tuple[int, int]:
    """Updates that the server counts, and rows of the table."""
    query = "SELECT pg_stat_get_tuples_updated('usertable'::regclass), count(*) FROM usertable"
    with connected(replace(address, database=DATABASE)) as connection:
        [(changed, rows)] = connection.execute(query.encode()).fetchall()
    return int(str(changed)), int(str(rows))


DAMAGE = [
    ("UPDATE usertable SET field3 = reverse(field3)", "in field 3"),
    ("UPDATE usertable SET field9 = left(field9, 99)", "in field 9"),
    ("UPDATE usertable SET field0 = NULL", "in field 0"),
    ("DELETE FROM usertable WHERE ycsb_key < 'user2'", "rows, but 1000 were loaded"),
]


@pytest.mark.postgres
@thinned(("statement", "words"), DAMAGE, 1)
def test_checks_find_values_and_rows_that_are_wrong(
    statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("ycsb")
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(statement.encode())
        violations = check(workload, PostgresDatabase(address), 1)
    assert any(words in text for text in violations), violations
