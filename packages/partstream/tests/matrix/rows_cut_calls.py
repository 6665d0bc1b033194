"""A limit ends the answer in the middle of a call: the text stays, the reason is `length`, and the call is counted."""

from collections.abc import Iterator

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
    for wire in ("chat-completions", "anthropic-messages", "openresponses"):
        right = Expected("Hm.", finish="length", outcome="incomplete", unmapped=("tool call read (incomplete)",))
        yield Row("before any arguments", wire, STREAMS[wire]("Hm.", (Call(()),), True), right)


ROWS = tuple(_rows())
