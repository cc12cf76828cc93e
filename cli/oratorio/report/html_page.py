# SPDX-License-Identifier: BSD-3-Clause
"""Makes HTML pages that are one file each: without scripts and external resources, light and dark, for phones
and desktops."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence
from pathlib import Path

from oratorio import whole_file
from oratorio.errors import OratorioError

STYLE = """
:root { color-scheme: light dark; --text: #1c2126; --soft: #5a6570; --back: #fff; --box: #f4f6f8;
  --line: #d5dbe1;
  --accent: #0060a0; --storage: #d9682a; --copying: #2f74b8; --waiting: #b4bcc5; --planning: #8257b8;
  --rest: #6d7f35;
  --write: #d9682a; --read: #2f74b8; --ours: #0072b2; --host: #8d959e; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ec; --soft: #9aa6b2; --back: #14181c;
  --box: #1e242a;
  --line: #363f48; --accent: #6db9f2; --storage: #ec8a50; --copying: #5a9ee0; --waiting: #59636d;
  --planning: #aa86dd;
  --rest: #98ab58; --write: #ec8a50; --read: #5a9ee0; --ours: #4ba6dd; --host: #7d868f; --bad: #f2857d } }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem 1rem 3rem;
  color: var(--text); background: var(--back); overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .6rem 0 } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem }
p { margin: .4rem 0; max-width: 48rem } .soft { color: var(--soft) } .bad { color: var(--bad) }
code, .code { font: .9em ui-monospace, monospace }
.code { display: block; background: var(--box); padding: .5rem .7rem; border-radius: 6px }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem;
  margin: 1rem 0; padding: 0 }
.facts div { background: var(--box); border-radius: 8px; padding: .6rem .8rem }
.facts dt { color: var(--soft); font-size: .82rem } .facts dd { margin: 0; font-size: 1.15rem;
  font-weight: 600 }
.scroll { overflow-x: auto; max-width: 100%; margin: .5rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal }
th, td { padding: .3rem .7rem .3rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600; font-size: .82rem; vertical-align: bottom }
td { white-space: nowrap }
.left { text-align: left } td.name { min-width: 8rem } td.words { min-width: 13rem; text-align: left }
tr.best td { font-weight: 600 }
td.name, td.words { white-space: normal; overflow-wrap: anywhere }
ul.advice { list-style: none; padding: 0; margin: .5rem 0 }
ul.advice li { background: var(--box); border-left: 4px solid var(--accent); border-radius: 4px;
  padding: .6rem .9rem; margin: .5rem 0 }
ul.advice b { display: block; font-weight: 600 }
.row { display: grid; grid-template-columns: 6.5rem 1fr 5.2rem; gap: .6rem; align-items: center;
  margin: .25rem 0 }
.row > :first-child { text-align: right; color: var(--soft); font-size: .88rem }
  .row > :last-child { font-size: .88rem; text-align: right }
.row svg { width: 100%; height: 16px; display: block; background: var(--box); border-radius: 3px }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .6rem 0; font-size: .88rem }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .4rem }
details { border-bottom: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
details[open] summary { margin-bottom: .5rem } summary code { color: var(--accent) }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem }
.names .row { grid-template-columns: 9rem 1fr 5.2rem }
@media (max-width: 30rem) { .names .row { grid-template-columns: 6.4rem 1fr 4.4rem }
  .row { grid-template-columns: 4.6rem 1fr 4.4rem; gap: .4rem } }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body>
{body}
</body></html>
"""
NAMED_MOST = 40  # a longer name may be broken into several lines


def text(what: object) -> str:
    """Escapes text for HTML."""
    return html.escape(str(what))


def page(title: str, *parts: str) -> str:
    """Returns a whole page."""
    return PAGE.format(title=text(title), style=STYLE, body="\n".join(part for part in parts if part))


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Returns a row of boxes, one for each pair of a name and a value that is not empty."""
    boxes = "".join(f"<div><dt>{text(name)}<dd>{text(value)}</div>" for name, value in pairs if value)
    return f'<dl class="facts">{boxes}</dl>'


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, words: Sequence[int] = (),
    best: Collection[int] = (),
) -> str:  # fmt: skip
    """Returns a table of plain text. The first `left` columns are left-aligned; columns in `words` hold
    sentences; the rows in `best` are bold."""

    def kind(index: int, cell: str) -> str:
        if index in words:
            return ' class="words"'
        if index < left:
            return ' class="left name"' if len(cell) > NAMED_MOST else ' class="left"'
        return ""

    head = "".join(
        f"<th{' class=left' if i < left or i in words else ''}>{text(cell)}" for i, cell in enumerate(heads)
    )
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(f"<td{kind(i, cell)}>{text(cell)}" for i, cell in enumerate(row))
        lines.append(f"<tr{' class=best' if place in best else ''}>{cells}")
    return f'<div class="scroll"><table><tr>{head}\n' + "\n".join(lines) + "</table></div>"


def bar(name: str, spans: Sequence[tuple[str, float, float, str]], value: str) -> str:
    """Returns a line with a bar of spans: (colour's name, start, end, tooltip); start and end are shares of
    the bar's width."""
    drawn = "".join(
        f'<rect x="{100 * begin:.3f}%" width="{max(100 * (end - begin), 0.12):.3f}%" height="100%" '
        f'style="fill:var(--{color})"><title>{text(told)}</title></rect>'
        for color, begin, end, told in spans
    )
    label = "; ".join(told for _, _, _, told in spans[:6])
    return (
        f'<div class="row"><span>{text(name).replace("_", "_<wbr>")}</span>'
        f'<svg role="img" aria-label="{text(name)}: {text(label)}">{drawn}</svg>'
        f"<span>{text(value)}</span></div>"
    )


def stack(name: str, parts: Sequence[tuple[str, float]], whole: float, value: str) -> str:
    """Returns a line with a bar of parts side by side: (colour's name, seconds), where `whole` seconds fill
    the bar."""
    spans, at = [], 0.0
    for color, seconds in parts:
        if seconds > 0 and whole > 0:
            spans.append((color, at, at + seconds / whole, f"{color} {1e3 * seconds:.3f} ms"))
            at += seconds / whole
    return bar(name, spans, value)


def legend(parts: Sequence[tuple[str, str]]) -> str:
    """Returns a legend of (colour's name, meaning)."""
    items = "".join(
        f'<span><i style="background:var(--{color})"></i>{text(what)}</span>' for color, what in parts
    )
    return f'<div class="legend">{items}</div>'


def write(shown: str, out: Path) -> None:
    """Writes a page atomically: whole or not at all. Raises OratorioError."""
    try:
        whole_file.write(out, shown)
    except OSError as error:
        raise OratorioError(f"{out} can't be written: {error.strerror}; choose another path") from None
