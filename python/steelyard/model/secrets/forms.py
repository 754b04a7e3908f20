"""The forms in which a text says a secret: in URIs, behind names, in keys and headers, in rows, and
in what servers quote of them."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import lru_cache

from steelyard.model.secrets.apart import without_compared, without_prepared
from steelyard.model.secrets.built_texts import without_assigned, without_built, without_variables
from steelyard.model.secrets.keyed_rows import without_keyed_values
from steelyard.model.secrets.named_secrets import without_named
from steelyard.model.secrets.secret import LEFT_OUT, is_perhaps_a_column, is_secret
from steelyard.model.secrets.secret_values import (
    GAP,
    hide,
    literal_end,
    next_at,
    past,
    replace_behind,
    without_arguments,
    without_later_literals,
    without_literals,
)
from steelyard.model.secrets.server_quotes import without_quotes
from steelyard.model.secrets.written_rows import (
    without_aliased_rows,
    without_copied_rows,
    without_listed_rows,
    without_positional_rows,
)

_ACCESS = re.compile(r"://[^\s:/@\[?#]*+:")
_PORT = re.compile(r"\d{1,5}(?:\W|\Z)")
_WORD = re.compile(r"\S+")
_REST = re.compile(r"[^\s\"']+")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*$")
_LONE_USER = re.compile(r"(https?://)(?!…@)[^\s/?#@\"'<>:]{1,2000}+@", re.IGNORECASE)
_ORACLE = re.compile(
    r"(\bjdbc:oracle:\w{1,20}:[^\s/@]{0,128}+/)(?!…@)[^\s@]{1,256}+@", re.IGNORECASE
)
_ORACLE_LOGIN = re.compile(
    rf"(\b(?:sqlplus|sqlldr|expdp|impdp)\b[^\n|&]{{0,300}}?\s(?:\w{{1,20}}=)?['\"]?"
    rf"[\w$#]{{1,63}}+/)(?!{LEFT_OUT})[^\s'\"@/]{{1,256}}+(?=[@\s'\"]|\Z)"
)
_MYSQLSH_LOGIN = re.compile(
    r"(\bmysqlsh\b[^\n|&]{0,300}?[\s=]['\"]?[^\s:/@'\"=-][^\s:/@'\"=]{0,63}+:)"
    rf"(?!{LEFT_OUT})[^\s'\"@/]{{1,256}}+(?=@)"
)
_IDENTIFIED = re.compile(
    rf"\bidentified\b{GAP}(?:(?:with|via)\b{GAP}\S{{1,100}}\s{GAP})?(?:by|as|using)\b{GAP}"
    rf"(?:(?:password|values)\b{GAP})?",
    re.IGNORECASE,
)
_REPLACED = re.compile(rf"\breplace\b{GAP}(?=['\"])", re.IGNORECASE)
_ANY_IDENTIFIED = re.compile(r"\b(?:identified|set\s{1,9}password)\b", re.IGNORECASE)
_ACCOUNT = re.compile(
    r"\b(?:(?:create|alter)\s{1,9}(?:public\s{1,9})?(?:user|role|database\s{1,9}link)|grant)\b",
    re.IGNORECASE,
)
"""Before a password that is written without quotes."""
_WORD_OF_SQL = re.compile(r"[^\s;]*")
_NO_PASSWORD = re.compile(r"(?:random|externally|globally)\b|;", re.IGNORECASE)
_BEARER = re.compile(
    r"(\b[Bb](?:earer|EARER)\s{1,9})(?=[\w.~+/=-]*(?:\d|[a-z][A-Z]|[=+/]))[\w.~+/=-]{16,}"
)
_BASIC = re.compile(r"(\bbasic\s{1,9})([A-Za-z0-9+/]{8,}+={0,2}+)", re.IGNORECASE)
_SCRAM = re.compile(r"(\bscram-sha-256\$)[^\s'\"]+", re.IGNORECASE)
_QUOTE = r"(?P<quote>\\{0,3}['\"])?"
_QUOTED_WORD = rf"(?!{LEFT_OUT})(?(quote)(?:(?!(?P=quote))[^\n])+|[^\s'\"]+)"
"""Up to the quote that closes it, else a word without quotes."""
_SSHPASS = re.compile(rf"(\bsshpass\s{{1,9}}(?:-v\s{{1,9}})?-p\s?{_QUOTE}){_QUOTED_WORD}")
_OPENSSL = re.compile(rf"(\s-pass(?:in|out)?[\s=]{{1,9}}{_QUOTE}pass:){_QUOTED_WORD}")
_MYSQLADMIN = re.compile(
    rf"(\b(?:mysql|mariadb-)admin\b[^\n|&;]{{0,300}}?\s(?:old-)?password\s{{1,9}}{_QUOTE})"
    rf"{_QUOTED_WORD}"
)
_STORED = re.compile(
    rf"(\bconfigure\s{{1,9}}set\s{{1,9}}[\w.-]{{0,60}}(?:secret_access_key|session_token)\s{{1,9}}"
    rf"{_QUOTE}){_QUOTED_WORD}"
)
"""Of the AWS command line."""
_NAMED_LOGIN = re.compile(
    rf"(\b(?:influx\b[^\n|&;]{{0,300}}?\s-password|isql\s{{1,9}}(?:-\S{{1,20}}\s{{1,9}}){{0,9}}"
    rf"[^\s-]\S{{0,99}}\s{{1,9}}[^\s-]\S{{0,99}}|db2\b[^\n|&;]{{0,300}}?\susing"
    rf"|connect\s{{1,9}}to\s{{1,9}}\S{{1,63}}\s{{1,9}}user\s{{1,9}}\S{{1,63}}\s{{1,9}}using"
    rf"|htpasswd\b[^\n|&;]{{0,100}}?\s-\w{{0,9}}b\w{{0,9}}\s{{1,9}}\S{{1,200}}\s{{1,9}}\S{{1,100}})"
    rf"\s{{1,9}}{_QUOTE}){_QUOTED_WORD}",
    re.IGNORECASE,
)
"""Of programs that take a user and a password one behind the other."""
_ALIAS = re.compile(
    rf"(\bmc\s{{1,9}}(?:alias\s{{1,9}}set|config\s{{1,9}}host\s{{1,9}}add)\s{{1,9}}[^\s-]\S{{0,60}}"
    rf"\s{{1,9}}\S{{1,200}}\s{{1,9}}[^\s'\"]{{1,200}}\s{{1,9}}{_QUOTE}){_QUOTED_WORD}"
)
"""Of MinIO's client: name, address, user, password."""
_PROGRAM = re.compile(
    r"(?:(?<![\w./-])|(?<=bin/)|(?<=\./))(?:"
    r"(?P<mysql>mysql(?:dump|admin|import|check|show|slap|pump|sh|binlog|_upgrade)?"
    r"|mariadb(?:-[a-z]{1,9})?|(?:maria|xtra)backup)"
    r"|(?P<mongo>my(?:dumper|loader)|mongo[a-z]{0,7}|cqlsh)|(?P<packer>7z[ar]?)|(?P<zip>(?:un)?zip)"
    r"|(?P<smb>smbclient)|(?P<lftp>lftp)|(?P<redis>redis-(?:cli|benchmark))"
    r"|(?P<sqlcmd>sqlcmd|osql|tsql|(?:free)?bcp)|(?P<ldap>ldap[a-z]{3,9})|(?P<openssl>openssl)"
    r"|(?P<login>(?:docker|podman)\s[^\n|&]{0,40}?\blogin))(?=\s)|\b(?P<curl>curl)\b"
)
"""Programs that take a password in a word that names none. A folder (-I/usr/include/mysql) is no
program."""
_OPTIONS = {
    name: re.compile(rf"\s{option}{_QUOTE}{user}")
    for name, option, user in (
        # Behind other letters of its word, but for those that take a value; and no port.
        ("mysql", r"-[ABCEGHKLNQUVWXbcfgijknoqstvx]{0,8}p(?![\d.]{1,15}:\d|\s)", ""),
        ("mongo", r"-p[ \t]{0,9}(?![-\s])", ""),
        ("packer", r"-p(?![-\s])", ""),
        ("zip", r"-P[ \t]{0,9}(?![-\s])", ""),
        ("smb", r"(?:-U|--user)[\s=]{0,9}", r"[^\s%'\"]{1,100}%"),
        ("lftp", r"(?:-u|--user)[\s=]{0,9}", r"[^\s,'\"]{1,100},"),
        ("redis", r"-a[ \t]{1,9}(?![-\s])", ""),
        ("sqlcmd", r"-P[ \t]{0,9}(?![-\s])", ""),
        ("ldap", r"-w[ \t]{0,9}(?![-\s])", ""),
        ("openssl", r"-[kK][ \t]{1,9}(?![-\s])", ""),
        ("login", r"-p[ \t=]{0,9}(?![-\s])", ""),
        (
            "curl",
            r"(?:-[A-Za-z0-9#]{0,12}[uU]|--(?:proxy-)?user)[\s=]{0,9}",
            r"[^\s:'\"]{1,100}:",
        ),
    )
}
_END_OF_ARGUMENTS = re.compile(r"[\n|&]")
_END_OF_URLS = re.compile(r"\n")
_MOST_ARGUMENTS = 500
"""Characters; a hidden word is one."""
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN (?:[A-Z]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?(?:-----END[^\n]*|\Z)"
)
_CIPHER = re.compile(
    r"\b(?:pgp_(?:sym|pub)_(?:en|de)crypt(?:_bytea)?|(?:(?:aes|des)_)?(?:en|de)crypt(?:_iv)?|crypt"
    r"|hmac|crypto_\w{1,40}|decryptbykeyauto\w{1,9}|account_add|validate_password_strength"
    r"|table_import_from_s3|query_export_to_s3|rds_set_external_\w{1,40}|postgres_fdw_connect"
    r"|openrowset(?!\s{0,3}\(\s{0,9}bulk\b))"
    r"\s{0,3}(?=\()",
    re.IGNORECASE,
)
"""Functions of pgcrypto, pgsodium, MySQL, SQL Server and Azure with a key or a password among their
arguments, at no name; of aws_s3, RDS and others too, which take logins by their place."""
_PROCEDURE = re.compile(
    r"\bsp_(?:addlogin|password|add(?:linkedsrv|remote)login|setapprole|addapprole|approlepassword)"
    r"\b",
    re.IGNORECASE,
)
"""Procedures of SQL Server with a password among their arguments, which stand in no parentheses."""
_SIGNED = re.compile(r"(?<!\w)(?:sign|verify)\s{0,3}(?=\()", re.IGNORECASE)
"""Of pgjwt: its first argument is what is signed, and the second one the key."""
_LOG_IN = re.compile(
    r"(?<![\w.])(?:\w{1,63}\.){0,2}(?:[a-z]{1,20}_){0,2}(?:log_?in|log_?on|sign_?(?:in|up|on)"
    r"|authenticate|(?:check|verify|validate|test)_(?:login|credentials?|user)"
    r"|(?:register|create|add|new)_(?:user|account|login))(?:_user|_account)?\s{0,3}(?=\()",
    re.IGNORECASE,
)
"""Functions that take the name of a user, and a password behind it."""
_OF_A_TABLE = re.compile(
    r"\b(?:table|into|exists|on|references|copy|index)\s{1,20}\Z", re.IGNORECASE
)
_SETS = re.compile(r"(?:\w{1,63}\.){0,2}(?:set|put|store|update|change|rotate)_", re.IGNORECASE)
"""A function that takes the key of some owner."""
_CALL = re.compile(r"(?<![\w.])[\w.]{1,200}+(?=\()")
"""A function, perhaps with its schema."""


def redact_forms(text: str, folded: str) -> str:
    """The text with each secret of these forms replaced; `folded`: the text as patterns read it
    that ignore case. What comes of it may hold others, where a quote was taken out."""
    for marks, without in _FORMS:
        for mark in marks:
            if mark in folded:
                text = without(text)
                break
    return text


def _without_access(text: str) -> str:
    """Without the passwords of URIs, which may hold blanks and @."""

    def left_out(match: re.Match[str]) -> tuple[str, int] | None:
        end = _end_of_access(text, match)
        return (LEFT_OUT, end) if end > match.end() else None

    return _LONE_USER.sub(rf"\1{LEFT_OUT}@", replace_behind(_ACCESS, text, left_out))


def _end_of_access(text: str, match: re.Match[str]) -> int:
    """The @ that ends the password of a URI: the last one of its word; of its line, where that has
    none or no host behind it, but before the next URI and the quote that closes this one."""
    start = match.end()
    bound = next_at(text, "://", start, len(text))
    bound = next_at(text, "\n", start, bound)
    word = _WORD.match(text, start, bound)
    word_end = word.end() if word else start
    in_word = text.rfind("@", start, word_end)
    if _PORT.match(text, start):
        return in_word if in_word >= 0 else start
    if in_word >= 0 and in_word + 1 < word_end:
        return in_word
    in_line = text.rfind("@", start, _closed_at(text, match, bound))
    if in_line >= 0:
        return in_line
    rest = _REST.match(text, start)
    return rest.end() if rest else start


def _closed_at(text: str, match: re.Match[str], bound: int) -> int:
    scheme = _SCHEME.search(text, max(0, match.start() - 40), match.start())
    before = text[scheme.start() - 1 : scheme.start()] if scheme else ""
    return next_at(text, before, match.end(), bound) if before in ("'", '"') else bound


def _without_passwords_of_accounts(text: str) -> str:
    """Without those of MySQL, MariaDB and Oracle."""
    for pattern in (_IDENTIFIED, _REPLACED) if _ANY_IDENTIFIED.search(text) else ():
        text = replace_behind(pattern, text, _password_left_out)
    return text


def _password_left_out(match: re.Match[str]) -> tuple[str, int] | None:
    text, start = match.string, match.end()
    end = literal_end(text, start)
    before = text[max(0, match.start() - 300) : match.start()]
    if end is None and _ACCOUNT.search(before) and not _NO_PASSWORD.match(text, start):
        end = past(_WORD_OF_SQL, text, start)
    hidden = None if end is None else hide(text, start, end)
    return None if hidden is None else (LEFT_OUT, hidden.end)


def _without_ciphers(text: str) -> str:
    """Without the literals among the arguments of ciphers: which of them is the secret, their names
    do not say."""
    return replace_behind(_CIPHER, text, lambda match: without_literals(text, match.end()))


def _without_keys_of_tokens(text: str) -> str:
    return replace_behind(_SIGNED, text, lambda match: without_later_literals(text, match.end()))


def _without_log_ins(text: str) -> str:
    def arguments(match: re.Match[str]) -> tuple[str, int] | None:
        of_a_table = _OF_A_TABLE.search(text[max(0, match.start() - 40) : match.start()])
        return None if of_a_table else without_later_literals(text, match.end())

    return replace_behind(_LOG_IN, text, arguments)


def _without_calls(text: str) -> str:
    """Likewise of functions whose names are secret."""

    def arguments(match: re.Match[str]) -> tuple[str, int] | None:
        return without_literals(text, match.end()) if _is_of_secrets(match[0]) else None

    return replace_behind(_CALL, text, arguments)


def _without_arguments(text: str) -> str:
    """Without the literals among the arguments of procedures that take a password at no name."""
    return replace_behind(_PROCEDURE, text, lambda match: without_arguments(text, match.end()))


@lru_cache(maxsize=10_000)
def _is_of_secrets(function: str) -> bool:
    if not is_secret(function):
        return False
    return not is_perhaps_a_column(function) or _SETS.match(function) is not None


def _without_options(text: str) -> str:
    """Without the passwords behind options of programs, of which each may have several."""
    parts, at, start = list[str](), 0, 0
    while (program := _PROGRAM.search(text, start)) is not None:
        kind, start, left = program.lastgroup or "", program.end(), _MOST_ARGUMENTS
        end_of_arguments = _END_OF_URLS if kind == "curl" else _END_OF_ARGUMENTS
        while left > 0:
            mark = end_of_arguments.search(text, start, start + left)
            option = _OPTIONS[kind].search(text, start, mark.start() if mark else start + left)
            if option is None:
                break
            left -= option.end() - start + 1
            start = _end_of_word(text, option.end(), option["quote"])
            if start > option.end() and text[option.end() : start] != LEFT_OUT:
                parts += [text[at : option.end()], LEFT_OUT]
                at = start
        start = max(at, program.end())
    return "".join([*parts, text[at:]])


def _end_of_word(text: str, start: int, quote: str | None) -> int:
    """Up to the quote that closes it, or to the end of its line; else of a word without quotes."""
    if quote is not None:
        return next_at(text, quote, start, next_at(text, "\n", start, len(text)))
    rest = _REST.match(text, start)
    return rest.end() if rest else start


def _without_basic(match: re.Match[str]) -> str:
    """Only what is USER:PASSWORD in base64: the word is one of prose."""
    try:
        decoded = base64.b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except ValueError:  # no base64, or letters that only a pattern takes for its own
        return match[0]
    return f"{match[1]}{LEFT_OUT}" if b":" in decoded else match[0]


def _replacing(pattern: re.Pattern[str], after: str = "") -> Callable[[str], str]:
    """What keeps the first group of a match and replaces the rest."""
    return lambda text: pattern.sub(rf"\1{LEFT_OUT}{after}", text)


_FORMS: tuple[tuple[tuple[str, ...], Callable[[str], str]], ...] = (
    (("\\set", "-v", "--set", "--variable"), without_variables),
    (("execute",), without_prepared),
    (("password", "identified"), without_assigned),
    (("://",), _without_access),
    (("jdbc:oracle",), _replacing(_ORACLE, "@")),
    (("sp_",), _without_arguments),
    (("identified", "password"), _without_passwords_of_accounts),
    (("=", "<>", "in"), without_compared),
    (("value", "select", "="), without_listed_rows),
    (("values",), without_aliased_rows),
    (("insert", "replace"), without_positional_rows),
    (("copy",), without_copied_rows),
    (("update", "values", "copy"), without_keyed_values),
    (
        (
            *("crypt", "hmac", "account_add", "password_strength", "_s3", "rds_set_external"),
            *("fdw_connect", "openrowset"),
        ),
        _without_ciphers,
    ),
    (("sign", "verify"), _without_keys_of_tokens),
    (("log", "sign", "auth", "_user", "_account", "_credential"), _without_log_ins),
    (("(",), _without_calls),
    (("%", "||", "+", ","), without_built),
    (("",), without_quotes),
    (("",), without_named),
    (
        (
            *("mysql", "maria", "xtra", "mydump", "myload", "mongo", "redis-", "sqlcmd", "osql"),
            *("tsql", "bcp", "ldap", "openssl", "docker", "podman", "curl", "cqlsh", "7z", "zip"),
            *("smbclient", "lftp"),
        ),
        _without_options,
    ),
    (("admin",), _replacing(_MYSQLADMIN)),
    (("configure",), _replacing(_STORED)),
    (("mc",), _replacing(_ALIAS)),
    (("influx", "isql", "db2", "using", "htpasswd"), _replacing(_NAMED_LOGIN)),
    (("bearer",), _replacing(_BEARER)),
    (("basic",), lambda text: _BASIC.sub(_without_basic, text)),
    (("scram-sha-256$",), _replacing(_SCRAM)),
    (("sshpass",), _replacing(_SSHPASS)),
    (("-pass",), _replacing(_OPENSSL)),
    (("private key",), _replacing(_PRIVATE_KEY)),
    (("sqlplus", "sqlldr", "expdp", "impdp"), _replacing(_ORACLE_LOGIN)),
    (("mysqlsh",), _replacing(_MYSQLSH_LOGIN)),
)
"""Of each form what a text must hold one of, in small letters, and what takes it out. Few texts
hold most of them, and to look for a word takes a hundredth of what a pattern does."""
