"""Says which weighings ask the same question: the same study but for builds and effort.

Two contrasts ask the same question when their studies have the same name and the same keys, with
these left out: which builds the arms are (version, directory), how much is measured (budget,
margin, planned ends, loads, driver threads, whether statements are timed), where processes are
placed, titles, and the state of one's own data. Only the keys of the two arms of the contrast
count, whether one of them is the control or not. A key at its default is as one that is not given,
so that keys of later versions separate no older records. An address is what it leads to, however it
is written; an arm with one of its own is known by it, whatever it is called; and the base backup of
a running server is that server's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.history.entry import Entry, KnownReading
from steelyard.study.address import address_text, address_words
from steelyard.study.arm import Arm
from steelyard.study.study import Study

_LEFT_OUT = frozenset(
    {
        *("name", "title", "question", "placement", "decision.margin", "decision.first_verdict"),
        *("decision.open_ended", "decision.judged", "workload.threads", "workload.loads"),
        "workload.timed",
        *(
            "source.digest",
            "source.settings_digest",
            "source.partial",
            "source.backup",
            "control.version",
            "control.bindir",
            "arm.version",
            "arm.bindir",
            "control.role",
            "arm.role",
            "control.price",
            "arm.price",
        ),
    }
)
_BESIDES = frozenset({"arm.against", "control.against"})
"""Of two arms, what made them a pair."""
_DIGITS = 8


@dataclass(frozen=True)
class Point:
    """One answer to a question: a contrast, and the record that it stands in."""

    entry: Entry
    reading: KnownReading

    @property
    def question_keys(self) -> Mapping[str, str]:
        """The keys of its study that make the question."""
        return keys_of_question(self.entry.keys, self.reading.arm, self.reading.control)


@dataclass(frozen=True)
class QuestionHistory:
    """A question with its answers, the oldest first."""

    name: str
    """`"checksums-off-against-on-1a2b3c4d"`: file names and addresses are made of it."""
    label: str
    """`"checksums: off against on"`, and what sets it apart from others of that study."""
    points: tuple[Point, ...]
    copies: tuple[tuple[Entry, str], ...] = ()
    """Copies of records that answer it, each with the path of the one that counts."""

    @property
    def newest(self) -> Point:
        """The last answer."""
        return self.points[-1]

    @property
    def known_truth(self) -> bool:
        """Whether its truth is known: a check of the balance."""
        return self.newest.reading.true_percent is not None


def keys_of(study: Study) -> Mapping[str, str]:
    """The keys of a study that are not at their defaults: `"workload.scale"` → `"50"`; keys of an
    arm stand below `control` and `arm[NAME]`. Values as JSON, words without quotes."""
    document = study.model_dump(
        mode="json", exclude_defaults=True, exclude={"control", "arms", "answer", "group"}
    )
    keys = dict(_flat("", document))
    for prefix, arm in (("control", study.control), *((f"arm[{a.name}]", a) for a in study.arms)):
        fields = arm.model_dump(mode="json", exclude_defaults=True)
        keys.update(_flat(prefix, {**fields, "name": arm.role or arm.name}))
    return keys


def question_name(study: Study, arm: Arm, metric: str, base: Arm | None = None) -> str:
    """The name of the question that a contrast answers. `base`: another arm that `arm` is compared
    with; None: the control."""
    other = base or study.control
    keys = keys_of_question(keys_of(study), arm.name, other.name)
    name, control = (keys.get(f"{side}.name", side) for side in ("arm", "control"))
    identity = json.dumps([study.name, name, control, metric, sorted(keys.items())])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_DIGITS]
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{study.name}-{name}-against-{control}")
    return f"{slug.strip('-.').lower()}-{digest}"


def place_of_arm(keys: Mapping[str, str], name: str) -> str:
    """Below which of its keys a study has those of an arm, or of the control: `"arm[off]"`."""
    place = f"arm[{name}]"
    return place if f"{place}.name" in keys else "control"


def keys_of_question(keys: Mapping[str, str], arm: str, control: str) -> Mapping[str, str]:
    """The keys of a study that make its question: those of `arm` are named `arm.…`, and those of
    what it is compared with `control.…`, also where that is another arm."""
    sides = {f"{place_of_arm(keys, control)}.": "control.", f"arm[{arm}].": "arm."}
    left_out = _LEFT_OUT if "control." in sides else _LEFT_OUT | _BESIDES
    question_keys = {}
    for key, value in keys.items():
        place = next((place for place in sides if key.startswith(place)), "")
        name = sides[place] + key.removeprefix(place) if place else key
        of_others = not place and key.startswith(("arm[", "control."))
        if not (of_others or name in left_out or name.startswith("budget.")):
            question_keys[name] = value
    return _by_addresses(of_server(question_keys), keys)


def of_server(keys: Mapping[str, str]) -> Mapping[str, str]:
    """The keys of a study without where the base backup of a running server stood for its time."""
    if "source.server" not in keys:
        return keys
    places = {"source.place", *(["source.config"] if "source.reported" in keys else [])}
    return {key: value for key, value in keys.items() if key not in places}


def _by_addresses(question_keys: Mapping[str, str], keys: Mapping[str, str]) -> Mapping[str, str]:
    """With addresses as what they lead to. A side is known by an address of its own, which no other
    arm of the study has, and not by its name. `keys`: of the study."""
    common = question_keys.get("address")
    own = {side: question_keys.get(f"{side}.address") for side in ("control", "arm")}
    rest = {key: value for key, value in question_keys.items() if key not in _ADDRESSES}
    if not any(own.values()):
        return rest if common is None else {**rest, "address": _lead((common,))}
    places = [key.removesuffix(".name") for key in keys if _NAME_OF_ARM.fullmatch(key)]
    every = [_lead((common, keys.get(f"{place}.address"))) for place in places]
    for side, address in own.items():
        rest[f"{side}.address"] = _lead((common, address))
        if address is not None and every.count(rest[f"{side}.address"]) == 1:
            rest.pop(f"{side}.name", None)
    return rest


def _lead(addresses: Sequence[str | None]) -> str:
    """What they lead to, the words of the later ones in place of the former's."""
    words: dict[str, str] = {}
    for address in filter(None, addresses):
        words |= address_words(address)
    return address_text(words)


_ADDRESSES = ("address", "control.address", "arm.address")
_NAME_OF_ARM = re.compile(r"(?:control|arm\[.*\])\.name", re.DOTALL)


def questions_of(entries: Sequence[Entry]) -> tuple[QuestionHistory, ...]:
    """Every question that was answered, in the order of their labels. A weighing whose record
    stands there several times is one answer."""
    points: dict[str, list[Point]] = {}
    copies: dict[str, list[tuple[Entry, str]]] = {}
    originals = _originals(entries)
    for entry in sorted(entries, key=lambda record: (record.at, record.path)):
        original = originals[entry.weighing]
        for reading in entry.readings:
            if entry.path == original:
                points.setdefault(reading.question, []).append(Point(entry, reading))
            else:
                copies.setdefault(reading.question, []).append((entry, original))
    labels = _labels({name: some[-1] for name, some in points.items()})
    histories = [
        QuestionHistory(name, labels[name], tuple(some), tuple(copies.get(name, ())))
        for name, some in points.items()
    ]
    return tuple(sorted(histories, key=lambda history: (history.label, history.name)))


def without_copies(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The records, of each weighing the one that counts, in their order."""
    originals = _originals(entries)
    return tuple(
        entry
        for entry in entries
        if not entry.weighing.strip() or originals[entry.weighing] == entry.path
    )


def _originals(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Weighing → the record that counts for it: of its copies the one that has most of it, and of
    these the first."""
    originals: dict[str, str] = {}
    for entry in sorted(entries, key=lambda e: (-e.measured_bytes, e.at, e.path)):
        originals.setdefault(entry.weighing, entry.path)
    return originals


def machines_of(question: QuestionHistory) -> tuple[str, ...]:
    """The machines that it was weighed on, those with most weighings first."""
    every = [point.entry.machine_words for point in question.points]
    return tuple(sorted(set(every), key=lambda machine: (-every.count(machine), machine)))


_FIRST = (
    *("source.server", "source.database", "workload.name", "workload.scale", "workload.clients"),
    "source.place",
)
"""Keys that tell questions apart in words before others do."""


def _distinguishing_keys(questions: Sequence[Mapping[str, str]]) -> list[str]:
    """As few keys as tell all questions apart, in the order of their names."""
    every = {key for keys in questions for key in keys}
    telling: list[str] = []
    kinds = 1
    for key in (*(key for key in _FIRST if key in every), *sorted(every - {*_FIRST})):
        parted = len({tuple(keys.get(name) for name in (*telling, key)) for keys in questions})
        if parted > kinds:
            telling.append(key)
            kinds = parted
    return sorted(telling)


def _labels(newest: Mapping[str, Point]) -> dict[str, str]:
    """Question → study and arms, and the keys in which it differs from others of these."""
    alike: dict[str, list[str]] = {}
    for name, point in newest.items():
        alike.setdefault(f"{point.entry.study}: {point.reading.pair}", []).append(name)
    labels = {}
    for plain, names in alike.items():
        question_keys = {name: newest[name].question_keys for name in names}
        apart = _distinguishing_keys(list(question_keys.values()))
        for name in names:
            parts = [f"{key} = {question_keys[name].get(key, 'default')}" for key in apart]
            labels[name] = ", ".join([plain, *parts])
    return labels


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, str):
        yield prefix, value
    else:
        yield prefix, json.dumps(value)
