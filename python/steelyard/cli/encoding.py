"""Substitutes letters that a terminal's encoding lacks by similar ones that it has.

A minus sign must not come out as "?": `?3.1 %` has no direction, and "?" is the sign of a verdict.
"""

from __future__ import annotations

import codecs
import re

ALIKE = "steelyard.alike"
"""The name of the codec error handler; a letter without a similar one becomes "?"."""
_LETTERS = {
    **dict.fromkeys("−–—‐‑─", "-"),
    **dict.fromkeys("━", "="),
    **dict.fromkeys("├┤│┃▏▕", "|"),
    **dict.fromkeys("┴┷┬┼┌┐└┘", "+"),
    **dict.fromkeys("┊", ":"),
    **dict.fromkeys("●○", "o"),
    **dict(zip("◇◉┅✓°", ["x", "@", ".", "+", "deg "], strict=True)),
    **dict.fromkeys("•·", "*"),
    **dict.fromkeys("✕×", "x"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("µμ", "u"),
    **dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}", " "),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-~=+*#", strict=True)),
    **dict(zip("▲▼◂▸░÷", "^v<>./", strict=True)),
    **{"…": "...", "→": "->", "←": "<-", "±": "+-", "≥": ">=", "≤": "<=", "∞": "inf"},
    **{"€": "EUR", "£": "GBP"},
}


def substitute(error: UnicodeError) -> tuple[str, int]:
    """The codec error handler: similar letters, and the position from which encoding goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = _POWERS.sub(_power, error.object[error.start : error.end])
    return "".join(_similar_letter(letter) for letter in letters), error.end


def _similar_letter(letter: str) -> str:
    return letter if letter.isascii() else _LETTERS.get(letter, "?")


_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWERS = re.compile(f"[{_RAISED}]+")


def _power(match: re.Match[str]) -> str:
    """`"^12"`: as a number by itself, 10¹² would be 1012."""
    return "^" + "".join(str(_RAISED.index(digit)) for digit in match[0])


codecs.register_error(ALIKE, substitute)
