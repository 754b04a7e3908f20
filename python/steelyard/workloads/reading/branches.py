"""Lists the statements of all branches of a script: one execution sends those of a few."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from steelyard.model.script_text import VARIABLE, commands, split_statements, without_commands
from steelyard.workloads.reading.dialects import GENERIC, language
from steelyard.workloads.reading.writing import any_writes

_VARYING = frozenset({"client_id", "clients", "random_seed", "default_seed"})
"""Variables that exist by themselves, and are not the same for every client and load."""
_CALLS_OF_CHANCE = re.compile(r"random|hash|permute", re.IGNORECASE)


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
