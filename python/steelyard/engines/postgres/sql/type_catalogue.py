"""Reads which types a database defines itself, and what their binary values are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.engines.postgres.sql.database import connected
from steelyard.model.endpoint import Endpoint

TypeKind = Literal["enum", "domain", "composite", "range", "multirange", "array", "same", "other"]
_FIRST_OID = 10_000
"""Of what initdb and users create (FirstGenbkiObjectId); below are the built-in types."""
# rngmultitypid is not there before 14. A send function of an extension that is the server's own by
# another name, as citext's is textsend, makes the same bytes.
_TYPES = f"""
SELECT /* steelyard asks */ t.oid::int8, pg_catalog.format_type(t.oid, NULL),
       CASE WHEN t.typtype = 'b' AND p.prosrc = 'array_send' THEN 'a' ELSE t.typtype::text END,
       COALESCE(NULLIF(t.typbasetype, 0), r.rngsubtype, m.rngtypid, NULLIF(t.typelem, 0), 0)::int8,
       COALESCE((SELECT min(b.oid) FROM pg_catalog.pg_type b
                   JOIN pg_catalog.pg_proc q ON q.oid = b.typsend
                  WHERE b.oid < {_FIRST_OID} AND b.typtype = 'b' AND q.prosrc = p.prosrc
                    AND p.prolang = q.prolang), 0)::int8
  FROM pg_catalog.pg_type t
  LEFT JOIN pg_catalog.pg_proc p ON p.oid = t.typsend
  LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  LEFT JOIN pg_catalog.pg_range m
    ON (pg_catalog.to_jsonb(m) ->> 'rngmultitypid')::oid = t.oid AND t.typtype = 'm'
 WHERE t.oid >= {_FIRST_OID}
"""
_KINDS: dict[str, TypeKind] = {
    "e": "enum", "d": "domain", "c": "composite", "r": "range", "m": "multirange", "a": "array",
}  # fmt: skip
_ANSWER_S = 60.0


@dataclass(frozen=True)
class DefinedType:
    """A type of a database that is not built in."""

    name: str
    """As SQL names it, with its schema."""
    kind: TypeKind
    """`same`: its binary form is that of the built-in type `of`; `other`: only the server knows."""
    of: int
    """Oid of a domain's base, a range's bounds, a multirange's ranges, an array's elements; 0 where
    there is none."""


def defined_types(target: Endpoint) -> dict[int, DefinedType]:
    """Oid → the type, of the target's database. ServerError: it cannot be read."""
    with connected(target, answer_s=_ANSWER_S) as session:
        session.execute("SET search_path = pg_catalog")  # so that every name has its schema
        rows = session.execute(_TYPES.encode()).fetchall()
    return {oid: DefinedType(name, *_made_of(kind, of, same)) for oid, name, kind, of, same in rows}


def _made_of(kind: str, of: int, same: int) -> tuple[TypeKind, int]:
    type_kind = _KINDS.get(kind)
    if type_kind is not None:
        return type_kind, of
    return ("same", same) if same else ("other", 0)
