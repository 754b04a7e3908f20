"""The option that names the folder below which records stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RecordsOption = Annotated[
    Path, typer.Option("--records", metavar="DIR", help="The folder below which records stand.")
]
RECORDS = Path("records")
"""Where `weigh` keeps them."""
