"""`steelyard site`: makes the history as static pages that open from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options.records_option import RECORDS, PricesOption, RecordsOption, name_unread


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("site")(site)


def site(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="A new or empty folder, or a site."),
    ],
    records: RecordsOption = RECORDS,
    prices: PricesOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Make the history as static pages: a wall, a page a question, comparisons, feeds, badges."""
    from steelyard.fleet.prices import read_prices
    from steelyard.history.index import read_history
    from steelyard.site.address import WALL
    from steelyard.site.pages import build_site

    history = read_history(records)
    price_of = None if prices is None else read_prices(prices, history.entries)
    built = build_site(history, output, price_of)
    name_unread(history)
    wall = str(output / WALL)
    if as_json:
        counts = {"questions": built.questions, "records": built.records, "reports": built.reports}
        unread = [refused.to_json() for refused in history.unread]
        typer.echo(json.dumps({"wall": wall, **counts, "unread": unread}))
        return
    typer.echo(wall)
