"""What a server says that it holds, against the workload that is to be driven there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from steelyard.engines.loading import LoadedData
from steelyard.model.errors import UsageError
from steelyard.workloads.loading.load import require_workload
from steelyard.workloads.reading.folder import find_workload

SPEC = LoadedData("tproc-c", 1, 7, "abc", json.dumps({"profile": "spec", "partitions": 4}))
HAMMERDB = replace(SPEC, options=json.dumps({"profile": "hammerdb", "partitions": 0}))


@pytest.mark.parametrize("kind", ["postgres", "mysql", "mariadb"])
def test_scripts_that_rows_are_not_for_are_refused(kind: str) -> None:
    workload = find_workload("tproc-c-client", kind=kind)
    require_workload(workload, 1, SPEC, "there")  # how rows are partitioned changes none
    with pytest.raises(UsageError, match="was loaded with profile = hammerdb") as refused:
        require_workload(workload, 1, HAMMERDB, "there")
    assert "Load anew: steelyard workloads load tproc-c-client" in str(refused.value)


def test_the_option_that_fits_the_rows_is_named() -> None:
    with pytest.raises(UsageError) as refused:
        require_workload(find_workload("tproc-c"), 1, HAMMERDB, "there")
    assert "Say --set profile=hammerdb" in str(refused.value)
    require_workload(find_workload("tproc-c", {"profile": "hammerdb"}), 1, HAMMERDB, "there")


def test_rows_that_do_not_say_their_options_are_taken_as_they_are() -> None:
    older = replace(HAMMERDB, options=None)
    require_workload(find_workload("tproc-c-client"), 1, older, "there")


@pytest.mark.parametrize(
    ("held", "scale", "words"),
    [
        (None, 1, "was not loaded by Steelyard"),
        (replace(SPEC, workload="pgbench"), 1, 'holds "pgbench", not "tproc-c"'),
        (SPEC, 2, "was loaded at scale 1, not 2"),
    ],
)
def test_a_server_that_holds_something_else_is_refused(
    held: LoadedData | None, scale: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        require_workload(find_workload("tproc-c"), scale, held, "there")


@pytest.mark.parametrize(
    ("name", "loaded", "chosen", "hint"),
    [
        ("time-series", {"devices": 1000, "time_index": "brin"}, {}, "Say --set devices=1000"),
        ("time-series", {"devices": 10}, {"devices": 1000}, "Say --set devices=10"),
        ("reserva", {"banks": 7}, {}, "Say --set banks=7"),
        ("insert-read", {"added": 20}, {}, "Say --set added=20"),
        ("insert-read", {"frozen": True}, {}, "Say --set frozen=true"),
        ("htap", {"profile": "hammerdb"}, {}, "Load anew: steelyard workloads load htap"),
    ],
)
def test_a_number_by_which_scripts_find_rows_is_that_of_the_load(
    name: str, loaded: dict[str, object], chosen: dict[str, object], hint: str
) -> None:
    """The default would insert for a hundred devices where a thousand were loaded."""
    loaded_name = find_workload(name).loaded_name
    held = LoadedData(loaded_name, 1, 7, "abc", json.dumps(loaded))
    with pytest.raises(UsageError, match="was loaded with") as refused:
        require_workload(find_workload(name, chosen), 1, held, "there")
    assert hint in str(refused.value)
    if hint.startswith("Say"):
        require_workload(find_workload(name, loaded), 1, held, "there")


@pytest.mark.parametrize("partitions", [0, 3, 10])
@pytest.mark.parametrize("name", ["tproc-c", "tproc-c-client", "htap"])
def test_a_number_that_only_the_load_reads_may_be_any(name: str, partitions: int) -> None:
    require_workload(find_workload(name, {"partitions": partitions}), 1, SPEC, "there")
