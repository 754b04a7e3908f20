"""What servers quote of statements and rows keeps no secret, and says what it says without it."""

from __future__ import annotations

import pytest

from steelyard.model.secrets.redaction import redacted
from thinned import thinned

T = "S3cretTok"
QUOTES = [
    (f"ERROR:  syntax error at or near \"'{T}'\"\nLINE 1: x", 'at or near "…"\nLINE 1: x'),
    (f'ERROR:  syntax error at or near ""{T}""', 'at or near "…"'),
    (f"syntax error at or near \"E'{T}'\" at character 24", 'at or near "…" at character 24'),
    (f'unterminated quoted string at or near "\'{T} \nx"', 'quoted string at or near "…"'),
    (f'unterminated quoted identifier at or near ""{T}" (SQLSTATE 42601)', '"…" (SQLSTATE 42601)'),
    (f'unterminated dollar-quoted string at or near "$x${T}', 'at or near "…'),
    (f"LINE 3:     (1, 'bob', '{T}') x", "LINE 3: …"),
    (f"LINE 12: $x${T}", "LINE 12: …"),
    (
        f"the right syntax to use near 'PASWORD '{T}'' at line 1",
        "the right syntax to use near '…' at line 1",
    ),
    (
        f"the right syntax to use near ''{T}\nx' at line 2 (SQLSTATE 42000)",
        "the right syntax to use near '…' at line 2 (SQLSTATE 42000)",
    ),
    (
        f"Unclosed quotation mark after the character string '{T} x'.",
        "Unclosed quotation mark after the character string '…'.",
    ),
    (f"Duplicate entry '{T}' for key 'users.api_token'", "entry '…' for key 'users.api_token'"),
    (f"Duplicate entry '1-{T}' for key 'token'", "entry '…' for key 'token'"),
    (
        f"Incorrect integer value: '{T}' for column 'token' at row 1",
        "Incorrect integer value: '…' for column 'token' at row 1",
    ),
    (
        "Violation of UNIQUE KEY constraint 'UQ_token'. Cannot insert duplicate key in object "
        f"'dbo.u'. The duplicate key value is ({T}).",
        "The duplicate key value is (…",
    ),
    (
        "execute P0_1: INSERT INTO users (name, password) VALUES ($1, $2)\n"
        f"DETAIL:  Parameters: $1 = 'bob', $2 = '{T}', $3 = NULL, $10 = 'a, $11 = ''{T}'''",
        "DETAIL:  Parameters: $1 = '…', $2 = '…', $3 = NULL, $10 = '…'",
    ),
    (f"unnamed portal with parameters: $1 = NULL, $2 = '{T}'", "parameters: $1 = NULL, $2 = '…'"),
    (f"DETAIL:  Parameter: $1 = 'a\n{T}...'\nx", "DETAIL:  Parameter: $1 = '…'\nx"),
    (f"Query Parameters: $1 = 'a', $2 = '{T}", "Query Parameters: $1 = '…', $2 = '…'"),
]
HARMLESS = [
    'ERROR:  syntax error at or near "FORM"\nLINE 1: SELECT a FORM t',
    'syntax error at or near ":"',
    'syntax error at or near "$1"',
    "SELECT 1 FROM t WHERE a = $1 AND $1 = 'x'",
    "Filter: ($1 = 'x'::text)",
    "DETAIL:  parameters: $1 = NULL, $2 = NULL",
    "LINE 2: FROM t WHERE a = 1",
    "LINE 1: SELECT nosuch FROM t WHERE name = 'bob'",
    "check the manual for the right syntax to use near 'FORM t WHERE a = 1' at line 1",
    "Duplicate entry 'bob' for key 'users.name'",
    "Incorrect integer value: 'x' for column 'age' at row 1",
    "Violation of PRIMARY KEY constraint 'PK_u'. The duplicate key value is (7).",
]


@pytest.mark.parametrize(("text", "left"), QUOTES)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_a_quoted_secret_is_left_out(text: str, left: str, around: str) -> None:
    shown = redacted(around.replace("{}", text))
    assert T not in shown
    assert left in shown
    assert redacted(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_a_message_without_a_secret_stays(text: str) -> None:
    assert redacted(text) == text


@thinned(
    "piece",
    ["at or near \"'", 'at or near ""', "right syntax to use near '", "Duplicate entry '",
     "Unclosed quotation mark after the character string '", "LINE 2: '\n", "constraint 'token' ",
     "Incorrect a value: '", "The duplicate key value is (", ": $1 = ",
     ": $1 = '", ": $1 = ''", ", $1 = ''"], 2,
)  # fmt: skip
def test_what_has_no_end_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    shown = redacted(piece * 20_000)
    assert redacted(shown) == shown
