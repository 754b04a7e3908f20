"""Writes kinds of transactions as a workload's folder: scripts, weights, and rows to draw from."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.model.files.printable import printable_line
from steelyard.model.secrets.redaction import holds_secret
from steelyard.workloads.capturing.mix import Kind, Mix, redacted
from steelyard.workloads.capturing.shapes import Shape
from steelyard.workloads.capturing.statements import Protocol
from steelyard.workloads.reading.rows import rows_text

_WORD = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE)
_TABLE = re.compile(
    r"\b(?:from|into|update|join|table)\s+(?:only\s+)?(?:\w+\.)?\"?(\w+)\"?", re.IGNORECASE
)
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Captured:
    """What was written, and what of the log it covers."""

    folder: Path
    mode: Protocol
    scripts: tuple[tuple[str, Kind], ...]
    statements_share: float
    seconds_share: float | None
    """Of the time that all statements took; None: the log does not say."""
    left_out: tuple[tuple[str, float, float | None], ...]
    """Why, with its share of the statements and of the time."""


def choose_kinds(
    mix: Mix, *, writes: bool, most: int
) -> tuple[list[Kind], list[tuple[str, int, float]]]:
    """The kinds that are driven, and what is left out: why, statements, seconds."""
    chosen, out = list[Kind](), [
        (why, count, mix.left_out_s[why]) for why, count in mix.left_out.items()
    ]  # fmt: skip
    named: dict[str, tuple[int, float]] = {}
    ranked = sorted(mix.kinds, key=lambda kind: (-max(kind.seconds, 0.0), -kind.count))
    for kind in ranked:
        statements = kind.count * len(kind.shapes)
        why = None
        if kind.writes and not writes:
            why = "transactions that write"
        elif not kind.rows:
            why = "transactions whose values the log cuts off"
        elif len(chosen) == most:
            why = f"kinds beyond the {most} that take most time"
        if why is None:
            chosen.append(kind)
        else:
            count, seconds = named.get(why, (0, 0.0))
            named[why] = (count + statements, seconds + kind.seconds)
    return chosen, out + [(why, *rest) for why, rest in named.items()]


def write_workload(
    mix: Mix,
    folder: Path,
    *,
    name: str,
    source: str,
    writes: bool = False,
    most: int = 50,
    salt: bytes | None = None,
) -> Captured:
    """Write the folder, which must not exist or be empty. `salt`: of hashed texts; None: they stay.

    UsageError: nothing is left to drive, or the folder holds something.
    """
    chosen, out = choose_kinds(mix, writes=writes, most=most)
    if not chosen:
        said = "; ".join(f"{count} statements: {why}" for why, count, _ in out)
        raise UsageError(
            "nothing is left of the log that could be driven",
            detail=said or "It holds no statement.",
            hint="log_min_duration_statement = 0 logs every statement with its parameters.",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f'could not write workload "{folder}": it is there already')
    mode = _mode(chosen)
    scripts = [(_name(number, kind), kind) for number, kind in enumerate(chosen, 1)]
    (folder / "scripts").mkdir(parents=True)
    (folder / "rows").mkdir()
    for script, kind in scripts:
        text, rows = script_of(script, kind, mode, salt)
        (folder / "scripts" / f"{script}.sql").write_text(text, encoding="utf-8")
        if rows:
            (folder / "rows" / f"{script}.tsv").write_text(rows_text(rows), encoding="utf-8")
    described = _description(name, source, mode, scripts)
    (folder / "workload.toml").write_text(described, encoding="utf-8")
    statements = sum(kind.count * len(kind.shapes) for kind in chosen)
    seconds = sum(kind.seconds for kind in chosen)
    whole_s = mix.seconds or None
    return Captured(
        folder=folder,
        mode=mode,
        scripts=tuple(scripts),
        statements_share=statements / mix.statements,
        seconds_share=None if whole_s is None else seconds / whole_s,
        left_out=tuple(
            (why, count / mix.statements, None if whole_s is None else taken / whole_s)
            for why, count, taken in out
        ),
    )


def _mode(kinds: Sequence[Kind]) -> Protocol:
    """Extended or prepared only where every statement came so: a literal need not be a parameter's
    equal."""
    used = set[Protocol]().union(*(kind.protocols for kind in kinds))
    if "simple" in used:
        return "simple"
    return "prepared" if used == {"prepared"} else "extended"


def _name(number: int, kind: Kind) -> str:
    """`02-select-orders`: its place, what it does, and to which table."""
    text = "".join(kind.shapes[0].pieces)
    inner = "".join("".join(shape.pieces) for shape in kind.shapes[1:2])
    words = [found[0].lower() if (found := _WORD.search(text)) else "do"]
    table = _TABLE.search(text) or _TABLE.search(inner)
    if table is not None:
        words.append(table[1].lower())
    return f"{number:02}-{'-'.join(words)}"[:_LONGEST_NAME]


def script_of(
    name: str, kind: Kind, mode: Protocol, salt: bytes | None = None
) -> tuple[str, list[list[str | None]]]:
    """The script of a kind, and the rows that it draws from: only values that differ are drawn."""
    places = [(shape, place) for shape in kind.shapes for place in range(len(shape.numbers))]
    values = list(zip(*kind.rows, strict=True)) if kind.rows else []
    secret = [holds_secret(f"{shape.pieces[place]}'x'") for shape, place in places]
    drawn, words = list[int](), list[str]()
    for column, (shape, place) in enumerate(places):
        literal = shape.numbers[place] is None
        told = [_written(v, mode, literal, salt, secret[column]) for v in values[column]]
        same = len(set(told)) == 1
        if same and (literal or mode == "simple"):
            words.append(str(told[0]))
        else:
            drawn.append(column)
            words.append(f":p{len(drawn)}")
    lines = [f"\\draw {name} {' '.join(f'p{n + 1}' for n in range(len(drawn)))}"] if drawn else []
    at = 0
    for shape in kind.shapes:
        count = len(shape.numbers)
        text = shape if salt is None else _without_comments(shape)
        lines.append(f"{text.text(tuple(words[at : at + count])).strip()}\n;")
        at += count
    literals = [shape.numbers[place] is None for shape, place in places]
    rows = [
        [_written(row[n], mode, literals[n], salt, secret[n]) for n in drawn] for row in kind.rows
    ]
    think_us = round(1e6 * statistics.median(kind.think_s)) if kind.think_s else 0
    if think_us:
        lines.append(f"\\if :think\n\\sleep {think_us} us\n\\endif")
    return "\n".join(lines) + "\n", rows if drawn else []


_COMMENT = re.compile(r"(\"[^\"]*\"|/\*\+.*?\*/)|/\*.*?\*/|--[^\n]*", re.DOTALL)


def _without_comments(shape: Shape) -> Shape:
    """Comments may hold anything; hints for the planner stay, which decide what is driven."""
    pieces = tuple(_COMMENT.sub(lambda match: match[1] or " ", text) for text in shape.pieces)
    return replace(shape, pieces=pieces)


def _written(
    value: str | None, mode: Protocol, literal: bool, salt: bytes | None, secret: bool
) -> str | None:
    """A value as the script has it: in simple mode as SQL, else as a parameter."""
    if salt is not None:
        value = redacted(value, salt, literal=literal, secret=secret)
    if literal or mode != "simple":
        return value
    if value is None:
        return "NULL"
    if "\\" in value:
        return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + value.replace("'", "''") + "'"


def _description(
    name: str, source: str, mode: Protocol, scripts: Sequence[tuple[str, Kind]]
) -> str:
    """workload.toml."""
    quoted, source = json.dumps, printable_line(source)
    lines = [
        f"# Captured from {source}. --from brings the data.",
        f"name = {quoted(name)}",
        f"title = {quoted(f'{name}: {len(scripts)} kinds of transactions from {source}')}",
        "loaded = false",
        f"tried_first = {quoted(any(kind.writes for _, kind in scripts))}",
        f"mode = {quoted(mode)}",
        "",
        "[options.think]",
        'title = "Pause after each transaction as its sessions did, by the median of its kind"',
        "default = false",
        "",
        "[[mixes]]",
        "scripts = {",
    ]
    lines[-1] += ", ".join(f" {quoted(script)} = {kind.count}" for script, kind in scripts) + " }"
    for script, kind in scripts:
        mean = 1000 * kind.seconds / kind.count
        lines += [
            "",
            f"# {kind.count} times, {mean:.3f} ms each on average; fingerprint {kind.fingerprint}",
            f"[scripts.{quoted(script)}]",
            f"writes = {quoted(kind.writes)}",
        ]
    return "\n".join(lines) + "\n"
