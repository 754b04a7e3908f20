"""The values of a captured folder are read as they were: empty ones, any text, and many bytes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.capturing.writing import write_workload
from steelyard.workloads.reading.folder import read_workload
from steelyard.workloads.reading.rows import read_rows, rows_text
from steelyard.workloads.reading.workload import WorkloadFile
from workloads.capturing.test_mix import mixed, said

VALUES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n))))
def test_rows_of_any_values_are_read_from_their_file_as_they_were(
    rows: list[list[str | None]],
) -> None:
    file = WorkloadFile(Path("rows.tsv"), rows_text(rows).encode())
    assert read_rows(file.text()) == rows


def test_executions_with_an_empty_value_are_driven_as_often_as_they_were(tmp_path: Path) -> None:
    values = ["a", "", "b", "", ""]
    asked = "SELECT id FROM t WHERE email = $1"
    logged = [said(asked, protocol="prepared", parameters=[value]) for value in values]
    write_workload(mixed(*logged), tmp_path / "made", name="made", source="log")
    assert read_workload(tmp_path / "made").draws == {"01-select-t": [[v] for v in values]}
