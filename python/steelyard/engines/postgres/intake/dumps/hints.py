"""Says what to do where a statement of a dump is refused."""

from __future__ import annotations

import re
import shlex

from steelyard.engines.postgres.intake.dumps.format import Dump, DumpFormat
from steelyard.engines.postgres.intake.dumps.lexer import SqlStatement
from steelyard.engines.postgres.intake.dumps.session import StatementError
from steelyard.engines.postgres.life.recovery import hint_at_build
from steelyard.model.identity import Identity

_NOT_THERE = frozenset(("42P01", "42704", "42883", "3F000"))
"""Undefined table, object, function and schema (Appendix A)."""
_THERE_ALREADY = frozenset(("42P07", "42710", "42723"))
"""Duplicate table, object and function."""
_ACCESS_METHOD = (
    "A table access method of an extension, which this build lacks. Of pg_dump 15 and later "
    "--no-table-access-method makes ordinary tables of these: pg_dump --no-table-access-method "
    "-Fc -f FILE DATABASE; or name a build that has it: --set control.bindir=DIR"
)
_EXTENSION = (
    "--set contrib=true brings PostgreSQL's own extensions; for others name a build "
    "that has them: --set control.bindir=DIR"
)
_COLLATION = (
    "A collation of the C library is there where its locale is on this machine: "
    "locale -a lists them, sudo locale-gen NAME makes one (Debian)."
)
_OTHER_FILE = (
    "It names a file beside the dump, and no statement of psql is obeyed (\\copy): restore it on a "
    "server of yours, and name a dump of that: pg_dump -Fc -f FILE DATABASE"
)
_KNOWN = (
    (re.compile(r'could not (?:open|stat) file ".*"(?: for (?:reading|writing))?:'), _OTHER_FILE),
    (re.compile(r"could not create locale "), _COLLATION),
    (re.compile(r'invalid value for parameter "default_table_access_method"'), _ACCESS_METHOD),
    (re.compile(r'access method ".*" does not exist'), _ACCESS_METHOD),
    (
        re.compile(r'role ".*" does not exist'),
        "Type CREATE ROLE NAME; above all of it, or take a dump that makes its roles: "
        "pg_dumpall -f FILE",
    ),
    (
        re.compile(r"permission denied for (?:table|view) pg_"),
        "A role with few rights is still set behind a statement: type RESET ROLE; there.",
    ),
    (
        re.compile(r'tablespace ".*" does not exist'),
        "The copy has one tablespace: leave TABLESPACE and its name out of the statement. What "
        "pg_dump writes of tablespaces (SET default_tablespace) is left out by itself.",
    ),
)
_MESSAGE = re.compile(rb"(?:pg_dump(?:all)?: |Password\b[^\n]*:)")
_HINT_MESSAGE = (
    "This line is a message of pg_dump, no SQL: remove it, and what follows of it, from the file, "
    "or dump anew with -f FILE and without 2>&1."
)

_WORDS_OF_SQL = frozenset(
    {
        *("ALTER", "ANALYZE", "BEGIN", "COMMENT", "COMMIT", "COPY", "CREATE", "DELETE", "DO"),
        *("DROP", "GRANT", "INSERT", "LOCK", "REFRESH", "RESET", "REVOKE", "SELECT", "SET"),
        *("START", "TRUNCATE", "UPDATE", "VACUUM", "VALUES", "WITH"),
    }
)
_HINT_NO_SQL = (
    "Name what pg_dump wrote: pg_dump -Fc -f FILE DATABASE. Lines of other programs before its SQL "
    "are removed first."
)


def is_no_sql(statement: SqlStatement, error: StatementError) -> bool:
    """Whether what was refused does not look like a statement at all, nor is a message of pg_dump:
    a table in CSV, a configuration, a list of anything."""
    if error.sqlstate != "42601" or _MESSAGE.match(statement.text):
        return False
    return not (statement.words and statement.words[0] in _WORDS_OF_SQL)


def restore_hint(
    statement: SqlStatement,
    error: StatementError,
    dump: Dump,
    identity: Identity,
    client_encoding: str,
) -> str | None:
    """What helps where a statement of a dump was refused; None: nothing is known that would."""
    known = next((hint for fits, hint in _KNOWN if fits.match(error.primary)), None)
    if known is None and error.sqlstate == "42601" and _MESSAGE.match(statement.text):
        known = _HINT_MESSAGE
    if known is None and is_no_sql(statement, error):
        known = _HINT_NO_SQL
    if known is None and "extension" in error.primary and error.sqlstate in ("0A000", "58P01"):
        known = _EXTENSION
    words = f"{error.primary}\n{error.detail or ''}"
    known = known or hint_at_build(words, build_version=identity.version_number)
    if known is not None:
        return known
    if error.sqlstate == "42704" and error.primary.startswith("collation "):
        return _COLLATION
    if error.sqlstate in _NOT_THERE:
        return (
            f"Neither the dump nor PostgreSQL {identity.version} has it. One of a part "
            "(pg_dump -t, -n, --section, --data-only) lacks what stands elsewhere, extensions "
            "too: dump the whole database, pg_dump -Fc -f FILE DATABASE. One of a later "
            "version needs that: --set control.version=VERSION --set arm.version=VERSION"
        )
    if error.sqlstate in ("22021", "22P05"):
        written = f"client_encoding = '{client_encoding}'"
        text = _as_sql(dump)
        return (
            "Its texts are in another encoding than it says. Name the right one, such as "
            f"LATIN1: {text} | sed \"s/{written}/client_encoding = 'LATIN1'/\" > new.sql"
        )
    return _hint_of_others(error, identity)


def _as_sql(dump: Dump) -> str:
    """What to type for the SQL of a dump; pg_restore unpacks no file that is compressed as a whole
    (its own compression is within)."""
    source = shlex.quote(str(dump.path))
    if dump.format is DumpFormat.PLAIN:
        return f"{'gzip -dc' if dump.compressed else 'cat'} {source}"
    return (
        f"gzip -dc {source} | pg_restore -f -" if dump.compressed else f"pg_restore -f - {source}"
    )


def _hint_of_others(error: StatementError, identity: Identity) -> str | None:
    """What helps where the file is not what it was taken for."""
    if error.sqlstate in _THERE_ALREADY:
        return (
            "It is made twice: the file may hold two dumps, one behind the other. Name one, or "
            "remove the first: each ends in the line -- PostgreSQL database dump complete"
        )
    if error.sqlstate == "42601":
        return (
            f"A version later than PostgreSQL {identity.version} may have written it: name that, "
            "--set control.version=VERSION --set arm.version=VERSION"
        )
    return None
