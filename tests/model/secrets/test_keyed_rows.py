"""A value that the name of a secret stands beside in its row is hidden, and other values stay."""

from __future__ import annotations

import pytest

from steelyard.model.secrets.redaction import redacted
from thinned import thinned

T = "S3cretTok"
HIDING = [
    f"UPDATE settings SET value = '{T}' WHERE key = 'smtp_password'",
    f"UPDATE settings SET value='{T}', updated = now() WHERE name='api_token' AND site = 3",
    f"UPDATE config c SET val = $${T}$$ WHERE c.setting IN ('theme', 'db_password')",
    f"UPDATE app.\"Config\" AS c SET \"configValue\" = E'{T}' WHERE c.name = 'smtpPassword'",
    f"UPDATE t /* a */ SET value = /* b */ '{T}' WHERE key LIKE 'JWT_SECRET'",
    f"UPDATE t SET value = CASE key WHEN 'smtp_password' THEN '{T}' WHEN 'a' THEN 'b' END",
    f"INSERT INTO settings (value, key) VALUES ('{T}', 'smtp_password')",
    f"INSERT INTO settings (id, key, kind, value) VALUES (1, 'smtp_password', 'text', '{T}')",
    f"insert into s (key, site, value) values ('theme', 1, 'x'), ('api_token', 1, N'{T}')",
    f"INSERT INTO s (key, value) VALUES ('api_token', $1) ON CONFLICT (key) DO"
    f" UPDATE SET value = '{T}'",
    f"COPY settings (key, value) FROM stdin;\ntheme\tdark\nsmtp_password\t{T}\n\\.\n",
    f"COPY public.settings (id, value, key) FROM stdin;\n1\t{T}\tapi_token\n",
]
HARMLESS = [
    "UPDATE settings SET value = 'dark' WHERE key = 'theme'",
    "UPDATE users SET city = 'Rome' WHERE kind = 'token'",
    "UPDATE settings SET value = $1 WHERE key = 'smtp_password'",
    "UPDATE a SET value = 'x' WHERE b = 'c'; SELECT 1 FROM t WHERE key = 'smtp_password'",
    "INSERT INTO settings (key, value) VALUES ('theme', 'dark'), ('size', 'big')",
    "COPY settings (key, value) FROM stdin;\ntheme\tdark\nsize\tbig\n\\.\n",
    "SELECT value FROM settings WHERE key = 'smtp_password' AND site = 'x'",
]


@pytest.mark.parametrize("text", HIDING)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{};\nLOG:  y"], ids=["alone", "in a log"])
def test_the_value_of_a_key_that_names_a_secret_is_hidden(text: str, around: str) -> None:
    hidden = redacted(around.format(text))
    assert T not in hidden
    assert "…" in hidden
    assert redacted(hidden) == hidden


@pytest.mark.parametrize("text", HARMLESS)
def test_other_rows_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


def test_lines_of_a_copy_without_such_a_key_stay() -> None:
    text = f"COPY settings (key, value) FROM stdin;\ntheme\tdark\napi_token\t{T}\nsize\tbig\n\\.\n"
    hidden = redacted(text)
    assert "theme\tdark\n" in hidden
    assert "size\tbig\n" in hidden


@thinned(
    "piece",
    ["update t set value = '", "update t set value = 'x' where key = 'password' ",
     "update t set value = 'x' where a = 'b' ", "(value) values (",
     "(key, value) values ('password', 'x') ", "copy t (value) from stdin;\na\tb\n", "login('a', ",
     "password = case when 'x' ", "v text := 'x' execute 'password ' || v ", "execute using ",
     "influx -password ", "isql -v a "], 3,
)  # fmt: skip
def test_what_has_no_end_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    shown = redacted(piece * 20_000)
    assert redacted(shown) == shown
