"""A secret that a statement puts behind its name in a text is hidden, and other values stay."""

from __future__ import annotations

import pytest

from steelyard.model.secrets.redaction import holds_secret, redacted
from thinned import thinned

T = "S3cretTok"
FORMATTED = [
    f"SELECT format('CREATE ROLE %I LOGIN PASSWORD %L', 'bob', '{T}')",
    f"DO $$BEGIN EXECUTE format('ALTER ROLE %I PASSWORD %L', 'bob', '{T}'); END$$",
    f"DO 'BEGIN EXECUTE format(''ALTER ROLE %I PASSWORD %L'', ''bob'', ''{T}''); END'",
    f"format('CREATE USER MAPPING FOR a SERVER s OPTIONS (user %L, password %L)', 'u', '{T}')",
    f"format('CREATE SERVER s OPTIONS (password %1$L, host ''h'', port ''1'')', lower('{T}'))",
    f"format('CREATE SUBSCRIPTION s CONNECTION ''host=h password=%s'' PUBLICATION p', '{T}')",
    f"SELECT dblink_connect('c', format($f$host=h user=%s password=%s$f$, 'u', '{T}'))",
    f"SELECT format('ALTER ROLE %I PASSWORD %L;', rolname, '{T}') FROM pg_roles \\gexec",
    f"SELECT format('{{\"password\": \"%s\"}}', '{T}')::jsonb",
    f"jsonb_build_object('Authorization', format('Bearer %s', '{T}'))",
]
JOINED = [
    f"EXECUTE 'ALTER ROLE bob PASSWORD ' || quote_literal('{T}')",
    f"EXECUTE 'ALTER ROLE bob PASSWORD ''' || '{T}' || ''''",
    f"EXECUTE 'ALTER USER bob WITH PASSWORD ' || chr(39) || '{T}' || chr(39)",
    f"DO 'BEGIN EXECUTE ''ALTER ROLE x PASSWORD '' || quote_literal(''{T}''); END'",
    f"EXEC('ALTER LOGIN x WITH PASSWORD = ''' + N'{T}' + '''')",
    f"SELECT dblink_connect('c', 'host=h password=' || quote_literal(upper('{T}')) || ' x=1')",
    f"SET @s = CONCAT('ALTER USER u IDENTIFIED BY ''', '{T}', '''')",
    f'SET @s = CONCAT("ALTER USER u IDENTIFIED WITH x BY \'", "{T}", "\'")',
    f"jsonb_build_object('Authorization', concat('Bearer ', '{T}'))",
    f"concat_ws('', 'host=h user=u password=', lower('{T}'), ' dbname=d')",
]
VARIABLES = [
    f"\\set p '{T}'\nALTER ROLE x PASSWORD :'p';",
    f"\\set p {T} x\nALTER ROLE x PASSWORD :'p';",
    f"\\set p '{T}'\nSELECT set_config('a', :'p', true);\nUPDATE u SET api_token = :p",
    f"psql -v p={T} -c \"ALTER ROLE x PASSWORD :'p'\"",
    f"psql -vp='a {T}' --set=q=1 -c \"ALTER ROLE x PASSWORD :'p'\"",
    f"psql --variable 'p={T}' -c \"CREATE USER a IDENTIFIED BY :'p'\"",
]
ASSIGNED = [
    f"DO $$DECLARE v text := '{T}'; BEGIN EXECUTE format('ALTER ROLE a PASSWORD %L', v); END$$",
    f"DECLARE v varchar(20) NOT NULL DEFAULT '{T}';\nEXECUTE 'ALTER ROLE a PASSWORD ' || lower(v);",
    f"BEGIN v := '{T}'; EXECUTE format('ALTER ROLE %I PASSWORD %L', n, v); END",
    f"DO 'DECLARE v text := ''{T}''; BEGIN EXECUTE format(''ALTER ROLE a PASSWORD %L'', v); END'",
    f"EXECUTE 'ALTER ROLE a PASSWORD ' || quote_literal($1) USING '{T}'",
    f"EXECUTE format('ALTER ROLE %I PASSWORD %L', $1, $2) INTO x USING 'bob', '{T}';",
    f"SET @p = '{T}'; SET @s = CONCAT('ALTER USER u IDENTIFIED BY ', QUOTE(@p)); PREPARE s FROM @s",
    f"DECLARE @p nvarchar(20) = N'{T}'; EXEC('ALTER LOGIN x WITH PASSWORD = \'\'' + @p + '\'\'')",
]  # fmt: skip
HARMLESS = [
    "DECLARE v text := 'x'; BEGIN EXECUTE format('ALTER ROLE a PASSWORD %L', w); END",
    "DECLARE v text := 'x'; BEGIN EXECUTE format('SELECT %L', v); RAISE 'no password'; END",
    "EXECUTE format('SELECT %L', $1) USING 'x'; -- password",
    "\\set id random(1, 100)\nUPDATE u SET token = :id WHERE a = :b",
    "\\set p 'a'\nSELECT token::text, :'p' FROM t WHERE name = :'p' AND azure_key = :'p'",
    "psql -v p=5 --set q=6 -c 'SELECT :p, token FROM t'; grep -v p=5",
    "SELECT format('CREATE TABLE %I (token text)', 'a'), format('SELECT token FROM %I', 'b')",
    "SELECT 'SELECT token ' || 'FROM t', 'SELECT password ' || 'FROM t', 'a password' || 's'",
    "SELECT format('WHERE azure_key = %L', 'x'), format('WHERE name = %L', 'x')",
    "RAISE NOTICE 'no password for %', 'bob'",
    "SELECT format('ALTER ROLE %I PASSWORD %L', name, pw) FROM p WHERE a = 'b'",
    "SELECT format('ALTER ROLE %I NOLOGIN', 'bob'), concat('name=', 'x', ' port=', '1')",
    "SELECT 'basic ' || 'x', 'sig ' || 'x', concat_ws(',', 'a token', 'b')",
    "SELECT name LIKE '%token', a || 'y' FROM t WHERE token LIKE $1 || '%'",
]


@pytest.mark.parametrize("text", [*FORMATTED, *JOINED, *VARIABLES, *ASSIGNED])
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_a_secret_that_is_put_behind_its_name_is_hidden(text: str, around: str) -> None:
    text = around.replace("{}", text)
    shown = redacted(text)
    assert T not in shown
    assert redacted(shown) == shown
    assert holds_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_a_text_that_is_built_of_no_secret_stays(text: str, around: str) -> None:
    text = around.replace("{}", text)
    assert redacted(text) == text


def test_what_is_behind_a_call_stays() -> None:
    text = f"SELECT format('ALTER ROLE %I PASSWORD %L', 'bob', '{T}'), 'x' FROM t WHERE a = 'b'"
    left = "SELECT format('ALTER ROLE %I PASSWORD %L', '…', '…'), 'x' FROM t WHERE a = 'b'"
    assert redacted(text) == left


@thinned(
    "piece",
    ["'password=', (", "'password=' || ", "'password=' || a(", "('' ", "'''''' ", "\"pass ' ",
     "'password %s", "\\set p ", "\\set p 'a' token = :'p' ", " -v p=x password :p ",
     "$a$ 'password=' + ", "identified by ", "password = ", "$$ password=%L$$,",
     "'identified by'||'", "concat('token ', '"], 3,
)  # fmt: skip
def test_what_has_no_end_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    shown = redacted(piece * 20_000)
    assert redacted(shown) == shown
