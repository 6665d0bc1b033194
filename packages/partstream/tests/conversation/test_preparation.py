"""Any conversation becomes a valid request that lacks nothing, and everything maps back; properties over all of it."""

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import ORIGIN, PNG, assistant, body_of, called, gave, prepared, system, user
from conversation.strategies import FILES, MESSAGES, WORDS
from partstream import (
    ChatMessage,
    DataPart,
    MessagePart,
    TextPart,
    Tool,
    ToolCallPart,
    ToolMode,
    ToolResultPart,
)
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import (
    Continuation,
    ConversationRules,
    RequestSettings,
    SystemAs,
    ToolImages,
    history_digest,
)
from partstream.conversation.provider_state import Carried, StateMarker, marker_part
from partstream.conversation.turns import Call, CallIdRule, IdForm, Result, Turn, answer_digest

SETTINGS = st.builds(
    RequestSettings,
    system_as=st.sampled_from(SystemAs),
    tool_images=st.sampled_from(ToolImages),
    continuation=st.sampled_from(Continuation),
)


@given(MESSAGES, SETTINGS, st.sampled_from(ToolMode), st.lists(WORDS, unique=True, max_size=3))
def test_any_sequence_of_messages_becomes_a_valid_body(
    messages: list[ChatMessage], chosen: RequestSettings, mode: ToolMode, tools: list[str]
):
    body_of(*messages, settings=chosen, tool_mode=mode, tools=tuple(Tool(name, "") for name in tools))
    body_of(*messages, settings=chosen, carried=Carried.NOTHING)


def _contents(messages: list[ChatMessage]) -> list[MessagePart]:
    """All text and data, those in results included."""
    parts = [part for message in messages for part in message.content]
    return [inner for part in parts for inner in (part.content if isinstance(part, ToolResultPart) else (part,))]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in _strings(child)]


@given(MESSAGES, SETTINGS)
def test_no_text_image_file_call_or_result_is_missing(messages: list[ChatMessage], chosen: RequestSettings):
    body = body_of(*messages, settings=chosen)
    said, contents = "\0".join(_strings(body)), _contents(messages)
    for part in contents:
        if isinstance(part, TextPart):
            assert part.value in said
        elif isinstance(part, DataPart) and part.mime_type in {"text/plain", "application/json"}:
            assert part.data.decode() in said
    urls = Counter(b64encode(part.data).decode() for part in contents if isinstance(part, DataPart) and part in FILES)
    assert Counter(url.partition("base64,")[2] for url in _strings(body) if url.startswith("data:")) == urls
    parts = [part for message in messages for part in message.content]
    types = Counter(item["type"] for item in body["input"])
    results = sum(isinstance(part, ToolResultPart) for part in parts)
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert types["function_call_output"] >= results
    assert types["function_call"] == types["function_call_output"] >= len(calls)
    sent = [item["arguments"] for item in body["input"] if item["type"] == "function_call"]
    assert not Counter(dumps(dict(part.input)).decode() for part in calls) - Counter(sent)


@given(MESSAGES)
def test_ids_and_names_map_back(messages: list[ChatMessage]):
    read = prepared(*messages)
    calls = [piece for turn in read.whole.turns for piece in turn.content if isinstance(piece, Call)]
    given_calls = Counter(
        (part.call_id, part.name) for message in messages for part in message.content if isinstance(part, ToolCallPart)
    )
    back = Counter((read.ids.from_upstream(call.call_id), read.names.from_upstream(call.name)) for call in calls)
    assert not given_calls - back


@given(MESSAGES, MESSAGES)
def test_a_longer_conversation_begins_as_the_shorter_one_did(messages: list[ChatMessage], more: list[ChatMessage]):
    # What the server's prompt cache lives by.
    # A call that waits for its result is set apart as well: the result takes the place of what said that it is missing.
    said = [
        ChatMessage(message.role, tuple(part for part in message.content if not isinstance(part, ToolCallPart)))
        for message in messages
    ]
    opening = [system("s"), user("Hi"), *said]
    chosen = RequestSettings(system_as=SystemAs.SYSTEM)
    short = body_of(*opening, user("."), settings=chosen)["input"]
    long = body_of(*opening, user("."), *more, settings=chosen)["input"]
    assert long[: len(short)] == short


@given(MESSAGES, st.integers(0, 5), MESSAGES)
def test_a_continuation_is_exactly_what_the_whole_request_holds_beyond_the_stored_answer(
    messages: list[ChatMessage], calls: int, more: list[ChatMessage]
):
    chosen = RequestSettings(continuation=Continuation.ON, system_as=SystemAs.SYSTEM)
    answer = [TextPart("So"), *(called(f"gw-own{number}") for number in range(calls))]
    marker = StateMarker(ORIGIN, "resp_1", history_digest(messages), answer_digest(answer))
    results = [gave(f"gw-own{number}", "r") for number in range(calls)]
    history = [*messages, assistant([marker_part("m", marker), *answer]), user(results), user("And?"), *more]
    read = prepared(*history, settings=chosen)
    continued, whole = read.request(read.carries), read.request(Carried.ALL_REASONING)
    assert continued.previous_response_id in {"resp_1", None}
    assert whole.turns[len(whole.turns) - len(continued.turns) :] == continued.turns
    if continued.previous_response_id is not None:
        before = whole.turns[: len(whole.turns) - len(continued.turns)]
        assert all(turn.message <= len(messages) for turn in before)
        edited = [user("edited"), *history]
        assert prepared(*edited, settings=chosen).continuation is None


def _size(turns: tuple[Turn, ...]) -> int:
    return sum(len(turn.content) for turn in turns)


def test_a_conversation_of_twice_the_length_is_twice_the_request():
    def conversation(rounds: int) -> list[ChatMessage]:
        return [
            message
            for number in range(rounds)
            for message in (
                user(f"question {number}"),
                assistant([TextPart("Look."), called(f"gw-{number}", "f", n=number)]),
                user([gave(f"gw-{number}", "x" * 100, DataPart(PNG, "image/png"))]),
                assistant("Answer."),
            )
        ]

    one, two = (prepared(*conversation(rounds)).whole for rounds in (50, 100))
    assert (len(two.turns), _size(two.turns)) == (2 * len(one.turns), 2 * _size(one.turns))
    sizes = [len(json.dumps(body_of(*conversation(rounds))["input"])) for rounds in (100, 200)]
    assert sizes[1] < 2.02 * sizes[0]


def test_a_call_of_another_upstream_is_foreign_whatever_its_prefix():
    forty = IdForm(40, refused=re.compile("[^A-Za-z0-9_-]"))
    rules = ConversationRules(CallIdRule(IdForm(200), forty))
    for upstream, sent in ((ORIGIN.upstream, "functions.f:0"), ("elsewhere", "functions_f_0_")):
        marker = marker_part("m", StateMarker(replace(ORIGIN, upstream=upstream), "resp_1"))
        messages = assistant([called("gw-functions.f:0"), marker]), user([gave("gw-functions.f:0", "x")])
        turns = prepared(*messages, rules=rules).whole.turns
        ids = {piece.call_id for turn in turns for piece in turn.content if isinstance(piece, Call | Result)}
        assert len(ids) == 1
        assert ids.pop().startswith(sent)
