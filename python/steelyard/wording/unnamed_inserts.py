"""Names the scripts whose statements insert texts without the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_NAMED = 3


def unnamed_insert_note(statements: Iterable[str]) -> str:
    """What to know of them before a record is shown to others; "": there are none.

    `statements`: as an inspection has them, `script: statement`.
    """
    # Its patterns take longer to compile than a short command may take.
    from steelyard.model.secrets.written_rows import inserts_unnamed

    scripts = list(
        dict.fromkeys(each.partition(": ")[0] for each in statements if inserts_unnamed(each))
    )
    if not scripts:
        return ""
    more = f" and {len(scripts) - _MOST_NAMED} more" if len(scripts) > _MOST_NAMED else ""
    return (
        f"{', '.join(scripts[:_MOST_NAMED])}{more}: texts are inserted without the names of their "
        "columns, so that a password among them cannot be told from data, and stands in "
        "inspection.json; INSERT INTO table (column, …) VALUES names them"
    )
