"""Refuses a study that says a password, key or token: the record keeps a study's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pydantic import BaseModel

from steelyard.model.secrets.redaction import holds_secret, is_secret_setting
from steelyard.model.secrets.secret import is_secret

RECORDED = "recorded"
"""In the context of validation: the study is a record's, whose text is kept already."""
_SCHEME = r"^\s*[A-Za-z][\w+.-]*://"
_ACCESS = re.compile(
    "|".join(
        (
            _SCHEME + r"[^/]*:[^/]+@",  # where libpq looks for it: up to the first /
            _SCHEME + r"[^@?]*:[^@?]+@",  # with a / in it
            # Anything in it. libpq's own words, behind the ?, may hold an @ themselves.
            _SCHEME + r"(?<!postgres://)(?<!postgresql://)[^@]*:.+@",
        )
    )
)
_WORD = re.compile(r"(?:^|[\s?&'\"])(?:-c\s*)?([\w%.-]+)\s*=")
_ADVICE = {
    "settings": "leave it out, since no arm needs it to be weighed",
    "texts": "give the script with -f, since the text of a file is not kept",
    "sql": "make roles and user mappings without passwords, since these servers ask for none, and "
    "name the columns of rows that are inserted",
}


def holds_password(address: str) -> bool:
    """Whether a connection string or URI says a password, or another secret."""
    if "@" in address and _ACCESS.search(address) is not None:
        return True
    texts = (address, unquote(address))  # libpq decodes the words of a URI, too
    return any(is_secret(word) for text in texts for word in _WORD.findall(text))


def require_no_secrets(study: BaseModel) -> None:
    """ValueError names the key of a study that says a secret, and what to write in its place."""
    shaped = study.model_dump(mode="json", exclude_none=True)
    names = {arm["name"] or arm["role"]: arm for arm in shaped.pop("arms")}
    arms = {"arm" if name == "arm" else f"arm.{name}": arm for name, arm in names.items()}
    for path, table in _secrets({**shaped, **arms}, ""):
        advice = _ADVICE.get(table, "leave it out")
        raise ValueError(
            f'"{path}" may say a password, key or token, which would stand in the record: {advice}'
        )


def _secrets(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    """(path, table or list) of texts that hold a secret; addresses have rules of their own."""
    for key, value in table.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            yield from _secrets(value, path)
        elif isinstance(value, str) and key != "address" and is_secret_setting(key, value):
            yield path, prefix.rpartition(".")[2]
        elif isinstance(value, list) and holds_secret(
            "\n;\n".join(each for each in value if isinstance(each, str))
        ):  # together: one makes the table that another fills
            yield path, key
