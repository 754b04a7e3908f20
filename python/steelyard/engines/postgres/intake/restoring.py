"""Restores a dump of pg_dump into a new cluster: custom, directory and tar format, plain SQL.

An archive becomes SQL by pg_restore, and SQL is executed statement by statement over libpq,
whatever it came from. No psql is used: nothing in a dump is a command that could run with our
rights. What the SQL itself can start (COPY … PROGRAM, functions) runs in the server, under its
account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Instance
from steelyard.engines.intake import Neutralised
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.dumps.archive import MeteredFile, archive_script
from steelyard.engines.postgres.intake.dumps.format import (
    HINT_ONE_DATABASE,
    Dump,
    DumpFormat,
    opened,
    recognise,
)
from steelyard.engines.postgres.intake.dumps.hints import is_no_sql, restore_hint
from steelyard.engines.postgres.intake.dumps.lexer import (
    DumpLexer,
    PsqlCommand,
    SqlStatement,
    refused_command,
)
from steelyard.engines.postgres.intake.dumps.rules import (
    created_database,
    enters_database,
    executed_text,
    is_harmless,
    is_left_out,
    left_out,
    makes_contents,
    may_be_passed_over,
    missing_role,
    unknown_setting,
)
from steelyard.engines.postgres.intake.dumps.session import DumpSession, StatementError
from steelyard.engines.postgres.intake.dumps.tables import DumpedTables
from steelyard.engines.postgres.intake.dumps.ways_out import WaysOut, is_shut
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.errors import EngineError, ServerError, SteelyardError, UsageError
from steelyard.model.identity import Identity

_PASSED_BY = re.compile(rb"\\(?:un)?restrict[ \t]+\w+[ \t]*\r?\n")
_BACKSLASHES = frozenset({"SJIS", "SHIFT_JIS_2004", "BIG5", "GBK", "UHC", "GB18030", "JOHAB"})
"""Encodings with characters whose last byte is that of a backslash, perhaps."""
_MOST_NOTES = 1000
"""Names that are listed: each of many tenants may have one."""
_MOST_ROLES = 1000
_SHOWN = 100
_QUOTE = re.compile(rb"['$]")
_LOGIN_TRIGGERS = (
    b"SELECT pg_catalog.quote_ident(evtname) FROM pg_catalog.pg_event_trigger"
    b" WHERE evtevent = 'login' AND evtenabled <> 'D' ORDER BY 1"
)
_ANYTHING = (  # FirstNormalObjectId: those below are initdb's
    b"SELECT 1 WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid >= 16384)"
    b" OR EXISTS (SELECT FROM pg_catalog.pg_proc WHERE oid >= 16384)"
    b" OR EXISTS (SELECT FROM pg_catalog.pg_type WHERE oid >= 16384)"
    b" OR EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE oid >= 16384)"
    b" OR EXISTS (SELECT FROM pg_catalog.pg_extension WHERE oid >= 16384)"
    b" OR EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata)"
)
_SHUT = "it needs a foreign table or dblink, and no restore reaches another server"
_HINT_SHUT = (
    "Leave this statement out of the file; pg_dump writes none that needs one, but REFRESH, which "
    "is left out by itself."
)


@dataclass(frozen=True)
class Restored:
    """What a restore made otherwise than the dump says."""

    neutralised: tuple[Neutralised, ...]
    doubts: tuple[str, ...]
    database: str
    """Its name in the original; empty: the dump does not say."""


def restore_dump(
    build: Build,
    account: Account,
    instance: Instance,
    path: Path,
    directory: Path,
    database: str | None = None,
) -> Restored:
    """Restore a dump into database "steelyard", which exists and is empty. `database`: the one that
    it is to be of, as far as it says; None: of any.

    Owners, rights and tablespaces are left out: nothing else of the original is needed. What is
    unpacked meanwhile stands in `directory`. ServerError quotes what failed; UsageError: a dump
    that is more than SQL and rows, or of another database.
    """
    dump = recognise(path)
    address = replace(instance.address, database=DATABASE)
    with _sql(dump, build, account, directory) as lexer, connected(address) as connection:
        session = DumpSession(connection.pgconn)
        restore = _Restore(dump, session, lexer, instance.identity, database)
        try:
            restore.run()
        except BaseException:
            connection.close()  # a rollback would wait for a statement that may have no end
            raise
    try:
        with connected(address):
            pass
    except ServerError as error:
        if not restore.login_triggers:
            raise
        names = ", ".join(restore.login_triggers)
        raise ServerError(
            f'could not log in to what "{path}" was restored to: {error.primary}',
            detail=error.detail,
            hint=f"It holds an event trigger ON login, {names}: leave it out of the file, or make "
            f"the dump where it is off: ALTER EVENT TRIGGER {restore.login_triggers[0]} DISABLE",
        ) from error
    return restore.outcome()


@contextmanager
def _sql(dump: Dump, build: Build, account: Account, directory: Path) -> Iterator[DumpLexer]:
    if dump.format is DumpFormat.PLAIN:
        with opened(dump.path, compressed=dump.compressed) as file:
            yield DumpLexer(MeteredFile(file, directory))
    else:
        with archive_script(dump, build, account, directory) as script:
            yield DumpLexer(MeteredFile(script, directory))


class _Restore:
    """One dump on its way into one session."""

    def __init__(
        self,
        dump: Dump,
        session: DumpSession,
        lexer: DumpLexer,
        identity: Identity,
        required_database: str | None,
    ) -> None:
        self._dump = dump
        self._session = session
        self._lexer = lexer
        self._identity = identity
        self._required_database = required_database
        self._notes: dict[str, Neutralised] = {}
        self._unlisted = 0  # statements left out beyond these
        self._roles: list[str] = []
        self._empty = True  # nothing was made yet
        self._is_sql = False  # a statement of it was understood
        self._tables = DumpedTables()
        self._ways_out = WaysOut(session)
        self._unfinished = False  # whether it ends within a transaction of its own
        self._holds_anything = True  # whether anything is in the copy
        self._database = ""
        self.login_triggers: list[str] = []
        """What it holds that is executed at every login."""

    def run(self) -> None:
        """Execute all of it."""
        import psycopg

        try:
            for part in self._lexer:
                if isinstance(part, PsqlCommand):
                    self._command(part)
                elif is_left_out(part):
                    self._database = self._database or created_database(part)
                    self._require_database()
                    self._note(left_out(part))
                elif foreign := self._target(part):
                    self._leave_out_rows(part, foreign)
                else:
                    self._statement(part)
            self._unfinished = self._session.in_transaction
            self._ways_out.open_again()
            self._holds_anything = bool(self._session.rows(_ANYTHING))
            for (name,) in self._session.rows(_LOGIN_TRIGGERS):
                self.login_triggers.append(printable(name.decode(errors="replace")))
        except psycopg.Error as error:
            raise ServerError(
                f'could not restore "{self._dump.path}": the server ended the session',
                detail=str(error).strip(),
            ) from error
        except (UsageError, EngineError) as error:
            if self._names_dump(error):
                raise
            raise type(error)(
                f'could not restore "{self._dump.path}": {error.primary}',
                detail=error.detail,
                hint=error.hint,
            ) from error

    def outcome(self) -> Restored:
        """What is otherwise."""
        notes = list(self._notes.values())
        if self._roles:
            names = ", ".join(self._roles[:5]) + (", …" if len(self._roles) > 5 else "")
            notes.append(
                Neutralised(
                    f"logins and rights of roles that the dump names: {names}",
                    "policies and user mappings need them, and were kept",
                )
            )
        doubts = []
        if self._unlisted:
            doubts.append(
                f"more was left out of the dump than is listed: {self._unlisted} statements beside "
                f"the first {len(self._notes)} names; what else it sets is in the dump alone"
            )
        if self._lexer.cut_off or self._unfinished:
            doubts.append("the end of the dump is missing: it may have been cut off")
        if not self._holds_anything:
            doubts.append(
                "the dump makes nothing: the database is empty, as of pg_dump --statistics-only, "
                "of roles alone, or where its transaction is rolled back"
            )
        if self._lexer.is_of_pg_dump:
            doubts += self._tables.doubts()
        return Restored(tuple(notes), tuple(doubts), self._database)

    def _require_database(self) -> None:
        """UsageError: the dump says that it is of another database than the one that was named."""
        if self._database and self._required_database not in (None, self._database):
            raise UsageError(
                f'it is of database "{self._database}", not of "{self._required_database}"',
                hint="Name the dump of that database, or leave out --database.",
            )

    def _command(self, command: PsqlCommand) -> None:
        if _PASSED_BY.fullmatch(command.text):
            return  # pg_dump writes them for psql (CVE-2025-8714)
        if not enters_database(command):
            raise refused_command(command)
        if not self._empty:
            what = f"line {command.line} goes on in another database"
            raise UsageError(what, hint=HINT_ONE_DATABASE)
        self._session.execute(b"DISCARD ALL")  # pg_dump -C: the database, made and entered

    def _statement(self, statement: SqlStatement) -> None:
        self._tables.add(statement)
        self._empty = self._empty and not makes_contents(statement)
        try:
            if statement.reads_rows:
                self._session.copy(statement.text, self._lexer.rows())
            else:
                self._execute(statement)
        except StatementError as error:
            raise self._failed(statement, error) from error
        except UsageError as error:
            if statement.reads_rows:
                raise
            raise UsageError(
                f"line {statement.line}: {error.primary}", detail=error.detail
            ) from error
        self._is_sql = True
        self._lexer.standard_strings = self._session.standard_strings
        encoding = self._session.client_encoding
        if encoding in _BACKSLASHES:
            raise UsageError(
                f"it is written in {encoding}, whose characters may hold a backslash",
                hint="Dump it in UTF-8: pg_dump -E UTF8 -Fc -f FILE DATABASE",
            )

    def _target(self, statement: SqlStatement) -> str:
        """The foreign table that a statement fills; "": none. UsageError: it fills a table that has
        one for a partition."""
        try:
            foreign = self._ways_out.target(statement)
        except StatementError as error:  # its name cannot be read
            raise self._failed(statement, error) from error
        if foreign is not None and not foreign.itself:
            raise _refused_rows(statement, foreign.name)
        return "" if foreign is None else foreign.name

    def _leave_out_rows(self, statement: SqlStatement, table: str) -> None:
        """Of pg_dump --include-foreign-data: executed, they are written to somebody's server."""
        if statement.reads_rows:
            for _ in self._lexer.rows():
                pass
        why = "they would be written to the server that it leads to"
        self._note(Neutralised(f"rows of foreign table {table}", why))

    def _execute(self, statement: SqlStatement) -> None:
        guarded = self._session.in_transaction and may_be_passed_over(statement)
        if guarded:
            self._session.execute(b"SAVEPOINT steelyard_dump")
        try:
            self._session.execute(executed_text(statement))
        except StatementError as error:
            if guarded:
                self._session.execute(b"ROLLBACK TO steelyard_dump")
            self._after_error(statement, error)
        if guarded and self._session.in_transaction:
            self._session.execute(b"RELEASE steelyard_dump")
        self._ways_out.shut_after(statement)

    def _after_error(self, statement: SqlStatement, error: StatementError) -> None:
        """Go on where an error is harmless or can be mended; else it is raised again."""
        if is_harmless(statement, error.sqlstate):
            return
        version = self._identity.version
        note = unknown_setting(statement, error.sqlstate, version) or self._ways_out.left_empty(
            statement, error
        )
        if note is not None:
            self._note(note)
            return
        role = missing_role(statement, error.sqlstate, error.primary)
        if role is None or role in self._roles or len(self._roles) == _MOST_ROLES:
            raise error
        self._roles.append(role)
        quoted = role.replace('"', '""')
        self._session.execute(f'CREATE ROLE "{quoted}" NOLOGIN'.encode())
        self._execute(statement)

    def _note(self, note: Neutralised | None) -> None:
        if note is None or note.what in self._notes:
            return
        if len(self._notes) < _MOST_NOTES:
            self._notes[note.what] = note
        else:
            self._unlisted += 1

    def _names_dump(self, error: SteelyardError) -> bool:
        return str(self._dump.path) in error.primary

    def _failed(self, statement: SqlStatement, error: StatementError) -> ServerError:
        # Up to the first quote: what stands in literals is somebody's data, or a password.
        beginning = " ".join(_QUOTE.split(statement.text)[0].decode(errors="replace").split())
        cut = len(beginning) > _SHOWN or _QUOTE.search(statement.text)
        where = f"Line {statement.line}: " if self._dump.format is DumpFormat.PLAIN else "In: "
        excerpt = f"{where}{beginning[:_SHOWN]}{' …' if cut else ''}"
        if not self._is_sql and is_no_sql(statement, error):
            excerpt = (
                f"Line {statement.line} begins with no SQL."  # whatever it is: it may be secret
            )
        detail = "\n".join(part for part in (error.detail, excerpt) if part)
        if is_shut(error):
            return ServerError(_SHUT, detail=detail, hint=_HINT_SHUT)
        hint = restore_hint(
            statement, error, self._dump, self._identity, self._session.client_encoding
        )
        return ServerError(error.primary, detail=detail, hint=hint or error.hint)


def _refused_rows(statement: SqlStatement, foreign: str) -> UsageError:
    return UsageError(
        f"line {statement.line} writes rows to a table that has a foreign table for a partition, "
        f"{foreign}: some may be written to the server that it leads to",
        hint="Dump each partition's rows by themselves, without --load-via-partition-root: "
        "pg_dump -Fc -f FILE DATABASE",
    )
