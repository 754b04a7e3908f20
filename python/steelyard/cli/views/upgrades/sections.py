"""The parts of a page of text (paragraphs, tables, commands), for a terminal, Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.cli.views.text_layout import escaped, wrapped
from steelyard.model.files.printable import printable


@dataclass(frozen=True)
class SectionTable:
    """Rows under a heading; the first column is left-aligned."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]

    @property
    def continued(self) -> list[str]:
        """The lines, long ones continued before an option as a shell reads them."""
        return [part for line in self.lines for part in _continued(line)]


_LINE = 74
"""Columns of a command, so that it fits into 80 with its indent."""


def _continued(line: str) -> list[str]:
    if len(line) <= _LINE:
        return [line]
    parts = [""]
    for word in re.split(r" (?=-)", line):
        joined = f"{parts[-1]} {word}".strip() if len(parts) == 1 else f"{parts[-1]} {word}"
        if parts[-1] and len(joined) > _LINE - 2:
            parts.append(f"  {word}")
        else:
            parts[-1] = joined
    return [*(f"{part} \\" for part in parts[:-1]), parts[-1]]


Block = str | SectionTable | Commands
"""A paragraph, an item that begins with "- ", a table, commands."""


@dataclass(frozen=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


def terminal_text(sentence: str, sections: Sequence[Section], width: int) -> str:
    """Plain text; commands are not wrapped, so that they can be copied."""
    lines = wrapped(sentence, width, "")
    for section in sections:
        lines += ["", section.title]
        for block in section.blocks:
            lines += _terminal(block, width)
    return "\n".join(map(escaped, lines))


def _terminal(block: Block, width: int) -> list[str]:
    if isinstance(block, Commands):
        return [f"    {line}" for line in block.continued]
    if isinstance(block, SectionTable):
        return [f"  {line}" for line in _aligned(block)]
    return [line for part in block.split("\n") for line in wrapped(part, width, "  ")]


def _aligned(table: SectionTable) -> list[str]:
    every = (table.heading, *table.rows)
    wide = [max(len(row[column]) for row in every) for column in range(len(table.heading))]
    return [
        "  ".join(
            cell.rjust(room) if column else cell.ljust(room)
            for column, (cell, room) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in every
    ]


_MARKUP = re.compile(r"[\\`*_<>#\[\]|]")


def markdown(sentence: str, sections: Sequence[Section]) -> str:
    """A page in Markdown."""
    parts = [f"# {_plain(sentence)}"]
    for section in sections:
        parts.append(f"## {section.title}")
        parts += map(_markdown, section.blocks)
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Commands):
        return "\n".join(["```sh", *map(printable, block.continued), "```"])
    if isinstance(block, SectionTable):
        rule = ["---", *["---:"] * (len(block.heading) - 1)]
        rows = (block.heading, tuple(rule), *block.rows)
        return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)
    return _plain(block)


def _plain(text: str) -> str:
    """Text in which nothing is markup: names come from servers."""
    plain = _MARKUP.sub(r"\\\g<0>", printable(text))
    return plain.replace("\n", "  \n")


def _cell(text: str) -> str:
    return text if set(text) <= {"-", ":"} else _plain(text)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem;
  padding: 0 1rem }}
h1 {{ font-size: 1.4rem }} h2 {{ font-size: 1.1rem; margin-top: 2rem }}
pre {{ font: 13px/1.5 ui-monospace, monospace; overflow-x: auto; padding: .6rem;
  border: 1px solid #8886; border-radius: 4px }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse }}
th, td {{ padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8886 }}
th:first-child, td:first-child {{ text-align: left }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def html_page(sentence: str, sections: Sequence[Section]) -> str:
    """One self-contained page."""
    body = "\n".join(
        f"<h2>{html.escape(section.title)}</h2>\n" + "\n".join(map(_html, section.blocks))
        for section in sections
    )
    return _PAGE.format(title=html.escape(printable(sentence)), body=body)


def _html(block: Block) -> str:
    if isinstance(block, Commands):
        return f"<pre>{html.escape(chr(10).join(map(printable, block.continued)))}</pre>"
    if isinstance(block, SectionTable):
        head = "".join(f'<th scope="col">{_escape(cell)}</th>' for cell in block.heading)
        rows = "".join(
            f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in block.rows
        )
        return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
    return f"<p>{_escape(block).replace(chr(10), '<br>')}</p>"


def _escape(text: str) -> str:
    return html.escape("\n".join(map(printable, text.split("\n"))))
