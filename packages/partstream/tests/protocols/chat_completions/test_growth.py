"""What a stream of Chat Completions costs grows with its length and not with its square, whatever it is made of."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from benchmarks.hostile import HostileCase
from protocols.chat_completions.wire import DONE, call, calls, chunk, document, finished, said, sse, thought
from protocols.openresponses.wire import Event
from protocols.test_growth import MOST_GROWTH, SMALL, _instructions

Make = Callable[[int], Iterable[Event]]


def _each(make: Callable[[int], Event]) -> Make:
    return lambda count: (make(number) for number in range(count))


def _whole(make: Callable[[int], Event]) -> Make:
    return lambda count: [make(count)]


def _entry(number: int, **fields: Any) -> Event:
    return chunk({"reasoning_details": [{"type": "reasoning.text", "text": f"t{number} ", **fields}]})


STREAMS: dict[str, Make] = {
    "text": _each(lambda number: said(f"w{number} ")),
    "thinking and text by turns": _each(lambda number: thought("Hm") if number % 2 else said("Hi")),
    "letters of a tag": _each(lambda number: said("<think>"[number % 7])),
    "closings of a tag": _each(lambda number: said("<think>") if number == 0 else said("</thin")),
    "blanks": _each(lambda _number: said(" ")),
    "arguments in pieces": _each(
        lambda number: calls(call(0, "a", "add", '{"x":"')) if number == 0 else calls(call(0, None, None, "\\\\"))
    ),
    "arguments under other ids": _each(
        lambda number: calls(call(0, f"id{number}", "add" if number == 0 else None, '{"x":"' if number == 0 else "y"))
    ),
    "arguments under other indices": _each(
        lambda number: calls(call(number, None, "add" if number == 0 else None, '{"x":"' if number == 0 else "y"))
    ),
    "the same name again": _each(lambda number: calls(call(0, None, "add", '{"x":[' if number == 0 else "["))),
    "many calls": _each(lambda number: calls(call(number, f"id{number}", "add", "{}"))),
    "many calls without ids": _each(lambda number: calls(call(None, None, f"tool{number}", "{}"))),
    "one call many times": _each(lambda _number: calls(call(0, "a", "add", "{}"))),
    "details": _each(_entry),
    "details apart": _each(lambda number: _entry(number, index=number)),
    "encrypted details": _each(lambda _number: chunk({"reasoning_details": [{"type": "reasoning.encrypted"}]})),
    "sources": _each(lambda number: said("x") | {"citations": [f"https://e.org/{number}"]}),
    "unknown fields": _each(lambda number: chunk({f"x{number}": 1})),
    "other choices": _each(lambda number: chunk({"content": "x"}, index=number + 1)),
    "usage in each chunk": _each(
        lambda number: said("x") | {"usage": {"prompt_tokens": 1, "completion_tokens": number}}
    ),
    "images": _each(lambda number: chunk({"images": [{"image_url": {"url": f"data:;base64,{number:08}"}}]})),
    "calls of a message": _whole(
        lambda count: document({"tool_calls": [call(None, f"id{number}", "add", "{}") for number in range(count)]})
    ),
    "a message behind its deltas": lambda count: [
        *(calls(call(number, None, "add", json.dumps({"x": number}))) for number in range(count)),
        document(
            {"tool_calls": [call(None, f"m{number}", "add", json.dumps({"x": number})) for number in range(count)]}
        ),
    ],
    "objects in a row": _whole(lambda count: calls(call(0, "a", "add", "{} " * count))),
}


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_twice_as_many_chunks_take_twice_the_work(make: Make) -> None:
    case = HostileCase("", "chat-completions", lambda count: sse([*make(count), finished(), DONE]), SMALL)
    _instructions(case, 2)  # what runs only once, at the first use
    single, double = _instructions(case, SMALL), _instructions(case, 2 * SMALL)
    assert double <= MOST_GROWTH * single
