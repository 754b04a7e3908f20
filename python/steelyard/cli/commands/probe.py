"""`steelyard probe`: measures what the storage beneath a directory does."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.sizes import finite

if TYPE_CHECKING:
    from steelyard.record.machine import Probe

Place = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Where data would stand; the cache without."),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--seconds",
        min=1,
        max=60,
        callback=finite,
        help="How long each of 11 jobs is measured. The default ends within 3 minutes.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="SIZE", help='Data to probe with ("2GB"); a tenth of what is free, 4 GB.'
    ),
]
Picture = Annotated[
    Path | None, typer.Option("-o", "--picture", metavar="FILE.svg", help="Draw it, too.")
]
Last = Annotated[
    bool, typer.Option("--last", help="Show the last probe of the device and its age.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("probe")(probe)


def probe(
    directory: Place = None,
    seconds: Seconds = 9.0,
    size: Size = None,
    picture: Picture = None,
    last: Last = False,
    as_json: AsJson = False,
) -> None:
    """Measure what the storage beneath a directory does, by fio: reads, writes, the log's path.

    It works on files of its own, and removes them. Later weighings on the device show its figures.
    """
    from steelyard.cli.options.sizes import size_option
    from steelyard.cli.views.storage_view import probe_json, probe_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.engines.cache import known_cache, open_cache
    from steelyard.tuning.probing import ProbeRequest, age_s, save_probe
    from steelyard.tuning.probing import probe as run

    location = directory or open_cache().root
    cache = known_cache().root
    probe_file: Path | None = None
    age: int | None = None
    if last:
        storage_probe = _stored_probe(location, cache)
        age = age_s(storage_probe, datetime.now(UTC))
    else:
        storage_probe = run(
            location, ProbeRequest(seconds, min(2.0, seconds / 4), size_option("--size", size)), say
        )
        probe_file = save_probe(storage_probe, cache)
    if picture is not None:
        from steelyard.report.charts.latency import write_picture

        write_picture(storage_probe, picture)
    if as_json:
        typer.echo(probe_json(storage_probe))
        return
    typer.echo("\n".join(probe_lines(storage_probe, terminal_width(), age)))
    for name, path in (("kept", probe_file), ("picture", picture)):
        if path is not None:
            typer.echo(f"\n{name}  {path}")


def _stored_probe(location: Path, cache: Path) -> Probe:
    """The last probe of the device; UsageError: there is none, or there never will be."""
    from steelyard.model.errors import UsageError
    from steelyard.tuning.probing import last_probe, why_not_cached
    from steelyard.tuning.profile.basis import ANOTHER_DIRECTORY, require_accessible

    require_accessible(location, otherwise=ANOTHER_DIRECTORY)
    latest = last_probe(location, cache)
    if latest is not None:
        return latest
    why_not = why_not_cached(location)
    if why_not:
        raise UsageError(f'no probe of "{location}" can be kept: {why_not}')
    raise UsageError(
        f'no probe of the device beneath "{location}" is kept',
        hint=shlex.join(["steelyard", "probe", str(location)]),
    )
