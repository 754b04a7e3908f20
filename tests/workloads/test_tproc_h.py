"""TPROC-H: rows are dbgen's, answers are those of another database, the order is kept."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest
from driven import drive, plan_of

from steelyard._core import script_statements
from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import DrivePlan, DriveScript, SliceRequest
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.evaluation.workload_rows import query_rows
from steelyard.model.endpoint import Endpoint
from steelyard.record.epoch import EpochLine
from steelyard.record.totals import epoch_totals
from steelyard.running.measuring.load import SlicePlace, Visit, slice_line
from steelyard.study.read import read_study
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve_workload
from steelyard.workloads.reading.workload import Workload

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

ANSWERS = tomllib.loads((Path(__file__).parent / "tpch_answers.toml").read_text())
# The values of the qualification, as numbers that the scripts draw.
VALUES: dict[str, dict[str, int]] = {
    "q01": {"days": 90},
    "q02": {"size": 15, "ending": 2, "region": 3},
    "q03": {"segment": 1, "day": 14},
    "q04": {"month": 18},
    "q05": {"region": 2, "year": 2},
    "q06": {"year": 2, "discount": 6, "quantity": 24},
    "q07": {"nation": 6, "other": 7},
    "q08": {"nation": 2, "type": 103},
    "q09": {"color": 33},
    "q10": {"month": 21},
    "q11": {"nation": 7, "scale": 100},
    "q12": {"mode": 5, "other": 3, "year": 2},
    "q13": {"words": 1},
    "q14": {"month": 44},
    "q15": {"month": 48},
    "q16": {"brand": 19, "beginning": 13},
    "q17": {"brand": 7, "container": 17},
    "q18": {"quantity": 300},
    "q19": {"first": 1, "second": 7, "third": 13, "few": 1, "some": 10, "many": 20},
    "q20": {"color": 28, "year": 2, "nation": 3},
    "q21": {"nation": 20},
    "q22": {},
}
# Q16 and Q22 draw sets; those of the qualification stand in for them.
DRAWN = {
    "q16": "'{49,14,23,45,19,3,36,9}'::int[]",
    "q22": "'{13,31,23,29,30,18,17}'::int[]",
}


# Free text, which is not alike in DuckDB: columns from 0.
FREE = {"q02": (5, 7), "q10": (5, 7), "q15": (2,), "q20": (1,)}


def digest(rows: list[tuple[object, ...]], places: str, left_out: tuple[int, ...] = ()) -> str:
    lines = sorted(
        "|".join(cell(value, places) for at, value in enumerate(row) if at not in left_out)
        for row in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def cell(value: object, places: str) -> str:
    """Numbers with so many places, days without a time, text without what surrounds it."""
    text = str(value).strip().removesuffix(" 00:00:00")
    try:
        return str(Decimal(text).quantize(Decimal(places)))
    except InvalidOperation:
        return text


def answers(
    workload: Workload, address: Endpoint, scale: int
) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each query with the values of the qualification."""
    found = {}
    with connected(replace(address, database=DATABASE)) as connection:
        for name, query in qualified(workload, scale).items():
            found[name] = connection.execute(query.encode()).fetchall()
    return found


def qualified(workload: Workload, scale: int) -> dict[str, str]:
    """Each query with the values of the qualification."""
    queries = {}
    for name, values in VALUES.items():
        text = workload.script(name).text()
        text = "".join(line for line in text.splitlines(True) if not line.startswith("\\set"))
        text = re.sub(r"drawing\.different\([^)]*\)", DRAWN.get(name, ""), text)
        given = {"scale": scale, **values}
        [queries[name]] = script_statements(name, text, {k: str(v) for k, v in given.items()})
    return queries


def orders_of_customers(address: Endpoint) -> Counter[int]:
    """Q13 by hand: how many customers have so many orders without "special requests"."""
    with connected(replace(address, database=DATABASE)) as connection:
        customers = connection.execute("SELECT c_custkey::bigint FROM customer").fetchall()
        orders = connection.execute("SELECT o_custkey::bigint, o_comment FROM orders").fetchall()
    counted = Counter({int(key): 0 for (key,) in customers})
    counted.update(key for key, said in orders if not re.search("special.*requests", said))
    return Counter(counted.values())


def schema_for(engine: Postgres) -> str:
    """One schema on each version; both on both were tried when the queries were written."""
    return "native" if engine.identity.version_number >= 180000 else "hammerdb"


@pytest.mark.long
@pytest.mark.postgres
def test_all_22_answers_are_those_of_another_database(
    engine: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-h", {"schema": schema_for(engine)})
    with serve(engine.open(template(engine, workload, 1)).clone(place / "clone")) as address:
        found = answers(workload, address, 1)
        by_hand = orders_of_customers(address)
    assert {int(str(count)): many for count, many in found.pop("q13")} == by_hand
    digests = {name: digest(rows, "0.0001", FREE.get(name, ())) for name, rows in found.items()}
    assert digests == ANSWERS["0.01"]


@pytest.mark.postgres
@pytest.mark.long
def test_answers_at_scale_factor_one_are_those_of_another_database(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-h")
    with serve(engine18.open(template(engine18, workload, 100)).clone(place / "clone")) as address:
        found = answers(workload, address, 100)
    assert {name: digest(rows, "0.01") for name, rows in found.items()} == ANSWERS["1"]


HAMMERDBS = "l_shipdate l_orderkey l_discount l_extendedprice"
SPECIFIED = "l_orderkey l_partkey l_suppkey l_linenumber"


@pytest.mark.long
@pytest.mark.postgres
def test_drawn_values_find_rows_and_refreshed_orders_keep_their_lines_until_the_next_epoch(
    engine: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-h", {"schema": schema_for(engine), "refresh": True})
    loaded = template(engine, workload, 1)
    clone = engine.open(loaded).clone(place / "clone")
    with serve(clone) as address:
        line, scripts = drive(workload, address, 1, 48, clients=1)
        assert {s.name: s.transactions for s in line.scripts} == dict.fromkeys(
            workload.scripts, 2
        ), "two rounds of 22 queries and the refresh functions around them"
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        assert refreshed(address) == (2, 2, 30, 30)
        assert strangers(address) == 30
        with connected(replace(address, database=DATABASE)) as connection:
            columns = "SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute "
            columns += "WHERE attrelid = 'lineitem'::regclass AND attnum BETWEEN 1 AND 4"
            found = connection.execute(columns.encode()).fetchone()
            native = schema_for(engine) == "native"
            assert found == (SPECIFIED if native else HAMMERDBS,)
            connection.execute(
                "DELETE FROM lineitem WHERE l_orderkey = (SELECT max(l_orderkey) FROM lineitem)"
            )
        assert any(
            "has no line" in text for text in check(workload, PostgresDatabase(address), 1, scripts)
        )
    clone.restore(loaded)  # as every slot is before an epoch
    with serve(clone) as address:
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        assert (refreshed(address), strangers(address)) == ((0, 0, 0, 0), 0)


def refreshed(address: Endpoint) -> tuple[object, ...]:
    with connected(replace(address, database=DATABASE)) as connection:
        row = connection.execute("SELECT * FROM refreshed").fetchone()
    assert row is not None
    return tuple(row)


def strangers(address: Endpoint) -> int:
    """Orders with keys that dbgen leaves free."""
    with connected(replace(address, database=DATABASE)) as connection:
        row = connection.execute("SELECT count(*) FROM orders WHERE o_orderkey % 32 >= 8")
        [[count]] = row.fetchall()
    return int(count)


def drawing(script: DriveScript) -> DriveScript:
    """A script that also notes in a table what it drew."""
    names = re.findall(r"^\\set (\w+)", script.text, re.MULTILINE)
    words = ", ".join(["'drawn'", *(f":{name}::text" for name in names)])
    note = "INSERT INTO drawn (arm, client, script, words) VALUES "
    note += f"(current_setting('application_name'), :client_id, '{script.name}', "
    return replace(script, text=f"{script.text}\n{note}concat_ws(' ', {words}));")


@pytest.mark.long
@pytest.mark.postgres
def test_clients_side_by_side_keep_their_orders_and_both_arms_of_a_block_draw_the_same_values(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-h", {"stream": 3})
    words: dict[tuple[str, int], list[str]] = {}
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        plan, _ = plan_of(workload, address, 1, clients=2)
        [one] = plan.arms
        arms = tuple(
            replace(one, name=name, endpoint=replace(one.endpoint, application_name=name))
            for name in ("on", "off")
        )
        plan = replace(plan, arms=arms, scripts=tuple(map(drawing, plan.scripts)))
        made = "CREATE TABLE drawn (turn serial, arm text, client int, script text, words text)"
        found = (
            "SELECT arm, client, array_agg(script ORDER BY turn), array_agg(words ORDER BY turn)"
        )
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(made.encode())
            blocks(plan, 22)
            rows = connection.execute(f"{found} FROM drawn GROUP BY 1, 2".encode()).fetchall()
            connection.execute("TRUNCATE drawn")
            blocks(replace(plan, seed=8), 22)
            others = connection.execute(f"{found} FROM drawn GROUP BY 1, 2".encode()).fetchall()
    assert len(rows) == 4
    for arm, client, scripts, drawn in rows:
        assert tuple(scripts) == workload.streams[3 + client], (arm, client)
        words[arm, client] = drawn
    for client in (0, 1):
        assert words["on", client] == words["off", client]
    assert all(drawn != words[arm, client] for arm, client, _, drawn in others)


def blocks(plan: DrivePlan, count: int) -> list[SliceAnswer]:
    """So many blocks of a query each on every arm and client, as the study has them; the lines."""
    arms = range(len(plan.arms))
    requests = [SliceRequest(arm=arm, each=1) for _ in range(count) for arm in arms]
    with Driver.start(plan) as driver:
        return list(driver.run(requests))


@pytest.mark.long
@pytest.mark.postgres
def test_a_query_that_times_out_counts_with_its_limit_in_its_row_and_is_never_dropped(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-h")
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        plan, _ = plan_of(workload, address, 1, clients=1)
        [one] = plan.arms
        reached = replace(one.endpoint, options="-c statement_timeout=1ms")
        limited = replace(one, name="limited", endpoint=reached)
        lines = blocks(replace(plan, arms=(replace(one, name="free"), limited)), 22)
        with connected(replace(address, database="postgres")) as connection:
            connection.execute(f"ALTER DATABASE {DATABASE} SET statement_timeout = '1ms'".encode())
        assert check(workload, PostgresDatabase(address), 1) == [], (
            "the limit is not for the checks"
        )
    stream = workload.streams[0]
    placed = [
        slice_line(
            Visit(answer.arm, None, "measured", block, arm, each=1, script=stream[block]),
            SlicePlace(0),
            answer,
        )
        for answer, (block, arm) in zip(lines, itertools.product(range(22), range(2)), strict=True)
    ]
    head = {"epoch": 0, "slots": {"free": 0, "limited": 1}, "start_order": ["free", "limited"]}
    totals = epoch_totals(EpochLine.model_validate(head), placed)
    assert totals.arms["limited"].errors.keys() == {"57014"}
    epochs = [replace(totals, epoch=number) for number in range(8)]
    rows = {row.query: row for row in query_rows(epochs, "free", "limited")}
    assert list(rows) == [f"q{number:02}" for number in range(1, 23)]
    assert all(row.control_unfinished == 0 for row in rows.values())
    slow = rows["q01"]  # some 60,000 lines are added up
    assert slow.arm_unfinished == 8
    assert 1 <= slow.arm_ms < slow.control_ms
    unfinished = sum(row.arm_unfinished for row in rows.values()) // 8
    assert unfinished == totals.arms["limited"].failed
    ratios = {query: math.log(row.arm_ms / row.control_ms) for query, row in rows.items()}
    given_up = {query for query, row in rows.items() if row.arm_unfinished}
    mean = sum(ratio for query, ratio in ratios.items() if query not in given_up) / 22
    mean += sum(max(ratios[query], 0) for query in given_up) / 22  # a limit so short is no gain
    assert epoch_log_ratio(totals, "limited", "free", "geometric_mean") == pytest.approx(mean)


def test_every_stream_has_every_query_once() -> None:
    workload = find_workload("tproc-h")
    assert len(workload.streams) == 41
    assert {tuple(sorted(stream)) for stream in workload.streams} == {tuple(VALUES)}
    assert len(set(workload.streams)) == 41
    power = [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12]
    assert workload.streams[0] == tuple(f"q{number:02}" for number in power)


def test_clients_take_the_streams_one_after_the_other() -> None:
    study = resolve_workload(
        read_study("queries", ["workload.clients=3", "workload.options={stream=39, refresh=true}"])
    )
    streams = find_workload("tproc-h").streams
    assert study.workload.streams == (("rf1", *streams[39], "rf2"), streams[40], streams[0])
    assert study.workload.mode == "extended"


def test_scripts_that_a_study_names_are_drawn() -> None:
    study = resolve_workload(read_study("queries", ["workload.scripts={q01 = 1}"]))
    assert study.workload.streams == ()


@pytest.mark.long
@pytest.mark.postgres
def test_most_queries_of_the_study_of_jit_cost_enough_to_be_compiled(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    """By the costs of a hundredth of the rows, with which they grow."""
    workload, study = find_workload("tproc-h"), read_study("jit")
    assert study.workload.scale is not None
    with (
        serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address,
        connected(replace(address, database=DATABASE)) as connection,
    ):
        limit = connection.execute(
            "SELECT reset_val::float8 FROM pg_settings WHERE name = 'jit_above_cost'"
        ).fetchone()
        costs = {}
        for name, query in qualified(workload, 1).items():
            row = connection.execute(f"EXPLAIN (FORMAT JSON) {query}".encode()).fetchone()
            assert row is not None
            [plan] = row[0]
            costs[name] = plan["Plan"]["Total Cost"] * study.workload.scale
    assert limit is not None
    compiled = [name for name, cost in costs.items() if cost > limit[0]]
    assert len(compiled) > len(costs) / 2, costs
