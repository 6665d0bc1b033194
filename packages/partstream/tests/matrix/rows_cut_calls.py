"""A limit ends the answer in the middle of a call: the text stays, the reason is `length`, and the call is counted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from matrix.bodies import CUTS, DOCUMENTS, STREAMS, Call
from matrix.rows import Expected, Row

KIND = "A limit cuts a call."

_WHOLE = Call(('{"a":1}',), "write", "call_2")


def _expected(wire: str, *, is_document: bool, calls: tuple[Call, ...]) -> Expected:
    counted = "tool call read (incomplete)"
    if wire in {"ai-sdk", "ai-gateway"}:
        counted = "tool-call read (invalid)" if is_document else "tool-input read (incomplete)"
    before = tuple((call.name, {"a": 1}) for call in calls[:-1])
    unmapped: tuple[str, ...] = (counted,)
    if before and wire in {"ai-sdk", "ai-gateway"} and not is_document:
        before, unmapped = (
            (),
            (counted, "tool-input write (incomplete)"),
        )  # it is whole with the call that follows alone
    return Expected("Hm.", calls=before, finish="length", outcome="incomplete", unmapped=tuple(sorted(unmapped)))


def _rows() -> Iterator[Row]:
    shapes = {
        "in the middle of a text": (Call(('{"path":', '"/et')),),
        "after a brace": (Call(("{",)),),
        "after a whole call": (_WHOLE, Call(('{"path":',))),
        "after an empty object": (Call(("{}", '{"path":')),),
    }
    for shape, calls in shapes.items():
        for makes in (STREAMS, DOCUMENTS):
            for wire, make in makes.items():
                if wire in CUTS:
                    right = _expected(wire, is_document=makes is DOCUMENTS, calls=calls)
                    yield Row(shape, wire, make("Hm.", calls, True), right)
    opened = (Call(({},)),)  # servers decode arguments that did not come as an empty object
    for wire in ("chat-completions", "anthropic-messages", "gemini-interactions"):
        right = _expected(wire, is_document=True, calls=opened)
        yield Row("with an empty object in place of arguments", wire, DOCUMENTS[wire]("Hm.", opened, True), right)
    bare = (Call(()),)
    for makes, wires in ((STREAMS, (*_SAY_ENDS, "ai-sdk", "ai-gateway")), (DOCUMENTS, _SAY_ENDS)):
        for wire in wires:
            right = _expected(wire, is_document=makes is DOCUMENTS, calls=bare)
            yield Row("before any arguments", wire, makes[wire]("Hm.", bare, True), right)
        for wire in _SAY_ENDS[1:]:
            calls = (Call((), "write", "call_2"), *bare)
            right = _expected(wire, is_document=makes is DOCUMENTS, calls=bare)
            right = replace(right, calls=(("write", {}),))
            yield Row("before any arguments, after a call without any", wire, makes[wire]("Hm.", calls, True), right)
        right = _expected("openresponses", is_document=makes is DOCUMENTS, calls=bare)
        for status in ("completed", "in_progress", None):
            body = _closed(makes["openresponses"]("Hm.", bare, True), status)
            yield Row(f"before any arguments, of a call that closed as {status}", "openresponses", body, right)


_SAY_ENDS = ("chat-completions", "anthropic-messages", "openresponses", "gemini-interactions")
"""The wires whose documents hold arguments as they came, also none."""


def _closed(body: Any, status: str | None) -> Any:
    """A body of OpenResponses whose call says another status at its end."""
    if isinstance(body, list):
        return [_closed(one, status) for one in body]
    if not isinstance(body, dict):
        return body
    is_cut = body.get("type") == "function_call" and body.get("status") == "incomplete"
    return {**{key: _closed(one, status) for key, one in body.items()}, **({"status": status} if is_cut else {})}


ROWS = tuple(_rows())
