"""The page of the inspector: one document, which needs no other file and asks for none.

The same document is a file, a page of the server and a webview; only the policy that goes with it differs. Its script
comes in parts, which are put together in the order of a table and share one object (`state.js`). Head, numbers,
violations, result and the first events are plain HTML in it: the script takes all of that away and shows the same with
more; where scripts are switched off, it is the page.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from partstream.codec.json_codec import dumps
from partstream.pages.document import (
    ContentPolicy,
    data_script,
    document,
    entries,
    packed_data_script,
    resource,
    table,
    text,
)
from partstream_devtools.inspector.view import account_of, facts_of

# ---- The page without its script ----

_MOST_EVENTS: Final = 200
_MOST_TEXT: Final = 20_000
"""The most characters of one text of the result: the script shows it whole."""


def skeleton_html(view: Mapping[str, Any]) -> str:
    """The body of the page as it is without its script, of a view (`shapes.View`)."""
    return '<main id="plain">\n' + "\n".join(_lines(view)) + "\n</main>\n"


def _lines(view: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>{text(view['title'])}</h1>"
    if view["source"]["name"]:
        yield f'<p class="quiet">{text(source_sentence(view))}</p>'
    if not view["answers"]:
        is_live = view["source"]["live"]
        yield f"<p>{'Each answer appears here as it comes.' if is_live else 'The file holds no answer.'}</p>"
    for number, answer in enumerate(view["answers"]):
        name = f"answer-{number}"
        yield f'<article aria-labelledby="{name}"><h2 id="{name}">{text(answer["title"])}</h2>'
        yield f'<dl class="facts">{entries(facts_of(answer))}</dl>'
        for row in account_of(answer):
            if row.level > 1 and not row.name:
                yield f"<pre>{text(row.value)}</pre>"
            elif row.form != "number":
                yield f"<p>{f'<strong>{text(row.name)}</strong>: ' if row.name else ''}{text(row.value)}</p>"
        if answer["numbers"]:
            rows = ((one["label"], one["text"], one["missing"] or one["definition"]) for one in answer["numbers"])
            yield "<h3>Numbers</h3>"
            yield from _table("Numbers", ("Number", "Value", "What it is"), rows)
        yield from _result(answer)
        yield from _events(answer["events"])
        yield "</article>"
    if view["commands"]:
        commands = ((command["label"], command["text"]) for command in view["commands"])
        yield "<h2>Commands</h2>"
        yield from _table("Commands", ("What it does", "Command"), commands)


def source_sentence(view: Mapping[str, Any]) -> str:
    """Where a view comes from and what was replaced in it, in one sentence."""
    source, redaction = view["source"], view["redaction"]
    counted = sum(redaction["counts"].values())
    places = f", {counted} {'place' if counted == 1 else 'places'}" if counted else ""
    clock = "" if source["hasClock"] else "; without times"
    return f"{source['name']} ({source['form']}{clock}); redacted: {redaction['level']}{places}"


def _result(answer: Mapping[str, Any]) -> Iterator[str]:
    yield "<h3>Result</h3>"
    for one in answer["result"]:
        name = one["kind"] + (f" {one['name']}" if one["name"] else "")
        value, left_out = one["text"], len(one["text"]) - _MOST_TEXT
        shown = value if left_out <= 0 else f"{value[:_MOST_TEXT]}… {left_out:,} more characters"
        yield f"<h4>{text(name)}</h4><pre>{text(shown)}</pre>"
    if not answer["result"]:
        yield "<p>No part.</p>"


def _events(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not events:
        return
    yield "<h3>Events</h3>"
    times = ("-" if one["at"] is None else f"{one['at']:,.0f} ms" for one in events)
    rows = ((one["n"], at, one["type"], one["text"]) for one, at in zip(events[:_MOST_EVENTS], times, strict=False))
    yield from _table("Events", ("Event", "After", "Type", "Text"), rows)
    if len(events) > _MOST_EVENTS:
        yield f"<p>The first {_MOST_EVENTS} of {len(events):,}: the script of this page shows all.</p>"


def _table(title: str, names: Sequence[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    return table(title, names, [[*map(text, row)] for row in rows], of_text=names)


# ---- The whole page ----

SCRIPTS: Final = (
    "state.js",
    "keys.js",
    "announcements.js",
    "head.js",
    "bytes.js",
    "filters.js",
    "lanes.js",
    "timeline.js",
    "list.js",
    "json.js",
    "detail.js",
    "result.js",
    "compare.js",
    "play.js",
    "editor.js",
    "live.js",
)
"""The parts of the script, in the order in which they run. The first makes what the others share."""

STYLES: Final = ("page.css", "timeline.css")
"""The parts of the page's style, after the colours of every page."""

_COMMENTS: Final = re.compile(r"/\*\*.*?\*/|^[ \t]*//[^\n]*", re.DOTALL | re.MULTILINE)
"""Comments that say types and reasons; no text of the scripts holds these signs, and no template a line of its own."""

_MOST_PLAIN_DATA: Final = 5 * 1024 * 1024
"""The bytes of a view above which the page holds it packed (docs/wires/practice.md#size-of-the-page)."""


def page_html(view: Mapping[str, Any] | None, policy: ContentPolicy) -> str:
    """The page for a view; None for a page that gets its view from a server or an editor."""
    title = "Partstream" if view is None else f"{view['title']} - Partstream"
    styles = (resource("partstream_devtools.inspector.page", name) for name in STYLES)
    body = ""
    if view is not None:
        is_large = len(dumps(view)) > _MOST_PLAIN_DATA
        body = skeleton_html(view) + (packed_data_script if is_large else data_script)("view", view)
    return document(title, body, policy, styles=styles, scripts=[page_script()])


def page_script() -> str:
    """The whole script of the page, without comments and indentation, which a reader of the file does not need."""
    script = _COMMENTS.sub("", "\n".join(resource("partstream_devtools.inspector.page", name) for name in SCRIPTS))
    return "\n".join(line for line in map(str.strip, script.splitlines()) if line)
