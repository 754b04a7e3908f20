"""Writes what a terminal's encoding does not have by letters that look alike.

A minus sign must not come out as "?": `?3.1 %` has no direction, and "?" is the sign of a verdict.
"""

from __future__ import annotations

import codecs

ALIKE = "steelyard.alike"
"""The name of the error handler; what has nothing alike is "?"."""
_LETTERS = {
    **dict.fromkeys("−–—‐‑─", "-"),
    **dict.fromkeys("━", "="),
    **dict.fromkeys("├┤│┃▏▕", "|"),
    **dict.fromkeys("┴┷┬┼┌┐└┘", "+"),
    **dict.fromkeys("┊", ":"),
    **dict.fromkeys("●○", "o"),
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
    """What is written in place of the letters that cannot be, and where writing goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_LETTERS.get(letter, "?") for letter in letters), error.end


codecs.register_error(ALIKE, substitute)
