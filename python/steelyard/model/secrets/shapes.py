"""Hides secrets that are known by their looks, at whatever name or none: hashes of passwords, and
the tokens and keys whose makers begin all of them alike."""

from __future__ import annotations

import re
from functools import lru_cache

from steelyard.model.secrets.secret import LEFT_OUT

_SHORTEST = 16
"""Characters without a blank: no shorter word holds one."""
_SENTENCE = 200
"""Characters: a text that is no longer is divided into words first, which takes less than to look
for the marks of all kinds."""
_CRYPT = r"[./0-9A-Za-z]"
_WORD = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9])"
_ESCAPED = r"\\{0,3}[\"']?"
_SALT = r"[^\s$:'\"]{1,64}"

_SHAPES: tuple[tuple[str, str], ...] = (
    # Of crypt(3): bcrypt, MD5, SHA-256, SHA-512, yescrypt and scrypt; phpass and Drupal.
    ("$2", rf"(\$2[abxy]?\$)\d\d\${_CRYPT}{{22,}}"),
    ("$1$", rf"(\$1\$){_CRYPT}{{1,8}}\${_CRYPT}{{22}}"),
    ("$apr1$", rf"(\$apr1\$){_CRYPT}{{1,8}}\${_CRYPT}{{22}}"),
    ("$5$", rf"(\$5\$)(?:rounds=\d{{1,9}}\$)?{_SALT}\${_CRYPT}{{43}}"),
    ("$6$", rf"(\$6\$)(?:rounds=\d{{1,9}}\$)?{_SALT}\${_CRYPT}{{86}}"),
    ("$y$", rf"(\$y\$){_CRYPT}{{1,40}}\${_CRYPT}{{1,90}}\${_CRYPT}{{43}}"),
    ("$gy$", rf"(\$gy\$){_CRYPT}{{1,40}}\${_CRYPT}{{1,90}}\${_CRYPT}{{43}}"),
    ("$7$", rf"(\$7\$){_CRYPT}{{11,90}}\${_CRYPT}{{43}}"),
    ("$P$", rf"(\$P\$){_CRYPT}{{31}}(?!{_CRYPT})"),
    ("$H$", rf"(\$H\$){_CRYPT}{{31}}(?!{_CRYPT})"),
    ("$S$", rf"(\$S\$){_CRYPT}{{52}}(?!{_CRYPT})"),
    (
        "$argon2",
        r"(\$argon2(?:id|i|d)\$)(?:v=\d{1,3}\$)?[mtp]=\d{1,10}(?:,[a-z]{1,10}=[\w+/]{1,100}){1,4}"
        r"\$[\w+/=$-]{10,}",
    ),
    ("$pbkdf2", r"(\$pbkdf2[\w-]{0,12}\$)[\w,=]{1,30}\$[\w./+=-]{1,100}\$[\w./+=-]{16,}"),
    ("$scrypt$", r"(\$scrypt\$)[\w,=]{1,40}\$[\w./+=-]{1,100}\$[\w./+=-]{16,}"),
    # Of web frameworks: Django, Werkzeug, ASP.NET Identity; of LDAP.
    ("pbkdf2", rf"(pbkdf2[_:]sha\d{{1,3}}[$:])\d{{1,9}}\${_SALT}\$[\w+/=]{{16,}}"),
    ("scrypt", r"(scrypt[$:])[\w+/=]{1,30}(?:[$:][\w+/=]{1,30}){1,5}\$[\w+/=]{32,}"),
    ("sha1$", rf"((?<!\$)sha1\$){_SALT}\$[0-9a-f]{{40}}"),
    ("md5$", rf"((?<!\$)md5\$){_SALT}\$[0-9a-f]{{32}}"),
    ("AQAAAA", r"(?<![A-Za-z0-9+/])(AQAAAA)[A-Za-z0-9+/]{70,}={0,2}"),
    ("{S", r"(\{S(?:HA|SHA|MD5)\d{0,3}\})[A-Za-z0-9+/]{16,}={0,2}"),
    ("{MD5}", r"(\{MD5\})[A-Za-z0-9+/]{16,}={0,2}"),
    # Of servers: PostgreSQL before SCRAM, mysql_native_password, caching_sha2_password, SQL Server.
    ("md5", rf"{_WORD}(md5)[0-9a-f]{{32}}{_END}"),
    ("*", rf"(\*)[0-9A-F]{{40}}{_END}"),
    ("$A$00", r"(\$A\$00\d\$)[^\s'\"]{20,}"),
    ("0x0", rf"{_WORD}(0x0[12]00)[0-9A-Fa-f]{{48,140}}{_END}"),
    # Web tokens, and keys of services.
    ("eyJ", r"(?<![\w-])(eyJ)[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    *((mark, rf"{_WORD}({mark})[0-9A-Z]{{16}}{_END}") for mark in ("AKIA", "ASIA")),
    ("AIza", rf"{_WORD}(AIza)[\w-]{{35}}"),
    ("ya29.", rf"{_WORD}(ya29\.)[\w-]{{20,}}"),
    *(
        (mark, rf"{_WORD}({mark})[A-Za-z0-9]{{30,}}")
        for mark in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "hf_", "glsa_")
    ),
    *(
        (mark, rf"{_WORD}({re.escape(mark)})[\w-]{{20,}}")
        for mark in (
            *("github_pat_", "glpat-", "gldt-", "glrt-", "glptt-", "pypi-AgEI", "GOCSPX-"),
            *("ATATT3", "hvs.", "hvb.", "sb_secret_", "pscale_pw_", "pscale_tkn_", "dop_v1_"),
        )
    ),
    *((mark, rf"{_WORD}({mark})[0-9a-fA-F]{{32,}}") for mark in ("dapi", "shpat_")),
    *((mark, rf"{_WORD}({mark})[\w-]{{12,}}") for mark in ("AVNS_", "whsec_")),
    ("npg_", rf"{_WORD}(npg_)(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{{12,}}"),
    ("xox", rf"{_WORD}(xox[a-z]-)(?=[\w-]*\d)[\w-]{{12,}}"),
    ("xapp-", rf"{_WORD}(xapp-)[\w-]{{20,}}"),
    ("k_live_", rf"{_WORD}([srp]k_live_)[A-Za-z0-9]{{10,}}"),
    ("k_test_", rf"{_WORD}([srp]k_test_)[A-Za-z0-9]{{10,}}"),
    ("sk-", rf"{_WORD}(sk-)[A-Za-z0-9]{{32,}}{_END}"),
    ("sk-", rf"{_WORD}(sk-(?:proj|svcacct|admin|ant-\w{{1,8}}|or-v1)-)[\w-]{{20,}}"),
    ("SG.", rf"{_WORD}(SG\.)[\w-]{{16,}}\.[\w-]{{16,}}"),
    ("AGE-SECRET-KEY-1", r"(AGE-SECRET-KEY-1)[0-9A-Z]{20,}"),
    # In URLs that let in whoever knows them.
    ("hooks.slack.com/", r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/]{20,}"),
    ("/api/webhooks/", r"(/api/webhooks/)\d{1,30}/[\w-]{20,}"),
    ("office.com/webhook", r"(office\.com/webhook\w{0,3}/)[\w@/.-]{16,}"),
    ("pagerduty.com/integration/", r"(pagerduty\.com/integration/)[\w-]{8,}"),
    (":AA", r"(?<!\d)(\d{8,12}:AA)[\w-]{16,}"),
    (
        "/hooks/",
        r"(https?://[^\s/'\"]{1,253}+/(?:[\w.-]{1,63}/){0,3}?hooks/(?:[\w-]{1,63}/){0,2}?)"
        r"(?=[\w-]{0,63}\d)[\w-]{8,}",
    ),
    *(
        (mark, rf"({re.escape(mark)})(?=[^\s&'\"]{{0,99}}\d)[^\s&'\"<>\\)]{{{shortest},}}")
        for word, shortest in (("code", 8), ("sas", 8), ("key", 20))
        for mark in (f"?{word}=", f"&{word}=")
    ),
    (
        "routing_key",
        rf"(routing_key{_ESCAPED}\s{{0,3}}[:=]\s{{0,3}}{_ESCAPED})[0-9A-Za-z]{{32}}{_END}",
    ),
)
"""What a text must hold, and the pattern, of whose match the group stays. The patterns are bounded,
or begin where a word does, so that each is read in time linear in the length of the text."""


def without_shapes(text: str) -> str:
    """The text with each such secret replaced, but for how its kind begins."""
    if len(text) <= _SENTENCE and max(map(len, text.split()), default=0) < _SHORTEST:
        return text
    for mark, pattern in _SHAPES:
        if mark in text:
            text = _compiled(pattern).sub(rf"\1{LEFT_OUT}", text)
    return text


@lru_cache(maxsize=len(_SHAPES))
def _compiled(pattern: str) -> re.Pattern[str]:
    """Few of them are ever needed, and to compile all takes longer than a short command may."""
    return re.compile(pattern)
