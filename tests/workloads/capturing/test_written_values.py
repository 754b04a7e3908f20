"""The values of a captured folder are read as they were: empty ones, any text, and many bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard._core import script_statements
from steelyard.model.errors import UsageError
from steelyard.workloads.capturing import writing
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.mix import MOST_LENGTH
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


@pytest.mark.long
def test_rows_and_literals_of_more_than_16_mib_are_read_again(tmp_path: Path) -> None:
    document = "x" * 5000
    logged = [
        *(
            said("SELECT a FROM t WHERE b = $1", parameters=[f"{number}{document}"])
            for number in range(4000)
        ),
        said("SELECT c FROM t WHERE b = $1", parameters=["'" * (9 << 20)]),
    ]
    write_workload(mixed(*logged), tmp_path / "made", name="made", source="log")
    workload = read_workload(tmp_path / "made")
    assert len(workload.draws["01-select-t"]) == 4000
    assert len(workload.script("02-select-t").content) > 18 << 20


def test_of_rows_that_fill_their_file_a_fair_sample_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, taken, text = 2000, 500, "é" * 10
    bytes_each = len(f"{text}\t0000\n".encode())
    monkeypatch.setattr(writing, "MOST_BYTES", taken * bytes_each + 1)
    asked = "SELECT a FROM t WHERE b = $1 AND id = $2"
    logged = [
        said(asked, protocol="prepared", parameters=[text, f"{number:04}"])
        for number in range(count)
    ]
    captured = write_workload(mixed(*logged), tmp_path / "made", name="made", source="log")
    file = tmp_path / "made" / "rows" / "01-select-t.tsv"
    rows = read_workload(tmp_path / "made").draws["01-select-t"]
    [(_, kind)] = captured.scripts
    assert file.stat().st_size == taken * bytes_each
    assert [tuple(row) for row in rows] == kind.rows
    assert kind.count == count
    # Uniform over 0 .. 2,000: the mean of 500 of them scatters by 22; 5 times that.
    assert abs(sum(int(str(row[1])) for row in rows) / taken - count / 2) < 112


def test_a_transaction_that_no_script_holds_is_left_out_by_name(tmp_path: Path) -> None:
    half = "x" * (MOST_LENGTH // 2)
    asked = "SELECT a FROM t WHERE b = $1"
    mix = mixed(
        said("BEGIN"), said(asked, parameters=[half]), said(asked, parameters=[half]),
        said("COMMIT"), said(asked, parameters=[half]), said(f"SELECT '{half}', '{half}'"),
    )  # fmt: skip
    assert mix.ledger.statements == {StatementOutcome.LARGE: 5}
    write_workload(mix, tmp_path / "made", name="made", source="log")
    assert list(read_workload(tmp_path / "made").scripts) == ["01-select-t"]


def test_rows_that_are_too_many_to_read_say_what_to_type(tmp_path: Path) -> None:
    logged = [said("SELECT a FROM t WHERE b = $1", parameters=[str(number)]) for number in (1, 2)]
    write_workload(mixed(*logged), tmp_path / "made", name="made", source="log")
    with (tmp_path / "made" / "rows" / "01-select-t.tsv").open("ab") as file:
        file.truncate((128 << 20) + 1)
    with pytest.raises(UsageError, match="it is larger than 128 MB") as refused:
        read_workload(tmp_path / "made")
    assert "shuf -n 1000" in str(refused.value.hint)
