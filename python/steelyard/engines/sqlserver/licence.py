"""Holds the notice that goes with every number from SQL Server."""

from __future__ import annotations

BENCHMARKS = (
    "You must obtain Microsoft's prior written approval to disclose to a third party the results "
    "of any benchmark test of the software."
)
"""A sentence of the licence terms of every edition of SQL Server."""

EXPERIMENTAL = (
    "experimental: checked against doubles and recorded bytes, never against the product by us"
)
"""How far the support of it was tested."""

NOTICE = (
    f"NOTICE:  SQL Server is {EXPERIMENTAL}.",
    f'NOTICE:  Its licence: "{BENCHMARKS}"',
)
"""Lines before a load."""
