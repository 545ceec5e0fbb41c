"""HTML of names and values: text is always escaped, and a page asks nothing of the network.

Markup is a `Markup`; any other value is text. So a name from a table cannot become markup by being passed along.
"""

from collections.abc import Iterable
from html import escape

from lakescan.show.text import shown, shown_lines


class Markup(str):
    """HTML, to be used as it is."""


def text(value: object) -> Markup:
    """A value as text in one line."""
    return value if isinstance(value, Markup) else Markup(escape(shown(value)))


def lines(value: object) -> Markup:
    """A text of several lines, inside `pre`."""
    return Markup(escape(shown_lines(value)))


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """An element; `class_` is its class."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{''.join(map(text, inside))}</{name}>")


def facts(pairs: Iterable[tuple[object, object]]) -> Markup:
    """Names on the left, what is known on the right."""
    return tag("table", *(tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs))


def fragment(*inside: object) -> Markup:
    """A part of somebody's page, a notebook's say, in Lakescan's style and no wider than its place."""
    return tag("div", tag("style", Markup(STYLE)), *inside, class_="lakescan")


def page(title: object, *inside: object) -> Markup:
    """A whole page in one file. It may load nothing: its policy says so to the browser."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'),
        tag("title", title),
        tag("style", Markup(PAGE_STYLE)),
    )
    body = tag("body", tag("main", fragment(*inside)))
    return Markup(f'<!doctype html>\n<html lang="en">{head}{body}</html>\n')


STYLE = """
.lakescan { --line: #8884; --soft: #8881; --bar: #3b82f6; font: 14px/1.45 system-ui, sans-serif; max-width: 100%; }
.lakescan h2 { font-size: 1.05em; margin: 1.2em 0 .4em; overflow-wrap: anywhere; }
.lakescan h3 { font-size: .8em; margin: 1.2em 0 .3em; text-transform: uppercase; letter-spacing: .06em; opacity: .7; }
.lakescan p { margin: .3em 0; overflow-wrap: anywhere; }
.lakescan table { border-collapse: collapse; margin: .3em 0; }
.lakescan th, .lakescan td { text-align: left; vertical-align: top; padding: .12em .9em .12em 0;
  overflow-wrap: anywhere; background: none; border: 0; }
.lakescan th { font-weight: normal; opacity: .7; white-space: nowrap; }
.lakescan pre { overflow: auto; max-height: 28em; padding: .6em .8em; background: var(--soft); border-radius: 6px;
  font: 12px/1.4 ui-monospace, monospace; }
.lakescan .step { display: grid; grid-template: "name bars number" / 10em 1fr 13em; gap: 0 .8em; align-items: center; }
.lakescan .name { grid-area: name; }
.lakescan .bars { grid-area: bars; display: block; }
.lakescan .bar { display: block; height: 9px; min-width: 1px; background: var(--bar); border-radius: 2px; }
.lakescan .bar + .bar { height: 4px; opacity: .5; margin-top: 2px; }
.lakescan .number { grid-area: number; text-align: right; font-variant-numeric: tabular-nums; }
.lakescan svg { display: block; width: 100%; height: 30px; border-radius: 4px; background: var(--soft); }
.lakescan .key { display: inline-block; margin-right: 1.2em; white-space: nowrap; }
.lakescan .key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
@media (max-width: 600px) {
  .lakescan .step { grid-template: "name number" "bars bars" / 1fr max-content; margin-bottom: .4em; }
  .lakescan th { white-space: normal; max-width: 8em; overflow-wrap: normal; }
}
"""
PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: #fff; color: #1a1d21; }
main { max-width: 62rem; margin: 0 auto; padding: 1.2rem; }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e4e7ea; } }
"""
