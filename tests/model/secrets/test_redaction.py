"""What a server, a user or a log wrote loses its secrets, and nothing else that is needed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import EngineError
from steelyard.model.secrets.redaction import (
    hidden_settings,
    holds_secret,
    is_secret_setting,
    redacted,
    redacted_json,
)
from steelyard.model.secrets.secret import HIDDEN
from thinned import thinned

T = "S3cretTok"
SAID = [
    f"password={T}",
    f"password = '{T} x' host=h",
    f"host=h password='a \\' {T}' port=1",
    f"host=h password=a\\ {T}",
    f"password=:{T}",
    f"password=({T}",
    f"password=a.{T}",
    f"sslpassword={T}",
    f"oauth_client_secret='{T}'",
    f"scram_client_key={T}",
    f"pwd={T};Server=h",
    f"postgres://u:{T}@h/d",
    f"postgres://u:{T}/x@h/d?sslmode=require",
    f"mysql://root:{T}",
    f"redis://:{T}@h",
    f"postgres://h/d?password={T}&sslmode=require",
    f"postgres://h/d?pass%77ord={T}",
    f"-c my.token={T}",
    f"--password {T} --host h",
    f"--api-token={T}",
    f"Authorization: Bearer {T}abcdefgh",
    f"AWS_SECRET_ACCESS_KEY={T} aws s3 cp %p s3://b",
    f"PGPASSWORD='{T}' psql",
    f'MY_TOKEN=ab"{T} x"c make',
    f"left out: primary_conninfo = user=repl password={T} host=1",
    f"ssl_passphrase_command = echo {T}",
    f"ssl_passphrase_command = 'echo {T}'",
    f"my.api_token '{T}'",
    f"anon.salt = '{T}'",
    f"ALTER SYSTEM SET anon.salt TO '{T}'",
    f"SELECT set_config('app.pepper', '{T}', false)",
    f"salt: {T}",
    f"\"my.api_token\" = '{T}'",
    f"ALTER ROLE a PASSWORD '{T}'",
    f"ALTER ROLE a ENCRYPTED PASSWORD\n  /* why */ E'\\'{T}' VALID UNTIL 'x'",
    f"ALTER ROLE a PASSWORD $a$x{T}$b$$a$",
    f"ALTER ROLE a PASSWORD U&'{T}'",
    f"ALTER ROLE a PASSWORD '{T}",
    f"CREATE USER u IDENTIFIED BY '{T}'",
    f"CREATE USER u IDENTIFIED WITH caching_sha2_password BY '{T}' REPLACE '{T}'",
    f"ALTER USER u IDENTIFIED VIA ed25519 USING '{T}'",
    f"SET PASSWORD FOR 'u'@'h' = '{T}'",
    f"my.jwt = {T}; cookie: '{T}'",
    f"SET PASSWORD = PASSWORD('{T}')",
    f"CREATE LOGIN x WITH PASSWORD = N'{T}'",
    f"CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', password '{T}')",
    f"CREATE SUBSCRIPTION s CONNECTION 'host=h password={T}' PUBLICATION p",
    f"SELECT dblink('host=h password={T}', 'SELECT 1')",
    f"SELECT set_config('x.api_token', '{T}', false)",
    f"SET my.api_token TO '{T}'",
    f"ALTER SYSTEM SET primary_conninfo = 'user=x password={T}'",
    f"CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET '{T}')",
    f"Filter: ((api_token)::text = '{T}'::text)",
    f"LINE 1: ...{T}' ) NOSUCH\n            ^",
    f'CONTEXT:  COPY users, line 3: "1\tann\t{T}"',
    f'CONTEXT:  COPY users, line 3, column name: "{T}"',
    f"DETAIL:  Failing row contains (1, ann, {T}).",
    f"DETAIL:  Key (id, api_token)=(1, {T}) already exists.",
    json.dumps({"user": "u", "password": T}),
    f"rolpassword: 'SCRAM-SHA-256$4096:{T}$x:y'",
    f"-----BEGIN RSA PRIVATE KEY-----\n{T}\n-----END RSA PRIVATE KEY-----",
]
HARMLESS = [
    "Access denied for user 'u'@'h' (using password: YES)",
    'FATAL:  password authentication failed for user "u"',
    "fe_sendauth: no password supplied",
    'unrecognized configuration parameter "my.token" in file "x" line 3',
    'x.toml: invalid value for "arm.settings.my.token": why',
    "SELECT * FROM tokens t JOIN u ON t.token = u.token WHERE t.token = $1",
    "SELECT token FROM tokens WHERE token = :token;",
    "password_encryption = 'scram-sha-256'",
    "SELECT salt FROM users u WHERE u.salt = $1",
    "a grain of salt, and pepper in the sauce",
    "ssl_key_file = 'server.key'",
    "Key (id)=(5) already exists.",
    "http://localhost:8080/x?y=1",
    "postgresql://h:5432/d",
    "steelyard weigh checksums --seed 7 --address host=h",
    'invalid connection string: "host=h password=…"',
    'private key file "/etc/pki/mine.key" has group or world access',
    'could not load private key file "server.key": No such file or directory',
    "epoch 3 of 10: turn of off, 21 min left",
]


@pytest.mark.parametrize("text", SAID)
def test_no_form_of_a_secret_stays_in_a_text(text: str) -> None:
    shown = redacted(text)
    assert T not in shown
    assert redacted(shown) == shown
    assert holds_secret(text)
    assert T not in str(EngineError(text, detail=text))
    assert T not in json.dumps(redacted_json({"a": [text, {text: 1}]}))


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("before", ["", "ERROR: x\n", "a='b' ", '"quoted" ', "it's "])
@pytest.mark.parametrize("after", ["", "\nLINE 2", " AND b = 'c'"])
def test_what_stands_around_a_secret_does_not_save_it(before: str, after: str) -> None:
    for text in (f"password='{T}'", f"ALTER ROLE a PASSWORD '{T}'", f"x://u:{T}@h"):
        assert T not in redacted(before + text + after)


PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)


@given(st.text(PRINTABLE, min_size=6, max_size=20))
def test_any_password_is_hidden_in_each_quoting(drawn: str) -> None:
    marked = f"Zq{drawn}qZ"
    sql = "ALTER ROLE a PASSWORD '" + marked.replace("'", "''").replace("\\", "\\\\") + "' x"
    word = "host=h password='" + marked.replace("\\", "\\\\").replace("'", "\\'") + "' port=1"
    for text in (sql, word):
        shown = redacted(text)
        assert "Zq" not in shown
        assert "qZ" not in shown


PIECES = (
    *("password", "my.token", "token", "PASSWORD", "IDENTIFIED BY", "--secret", "pwd", "command"),
    *("=", " = ", ":", " ", "'", '"', "''", "\\", "$$", "$a$", "(", ")", "://", "@", "u:p", "x"),
    *("a.b", "$1", "\n", "/*", "*/", "--", "select", "LINE 1: ...", "…", "to", "::text", "%41"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_redaction_is_the_same_twice(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


ENDLESS = (
    *("password /*", "pass for ", "$pass$", "://a:", "://a: ", "password(", "pass '", '"token" '),
    *(
        "password/**/",
        "identified/**/",
        "IDENTIFIED BY ",
        "password--",
        "password --\n",
        "token\n--",
    ),
    *("COPY a, line 1, column ", "COPY ", "Key (key", "Key (token)=", "Failing row contains"),
    *("password::a", "password)", "password ", "Pwd=;", ";Pwd={", "t.token=(", "where t.token = ("),
    *("token in (", "<password>", "https://", "jdbc:oracle:thin:a/", 'x_token: \\"', "password=''"),
    *("-----BEGIN PRIVATE KEY-----)=(", "insert into t (password) values (", "' = token", "%3dpwd"),
    *(
        "Bearer AAAA",
        "curl -u ",
        "curl -su 'a:",
        "mysql -p",
        "mysql \"x' -Np'",
        "docker login ",
        "openssl -pass pass:",
        'sqlcmd -P \\"',
        "_a'password",
        "set PGPASSWORD=",
        "- password: |\n",
        "password _a",
    ),
)


@thinned("piece", ENDLESS, 10)
def test_what_has_no_end_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    """Each would take hours if it were tried anew from every beginning."""
    assert len(redacted(piece * 20_000)) <= len(piece * 20_000)


@pytest.mark.long
@given(st.lists(st.sampled_from(ENDLESS), min_size=1, max_size=3).map("".join))
def test_pieces_that_have_no_end_are_read_together_too(piece: str) -> None:
    shown = redacted(piece * 400)
    assert redacted(shown) == shown


def test_json_loses_texts_at_secret_names_and_no_key() -> None:
    shown = redacted_json(
        {
            "password": T,
            "api_tokens": [T, {"x": T}],
            "my.token": "off",
            "primary_conninfo": f"{HIDDEN} 2",
            "max_tokens": 5,
            "token": {"version": "18"},
            "archive_command": "",
            "a password='x'": 1,
            "a password='y'": 2,
            "a password='…' 2": 3,
            "SELECT token": "plan",
        }
    )
    assert shown == {
        "password": HIDDEN,
        "api_tokens": [HIDDEN, {"x": T}],
        "my.token": "off",
        "primary_conninfo": f"{HIDDEN} 2",
        "max_tokens": 5,
        "token": {"version": "18"},
        "archive_command": "",
        "a password='…'": 1,
        "a password='…' 2": 2,
        "a password='…' 2 2": 3,
        "SELECT token": "plan",
    }
    assert redacted_json(shown) == shown


@given(st.dictionaries(st.lists(st.sampled_from(PIECES), max_size=4).map("".join), st.integers()))
def test_json_keeps_as_many_keys_as_it_has(value: dict[str, int]) -> None:
    shown = redacted_json(value)
    assert list(shown.values()) == list(value.values())
    assert redacted_json(shown) == shown


def test_a_switch_is_no_secret_and_a_value_may_be_one_by_itself() -> None:
    assert not is_secret_setting("x.token", "off")
    assert not is_secret_setting("primary_conninfo", "")
    assert is_secret_setting("x.upstream", f"host=h password={T}")
    assert is_secret_setting("x.endpoint", f"https://u:{T}@h")
    assert not is_secret_setting("x.auth", "scram-sha-256")
    assert is_secret_setting("x.auth", T)


@pytest.mark.parametrize(
    "value",
    [
        f"password: {T}",
        f'{{\\"password\\":\\"{T}\\"}}',
        f"https://h/c?sv=1&sig={T}",
        f"http://{T}@h",
        f"Driver=x;PWD={{a {T}}};",
        f"X-Api-Key: {T}",
    ],
)
def test_a_value_is_a_secret_by_what_it_says_in_each_form(value: str) -> None:
    assert is_secret_setting("app.value", value)


def test_arms_differ_in_the_marks_of_a_setting_exactly_where_they_differ_in_it() -> None:
    shown = hidden_settings(
        {
            "a": {"primary_conninfo": T, "work_mem": "4MB", "x.token": T},
            "b": {"primary_conninfo": T, "work_mem": "8MB", "x.token": f"{T}2"},
            "c": {"primary_conninfo": "", "x.token": T},
        }
    )
    assert shown == {
        "a": {"primary_conninfo": HIDDEN, "work_mem": "4MB", "x.token": HIDDEN},
        "b": {"primary_conninfo": HIDDEN, "work_mem": "8MB", "x.token": f"{HIDDEN} 2"},
        "c": {"primary_conninfo": "", "x.token": HIDDEN},
    }
    assert json.loads(json.dumps(redacted_json(shown))) == shown


@given(
    head=st.text("ABCDwxyz0129+/", min_size=8, max_size=200),
    word=st.sampled_from(["pwd", "PWD", "pass", "password", "token", "secret", "+key", "/pw"]),
    pad=st.sampled_from(["", "=", "=="]),
)
def test_a_histogram_that_ends_like_the_name_of_a_secret_is_left_whole(
    head: str, word: str, pad: str
) -> None:
    text = "HISTFA" + head + word
    text = "HISTFA" + "A" * (-len(text + pad) % 4) + text[6:] + pad
    assert redacted(text) == text
    assert redacted_json({"latency": text}) == {"latency": text}


def test_what_only_begins_like_a_histogram_loses_its_secrets() -> None:
    for text in (f"HISTFAAA password={T}", f"HISTFAAApassword={T}", f"HISTFAAAtoken=={T}"):
        assert T not in redacted(text)
