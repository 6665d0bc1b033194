"""When a call is whole, which of two sayings of it counts, and what is never handed out."""

from typing import Any

import pytest

from partstream.errors import ToolArgumentsError, UpstreamProtocolError
from partstream.lm.outputs import Outcome, StreamOptions
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols import protocol as registry
from protocols.ai_sdk.wire import Chunk, read
from rows import one_test_for

CALL: Chunk = {"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": {"a": 1}}
STREAMED: list[Chunk] = [
    {"type": "tool-input-start", "id": "c", "toolName": "add"},
    {"type": "tool-input-delta", "id": "c", "delta": '{"a":'},
    {"type": "tool-input-delta", "id": "c", "delta": "1}"},
    {"type": "tool-input-end", "id": "c"},
]
STEP: list[Chunk] = [{"type": "finish-step", "finishReason": "tool-calls"}, {"type": "start-step"}]
END: Chunk = {"type": "finish", "finishReason": "tool-calls"}
PROTOCOLS = ["ai-sdk", "ai-sdk-ui", "ai-gateway"]

ORDERS: dict[str, tuple[list[Chunk], int]] = {
    "streamed, then complete": ([*STREAMED, CALL], 0),
    "complete, then streamed": ([CALL, *STREAMED], 1),
    "complete before its stream ends": ([*STREAMED[:2], CALL, *STREAMED[2:]], 0),
    "twice": ([CALL, CALL], 1),
    "streamed, then complete, both twice": ([*STREAMED, CALL, *STREAMED, CALL], 1),
    "streamed, then complete three times": ([*STREAMED, CALL, CALL, CALL], 2),
    "in two steps": ([CALL, *STEP, CALL], 1),
    "streamed, and complete in the next step": ([*STREAMED, *STEP, CALL], 0),
    "streamed, and complete twice in the next step": ([*STREAMED, *STEP, CALL, CALL], 1),
    "complete, and streamed in the next step": ([CALL, *STEP, *STREAMED], 1),
    "streamed twice": ([*STREAMED, *STEP, *STREAMED], 1),
    "complete, then begun again": ([CALL, STREAMED[0]], 0),
    "complete, then begun and ended again": ([CALL, STREAMED[0], STREAMED[3]], 0),
    "complete, and begun again in the next step": ([CALL, *STEP, STREAMED[0]], 0),
}


@one_test_for(("chunks", "repeated"), ORDERS.values(), ids=ORDERS)
@one_test_for("waits", [False, True], ids=["at once", "waiting"])
@one_test_for("protocol", PROTOCOLS)
def test_a_call_comes_out_once_in_whatever_order_it_is_said_and_what_says_it_again_is_counted(
    chunks: list[Chunk], repeated: int, waits: bool, protocol: str
) -> None:
    result = read([*chunks, END], protocol, waits_for_outcomes=waits)
    assert result.calls == [("gw-c", "add", {"a": 1})]
    assert result.unmapped == ({"tool call add (repeated)": repeated} if repeated else {})


@pytest.mark.parametrize("between", [[], STEP], ids=["in one step", "in two"])
def test_an_id_that_is_used_again_for_something_else_is_another_call(between: list[Chunk]) -> None:
    result = read([CALL, *between, {**CALL, "input": {"a": 2}}, END])
    assert [(name, given) for _, name, given in result.calls] == [("add", {"a": 1}), ("add", {"a": 2})]
    assert len({call_id for call_id, *_ in result.calls}) == 2


def test_outcomes_of_calls_that_share_an_id_are_those_of_each_in_turn() -> None:
    outcome = {"type": "tool-result", "toolCallId": "c", "toolName": "add", "output": 1}
    other = {**CALL, "input": {"a": 2}}
    assert [one[2] for one in read([CALL, other, outcome, END], waits_for_outcomes=True).calls] == [{"a": 2}]
    assert read([CALL, other, outcome, outcome, END], waits_for_outcomes=True).calls == []


@pytest.mark.parametrize(("again", "why"), [(CALL, "repeated"), ({**CALL, "input": {"a": 2}}, "again, and different")])
def test_a_call_with_the_id_of_one_that_is_over_is_counted(again: Chunk, why: str) -> None:
    outcome = {"type": "tool-result", "toolCallId": "c", "toolName": "add", "output": 1}
    result = read([CALL, outcome, again, END], waits_for_outcomes=True)
    assert result.calls == []
    assert result.unmapped == {f"tool-call add ({why})": 1, "tool-result add": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_invalid_call_with_the_id_of_a_whole_one_is_counted_and_the_whole_one_stays(protocol: str) -> None:
    result = read([CALL, {"type": "tool-call", "toolCallId": "c", "toolName": "other"}, END], protocol)
    assert result.calls == [("gw-c", "add", {"a": 1})]
    assert result.unmapped == {"tool-call other (invalid)": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_calls_that_say_the_same_are_two(protocol: str) -> None:
    result = read([CALL, {**CALL, "toolCallId": "d"}, END], protocol)
    assert [call_id for call_id, _, _ in result.calls] == ["gw-c", "gw-d"]


@pytest.mark.parametrize("missing", [{}, {"input": None}, {"input": {"$undefined": True}}])
def test_a_complete_call_that_says_no_input_has_what_streamed(missing: Chunk) -> None:
    bare = {name: value for name, value in CALL.items() if name != "input"} | missing
    assert read([*STREAMED, bare, END]).calls == [("gw-c", "add", {"a": 1})]
    alone = read([bare, END])
    assert alone.calls == []
    assert alone.unmapped == {"tool-call add (invalid)": 1}


PATCH = "*** Begin"


@one_test_for("said", [PATCH, '{"a":1}', ""])
@one_test_for("complete", [True, False])
@one_test_for("protocol", PROTOCOLS)
def test_input_that_is_declared_as_text_never_becomes_arguments(said: str, complete: bool, protocol: str) -> None:
    chunks: list[Chunk] = [
        {"type": "tool-input-start", "id": "c", "toolName": "patch", "inputEncoding": "text"},
        {"type": "tool-input-delta", "id": "c", "delta": said},
        {"type": "tool-input-end", "id": "c"},
        *([{**CALL, "toolName": "patch", "input": said}] if complete else []),
    ]
    result = read([*chunks, END], protocol)
    assert result.calls == []
    assert result.unmapped == {"tool-call patch (invalid)" if complete else "tool-input patch (incomplete)": 1}


@pytest.mark.parametrize("joined", ["{", "[1]", "null"])
def test_streamed_input_that_is_no_object_fails_the_answer_where_nobody_else_tells_the_model(joined: str) -> None:
    chunks = [STREAMED[0], {**STREAMED[1], "delta": joined}]
    result = read([*chunks, END], "ai-gateway")
    assert result.finish.outcome is Outcome.FAILED
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert result.finish.error.arguments == joined
    for reason in ("length", "content-filter"):
        assert read([*chunks, {**END, "finishReason": reason}], "ai-gateway").finish.outcome is Outcome.INCOMPLETE


@one_test_for(("approved", "handed_out"), [(False, 0), (True, 1), (None, 0)])
@one_test_for("named", ["toolCallId", "toolCall"])
def test_an_answer_to_a_question_for_approval_may_name_the_question_alone(
    approved: Any, handed_out: int, named: str
) -> None:
    about = {"toolCallId": "c"} if named == "toolCallId" else {"toolCall": CALL}
    request = {"type": "tool-approval-request", "approvalId": "a", **about}
    answer = {"type": "tool-approval-response", "approvalId": "a", "approved": approved}
    chunks = [{**CALL, "type": "tool-input-available"}, request, answer, END]
    result = read(chunks, "ai-sdk-ui", waits_for_outcomes=True)
    assert len(result.calls) == handed_out
    assert sum(result.unmapped.values()) == 2


@pytest.mark.parametrize("answer", [{}, {"approvalId": "x"}, {"approvalId": 7}])
def test_an_answer_to_no_question_refuses_nothing(answer: Chunk) -> None:
    result = read([CALL, {"type": "tool-approval-response", "approved": False, **answer}, END])
    assert len(result.calls) == 1


def test_what_a_provider_says_of_a_call_in_pieces_is_put_together_without_what_is_undefined() -> None:
    def said(**of_google: Any) -> Chunk:
        return {"providerMetadata": {"google": of_google, "openai": {"$undefined": True}}}

    chunks = [{**STREAMED[0], **said(a=1, b={"$undefined": True})}, {**CALL, **said(c=2)}]
    (marked,) = (part for part in read([*chunks, END]).outputs if isinstance(part, ThinkingPart))
    assert marked.metadata is not None
    (item,) = marked.metadata["reasoning_items"]
    assert item["providerOptions"] == {"google": {"a": 1, "c": 2}}


SDK_STREAMS = ["ai-sdk", "ai-sdk-ui", "ai-sdk-data"]
BEFORE: Chunk = {"type": "text-delta", "id": "t", "text": "before"}
BEHIND: Chunk = {"type": "text-delta", "id": "t", "text": "behind"}
OTHER: Chunk = {**CALL, "toolCallId": "d"}
OUTCOME: Chunk = {"type": "tool-result", "toolCallId": "c", "output": 1}
STEP_END: Chunk = {"type": "finish-step", "finishReason": "tool-calls"}
THOUGHT: list[Chunk] = [
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "text": "hm"},
    {"type": "reasoning-end", "id": "r", "providerMetadata": {"anthropic": {"signature": "s"}}},
]


def _said(outputs: list[Any]) -> list[str]:
    """What each part is, in order: the text of a text or a thought, the id of a call, the type of data."""
    names = {
        TextPart: lambda part: part.value,
        ThinkingPart: lambda part: part.value or "metadata",
        ToolCallPart: lambda part: part.call_id,
        DataPart: lambda part: part.mime_type,
    }
    return [names[type(part)](part) for part in outputs if type(part) in names]


PLACES: dict[str, tuple[list[Chunk], list[str]]] = {
    "text": ([BEFORE, CALL, BEHIND], ["before", "gw-c", "behind"]),
    "text between two calls": ([CALL, BEHIND, OTHER, BEHIND], ["gw-c", "behind", "gw-d", "behind"]),
    "a thought": ([CALL, *THOUGHT, OTHER], ["gw-c", "hm", "metadata", "gw-d"]),
    "a thought that a call interrupts": ([*THOUGHT[:2], CALL, *THOUGHT[1:]], ["hm", "gw-c", "hm", "metadata"]),
    "a file": ([CALL, {"type": "file", "base64": "AA==", "mediaType": "image/png"}], ["gw-c", "image/png"]),
    "data": ([CALL, {"type": "data-x", "data": 1}], ["gw-c", "application/vnd.vercel.x+json"]),
    "a source": ([CALL, {"type": "source", "url": "https://a.example/", "title": "A"}], ["gw-c", " [A](https://a.example/)"]),
    "two steps": ([CALL, BEHIND, STEP_END, BEHIND, OTHER], ["gw-c", "behind", "\n\nbehind", "gw-d"]),
    "an error": ([CALL, BEHIND, {"type": "error", "error": "no"}], ["gw-c", "behind"]),
    "input that only streamed": ([*STREAMED, BEHIND], ["gw-c", "behind"]),
    "input that streamed, then the call": ([*STREAMED, BEHIND, CALL, OTHER], ["gw-c", "behind", "gw-d"]),
}  # fmt: skip


@one_test_for(("chunks", "expected"), PLACES.values(), ids=PLACES)
@one_test_for("waits", [False, True], ids=["at once", "waiting"])
@one_test_for("protocol", [*SDK_STREAMS, "ai-gateway"])
def test_no_later_part_overtakes_a_call(chunks: list[Chunk], expected: list[str], waits: bool, protocol: str) -> None:
    assert _said(read([*chunks, END], protocol, waits_for_outcomes=waits).outputs) == expected


FED = (BEFORE, CALL, BEHIND, OUTCOME, BEHIND, OTHER, BEHIND, STEP_END)


@pytest.mark.parametrize("protocol", [*SDK_STREAMS, "ai-gateway"])
def test_a_call_is_a_part_as_soon_as_it_is_whole(protocol: str) -> None:
    stream = registry.PROTOCOLS[protocol].read_response()(StreamOptions(call_id_prefix="gw-"))
    fed = [_said(stream.feed(chunk)) for chunk in FED]
    assert fed == [["before"], ["gw-c"], ["behind"], [], ["behind"], ["gw-d"], ["behind"], []]


@pytest.mark.parametrize("protocol", SDK_STREAMS)
def test_where_a_setting_waits_for_outcomes_text_waits_only_behind_calls_that_the_sdk_may_still_run(
    protocol: str,
) -> None:
    options = StreamOptions(call_id_prefix="gw-", waits_for_outcomes=True)
    stream = registry.PROTOCOLS[protocol].read_response()(options)
    fed = [_said(stream.feed(chunk)) for chunk in FED]
    assert fed == [["before"], [], [], ["behind"], ["behind"], [], [], ["gw-d", "behind"]]


def test_a_step_that_is_taken_back_takes_along_what_waits_behind_its_calls() -> None:
    result = read([CALL, BEHIND, {"type": "reset-step"}, OTHER, END], waits_for_outcomes=True)
    assert _said(result.outputs) == ["gw-d"]
    assert result.unmapped == {}


def test_a_step_that_is_taken_back_after_its_call_came_out_is_counted() -> None:
    result = read([{"type": "start-step"}, CALL, {"type": "reset-step"}, OTHER, END])
    assert _said(result.outputs) == ["gw-c", "gw-d"]
    assert result.unmapped == {"reset-step (of what was shown)": 1}


def test_nothing_behind_a_chunk_without_sense_that_waited_comes_out() -> None:
    result = read([CALL, BEHIND, {**BEHIND, "text": 7}, BEHIND, OTHER, END], waits_for_outcomes=True)
    assert _said(result.outputs) == ["gw-c", "behind"]
    assert isinstance(result.finish.error, UpstreamProtocolError)
    assert result.finish.error.field == "text"


def test_what_a_provider_wants_back_is_listed_in_the_order_of_the_answer() -> None:
    marked = {**CALL, "providerMetadata": {"google": {"thoughtSignature": "t"}}}
    result = read([marked, *THOUGHT, END])
    *_, last = (part for part in result.outputs if isinstance(part, ThinkingPart) and part.metadata)
    assert last.metadata is not None
    assert [item["type"] for item in last.metadata["reasoning_items"]] == ["tool-call", "reasoning"]
