"""A view as Markdown for an issue: what was asked, how it ended, whose fault it is, numbers, and how to repeat it."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

from partstream.codec.text import inline_code, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.devtools.inspector.shapes import AnswerView, View

__all__ = ["summary_markdown"]

_MOST_ROWS: Final = 20
"""Violations, gaps and kinds of unmapped events that are listed."""
_LONGEST_EVENT: Final = 1_000
"""Bytes of the event at which it went wrong."""
_LONGEST_TEXT: Final = 300


def summary_markdown(view: View) -> bytes:
    """The bytes of a `.md`; everything that a stream says stands in it as code, and acts on nothing."""
    lines = [f"# {_text(view['title'])}", "", *_head(view)]
    for answer in view["answers"]:
        lines += ["", f"## {_text(answer['title'])}", "", *_answer(answer)]
    if view["commands"]:
        lines += ["", "## Repeat it", "", "```sh", *(_line(one["text"]) for one in view["commands"]), "```"]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _head(view: View) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in view["versions"].items())
    yield f"- Versions: {_text(versions) or 'unknown'}"
    redaction = view["redaction"]
    count = sum(redaction["counts"].values())
    yield f"- Redaction: {redaction['level']}, {count:,} replacements"
    if redaction["kept"]:
        yield f"- Kept at wish: {', '.join(redaction['kept'])}"


def _answer(answer: AnswerView) -> Iterator[str]:
    yield from _facts(answer)
    error = answer["error"]
    if error is not None:
        yield from ("", "### Error", "", f"{_code(error['type'])}: {_code(error['message'])}")
        yield from (f"- {_text(name)}: {_code(value)}" for name, value in error["fields"])
    yield from _wrong(answer)
    if answer["violations"]:
        yield from ("", "### Broken promises", "", "| rule | level | section | event | what |", "|---|---|---|---|---|")
        for one in answer["violations"][:_MOST_ROWS]:
            event = "end" if one["event"] is None else str(one["event"])
            what = f"{_text(one['promise'])} Here: {_code(one['detail'])}"
            yield f"| {one['rule']} | {one['level']} | {one['section']} | {event} | {what} |"
        yield from _more(answer["violations"])
    if answer["unmapped"]:
        yield from ("", "### Events that no part represents", "")
        yield from (f"- {one['count']} × {_code(one['type'])}" for one in answer["unmapped"][:_MOST_ROWS])
        yield from _more(answer["unmapped"])
    yield from _numbers(answer)
    if answer["notes"]:
        yield from ("", "### Notes", "", *(f"- {_text(note)}" for note in answer["notes"]))


def _facts(answer: AnswerView) -> Iterator[str]:
    protocol, request, response, reason = (
        answer["protocol"],
        answer["request"],
        answer["response"],
        answer["finishReason"],
    )
    if request is not None:
        yield f"- Request: {_code(request['method'] + ' ' + request['path'])}, {request['size']:,} bytes"
    if response is not None:
        yield f"- Response: HTTP {response['status']}"
    if protocol is not None:
        yield f"- Protocol: {_text(protocol['title'])}{'' if protocol['sure'] else ' (probably)'}"
    if answer["model"]:
        yield f"- Model: {_code(answer['model'])}"
    said = "" if reason is None else f", finish reason {_code(reason['raw'] or reason['unified'])}"
    yield f"- Outcome: **{answer['outcome']}**{said}"
    yield f"- Fault: {answer['blame']['who']}. {_text(answer['blame']['sentence'])}"
    verdict = answer["verdict"]
    yield f"- Contract: {verdict['kept']} rules kept, {verdict['broken']} broken, {verdict['warnings']} warned of"
    if answer["usage"] is not None:
        yield f"- Tokens: {', '.join(f'{count:,} {label}' for label, count in answer['usage']['rows'])}"
    if answer["reads"]:
        size = answer["reads"][-1][2]
        yield f"- Stream: {sum(one['count'] for one in answer['events']):,} events, {size:,} bytes"


def _wrong(answer: AnswerView) -> Iterator[str]:
    """The event at which it went wrong, with its bytes as text."""
    event = next((one for one in answer["events"] if one["n"] == answer["wrong"]), None)
    if event is None:
        return
    at = "" if event["at"] is None else f", {event['at']:,.0f} ms after the request"
    place = f"bytes {event['from']:,} to {event['to']:,}{at}"
    yield from ("", "### Where it went wrong", "", f"Event {event['n']}, {_code(event['type'])}, {place}:", "")
    data = b64decode(answer["bytes"])[event["from"] : event["to"]][:_LONGEST_EVENT]
    # Indented: no line of it can end the block.
    yield from (f"    {_line(line)}" for line in data.decode(errors="replace").strip().splitlines())


def _numbers(answer: AnswerView) -> Iterator[str]:
    known = [number for number in answer["numbers"] if number["missing"] is None]
    if not known:
        yield from ("", "Times are not known: the recording has no clock.")
        return
    yield from ("", "### Numbers", "", "| number | value |", "|---|---|")
    yield from (f"| {number['label']} | {number['text']} |" for number in known)
    for gap in answer["gaps"][:_MOST_ROWS]:
        word = "Stall" if gap["stall"] else "Gap"
        yield f"| {word} before event {gap['before']} | {gap['ms']:,.0f} ms |"


def _more(rows: Iterable[object]) -> Iterator[str]:
    left = len([*rows]) - _MOST_ROWS
    if left > 0:
        yield from ("", f"and {left:,} more")


def _line(text: str) -> str:
    return visible(text.replace("\r", "").replace("\n", " "))


def _text(text: str) -> str:
    """A text of ours or of a file's name; what Markdown or HTML would take for more is escaped."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#&~" else sign for sign in _line(text)[:_LONGEST_TEXT])


def _code(text: str) -> str:
    """A text of a stream, in a row of a table too."""
    return inline_code(_line(text)[:_LONGEST_TEXT] or "(empty)").replace("|", "\\|")
