"""The options of one call of `steelyard drive`: checks them and makes the driver's plan."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from steelyard.cli.views.drive_summary import ProgressLines
from steelyard.driver.plan import (
    AbortRule,
    DriveArm,
    DriveLog,
    DrivePlan,
    DriveScript,
    QueryMode,
    Replay,
    SliceRequest,
    Variable,
)
from steelyard.driver.summary import read_ramp
from steelyard.engines.mysql import uri as mysql
from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.engines.sqlserver import uri as sqlserver
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from steelyard.study.study import Failing

MODES = ("simple", "extended", "prepared")
FAILING_RULES = ("leave-out", "refuse")
PLACEMENTS = ("auto", "symmetric", "free")
DEFAULT_SECONDS = 10.0
MOST_SCRIPTS = 128
"""As pgbench's MAX_SCRIPTS."""


@dataclass(frozen=True)
class DriveOptions:
    """One call of the command. drive_parameters.py says what each option means."""

    target: str
    dbname: str | None
    host: str | None
    port: str | None
    username: str | None
    file: list[str] | None
    builtin: list[str] | None
    workload: str | None
    overrides: list[str] | None
    check: bool
    yes: bool
    failing: str | None
    select_only: bool
    skip_some_updates: bool
    clients: int
    threads: int
    seconds: float | None
    transactions: int | None
    mode: str | None
    define: list[str] | None
    scale: int | None
    rate: float | None
    pace: float | None
    ramp: str | None
    latency_limit: float | None
    max_tries: int
    connect: bool
    report_per_command: bool
    progress: float | None
    log: bool
    log_prefix: str | None
    aggregate_interval: int | None
    sampling_rate: float | None
    failures_detailed: bool
    continue_on_error: bool
    exit_on_abort: bool
    progress_timestamp: bool
    no_vacuum: bool
    show_script: str | None
    placement: str
    seed: str | None
    as_json: bool
    order: tuple[str, ...]
    """The names of the options as they stand on the command line, a repeated one again."""

    @property
    def scripts(self) -> list[tuple[bool, str]]:
        """Whether each is a built-in one, and what names it, in the order of the command line."""
        texts = {
            "file": iter(self.file or ()),
            "builtin": iter(self.builtin or ()),
            "select_only": iter(("select-only",) * self.select_only),
            "skip_some_updates": iter(("simple-update",) * self.skip_some_updates),
        }
        named = ((name, next(texts[name], None)) for name in self.order if name in texts)
        return [(name != "file", text) for name, text in named if text is not None]

    @property
    def builtins(self) -> list[str]:
        """Built-in scripts, also those that have an option of their own."""
        return [text for is_builtin, text in self.scripts if is_builtin]

    @property
    def query_mode(self) -> QueryMode | None:
        """As given; None: as the workload is meant to be driven, of scripts simple."""
        return cast(QueryMode | None, self.mode)

    @property
    def failing_rule(self) -> Failing | None:
        """As given; None: as the workload says."""
        return cast("Failing | None", self.failing)

    @property
    def latency_limit_ns(self) -> int | None:
        """The latency limit in the driver's unit."""
        return None if self.latency_limit is None else round(self.latency_limit * NS_PER_MS)

    @property
    def _abort_rule(self) -> AbortRule:
        if not self.exit_on_abort:
            return "never"
        return "lost" if self.continue_on_error else "failed"

    @property
    def rates(self) -> tuple[float, ...]:
        """The rates of a ramp; none without."""
        return () if self.ramp is None else read_ramp(self.ramp)

    def refuse(self) -> None:
        """UsageError: options that contradict each other, or values that no driver takes."""
        if self.workload is not None and (self.builtins or self.file):
            raise UsageError("cannot drive a workload (-w) and scripts (-b, -f) at once")
        if self.workload is None and (self.overrides or self.check):
            raise UsageError("options --set and --check belong to a workload (-w)")
        if self.workload is not None and self.scale is not None:
            raise UsageError(
                "option -s is of pgbench's tables: the data of a workload (-w) say theirs",
                hint=f"Leave it out, or have it compared: --set scale={self.scale}",
            )
        if self.failing is not None:
            self._refuse_failing()
        if self.mode not in (None, *MODES):
            hint = f"Accepted: {', '.join(MODES)}."
            raise UsageError(f'unrecognized protocol: "{self.mode}"', hint=hint)
        if self.placement not in PLACEMENTS:
            hint = f"Accepted: {', '.join(PLACEMENTS)}."
            raise UsageError(f'unrecognized placement: "{self.placement}"', hint=hint)
        if self.seed is not None:
            read_seed(self.seed)
        self._refuse_load()
        self._refuse_log()

    def _refuse_failing(self) -> None:
        if self.workload is None:
            raise UsageError("option --failing belongs to a workload (-w)")
        if self.failing not in FAILING_RULES:
            hint = f"Accepted: {', '.join(FAILING_RULES)}."
            raise UsageError(f'unrecognized value of --failing: "{self.failing}"', hint=hint)

    def _refuse_load(self) -> None:
        if self.seconds is not None and self.transactions is not None:
            raise UsageError("cannot drive for a time (-T) and by count (-t) at once")
        if len(self.scripts) > MOST_SCRIPTS:
            raise UsageError(f"cannot drive more than {MOST_SCRIPTS} scripts, as pgbench")
        if self.progress_timestamp and self.progress is None:
            raise UsageError("--progress-timestamp belongs to progress lines: add -P SECONDS")
        if self.pace is not None:
            self._refuse_pace()
        for name, value in (
            ("rate", self.rate), ("latency limit", self.latency_limit), ("pace", self.pace),
        ):  # fmt: skip
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"invalid {name}: {value}; accepted: more than 0")
        if self.rates and (self.rate is not None or self.transactions is not None):
            raise UsageError("cannot drive a ramp of rates at one rate (-R) or by count (-t)")
        if self.rates and self.exit_on_abort:
            raise UsageError("cannot end a ramp of rates early (--exit-on-abort)")
        endless = self.max_tries == 0 and self.transactions is not None
        if endless and self.latency_limit is None:
            raise UsageError(
                "cannot try without a limit: neither a time (-T) nor a latency limit (-L) ends it"
            )

    def _refuse_pace(self) -> None:
        if self.workload is None:
            raise UsageError("option --pace belongs to a captured workload (-w)")
        if self.rate is not None or self.ramp is not None or self.transactions is not None:
            raise UsageError(
                "cannot repeat arrivals (--pace) at a rate (-R, --ramp) or by count (-t)"
            )

    def _refuse_log(self) -> None:
        interval = self.aggregate_interval
        if not self.log:
            if interval is not None or self.sampling_rate is not None:
                raise UsageError("cannot aggregate or sample a log that is not written: add --log")
            if self.log_prefix is not None:
                raise UsageError("cannot name a log that is not written (--log-prefix): add --log")
            return
        if interval is not None and self.sampling_rate is not None:
            raise UsageError("cannot aggregate a sample: the totals would not be totals")
        if self.sampling_rate == 0:
            raise UsageError("invalid sampling rate: 0; accepted: more than 0, at most 1")
        if interval is None or self.transactions is not None or self.rates:
            return
        length_ms = round((self.seconds or DEFAULT_SECONDS) * 1000)
        if length_ms % (interval * 1000):
            raise UsageError(
                f"cannot aggregate a log of {length_ms / 1000:g} s by {interval} s: the duration "
                "(-T) must be a multiple of the aggregation interval (--aggregate-interval)"
            )

    def read_target(self) -> Endpoint:
        """Where its words lead. UsageError: two answers to one question."""
        if self.target and self.dbname:
            raise UsageError(f'too many targets: "{self.dbname}" (-d) and "{self.target}"')
        target = self.dbname or self.target
        if mysql.is_mysql(target):
            if self.mode == "extended":
                hint = "Use -M simple or prepared."
                raise UsageError("MySQL's protocol has no unnamed statements", hint=hint)
            self._refuse_with_uri()
            return mysql.read_uri(target)
        if sqlserver.is_sqlserver(target):
            self._refuse_with_uri()
            if self.workload is not None:
                raise UsageError(f'workload "{self.workload}" is not loaded into SQL Server')
            if self.placement == "symmetric":
                raise UsageError("threads of SQL Server are not placed: use --placement free")
            return sqlserver.read_uri(target)
        return read_target(target, host=self.host, port=self.port, user=self.username)

    def _refuse_with_uri(self) -> None:
        """UsageError: what has no meaning on servers other than PostgreSQL, or is not to be had."""
        if self.host or self.port or self.username:
            raise UsageError("options -h, -p and -U are libpq's: the URI says them all")
        if self.workload is None and self.scale is None and (self.builtins or not self.file):
            raise UsageError("say how large pgbench's tables are: -s SCALE")

    def plan(
        self,
        arm: DriveArm,
        scripts: tuple[DriveScript, ...],
        variables: dict[str, Variable],
        mode: QueryMode,
        orders: tuple[tuple[int, ...], ...] = (),
    ) -> DrivePlan:
        """The plan for the driver. UsageError: an unknown seed, or texts that cannot be sent."""
        return DrivePlan(
            arms=(arm,),
            scripts=scripts,
            threads=min(self.threads, self.clients),
            seed=read_seed(self.seed or os.environ.get("PGBENCH_RANDOM_SEED") or "rand"),
            orders=orders,
            mode=mode,
            variables=variables,
            max_tries=self.max_tries,
            latency_limit_ns=self.latency_limit_ns,
            connect=self.connect,
            abort=self._abort_rule,
            timed=self.report_per_command,
            log=self._log(),
        )

    def slices(self, replay: Replay | None = None) -> list[SliceRequest]:
        """The load: one slice, or one for each step of a ramp. `replay`: once through it, unless a
        time is given."""
        steps: tuple[float | None, ...] = self.rates or (self.rate,)
        length_ns = None
        if self.transactions is None:
            seconds = self.seconds or DEFAULT_SECONDS
            length_ns = round(seconds * NS_PER_S / len(steps))
            if replay is not None and self.seconds is None:
                length_ns = replay.round_ns
        return [
            SliceRequest(
                arm=0,
                length_ns=length_ns,
                each=self.transactions,
                rate=rate,
                from_ns=None if replay is None else 0,
                progress_ns=None if self.progress is None else round(self.progress * NS_PER_S),
            )
            for rate in steps
        ]

    def progress_lines(self) -> ProgressLines:
        """Writes the progress lines."""
        return ProgressLines(
            self.progress or 1.0,
            rate=(self.rate, self.ramp, self.pace) != (None, None, None),
            limit=self.latency_limit is not None,
            retries=self.max_tries != 1,
            dated=self.progress_timestamp,
        )

    def _log(self) -> DriveLog | None:
        if not self.log:
            return None
        return DriveLog(
            path=os.path.abspath(f"{self.log_prefix or 'pgbench_log'}.{os.getpid()}"),
            aggregate_s=self.aggregate_interval,
            sampling=self.sampling_rate,
            failures_detailed=self.failures_detailed,
            other_failures=self.continue_on_error,
        )


def read_seed(text: str) -> int:
    """A seed as pgbench reads it: a number of 64 bits, `time`, or `rand`. UsageError.

    Both words mean one that differs from load to load, which is drawn.
    """
    if text in ("rand", "time"):
        return int.from_bytes(os.urandom(4), "big")
    if not (text.isascii() and text.isdecimal()) or int(text) >= 1 << 64:
        hint = 'Accepted: a whole number of 64 bits, "time", or "rand".'
        raise UsageError(f'unrecognized random seed: "{text}"', hint=hint)
    return int(text)
