"""A capture of any log takes bounded memory, and what was left out for it is counted and said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from steelyard.cli.views.workload_view import capture_lines, captured_json
from steelyard.workloads.capturing import memory, mix, transactions
from steelyard.workloads.capturing import statements as reading
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.memory import RecentSessions
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.statements import LoggedStatement, Protocol, statements
from steelyard.workloads.capturing.writing import write_workload

BYTES = 1 << 20


def statement(text: str, session: str = "1") -> LoggedStatement:
    return LoggedStatement(session, 0.0, 2.0, text, "simple")


def mixed(texts: Iterable[str]) -> Mix:
    ledger = CaptureLedger()

    def counted() -> Iterator[LoggedStatement]:
        for text in texts:
            ledger.read += 1
            yield statement(text)

    return mix_of(transactions.transactions(counted()), ledger=ledger)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mix, "MOST_MEMORY", BYTES)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("length", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_of_large_values_a_fair_sample_of_fewer_is_kept_and_said(
    tmp_path: Path, length: int
) -> None:
    count, value = 3_000, "x" * length
    large = (f"SELECT a FROM t WHERE id = {n} AND b = '{value}{n}'" for n in range(count))
    few = [f"SELECT b FROM u WHERE id = {n}" for n in range(50)]
    captured = mixed([*few, *large])
    [kind, other] = captured.kinds
    assert (kind.count, other.count) == (count, 50)
    assert BYTES / 8 <= kind.rows_bytes + other.rows_bytes <= BYTES / 2
    assert kind.rows_bytes == sum(map(memory.bytes_of, kind.rows))
    assert [row[0] for row in other.rows] == [str(n) for n in range(50)]
    # The mean of k draws from 0 … n scatters by n / sqrt(12 k); 5 times that.
    numbers = [int(str(row[0])) for row in kind.rows]
    assert abs(sum(numbers) / len(numbers) - count / 2) < 5 * count / (12 * len(numbers)) ** 0.5
    written = write_workload(captured, tmp_path / "made", name="made", source="log")
    assert written.statements_share == 1.0
    [note] = [line for line in capture_lines(written) if "fewer than 10,000" in line]
    assert f"01-select-t ({len(kind.rows)} executions)" in note
    kinds = json.loads(captured_json(written))["kinds"]
    assert [(facts["rows"], facts["thinned"]) for facts in kinds] == [
        (len(kind.rows), True),
        (50, False),
    ]


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_kinds_beyond_what_memory_holds_are_counted_by_name(tmp_path: Path) -> None:
    """As with tables that every session names anew."""
    names = [f"SELECT a FROM temporary_{n}" for n in range(2_000)]
    captured = mixed([*names, *names[:10], *names[-10:]])
    assert 50 < len(captured.kinds) < 250
    assert [kind.count for kind in captured.kinds[:11]] == [*[2] * 10, 1]
    left_out = captured.ledger.statements[StatementOutcome.NO_ROOM]
    assert left_out == 2_020 - sum(kind.count for kind in captured.kinds)
    written = write_workload(captured, tmp_path / "made", name="made", source="log", most=999)
    assert (StatementOutcome.NO_ROOM, left_out) in [
        (why, round(share * 2_020)) for why, share, _ in written.left_out
    ]


@pytest.mark.usefixtures("small")
def test_of_a_kind_that_memory_has_no_room_for_constants_are_values() -> None:
    names = [f"SELECT a FROM temporary_{n}" for n in range(2_000)]
    asked = [
        LoggedStatement("1", 0.0, 2.0, f"SELECT a FROM t WHERE k = {n % 5} AND id = $1",
                        "prepared", (str(n),))
        for n in range(10)
    ]  # fmt: skip
    texts = map(statement, names)
    read = transactions.transactions([asked[0], *texts, *asked[1:]])
    captured = mix_of(read, ledger=CaptureLedger(read=2_010))
    [kind] = [kind for kind in captured.kinds if kind.columns]
    # The rest of memory is for values.
    rows = sorted((str(n % 5), str(n)) for n in range(10))
    assert (kind.count, kind.thinned, sorted(map(str, kind.rows))) == (
        10, False, sorted(map(str, rows))
    )  # fmt: skip


@pytest.mark.usefixtures("small")
def test_where_one_row_of_each_kind_takes_all_of_memory_no_more_are_kept() -> None:
    large = "x" * (BYTES // 8)
    texts = [f"SELECT a{n} FROM t WHERE b = '{large}{m}'" for m in range(3) for n in range(9)]
    captured = mixed(texts)
    assert captured.ledger.statements[StatementOutcome.NO_ROOM] > 0
    assert all(len(kind.rows) == 1 for kind in captured.kinds)
    assert any(kind.thinned for kind in captured.kinds)
    left_out = captured.ledger.statements[StatementOutcome.NO_ROOM]
    assert sum(kind.count for kind in captured.kinds) + left_out == len(texts)


def test_sessions_whose_ends_are_not_logged_end_when_others_spoke_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (memory, reading):
        monkeypatch.setattr(module, "MOST_SESSIONS", 10)
    read = 0

    def entries() -> Iterator[LogEntry]:
        nonlocal read
        for number in range(1_000):
            for session, message in ((f"6.{number:x}", f"SELECT {number}"), ("1.1", "SELECT 0")):
                read += 1
                yield LogEntry(
                    session, float(number), "LOG", f"duration: 0.1 ms  statement: {message}", ""
                )

    behind = [
        read - number
        for number, _ in enumerate(transactions.transactions(statements(entries())), 1)
    ]
    assert (len(behind), read) == (2_000, 2_000)
    assert max(behind) <= 2 * 11
    names = RecentSessions()
    for number in range(1_000):
        names.add(str(number))
        names.add("a")
        assert "a" in names
        assert str(number - 5) in names or number < 5
        assert str(number - 10) not in names


@pytest.mark.parametrize("vxid", ["", "4/7"])
def test_a_transaction_too_large_to_be_repeated_is_not_held(
    monkeypatch: pytest.MonkeyPatch, vxid: str
) -> None:
    """A restore is one of millions of statements."""
    for module in (mix, transactions):
        monkeypatch.setattr(module, "MOST_LENGTH", 2_000)
    read = 0

    def restore() -> Iterator[LoggedStatement]:
        nonlocal read
        texts = ["SELECT 1", "BEGIN", *["INSERT INTO t VALUES (1)"] * 1_000, "COMMIT", "SELECT 2"]
        for number, text in enumerate(texts):
            read += 1
            inside = vxid if 0 < number < len(texts) - 2 else ""
            protocol: Protocol = "extended" if vxid else "simple"
            yield LoggedStatement("1", float(number), 1.0, text, protocol, vxid=inside)

    behind, pieces = 0, []
    for piece in transactions.transactions(restore()):
        behind = max(behind, read - sum(len(each.statements) for each in pieces))
        pieces.append(piece)
    assert behind < 2_000 / len("INSERT INTO t VALUES (1)") + 5
    outcomes = [(each.statements[0].text, each.outcome) for each in pieces if each.outcome is None]
    assert outcomes == [("SELECT 1", None), ("SELECT 2", None)]
    assert pieces[0].think_s == pytest.approx(1.0 - 0.001)
    captured = mix_of(iter(pieces))
    assert captured.ledger.statements == {StatementOutcome.LARGE: 1_002}
    assert (captured.ledger.completeness.begun, captured.ledger.completeness.unbegun) == (1, 0)


def test_durations_without_statements_are_counted_as_they_come() -> None:
    """log_duration alone: a session may have millions of them."""
    taken = 0

    def entries() -> Iterator[LogEntry]:
        nonlocal taken
        for taken in range(1, 1001):
            yield LogEntry("1", float(taken), "LOG", f"duration: {taken} ms", "")

    events = [(event, taken) for event in statements(entries())]
    logged = [(event, at) for event, at in events if isinstance(event, LoggedStatement)]
    assert [event.duration_ms for event, _ in logged] == list(range(1, 1001))
    assert {event.outcome for event, _ in logged} == {StatementOutcome.NO_TEXT}
    assert all(at - number <= 3 for number, (_, at) in enumerate(logged[:-2], 1))
