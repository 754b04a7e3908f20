"""A published study: its question, design and figures, and the weighings that repeat it here.

Each is a TOML file in `published/`, with the studies of its own that it needs beside it; a file of
a user's has the same form.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from steelyard.model.errors import StudyError, nearest_hint
from steelyard.model.files.small_file import parse_toml, read_small
from steelyard.study.values import StudyModel

PUBLISHED = Path(__file__).with_name("published")
CLAIMS = PUBLISHED / "claims"
"""Of single figures that are cited: one row each in docs/reproductions/claims.md."""


class Figure(StudyModel):
    """A row of what was published."""

    what: str
    control: str
    arm: str
    told: str = ""
    """What they made of it."""


class Claim(StudyModel):
    """A published effect that a step can be held against."""

    arm: str
    percent: float | None = None
    """(arm / control - 1) * 100; 0: they were called equal; None: only a direction was told."""
    direction: Literal["faster", "slower"] | None = None
    of: str = "throughput"
    """What it is of: throughput, geometric_mean (time), a query by its name (its time), what a
    transaction cost (blocks_read_per_transaction), or of what the devices did
    (reads_per_new_order)."""
    theirs: str = ""
    """What they measured, in words, where ours is only the nearest to it; empty: the same."""
    at: str = ""
    """The point of a sweep that it was claimed of; empty: of every one."""
    comparable: bool = True
    """False: the reading is no test of it, for the reason in `why`."""
    why: str
    """What explains that ours agrees, or that it differs."""

    @model_validator(mode="after")
    def _has_one_size(self) -> Self:
        if (self.percent is None) == (self.direction is None):
            raise ValueError("a claim has either a percent or a direction")
        return self


class CountClaim(StudyModel):
    """A published count that a probe repeats."""

    published: str
    """In words, without a full stop."""
    arm: str
    probe: str
    counter: str
    value: float
    """As the probe would count it."""
    why: str


class ReproductionStep(StudyModel):
    """One weighing of a repetition."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    question: str
    weigh: Annotated[tuple[str, ...], Field(min_length=1)]
    """Arguments of `steelyard weigh`; the file of a study is named relative to the TOML file."""
    minutes: int
    """About how long it takes on a small machine."""
    longer: bool = False
    """Weighed only where it is named, or with --longer."""
    note: str = ""
    """What has to be known to read it."""
    claims: tuple[Claim, ...] = Field(default=(), alias="claim")
    counts: tuple[CountClaim, ...] = Field(default=(), alias="count")
    full: tuple[str, ...] = ()
    """Further arguments of `steelyard weigh` at the scale of the published study."""
    needs: str = ""
    """What the machine must have at that scale, in words."""


class Chief(StudyModel):
    """A reading that is shown for the study where there is room for few, as in a table."""

    step: str
    arm: str
    at: str = ""
    """The point of a sweep."""
    others: str = ""
    """What other weighings of it read, in words, where they disagree."""


class Reproduction(StudyModel):
    """A published study, and its repetition."""

    name: Annotated[str, Field(pattern=r"^[^/\x00-\x1f.][^/\x00-\x1f]*$")]
    """It names a folder too."""
    title: str
    question: str
    published: str
    """Where and when, in words."""
    claimed: str
    """Their main figure, in a few words."""
    design: str
    could_see: str
    """What a design such as theirs can detect."""
    seen: str
    """The same in a few words."""
    runs: str = ""
    """How many a side, in words."""
    interval: str = ""
    """What interval was published: `none`."""
    cannot: str = ""
    """What of it cannot be told on a small machine, and why."""
    ours: str
    """How ours differs, and why."""
    follows: str = ""
    """What follows from the readings in practice."""
    probe: bool = False
    """Whether its profiles are worked out from what the device does, so that it is probed first."""
    figures: tuple[Figure, ...]
    steps: Annotated[tuple[ReproductionStep, ...], Field(alias="step")] = ()
    """None of a claim that cannot be told here."""
    chiefs: Annotated[tuple[Chief, ...], Field(alias="chief")] = ()
    """The readings that answer what was claimed; of none, all are."""
    place: Path = Path()
    """The folder of its file."""

    @model_validator(mode="after")
    def _is_weighed_or_says_why(self) -> Self:
        if not self.steps and not self.cannot:
            raise ValueError('without a [[step]], "cannot" says why')
        names = [step.name for step in self.steps]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f'two [[step]] have the name "{twice[0]}"')
        steps = {*names}
        if unknown := [chief.step for chief in self.chiefs if chief.step not in steps]:
            raise ValueError(f'[[chief]] names "{unknown[0]}", which is no [[step]]')
        return self

    @property
    def minutes(self) -> int:
        """About how long its ordinary steps take on a small machine."""
        return sum(step.minutes for step in self.steps if not step.longer)

    def steps_to_weigh(
        self, only: str | None = None, *, longer: bool = False
    ) -> tuple[ReproductionStep, ...]:
        """The steps that are weighed: one by name, or the ordinary ones, or all."""
        if only is not None:
            return tuple(step for step in self.steps if step.name == only)
        return tuple(step for step in self.steps if longer or not step.longer)

    def words(self, step: ReproductionStep, *, full: bool = False) -> tuple[str, ...]:
        """The arguments of `steelyard weigh`, with the path of a study's file; `full`: at the scale
        of the published study."""
        study, *more = step.weigh
        if study.endswith(".toml"):
            study = str(self.place / study)
        return (study, *more, *(step.full if full else ()))


def names() -> list[str]:
    """The built-in studies."""
    return sorted(path.stem for path in PUBLISHED.glob("*.toml"))


def claim_names() -> list[str]:
    """The built-in claims: single figures that are cited."""
    return sorted(path.stem for path in CLAIMS.glob("*.toml"))


def read_reproduction(name_or_file: str) -> Reproduction:
    """One of the built-in ones, or of a file. StudyError: there is none, or it is wrong."""
    studies, claims = names(), claim_names()
    known = [*studies, *claims]
    directory = PUBLISHED if name_or_file in studies else CLAIMS
    ours = name_or_file in known
    # Whole: what is begun in one directory may be resumed in another.
    file = directory / f"{name_or_file}.toml" if ours else Path(name_or_file).absolute()
    if not file.is_file():
        raise StudyError(
            f'unrecognized reproduction: "{name_or_file}"',
            detail=f"There are {', '.join(known)}.",
            hint=nearest_hint(name_or_file, known),
        )
    try:
        table = parse_toml(read_small(file))
        return Reproduction.model_validate({"name": file.stem, **table, "place": file.parent})
    except OSError as reason:
        raise StudyError(f'could not read "{file}": {reason.strerror}') from reason
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise StudyError(f'cannot parse "{file}": {reason}') from reason
    except ValidationError as failure:
        raise _refusal(file, failure) from failure


def _refusal(file: Path, failure: ValidationError) -> StudyError:
    first = failure.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        models = (Reproduction, ReproductionStep, Claim, CountClaim, Figure, Chief)
        fields = [model.model_fields.items() for model in models]
        known = [field.alias or name for each in fields for name, field in each]
        return StudyError(
            f'{file.name}: unrecognized key: "{key}"',
            hint=nearest_hint(str(first["loc"][-1]), known),
        )
    missing = first["type"] == "missing"
    message = "it is missing" if missing else first["msg"].removeprefix("Value error, ")
    about = f'invalid value for "{key}": ' if key else ""
    return StudyError(f"{file.name}: {about}{message[0].lower()}{message[1:]}")


def machine_words(machine: Mapping[str, Any]) -> str:
    """The machine of an environment.json: processors, memory, kernel."""
    return f"{_hardware_words(machine)}, {machine['kernel']}"


def _hardware_words(machine: Mapping[str, Any]) -> str:
    processors = len(machine["allowed_processors"])
    memory_gb = machine["memory_bytes"] / 1e9
    virtual = ", virtual" if machine.get("virtual") else ""
    return (
        f"{processors} processors ({machine['processor']}{virtual}), {memory_gb:.0f} GB of memory"
    )


def machines_words(machines: Iterable[Mapping[str, Any]]) -> str:
    """Every machine once, in the order in which they come; one whose kernel alone is another has
    that kernel."""
    kernels: dict[str, dict[str, None]] = {}
    for machine in machines:
        kernels.setdefault(_hardware_words(machine), {})[machine["kernel"]] = None
    return "; ".join(f"{hardware}, {', '.join(names)}" for hardware, names in kernels.items())
