"""Reads JSON as people write numbers into it: lists by arm, records, or one object after another.

{"off": [101, 99, 104], "on": [103, 108, 102]}
{"metric": "latency", "unit": "ms", "clients": 8, "arms": {"off": [...], "on": [...]}}
[{"arm": "off", "tps": 1012.5, "block": 1}, {"arm": "on", "tps": 1003.1, "block": 1}, ...]
{"arm": "off", "tps": 1012.5}        one object a line, and the next
{"arm": "on", "tps": 1003.1}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.foreign.json_document import Document, Number, Path
from steelyard.foreign.metric import Metric
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Rows, Series, Sheet
from steelyard.foreign.source import TextPosition, quoted
from steelyard.foreign.tables.shapes import ShapeNames, read_by_shape
from steelyard.foreign.tables.table import MOST_COLUMNS, Table
from steelyard.foreign.tables.word_columns import contradiction
from steelyard.foreign.vocabulary.heading import Role, heading_of, metric_of

_SHAPES = (
    'Accepted: {"off": [...], "on": [...]}, a list of records {"arm": ..., "value": ...}, '
    "and the outputs of the tools that `steelyard judge -h` lists."
)
_RECORDS = ShapeNames("JSON records", "JSON records, a key an arm", "JSON records, one arm")
_LISTS = ShapeNames("JSON lists", "JSON by arm", "JSON lists, one arm")
_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE)
_PLANS = {"plan", "triggers", "jit"}
_BESIDE_ARMS = 'Write it beside the arms: {"unit": ..., "arms": {"off": [...], "on": [...]}}.'
_ONE_VALUE = "If it is an arm, write a list; if not, leave it out."
_KEYS = {"metric", "unit", "higher_is_better", "clients", "arms"}


def read_json(document: Document, columns: Mapping[str, str], alone: bool = True) -> Sheet:
    """The sheet of a document in one of the shapes above."""
    source, values = document.source, document.values
    if len(values) > 1 and all(map(_holds_records, values)):
        places = [(i, (k,)) for i, some in enumerate(values) for k in range(len(some))]
        records = [record for some in values for record in some]
        return _records(document, records, places, columns, alone)
    if len(values) > 1:
        return _records(
            document, list(values), [(i, ()) for i in range(len(values))], columns, alone
        )
    value = values[0]
    if isinstance(value, list):
        if _holds_records(value):
            return _records(document, value, [(0, (i,)) for i in range(len(value))], columns, alone)
        if value and all(isinstance(text, str) for text in value):
            series, unit = _series(document, "", value, ())
            metric = Metric("value").overridden(unit or None, None)
            return Sheet(source.name, "JSON, one arm", ((metric, (series,)),))
    if isinstance(value, dict) and value:
        return _by_arm(document, value, columns, alone)
    raise source.error("no numbers by arm in this JSON", document.place(0, ()), hint=_SHAPES)


def _holds_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(r, dict) for r in value)


def _by_arm(
    document: Document, value: Mapping[str, Any], columns: Mapping[str, str], alone: bool
) -> Sheet:
    arms: Mapping[str, Any] = value
    path: tuple[str, ...] = ()
    fields: Mapping[str, Any] = {}
    if isinstance(value.get("arms"), dict):
        arms, path, fields = value["arms"], ("arms",), value
        unknown = set(value) - _KEYS
        if unknown:
            key = min(unknown)
            raise document.source.error(
                f"unrecognized key {quoted(key)}",
                document.place(0, (key,)),
                hint=f'Accepted beside "arms": {", ".join(sorted(_KEYS - {"arms"}))}.',
            )
    table = _table_of_lists(document, arms, path)
    sheet = _lone_arm(table) or read_by_shape(table, columns, _LISTS, alone)
    if not fields:
        return sheet
    if sheet.form != _LISTS.wide:
        raise document.source.error(
            "the keys name what was measured, and no arms", document.place(0, path), hint=_SHAPES
        )
    described = sorted(set(fields) & {"metric", "unit", "higher_is_better"})
    if len(sheet.metrics) > 1 and described:
        raise document.source.error(
            f"{quoted(described[0])} beside arms of several metrics",
            document.place(0, (described[0],)),
            hint=f"Leave {quoted(described[0])} out: the keys say what was measured.",
        )
    arm_names = [series.arm for series in sheet.metrics[0][1]]
    return replace(
        sheet,
        metrics=tuple(
            (_with_fields(document, fields, metric, path), arms) for metric, arms in sheet.metrics
        ),
        clients={**sheet.clients, **_clients(document, fields, arm_names)},
    )


def _lone_arm(table: Table) -> Sheet | None:
    """The sheet of the only list, where its key names an arm and not what was measured."""
    name, source = table.name(0), table.source
    if len(table.columns) > 1 or heading_of(name).role in _MEASURED:
        return None
    values, unit = floats_of(table.columns[0], source, lambda row: table.spot(row, 0))
    series = Series(name, values, spot=lambda row: table.spot(row, 0))
    metric = Metric("value").overridden(unit or None, None)
    return Sheet(source.name, _LISTS.wide, ((metric, (series,)),), rows=Rows.BESIDE)


def _table_of_lists(document: Document, lists: Mapping[str, Any], path: Path) -> Table:
    """Lists by key as columns beside each other, shorter ones with empty cells at their ends."""
    if not lists:
        raise document.source.error("no arm", document.place(0, path), hint=_SHAPES)
    longest = max(len(texts) if isinstance(texts, list) else 1 for texts in lists.values())
    for key, texts in lists.items():
        _refuse_other_values(document, key, texts, (*path, key))
        if longest > 1 and not isinstance(texts, list):
            raise document.source.error(
                f"{quoted(key)} has one value where others have lists",
                document.place(0, (*path, key)),
                hint=_BESIDE_ARMS if key in _KEYS else _ONE_VALUE,
            )
    names = list(lists)
    same = [name for name in names if sum(name.strip() == other.strip() for other in names) > 1]
    if same:
        position = document.place(0, (*path, same[-1]))
        raise document.source.error(f"{quoted(same[-1])} stands twice in one object", position)
    if len(names) > MOST_COLUMNS:
        reason = f"{len(names)} different keys: more than {MOST_COLUMNS}, the limit"
        raise document.source.error(reason, document.place(0, path))

    def spot(row: int, column: int) -> TextPosition:
        texts = lists[names[column]]
        if isinstance(texts, list) and row < len(texts):
            return document.place(0, (*path, names[column], row))
        return document.place(0, (*path, names[column]))

    cells = tuple(_padded(lists[name], longest) for name in names)
    return Table(document.source, tuple(names), cells, spot)


def _padded(texts: Any, count: int) -> tuple[str, ...]:
    own = tuple(map(str, texts)) if isinstance(texts, list) else (str(texts),)
    return own + ("",) * (count - len(own))


def _series(document: Document, arm: str, numbers: Any, path: Path) -> tuple[Series, str]:
    """The series of an arm, and the unit behind its numbers ("" where there is none)."""
    _refuse_other_values(document, arm, numbers, path)

    def spot(index: int) -> TextPosition:
        return document.place(0, (*path, index))

    values, unit = floats_of(numbers, document.source, spot)
    return Series(arm, values, spot=spot), unit


def _refuse_other_values(document: Document, key: str, texts: Any, path: Path) -> None:
    """NumbersError where a value, or one of a list, is neither a number nor a string."""
    every = texts if isinstance(texts, list) else [texts]
    for index, text in enumerate(every):
        if not isinstance(text, str):
            inner = (*path, index) if isinstance(texts, list) else path
            raise document.source.error(
                f"{_kind(text)} where a number is expected", document.place(0, inner), hint=_SHAPES
            )
    if not every:
        raise document.source.error(f"arm {quoted(key)} is empty", document.place(0, path))


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, Number):
        return "a number"
    return "a list" if isinstance(value, list) else "a string"


def _is_words(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _metric(document: Document, fields: Mapping[str, Any]) -> Metric:
    name, unit = fields.get("metric", "value"), fields.get("unit")
    higher = fields.get("higher_is_better")
    for key, value, valid in (
        ("metric", name, _is_words(name)),
        ("unit", unit, unit is None or _is_words(unit)),
        ("higher_is_better", higher, higher is None or isinstance(higher, bool)),
    ):
        if not valid:
            raise document.source.error(
                f'{_kind(value)} cannot be the value of "{key}"', document.place(0, (key,))
            )
    metric = (metric_of(name) or Metric(name)).overridden(None, higher)
    return _in_unit(document, metric, unit or "", ("unit",))


def _with_fields(
    document: Document, fields: Mapping[str, Any], metric: Metric, path: Path
) -> Metric:
    """The metric that the keys and numbers of the arms name, as the fields beside them have it."""
    if metric.column:
        return metric  # a statistic of several, which is called by its own words
    described = _metric(document, {"metric": metric.name, **fields})
    return _in_unit(document, described, metric.unit, path)


def _in_unit(document: Document, metric: Metric, unit: str, path: Path) -> Metric:
    """The metric in a unit that the document says at `path`; refused where it says another too."""
    if unit and not metric.accepts(unit):
        raise contradiction(document.source, document.place(0, path), unit, metric)
    # Which way is better may be known already, and a unit does not change it.
    return metric.overridden(unit or None, metric.higher_is_better)


def _clients(
    document: Document, fields: Mapping[str, Any], arms: Sequence[str]
) -> dict[str, float]:
    clients = fields.get("clients")
    if clients is None:
        return {}
    if not isinstance(clients, Number):
        position = document.place(0, ("clients",))
        raise document.source.error(f"{_kind(clients)} is no number of clients", position)
    values, _ = floats_of([clients], document.source, lambda _: document.place(0, ("clients",)))
    return dict.fromkeys(arms, float(values[0]))


def _records(
    document: Document,
    records: Sequence[Any],
    places: Sequence[tuple[int, Path]],
    columns: Mapping[str, str],
    alone: bool,
) -> Sheet:
    """Records as the rows of a table; a key that is missing somewhere is an empty cell."""
    for (value, path), record in zip(places, records, strict=True):
        if not isinstance(record, dict):
            position = document.place(value, path)
            raise document.source.error(f"{_kind(record)} between records", position, hint=_SHAPES)
    names = list(dict.fromkeys(name for record in records for name in record))
    if len(names) > MOST_COLUMNS:
        position = document.place(*places[0])
        reason = f"{len(names)} different keys: more than {MOST_COLUMNS}, the limit"
        raise document.source.error(reason, position)
    flat = [
        name for name in names if not any(isinstance(r.get(name), dict | list) for r in records)
    ]
    if not flat:
        position = document.place(*places[0])
        raise document.source.error("records without numbers", position, hint=_SHAPES)

    def spot(row: int, column: int) -> TextPosition:
        value, path = places[row]
        has = flat[column] in records[row]
        return document.place(value, (*path, flat[column]) if has else path)

    cells = tuple(tuple(_cell(record.get(name)) for record in records) for name in flat)
    table = Table(document.source, tuple(flat), cells, spot)
    sheet = read_by_shape(table, columns, _RECORDS, alone)
    nested = [name for name in names if name not in flat]
    if not nested:
        return sheet
    note = f"keys with lists or objects were left out: {', '.join(map(quoted, nested[:6]))}"
    measured = [name for name in nested if any(_measures(name, r.get(name)) for r in records)]
    return replace(sheet, notes=(*sheet.notes, note), nested=tuple(measured))


def _measures(key: str, value: Any) -> bool:
    """Whether a key with a list or an object seems to hold what was measured: "latency", or
    "requests" with a mean in it; not a plan of EXPLAIN's, nor the rows of a result."""
    if key.strip().lower() in _PLANS:
        return False
    own = heading_of(key).role
    if isinstance(value, list):
        return own in _MEASURED[:2] and bool(value)
    inner = {heading_of(name).role for name in value} if isinstance(value, dict) else set()
    return not inner.isdisjoint(_MEASURED) or bool(inner and own in _MEASURED[:2])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else json.dumps(value)
