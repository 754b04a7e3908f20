"""Every value of a sweep is read before anything is copied or weighed, and each arm has one name at
all of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.cli.options import source_options
from steelyard.cli.weighing import sweep as module
from steelyard.cli.weighing.sweep import SweepRequest, begin_sweep, require_weighable
from steelyard.model.errors import UsageError
from steelyard.record.sweep import SweepPlan
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.study.sweep import read_sweep

NONE = (None, None)
JIT = ["arm.settings.jit=off"]


def request(
    study: str, swept: str, changes: Sequence[str], folder: Path, **more: object
) -> SweepRequest:
    facts = (study, swept, changes, False, 7, folder, None, ("steelyard",), False)
    return SweepRequest(*facts, **more)  # type: ignore[arg-type]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[SweepPlan]:
    """Of the sweeps that are begun, none of which is weighed."""
    begun: list[SweepPlan] = []
    monkeypatch.setattr(module, "_go_on", lambda plan, *_, **__: begun.append(plan))
    return begun


@pytest.mark.parametrize(
    ("study", "swept", "changes", "wrong", "rest"),
    [
        ("checksums", "workload.clients=0,8,32", [], "0", "--sweep workload.clients=8,32"),
        ("checksums", "workload.clients=8,4x,32", [], "4x", "--sweep workload.clients=8,32"),
        ("checksums", "workload.clients=8,32,many", [], "many", "--sweep workload.clients=8,32"),
        ("settings", "workload.clients=8,none", JIT, "none", "--set workload.clients=8"),
        ("checksums", "memory=1GB,2GB,lots", [], "lots", "--sweep memory=1GB,2GB"),
        ("checksums", "workload=pgbench,pgbnch,queue", [], "pgbnch", "workload=pgbench,queue"),
        ("aa", "workload.pace=1,2", [], "", ""),
        ("checksums", "workload.nonsense=1,2", [], "", ""),
        ("checksums", "workload.mode=simple,extended,sent", [], "sent", "simple"),
        ("wal-compression", "arm.pglz.checksums=true,perhaps", [], "perhaps", "--set"),
    ],
)
def test_a_value_at_which_the_study_is_wrong_is_named_with_what_to_type(
    study: str,
    swept: str,
    changes: list[str],
    wrong: str,
    rest: str,
    tmp_path: Path,
    plans: list[SweepPlan],
) -> None:
    """The first, one between, the last; where all are wrong, it is no matter of the value."""
    with pytest.raises(UsageError) as refused:
        begin_sweep(request(study, swept, changes, tmp_path / "sweep"))
    assert plans == []
    assert not (tmp_path / "sweep").exists()
    if not wrong:
        assert "cannot sweep" not in refused.value.primary
        return
    key = swept.partition("=")[0]
    assert refused.value.primary.startswith(f"cannot sweep {key} = {wrong}: ")
    assert rest in (refused.value.hint or "")


@pytest.mark.long
@given(
    clients=st.lists(st.integers(-2, 12), min_size=2, max_size=6, unique=True),
    place=st.integers(0, 6),
)
@settings(max_examples=25)
def test_what_is_to_be_typed_instead_can_be_weighed(clients: list[int], place: int) -> None:
    words = [str(number) for number in clients]
    words.insert(place, "x")
    right = [word for word in words if word != "x" and int(word) > 0]
    with pytest.raises(UsageError) as refused:
        require_weighable("aa", f"workload.clients={','.join(words)}", [], NONE)
    if not right:
        return
    *_, option, change = shlex.split(refused.value.hint or "")
    assert option == ("--sweep" if len(right) > 1 else "--set")
    if option == "--sweep":
        assert {*require_weighable("aa", change, [], NONE).values} == {*right}
    else:
        assert read_study("aa", [change]).workload.clients == int(right[0])


@pytest.mark.parametrize("place", ["host=db1 dbname=shop", "postgresql://db1/shop"])
def test_no_server_is_copied_for_a_sweep_that_has_a_wrong_value(
    place: str, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take an hour of a large one."""
    monkeypatch.setattr(source_options, "backed_up", lambda *_, **__: pytest.fail("a copy"))
    words = ("checksums", "--from", place, "--yes", "--set", "workload=pgbench")
    more = ("--set", "workload.scale=1", "--sweep", "workload.clients=8,4x")
    assert "cannot sweep workload.clients = 4x" in refused("weigh", *words, *more)


THREE = """\
title = "t"
question = "q"

[control]
version = "18"

[[arm]]
settings = {{ jit = "off" }}
{first}
[[arm]]
settings = {{ jit = "on" }}
{second}
[[arm]]
settings = {{ work_mem = "1MB" }}
"""


def studies(plan: SweepPlan) -> list[Study]:
    """Of all points, as they are weighed."""
    again = SweepPlan.of_json(plan.to_json(), "as it is resumed")
    sweep = read_sweep(f"{again.key}={','.join(again.values)}")
    return [read_study(again.study, sweep.overrides(again.changes, v)) for v in again.values]


@pytest.mark.parametrize("first", ["", 'name = "mine"\n'])
@pytest.mark.parametrize("second", ["", 'against = "arm3"\n'])
@pytest.mark.parametrize(
    "key",
    [
        "arm.arm3.settings.work_mem=1MB,2MB,4MB",
        "arm.arm2.settings.work_mem=2MB,4MB",
        "arm.arm2.settings.jit=on,off",
        "control.settings.work_mem=1MB,2MB",
        "settings.work_mem=2MB,4MB",
        "arm.arm3.version=16,17",
        "arm.arm3.directory=/mnt/a,/mnt/b",
        "workload.clients=2,4",
    ],
)
def test_each_of_several_arms_has_one_name_at_all_values(
    key: str, first: str, second: str, tmp_path: Path, plans: list[SweepPlan]
) -> None:
    file = tmp_path / "three.toml"
    file.write_text(THREE.format(first=first, second=second))
    begin_sweep(request(str(file), key, [], tmp_path / "sweep"))
    [plan] = plans
    every = [[arm.name for arm in study.every_arm] for study in studies(plan)]
    assert every == [every[0]] * len(every)
    assert len({*every[0]}) == 4
    if first:
        assert every[0][1] == "mine"


@pytest.mark.parametrize(
    ("study", "key", "row"),
    [
        ("log-min-duration", "arm.all.settings.log_min_duration_statement=0,10", "all"),
        ("io-method", "arm.sync.settings.effective_io_concurrency=1,16", "sync"),
        ("wal-compression", "arm.lz4.settings.work_mem=1MB,2MB", "lz4"),
    ],
)
def test_an_arm_of_a_built_in_study_of_several_has_the_name_that_the_study_has_for_it(
    study: str, key: str, row: str, tmp_path: Path, plans: list[SweepPlan]
) -> None:
    begin_sweep(request(study, key, [], tmp_path / "sweep"))
    [plan] = plans
    names = [[arm.name for arm in point.every_arm] for point in studies(plan)]
    assert names == [names[0]] * len(names)
    assert row in names[0]
