"""What TPROC-C's scripts draw and wait for, as the statements and pauses that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from steelyard._core import script_statements
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import script_variables

TYPES = ("new-order", "payment", "delivery", "order-status", "stock-level")
PROFILES = {"spec": "", "hammerdb": "hammerdb-"}
CALL = re.compile(r"\b(?:spec|hammerdb)[._]\w+\(([^)]*)\)")

# Keying and mean thinking time in seconds: clause 5.2.5.7, and what HammerDB does.
TIMES = {
    "spec": {
        "new-order": (18, 12),
        "payment": (3, 12),
        "delivery": (2, 5),
        "order-status": (2, 10),
        "stock-level": (2, 5),
    },
    "hammerdb": {
        "new-order": (18, 12),
        "payment": (3, 12),
        "delivery": (2, 10),
        "order-status": (2, 5),
        "stock-level": (2, 5),
    },
}


def calls(
    name: str, scale: int, client: int, times: int, kind: str = "postgres", **options: object
) -> Iterator[tuple[int, ...]]:
    """The numbers that so many executions of a script call their routine with."""
    workload = find_workload("tproc-c", options, kind)
    text = workload.script(name).text()
    variables = {**script_variables(workload, scale, {}), "client_id": str(client)}
    for statement in script_statements(name, text, variables, 7, times):
        found = CALL.search(statement)
        assert found, statement
        words = (word.strip() for word in found[1].split(","))
        yield tuple(int(word) for word in words if re.fullmatch(r"-?\d+", word))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_client_has_the_warehouse_of_its_number_or_any_one(profile: str, kind: str) -> None:
    name = PROFILES[profile] + kind
    for client in range(5):
        assert {call[0] for call in calls(name, 3, client, 20)} == {client % 3 + 1}
    assert {call[0] for call in calls(name, 3, 0, 60, all_warehouses=True)} == {1, 2, 3}


@pytest.mark.parametrize("profile", PROFILES)
def test_15_customers_of_100_are_of_another_warehouse(profile: str) -> None:
    made = list(calls(f"{PROFILES[profile]}payment", 3, 1, 2_000))
    remote = [call for call in made if call[2] != call[0]]
    assert 250 < len(remote) < 350
    assert {call[2] for call in remote} == {1, 3}
    assert {call[3] for call in remote} == set(range(1, 11))
    assert all(call[3] == call[1] for call in made if call[2] == call[0])


def test_with_one_warehouse_they_are_of_another_district_in_hammerdb_and_at_home_otherwise() -> (
    None
):
    there = list(calls("hammerdb-payment", 1, 0, 2_000))
    assert 220 < sum(call[3] != call[1] for call in there) < 320  # 9 of 10 of the 15 %
    here = list(calls("payment", 1, 0, 2_000))
    assert all(call[3] == call[1] for call in here)
    assert {call[2] for call in there + here} == {1}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("profile", PROFILES)
def test_on_mysql_they_call_with_the_same_numbers(profile: str, kind: str) -> None:
    name = PROFILES[profile] + kind
    assert list(calls(name, 3, 1, 50, "mysql")) == list(calls(name, 3, 1, 50))


@pytest.mark.parametrize("dialect", ["", ".mysql"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("workload", "profile"),
    [("tproc-c", "spec"), ("tproc-c", "hammerdb"), ("tproc-c-client", "spec")],
)
def test_keying_comes_before_all_statements_and_thinking_after_them(
    workload: str, profile: str, kind: str, dialect: str
) -> None:
    folder = find_workload(workload).folder / "scripts"
    name = f"{PROFILES[profile]}{kind}{dialect}.sql"
    if name == "stock-level.mysql.sql" and workload == "tproc-c-client":
        name = "stock-level.sql"  # for all engines
    text = (folder / name).read_text()
    keying, mean = TIMES[profile][kind]
    before, middle, after = re.split(r"^\\sleep .*\n", text, flags=re.MULTILINE)
    assert f"\\sleep {keying} s\n" in text
    assert before.endswith("\\if :thinking\n")
    assert ";" not in re.sub(r"--.*", "", before)
    drawn = f"-{mean}.0 * ln(random(1, 1000000) / 1000000.0)"
    pause = f"\\set pause int(least({10 * mean}.0, {drawn}) * 1000)\n"
    assert middle.startswith("\\endif\n")
    assert middle.endswith(f"\\if :thinking\n{pause}")
    assert after == "\\endif\n"
