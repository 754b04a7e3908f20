"""No statement of a stderr log is lost in the entry before it: it is read, or counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.logs.other_lines import holds_statement
from thinned import thinned
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    CUT,
    DEFAULT,
    FOREIGN,
    csv,
    entries,
    jsonlog,
    message,
    outcomes,
    selects,
    stamp,
    stderr,
    texts,
)

HEADS = (
    DEFAULT, "{stamp} [{process}] joe@shop ", "{stamp} [{process}]: [7-1] user=joe,db=shop,app=a "
    "b,client=::1 ", "{stamp} [{process}]: [7-1] db=shop,user=joe,app=a,client=h ",
    "{stamp}:10.0.0.1(5):joe@shop:[{process}]:", "{stamp}-6563.64-",
    "{stamp} [{process}]: [7-1] db=shop,user=joe ",
)  # fmt: skip


def log(head: str, seconds: range, *, verbose: bool = False) -> str:
    lines = zip(seconds, selects(seconds), strict=True)
    return "".join(stderr(second, text, head, verbose=verbose) for second, text in lines)


@pytest.mark.parametrize("later", HEADS)
@pytest.mark.parametrize("earlier", HEADS)
@pytest.mark.parametrize("many", [3, 250])
def test_a_prefix_that_changes_is_followed(
    tmp_path: Path, earlier: str, later: str, many: int
) -> None:
    first, second = range(many), range(many, many + 40)
    read = entries(tmp_path, log(earlier, first) + log(later, second))
    assert texts(read) == selects(range(many + 40))
    if "joe" in later:
        assert {(entry.user, entry.database) for entry in read[many:]} == {("joe", "shop")}


def test_a_log_that_begins_with_background_processes_is_read_by_the_prefix_of_sessions(
    tmp_path: Path,
) -> None:
    background = "".join(
        f"{stamp(n)} [{n}] LOG:  automatic vacuum of table x: index scans: 0\n"
        + "\tpages: 0 removed\n" * 9
        for n in range(30)
    )
    read = entries(tmp_path, background + log("{stamp} [{process}] joe@shop ", range(30, 60)))
    assert texts(read)[30:] == selects(range(30, 60))
    assert {entry.database for entry in read[30:]} == {"shop"}


@pytest.mark.parametrize("prefix", [None, "%m [%p] "])
def test_sqlstates_of_verbose_errors_are_none_of_a_message(
    tmp_path: Path, prefix: str | None
) -> None:
    text = log(DEFAULT, range(5)) + log(DEFAULT, range(5, 10), verbose=True)
    text += f"{stamp(11)} [100] LOCATION:  check_log_duration, postgres.c:2400\n"
    text += f"{stamp(12)} [100] ERROR:  22012: division by zero\n"
    text += f"{stamp(12)} [100] STATEMENT:  ABCDE: 1\n"
    *read, failed = entries(tmp_path, text, prefix=prefix)
    assert texts(read) == selects(range(10))
    assert (failed.message, failed.statement) == ("division by zero", "ABCDE: 1")


OTHERS = {
    "another prefix": f"<app 7> LOG:  {message('select 1')}\n",
    "verbose": f"<app 7> LOG:  00000: {message('select 1')}\n",
    "no duration": "<app 7> LOG:  statement: select 1\n",
    "executed": "<7> LOG:  duration: 1.0 ms  execute py:0x1: select 1\n",
    "German": "<7> LOG:  Dauer: 1.000 ms  Anweisung: select 1\n",
    "Japanese": "<7> LOG:  期間: 1.000 ミリ秒  文: select 1\n",
    "failed": "<7> STATEMENT:  select 1\n",
    "csvlog": csv(7, "select 1"),
    "jsonlog": jsonlog(7, "select 1"),
}


@thinned("other", list(OTHERS), 2)
def test_statements_of_another_format_are_counted_and_many_are_refused(
    tmp_path: Path, other: str
) -> None:
    line = OTHERS[other]
    assert holds_statement(line)
    text = log(DEFAULT, range(5)) + line + log(DEFAULT, range(5, 8))
    assert outcomes(tmp_path, text) == {CAPTURED: 8, FOREIGN: 1}
    with pytest.raises(UsageError, match="30 statements are in another format") as refused:
        entries(tmp_path, log(DEFAULT, range(5)) + line * 30)
    assert "line 11" in str(refused.value)
    assert "select 1" not in str(refused.value)
    # A few in many are counted still.
    assert outcomes(tmp_path, log(DEFAULT, range(400)) + line * 9)[FOREIGN] == 9


NOISE = (
    f"{stamp(7)} P00   INFO: archive-push command begin", "rsync: building file list", "sent 5",
    "[warn] x", "total size is 16777216  speedup is 1.00", "ERROR: [082]: WAL segment",
)  # fmt: skip


@pytest.mark.parametrize("noise", NOISE)
def test_output_of_other_programs_is_no_part_of_an_entry(tmp_path: Path, noise: str) -> None:
    assert not holds_statement(noise)
    lines = [stderr(n, text) for n, text in enumerate(selects(range(6)))]
    assert texts(entries(tmp_path, f"{noise}\n".join(lines) + noise + "\n")) == selects(range(6))


def test_a_line_that_may_have_lost_its_tab_leaves_out_its_entry(tmp_path: Path) -> None:
    """Half of a DELETE would be another one."""
    text = stderr(1, "delete from t\nwhere id = 1").replace("\t", "") + stderr(2, "select 1")
    assert outcomes(tmp_path, text) == {CUT: 1, CAPTURED: 1}
    # An entry that another's line stands in is not whole either.
    first, rest = stderr(1, "delete from t\nwhere id = 1").split("\n", 1)
    text = stderr(0, "select\n1") + f"{first}\nnoise\n{rest}" + stderr(2, "select\n1")
    assert outcomes(tmp_path, text) == {CUT: 1, CAPTURED: 2}
    # Blank lines may be an entry's.
    text = stderr(1, "select 1,\n\n2\n").replace("\t\n", "\n") + stderr(2, "select 1")
    assert texts(entries(tmp_path, text)) == ["select 1,\n\n2", "select 1"]


def test_a_transaction_around_what_is_not_read_is_left_out(tmp_path: Path) -> None:
    steps = ["begin", "update t set a = 1", "commit", "select 1"]
    lines = [stderr(number, text) for number, text in enumerate(steps)]
    lines.insert(2, OTHERS["another prefix"])
    assert outcomes(tmp_path, "".join(lines)) == {CAPTURED: 1, FOREIGN: 4}


def test_the_tail_of_an_entry_is_counted_once_whatever_its_length(tmp_path: Path) -> None:
    text = "".join(f"\tline {number};\n" for number in range(1250)) + log(DEFAULT, range(3))
    for prefix in (None, "%m [%p] "):
        assert outcomes(tmp_path, text, prefix=prefix) == {CUT: 1, CAPTURED: 3}
    # What goes on from another file: that one's last entry is not whole.
    assert outcomes(tmp_path, log(DEFAULT, range(3)), f"\tand b\n{log(DEFAULT, range(5, 7))}") == {
        CUT: 2, CAPTURED: 4
    }  # fmt: skip


@pytest.mark.parametrize("nuls", [1, 50, 5000])
def test_nuls_that_a_crash_left_end_a_line_and_are_nothing_else(tmp_path: Path, nuls: int) -> None:
    lines = [stderr(number, f"select {number}") for number in range(300)]
    cut = "".join(lines[:150])[:-3].encode() + bytes(nuls)
    for between in (b"", b"\n"):
        read = entries(tmp_path, cut + between + "".join(lines[150:]).encode())
        assert [entry.whole for entry in read].count(False) == 1
        assert len(read) == 300
    assert len(entries(tmp_path, bytes(max(nuls, 8)) + b"\n" + "".join(lines).encode())) == 300


LINES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            LINES,
            st.lists(LINES, max_size=3),
            st.sampled_from(HEADS),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_drawn_statements_come_back_by_whatever_prefixes(
    folder: Path, drawn: list[tuple[str, list[str], str]]
) -> None:
    expected = ["\n".join([f"select '{first}'", *more]) for first, more, _ in drawn]
    text = "".join(
        stderr(n, body, head)
        for n, (body, (_, _, head)) in enumerate(zip(expected, drawn, strict=True))
    )
    assert texts(entries(folder, text)) == expected


@pytest.mark.parametrize("how", ["statement", "execute <unnamed>", "execute S_1"])
def test_a_text_that_begins_in_another_line_needs_no_blank_before_that(
    tmp_path: Path, how: str
) -> None:
    """Some that carry logs take blanks from the ends of lines."""
    lines = [
        f"{stamp(n)} [100] LOG:  duration: 1.000 ms  {how}:{blank}\n\tSELECT a\n\tFROM t\n"
        for n, blank in enumerate(["", " "])
    ]
    assert outcomes(tmp_path, "".join(lines)) == {CAPTURED: 2}


PLAIN, NUMBERED = "{stamp} [100] ", "{stamp} [100]: [{n}-1] user=joe,db=shop,app=a,client=h "
VALUED = "duration: 1.000 ms  execute a: select {n} from t where id = $1"


def rows(head: str, kinds: str) -> list[str]:
    """Lines of a session: L of a statement, D of its parameters, S of a failed one, H a hint."""
    labels = {
        "L": f"LOG:  {VALUED}", "D": "DETAIL:  Parameters: $1 = '{n}'",
        "S": "STATEMENT:  select x", "C": "CONTEXT:  in f", "H": "HINT:  none",
    }  # fmt: skip
    return [
        f"{head.format(stamp=stamp(n), n=n)}{labels[kind].format(n=n)}\n"
        for n, kind in enumerate(kinds, 1)
    ]


VALUES = StatementOutcome.NO_VALUES


@pytest.mark.parametrize(
    ("kinds", "order", "plain", "numbered"),
    [
        ("LDLDLD", "123456", {CAPTURED: 3}, {CAPTURED: 3}),
        ("LDLDLD", "12456", {CUT: 2, CAPTURED: 1}, {CUT: 1, CAPTURED: 2}),
        ("LDLDLD", "2456", {CUT: 2, CAPTURED: 1}, {CUT: 2, CAPTURED: 1}),
        ("LDLDLD", "23456", {CUT: 1, CAPTURED: 2}, {CUT: 1, CAPTURED: 2}),
        ("LDLDLD", "1256", {CAPTURED: 2}, {CAPTURED: 2}),
        ("LDLDLD", "1456", {CAPTURED: 2}, {VALUES: 1, CUT: 1, CAPTURED: 1}),
        ("LDLDLD", "214365", {CUT: 1, CAPTURED: 2, VALUES: 1}, {CAPTURED: 3}),
        ("LDLDLD", "132456", {VALUES: 1, CUT: 2, CAPTURED: 1}, {CAPTURED: 3}),
        ("LDHLDH", "2346", {CUT: 1, VALUES: 1}, {CUT: 2, VALUES: 1}),
        ("LDLDCS", "123456", {CAPTURED: 1, CUT: 1}, {CAPTURED: 1}),
    ],
)
def test_what_belongs_to_a_lost_entry_is_no_other_ones(
    tmp_path: Path, kinds: str, order: str, plain: dict[str, int], numbered: dict[str, int]
) -> None:
    """As by grep -v, or where an export orders lines of one time as it likes."""
    for head, expected in ((PLAIN, plain), (NUMBERED, numbered)):
        written_rows = rows(head, kinds)
        text = "".join(written_rows[int(place) - 1] for place in order)
        assert outcomes(tmp_path, text) == expected, head
        read = [entry for entry in entries(tmp_path, text) if entry.whole and entry.detail]
        for entry in read if head is NUMBERED else ():
            assert entry.detail == f"Parameters: $1 = '{int(entry.message.split()[6]) + 1}'"


@pytest.mark.parametrize(
    ("logged", "more", "plain", "numbered"),
    [
        (message("select 1"), "STATEMENT:  select x", {CUT: 1}, {}),
        (message("select 1"), "CONTEXT:  SQL function f", {CUT: 1}, {}),
        (message("select 1"), "HINT:  none", {CAPTURED: 1}, {CAPTURED: 1}),
        ("statement: select 1", "STATEMENT:  select 1", {CUT: 1}, {CAPTURED: 1}),
        (message("select 1"), "DETAIL:  Parameters: $1 = '1'", {CUT: 1}, {CAPTURED: 1}),
        (message("execute a(1)"), "DETAIL:  prepare: PREPARE a AS select 1", None, None),
        ("execute job 12: done", "CONTEXT:  PL/pgSQL function f() line 3 at RAISE", {}, {}),
        ("statement: done", "CONTEXT:  PL/pgSQL function f() line 3 at RAISE", {}, {}),
    ],
)  # fmt: skip
def test_a_statement_behind_which_an_error_is_lost_is_counted_as_cut(
    tmp_path: Path,
    logged: str,
    more: str,
    plain: dict[str, int] | None,
    numbered: dict[str, int] | None,
) -> None:
    """By its numbers it is known that a function wrote it."""
    for head, expected in ((PLAIN, plain), (NUMBERED, numbered)):
        own = [head.format(stamp=stamp(n), n=n) for n in range(4)]
        body = f"{own[1]}LOG:  {logged}\n{own[2]}{more}\n"
        text = f"{own[0]}LOG:  {message('select 0')}\n{body}"
        counted = outcomes(tmp_path, text)
        if expected is None:
            assert counted == {CAPTURED: 1, StatementOutcome.SESSION: 1}
        else:
            assert counted == {**expected, CAPTURED: expected.get(CAPTURED, 0) + 1}
