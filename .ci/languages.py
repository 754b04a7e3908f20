"""Prints the table of messages by language that `workloads capture` reads logs with.

Of an installed PostgreSQL with NLS: .ci/languages.py FOLDER-OF-LOCALES MAJOR-VERSION.
"""

from __future__ import annotations

import gettext
import json
import re
import sys
from pathlib import Path

SEVERITIES = ("LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC")
LABELS = ("DETAIL", "HINT", "QUERY", "CONTEXT", "STATEMENT", "BACKTRACE")
EXECUTED = "duration: %s ms  %s %s%s%s: %s"
MESSAGES = {
    "duration: %s ms": "duration: %s ms",
    "duration: %s ms  statement: %s": "duration: %s ms  statement: %s",
    "statement: %s": "statement: %s",
    "duration: %s ms  parse %s: %s": "duration: %s ms  parse %s: %s",
    "duration: %s ms  bind %s%s%s: %s": "duration: %s ms  bind %s: %s",
    'duration: %s ms  fastpath function call: "%s" (OID %u)': (
        "duration: %s ms  fastpath function call: %s"
    ),
    'fastpath function call: "%s" (OID %u)': "fastpath function call: %s",
    "parameters: %s": "Parameters: %s",
    "connection received: host=%s": "connection received: %s",
    "connection authorized: user=%s": "connection authorized: %s",
    "disconnection: session time: %d:%02d:%02d.%03d user=%s database=%s host=%s%s%s": (
        "disconnection: %s"
    ),
    "all server processes terminated; reinitializing": "all server processes terminated",
    "terminating any other active server processes": (
        "terminating any other active server processes"
    ),
    "received immediate shutdown request": "received immediate shutdown request",
    "there is already a transaction in progress": "there is already a transaction in progress",
    "database system was not properly shut down; automatic recovery in progress": (
        "database system was not properly shut down"
    ),
    "database system was interrupted; last known up at %s": "database system was interrupted %s",
    "database system was shut down at %s": "database system was shut down %s",
    "terminating connection due to administrator command": "terminating connection",
    "terminating connection due to idle-in-transaction timeout": "terminating connection",
    "terminating connection due to idle-session timeout": "terminating connection",
    "terminating connection because of crash of another server process": "terminating connection",
}
"""PostgreSQL's message → the English one that is read, its last %s whatever follows."""


def table_of(catalog: dict[str, str]) -> list[tuple[str, str]]:
    """(English, translation) of what differs; several translations may mean one."""
    rows = [(name, catalog.get(name, name)) for name in SEVERITIES]
    labels = [(name, catalog.get(f"{name}:  ", name).rstrip(": ")) for name in LABELS]
    messages = [
        (english, opened(catalog[original], english))
        for original, english in MESSAGES.items()
        if catalog.get(original, original) != original
    ]
    for word in ("execute", "execute fetch from"):
        translated = catalog.get(word, word)
        for original, english in (
            (EXECUTED, f"duration: %s ms  {word} %s: %s"),
            ("%s %s%s%s: %s", f"{word} %s: %s"),
        ):
            # The word, then the names of the statement and its portal.
            names = re.compile(r"%s(\s*)%s%s%s")
            text = names.sub(rf"{translated}\1%s", catalog.get(original, original))
            messages.append((english, text))
    return [row for row in (*rows, *labels, *dict.fromkeys(messages)) if row[0] != row[1]]


def opened(text: str, english: str) -> str:
    """The translation with as many %s as the English one, the last of them whatever follows."""
    text = text.replace("%s%s%s", "%s")
    expected = english.count("%s")
    places = [match.start() for match in re.finditer("%", text)]
    if len(places) <= expected and not english.startswith(("disconnection", "connection")):
        return text
    cut = places[expected - 1] if expected else len(text)
    return text[:cut] + ("%s" if expected else "")


def main(folder: str, version: str) -> None:
    """Print the table."""
    print(
        "# Messages of PostgreSQL by language, of its own translations: made by .ci/languages.py."
    )
    for path in sorted(Path(folder).glob(f"*/LC_MESSAGES/postgres-{version}.mo")):
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        print(f"\n[{path.parts[-3]}]")
        grouped: dict[str, list[str]] = {}
        for english, translated in table_of(catalog):
            grouped.setdefault(english, []).append(translated)
        for english, translations in grouped.items():
            texts = ", ".join(json.dumps(text, ensure_ascii=False) for text in translations)
            print(f"{json.dumps(english)} = [{texts}]")


main(*sys.argv[1:])
