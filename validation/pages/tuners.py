"""Tables of what three tools propose for nine servers: in docs/reference/tune.md."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from steelyard.model.setting_value import size_bytes, size_text
from validation.pages.digest import replaced
from validation.pages.table import table

BY_SIZE, ALIKE = "<!-- tuners by size -->\n", "<!-- tuners alike -->\n"
"""Marks of the two tables in the page."""
_SIZE = re.compile(r"\d+(?:kB|MB|GB)")


@dataclass(frozen=True)
class Proposals:
    """What one tool proposes: server → setting → value."""

    tool: str
    version: str
    of_servers: Mapping[str, Mapping[str, str]]

    def of(self, setting: str, default: str) -> list[str]:
        """Its value for each server; what it leaves alone is the default, in parentheses."""
        return [
            _shown(by_setting[setting]) if setting in by_setting else _left(by_setting, default)
            for by_setting in self.of_servers.values()
        ]


def page_with_tables(
    page: str,
    servers: Sequence[str],
    proposals: Sequence[Proposals],
    defaults: Mapping[str, str],
    on_page: Collection[str],
) -> str:
    """The page with both tables in their places.

    By size: settings whose value is not the same for all servers by some tool, a line a tool, for
    the servers that are `on_page`. Alike: the others, a column a tool. `defaults`: what the server
    assumes, as it is written.
    """
    values = _values(proposals, defaults)
    head, *lines = by_size(servers, proposals, defaults)
    columns = [n for n, name in enumerate(head) if name not in servers or name in on_page]
    name = ""
    for line in lines:
        line[0], name = "" if line[0] == name else f"`{line[0]}`", line[0]
    page_lines = [[line[n] for n in columns] for line in lines]
    page = replaced(page, BY_SIZE, f"\n{table([head[n] for n in columns], page_lines)}\n\n")
    alike = [
        [f"`{name}`", *(_everywhere(row) for row in rows.values())]
        for name, rows in values.items()
        if not any(_varies(row) for row in rows.values())
    ]
    head = ["setting", *(_head(proposal) for proposal in proposals)]
    return replaced(page, ALIKE, f"\n{table(head, alike)}\n\n")


def by_size(
    servers: Sequence[str], proposals: Sequence[Proposals], defaults: Mapping[str, str]
) -> list[list[str]]:
    """The heading, and a line a setting and tool with a value for each server, of settings whose
    value is not the same for all of them by some tool."""
    return [["setting", "tool", *servers]] + [
        [name, tool, *row]
        for name, rows in _values(proposals, defaults).items()
        if any(_varies(row) for row in rows.values())
        for tool, row in rows.items()
    ]


def _values(
    proposals: Sequence[Proposals], defaults: Mapping[str, str]
) -> dict[str, dict[str, list[str]]]:
    """Setting → tool → value for each server, of what some tool proposes."""
    proposed = {
        name
        for proposal in proposals
        for by_setting in proposal.of_servers.values()
        for name in by_setting
    }
    return {
        name: {proposal.tool: proposal.of(name, _shown(defaults[name])) for proposal in proposals}
        for name in sorted(proposed & defaults.keys())
    }


def _head(proposals: Proposals) -> str:
    return f"{proposals.tool} ({proposals.version})" if proposals.version else proposals.tool


def _left(settings: Mapping[str, str], default: str) -> str:
    return "refused" if "" in settings else f"({default})"


def _varies(values: Sequence[str]) -> bool:
    return len({value for value in values if value != "refused"}) > 1


def _everywhere(values: Sequence[str]) -> str:
    return next(value for value in values if value != "refused")


def _shown(value: str) -> str:
    """Sizes alike, whatever unit a tool writes them in."""
    if not _SIZE.fullmatch(value):
        return value
    return size_text(size_bytes(value, "kB") or 0)
