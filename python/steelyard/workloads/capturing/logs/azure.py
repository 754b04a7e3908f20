"""Reads what diagnostic settings of Azure's servers export of an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.workloads.capturing.logs.entry import LogEntry, Names, entry_of
from steelyard.workloads.capturing.logs.other_lines import holds_statement

# Of the flexible server, category PostgreSQLLogs.
_AZURE = Names(
    ("sessionId", "session_id", "processId"), "timestamp", "errorLevel", "user", "database",
    "statement",
)  # fmt: skip


def entry_of_azure(value: Mapping[str, Any], properties: Mapping[str, Any]) -> LogEntry | str:
    """The entry of a record, or its line of text."""
    message = str(properties["message"])
    # The older service has the prefix beside its messages. Flexible server has it within them, and
    # of what PostgreSQL writes in lines of their own the DETAIL alone, beside them.
    prefix, level = (str(properties.get(name) or "") for name in ("prefix", "errorLevel"))
    before, mark, text = message.partition(f"{level}:  ")
    if level and mark and not prefix and _is_prefix(before):
        return _azure_lines(before, level, text, properties)
    if not level or ("timestamp" not in properties and prefix):
        return _azure_lines(prefix, level, message, properties) if prefix and level else message
    entry = entry_of({"timestamp": value.get("time"), **properties}, _AZURE)
    return replace(entry, database=entry.database or str(properties.get("dbname") or ""))


def _is_prefix(text: str) -> bool:
    """Whether what stands before a severity may be a prefix, and is not a statement with that
    word."""
    is_message = text.startswith("duration: ") or holds_statement(text)
    return bool(text) and "\n" not in text and not is_message


def _azure_lines(prefix: str, level: str, text: str, properties: Mapping[str, Any]) -> str:
    """The lines of an entry as PostgreSQL writes them, its DETAIL behind it."""
    lines = [_with_tabs(f"{prefix}{level}:  {text}")]
    if detail := properties.get("detail"):
        lines.append(_with_tabs(f"{prefix}DETAIL:  {detail}"))
    return "\n".join(lines)


def _with_tabs(text: str) -> str:
    """With the tab behind each line feed by which PostgreSQL says that the entry goes on."""
    text = text.rstrip("\r\n")
    return text if text.count("\n") == text.count("\n\t") else text.replace("\n", "\n\t")
