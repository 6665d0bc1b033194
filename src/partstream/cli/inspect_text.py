"""Views in a terminal: in a few lines that say what happened, where it went wrong and whose fault it is; or as JSON."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from partstream.cli.console import busy_with, make_console
from partstream.cli.terminal import ExitCode
from partstream.codec.json_codec import dumps
from partstream.devtools.inspector.answer_view import UNKNOWN
from partstream.devtools.inspector.view import view_of
from partstream.lm.outputs import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.devtools.inspector.shapes import AnswerView, EventView, View, ViolationView
    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["exit_code_of_view", "print_text", "print_view_as_json", "summary"]

_TWO: Final = 2
_MOST_VIOLATIONS: Final = 5
_MOST_NUMBERS: Final = 8
"""Numbers of events that are listed."""
_LONGEST_EVENT: Final = 600
"""Characters of the event at which it went wrong."""
_BLAMED: Final = {
    "server": "The server's fault",
    "network": "The network's fault",
    "provider": "The provider's fault",
    "client": "Not the server's fault",
    "nobody": "Nobody's fault",
}
_STYLES: Final = {"nobody": "green", "client": "yellow"}
_Line = tuple[str, str]


def print_view_as_json(files: Sequence[ViewedFile]) -> ExitCode:
    """Prints the view of files as JSON."""
    with busy_with("Looking into the answers"):
        view = view_of(files)
    click.echo(dumps(view).decode())
    return exit_code_of_view(view)


def print_text(files: Sequence[ViewedFile]) -> ExitCode:
    """Prints a summary of files."""
    with busy_with("Looking into the answers"):
        view = view_of(files)
    console = make_console()
    for text, style in summary(view):
        console.print(Text(text, style))
    return exit_code_of_view(view)


def exit_code_of_view(view: View) -> ExitCode:
    """What a view is for a script; of several answers, the lowest code that is not 0."""
    codes = map(_exit_code, view["answers"])
    return min((code for code in codes if code), default=ExitCode.FINE)


def _exit_code(answer: AnswerView) -> ExitCode:
    if answer["verdict"]["broken"]:
        return ExitCode.FOUND
    if answer["outcome"] == Outcome.TRUNCATED:
        return ExitCode.TRUNCATED
    if answer["outcome"] == UNKNOWN:
        return ExitCode.UNUSABLE
    return ExitCode.FAILED if answer["outcome"] == Outcome.FAILED else ExitCode.FINE


def summary(view: View) -> Iterator[_Line]:
    """The lines of a view, each with its style."""
    if not view["answers"]:
        yield "There is no answer in it.", "yellow"
    for number, answer in enumerate(view["answers"]):
        if number:
            yield "", ""
        yield from _answer(answer)
    # Of more, a table of every pair says nothing, and --compare takes two.
    for comparison in view["comparisons"] if len(view["answers"]) == _TWO else ():
        places = sum(not row["same"] for row in comparison["rows"])
        same = "the same parts" if comparison["same"] else f"different in {places} places"
        yield f"\nAnswers {comparison['left']} and {comparison['right']}: {same}; see --compare.", "bold"


def _answer(answer: AnswerView) -> Iterator[_Line]:
    yield answer["title"], "bold"
    yield f"  {_head(answer)}", ""
    blame = answer["blame"]
    yield f"  {_BLAMED[blame['who']]}: {blame['sentence']}", _STYLES.get(blame["who"], "bold red")
    yield f"  {_verdict(answer)}", ""
    yield from _wrong(answer)
    for violation in answer["violations"][:_MOST_VIOLATIONS]:
        yield from _violation(violation)
    if (more := len(answer["violations"]) - _MOST_VIOLATIONS) > 0:
        yield f"  and {more} more broken promises", ""
    for one in answer["unmapped"]:
        yield f"  No part represents {one['count']} × {one['type']} ({_listed(one['events'])})", "dim"
    for gap in answer["gaps"][:_MOST_VIOLATIONS]:
        word = "Stall" if gap["stall"] else "Gap"
        yield f"  {word} of {gap['ms']:,.0f} ms before event {gap['before']}", "yellow" if gap["stall"] else "dim"
    yield from ((f"  Note: {note}", "yellow") for note in answer["notes"])
    yield from _numbers(answer)


def _head(answer: AnswerView) -> str:
    protocol, response, reason = answer["protocol"], answer["response"], answer["finishReason"]
    words = [
        "unknown protocol" if protocol is None else protocol["title"] + ("" if protocol["sure"] else " (probably)"),
        answer["model"] or "",
        "" if response is None else f"HTTP {response['status']}",
        answer["outcome"] + (f" ({reason['raw'] or reason['unified']})" if reason is not None else ""),
        f"{sum(event['count'] for event in answer['events']):,} events"
        if answer["events"]
        else f"{len(answer['parts']):,} parts, no bytes",
        f"{answer['reads'][-1][2]:,} bytes in {len(answer['reads']):,} reads" if answer["reads"] else "",
        ""
        if answer["usage"] is None
        else "tokens " + ", ".join(f"{n:,} {label}" for label, n in answer["usage"]["rows"]),
    ]
    return " · ".join(word for word in words if word)


def _verdict(answer: AnswerView) -> str:
    verdict = answer["verdict"]
    counts = (("kept", "kept"), ("broken", "broken"), ("warnings", "warned of"), ("notJudged", "not judged"))
    said = ", ".join(f"{verdict[key]} {word}" for key, word in counts if verdict[key])  # type: ignore[literal-required]
    word = "broken" if verdict["broken"] else "kept" if verdict["kept"] else "not judged"
    return f"Contract {word}: {said}."


def _wrong(answer: AnswerView) -> Iterator[_Line]:
    """The event at which it went wrong, with its place and its bytes."""
    event = next((one for one in answer["events"] if one["n"] == answer["wrong"]), None)
    if event is not None:
        yield f"  Went wrong at {_place(event)}: {event['type']}", "bold red"
        data = b64decode(answer["bytes"])[event["from"] : event["to"]].decode(errors="replace").strip()
        shown = data if len(data) <= _LONGEST_EVENT else f"{data[:_LONGEST_EVENT]}… ({len(data):,} characters)"
        yield from ((f"    {line}", "dim") for line in shown.splitlines())
    error = answer["error"]
    if error is not None:
        yield f"  {error['type']}: {error['message']}", "red"
        yield from ((f"    {name}: {value[:_LONGEST_EVENT]}", "dim") for name, value in error["fields"])


def _place(event: EventView) -> str:
    at = "" if event["at"] is None else f", +{event['at']:,.0f} ms"
    last = event["n"] + event["count"] - 1
    number = f"event {event['n']}" if event["count"] == 1 else f"events {event['n']:,} to {last:,}"
    return f"{number}{at}, bytes {event['from']:,} to {event['to']:,}"


def _violation(violation: ViolationView) -> Iterator[_Line]:
    where = "the end" if violation["part"] is None else f"part {violation['part']}"
    event = "" if violation["event"] is None else f" of event {violation['event']}"
    style = "red" if violation["level"] == "MUST" else "yellow"
    rule = f"{violation['rule']} ({violation['level']}, section {violation['section']})"
    yield f"  {where}{event} breaks {rule}: {violation['promise']}", style
    yield f"    Here: {violation['detail']}.", ""
    if violation["seen"]:
        yield f"    What it looks like: {violation['seen']}", "dim"
    yield from ((f"    Often: {cause}", "dim") for cause in violation["hints"])


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_MOST_NUMBERS]))
    return f"event{'s' if len(numbers) > 1 else ''} {shown}{', …' if len(numbers) > _MOST_NUMBERS else ''}"


def _numbers(answer: AnswerView) -> Iterator[_Line]:
    """Numbers that are there, a line each, and one line for those that are missing for one reason."""
    width = max(len(number["label"]) for number in answer["numbers"])
    missing: dict[str, list[str]] = {}
    for number in answer["numbers"]:
        if number["missing"] is None:
            yield f"  {number['label']:<{width}}  {number['text']:>14}", ""
        else:
            missing.setdefault(number["missing"], []).append(number["label"])
    is_all = len(missing) == 1 and sum(map(len, missing.values())) == len(answer["numbers"])
    for reason, labels in missing.items():
        yield f"  {'All numbers' if is_all else ', '.join(labels)}: - ({reason})", "dim"
