"""`steelyard judge`: judges measurements from other tools, and prints what they support."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options.sizes import finite
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.foreign.comparison import NamedSheet
    from steelyard.foreign.source import SourceText
    from steelyard.foreign.tools.steelyard_output import SavedVerdict

ORDERS = ("random", "alternating", "sequential", "unknown")
STANDARD_INPUT = "-"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="[ARM=]FILE...",
        help="One file with all arms, or a file an arm; several of one arm are repetitions. "
        "-: standard input.",
    ),
]
Control = Annotated[
    str | None, typer.Option(help="The arm to compare with; default: the first one.")
]
MetricName = Annotated[
    str | None, typer.Option(help="Which metric, or what the numbers are: tps, latency, ...")
]
Unit = Annotated[str | None, typer.Option(help="Of the numbers: s, ms, tps, NOPM, ...")]
Direction = Annotated[
    bool | None,
    typer.Option(
        "--higher-is-better/--lower-is-better",
        help="Needed where neither metric nor unit imply it.",
        show_default=False,
    ),
]
Paired = Annotated[
    bool | None,
    typer.Option(
        "--paired/--unpaired",
        help="Compare row by row, or not; default: detected.",
        show_default=False,
    ),
]
Ordered = Annotated[str | None, typer.Option(help=f"How arms were measured: {', '.join(ORDERS)}.")]
Margin = Annotated[str, typer.Option(help="A smaller change does not matter.")]
Clients = Annotated[
    float | None,
    typer.Option(min=1, callback=finite, help="Clients of a closed loop, for Little's law."),
]
ColumnRoles = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=NAME", help="arm, value, order, block or clients of a table."),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, json, hyperfine, hyperfine-table, fio, steelyard, pgbench, pgbench-log, "
        "pgbench-aggregate, hammerdb, sysbench, sysbench-csv, ycsb, benchbase, benchbase-csv, "
        "mysqlslap, go, libtest, jmh, jmh-text, google-benchmark, google-benchmark-csv, "
        "pytest-benchmark, criterion, criterion-sample, requests, load-summary, wrk, locust or "
        "psql; default: found by content.",
    ),
]
Picture = Annotated[
    Path | None, typer.Option("-o", "--picture", metavar="FILE.svg", help="Draw it as SVG.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judge")(judge)


def judge(
    files: Files,
    control: Control = None,
    metric: MetricName = None,
    unit: Unit = None,
    higher_is_better: Direction = None,
    paired: Paired = None,
    order: Ordered = None,
    margin: Margin = "1%",
    clients: Clients = None,
    column: ColumnRoles = None,
    form: Form = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Judge numbers from elsewhere: what they support, by the rules of a weighing.

    Tables (a column an arm, or a column that names it), JSON, and what benchmarks write: pgbench,
    HammerDB, sysbench, YCSB, BenchBase, mysqlslap, fio, hyperfine, harnesses of microbenchmarks and
    load generators for HTTP. A record of Steelyard's own is shown as its plan judged it.
    """
    if order is not None and order not in ORDERS:
        raise UsageError(f'unrecognized order: "{order}"', hint=f"Accepted: {', '.join(ORDERS)}.")
    delta = _margin(margin)
    sources = _sources(files)
    from steelyard.foreign.comparison import Options, compare
    from steelyard.foreign.formats import saved_verdict_of
    from steelyard.foreign.judgement.judge_numbers import judge_numbers
    from steelyard.foreign.series import Order

    if len(sources) == 1 and (recorded := saved_verdict_of(sources[0][1], form)) is not None:
        choices = (control, metric, unit, higher_is_better, paired, order, clients, column, picture)
        _show_recorded(
            recorded, any(choice is not None for choice in choices) or margin != "1%", as_json
        )
        return
    options = Options(
        control, metric, unit, higher_is_better, Order(order) if order else None, clients
    )
    sheets = _sheets(sources, form, column or [])
    judgement = judge_numbers(compare(sheets, options), delta, paired)
    if picture is not None:
        from steelyard.report.judgement_picture import write_picture

        write_picture(judgement, picture)
    if as_json:
        typer.echo(json.dumps(judgement.to_json()))
        return
    from steelyard.cli.views.judgement_view import render_judgement
    from steelyard.cli.views.text_layout import terminal_width

    typer.echo(render_judgement(judgement, terminal_width()))
    if picture is not None:
        typer.echo(f"\npicture  {picture}")


def _margin(text: str) -> float:
    from steelyard.model.units import parse_percent

    try:
        margin = parse_percent(text)
    except ValueError:
        margin = 0.0
    if not 0 < margin < 1:
        raise UsageError(f'invalid margin: "{text}"', hint="Accepted: 1%, 0.5%.")
    return margin


def _show_recorded(recorded: SavedVerdict, changed: bool, as_json: bool) -> None:
    """Print the verdict of a record; UsageError where options would change it."""
    if changed:
        raise UsageError(
            f'"{recorded.source}" is a verdict of Steelyard: it is shown, not judged again',
            detail="The plan of its weighing fixed metric, margin and looks beforehand.",
            hint="Leave out all options but --json; `steelyard report RECORD` draws it.",
        )
    if as_json:
        typer.echo(json.dumps(recorded.to_json()))
        return
    from steelyard.cli.views.judgement_view import render_saved_verdict
    from steelyard.cli.views.text_layout import terminal_width

    typer.echo(render_saved_verdict(recorded, terminal_width()))


def _sources(files: Sequence[str]) -> list[tuple[str | None, SourceText]]:
    """Each file's arm, where it is named, and its text."""
    arm_paths = [_named(text) for text in files]
    for arm, path in arm_paths:
        if arm is not None:
            _refuse_several(arm, path)
    return [(arm, _source(path)) for arm, path in arm_paths]


def _sheets(
    sources: Sequence[tuple[str | None, SourceText]], form: str | None, columns: Sequence[str]
) -> list[NamedSheet]:
    from steelyard.foreign.copies import refuse_copies
    from steelyard.foreign.formats import read_sheet

    roles = {}
    for text in columns:
        role, equals, name = text.partition("=")
        if not equals:
            raise UsageError(f'invalid column: "{text}"', hint="Write --column ROLE=NAME.")
        roles[role.strip()] = name
    refuse_copies([source for _, source in sources])
    alone = len(sources) == 1 and sources[0][0] is None
    return [(arm, read_sheet(source, form, roles, alone)) for arm, source in sources]


def _named(text: str) -> tuple[str | None, str]:
    """`arm=path`, unless a file is called so as a whole."""
    arm, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        return None, text
    if not arm or not path:
        raise UsageError(f'invalid file of an arm: "{text}"', hint="Write ARM=FILE.")
    return arm, path


_PATTERN = str.maketrans("*?[]", "____")
"""What a shell expands."""


def _refuse_several(arm: str, path: str) -> None:
    """UsageError for a directory or a pattern behind the name of an arm, which no shell expands."""
    file = Path(path)
    folder = file.is_dir() and not (file / "verdict.json").is_file()
    if folder or (not file.exists() and any(letter in path for letter in "*?")):
        files = f"{path.rstrip('/')}/*" if folder else path
        words = (arm + files).translate(_PATTERN)
        plain = shlex.quote(words) == words
        each = f"$(printf '{arm}=%s ' {files})" if plain else shlex.quote(f"{arm}=FILE")
        reason = "it is a directory" if folder else f"a shell expands no pattern behind {arm}="
        raise UsageError(
            f'could not read "{path}": {reason}',
            hint=f"Name each file: steelyard judge {each} …",
        )


def _source(path: str) -> SourceText:
    from steelyard.foreign.source import MOST_BYTES, open_source, source_of

    if path == STANDARD_INPUT:
        return source_of(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input")
    file = Path(path)
    # A record is shown by its verdict.
    verdict = file / "verdict.json"
    return open_source(verdict if verdict.is_file() else file)
