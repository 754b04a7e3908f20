"""`steelyard drive` on doubles of SQL Server: never on the product, which is not to be had here."""

from __future__ import annotations

import itertools
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from driver.secured import Certified, authority
from driver.sqlserver import tokens
from driver.sqlserver.double import Double
from driver.stuck import GIVES_UP_SOON
from steelyard.engines.sqlserver.licence import BENCHMARKS, EXPERIMENTAL
from thinned import thinned

START = "from steelyard.cli.app import main; main()"
FOREVER = "WAITFOR DELAY '00:10:00.000';"


def called(
    target: str, script: str, *words: str, start: str = START
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", start, "drive", target, "-f", "-", "--json", *words]
    return subprocess.run(command, input=script, capture_output=True, text=True, check=False)


def drive(double: Double, script: str, *words: str) -> dict[str, Any]:
    """The summary of a load, whose exit status says whether it did anything."""
    done = called(double.uri(), script, *words)
    summary: dict[str, Any] = json.loads(done.stdout)
    worked = summary["transactions"] > 0 and summary["lost"] < summary["clients"]
    assert done.returncode == (0 if worked else 2), done.stderr
    return summary


@pytest.fixture(scope="module")
def signer() -> Certified:
    return authority("steelyard's test authority")


def serving(signer: Certified, directory: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS for 127.0.0.1, and the file of the authority that signed it."""
    made = signer.sign("double", "127.0.0.1").save(directory, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made)
    roots = directory / "roots.pem"
    roots.write_bytes(signer.pem)
    return context, roots


def test_texts_go_out_with_their_values_and_rows_are_counted() -> None:
    with Double().running() as double:
        script = "\\set a 40 + 2\nSELECT :a;\nUPDATE t SET x = :a, y = 'é';"
        done = drive(double, script, "-t", "2", "-M", "simple")
        assert (done["transactions"], done["errors"], double.committed) == (2, {}, 2)
        assert double.texts == ["SELECT 42;", "UPDATE t SET x = 42, y = 'é';"] * 2
        [login] = double.logins
        assert (login["database"], login["program"]) == ("d", "steelyard")


def test_a_statement_is_prepared_with_its_first_execution_and_called_by_handle_after_that() -> None:
    with Double().running() as double:
        script = "\\set a 5\n\\set b 0.5\nSELECT :a, :b;"
        done = drive(double, script, "-t", "3", "-M", "prepared")
        assert (done["transactions"], done["errors"]) == (3, {})
        first, *others = double.requests
        assert first.procedure == tokens.PREPARE_AND_EXECUTE
        assert (first.handle, first.text) == (None, "SELECT @P1, @P2;")
        assert first.declared == "@P1 bigint,@P2 float"
        assert [one.procedure for one in others] == [tokens.EXECUTE] * 2
        assert {one.values for one in double.requests} == {(5, 0.5)}


def test_a_value_of_another_type_is_declared_anew_and_the_old_handle_given_up() -> None:
    with Double().running() as double:
        script = (
            "\\set turn :turn + 1\n\\if :turn % 2 = 0\n\\set v 1\n\\else\n\\set v 0.5\n\\endif\n"
            "SELECT :v;"
        )
        done = drive(double, script, "-t", "3", "-M", "prepared", "-D", "turn=0")
        assert done["errors"] == {}
        declared = [one.declared for one in double.requests]
        assert declared == ["@P1 float", "@P1 bigint", "@P1 float"]
        handles = [one.handle for one in double.requests]
        assert handles == [None, 1, 2]


def test_unnamed_statements_have_parameters_too() -> None:
    with Double().running() as double:
        drive(double, "\\set a 5\nSELECT :a;\nSELECT 1;", "-t", "1", "-M", "extended")
        with_value, without = double.requests
        assert with_value.procedure == tokens.EXECUTE_TEXT
        assert (with_value.declared, with_value.values) == ("@P1 bigint", (5,))
        assert (without.text, without.declared) == ("SELECT 1;", "")


@pytest.mark.long
def test_long_requests_and_replies_are_cut_into_packets() -> None:
    with Double(answer=lambda _: tokens.rows("n", *range(3000))).running() as double:
        word = "x" * 9000
        for mode in ("simple", "prepared"):
            done = drive(double, f"SELECT '{word}';", "-t", "1", "-M", mode)
            assert done["errors"] == {}
        assert {len(one.text) for one in double.requests} == {9000 + len("SELECT '';")}


@thinned("mode", ["simple", "prepared", "extended"], 1)
def test_a_row_becomes_variables_in_every_mode(mode: str) -> None:
    with Double().running() as double:
        done = drive(double, "SELECT 7 AS n \\gset\nUPDATE t SET x = :n;", "-t", "2", "-M", mode)
        assert done["errors"] == {}
        last = double.requests[-1]
        assert last.values == (7,) or last.text == "UPDATE t SET x = 7;"


@thinned("mode", ["prepared", "extended"], 1)
def test_a_text_that_looks_like_a_number_stays_a_text(mode: str) -> None:
    """A column of texts would be compared with a number row by row, without its index."""
    row = tokens.table(("n", "code"), (7, "42"))
    with Double(answer=lambda text: row if text.startswith("SELECT") else None).running() as double:
        script = "SELECT n, code FROM u \\gset\nUPDATE t SET x = :n WHERE y = :code;"
        assert drive(double, script, "-t", "3", "-M", mode)["errors"] == {}
        assert double.requests[-1].values == (7, "42")


@thinned("mode", ["simple", "prepared"], 1)
def test_deadlocks_are_tried_again_until_all_is_done_once(mode: str) -> None:
    turn = itertools.count()

    def answer(text: str) -> bytes | None:
        unlucky = text.startswith("SELECT") and next(turn) % 3 == 0
        return tokens.error(1205, "deadlock victim", 13) if unlucky else None

    with Double(answer=answer).running() as double:
        script = "BEGIN;\nUPDATE t SET n = n + 1;\nSELECT n FROM t;\nEND;"
        words = ("-c", "2", "-t", "20", "-M", mode, "--max-tries", "0", "-L", "60000")
        done = drive(double, script, *words)
        assert (done["transactions"], done["errors"]) == (40, {})
        assert done["retries"] >= 20
        assert double.committed == 40
        assert double.rolled_back == done["retries"]  # by the server itself, and none by us


@thinned(("number", "tried"), [(1222, 3), (3960, 3), (2627, 1)], 1)
def test_only_errors_that_pass_are_tried_again_after_a_rollback(number: int, tried: int) -> None:
    def answer(text: str) -> bytes | None:
        return tokens.error(number, "no") if text.startswith("UPDATE") else None

    with Double(answer=answer).running() as double:
        done = drive(double, "BEGIN;\nUPDATE t SET x = 1;\nEND;", "-t", "1", "--max-tries", "3")
        assert done["errors"] == {str(number): 1}
        assert double.texts.count("UPDATE t SET x = 1;") == tried
        assert double.rolled_back == tried
        assert double.committed == 0


def test_a_statement_that_does_not_end_is_stopped_by_a_signal() -> None:
    with Double().running() as double:
        words = ("-T", "0.2", "-c", "2")
        done = called(double.uri(), FOREVER, *words, start=GIVES_UP_SOON)
        assert done.returncode == 2, done.stderr
        assert double.signals == 2


def test_a_connection_that_the_server_closes_is_counted_as_lost() -> None:
    turn = itertools.count()
    with Double(answer=lambda _: b"" if next(turn) == 1 else None).running() as double:
        done = called(double.uri(), "SELECT 1;", "-t", "3")
        assert json.loads(done.stdout)["errors"] == {"08S01": 1}, done.stderr


@thinned(
    "malformed",
    [b"\x00", b"\xd1\x08" + bytes(8), tokens.rows("n", 1)[:-1], tokens.done(tokens.MORE),
     b"\x81\x01\x00" + bytes(6) + b"\x99\x00" + tokens.done()], 2,
)  # fmt: skip
def test_malformed_replies_are_errors(malformed: bytes) -> None:
    with Double(answer=lambda _: malformed).running() as double:
        done = called(double.uri(), "SELECT 1;", "-t", "1")
        assert json.loads(done.stdout)["errors"] == {"08P01": 1}, done.stderr


def test_who_is_not_let_in_is_told_in_the_servers_words() -> None:
    with Double().running() as double:
        refused = called(double.uri(user="app:secret"), "SELECT 1;", "-t", "1")
        assert refused.returncode == 3
        assert "Login failed for user 'app'. (18456)" in refused.stderr
        assert "secret" not in refused.stderr


@thinned("strict", [False, True], 1)
def test_encrypted_in_packets_or_from_the_first_byte(
    strict: bool, signer: Certified, tmp_path: Path
) -> None:
    context, roots = serving(signer, tmp_path)
    words = f"certificate={roots}&encrypt={'strict' if strict else 'mandatory'}"
    with Double(context=context, strict=strict).running() as double:
        done = called(double.uri(words), "SELECT 1;", "-t", "50", "-c", "2", "-M", "prepared")
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert (summary["transactions"], summary["errors"]) == (100, {})
        assert summary["encryption"].startswith("TLSv1.3" if strict else "TLSv1.2")
        stopped = called(double.uri(words), FOREVER, "-T", "0.2", start=GIVES_UP_SOON)
        assert (stopped.returncode, double.signals) == (2, 1)


@pytest.mark.long
def test_a_certificate_that_nobody_vouches_for_is_refused_unless_trusted(
    signer: Certified, tmp_path: Path
) -> None:
    context, _ = serving(signer, tmp_path)
    other = tmp_path / "other.pem"
    other.write_bytes(authority("another").pem)
    with Double(context=context).running() as double:
        refused = called(double.uri(f"certificate={other}"), "SELECT 1;", "-t", "1")
        assert "signed by none of the trusted ones" in refused.stderr
        assert double.logins == []
        trusted = called(double.uri("trust-server-certificate=yes"), "SELECT 1;", "-t", "1")
        assert trusted.returncode == 0, trusted.stderr


@thinned(
    ("encryption", "words", "said"),
    [
        (2, "trust-server-certificate=yes", "the server does not encrypt"),
        (0, "trust-server-certificate=yes", "the server does not encrypt"),
        (3, "encrypt=disable", "encrypted connections only"),
    ],
    1,
)
def test_a_login_goes_out_only_as_both_sides_agreed(encryption: int, words: str, said: str) -> None:
    with Double(encryption=encryption).running() as double:
        refused = called(double.uri(words), "SELECT 1;", "-t", "1")
        assert refused.returncode == 3
        assert said in refused.stderr
        assert double.logins == []


@pytest.mark.long
def test_what_the_licence_says_and_what_to_think_of_it_stands_on_standard_error() -> None:
    with Double().running() as double:
        done = called(double.uri(), "SELECT 1;", "-t", "1")
        assert BENCHMARKS in done.stderr
        assert EXPERIMENTAL in done.stderr
