"""Decides what of a dump is left out, and which errors do not end its restore.

One set of rules for every format, since archives become SQL too. The copy has one database and one
superuser: what concerns other databases, the server, owners and rights has no place in it.
"""

from __future__ import annotations

import re

from steelyard.engines.intake import Neutralised
from steelyard.engines.postgres.intake.dumps.lexer import PsqlCommand, SqlStatement
from steelyard.engines.postgres.life.data_directory import SUPERUSER

_SILENTLY = (
    # Owners, rights and tablespaces: always (own-data.md). The database itself is made already.
    ("GRANT",),
    ("REVOKE",),
    ("ALTER", "DEFAULT", "PRIVILEGES"),
    ("REASSIGN", "OWNED"),
    ("SET", "SESSION", "AUTHORIZATION"),
    ("RESET", "SESSION", "AUTHORIZATION"),
    ("SET", "ROLE"),
    ("SET", "LOCAL", "ROLE"),
    ("SET", "SESSION", "ROLE"),
    ("RESET", "ROLE"),
    ("SET", "DEFAULT_TABLESPACE"),
    ("CREATE", "DATABASE"),
    ("DROP", "DATABASE"),
    ("COMMENT", "ON", "DATABASE"),
    ("ALTER", "PUBLICATION"),
    ("DROP", "PUBLICATION"),
    ("COMMENT", "ON", "PUBLICATION"),
    ("ALTER", "SUBSCRIPTION"),
    ("DROP", "SUBSCRIPTION"),
    ("COMMENT", "ON", "SUBSCRIPTION"),
)
_OF_THE_SERVER = "it concerns the server, not the database"
_OF_ROLES = "settings of roles are not restored"
_AND_SAID = {
    ("CREATE", "PUBLICATION"): "nothing subscribes to the copy",
    ("CREATE", "SUBSCRIPTION"): "the copy fetches nothing",
    ("SECURITY", "LABEL"): "security labels are not restored",
    ("ALTER", "DATABASE"): "settings of the database are not restored",
    ("ALTER", "SYSTEM"): _OF_THE_SERVER,
    ("CREATE", "TABLESPACE"): _OF_THE_SERVER,
    ("ALTER", "TABLESPACE"): _OF_THE_SERVER,
    ("DROP", "TABLESPACE"): _OF_THE_SERVER,
}
_CONNECT = re.compile(rb'\\c(?:onnect)?[ \t]++(?>(?:"[^"\r\n]*"|[^\\"\r\n])+)\r?\n')
_CREATED = re.compile(rb'(?is)\s*CREATE\s+DATABASE\s+(?:"((?:[^"]|"")+)"|(\w+))')
_IN_A_DATABASE = ("IN", "DATABASE")
_NEW_OWNER = ("OWNER", "TO")
_TAKES_LOGIN = frozenset({"NOSUPERUSER", "NOLOGIN", "RENAME", "LIMIT", "UNTIL"})
_LAST_ACTION = re.compile(rb'(?is)(?<=,)\s*OWNER\s+TO\s+(?:"(?:[^"]|"")+"|[^\s";,]+)\s*;?\s*\Z')
_OUR_ROLE = re.compile(
    rf"(?is)\s*(?:ALTER|DROP)\s+(?:ROLE|USER)\s+(?:IF\s+EXISTS\s+)?"
    rf"(?:{SUPERUSER}\b(?![$])|(?-i:\"{SUPERUSER}\")|(?:CURRENT|SESSION)_(?:USER|ROLE)\b)".encode()
)
_NAMED = re.compile(
    rb'(?is)\s*(CREATE\s+(?:PUBLICATION|SUBSCRIPTION|TABLESPACE)\s+(?:"[^"]{1,63}"|\w{1,63})'
    rb"|ALTER\s+SYSTEM\s+(?:RE)?SET\s+[\w.]{1,63}"
    rb'|ALTER\s+(?:DATABASE|ROLE|USER)\s.{1,200}?\s(?:RE)?SET\s+"?[\w.]{1,63}"?)'
)
_UNDEFINED = frozenset(
    # Appendix A: undefined table, object, function, column, schema, and of a database.
    ("42P01", "42704", "42883", "42703", "3F000", "3D000")
)
_MAKES_ROLE = (("CREATE", "ROLE"), ("CREATE", "USER"), ("CREATE", "GROUP"))
_STATISTICS = re.compile(r"PG_RESTORE_\w+_STATS")
_UNLINK = ("SELECT", "PG_CATALOG", "LO_UNLINK")
_ROLE = re.compile(r'role "(.*)" does not exist')
_PARAMETER = re.compile(r"SET\s+(?:SESSION\s+|LOCAL\s+)?([\w.]+)", re.IGNORECASE)


def enters_database(command: PsqlCommand) -> bool:
    """Whether what follows is of the database that is named, which may be another one."""
    return _CONNECT.fullmatch(command.text) is not None


def makes_contents(statement: SqlStatement) -> bool:
    """Whether the copy holds something once it was executed."""
    return statement.words[:1] not in (("SET",), ("SELECT",), ()) and not is_left_out(statement)


def created_database(statement: SqlStatement) -> str:
    """The name of the database that a statement makes; empty: it makes none."""
    if not statement.begins("CREATE", "DATABASE"):
        return ""
    match = _CREATED.match(statement.text)
    if match is None:
        return ""
    quoted, plain = match.groups()
    name: bytes = plain.lower() if quoted is None else quoted.replace(b'""', b'"')
    return name.decode(errors="replace")


def is_left_out(statement: SqlStatement) -> bool:
    """Whether a statement is not executed."""
    return (
        any(statement.begins(*words) for words in (*_SILENTLY, *_AND_SAID))
        or _restores_statistics(statement)
        or _settings_in_a_database(statement)
        or _settings_of_a_role(statement)
        or _changes_our_role(statement)
        or (_ends_with_owner(statement) and _LAST_ACTION.search(statement.text) is None)
    )


def executed_text(statement: SqlStatement) -> bytes:
    """The text of a statement without an owner that is the last one of several changes."""
    if not _ends_with_owner(statement):
        return statement.text
    match = _LAST_ACTION.search(statement.text)
    return statement.text if match is None else statement.text[: match.start() - 1]


def _ends_with_owner(statement: SqlStatement) -> bool:
    words = statement.words
    while words[-2:] == ('"', '"'):  # of a name with a quote in it
        words = words[:-1]
    return statement.begins("ALTER") and words[-3:-1] == _NEW_OWNER


def _restores_statistics(statement: SqlStatement) -> bool:
    """Statistics are taken anew: 17 and older have no such functions, later versions have more."""
    function = [word for word in statement.words[1:4] if word not in ("FROM", "PG_CATALOG")][:1]
    return statement.begins("SELECT") and any(map(_STATISTICS.fullmatch, function))


def left_out(statement: SqlStatement) -> Neutralised | None:
    """What the copy is without, since a statement was left out; None: what it never has. No value
    is in it: it may be a password."""
    reason = next((why for words, why in _AND_SAID.items() if statement.begins(*words)), None)
    if _settings_in_a_database(statement):
        reason = _AND_SAID["ALTER", "DATABASE"]
    elif _settings_of_a_role(statement):
        reason = _OF_ROLES
    elif _changes_our_role(statement):
        return Neutralised(
            f"{' '.join(statement.words[:2])} {SUPERUSER}", "the weighing and its scripts run as it"
        )
    if reason is None or _ends_with_owner(statement):
        return None
    match = _NAMED.match(statement.text)
    text = match[1].decode(errors="replace") if match else " ".join(statement.words[:2])
    return Neutralised(" ".join(text.split()), reason)


def _settings_in_a_database(statement: SqlStatement) -> bool:
    pairs = zip(statement.words, statement.words[1:], strict=False)
    return _alters_a_role(statement) and _IN_A_DATABASE in pairs


def _settings_of_a_role(statement: SqlStatement) -> bool:
    """Whether SET or RESET follows the name of the role, which U& may stand before."""
    return _alters_a_role(statement) and not {"SET", "RESET"}.isdisjoint(statement.words[3:5])


def _changes_our_role(statement: SqlStatement) -> bool:
    """Whether it takes the login, or more, of the role that we restore and weigh as."""
    takes = statement.begins("DROP") or not _TAKES_LOGIN.isdisjoint(statement.words)
    return takes and _OUR_ROLE.match(statement.text) is not None


def _alters_a_role(statement: SqlStatement) -> bool:
    return statement.words[:2] in (("ALTER", "ROLE"), ("ALTER", "USER"))


def may_be_passed_over(statement: SqlStatement) -> bool:
    """Whether an error of a statement may not matter: it then must not end a transaction."""
    heads = (("DROP",), ("CREATE",), ("ALTER",), ("SET",), ("REFRESH",))
    return statement.words[:1] in heads or statement.begins(*_UNLINK)


def is_harmless(statement: SqlStatement, sqlstate: str) -> bool:
    """Whether a statement may fail so: what it removes, as --clean does, is not there, or what it
    makes, every database or server has (postgres, of pg_dumpall --globals-only)."""
    words = statement.words
    if sqlstate in _UNDEFINED:
        removes = statement.begins("DROP") or statement.begins(*_UNLINK)
        return removes or (statement.begins("ALTER") and "DROP" in words)
    if sqlstate == "42P06":
        return words[:2] == ("CREATE", "SCHEMA") and "PUBLIC" in words[2:]
    makes_role = words[:2] in _MAKES_ROLE and words[2:3] != ("MAPPING",)
    makes_language = words[:1] == ("CREATE",) and "PLPGSQL" in words[1:5]
    return sqlstate == "42710" and (makes_role or makes_language)


def unknown_setting(statement: SqlStatement, sqlstate: str, version: str) -> Neutralised | None:
    """What the copy is without where a statement sets what this version does not know."""
    if sqlstate != "42704" or not statement.begins("SET"):
        return None
    match = _PARAMETER.match(statement.text.decode(errors="replace"))
    return Neutralised(
        f"SET {match[1] if match else ''}".strip(), f"PostgreSQL {version} has no such setting"
    )


def missing_role(statement: SqlStatement, sqlstate: str, primary: str) -> str | None:
    """The role that a policy, a user mapping or the like names and the copy lacks."""
    match = _ROLE.fullmatch(primary)
    if sqlstate != "42704" or match is None or statement.words[:1] not in (("CREATE",), ("ALTER",)):
        return None
    return match[1]
