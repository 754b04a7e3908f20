"""Says how a change of a study is typed, where one stands on the command line without --set."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_OPTION = re.compile(r"no such option: --([\w.-]+)( .*)?")
_WORDS = re.compile(r"got unexpected extra argument\S* \((.*)\)", re.DOTALL)
_CHANGE = re.compile(r"[A-Za-z_][\w.-]*=.*", re.DOTALL)
_OF_ADDRESSES = ("--address", "--from", "--control", "--arm")


def loose_change(primary: str, arguments: Sequence[str]) -> str:
    """What to type in place of `work_mem=64MB`, `--work_mem=64MB` and `--work_mem 64MB`; empty
    where what was refused is none of these. `primary`: what the parser says."""
    if option := _OPTION.fullmatch(primary):
        key, near = option[1], option[2]
        # Options of this program have no such letters.
        if near and not re.search("[_.]", key):
            return ""
        change = f"{key}={_value(key, arguments)}"
    elif words := _WORDS.fullmatch(primary):
        listed = words[1].split()
        loose = (n for n, word in enumerate(arguments) if _CHANGE.fullmatch(word))
        number = next((n for n in loose if arguments[n] in listed), None)
        if number is not None and (address := _address_around(number, arguments)):
            return f"An address is one word for the shell: {address}"
        change = "" if number is None else arguments[number]
    else:
        change = ""
    return f"What differs follows --set: --set {shlex.quote(_of_study(change))}" if change else ""


def _address_around(number: int, arguments: Sequence[str]) -> str:
    """The option whose connection string goes on here, without quotes, and that in quotes; empty:
    there is none."""
    from steelyard.cli.options.address_options import quoted_address

    first = last = number
    while first > 0 and _CHANGE.fullmatch(arguments[first - 1]):
        first -= 1
    while last + 1 < len(arguments) and _CHANGE.fullmatch(arguments[last + 1]):
        last += 1
    option, equals, begun = arguments[first - 1].partition("=") if first else ("", "", "")
    if option not in _OF_ADDRESSES:
        return ""
    words = [*([begun] if equals else []), *arguments[first : last + 1]]
    return f"{option} {quoted_address(words)}" if len(words) > 1 else ""


def change_of_arm(arm: str, option: str) -> str | None:
    """The change of a study that was meant by `--arm jit=off`: `arm.settings.jit=off`; None where
    it is none. `arm`: `"arm"` or `"control"`."""
    from steelyard.study.arm import Arm

    if _CHANGE.fullmatch(option) is None:
        return None
    key = option.partition("=")[0]
    is_own = key.partition(".")[0] in Arm.model_fields
    return f"{arm}.{option}" if is_own else f"{arm}.settings.{option}"


def _of_study(change: str) -> str:
    """What is no key of a study is one of the arm, or a setting of it."""
    from steelyard.study.study import Study

    key = change.partition("=")[0]
    is_key = key.partition(".")[0] in {*Study.model_fields, "arm"}
    return change if is_key else change_of_arm("arm", change) or change


def _value(key: str, arguments: Sequence[str]) -> str:
    for word, behind in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == f"--{key}":
            return behind if behind and not behind.startswith("-") else "VALUE"
        if word.startswith(f"--{key}="):
            return word.partition("=")[2]
    return "VALUE"
