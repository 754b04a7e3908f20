"""A log of slow statements alone, or a sample of them, is not taken for all of the traffic."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from steelyard.cli.views.workload_view import capture_lines, captured_json
from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger
from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions
from steelyard.workloads.capturing.writing import Captured, write_workload
from thinned import thinned
from workloads.capturing.logs.log_lines import csv, jsonlog, message, stamp, stderr


def line(number: int, message: str, process: int = 7, level: str = "LOG") -> str:
    second, ms = divmod(number * 7, 1000)
    minute, second = divmod(second, 60)
    return f"2026-11-28 03:{minute:02}:{second:02}.{ms:03} UTC [{process}] {level}:  {message}\n"


def captured(folder: Path, lines: Sequence[str]) -> Captured:
    log = folder / "postgresql.log"
    log.write_text("".join(lines))
    ledger = CaptureLedger()
    mix = mix_of(transactions(statements(read_entries([log]), ledger)), ledger=ledger)
    return write_workload(mix, folder / "made", name="made", source="log", writes=True)


def notes(capture: Captured) -> list[str]:
    return [text for text in capture_lines(capture) if text.startswith("note: ")]


def test_statements_of_several_databases_in_one_mix_are_said(tmp_path: Path) -> None:
    """The same text in each, as of tenants: its values are keys of one of them alone."""

    def of_database(number: int, database: str) -> str:
        text = line(number, f"duration: 0.1 ms  statement: select {number} from t")
        return text.replace("] LOG", f"] app@{database} LOG")

    names = ["shop", "shop", "crm", "a\x1b[1m", "shop", *(f"tenant{n}" for n in range(4))]
    capture = captured(tmp_path, [of_database(n, name) for n, name in enumerate(names)])
    [note] = notes(capture)
    named = "shop (33.3 %), crm (11.1 %), a\\x1b[1m (11.1 %), "
    assert note.startswith(f"note: statements of 7 databases are one mix: {named}")
    assert " and 2 more; " in note
    assert "--database NAME" in note
    assert not [text for text in capture_lines(capture, None, "shop") if "databases" in text]
    assert json.loads(captured_json(capture))["databases"]["shop"] == 3


def slow(number: int) -> str:
    text = f"duration: {250 + number}.5 ms  statement: select a from t where id = 7"
    return line(number, text, 1000 + number)  # at once, each in a session of its own


SLOW = [slow(number) for number in range(50)]
READ, WRITE = "statement: select a from t where id = 7", "statement: insert into t values (7)"


def test_a_log_of_slow_statements_alone_says_so(tmp_path: Path) -> None:
    capture = captured(tmp_path, SLOW)
    [note] = notes(capture)
    assert "less than 250.5 ms" in note
    assert json.loads(captured_json(capture))["least_ms"] == 250.5


@pytest.mark.parametrize(
    ("others", "is_noted"),
    [
        ([], True),
        ([f"duration: 0.1 ms  {READ}"], False),
        (["duration: 0.1 ms"], False),  # log_duration: what was quick is in it, without its text
        ([READ], False),  # log_statement = all: it is in it, without its duration
        (["statement: BEGIN", WRITE, "statement: COMMIT"], False),
        ([WRITE] * 3, True),  # log_statement = mod
    ],
)
def test_what_was_quick_may_be_in_the_log_by_other_settings(
    tmp_path: Path, others: list[str], is_noted: bool
) -> None:
    for place in (0, 20, 49):
        folder = tmp_path / str(place)
        folder.mkdir()
        rows = [*SLOW[:place], *(line(7 * place, text, 8) for text in others), *SLOW[place:]]
        noted = [note for note in notes(captured(folder, rows)) if "took less" in note]
        assert len(noted) == is_noted


CHANGES = [
    "insert into t values (7)",
    "/* app */ UPDATE t SET a = 7",
    "delete from t",
    "DROP TABLE u",
]


@pytest.mark.parametrize(
    ("others", "is_noted"),
    [
        ([], True),
        (["statement: COPY t FROM STDIN", "execute s1: with a as (table u) insert into t table a"],
         True),
        (["duration: 900.0 ms  statement: select a from t"], True),
        ([READ], False),
        (["statement: COMMIT"], False),
        (["statement: SET a = 1"], False),
        (["execute S_1: START TRANSACTION"], False),
    ],
)  # fmt: skip
def test_a_log_of_changes_alone_says_so(tmp_path: Path, others: list[str], is_noted: bool) -> None:
    """As log_statement = mod makes it: what reads is not in it."""
    rows = [line(n, f"statement: {CHANGES[n % 4]}") for n in range(20)]
    rows[10:10] = [line(10, text, 8) for text in others]
    for log, expected in ((rows, is_noted), (rows[: -2 - len(others)], False)):
        folder = tmp_path / str(len(log))
        folder.mkdir()
        noted = [note for note in notes(captured(folder, log)) if "none that reads" in note]
        assert len(noted) == expected
        assert all("log has 20 that change something" in note for note in noted)


def test_changes_with_their_durations_are_all_that_there_is(tmp_path: Path) -> None:
    """With log_min_duration_statement = 0 beside log_statement = mod."""
    rows = [
        line(n, text) for n in range(30) for text in (f"statement: {CHANGES[n % 3]}",
                                                      "duration: 0.2 ms")
    ]  # fmt: skip
    assert not notes(captured(tmp_path, rows))


def test_of_a_few_slow_statements_nothing_is_known(tmp_path: Path) -> None:
    assert not notes(captured(tmp_path, SLOW[:19]))


def test_statements_that_failed_are_no_slow_ones(tmp_path: Path) -> None:
    """Those with durations are counted in one place: of what was executed."""
    failed = [
        row
        for process in range(20)
        for row in (
            line(9, "duration: 400.0 ms  parse <unnamed>: select b from t", process),
            line(9, 'column "b" does not exist', process, "ERROR"),
            line(9, "select b from t", process, "STATEMENT"),
        )
    ]
    assert not notes(captured(tmp_path, [*SLOW[:10], *failed, *SLOW[10:19]]))


def traffic(sessions: int = 8, each: int = 60) -> list[str]:
    """Transactions of several sessions at once."""
    texts = ["BEGIN", "select a from t where id = 7", "select b from u", "COMMIT"]
    return [
        line(number, f"duration: 0.2 ms  statement: {texts[step % 4]}", process)
        for number, (step, process) in enumerate(
            (step, process) for step in range(4 * each) for process in range(sessions)
        )
    ]


@thinned("rate", [0.1, 0.5, 0.9], 1)
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_statements_says_so(tmp_path: Path, rate: float, seed: int) -> None:
    draw = random.Random(seed)
    capture = captured(tmp_path, [row for row in traffic() if draw.random() < rate])
    [note] = notes(capture)
    assert "log_statement_sample_rate" in note
    assert json.loads(captured_json(capture))["without_begin"] >= 10


@thinned("at", [0, 1, 5, 9, 17, 25], 1)
def test_a_log_that_begins_within_transactions_is_no_sample(tmp_path: Path, at: int) -> None:
    assert not notes(captured(tmp_path, traffic()[at:]))


def test_a_commit_of_nothing_is_no_sign_of_a_sample(tmp_path: Path) -> None:
    stray = [
        line(n, "there is no transaction in progress", level="WARNING")
        + line(n, "duration: 0.1 ms  statement: COMMIT")
        for n in range(100)
    ]
    assert not notes(captured(tmp_path, [*traffic(1, 5), *stray]))


def of_stderr(number: int) -> str:
    """With a DETAIL, which has a number of its own."""
    head = "{stamp} [{process}]: [%d-1] db=shop,user=joe "
    begin = (head % (2 * number)).format(stamp=stamp(number), process=100)
    return stderr(number, TEXT, head % (2 * number - 1)) + f"{begin}DETAIL:  parameters: $1 = '7'\n"


TEXT = "select a from t where id = 7"
FORMS: dict[str, tuple[Callable[[int], str], int]] = {
    "csvlog": (lambda n: csv(n, TEXT).replace(",6563.64,1,", f",6563.64,{n},"), 1),
    "jsonlog": (lambda n: json.dumps(json.loads(jsonlog(n, TEXT)) | {"line_num": n}) + "\n", 1),
    "stderr": (of_stderr, 2),
    "syslog": (lambda n: f"Nov 28 03:00:00 db postgres[100]: [{n}-1] LOG:  {message(TEXT)}\n", 1),
}
"""An entry by its number, and how many lines it has that are numbered."""


@pytest.mark.parametrize("form", FORMS)
def test_entries_that_are_missing_between_others_are_said(tmp_path: Path, form: str) -> None:
    write, lines = FORMS[form]
    every = [write(number) for number in range(1, 301)]
    dropped = random.Random(form).sample(range(1, 299), 100)
    rest = [entry for place, entry in enumerate(every) if place not in dropped]
    # fmt: off
    logs = {"rest": rest, "all": every, "end": every[100:], "begin": every[:100],
            "next session": every[:50] + [e.replace("6563.64", "6570.64") for e in every[:50]]}
    # fmt: on
    captures = {}
    for name, log in logs.items():
        (tmp_path / name).mkdir()
        captures[name] = captured(tmp_path / name, log)
    [note] = notes(captures.pop("rest"))
    assert f"{100 * lines} of {300 * lines} lines (33.3 %) are not in the log" in note
    for capture in captures.values():
        assert not notes(capture)
        assert json.loads(captured_json(capture))["missing_lines"] == 0


@pytest.mark.parametrize("form", ["csvlog", "jsonlog"])
def test_entries_in_no_order_or_twice_are_refused(tmp_path: Path, form: str) -> None:
    """As a table gives them that is ordered by its times alone, or a shipper that delivers at least
    once."""
    write, _ = FORMS[form]
    every = [write(number) for number in range(1, 101)]
    logs = {
        "swapped": [row for n in range(0, 100, 2) for row in (every[n + 1], every[n])],
        "once swapped": [*every[:50], every[51], every[50], *every[52:]],
        "twice": [*every[:50], *every[40:]],
        "each twice": [row for row in every for _ in range(2)],
    }
    for name, log in logs.items():
        (tmp_path / name).mkdir()
        with pytest.raises(UsageError, match="no order, twice in it") as refused:
            captured(tmp_path / name, log)
        assert "ORDER BY log_time, session_id, session_line_num" in str(refused.value.hint)


def numbered(number: int, ms: int, process: int = 100) -> str:
    return (
        f"2026-11-28 03:00:{ms // 1000:02}.{ms % 1000:03} UTC [{process}]: [{number}-1] "
        f"user=joe,db=shop,app=a,client=c LOG:  duration: 0.010 ms  {READ}\n"
    )


@pytest.mark.parametrize(
    ("numbers", "is_refused"),
    [
        ((1, 2, 4, 3, 5, 7, 6, 8), True),
        ((1, 2, 2, 3, 3, 4), True),
        ((1, 2, 4, 3, 5), False),  # once
        ((7, 8, 9, 1, 2, 3, 1, 2, 1, 2), False),  # the next session
    ],
)
def test_numbers_of_a_process_that_go_back_at_once_are_no_next_ones(
    tmp_path: Path, numbers: Sequence[int], is_refused: bool
) -> None:
    log = [numbered(number, 10 * place) for place, number in enumerate(numbers)]
    later = [numbered(number, 2000 * place) for place, number in enumerate(numbers)]
    assert captured(tmp_path, later)  # each of another process
    (tmp_path / "made" / "workload.toml").unlink()
    if is_refused:
        with pytest.raises(UsageError, match="several servers"):
            captured(tmp_path, log)
    else:
        folder = tmp_path / "other"
        folder.mkdir()
        assert captured(folder, log)


def test_numbers_that_never_rise_say_nothing(tmp_path: Path) -> None:
    assert captured(tmp_path, [csv(n, TEXT) for n in range(20)])


@pytest.mark.parametrize("detail", ["", line(2, "parameters: $1 = 'long...'", level="DETAIL")])
def test_parameters_that_are_not_in_the_log_are_said_with_what_logs_them(
    tmp_path: Path, detail: str
) -> None:
    """Of log_error_verbosity = terse a log has no DETAIL at all."""
    executed = line(1, "duration: 0.1 ms  execute <unnamed>: select a from t where b = $1") + detail
    with pytest.raises(UsageError, match="nothing is left of the log") as refused:
        captured(tmp_path, [executed])
    settings = "log_parameter_max_length = -1 (and no log_error_verbosity = terse)"
    assert refused.value.hint == f"{settings} logs parameters whole."
    capture = captured(tmp_path, [executed, line(3, f"duration: 0.1 ms  {READ}")])
    [left_out] = [text for text in capture_lines(capture) if text.startswith("left out: ")]
    assert left_out.endswith(f"; {settings} logs them")
