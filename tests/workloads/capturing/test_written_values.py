"""The values of a captured folder are read as they were: empty ones, any text, and many bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard._core import script_statements
from steelyard.workloads.capturing.statements import Protocol
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


@pytest.mark.parametrize("value", ["a\r\nb", "\r", "it's\r\\", "tab\t\f\v:p1\n"])
@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_a_value_that_never_differs_is_sent_as_it_was(
    tmp_path: Path, protocol: Protocol, value: str
) -> None:
    quoted = value.replace("'", "''")
    logged = [
        said(f"SELECT id FROM t WHERE s = '{quoted}'", protocol=protocol),
        said("SELECT a FROM t WHERE s = $1", protocol=protocol, parameters=[value]),
    ]
    captured = write_workload(mixed(*logged), tmp_path / "made", name="made", source="log")
    assert captured.mode == protocol
    workload = read_workload(tmp_path / "made")
    by_literal, by_parameter = (
        script_statements(name, workload.script(name).text(), {}, tables=workload.draws)[0]
        for name in ("01-select-t", "02-select-t")
    )
    escaped = "E'{}'".format(quoted.replace("\\", "\\\\"))
    if protocol == "simple":
        assert f"'{quoted}'" in by_literal
        assert f"'{quoted}'" in by_parameter or escaped in by_parameter
    else:
        assert escaped.replace("\r", r"\r").replace(":p1", r"\x3Ap1") in by_literal
        assert workload.draws["02-select-t"] == [[value]]
