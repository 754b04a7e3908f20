"""The probes of insert-read read what they say: which rows, of which pages, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from steelyard.engines.loading import WorkloadDatabase
from steelyard.workloads.checks import explain_probes
from steelyard.workloads.reading.folder import find_workload

SCALE, ADDED = 20, 50
PAGE = 61
"""Rows of one."""


class Asked:
    """Notes what a server would be asked."""

    def __init__(self) -> None:
        self.queries: list[tuple[list[str], str]] = []

    @contextmanager
    def prober(self) -> Iterator[Asked]:
        yield self

    def explain(self, settings: Sequence[str], query: str) -> dict[str, int]:
        self.queries.append(([*settings], query))
        return {}

    @contextmanager
    def checker(self) -> Iterator[Asked]:
        yield self

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        assert statements == ["CHECKPOINT;"], source
        return [-1]

    def rows(self, query: str, source: str) -> list[tuple[int]]:
        """What the series of pages comes to."""
        [expressions] = re.findall(r"generate_series\((.*)\) AS page", query, re.DOTALL)
        first, last = (number(one.strip()) for one in expressions.split(",\n"))
        [row] = re.findall(r"SELECT (.*)", query)
        return [(number(row, page=page),) for page in range(first, last + 1)]


def asked_of(**options: object) -> tuple[list[str], Asked]:
    """The probes with these options, and what they ask."""
    asked = Asked()
    workload = find_workload("insert-read", {"added": ADDED, **options})
    names = explain_probes(workload, cast("WorkloadDatabase", cast(Any, asked)), SCALE)
    return [*names], asked


@pytest.fixture(scope="module")
def probes() -> dict[str, tuple[list[str], str]]:
    names, asked = asked_of()
    return dict(zip(names, asked.queries, strict=True))


def number(expression: str, **values: int) -> int:
    """SQL's arithmetic of whole numbers."""
    terms = re.sub(r"[a-z]+", lambda name: str(values[name[0]]), expression.replace("/", "//"))
    assert re.fullmatch(r"[0-9+\-*/() ]+", terms), terms
    return int(eval(terms))  # digits and signs alone


def rows(query: str) -> list[int]:
    """The keys that a probe reads."""
    [expression] = re.findall(r"m\.id = (.*)", query)
    return [number(expression, k=k) for k in range(1, 11)]


def test_three_rows_of_a_page_then_a_scan_then_two_behind_a_checkpoint(
    probes: dict[str, tuple[list[str], str]],
) -> None:
    assert [*probes] == [
        "first_touch", "second_touch", "third_touch", "same_row_again",
        "sequential_scan", "after_checkpoint", "between_checkpoints",
    ]  # fmt: skip
    assert [name for name, (before, _) in probes.items() if "CHECKPOINT;" in before] == [
        "after_checkpoint"
    ]


def test_each_reads_another_row_of_the_same_ten_pages(
    probes: dict[str, tuple[list[str], str]],
) -> None:
    read = {name: rows(query) for name, (_, query) in probes.items() if name != "sequential_scan"}
    assert read.pop("same_row_again") == read["first_touch"]
    pages = [[(row - 1) // PAGE for row in own] for own in read.values()]
    assert all(own == pages[0] for own in pages)
    assert len(set(pages[0])) == 10
    every = [row for own in read.values() for row in own]
    assert len(set(every)) == 50
    old, new = 1000 * SCALE, 10 * SCALE * ADDED
    assert old + new - 40 * PAGE < min(every), "no script reads these pages"
    assert max(every) <= old + new


def test_the_scan_ends_with_the_last_page_before_the_ten(
    probes: dict[str, tuple[list[str], str]],
) -> None:
    before, query = probes["sequential_scan"]
    assert "SET LOCAL synchronize_seqscans = off;" in before, "it begins with the first page"
    [expression] = re.findall(r"LIMIT (.*)\) AS m", query)
    limit = number(expression)
    assert limit % PAGE == 0
    _, first = probes["first_touch"]
    assert limit // PAGE == min((row - 1) // PAGE for row in rows(first))


def test_every_page_of_new_rows_is_read_by_a_row_that_nothing_else_reads(
    probes: dict[str, tuple[list[str], str]],
) -> None:
    names, asked = asked_of(every_page=True)
    at = names.index("every_page")
    assert names[at + 1] == "sequential_scan", "the ten pages come before it"
    queries = [query for _, query in asked.queries[at : len(asked.queries) - 3]]
    keys = [int(query.removeprefix("SELECT value FROM measurements WHERE id = ").rstrip(";"))
            for query in queries]  # fmt: skip
    old, new = 1000 * SCALE, 10 * SCALE * ADDED
    full = [page for page in range((old + new) // PAGE) if page * PAGE >= old]
    assert [(key - 1) // PAGE for key in keys] == full
    by_others = {row for name, (_, query) in probes.items() if name != "sequential_scan"
                 for row in rows(query)}  # fmt: skip
    assert not by_others & set(keys)
    assert {(key - 1) % PAGE for key in keys} == {50}, "scripts read rows 0, 20 and 40 of a page"
