"""Lists the statements of all branches of a script, of which one execution sends a few, and decides
by the text of a statement whether it writes; what is not sure is taken to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from steelyard.model.endpoint import POSTGRES, SQLSERVER
from steelyard.model.script_text import (
    TEXTS,
    VARIABLE,
    commands,
    split_statements,
    without_commands,
)
from steelyard.workloads.reading.dialects import GENERIC, language

_VARYING = frozenset({"client_id", "clients", "random_seed", "default_seed"})
"""Variables that exist by themselves, and are not the same for every client and load."""
_CALLS_OF_CHANCE = re.compile(r"random|hash|permute", re.IGNORECASE)
# Functions of PostgreSQL's and of extensions beside it: what changes or locks what others meet.
_WRITING_CALL = (
    r"nextval|setval|pg_(?:try_)?advisory_\w+|pg_notify|pg_logical_emit_message"
    r"|txid_current|pg_current_xact_id|lo_(?!get\b|lseek|tell|close\b)\w+|lowrite"
    r"|brin_\w*summarize_\w+|gin_clean_pending_list"
    r"|pg_import_system_collations|pg_(?:set|restore|clear)_\w+_stats"
)
# What acts on the whole server, on its files, or on another server.
_SERVER_CALL = (
    r"pg_reload_conf|pg_rotate_logfile\w*|pg_promote|pg_create_restore_point"
    r"|pg_(?:terminate|cancel)_backend|pg_log_backend_memory_contexts"
    r"|pg_switch_(?:wal|xlog)|pg_(?:wal|xlog)_replay_(?:pause|resume)"
    r"|pg_backup_(?:start|stop)|pg_(?:start|stop)_backup"
    r"|pg_(?:create|drop|copy|sync)_(?:\w+_)?replication_slots?|pg_replication_slot_advance"
    r"|pg_logical_slot_\w+|pg_replication_origin_(?:create|drop|advance|\w+_(?:setup|reset))"
    r"|pg_(?:stat_reset\w*|wait_sampling_reset_\w+|\w+_reset)"
    r"|pg_file_(?:write|rename|unlink|sync)|lo_(?:import|export)|pg_buffercache_evict\w*"
    r"|autoprewarm_\w+|postgres_fdw_disconnect\w*|dblink\w*"
    # What sends requests, files or messages elsewhere: pgsql-http and pg_net, the extensions of
    # Amazon, Azure and Google, pgai, pg_amqp.
    r"|http_(?:get|post|put|patch|delete|head)|query_export_to_s3|table_import_from_s3"
    r"|aws_(?:lambda|ml|bedrock|sagemaker|comprehend)\.\w+"
    r"|azure_(?:storage|openai|cognitive|ml|ai)\.\w+|google_ml\.\w+"
    r"|ai\.(?:openai|ollama|anthropic|cohere|voyageai|litellm)_\w+"
    r"|amqp\.(?:autonomous_)?publish"
)
_WRITES = re.compile(_WRITING_CALL)
_SERVES = re.compile(rf"{_SERVER_CALL}|http")
_SERVER_CALL_IN_TEXT = rf"{_SERVER_CALL}|http(?=\s*\()"
_SERVES_ANYWHERE = re.compile(rf"\b(?:{_SERVER_CALL_IN_TEXT})\b", re.IGNORECASE)
_CALLS = re.compile(rf"\b(?:{_WRITING_CALL}|{_SERVER_CALL_IN_TEXT})\b", re.IGNORECASE)
_LEADING = re.compile(r"\A(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_RUN_COMMENT = re.compile(r"/\*M?!(.*?)\*/", re.DOTALL)
"""What MySQL and MariaDB execute although it is in a comment."""
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_READING = {
    "abort", "begin", "checksum", "close", "commit", "deallocate", "declare", "desc", "describe",
    "discard", "end", "fetch", "get", "goto", "handler", "help", "if", "listen", "load", "move",
    "open", "prepare", "print", "raiserror", "release", "reset", "return", "rollback", "save",
    "savepoint", "set", "show", "signal", "start", "throw", "unlisten", "unlock", "use", "waitfor",
    "while",
}  # fmt: skip
"""With which statements begin that read, or steer their session, in PostgreSQL, MySQL, MariaDB and
T-SQL, queries aside; what begins otherwise (PURGE, DBCC, a word that is not known) may write."""
_BEGINS = re.compile(
    r"(?:prepare\s+transaction|(?:commit|rollback)\s+prepared"
    r"|reset\s+(?:master|binary|slave|replica|query|persist)|start\s+(?:slave|all|\w*replica\w*)"
    r"|set\s+(?:password|default\s+role))\b"
    r"|set\b(?:.*,)?\s*(?:@@(?:global|persist(?:_only)?)\.|(?:global|persist(?:_only)?)\s+[\w`@])",
    re.IGNORECASE | re.DOTALL,
)
"""How those of them begin that do write."""
_OF_BATCHES = re.compile(
    r"\b(?:insert|update|delete|merge|truncate|create|alter|drop|exec|execute|grant|revoke|deny"
    r"|bulk|dbcc|kill|shutdown|backup|restore|checkpoint|reconfigure|disable|enable)\b",
    re.IGNORECASE,
)
"""What writes wherever it stands in T-SQL, whose statements need no semicolons between them."""
_TEXTS = re.compile(TEXTS, re.DOTALL)
_PREPARED = re.compile(r'prepare\s+(\w++|"[^"]+")(?!\s+from\s+@)', re.IGNORECASE)
"""But what a variable holds, which may write."""
_EXECUTED = re.compile(r'(?:explain\b[^;]*?\b)?execute\s+(\w+|"[^"]+")', re.IGNORECASE)
_ANYWHERE = re.compile(
    r"\b(insert|update|delete|merge|truncate|copy|call|do|create|alter|drop|vacuum|analyze"
    r"|cluster|reindex|refresh|into|checkpoint|notify|grant|revoke|lock)\b"
    rf"|{_CALLS.pattern}",
    re.IGNORECASE,
)
"""What a statement of another kind can write with, wherever it stands."""
_OF_QUERIES = re.compile(
    r"\binto\b|\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\block\s+in\s+share\b"
    r"|\b(?:updlock|xlock|tablockx)\b|\bnext\s+value\s+for\b"
    r"|\bopen(?:query|rowset|datasource)\s*\("
    r"|\b(?:get_lock|release_lock|release_all_locks)\s*\("
    rf"|{_CALLS.pattern}",
    re.IGNORECASE,
)
"""What writes in a query: rows are locked, a table is made, a number is drawn, a function does, or
another server may do anything."""
_CHANGES = re.compile(r"\b(?:insert|update|delete|merge)\b", re.IGNORECASE)
_EXPLAINED = re.compile(
    r"\Aexplain\b(?:\s*\([^()]*\)|\s+(?:analy[zs]e|verbose|extended|format\s*=\s*\w+)\b)*",
    re.IGNORECASE,
)
_COPIED_OUT = re.compile(
    r"copy\s+(?:[^\s()]+(?:\s*\([^()]*\))?|\((?!.*\bprogram\b).*\))\s*"
    r"\bto\s+(?:stdout\b|'/dev/null')",
    re.IGNORECASE | re.DOTALL,
)
"""To the client, or to nowhere: not into a file of the server, and through no program."""


@dataclass(frozen=True)
class Assignments:
    """What scripts assign: names, and prefixes before names that an answer of the server has."""

    names: frozenset[str]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Of scripts that share their variables, as those of a mix do."""
        names, prefixes = set[str](), set[str]()
        for command in (command for text in texts for command in commands(text)):
            words = [word for word in command["rest"].split() if word != "\\"]
            match command["verb"].lower():
                case "set":
                    names.update(words[:1])
                case "draw":
                    names.update(words[1:])
                case "gset" | "aset":
                    prefixes.add(words[0] if words else "")
        return cls(frozenset(names), tuple(prefixes))

    def holds(self, name: str) -> bool:
        """Whether a variable of this name may be assigned."""
        return name in self.names or name.startswith(self.prefixes)


def may_write(
    name: str,
    text: str,
    variables: Mapping[str, str],
    assigned: Assignments,
    kind: str = GENERIC,
) -> bool:
    """Whether a script writes in one of its branches on an engine of a kind, as far as its text
    shows; one whose statements cannot be told apart is taken to write. Other arguments: as of
    `every_statement`."""
    try:
        statements = every_statement(name, text, variables, assigned, language(kind))
        return any_writes(statements, kind)
    except ValueError:
        return True


def shared_variables(text: str, assigned: Assignments) -> set[str]:
    """Variables that a script reads and only others set. `assigned`: by all of them. Which columns
    an answer without a prefix has is not known: a name that stands nowhere else is taken for a
    wrong one."""
    own = Assignments.of([text])
    others = Assignments(assigned.names, tuple(filter(None, assigned.prefixes)))
    names = {*VARIABLE.findall(text)}
    return {name for name in names if others.holds(name) and not own.holds(name)}


def first_answer_line(text: str) -> int | None:
    """The line of the first command that takes variables from an answer; None: none does."""
    answers = (c.start() for c in commands(text) if c["verb"].lower() in ("gset", "aset"))
    first = next(answers, None)
    return None if first is None else text.count("\n", 0, first) + 1


def has_branches(text: str) -> bool:
    """Whether what a script sends may depend on a condition."""
    if "\\if" not in text.lower():  # soon known of a long text
        return False
    return any(command["verb"].lower() == "if" for command in commands(text))


def every_statement(
    name: str,
    text: str,
    variables: Mapping[str, str],
    assigned: Assignments,
    dialect: str = "postgres",
) -> list[str]:
    """The statements of all branches of a script, those of one message each by itself. A branch
    that the given variables rule out is not taken; every other variable is 1.

    `assigned`: by this script and those that share its variables. ValueError: it is wrong.
    """
    constants = {key for key in variables if key not in _VARYING and not assigned.holds(key)}
    plain = without_commands(text, exempt=_decided(commands(text), constants))
    values = {**dict.fromkeys(VARIABLE.findall(plain), "1"), **variables}
    return split_statements(name, plain, values, dialect)


def _decided(script: Sequence[re.Match[str]], constants: set[str]) -> set[int]:
    """Where the commands of those branches begin whose every condition follows from constants."""
    decided, open_branches = set[int](), list[list[re.Match[str]]]()
    for command in script:
        verb = command["verb"].lower()
        if verb == "if":
            open_branches.append([])
        if verb in ("if", "elif", "else", "endif") and open_branches:
            open_branches[-1].append(command)
        if verb == "endif" and open_branches:
            branches = open_branches.pop()
            if all(_follows(branch["rest"], constants) for branch in branches):
                decided.update(branch.start() for branch in branches)
    return decided


def _follows(condition: str, constants: set[str]) -> bool:
    """Whether a condition has one result, whatever is drawn or answered."""
    names = VARIABLE.findall(condition)
    return constants.issuperset(names) and _CALLS_OF_CHANCE.search(condition) is None


def is_writing_call(function: str) -> bool:
    """Whether a function changes or locks what others meet, by its name without schema."""
    return _WRITES.fullmatch(function) is not None


def is_server_call(*name: str) -> bool:
    """Whether a function acts on the whole server, on its files, or outside of it, by its name and
    the schema before that: pg_reload_conf, dblink, aws_lambda.invoke."""
    return any(_SERVES.fullmatch(part) is not None for part in (name[-1], ".".join(name[-2:])))


def names_server_call(text: str) -> bool:
    """Whether such a function is named anywhere in a text."""
    return _SERVES_ANYWHERE.search(text) is not None


def any_writes(statements: Iterable[str], kind: str = POSTGRES) -> bool:
    """Whether one of a session's statements writes, on an engine of a kind. EXECUTE does what a
    PREPARE among them says; what was prepared elsewhere is not known."""
    texts = {statement: _LEADING.sub("", statement, count=1) for statement in statements}
    prepared = {match[1].lower() for text in texts.values() if (match := _PREPARED.match(text))}

    def is_prepared(text: str) -> bool:
        executed = _EXECUTED.match(text)
        return executed is not None and executed[1].lower() in prepared

    return any(
        _CALLS.search(text) if is_prepared(text) else writes(statement, kind)
        for statement, text in texts.items()
    )


def writes(statement: str, kind: str = POSTGRES) -> bool:
    """Whether a statement writes on an engine of a kind, as far as its text shows. A function that
    writes is not seen: a study then says cost = "whole" itself."""
    text = _LEADING.sub("", statement, count=1)
    before = statement[: len(statement) - len(text)]
    if any(map(_ANYWHERE.search, _RUN_COMMENT.findall(before))):
        return True
    first = _WORD.match(text)
    if first is None:  # no statement, or one whose beginning a variable holds
        return bool(text.strip("; \t\r\n\v\f"))
    if kind == SQLSERVER and _OF_BATCHES.search(_TEXTS.sub("", text)):
        return True
    return _writes_by_kind(first[0].lower(), text)


def _writes_by_kind(word: str, text: str) -> bool:
    """Whether a statement writes that begins with a word."""
    if word == "explain":
        return writes(_EXPLAINED.sub("", text, count=1))
    if word in ("select", "values", "table", "with"):
        changes = word == "with" and _CHANGES.search(text)
        return bool(_OF_QUERIES.search(text) or changes)
    if word == "copy":
        return _COPIED_OUT.match(text) is None or bool(_CHANGES.search(text) or _CALLS.search(text))
    return word not in _READING or bool(_BEGINS.match(text) or _ANYWHERE.search(text))
