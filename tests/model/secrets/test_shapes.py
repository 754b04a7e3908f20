"""Hashes, tokens and keys are hidden by their looks, wherever they stand; what only resembles them
stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.secrets.redaction import holds_secret, redacted, redacted_json
from steelyard.model.secrets.shapes import _SHAPES, _SHORTEST, _compiled, without_shapes


def cycled(letters: str, count: int) -> str:
    """So many characters, which none of the samples holds in clear."""
    return (letters * count)[:count]


def crypt(count: int) -> str:
    """Of the alphabet of crypt(3)."""
    return cycled("Zq7", count)


def digits(count: int) -> str:
    """Hexadecimal."""
    return cycled("0fa", count)


HASHES = [
    *(f"$2{letter}$12${crypt(53)}" for letter in ("", "a", "b", "x", "y")),
    f"$1$salt${crypt(22)}",
    f"$apr1$salt${crypt(22)}",
    f"$5$rounds=5000$salt${crypt(43)}",
    f"$6$salt${crypt(86)}",
    f"$y$j9T${crypt(22)}${crypt(43)}",
    f"$gy$j9T${crypt(22)}${crypt(43)}",
    f"$7$C6..../....{crypt(20)}${crypt(43)}",
    f"$P$B{crypt(30)}",
    f"$H$9{crypt(30)}",
    f"$S$D{crypt(51)}",
    f"$argon2id$v=19$m=65536,t=3,p=4${crypt(22)}${crypt(43)}",
    f"$argon2i$m=1024,t=2,p=1${crypt(22)}${crypt(43)}",
    f"$pbkdf2-sha256$29000${crypt(22)}${crypt(43)}",
    f"$scrypt$ln=16,r=8,p=1${crypt(22)}${crypt(43)}",
    f"pbkdf2_sha256$600000${crypt(22)}${crypt(43)}=",
    f"pbkdf2:sha256:600000${crypt(16)}${digits(64)}",
    f"scrypt:32768:8:1${crypt(16)}${digits(128)}",
    f"argon2$argon2id$v=19$m=102400,t=2,p=8${crypt(22)}${crypt(43)}",
    f"bcrypt_sha256$$2b$12${crypt(53)}",
    f"sha1$salt${digits(40)}",
    f"md5$salt${digits(32)}",
    f"AQAAAAIAAYagAAAAE{crypt(66)}==",
    f"{{SSHA}}{crypt(32)}==",
    f"{{SHA512}}{crypt(86)}==",
    f"{{MD5}}{crypt(22)}==",
    f"md5{digits(32)}",
    f"*{cycled('0FA', 40)}",
    f"0x0200{cycled('0FA', 136)}",
    f"0x0100{digits(48)}",
    f"SCRAM-SHA-256$4096:{crypt(22)}==${crypt(43)}=:{crypt(43)}=",
    f"$A$005${crypt(63)}",
]
TOKENS = [
    f"eyJ{crypt(30)}.eyJ{crypt(60)}.{crypt(43)}",
    *(f"{mark}{cycled('ZQ7', 16)}" for mark in ("AKIA", "ASIA")),
    f"AIza{crypt(35)}",
    f"ya29.{crypt(60)}",
    *(f"gh{letter}_{crypt(36)}" for letter in "pousr"),
    f"github_pat_{crypt(22)}_{crypt(59)}",
    *(f"{mark}{crypt(30)}" for mark in ("glpat-", "hvs.", "sb_secret_", "pscale_pw_", "dop_v1_")),
    *(f"{mark}{crypt(30)}" for mark in ("npm_", "hf_", "pypi-AgEI", "GOCSPX-", "ATATT3")),
    f"shpat_{digits(32)}",
    f"npg_{crypt(16)}",
    f"AVNS_{crypt(16)}",
    f"whsec_{crypt(32)}",
    f"xoxb-{cycled('07', 12)}-{crypt(24)}",
    *(f"{kind}_{mode}_{crypt(24)}" for kind in ("sk", "rk") for mode in ("live", "test")),
    f"sk-{crypt(48)}",
    f"sk-ant-api03-{crypt(80)}",
    f"sk-proj-{crypt(80)}",
    f"SG.{crypt(22)}.{crypt(43)}",
    f"AGE-SECRET-KEY-1{cycled('ZQ7', 58)}",
    f"https://hooks.slack.com/services/T0/B0/{crypt(24)}",
    f"https://discord.com/api/webhooks/123/{crypt(60)}",
    f"https://hooks.slack.com/triggers/T0/1/{crypt(24)}",
    *(f"https://api.telegram.org/{kind}bot123456789:AA{crypt(33)}/x" for kind in ("", "file/")),
    f"https://a.webhook.office.com/webhookb2/{crypt(36)}@{crypt(36)}/IncomingWebhook/{crypt(32)}",
    f"https://outlook.office.com/webhook/{crypt(36)}",
    f"https://hooks.zapier.com/hooks/catch/123/{crypt(8)}",
    f"https://chat.example.org/hooks/{crypt(26)}",
    f"https://example.org:8065/a/hooks/{crypt(9)}",
    f"https://events.pagerduty.com/integration/{crypt(32)}/enqueue",
    f'{{"routing_key": "{crypt(32)}"}}',
    f'{{\\"routing_key\\":\\"{crypt(32)}\\"}}',
    *(f"https://a.azurewebsites.net/api/x?{word}={crypt(10)}" for word in ("code", "b=1&sas")),
    f"https://chat.googleapis.com/v1/spaces/A/messages?key={crypt(39)}",
]
PLACES = [
    "INSERT INTO t VALUES (1, '{}', 'x')",
    'a note: "{}".',
    "x={}&y=1",
    "Filter: (a = '{}'::text)",
    "1\tann\t{}\t2026-01-01",
    "LOG:  x\n{}\nLOG:  y",
]
PIECES = ("Zq7Zq7", "ZQ7ZQ7", "0fa0fa", "0FA0FA")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", [*HASHES, *TOKENS])
def test_a_secret_is_hidden_by_its_looks_at_no_name(secret: str, place: str) -> None:
    text = place.format(secret)
    shown = redacted(text)
    assert not [piece for piece in PIECES if piece in shown]
    assert redacted(shown) == shown
    assert holds_secret(text)
    before, _, after = place.partition("{}")
    assert shown.startswith(before.removesuffix("'").removesuffix('"'))
    to_its_quote = secret.startswith(("SCRAM-", "$A$"))
    assert to_its_quote or shown.endswith(after.removeprefix("'").removeprefix('"'))
    assert not [piece for piece in PIECES if piece in str(redacted_json({"a": [text]}))]


@pytest.mark.parametrize(
    "text",
    [
        f"commit {digits(40)}, digest {digits(64)}, md5 {digits(32)}",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "SELECT $1, $2, $1$ a text of two words $1$, $H$ one $H$, md5(random()::text)",
        "SELECT 2 * 4, 0x0200, x'0100' FROM t WHERE a = '$2b$'",
        "$2 * $6 + $5",
        "is_live_transactions, npm_config_a_very_long_name_of_a_setting, npg_statistics_of_all",
        "sk-frankfurt-database-07.example.org, xoxo-and-good-bye, task-force-of-the-sk-SK",
        "eyJ.a.b, a.b.c, v1.2.3-4-gabcdef0",
        "{SHA} is a hash, {SSHA} another",
        "s3://bucket/a/b/c, https://hooks.slack.com/docs, https://events.pagerduty.com/v2/enqueue",
        "/etc/git/hooks/pre-receive-2, https://h/hooks/pre-commit, https://h/hooks/12, hooks/a1b2",
        "https://h/x?code=404&key=customer_17&sas=none, exit code=12345678, at 12345678:AA",
        '{"routing_key": "orders.created.v2"}, https://api.telegram.org/docs/bot',
        "AKIA is how keys begin; hf_hub, gh_api, SG.1",
    ],
)
def test_what_only_resembles_one_stays(text: str) -> None:
    assert redacted(text) == text


@given(st.text("$2ab*x0kyPH.eJ-_{}S/1 '\"AZ", max_size=200))
def test_it_is_the_same_twice(text: str) -> None:
    shown = without_shapes(text)
    assert without_shapes(shown) == shown


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "eyJaaaaaaaa.", "$2b$12$", "$argon2id$m=1,t=2", "pbkdf2_sha256$1$", "scrypt:a:", "sk-",
     "SG.a", "$6$rounds=1$a", "{SSHA}", "/api/webhooks/1/", "$y$", "md5$", "0x0200", "xoxb-",
     "https://", "https://h/hooks/", "https://a/hooks/a/", "hooks/", "?code=", "&key=aaaaaaaaaa",
     "office.com/webhook/", "1:AA", "12345678:AA", "routing_key: "],
)  # fmt: skip
def test_what_has_no_end_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    assert len(without_shapes(piece * 20_000)) <= len(piece * 20_000)


@given(
    st.lists(st.sampled_from([*HASHES, *TOKENS, "a", " ", "=", "'", "\n"]), max_size=6).map("".join)
)
def test_marks_and_words_change_nothing_but_the_time(text: str) -> None:
    everywhere = text
    for _, pattern in _SHAPES:
        everywhere = _compiled(pattern).sub(r"\1…", everywhere)
    assert without_shapes(text) == everywhere


def test_no_sample_is_shorter_than_what_is_looked_at() -> None:
    assert min(map(len, [*HASHES, *TOKENS])) >= _SHORTEST
