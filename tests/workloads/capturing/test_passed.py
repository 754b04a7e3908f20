"""Values of the binary format become the text that the server reads, or are refused; a file of
notes becomes sessions with their statements."""

from __future__ import annotations

import contextlib
import io
import struct
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.mix import TransactionKind, mix_of
from steelyard.workloads.capturing.passed.binary_values import UndecodableError, text_of
from steelyard.workloads.capturing.passed.spool import passed_statements
from steelyard.workloads.capturing.passed.startup_settings import startup_settings
from steelyard.workloads.capturing.passed.type_names import type_name
from steelyard.workloads.capturing.scripting import script_of, texts_of
from steelyard.workloads.capturing.statements import LoggedStatement, SessionEnd
from steelyard.workloads.capturing.transactions import transactions


def hexed(words: str) -> bytes:
    return bytes.fromhex(words)


@pytest.mark.parametrize(
    ("oid", "data", "text"),
    [
        (16, b"\1", "t"), (16, b"\0", "f"), (21, b"\xff\xff", "-1"), (23, b"\0\0\1\0", "256"),
        (20, b"\x80" + b"\0" * 7, str(-(2**63))), (26, b"\xff\xff\xff\xff", "4294967295"),
        (700, struct.pack(">f", 0.1), "0.1"), (701, struct.pack(">d", 0.1), "0.1"),
        (701, struct.pack(">d", float("-inf")), "-Infinity"), (700, hexed("7fc00000"), "NaN"),
        (17, b"\0\xff", "\\x00ff"), (25, "é".encode(), "é"), (3802, b"\1{}", "{}"),
        (2950, bytes(15) + b"\7", "00000000-0000-0000-0000-000000000007"),
        (1082, struct.pack(">i", -1), "1999-12-31"), (1082, hexed("7fffffff"), "infinity"),
        (1114, struct.pack(">q", 250_000), "2000-01-01 00:00:00.250000"),
        (1184, struct.pack(">q", -(2**63)), "-infinity"),
        (1083, struct.pack(">q", 86_400_000_000), "24:00:00.000000"),
        (1186, struct.pack(">qii", -5, 3, 14), "14 mons 3 days -5 microseconds"),
        (829, hexed("08002b010203"), "08:00:2b:01:02:03"),
        (1560, hexed("0000000aff40"), "1111111101"),
        (1266, struct.pack(">qi", 1_000_000, -5400), "00:00:01.000000+01:30:00"),
        (3904, hexed("020000000400000001") + hexed("0000000400000005"), '["1","5")'),
        (3904, hexed("01"), "empty"), (3904, hexed("18"), "(,)"),
        (4451, hexed("00000001" "00000009" "120000000400000001"), '{["1",)}'),
        (869, hexed("0220000401020304"), "1.2.3.4"), (650, hexed("020801040a000000"), "10.0.0.0/8"),
    ],
)  # fmt: skip
def test_a_value_is_the_text_that_the_server_reads(oid: int, data: bytes, text: str) -> None:
    assert text_of(oid, data, "utf-8") == text


def numeric(weight: int, sign: int, scale: int, *digits: int) -> bytes:
    return struct.pack(f">hhHh{len(digits)}H", len(digits), weight, sign, scale, *digits)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (numeric(0, 0, 0), "0"), (numeric(1, 0x4000, 0, 1, 2345), "-12345"),
        (numeric(0, 0, 3, 12, 3400), "12.340"), (numeric(-1, 0, 4, 5), "0.0005"),
        (numeric(-2, 0, 8, 12), "0.00000012"), (numeric(1, 0, 4, 1, 0, 1), "10000.0001"),
        (numeric(2, 0, 0, 7), "700000000"), (numeric(0, 0xC000, 0), "NaN"),
        (numeric(0, 0xD000, 0), "Infinity"), (numeric(0, 0, 2, 0, 5000), "0.50"),
    ],
)  # fmt: skip
def test_numerics_keep_their_scale(data: bytes, text: str) -> None:
    assert text_of(1700, data, "utf-8") == text


def array(oid: int, bounds: list[tuple[int, int]], *elements: bytes | None) -> bytes:
    head = struct.pack(">iiI", len(bounds), 0, oid)
    head += b"".join(struct.pack(">ii", *one) for one in bounds)
    body = [
        struct.pack(">i", -1) if one is None else struct.pack(">i", len(one)) + one
        for one in elements
    ]
    return head + b"".join(body)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (array(25, []), "{}"), (array(25, [(2, 1)], b"a", None), '{"a",NULL}'),
        (array(25, [(1, 1)], b'q"\\ ,{}'), '{"q\\"\\\\ ,{}"}'),
        (array(25, [(2, 1), (2, 1)], b"1", b"2", b"3", b"4"), '{{"1","2"},{"3","4"}}'),
        (array(25, [(1, 0)], b"x"), '[0:0]={"x"}'),
    ],
)  # fmt: skip
def test_arrays_are_quoted_and_nested(data: bytes, text: str) -> None:
    assert text_of(1009, data, "utf-8") == text


@dataclass(frozen=True)
class Own:
    kind: str
    of: int = 0
    name: str = "app.own"


def field(oid: int, value: bytes | None) -> bytes:
    size = -1 if value is None else len(value)
    return struct.pack(">Ii", oid, size) + (value or b"")


TYPES = {
    20001: Own("enum"), 20002: Own("domain", 23), 20003: Own("composite"),
    20004: Own("range", 20001),
    20005: Own("array", 20001), 20006: Own("same", 25), 20007: Own("other", name='app."a:b"'),
}  # fmt: skip


@pytest.mark.parametrize(
    ("oid", "data", "text"),
    [
        (20001, "é".encode(), "é"), (20002, b"\0\0\0\7", "7"), (20006, b"x", "x"),
        (20005, array(20001, [(2, 1)], b"sad", None), '{"sad",NULL}'),
        (20003, struct.pack(">i", 3) + field(20002, b"\0\0\0\1") + field(25, None)
         + field(20001, b'a"\\'), '("1",,"a\\"\\\\")'),
        (20004, hexed("06") + field(0, b"a")[4:] + field(0, b"b")[4:], '["a","b"]'),
    ],
)  # fmt: skip
def test_types_that_a_database_defines_are_read_by_what_they_are_made_of(
    oid: int, data: bytes, text: str
) -> None:
    assert text_of(oid, data, "utf-8", TYPES) == text
    for damaged in (data[:-1], data + b"\0") if oid in (20002, 20003, 20004, 20005) else ():
        with pytest.raises(UndecodableError):
            text_of(oid, damaged, "utf-8", TYPES)
    with pytest.raises(UndecodableError):
        text_of(oid, data, "utf-8")


def test_a_type_that_only_the_server_knows_is_refused_and_a_colon_is_no_name_for_a_script() -> None:
    with pytest.raises(UndecodableError):
        text_of(20007, b"x", "utf-8", TYPES)
    assert type_name(20001, TYPES) == "app.own"
    assert type_name(20007, TYPES) is None
    assert type_name(20001) is None


def test_rows_within_rows_without_end_are_refused() -> None:
    data = b""
    for _ in range(20_000):
        data = struct.pack(">i", 1) + field(20003, data)
    with pytest.raises(UndecodableError):
        text_of(20003, data, "utf-8", TYPES)


@given(st.sampled_from([16, 20, 23, 700, 1007, 1082, 1114, 1186, 1700, 869, 3802, 99999, 0,
       3904, 4451, 1560, 1266, *TYPES]),
       st.binary(max_size=40))  # fmt: skip
def test_any_bytes_are_a_text_or_refused(oid: int, data: bytes) -> None:
    with contextlib.suppress(UndecodableError):
        assert isinstance(text_of(oid, data, "utf-8", TYPES), str)


def test_types_have_the_names_that_sql_gives_them() -> None:
    assert [type_name(oid) for oid in (23, 1007, 18, 1560, 70000, 0)] == [
        "int4", "int4[]", '"char"', '"bit"', None, None,
    ]  # fmt: skip


def record(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body


def piece(connection: int, *records: bytes) -> bytes:
    body = b"".join(records)
    return struct.pack("<II", connection, len(body)) + body


def types_of(*oids: int) -> bytes:
    return struct.pack(f"<H{len(oids)}I", len(oids), *oids)


def words_of(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()


def statement(
    text: str | None,
    *values: tuple[int, bytes | None],
    number: int = 0,
    oids: tuple[int, ...] = (),
    at: int = 1,
    protocol: int = 1,
    became: int = 0,
    flags: int = 0,
) -> bytes:
    """`text`: of an unnamed one; the times are in seconds."""
    head = struct.pack("<QQBBBI", at * 10**9, 10**6, protocol, became, flags, number)
    named = b"" if text is None else types_of(*oids) + words_of(text)
    given = b"".join(
        struct.pack("<Bi", form, -1 if value is None else len(value)) + (value or b"")
        for form, value in values
    )
    return record(b"Q", head + named + struct.pack("<H", len(values)) + given)


SESSION = record(b"S", b"u\0shop\0app\0")
END = record(b"X", b"")


def read(
    *pieces: bytes, database: str | None = None
) -> tuple[list[LoggedStatement], CaptureLedger]:
    ledger = CaptureLedger()
    events = list(passed_statements(io.BytesIO(b"".join(pieces)), ledger, database))
    return [one for one in events if not isinstance(one, SessionEnd)], ledger


def test_sessions_statements_and_their_values_are_read() -> None:
    prepared = struct.pack("<I", 5) + types_of(0, 21) + words_of("SELECT $1, $2")
    found, ledger = read(
        piece(1, SESSION, statement("SELECT 1", protocol=0)),
        piece(
            2,
            SESSION,
            record(b"P", prepared),
            record(b"O", struct.pack("<I", 5) + types_of(23, 21)),
        ),
        piece(2, statement(None, (1, b"\0\0\0\7"), (0, b"8"), number=5, protocol=2), END),
        piece(1, statement("SELECT $1", (0, None), oids=(25,), became=1), END),
        piece(3, SESSION)[:-3],
    )
    assert [one.text for one in found] == ["SELECT 1", "SELECT $1, $2", "SELECT $1"]
    assert found[1].parameters == ("7", "8")
    assert found[1].types == (None, "int2"), "what a client declared, and not what was inferred"
    assert found[2].outcome is StatementOutcome.FAILED
    assert [one.database for one in found] == ["shop"] * 3
    assert (found[0].seconds, found[0].ended) == (0.001, 1.0)
    assert ledger.read == 3


def test_what_cannot_be_read_is_left_out_by_its_name() -> None:
    found, _ = read(
        piece(
            1,
            SESSION,
            statement("SELECT $1", (1, b"\1\2")),
            statement("SELECT $1", (1, b"x"), oids=(70000,)),
            statement("SELECT 1", flags=1),
            statement("SELECT $1", flags=2),
            record(b"E", b"MULE_INTERNAL"),
            statement("SELECT 'é'", protocol=0),
            statement("SELECT 1", protocol=0),
            record(b"E", b"LATIN1"),
            statement("SELECT 'é'", protocol=0),
        )
    )
    assert [one.outcome for one in found] == [
        StatementOutcome.BINARY_VALUES, StatementOutcome.BINARY_VALUES,
        StatementOutcome.LONG_TEXT, None, StatementOutcome.ENCODING,
        None, None,
    ]  # fmt: skip
    assert not found[3].whole
    assert found[6].text == "SELECT 'Ã©'"
    mix = mix_of(transactions(iter(found)))
    assert mix.statements == len(found)
    assert mix.ledger.statements[StatementOutcome.CUT_VALUES] == 1


def test_a_prepared_statement_is_parsed_for_its_first_execution() -> None:
    prepared = record(b"P", struct.pack("<I", 5) + types_of() + words_of("SELECT 1"))
    again = record(b"P", struct.pack("<I", 6) + types_of() + words_of("SELECT 1"))
    first, second = (statement(None, number=number, protocol=2) for number in (5, 6))
    found, _ = read(piece(1, SESSION, prepared, first, first, again, second))
    assert [one.parsed for one in found] == [True, False, True]


BEGUN = record(b"T", b"")


def test_what_one_sync_ended_is_one_transaction_with_begin_and_commit() -> None:
    """Without a word of it: a pipeline, or a batch of a driver."""
    first, second = statement("SELECT 1"), statement("SELECT a")
    failed, simple = statement("SELECT x", became=1), statement("SELECT s", protocol=0)
    begin, commit = statement("BEGIN", protocol=0), statement("COMMIT")
    pieces = [
        BEGUN, first, second,
        BEGUN, first,
        simple,
        BEGUN, second, failed,
        begin, BEGUN, first, second, commit,
        BEGUN, second,
    ]  # fmt: skip
    for cuts in ([pieces], [[one] for one in pieces]):
        found, ledger = read(piece(10, SESSION), *(piece(10, *cut) for cut in cuts), piece(10, END))
        mix = mix_of(transactions(iter(found)), ledger=ledger)
        done = Counter[str]()
        for kind in mix.kinds:
            done[script_of("k", kind, "extended")[0]] += kind.count
        assert done == {
            "BEGIN\n;\nSELECT 1\n;\nSELECT a\n;\nCOMMIT\n;\n": 2,
            "SELECT 1\n;\n": 1,
            "SELECT a\n;\n": 1,
            "SELECT s\n;\n": 1,
        }
        assert mix.ledger.statements == {
            StatementOutcome.FAILED: 1, StatementOutcome.IN_FAILED: 1,
        }  # fmt: skip


def test_statements_of_other_databases_are_left_out() -> None:
    found, ledger = read(piece(1, SESSION, statement("SELECT 1")), database="other")
    assert found[0].outcome is StatementOutcome.OTHER_DATABASE
    assert ledger.databases == {"shop": 1}


def kind_of(*found: LoggedStatement) -> TransactionKind:
    [kind] = mix_of(transactions(iter(found))).kinds
    return kind


def test_declared_types_stand_at_their_parameters_unless_they_differ() -> None:
    one = statement("SELECT a[$1], $2", (0, b"1"), (0, b"x"), oids=(23, 0))
    same, _ = read(piece(1, SESSION, one, one))
    kind = kind_of(*same)
    text, rows = script_of("k", kind, "extended")
    assert text == "\\draw k p1 p2\nSELECT a[(:p1::int4)], :p2\n;\n"
    assert rows == [["1", "x"], ["1", "x"]]
    assert texts_of(kind, "extended") == ["SELECT a[($1::int4)], $2"]
    assert script_of("k", kind, "simple")[0] == "SELECT a[('1'::int4)], 'x'\n;\n"
    other = statement("SELECT a[$1], $2", (0, b"1"), (0, b"x"), oids=(21, 0))
    mixed, _ = read(piece(1, SESSION, one, other))
    assert "::" not in script_of("k", kind_of(*mixed), "extended")[0]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ([], []), ([("client_encoding", "UTF8"), ("DateStyle", "ISO")], []),
        ([("TimeZone", "CET"), ("extra_float_digits", "3"), ("statement_timeout", "5s")], []),
        ([("search_path", "app, public")], ["search_path"]),
        ([("Search_Path", "app"), ("DateStyle", "SQL, DMY")], ["search_path", "datestyle"]),
        ([("options", "-c search_path=app")], ["search_path"]),
        ([("options", "-csearch_path=app\t--enable-seqscan=off -c  jit=off")],
         ["search_path", "enable_seqscan", "jit"]),
        ([("options", r"-c application_name=a\ --jit=off -c search_path=a\\b")], ["search_path"]),
        ([("options", "-c default_transaction_isolation=serializable"),
          ("default_transaction_read_only", "on")],
         ["default_transaction_isolation", "default_transaction_read_only"]),
        ([("DateStyle", "ISO"), ("options", "-c datestyle=German -c IntervalStyle=sql_standard")],
         ["intervalstyle"]),
        ([("options", "-c datestyle=ISO -c datestyle=German")], ["datestyle"]),
        ([("options", "-c")], []), ([("options", "-c a -e \\")], []), ([("options", "")], []),
    ],
)  # fmt: skip
def test_what_a_startup_message_sets_is_named_where_it_matters(
    parameters: list[tuple[str, str]], names: list[str]
) -> None:
    assert startup_settings(parameters) == tuple(names)


def test_what_startup_messages_set_is_counted_once_for_each_session_that_does_something() -> None:
    own = record(b"S", b"u\0shop\0app\0search_path\0a\0options\0-c jit=off\0")
    other = record(b"S", b"u\0web\0\0search_path\0\0")
    one = statement("SELECT 1", protocol=0)
    pieces = [
        piece(1, own, one, one), piece(1, one, END), piece(2, own, END), piece(3, SESSION, one),
        piece(4, other, one), piece(5, own, statement("SET search_path = b", protocol=0), one),
    ]  # fmt: skip
    for database, counts in (
        (None, {"search_path": 4, "jit": 2}), ("shop", {"search_path": 3, "jit": 2}),
        ("web", {"search_path": 1}),
    ):  # fmt: skip
        found, ledger = read(*pieces, database=database)
        mix_of(transactions(iter(found)), ledger=ledger)
        assert ledger.sets == counts


def test_types_of_an_unnamed_statement_are_none_of_the_next_ones() -> None:
    of_server = [record(b"O", struct.pack("<I", 0) + types_of(*oids)) for oids in ((23,), ())]
    one = statement("SELECT $1", (1, b"\0\0\0\7"))
    found, _ = read(piece(1, SESSION, of_server[0], one, one, of_server[1], one))
    assert [(each.parameters, each.outcome) for each in found] == [
        (("7",), None), (("7",), None), ((), StatementOutcome.BINARY_VALUES),
    ]  # fmt: skip
