"""Syslog of every form is read, and what it escaped is put back or left out, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import StatementOutcome
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    CUT,
    entries,
    message,
    outcomes,
    stderr,
    texts,
)

TRADITIONAL = "Nov 28 03:00:{second:02} db1 postgres[{process}]: {number}"
FORMS = {
    "traditional": TRADITIONAL,
    "ISO": "2026-11-28T03:00:{second:02}.123456+00:00 db1 postgres[{process}]: {number}",
    "RFC 3164": "<134>Nov 28 03:00:{second:02} postgres[{process}]: {number}",
    "RFC 5424": "<134>1 2026-11-28T03:00:{second:02}.123Z db1 postgres {process} - - {number}",
    "RFC 5424, data": '<134>1 2026-11-28T03:00:{second:02}Z db1 postgres {process} ID [a b="\\]"]'
    " {number}",
    "precise": "Nov 28 03:00:{second:02}.123456 db1 postgres[{process}]: {number}",
}
PREFIXES = ("", "2026-11-28 03:00:00.000 UTC [{process}] ", "joe@shop ", "user=joe,db=shop ")


def escaped(text: str) -> str:
    """As rsyslog writes it."""
    return "".join(f"#{ord(c):03o}" if ord(c) < 32 or ord(c) == 127 else c for c in text)


def lines(
    form: str, prefix: str, number: int, text: str, *, numbered: bool = True, split: bool = True,
    escape: bool = True, process: int = 77,
) -> str:  # fmt: skip
    """A message, as PostgreSQL and a daemon write it."""
    own = f"{prefix.format(process=process)}LOG:  {message(text)}".replace("\n", "\n\t")
    parts = own.split("\n") if split else [own]
    heads = [
        FORMS[form].format(
            second=number % 60, process=process, number=f"[{number}-{part}] " if numbered else ""
        )
        for part in range(1, len(parts) + 1)
    ]
    bodies = map(escaped, parts) if escape else parts
    return "".join(f"{head}{body}\n" for head, body in zip(heads, bodies, strict=True))


OTHER = "Nov 28 03:00:00 db1 sshd[5]: Accepted publickey\n"
BODY = "select a,\n\tb\n  from t where id = {n}"


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("escape", [True, False])
def test_every_form_is_read(
    tmp_path: Path, form: str, prefix: str, numbered: bool, split: bool, escape: bool
) -> None:
    bodies = [BODY.format(n=n) for n in range(1, 5)]
    text = OTHER + OTHER.join(
        lines(form, prefix, n, body, numbered=numbered, split=split, escape=escape)
        for n, body in enumerate(bodies, 1)
    )
    read = entries(tmp_path, text)
    assert texts(read) == bodies
    assert {entry.session for entry in read} == {"77"}
    assert {entry.database for entry in read} == {"shop" if "shop" in prefix else ""}
    assert not any(entry.doubtful for entry in read)


def test_a_detail_of_a_message_that_is_not_split_is_its_own(tmp_path: Path) -> None:
    head = TRADITIONAL.format(second=1, process=77, number="[1-1] ")
    own = "2026-11-28 03:00:00.000 UTC [77] "
    body = f"{own}LOG:  duration: 1.0 ms  execute a: select $1\n\tfrom t\n{own}DETAIL:  "
    [entry] = entries(tmp_path, head + escaped(f"{body}Parameters: $1 = '7'") + "\n")
    assert (entry.message.split(": ")[2], entry.detail) == (
        "select $1\nfrom t", "Parameters: $1 = '7'"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "doubtful"),
    [
        ("#000000", False), ("#001122", False), ("#012345", False), ("#011add", True),
        ("#015000", True),
        ("#ffffff", False), ("#0112", True), ("#011", True), ("#015", True), ("#033", True),
        ("#000", False), ("#012", False), ("a#012b", False), ("#011 y", True), ("nr #011", True),
        ("#00112233", False),
        ("color:#001122;", False), ("ticket #017", True), ("#0115", True), ("#08", False),
        ("#019", False), ("#177", True),
    ],
)  # fmt: skip
def test_text_that_looks_escaped_is_left_as_it_is(
    tmp_path: Path, value: str, doubtful: bool
) -> None:
    text = f"select id from t where colour = '{value}'"
    read = entries(tmp_path, lines("traditional", "", 1, text))
    assert [(entry.message, entry.doubtful) for entry in read] == [(message(text), doubtful)]
    if not doubtful:
        assert outcomes(tmp_path, lines("traditional", "", 1, text)) == {CAPTURED: 1}


PLAIN = st.text(st.sampled_from("ab012 \t\r\n,="), max_size=12)
QUOTED = st.text(st.sampled_from("ab#012345f \t\r\n,="), max_size=12)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(PLAIN, QUOTED), max_size=4))
def test_what_is_not_doubtful_is_what_was_written(
    folder: Path, drawn: list[tuple[str, str]]
) -> None:
    text = "".join(f"{plain}'{quoted}'" for plain, quoted in drawn)
    text = f"select {text} from t"
    read = entries(folder, lines("traditional", "", 1, text) * 2)
    for entry in read:
        assert entry.doubtful or entry.message == message(text)


def test_a_tab_between_words_is_put_back(tmp_path: Path) -> None:
    text = "select\ta\tfrom\tt where b\t= 'x\ty'\tand\tc = 1"
    assert texts(entries(tmp_path, lines("traditional", "", 1, text))) == [text]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_message_that_lacks_a_part_is_not_whole(tmp_path: Path, missing: int) -> None:
    parts = lines("traditional", "", 7, "delete from t\nwhere a = 1\nand b = 2").splitlines(True)
    parts.pop(missing)
    own = lines("traditional", "", 1, "select 1"), lines("traditional", "", 9, "select 9")
    text = own[0] + "".join(parts) + own[1]
    expected = {CAPTURED: 2, CUT: 1} if missing < 2 else {CAPTURED: 3}
    # Whether the last one is missing cannot be known.
    assert outcomes(tmp_path, text) == expected


def test_a_stderr_log_of_which_the_prefix_looks_so_is_read_by_it(tmp_path: Path) -> None:
    text = stderr(1, "select\n1", "{stamp} postgres[{process}]: ")
    [entry] = entries(tmp_path, text * 2, prefix="%m postgres[%p]: ")[:1]
    assert (entry.session, entry.exact) == ("100", True)
    assert texts([entry]) == ["select\n1"]


HEROKU = (
    "2026-11-28T03:00:{second:02}.000000+00:00 app[postgres.{process}]: [{server}] [{n}-{part}] "
)
EARLIER = " sql_error_code = 00000 "
PRESENT = (
    ' sql_error_code = 00000 time_ms = "2026-11-28 03:00:{second:02}.250 UTC" pid="248773" '
    'proc_start_time="2026-11-28 02:59:00 UTC" session_id="6563.64" vtid="27/0" tid="0" '
    'log_line="1" database="shop" connection_source="10.0.0.1(5000)" user="joe" '
    'application_name="web: [6 of 16] - 1" '
)


def heroku(number: int, text: str, prefix: str, server: str = "DATABASE") -> str:
    """A message as `heroku logs` writes it."""
    own = f"{prefix.format(second=number)}LOG:  {message(text)}".replace("\n", "\n\t")
    return "".join(
        HEROKU.format(second=number, process=135, server=server, n=number + 1, part=part)
        + f"{line}\n"
        for part, line in enumerate(own.split("\n"), 1)
    )


@pytest.mark.parametrize("prefix", [EARLIER, PRESENT])
def test_what_heroku_writes_is_read(tmp_path: Path, prefix: str) -> None:
    others = (
        "2026-11-28T03:00:00.123456+00:00 app[web.1]: GET /orders\n"
        "2026-11-28T03:00:00.000000+00:00 app[heroku-postgres]: source=DATABASE sample#tables=7\n"
    )
    bodies = [BODY.format(n=n) for n in range(4)]
    log = others.join(heroku(n, body, prefix) for n, body in enumerate(bodies))
    read = entries(tmp_path, log)
    assert texts(read) == bodies
    # Behind whole seconds Heroku writes zeros.
    assert [entry.exact for entry in read] == [prefix == PRESENT] * 4
    expected = ("6563.64", "joe", "shop") if prefix == PRESENT else ("135", "", "")
    assert {(entry.session, entry.user, entry.database) for entry in read} == {expected}


def test_two_servers_of_heroku_are_refused(tmp_path: Path) -> None:
    log = heroku(0, "select 1", EARLIER) + heroku(1, "select 2", EARLIER, "PINK")
    with pytest.raises(UsageError, match="several servers: DATABASE, PINK") as refused:
        entries(tmp_path, log)
    assert "grep -F '[DATABASE]' LOG > NEW" in str(refused.value.hint)


NOTICES = {
    "rsyslog": "{host} postgres[77]: message repeated 3 times: [ LOG:  duration: 1.000 ms  st]",
    "sysklogd": "{host} last message repeated 3 times",
    "BSD": "{host} syslogd[5]: last message repeated 3 times",
    "macOS": "{host} --- last message repeated 3 times ---",
    "syslog-ng": "{host} postgres: Last message 'LOG:  duration: 1.00' repeated 3 times, "
    "suppressed by syslog-ng on db1",
}


@pytest.mark.parametrize("daemon", list(NOTICES))
def test_lines_that_syslog_counts_and_does_not_write_are_read_as_often(
    tmp_path: Path, daemon: str
) -> None:
    """As it does where PostgreSQL does not number them (syslog_sequence_numbers = off)."""
    first, last = (lines("ISO", "", n, f"select {n}", numbered=False) for n in (1, 9))
    notice = NOTICES[daemon].format(host="2026-11-28T03:00:05.500000+00:00 db1") + "\n"
    read = entries(tmp_path, first + notice + last)
    assert texts(read) == ["select 1"] * 4 + ["select 9"]
    assert [entry.exact for entry in read] == [True, False, False, False, True]
    assert [round(entry.seconds - read[0].seconds) for entry in read] == [0, 4, 4, 4, 8]
    of_other = texts(entries(tmp_path, first + OTHER + notice + last))
    assert len(of_other) == (5 if daemon == "rsyslog" else 2)
    statement = lines("ISO", "", 2, f"select '{notice.strip()}'", numbered=False)
    assert len(texts(entries(tmp_path, first + statement + last))) == 3


def test_a_line_of_a_statement_that_syslog_counts_is_in_it_as_often(tmp_path: Path) -> None:
    body = "select a\n,b\n,b\n,b\nfrom t"
    parts = lines("traditional", "", 1, body, numbered=False).splitlines(keepends=True)
    head = parts[0].partition("LOG:")[0]
    log = "".join([*parts[:2], f"{head}message repeated 2 times: [#011,b]\n", *parts[4:]])
    assert texts(entries(tmp_path, log)) == [body]
    alone = f"{head}message repeated 2 times: [ LOG:  duration: 1.000 ms  statement: sel]\n"
    assert outcomes(tmp_path, alone + parts[0]) == {CAPTURED: 1, CUT: 1}


HEAD = TRADITIONAL.format(second=1, process=77, number="")
BLANK = " " * len(HEAD)
DELETE = "delete from t\nwhere id = 1"
KERNEL = "Nov 28 03:00:01 db1 kernel: usb 1-1: new device\n"
WHOLE, PART = {CAPTURED: 3}, {CAPTURED: 2, CUT: 1}


@pytest.mark.parametrize("number", ["", "[2-1] "])
@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("\twhere id = 1\n", WHOLE), (f"{BLANK}\twhere id = 1\n", WHOLE),
        (f"\n\t\n{BLANK}\n{BLANK}\twhere id = 1\n", WHOLE),
        (f"{BLANK}\twhere id = 1\n-- Boot 3f2a --\n", WHOLE),
        (f"{BLANK}\twhere id = 1\n{KERNEL}  a dump\n\tof it\n", WHOLE),
        (f"{BLANK[:-2]}\twhere id = 1\n", PART), (f"{BLANK}where id = 1\n", PART),
        ("where id = 1\n", PART), ("    where id = 1\n", PART),
        (f"{BLANK}\twhere id = 1\n  and b = 2\n", PART), ("--\n", PART),
    ],
)  # fmt: skip
def test_lines_without_a_head_are_in_their_message_or_it_is_cut(
    tmp_path: Path, tail: str, number: str, expected: dict[str, int]
) -> None:
    """journalctl puts blanks before them, as wide as its head."""
    first, last = (
        lines("traditional", "", n, f"select {n}", numbered=bool(number)) for n in (1, 3)
    )
    body = f"{HEAD}{number}LOG:  {message(DELETE)}".partition("\n")[0]
    assert outcomes(tmp_path, f"{first}{body}\n{tail}{last}") == expected
    if expected is WHOLE:
        text = texts(entries(tmp_path, f"{first}{body}\n{tail}{last}"))[1]
        assert [row for row in text.splitlines() if row] == DELETE.splitlines()


@pytest.mark.parametrize("blank", ["", BLANK])
def test_a_tail_without_a_head_cuts_the_last_entry_of_the_log_before(
    tmp_path: Path, blank: str
) -> None:
    first = lines("traditional", "", 1, "delete from t", numbered=False)
    second = lines("traditional", "", 2, "select 1", numbered=False)
    tail = f"{blank}\twhere a = 1\n{blank}\tand b = 2\n"
    assert outcomes(tmp_path, first, tail + second) == {CAPTURED: 1, CUT: 2}
    assert outcomes(tmp_path, first, "  of another\n" + second) == {CAPTURED: 2}


@pytest.mark.parametrize("numbered", [True, False])
def test_lines_that_journalctl_left_out_are_refused(tmp_path: Path, numbered: bool) -> None:
    own = [lines("traditional", "", n, f"select {n}\nfrom t", numbered=numbered) for n in (1, 3)]
    for size in ("96B", "1.2K"):
        with pytest.raises(UsageError, match="journalctl left out lines") as refused:
            entries(tmp_path, f"{HEAD}[{size} blob data]\n".join(own))
        assert "journalctl --all" in str(refused.value.hint)
    others = OTHER.replace("Accepted publickey", "[96B blob data]")
    statement = lines("traditional", "", 2, "select '[96B blob data]'", numbered=numbered)
    read = texts(entries(tmp_path, f"{own[0]}{others}{statement}{own[1]}"))
    assert read == ["select 1\nfrom t", "select '[96B blob data]'", "select 3\nfrom t"]


def test_a_detail_whose_message_syslog_dropped_is_no_other_ones(tmp_path: Path) -> None:
    """rsyslog and journald drop lines that come too fast."""
    own = "2026-11-28 03:00:00.000 UTC [77] "
    log = "".join(
        f"{HEAD}[{n}-1] {own}LOG:  duration: 1.0 ms  execute a: select $1\n"
        f"{HEAD}[{n}-2] {own}DETAIL:  Parameters: $1 = '{n}'\n"
        for n in range(1, 4)
    ).splitlines(keepends=True)
    assert outcomes(tmp_path, "".join(log)) == {CAPTURED: 3}
    assert outcomes(tmp_path, "".join(log[:2] + log[3:])) == {CAPTURED: 2, CUT: 1}


@pytest.mark.parametrize("numbered", [True, False])
def test_messages_come_in_the_order_of_their_beginnings(tmp_path: Path, numbered: bool) -> None:
    """Of a process that is silent after them too: what ended the server came behind them."""
    written, numbers = [], dict.fromkeys(range(100, 120), 0)
    for n in range(400):
        process = 100 + n * n % 19
        numbers[process] += 1
        own = lines(
            "ISO", "", numbers[process], f"select {n}\n+ 1", numbered=numbered, process=process
        )  # fmt: skip
        earlier, later = f"T03:00:{numbers[process] % 60:02}", f"T03:{n // 7:02}:{n % 7 * 8:02}"
        written.append(own.replace(earlier, later))
    read = entries(tmp_path, "".join(written))
    assert texts(read) == [f"select {n}\n+ 1" for n in range(400)]


@pytest.mark.parametrize("numbered", [True, False])
def test_what_a_crash_ends_is_open_in_syslog_too(tmp_path: Path, numbered: bool) -> None:
    log = "".join(
        lines("traditional", "", 2 * n + 1, "begin", numbered=numbered, process=100 + n)
        + lines("traditional", "", 2 * n + 2, "select 1", numbered=numbered, process=100 + n)
        + lines("traditional", "", 2 * n + 3, "x", numbered=numbered, process=10)
        .replace(message("x"), "all server processes terminated; reinitializing")
        for n in range(9)
    )  # fmt: skip
    later = lines("traditional", "", 40, "select 2", numbered=numbered, process=300)
    assert outcomes(tmp_path, log + later) == {CAPTURED: 1, StatementOutcome.OPEN: 18}


@pytest.mark.parametrize(
    ("others", "second", "expected"),
    [(0, 1, {CAPTURED: 1}), (300, 9, {CAPTURED: 301}), (5, 45, {CAPTURED: 6, CUT: 1})],
)
def test_a_message_waits_for_its_lines_for_a_while(
    tmp_path: Path, others: int, second: int, expected: dict[str, int]
) -> None:
    """Lines of many processes mix; what comes after that is counted, for its own went on."""
    first, last = lines("traditional", "", 1, "delete from t\nwhere a = 1").splitlines(True)
    at = last.replace("03:00:01", f"03:00:{second:02}")
    mixed = "".join(
        lines("traditional", "", 1, f"select {n}", process=200 + n).replace(
            "03:00:01", f"03:00:{second:02}"
        )
        for n in range(others)
    )
    assert outcomes(tmp_path, first + mixed + at) == expected
