"""Holds a study: the question, its arms, workload, metric, decision rule and budget.

A study is what a TOML file says once every default is filled in. Models are frozen; unknown keys
are errors. `read.py` turns validation failures into errors that name the file and the key.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from steelyard.study.address import (
    HOUSED,
    WHOLE_CYCLES,
    require_archivable,
    require_reachable,
)
from steelyard.study.answer import Answer, DecisionRule, Group, require_prices, require_searchable
from steelyard.study.arm import Arm, Defaults, Level, Weight, same_by_levels, shown_sql
from steelyard.study.budget import Budget, TurnBounds
from steelyard.study.disk import DiskRates
from steelyard.study.factors import Factorial, Fraction, factorial
from steelyard.study.reaching.pooler import pooler_words, require_poolable
from steelyard.study.reaching.replication import (
    differing_settings,
    replication_words,
    require_replicable,
)
from steelyard.study.secrets import RECORDED, require_no_secrets
from steelyard.study.values import (
    Bytes,
    Settings,
    Statements,
    StudyModel,
    Variables,
    by_name,
    by_place,
    unless_none,
)

Placement = Literal["auto", "symmetric", "partition", "free"]
Cost = Literal["auto", "foreground", "whole"]
Layout = Literal["auto", "slices", "turns", "cycles"]
LayoutName = Literal["slices", "turns", "cycles"]
Need = Literal["jit", "lz4", "zstd", "io_uring", "tls", "huge_pages", "pgbouncer"]


Failing = Literal["leave-out", "refuse"]
LEAVE_OUT: Failing = "leave-out"
REFUSE: Failing = "refuse"


class WorkloadChoice(StudyModel):
    """Which workload is driven, how large, and by how many clients."""

    name: str = "pgbench"
    scale: Annotated[int, Field(ge=1)] | None = None
    """None: what the workload calls its own."""
    options: dict[str, str | int | bool] = Field(default_factory=dict)
    """What else the workload lets one choose: `steelyard workloads list NAME` lists it."""
    scripts: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Built-in script name or file path, with its weight; none: the workload's own mix."""
    streams: tuple[tuple[str, ...], ...] = ()
    """Scripts in the order in which a client goes through them: client k through stream k mod n.
    None: each transaction draws its script by weight."""
    texts: dict[str, str] = Field(default_factory=dict)
    """Scripts of the study itself, name → text; driven alike where `scripts` names none."""
    excluded: tuple[str, ...] = ()
    """Scripts of the streams that are timed, but are in no geometric mean and count as no block:
    what comes before and after the queries."""
    clients: Annotated[int, Field(ge=1)] = 8
    clients_when_slow: Annotated[int, Field(ge=1)] | None = None
    """In place of `clients` where the pilot finds executions too slow for slices by time. None: the
    same."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Driver threads; 0: one a processor, never more than clients."""
    machines: Annotated[int, Field(ge=1, le=256)] = 1
    """Load machines that the clients are dealt over; more than one: for arms at addresses."""
    reconnect: bool = False
    """Whether each transaction has a connection of its own, as `drive -C`; needs placement free."""
    mode: Literal["simple", "extended", "prepared"] | None = None
    """None: as the workload is meant to be driven, which is prepared but for slow queries."""
    pace: Annotated[float, Field(gt=0, le=1000)] | None = None
    """A captured workload's arrivals are repeated at so many times their pace, in place of clients
    that begin their next transaction when the last one is done. None: they are not."""
    timed: bool | None = None
    """Also time every statement by itself: two readings of the clock for each. None: scripts of the
    user and captured ones are, where one of them holds several statements."""
    variables: Variables = Field(default_factory=dict)
    """Of scripts, as -D of pgbench."""
    failing: Failing | None = None
    """What becomes of a script that fails when it is executed once before any load. None: a
    captured one is left out, one of the user's refuses the weighing, those of built-in workloads
    are not executed."""
    loads: Annotated[int, Field(ge=1, le=100)] | None = None
    """Separate loads of the same rows, which epochs take in turn. None: 3 for each build where
    builds cannot share their data, else 1."""
    working_set: Literal["any", "fits", "exceeds"] = "any"
    """Whether the tables are meant to fit into shared buffers; a Threat says when they do not."""


class Source(StudyModel):
    """External data, in place of what the workload would load."""

    place: str
    """A stopped data directory, a base backup, or a dump of pg_dump."""
    database: str | None = None
    """Its name there; None: the only one."""
    config: str | None = None
    """Its postgresql.conf, where that does not stand in the place."""
    kind: Literal["data directory", "base backup", "dump"] | None = None
    """What it was found to be."""
    digest: str | None = None
    """Of the files as they were when the study was made: a record is repeated on the same data.
    None: as they are now."""
    reported: bool = False
    """Whether `config` holds all that a running server said of its settings, and is alone read."""
    partial: str | None = None
    """Why that was not all, with what to do about it."""
    backup: str | None = None
    """Names the base backup at the place that was taken for this weighing, and is removed when its
    data are loaded. None: the place is a user's, and stays."""
    server: str | None = None
    """Of such a backup the server that was copied, by which the history knows it again:
    `"host=db1 port=5432"`."""
    settings_digest: str | None = None
    """Of its server's settings as they were when the study was made, wherever they are said. None:
    as they are now."""
    beneath: Settings = Field(default_factory=dict)
    """Settings of the built-in study: they count where its server's say nothing."""


class Study(StudyModel):
    """A question: arms, a workload, one primary metric, a decision rule, a budget."""

    name: str
    title: str
    question: str
    group: Group | None = None
    """Of the built-in studies, those that it is listed with."""
    answer: dict[str, Answer] = Field(default_factory=dict)
    """Arm, by its name or its role → the words that its contrast answers in. None: the arm is
    faster or slower than the control."""
    engine: str = "postgres"
    """The kind of database of every arm: its adapter finds the builds."""
    factors: dict[str, dict[str, Level]] | None = None
    """Factor → its two levels, the baseline first; control and arms are their cells."""
    fraction: Fraction | None = None
    """Of all cells, those that are weighed. None: full."""
    control: Arm
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    settings: Settings = Field(default_factory=dict)
    """Settings of every arm."""
    sql: Statements = ()
    """Executed once in a copy of the loaded data, for every arm."""
    needs: tuple[Need, ...] = ()
    """What must be there for the arms to differ: asked before anything is loaded."""
    defaults: Defaults = "aligned"
    """Where builds differ in a setting's default: set alike for all arms, or as each has it."""
    contrib: bool = False
    """Bring contrib's modules to builds that were made without them."""
    statement_counters: bool = False
    """Have every server count log and blocks of each statement; brings contrib too."""
    archive: bool = False
    """Tell what an archive of each arm's log would take, compressed by gzip."""
    memory: Annotated[Annotated[Bytes, Field(gt=0)] | None, BeforeValidator(unless_none)] = None
    """A cap on what each arm's server may have in memory, shared buffers and page cache included;
    the same for all. None: what the machine has."""
    disk: Annotated[DiskRates | None, BeforeValidator(unless_none)] = None
    """What each arm's disk is held to, beside `memory`; the same for all."""
    bound: Annotated[Literal["storage"] | None, BeforeValidator(unless_none)] = None
    """What the work is meant to wait for: a Threat says where an arm reads nearly nothing from the
    storage device."""
    workload: Annotated[WorkloadChoice, BeforeValidator(by_name)] = WorkloadChoice()
    source: Annotated[Source | None, BeforeValidator(by_place)] = None
    """None: the workload loads its own data."""
    address: str | None = None
    """A connection string, without a password: the arms are sessions of a server that is running,
    which is not started, stopped, or set. None: the servers are made for the weighing."""
    cost: Cost = "auto"
    placement: Placement = "auto"
    layout: Layout = "auto"
    """slices: all arms run, and the load moves between them in slices; turns: one arm at a time,
    over whole checkpoint cycles; cycles: all arms run, each wholly still while another is under
    load, over whole checkpoint cycles of its own time. auto: where the work writes and an arm
    differs in what acts through checkpoints, cycles if memory holds all arms, else turns."""
    turns: TurnBounds = TurnBounds()
    decision: DecisionRule = DecisionRule()
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _arm_names_differ(self) -> Study:
        names = [arm.name or arm.role for arm in self.every_arm]
        if len(set(names)) != len(names):
            raise ValueError("two arms have one name")
        return self

    @model_validator(mode="after")
    def _bases_are_arms(self) -> Study:
        for arm in self.every_arm:
            if arm.against is not None and (arm is self.control or self.base_of(arm) is None):
                raise ValueError(
                    f'"{arm.name or arm.role}" is compared with "{arm.against}", which is no other '
                    "arm: every arm is compared with the control already"
                )
        return self

    @model_validator(mode="after")
    def _addresses_are_reached(self) -> Study:
        require_reachable(self, own_databases=self.uses_own_databases)
        if self.archive:
            require_archivable(self.engine)
        require_replicable(self)
        require_poolable(self)
        return self

    @model_validator(mode="after")
    def _says_no_secret(self, info: ValidationInfo) -> Study:
        if not (info.context or {}).get(RECORDED):
            require_no_secrets(self)
        return self

    @model_validator(mode="after")
    def _arms_are_cells(self) -> Study:
        if self.factors is None and self.fraction is not None:
            raise ValueError('"fraction" is of the cells that "factors" have: there are none')
        laid = self.factorial
        if laid is None:
            return self
        if [cell.arm for cell in laid.cells] != [arm.name for arm in self.every_arm]:
            raise ValueError('"factors" make the arms themselves: leave out [[arm]]')
        if self.decision.judged != "separately":
            raise ValueError("effects are judged once, at the end: leave out decision.judged")
        return self

    @model_validator(mode="after")
    def _factors_act(self, info: ValidationInfo) -> Study:
        laid = self.factorial
        if laid is None or (info.context or {}).get(RECORDED):
            return self
        cells = tuple(zip(laid.cells, self.every_arm, strict=True))
        for factor, levels in (self.factors or {}).items():
            first, second = (
                next(arm for cell, arm in cells if cell.levels[factor] == level) for level in levels
            )
            settings = self.settings_of(first), self.settings_of(second)
            if same_by_levels(levels.values(), (first, second), settings):
                raise ValueError(
                    f"factors.{factor}: both levels come to the same, with what all cells have"
                )
        return self

    @model_validator(mode="after")
    def _cycles_are_timed(self) -> Study:
        if self.layout in WHOLE_CYCLES and self.budget.counted is not None:
            raise ValueError(f'layout = "{self.layout}" cuts by time: leave out budget.counted')
        return self

    @model_validator(mode="after")
    def _slices_are_queries(self) -> Study:
        if self.decision.metric == "geometric_mean" and self.budget.counted is None:
            raise ValueError('decision.metric = "geometric_mean" needs budget.counted')
        return self

    @model_validator(mode="after")
    def _debt_can_be_read(self) -> Study:
        if self.decision.metric == "latency_mean":
            for arm in self.every_arm:
                if arm.weight.background:
                    raise ValueError(
                        f'arm "{arm.name or arm.role}" leaves work to the background, which is '
                        'in no latency: use decision.metric = "throughput"'
                    )
        return self

    @model_validator(mode="after")
    def _metric_can_be_measured(self) -> Study:
        work, metric = self.workload, self.decision.metric
        if self.decision.goal is not None:
            require_searchable(
                metric,
                layout=self.layout,
                cut=bool(self.budget.counted or work.streams),
                paced=work.pace is not None,
                machines=work.machines,
                background=any(arm.weight.background for arm in self.every_arm),
            )
        prices = {arm.name or arm.role: arm.price for arm in self.every_arm}
        require_prices(prices, metric, paced=work.pace is not None)
        return self

    @model_validator(mode="after")
    def _arrivals_are_given(self) -> Study:
        if self.workload.pace is None:
            return self
        if self.decision.metric != "latency_mean":
            raise ValueError(
                "workload.pace: arrivals, and no arm, set the throughput: use "
                'decision.metric = "latency_mean"'
            )
        if self.budget.counted is not None or self.workload.streams:
            raise ValueError("workload.pace: arrivals are cut by time, and in no order of scripts")
        if self.workload.machines > 1:
            raise ValueError("workload.pace: arrivals are repeated by one load machine")
        return self

    @property
    def every_arm(self) -> tuple[Arm, ...]:
        """The control first, then the other arms in the order of the study."""
        return (self.control, *self.arms)

    def base_of(self, arm: Arm) -> Arm | None:
        """The arm that another one is compared with besides the control; None: there is none."""
        others = [each for each in self.arms if each is not arm and arm.against]
        return next((each for each in others if arm.against in (each.name, each.role)), None)

    def answer_of(self, arm: str) -> Answer | None:
        """The words for an arm's contrast; None: the study has none."""
        role = next((candidate.role for candidate in self.arms if candidate.name == arm), "")
        return self.answer.get(arm) or (self.answer.get(role) if role else None)

    @property
    def is_external(self) -> bool:
        """Whether the arms are sessions of servers that are not ours."""
        return any((self.address, *(arm.address for arm in self.every_arm)))

    @property
    def uses_own_databases(self) -> bool:
        """Whether the arms are databases of ours on a server that is not."""
        return self.is_external and self.engine in HOUSED

    @property
    def factorial(self) -> Factorial | None:
        """Cells and effects, where the study has factors."""
        if self.factors is None:
            return None
        levels = {name: tuple(by_level) for name, by_level in self.factors.items()}
        return factorial(levels, self.fraction or "full")

    def differs_only_in_weight(self, arm: Arm) -> bool:
        """Whether an arm is the control but for its name and its weight."""
        bare = {"name": "", "role": "", "against": None, "weight": Weight(), "price": None}
        return arm.model_copy(update=bare) == self.control.model_copy(update=bare)

    @property
    def equals(self) -> tuple[Arm, ...]:
        """The arms that are the control under another name: no weight is on either."""
        return tuple(
            arm
            for arm in self.arms
            if arm.weight.is_none
            and self.control.weight.is_none
            and self.differs_only_in_weight(arm)
        )

    def declared_differences(self, arm: Arm, base: Arm | None = None) -> set[str]:
        """Names of what the study says differs between an arm and the control, or another arm: its
        settings.

        `"data_checksums"` when one verifies pages and the other does not; `"version"` when versions
        or builds are to differ.
        """
        base = base or self.control
        ours, theirs = self.settings_of(base), self.settings_of(arm)
        names = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
        if base.checksums != arm.checksums:
            names.add("data_checksums")
        if (base.version, base.bindir) != (arm.version, arm.bindir):
            names.add("version")
        names |= {*differing_settings(base.replication, arm.replication)}
        return names | {name for name, *_ in self.differences_outside_settings(arm, base)}

    def differences_outside_settings(
        self, arm: Arm, base: Arm | None = None
    ) -> list[tuple[str, str, str]]:
        """(key, the control's or the other arm's, the arm's) of what is done with its data, and how
        it is reached."""
        base = base or self.control
        keys = (
            ("sql", *(shown_sql(side.sql) or "none" for side in (base, arm))),
            ("connect", base.connect, arm.connect),
            ("directory", *(side.directory or "the cache" for side in (base, arm))),
            ("wal_directory", *(side.wal_directory or "none" for side in (base, arm))),
            ("pooler", *(pooler_words(side.pooler) for side in (base, arm))),
            ("replication", *(replication_words(side.replication) for side in (base, arm))),
        )
        return [(key, ours, theirs) for key, ours, theirs in keys if ours != theirs]

    def defaults_of(self, arm: Arm) -> Defaults:
        """Whether an arm's build has its defaults set as the control's are, or keeps its own."""
        return arm.defaults or self.defaults

    def sql_of(self, arm: Arm) -> tuple[str, ...]:
        """The statements that make an arm's data: the study's, then its own."""
        return (*self.sql, *arm.sql)

    def settings_of(self, arm: Arm) -> dict[str, str]:
        """The settings an arm runs with: the study's, then its own."""
        return {**self.settings, **arm.settings}
