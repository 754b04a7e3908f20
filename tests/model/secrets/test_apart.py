"""Values that stand apart from the names of secrets are hidden with them, and no others are."""

from __future__ import annotations

import pytest

from steelyard.model.secrets.redaction import redacted

T = "S3cretTok"
APART = [
    f"PREPARE p(text) AS UPDATE users SET password = $1; EXECUTE p('{T}');",
    f'prepare "New" (text, text) as insert into users (name, password) values ($1, $2);\n'
    f"execute \"New\"('bob', '{T}')",
    f"PREPARE p AS INSERT INTO u (id, api_key) SELECT 1, $1; EXECUTE p (E'{T}'), 1",
    f"PREPARE st FROM 'UPDATE u SET password = ? WHERE id = ?'; SET @p = '{T}', @i = 1;"
    " EXECUTE st USING @p, @i",
    f"SET @p := \"{T}\"; PREPARE `st` FROM 'ALTER USER x IDENTIFIED BY ?, token = ?';"
    " EXECUTE `st` USING @p",
    f"EXEC sp_executesql N'UPDATE u SET password = @p', N'@p nvarchar(50)', @p = N'{T}'",
    f"EXEC sp_executesql N'UPDATE u SET password = @p', N'@p nvarchar(50)', N'{T}'",
    f"exec sys.sp_executesql @stmt = N'SELECT 1 WHERE api_key = @k AND id = @i', "
    f"@params = N'@k nvarchar(9), @i int', @i = 1, @k = N'{T}'",
    f"EXEC sp_executesql N'EXEC p @secret, @n out', N'@secret text, @n int', @n out, '{T}'",
    f"SELECT 1 FROM u WHERE ('a', '{T}') = (name, password)",
    f"SELECT 1 FROM u WHERE ROW('a', '{T}') IN (SELECT name, password FROM users)",
    f"SELECT 1 FROM u WHERE ('{T}', 1) <> ( u.password , id )",
    f"SELECT 1 FROM u WHERE '{T}' IN (password, old_password)",
    f"SELECT 1 FROM u WHERE '{T}' NOT IN (SELECT token FROM tokens)",
    f"SELECT 1 FROM u WHERE md5('{T}') = u.password",
    f"SELECT 1 FROM u WHERE lower('{T}') IS NOT DISTINCT FROM \"password\"",
    f"SELECT 1 FROM u WHERE ('a', '{T}') = ANY (SELECT name, secret FROM s)",
    f"INSERT INTO mysql.servers VALUES ('s', 'h', 'd', 'u', '{T}', 3306, '', 'mysql', 'o')",
    f"REPLACE INTO `mysql`.`global_priv` VALUES ('h', 'u', '{T}')",
    f"INSERT INTO pg_catalog.pg_user_mapping VALUES (1, 10, 16384, '{T}')",
]
HARMLESS = [
    "PREPARE p(text) AS UPDATE users SET name = $1; EXECUTE p('bob');",
    "PREPARE p AS SELECT 1; EXECUTE q('bob')",
    "PREPARE st FROM 'UPDATE u SET name = ?'; SET @p = 'bob'; EXECUTE st USING @p",
    "EXEC sp_executesql N'UPDATE u SET name = @p', N'@p nvarchar(50)', @p = N'bob'",
    "SELECT 1 FROM u WHERE ('a', 'b') = (name, city)",
    "SELECT 1 FROM u WHERE 'bob' IN (SELECT name FROM users)",
    "SELECT 1 FROM u WHERE lower('Bob') = u.name",
    "INSERT INTO shop.servers VALUES ('web', 'rack 7')",
]


@pytest.mark.parametrize("text", APART)
def test_a_value_apart_is_hidden(text: str) -> None:
    assert T not in redacted(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_others_stay(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("text", APART)
def test_what_is_redacted_stays_as_it_is(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once
