"""One self-contained HTML page: tables and pictures, no script, and nothing that is loaded from elsewhere."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coalloc.bench.tables import Table
from coalloc.documents.text import visible
from coalloc.plot import palette

FOLDED = 30
"""Lines of a table above which it is folded."""

LONG = 45
"""Characters of an entry above which it may take several lines."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1.5rem; background: Canvas; color: CanvasText;
  font: 15px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.6rem }} h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .6rem }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 }}
dt {{ color: GrayText }} dd {{ margin: 0; overflow-wrap: anywhere }}
.warning {{ border-left: 4px solid {warning}; padding: .4rem .8rem; margin: .8rem 0 }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }}
th {{ text-align: left; font-weight: 600; border-bottom: 2px solid {muted}; padding: .3rem .7rem;
  vertical-align: bottom }}
td {{ border-bottom: 1px solid color-mix(in srgb, GrayText 30%, transparent); padding: .25rem .7rem;
  white-space: nowrap }}
td.long {{ white-space: normal; min-width: 22rem }}
.number {{ text-align: right }}
tbody tr:hover {{ background: color-mix(in srgb, {link} 18%, transparent) }}
img {{ display: block; max-width: 100%; margin: 1.2rem 0; border-radius: 6px }}
summary {{ cursor: pointer; color: GrayText; margin-bottom: .5rem }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Content:
    """What stands on a page: ``reading`` above the first table, ``pictures`` (SVG) below it, then the others."""

    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    reading: str
    tables: Mapping[str, Table]
    pictures: Sequence[bytes]


def page(content: Content) -> str:
    """Return the page."""
    sections = [_section(title, table) for title, table in content.tables.items()]
    first = sections[0].replace("</h2>", f"</h2>\n<p>{_escaped(content.reading)}</p>", 1)
    warnings = [f'<p class="warning">{_escaped(warning)}</p>' for warning in content.warnings]
    body = [_facts(content.facts), *warnings, first, *map(_image, content.pictures), *sections[1:]]
    colours = {"warning": palette.OVERLOAD, "muted": palette.MUTED, "link": palette.LINK}
    return PAGE.format(title=_escaped(content.title), body="\n".join(body), **colours)


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    entries = "\n".join(f"<dt>{_escaped(name)}</dt><dd>{_escaped(text)}</dd>" for name, text in facts)
    return f"<dl>\n{entries}\n</dl>"


def _section(title: str, table: Table) -> str:
    """Return a heading and its table, folded where it is long."""
    lines = f'<div class="scroll">{_table(table)}</div>'
    if len(table.lines) > FOLDED:
        lines = f"<details><summary>{len(table.lines)} lines</summary>{lines}</details>"
    return f"<h2>{_escaped(title)}</h2>\n{lines}"


def _table(table: Table) -> str:
    classes = [' class="number"' if is_number else "" for is_number in table.are_numbers]
    heads = "".join(f"<th{c}>{_escaped(head)}</th>" for c, head in zip(classes, table.heads, strict=True))
    lines = ["".join(_cell(c, text) for c, text in zip(classes, line, strict=True)) for line in table.texts]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _cell(kind: str, text: str) -> str:
    """Return an entry; what is long may take several lines."""
    long = ' class="long"' if len(text) > LONG else ""
    return f"<td{kind or long}>{_escaped(text)}</td>"


def _image(svg: bytes) -> str:
    return f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg).decode()}">'


def _escaped(text: str) -> str:
    return html.escape(visible(text))
