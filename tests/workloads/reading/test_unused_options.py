"""Every option of a workload changes what is driven or loaded; one that would not is refused."""

from __future__ import annotations

import itertools

import pytest

from steelyard.model.errors import UsageError
from steelyard.study.read import read_study
from steelyard.workloads.loading.tables import rows_of
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.option import Option, OptionValue
from steelyard.workloads.reading.resolved import driven, resolve_workload
from steelyard.workloads.reading.workload import LOADING_FILES, EachProbe, Workload
from thinned import thinned

CHOICES = [
    (name, option) for name in known_workloads() for option in sorted(find_workload(name).options)
]
OF_SOME = {("sysbench", "skip_trx")}
"""Switches of some scripts alone; beside others they are refused, as numbers are."""
Chosen = dict[str, OptionValue]


def values_of(option: Option) -> list[OptionValue]:
    """All words, both states of a switch; of a number the default and another one."""
    if option.values:
        return list(option.values)
    if isinstance(option.default, bool):
        return [False, True]
    return [option.default, option.low if option.low != option.default else option.high]


def is_number(option: Option) -> bool:
    return not option.values and not isinstance(option.default, bool)


def loaded(workload: Workload) -> object:
    """What is told to the server before the clients come, and who makes the rows of how many."""
    files = (*LOADING_FILES, "before.sql", "checks.sql")
    streams = [rows_of(workload, table, 1) for table in workload.tables]
    chunks = [next(iter(one)) if one else b"" for one in streams]
    return [workload.statements(file, 1) for file in files], chunks


def effect(workload: Workload, decides_load: bool) -> object:
    return loaded(workload) if decides_load else driven(workload, 2)


@thinned(("name", "option"), CHOICES, 8)
def test_every_value_of_an_option_changes_what_is_driven_or_loaded(name: str, option: str) -> None:
    """Words and switches beside all words and switches of the others; numbers beside some."""
    workload = find_workload(name)
    own = workload.options[option]
    others = {n: o for n, o in workload.options.items() if n != option and not is_number(o)}
    others = {n: o for n, o in others.items() if not own.loads or o.loads}
    told = []
    for beside in itertools.product(*(values_of(o) for o in others.values())):
        chosen: Chosen = dict(zip(others, beside, strict=True))
        effects = [
            effect(find_workload(name, {**chosen, option: value}), own.loads)
            for value in values_of(own)
        ]
        differ = all(a != b for a, b in itertools.combinations(effects, 2))
        assert differ or is_number(own) or (name, option) in OF_SOME, chosen
        told.append(differ)
    assert any(told)


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("insert-read", "{access = 'scan', window = 5}"),
        ("select-insert", "{turns = 7}"),
        ("sysbench", "{test = 'oltp_point_select', skip_trx = true}"),
        ("sysbench", "{test = 'oltp_insert', range_size = 7}"),
    ],
)
def test_an_option_that_changes_nothing_beside_the_others_is_refused(
    workload: str, options: str
) -> None:
    changes = [f"workload={workload}", f"workload.options={options}"]
    words = r'option "(window|turns|skip_trx|range_size)" of .* changes nothing here'
    with pytest.raises(UsageError, match=words):
        resolve_workload(read_study("settings", changes))


@pytest.mark.parametrize(
    "probe",
    [
        "SELECT :window",
        EachProbe(each="SELECT :window", query="SELECT :each"),
        EachProbe(each="SELECT 1", query="SELECT :each + :window"),
    ],
)
def test_an_option_that_only_a_probe_names_changes_what_is_driven(probe: str | EachProbe) -> None:
    found = [
        driven(
            find_workload("insert-read", {"access": "scan", "window": window}).model_copy(
                update={"probes": {"odd": probe}}
            ),
            1,
        )
        for window in (0, 5)
    ]
    assert found[0] != found[1]


def test_a_durable_read_of_a_page_is_durable() -> None:
    changes = ["workload.options.access=page", "workload.options.durable=true"]
    study = resolve_workload(read_study("read-after-insert", changes))
    assert study.workload.scripts == {"page-durable": 1}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        (["workload=ycsb", "workload.options.mix=b", 'workload.scripts={"read" = 1}'], "mix"),
        (["workload=queue", "workload.options.style=statement", "workload.texts.q=SELECT 1;",
          'workload.scripts={"q" = 1}'], "style"),
        (["workload=sysbench", "workload.options.range_size=50",
          'workload.scripts={"oltp_point_select" = 1}'], "range_size"),
        (["workload=sysbench", "workload.options.range_size=50",
          'workload.scripts={"oltp_read_only" = 1}'], None),
        (["workload=sysbench", "workload.options.rand=uniform",
          'workload.scripts={"oltp_insert" = 1}'], None),
        (["workload=queue", "workload.options.style=statement",
          'workload.scripts={"enqueue" = 1, "dequeue-statement" = 1}'], None),
        (["workload=ycsb", 'workload.scripts={"read" = 1}'], None),
    ],
)  # fmt: skip
def test_an_option_beside_scripts_of_the_study_is_refused_where_none_of_them_has_it(
    changes: list[str], refused: str | None
) -> None:
    study = read_study("settings", [*changes, "arm.settings.jit=off"])
    if refused is None:
        resolve_workload(resolve_workload(study))
        return
    with pytest.raises(UsageError, match=f'option "{refused}" .* changes nothing here'):
        resolve_workload(study)
