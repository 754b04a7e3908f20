"""Rows that statements write lose their literals where one of their columns is secret, or may be,
and no others do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.secrets.redaction import holds_secret, redacted
from steelyard.model.secrets.written_rows import inserts_unnamed

T = "S3cretTok"
LISTED = [
    f"INSERT INTO public.u (id, password) VALUES (1, '{T}'), (2, '{T}')",
    f'INSERT INTO "my users" ("id", "password") VALUES (1, \'{T}\')',
    f"INSERT INTO u AS x (id, password) VALUES (1, '{T}') ON CONFLICT DO NOTHING",
    f"INSERT INTO u (id, password) OVERRIDING SYSTEM VALUE VALUES (1, '{T}')",
    f"INSERT INTO u (id, password) /* why */ -- and how\n VALUES (1, '{T}')",
    f"INSERT INTO u (id, password) SELECT 1, '{T}' FROM t",
    f"INSERT INTO u (id, password) SELECT extract(day FROM now()), '{T}'",
    f"INSERT INTO u (id, password) SELECT i, '{T}' || i FROM n",
    f"INSERT INTO u (id, password) VALUES ROW(1, '{T}'), ROW(2, '{T}')",
    f'INSERT IGNORE INTO u (id, password) VALUE (1, "{T}")',
    f"INSERT u ([id], [password]) OUTPUT inserted.id VALUES (1, N'{T}')",
    f"REPLACE INTO `u` (`id`, `password`) VALUES (1, '{T}')",
    "MERGE INTO u USING v ON u.id = v.id WHEN NOT MATCHED THEN INSERT (id, password) "
    f"VALUES (1, '{T}')",
    f"INSERT INTO secrets (name, value) VALUES ('smtp', '{T}')",
    f'INSERT INTO "app"."ApiKeys" ("name", "key") VALUES (1, \'{T}\')',
    f"REPLACE INTO `tokens` (`user_id`, `value`) SELECT 1, '{T}'",
    f"UPDATE u SET (password, name) = ('{T}', 'a') WHERE id = 1",
    f"UPDATE u SET (password, name) = ROW('{T}', 'a')",
    f"UPDATE u SET (password, name) = (SELECT '{T}', 'a')",
    f"WITH v(id, password) AS (VALUES (1, '{T}')) INSERT INTO t SELECT * FROM v",
    f"WITH v(id, password) AS NOT MATERIALIZED ( VALUES (1, '{T}'), (2, '{T}')) SELECT 1",
    f"WITH v(secret) AS (SELECT '{T}') SELECT 1 FROM v",
    f"CREATE VIEW v (id, password) AS SELECT 1, '{T}'",
    f"INSERT INTO t SELECT * FROM (VALUES (1, '{T}'), (2, '{T}')) AS v(id, password)",
    f"SELECT * FROM (VALUES ('bob', '{T}')) v (name, \"api_token\")",
    f"SELECT f(d, k.v) FROM a, ( VALUES ('{T}') ) AS \"k\"(secret)",
]
POSITIONAL = [
    f"INSERT INTO users VALUES (1, 'bob', '{T}')",
    f"insert into users values (1, 'bob', '{T}'), (2, 'ann', E'{T}')",
    f"INSERT INTO \"shop\".\"users\" VALUES (1, 'bob', '{T}');",
    f"INSERT INTO app_user SELECT 1, 'bob', '{T}'",
    f"INSERT INTO users (SELECT 1, 'bob', '{T}')",
    f"INSERT INTO users SELECT * FROM (VALUES (1, 'bob', '{T}'), (2, 'ann', '{T}')) AS v",
    f'REPLACE INTO `app`.`Accounts` VALUES (1, "{T}")',
    f"INSERT INTO [dbo].[UserLogins] VALUES (1, N'{T}')",
    f"INSERT users VALUES (1, '{T}')",
    f"INSERT INTO api_keys VALUES (1, '{T}')",
    f"INSERT INTO tokens VALUES (1, '{T}')",
    "MERGE INTO users AS u USING v ON u.id = v.id WHEN MATCHED THEN DELETE "
    f"WHEN NOT MATCHED AND v.n = 1 THEN INSERT VALUES (1, '{T}') "
    f"WHEN NOT MATCHED THEN INSERT OVERRIDING SYSTEM VALUE VALUES (v.id, '{T}')",
    f"merge [dbo].[Users] using v on 1 = 0 when not matched by target then insert values (N'{T}');",
    f"INSERT INTO users VALUES (1, 'bob', '{T}",
    f"LINE 1: INSERT INTO users VALUES (1, 'bob', '{T}...",
]
MADE = "CREATE TABLE {} (id int, name text DEFAULT 'a,b', {} varchar(9), PRIMARY KEY (id));\n"
KNOWN = [
    MADE.format("t", "password") + f"INSERT INTO t VALUES (1, 'bob', '{T}')",
    MADE.format("public.t", "api_token") + f"INSERT INTO t SELECT 1, 'bob', '{T}'",
    MADE.format("IF NOT EXISTS `t`", "`pw`") + f"INSERT INTO `t` VALUES (1, 'bob', '{T}')",
    MADE.format("[dbo].[T]", "[Password]") + f"INSERT INTO dbo.t VALUES (1, 'bob', N'{T}')",
    MADE.format("t", "password") + f"COPY t FROM stdin;\n1\tbob\t{T}\n2\tann\t{T}\n\\.\n",
    MADE.format("t", "pwd") + "MERGE INTO ONLY t USING v ON t.id = v.id WHEN NOT MATCHED THEN\n"
    f"INSERT VALUES (1, 'bob', '{T}')",
    MADE.format("users", "x") + "ALTER TABLE users ADD COLUMN y text;\n"
    f"INSERT INTO users VALUES (1, 'bob', 'a', '{T}')",
]
COPIED = [
    f"COPY public.u (id, password) FROM stdin;\n1\t{T}\n\\.\nSELECT 1;",
    f"COPY u (password) FROM stdin;\n{T}\n{T}\n\\.\n",
    f"COPY users FROM stdin;\n1\tbob\t{T}\n\\.\n",
    f'copy "users" (id, pwd) from stdin WITH (FORMAT csv);\n1,{T}\n\\.\n',
    f"COPY users (id, pwd) FROM stdin;\n1\t{T}\n2\t{T}",
]
HARMLESS = [
    "INSERT INTO products VALUES (1, 'chair', 'a chair')",
    "INSERT INTO pgbench_accounts VALUES (1, 1, 0, 'x')",
    "INSERT INTO usertable VALUES ('user' || $1, $2)",
    "INSERT INTO users VALUES (1, $1, :name, '')",
    MADE.format("users", "city") + "INSERT INTO users VALUES (1, 'bob', 'x')",
    MADE.format("t", "city") + "COPY t FROM stdin;\n1\tbob\tx\n\\.\n",
    "COPY t (id, name) FROM stdin;\n1\tbob\n\\.\n",
    "COPY users (id, name) FROM stdin;\n1\tbob\n\\.\n",
    "INSERT INTO t (id, name) SELECT 1, 'x' FROM u",
    "INSERT INTO settings (name, value) VALUES ('color', 'red'); INSERT INTO t (key) VALUES ('a')",
    "INSERT INTO tokens (user_id, kind) VALUES (1, 'x'); INSERT INTO sort_keys (key) VALUES ('a')",
    "MERGE INTO users u USING v ON u.id = v.id WHEN NOT MATCHED THEN INSERT (id) VALUES ('x')",
    "MERGE INTO users USING v ON 1 = 1 WHEN MATCHED THEN DELETE;\n"
    "MERGE INTO t USING users ON 1 = 1 WHEN NOT MATCHED THEN INSERT VALUES (1, 'x')",
    "INSERT INTO users SELECT i, 'name' || i, i || '@' || 'example.org' FROM n",
    "UPDATE t SET (a, b) = ('x', 'y')",
    "SELECT * FROM (VALUES ('bob', 'x')) AS v(name, city) WHERE 'y' = city",
    "WITH v(id, name) AS (VALUES (1, 'x')) SELECT 1 FROM v",
    "WITH v(id, password) AS (SELECT id, password FROM u) SELECT 1 FROM v WHERE a = 'x'",
    "INSERT INTO products SELECT * FROM (VALUES (1, 'bob', 'x')) AS v",
    "SELECT (SELECT 'x'), f(VALUES) FROM v(password)",
    "EXPLAIN (ANALYZE, BUFFERS) SELECT 'x'",
    "SELECT replace(a, 'x', 'y') FROM users WHERE b = 'z'",
    "insert the values ('x') into the form; users select 'y'",
]


@pytest.mark.parametrize("text", [*LISTED, *POSITIONAL, *KNOWN, *COPIED])
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_no_secret_of_a_row_stays(text: str, around: str) -> None:
    text = around.replace("{}", text)
    shown = redacted(text)
    assert T not in shown
    assert redacted(shown) == shown
    assert holds_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_rows_without_a_secret_stay_whole(text: str, around: str) -> None:
    text = around.replace("{}", text)
    assert redacted(text) == text


def test_a_log_behind_a_copy_without_its_rows_stays() -> None:
    log = "LOG:  statement: COPY users FROM stdin;\nLOG:  checkpoint starting: time\nLOG:  a\tb\n"
    assert redacted(log) == log


@pytest.mark.parametrize(
    ("statement", "unnamed"),
    [
        ("s.sql: INSERT INTO t VALUES (1, 'bob', 'x')", True),
        ("INSERT INTO t VALUES (1, 'bob'::text)", True),
        ("REPLACE INTO t VALUES ('a')", True),
        ("MERGE INTO t USING v ON 1 = 1 WHEN NOT MATCHED THEN INSERT VALUES ('a')", True),
        ("MERGE INTO t USING v ON 1 = 1 WHEN NOT MATCHED THEN INSERT (a) VALUES ('a')", False),
        ("INSERT INTO t (a, b) VALUES (1, 'bob')", False),
        ("INSERT INTO t VALUES (1, $1, now(), '')", False),
        ("INSERT INTO usertable VALUES ('user' || $1, CONCAT('user', $2))", False),
        ("INSERT INTO users VALUES (1, '…', '…')", False),
        ("SELECT 'a'", False),
    ],
)
def test_texts_without_the_names_of_their_columns_are_known(statement: str, unnamed: bool) -> None:
    assert inserts_unnamed(statement) is unnamed


ENDLESS = (
    *(
        "insert into ",
        "insert into `",
        "insert into [",
        'insert into "',
        "insert into users values",
    ),
    *(
        "insert into users select 'a' ",
        "create table t (",
        "create table t (a int) ",
        "(password)=",
    ),
    *("(a, token) values (", "copy users from stdin;\n", "copy t (pw) from stdin;\na\t", "\n\\."),
    *("merge into ", "merge users ", "then insert values (", "then insert values ('a') "),
    *(
        "(values (",
        "(values ('a')) v(pw",
        "from (values (",
        "(pw) as (values (",
        "with k(pw) as ((",
    ),
    *("alter table t add ", "(password /*", "insert into users values ('"),
)


@pytest.mark.long
@given(st.lists(st.sampled_from(ENDLESS), min_size=1, max_size=4).map("".join))
def test_pieces_that_have_no_end_are_read_in_time_that_grows_with_their_length(piece: str) -> None:
    shown = redacted(piece * 2000)
    assert redacted(shown) == shown
