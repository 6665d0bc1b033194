"""Writes the page on what is lost between any two protocols, by translating an answer and a request between them."""

from __future__ import annotations
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from partstream.errors import UpstreamFailureError
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.lm.outputs import CitationMode, FileMode, Finish, InboundRequest, Outcome, Reply, StreamOptions
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.translation import frame_answer, read_answer, read_question, write_answer, write_question
from unsupported import UNSUPPORTED, request_form, response_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.lm.outputs import StreamOutput
    from partstream.protocols.protocol import Protocol
    from unsupported import Feature, Unsupported

__all__ = ["translation_page"]

_HEAD: Final = """\
# Translation

<!-- Made by tools/generate.py by running every pair of protocols. Change the tables in tests/unsupported/. -->

A request that comes in over one wire can be asked over another, and the answer goes back the same way. In the middle
are VS Code's own values: messages and options on the way up, parts and one `Finish` on the way down. Whatever a wire
has no place for is lost there. Each loss has a name; there are no others, and tests prove it over every recording and
over made-up answers and requests (`packages/partstream/tests/protocols/test_round_trips.py`).

A call of a tool is one part, so its arguments arrive in one piece, whatever pieces the upstream sent.
"""

_PICTURE: Final = b"\x89PNG\r\n\x1a\n" + bytes(8)
_WEATHER: Final = Tool("get_weather", "Tells the weather.", {"type": "object", "properties": {"city": {}}})
_STATE: Final = {"id": "rs_1", "encrypted_content": "b3BhcXVl"}
_REPLY: Final = Reply("translation", 0)
_ASKED: Final = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
_EVERYTHING: Final = StreamOptions(citations=CitationMode.DATA, call_id_prefix="", files=FileMode.ADDRESS)

_PARTS: Final[tuple[StreamOutput, ...]] = (
    ThinkingPart("The city first.", "rs_1", {**_STATE, "reasoning_items": [_STATE]}),
    TextPart("Let me look. "),
    DataPart(_PICTURE, "image/png"),
    ToolCallPart("call_1", "get_weather", {"city": "Lisbon"}),
)
_ANSWERS: Final[tuple[tuple[StreamOutput, ...], ...]] = (
    (
        *_PARTS,
        Finish(
            Outcome.COMPLETED,
            FinishReason(UnifiedFinishReason.TOOL_CALLS, "tool_use"),
            Usage(100, 20, 120, 40, 5, {}, 10),
            "resp_1",
            "small-2026",
            provider_metadata={"acme": {"region": "west"}},
        ),
    ),
    (
        TextPart("It is"),
        Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.OTHER, "turn_limit"), Usage(1, 2, 3)),
    ),
    (
        TextPart("It is"),
        Finish(
            Outcome.FAILED,
            FinishReason(UnifiedFinishReason.ERROR, "overloaded"),
            error=UpstreamFailureError("The model is busy.", provider_code="overloaded_error"),
        ),
    ),
)
_REQUEST: Final = InboundRequest(
    "small",
    (
        ChatMessage.system("Be brief."),
        ChatMessage.user([TextPart("What is this?"), DataPart(_PICTURE, "image/png")], "Ada"),
        ChatMessage.user([DataPart.json({"note": 1}), DataPart.text("a,b", "text/csv")]),
        ChatMessage.assistant([TextPart("Let me look."), ToolCallPart("call_1", "get_weather", {"city": "Lisbon"})]),
        ChatMessage.user([ToolResultPart("call_1", (TextPart("no data"), DataPart(_PICTURE, "image/png")), True)]),
    ),
    RequestOptions(
        (_WEATHER,),
        ToolMode.REQUIRED,
        {"temperature": 0.5, "_conversationId": "c1"},
        {"reasoningEffort": "high", "contextSize": 8192},
        "acme.extension",
    ),
)


def translation_page() -> str:
    """The whole page."""
    written = {name: row for name, row in PROTOCOLS.items() if row.write_response is not None}
    asked = {name: row for name, row in PROTOCOLS.items() if None not in (row.write_request, row.read_request)}
    return "\n".join(
        (
            _HEAD,
            "## Answers",
            "",
            "What is lost of an answer that an upstream gives in one protocol (rows) and a client gets in another",
            "(columns):",
            "",
            *_table("the upstream speaks", written, written, _lost_of_answers),
            "",
            "## Requests",
            "",
            "What is lost of a request that a client makes in one protocol (rows) and an upstream gets in another",
            "(columns):",
            "",
            *_table("the client speaks", asked, asked, _lost_of_requests),
            "",
            "## What each protocol has no place for",
            "",
            *(line for name, row in written.items() for line in _named(name, UNSUPPORTED[row.name])),
        )
    )


def _table(
    corner: str,
    rows: Mapping[str, Protocol],
    columns: Mapping[str, Protocol],
    lost: Callable[[Protocol, Protocol], Sequence[Feature]],
) -> list[str]:
    lines = [f"| {corner} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        cells = (", ".join(feature.name for feature in lost(row, column)) or "nothing" for column in columns.values())
        lines.append(f"| **{name}** | {' | '.join(cells)} |")
    return lines


def _lost_of_answers(upstream: Protocol, client: Protocol) -> list[Feature]:
    """What the client's protocol has no place for of what the upstream's protocol can say."""
    unsupported = UNSUPPORTED[client.name].response
    found: list[Feature] = []
    for answer in _ANSWERS:
        said = _through(upstream, answer)
        if response_form(_through(client, said), unsupported) != response_form(said, unsupported):
            raise AssertionError(f"from {upstream.name} to {client.name} more is lost than the tables say")
        whole = response_form(said)
        found += [feature for feature in unsupported if feature not in found and feature.take(whole) != whole]
    return sorted(found, key=unsupported.index)


def _through(protocol: Protocol, outputs: Sequence[StreamOutput]) -> list[StreamOutput]:
    data = frame_answer(protocol, write_answer(protocol, _ASKED, outputs, _REPLY))
    return read_answer(protocol, data, _EVERYTHING)


def _lost_of_requests(client: Protocol, upstream: Protocol) -> list[Feature]:
    unsupported = UNSUPPORTED[upstream.name].request
    said = read_question(client, write_question(client, _REQUEST))
    got = read_question(upstream, write_question(upstream, replace(said, unmapped={})))
    if request_form(got, unsupported) != request_form(said, unsupported):
        raise AssertionError(f"from {client.name} to {upstream.name} more is lost than the tables say")
    whole = request_form(said)
    return [feature for feature in unsupported if request_form(feature.take(said)) != whole]


def _named(name: str, unsupported: Unsupported) -> list[str]:
    lines = [f"### {name}", "", "| what | which | of |", "|---|---|---|"]
    lines += [f"| {one.name} | {one.says} | answers |" for one in unsupported.response]
    lines += [f"| {one.name} | {one.says} | answers in one document |" for one in unsupported.document]
    lines += [f"| {one.name} | {one.says} | requests |" for one in unsupported.request]
    return [*lines, ""]
