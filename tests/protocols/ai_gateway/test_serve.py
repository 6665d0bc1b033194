"""The stream parts that the served side of the AI Gateway writes, in each version of the specification."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.outputs import Reply
from partstream.protocols.ai_gateway.serve import error_body, write_document, write_events
from partstream.protocols.ai_gateway.serve_request import read_request, signature
from partstream.protocols.serving import (
    Answer,
    Citation,
    Failed,
    Incomplete,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from protocols.ai_gateway.test_serve_request import headers, user

VERSIONS = ("2", "3", "4")
CALLS = (ToolCallBlock("f", ('{"a"', ":1}")), ToolCallBlock("g", ("{", '"b":', "2}")))
CITED = TextBlock(("It is", " high."), (Citation("https://example.com", "Tower", 0, 11),))


def write(*blocks: Any, ending: Any = None, version: str = "3", identity: str = "1") -> list[dict[str, Any]]:
    request = read_request({"prompt": [user("Hi")]}, headers(version))
    answer = Answer(blocks) if ending is None else Answer(blocks, ending)
    return write_events(request, answer, Reply(identity, created_at=0))


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_a_text_is_framed_by_start_and_end() -> None:
    events = write(TextBlock(("Hi", " there")))
    assert types(events) == [
        "stream-start", "response-metadata", "text-start", "text-delta", "text-delta", "text-end", "finish",
    ]  # fmt: skip
    assert len({event["id"] for event in events[2:-1]}) == 1


@pytest.mark.parametrize(
    ("blocks", "ending", "unified", "raw"),
    [
        ((TextBlock(("a",)),), None, "stop", "end_turn"),
        ((), None, "stop", "end_turn"),
        (CALLS, None, "tool-calls", "tool_use"),
        ((RefusalBlock(("no",)),), None, "content-filter", "refusal"),
        ((TextBlock(("a",)),), Incomplete("max_output_tokens"), "length", "max_tokens"),
        ((TextBlock(("a",)),), Incomplete("content_filter"), "content-filter", "content_filter"),
        ((TextBlock(("a",)),), Incomplete("tired"), "other", "tired"),
        ((TextBlock(("a",)),), Failed("server_error", "broke"), "error", None),
    ],
)
def test_the_end_is_flat_in_version_2_and_nested_since(blocks: Any, ending: Any, unified: str, raw: str | None) -> None:
    assert write(*blocks, ending=ending, version="2")[-1]["finishReason"] == unified
    expected = {"unified": unified} | ({} if raw is None else {"raw": raw})
    for version in ("3", "4"):
        assert write(*blocks, ending=ending, version=version)[-1]["finishReason"] == expected


def test_usage_counts_the_same_in_both_forms() -> None:
    blocks = ThinkingBlock(("12345678",)), TextBlock(("1234",))
    flat = write(*blocks, version="2")[-1]["usage"]
    assert flat == {
        "inputTokens": 1, "outputTokens": 3, "totalTokens": 4, "reasoningTokens": 2, "cachedInputTokens": 0,
    }  # fmt: skip
    assert write(*blocks, version="3")[-1]["usage"] == {
        "inputTokens": {"total": 1, "noCache": 1, "cacheRead": 0, "cacheWrite": 0},
        "outputTokens": {"total": 3, "text": 1, "reasoning": 2},
    }


def test_the_price_is_that_of_the_tokens() -> None:
    gateway = write(TextBlock(("1234",)))[-1]["providerMetadata"]["gateway"]
    assert gateway["cost"] == "0.000003"


def test_the_generation_id_stands_on_the_first_content_and_at_the_end_and_is_of_this_reply_alone() -> None:
    events = write(ThinkingBlock(("a",)), TextBlock(("b",)))
    marked = [event["type"] for event in events if "gateway" in event.get("providerMetadata", {})]
    assert marked == ["reasoning-start", "finish"]
    ids = {
        write(TextBlock(("b",)), identity=identity)[-1]["providerMetadata"]["gateway"]["generationId"]
        for identity in "ab"
    }
    assert len(ids) == 2


def test_reasoning_ends_with_its_signature_on_an_empty_delta() -> None:
    *_, signed, end, _ = write(ThinkingBlock(("h", "m")))
    assert signed["delta"] == ""
    assert signed["providerMetadata"] == {"anthropic": {"signature": signature("hm")}}
    assert end["type"] == "reasoning-end"


def test_parallel_calls_are_open_together_and_whole_in_the_end() -> None:
    events = write(*CALLS)
    assert types(events)[2:-1] == [
        "tool-input-start", "tool-input-start",
        "tool-input-delta", "tool-input-delta", "tool-input-delta", "tool-input-delta", "tool-input-delta",
        "tool-input-end", "tool-call", "tool-input-end", "tool-call",
    ]  # fmt: skip
    calls = [event for event in events if event["type"] == "tool-call"]
    assert [(call["toolName"], call["input"]) for call in calls] == [("f", '{"a":1}'), ("g", '{"b":2}')]
    assert ["providerMetadata" in call for call in calls] == [True, False]
    assert len({call["toolCallId"] for call in calls}) == 2


@pytest.mark.parametrize("ending", [Incomplete("max_output_tokens"), Failed("server_error", "broke")])
def test_a_call_that_was_cut_off_is_no_call(ending: Any) -> None:
    assert not {"tool-call", "tool-input-end"} & set(types(write(CALLS[0], ending=ending)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_citation_is_a_source_and_since_version_4_a_span_of_the_text(version: str) -> None:
    events = write(CITED, version=version)
    (source,) = (event for event in events if event["type"] == "source")
    assert (source["url"], source["title"]) == ("https://example.com", "Tower")
    (end,) = (event for event in events if event["type"] == "text-end")
    spans = [(one["source"], one["startIndex"], one["endIndex"]) for one in end.get("citations", ())]
    assert spans == ([(source, 0, 11)] if version == "4" else [])


def test_a_failure_leaves_the_text_open_and_is_followed_by_the_finish() -> None:
    events = write(TextBlock(("so far",)), ending=Failed("server_error", "It broke."))
    assert types(events)[-3:] == ["text-delta", "error", "finish"]
    assert events[-2]["error"] == {"message": "It broke.", "type": "server_error", "statusCode": 500}


def test_a_document_holds_what_the_stream_says() -> None:
    events = write(ThinkingBlock(("h", "m")), CITED, *CALLS, version="4")
    status, document = write_document(events)
    assert status == 200
    assert [part["type"] for part in document["content"]] == [
        "reasoning", "text", "source", "tool-call", "tool-call",
    ]  # fmt: skip
    reasoning, text, *_ = document["content"]
    assert (reasoning["text"], text["text"]) == ("hm", "It is high.")
    assert reasoning["providerMetadata"].keys() == {"gateway", "anthropic"}
    assert text["citations"]
    assert document["finishReason"] == events[-1]["finishReason"]
    assert document["warnings"] == []


def test_a_document_that_fails_is_an_error() -> None:
    status, document = write_document(write(ending=Failed("server_error", "It broke.")))
    assert (status, document["error"]["message"]) == (500, "It broke.")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "forbidden"),
        (404, "not_found"),
        (418, "invalid_request_error"),
        (424, "failed_dependency"),
        (429, "rate_limit_exceeded"),
        (500, "internal_server_error"),
        (529, "internal_server_error"),
    ],
)
def test_an_error_has_the_type_that_the_client_knows_and_an_id(status: int, kind: str) -> None:
    body = error_body(status, "What it is.")
    assert body["error"] == {"message": "What it is.", "type": kind, "param": None, "code": None}
    assert body["generationId"].startswith("gen_")


@given(st.lists(st.lists(st.text(), max_size=4), max_size=5), st.sampled_from(VERSIONS))
def test_every_text_comes_back_out_of_its_deltas(texts: list[list[str]], version: str) -> None:
    events = write(*(TextBlock(tuple(pieces)) for pieces in texts), version=version)
    blocks: dict[str, str] = {}
    for event in events:
        if event["type"] in {"text-start", "text-delta"}:
            blocks[event["id"]] = blocks.get(event["id"], "") + event.get("delta", "")
    assert list(blocks.values()) == ["".join(pieces) for pieces in texts]
