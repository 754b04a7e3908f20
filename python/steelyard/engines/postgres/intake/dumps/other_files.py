"""Recognises files that are no dump of PostgreSQL by how they begin, and says what to type.

Of a file of SQL it is the first statement that tells, behind the comments: many programs write
their own name there, or none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from steelyard.model.errors import UsageError

HINT_OTHER_PRODUCTS = (
    "Data of PostgreSQL alone are taken in; other servers are weighed with workloads that are "
    "loaded into them: `steelyard studies` lists whose."
)
_MYSQL = "a dump of MySQL or MariaDB"
_COMMENTS = re.compile(
    rb"(?>(?:\s++|--[^\n]*+(?:\n|\Z)|#[^\n]*+(?:\n|\Z)"
    rb"|/\*(?!!|M!)(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z))*)"
)
_SAYS_MYSQL = re.compile(
    # mysqldump, mydumper, mariadb-dump, mysqlpump, Adminer, Workbench, Sequel, Navicat, HeidiSQL.
    rb"-- (?:MySQL|MariaDB) dump|-- phpMyAdmin SQL|-- Dump created by MySQL"
    rb"|-- Adminer \S+ (?:MySQL|MariaDB)|-- MySQL Script generated|# Sequel (?:Pro|Ace) SQL dump"
    rb"|Source Server Type\s*: (?:MySQL|MariaDB)|Server version:[^\n]* (?:MySQL|mariadb)"
)
_MOST_OF_COMMENTS = 4096
_FIRST: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (
        _MYSQL,
        re.compile(
            rb"/\*(?:!\d|M!)|SET\s+(?:@|NAMES\s+'?utf8mb|(?:SQL_MODE|FOREIGN_KEY_CHECKS|SQL_LOG_BIN"
            rb"|UNIQUE_CHECKS)\b)|DELIMITER\s|LOCK\s+TABLES\s|\[config\]\s+quote[-_]character"
            rb"|(?:USE|CREATE|DROP|INSERT|ALTER|TRUNCATE)\s[^;`'\"(]{0,60}`",
            re.IGNORECASE,
        ),
    ),
    ("a dump of SQLite", re.compile(rb"PRAGMA\s", re.IGNORECASE)),
    (
        "a script for SQL Server",
        re.compile(
            rb"USE\s+\[|SET\s+(?:ANSI_NULLS|QUOTED_IDENTIFIER)\s|GO\s"
            rb"|(?:CREATE|DROP|ALTER|INSERT)\s[^;\['\"(]{0,60}\[\w",
            re.IGNORECASE,
        ),
    ),
    ("a script for Oracle", re.compile(rb"REM(?:ARK)?\s|SET\s+DEFINE\s|PROMPT\s", re.IGNORECASE)),
)
"""What a statement is of, no text of which PostgreSQL would take."""
_MAGIC = (
    (b"XBSTCK01", "a backup of MySQL or MariaDB (xbstream)"),
    (b"\xfebin", "a binary log of MySQL or MariaDB"),
    (b"SQLite format 3\0", "a database of SQLite"),
    (b"TAPE\0\0", "a backup of SQL Server"),
    (b"\x03\x01EXPORT:V", "an export of Oracle"),
    (b"PAR1", "a file of Parquet"),
)
_OTHERS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(
            rb"-----BEGIN (?:PGP MESSAGE|AGE ENCRYPTED FILE)-----|age-encryption\.org/|Salted__"
        ),
        "it is encrypted",
        "Decrypt it, and name the file that comes of it.",
    ),
    (
        re.compile(rb"<(?:!DOCTYPE|html|\?xml|Error)\b", re.IGNORECASE),
        "it is a page or a message of a web server",
        "The download failed, perhaps for want of a login: look at the file, and fetch it again.",
    ),
    (
        re.compile(rb"version https://git-lfs\.github\.com/"),
        "it stands for a file that Git LFS keeps",
        "Fetch that: git lfs pull",
    ),
    (
        re.compile(rb"[^\s:]+:(?:\d{1,5}|\*):[^\s:]+:[^\s:]+:[^\s:]+\r?(?:\n|\Z)"),
        "it is a file of passwords (.pgpass)",
        "libpq reads it by itself, or by PGPASSFILE: name the server, --from 'host=... dbname=...'",
    ),
)
_OF_TAR = b"Search for $$PATH$$"
_BASE = re.compile(r"base\.tar(?:\.gz|\.zst|\.lz4)?")
_TABLESPACE = re.compile(r"(\d+)\.tar(?:\.gz|\.zst|\.lz4)?")


def refuse_others(path: Path, head: bytes) -> None:
    """UsageError: a file begins as none of PostgreSQL's dumps in plain format does."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    comments = _COMMENTS.match(text)
    assert comments is not None  # it may be empty
    statement = text[comments.end() :]
    for pattern, what, hint in _OTHERS:
        if pattern.match(text):
            raise UsageError(f'cannot take in "{path}": {what}', hint=hint)
    products = [what for magic, what in _MAGIC if head.startswith(magic)]
    products += [what for what, pattern in _FIRST if pattern.match(statement)]
    if _SAYS_MYSQL.search(text[: min(comments.end(), _MOST_OF_COMMENTS)]):
        products.insert(0, _MYSQL)
    for what in products[:1]:
        raise UsageError(f'cannot take in "{path}": it is {what}', hint=HINT_OTHER_PRODUCTS)
    if _OF_TAR in text[: comments.end()]:
        whole = f"--from {shlex.quote(str(path.parent))}"
        raise UsageError(
            f'cannot take in "{path}": it is the script within a dump in tar format',
            detail="Its rows stand in files beside it.",
            hint=f"Name their directory: {whole}"
            if (path.parent / "toc.dat").is_file()
            else "Name the dump itself, which ends in .tar.",
        )


def packed_base(folder: Path) -> Path | None:
    """The archive of the data directory in a base backup in tar format; None: there is none."""
    return next((file for file in sorted(folder.glob("base.tar*")) if _is_base(file)), None)


def _is_base(file: Path) -> bool:
    return _BASE.fullmatch(file.name) is not None and file.is_file()


def unpacking_backup(base: Path) -> str:
    """What to type for a base backup in tar format: its archives into one directory, `backup`."""
    typed = ["mkdir -p backup/pg_wal", *_unpacked(base, "backup")]
    for file in sorted(base.parent.glob("*.tar*")):
        tablespace = _TABLESPACE.fullmatch(file.name)
        if file.name.startswith("pg_wal.tar"):
            typed += _unpacked(file, "backup/pg_wal")
        elif tablespace is not None:
            target = f"backup/pg_tblspc/{tablespace[1]}"
            typed += [f"mkdir -p {target}", *_unpacked(file, target)]
    if (manifest := base.parent / "backup_manifest").is_file():
        typed.append(f"cp {shlex.quote(str(manifest))} backup")
    return " && ".join(typed)


def _unpacked(file: Path, target: str) -> Iterator[str]:
    program = "-I lz4 " if file.suffix == ".lz4" else ""  # which tar does not know by itself
    yield f"tar {program}-xf {shlex.quote(str(file))} -C {target}"
