"""ModelMessages: the parts of each version, thinking with what providers said, and nothing lost of any conversation."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import PDF, PNG, assistant, called, gave, system, user
from conversation.strategies import FILES
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.conversation.turns import MISSING_RESULT
from partstream.errors import CallerError, RequestNotExpressibleError
from partstream.runtime.translation import VERSIONS, to_model_messages
from protocols.ai_sdk.messages import (
    CONVERSATIONS,
    HIDDEN,
    SIGNED,
    SIGNED_CALL,
    base64,
    call,
    check_calls,
    contents,
    listed,
    message,
    result,
    strings,
)
from rows import one_test_for

PIXEL, PAPER = DataPart(PNG, "image/*"), DataPart(PDF, "application/pdf")
MISSING = result({"type": "text", "value": MISSING_RESULT})


def said(*messages: ChatMessage, version: int = 6) -> list[dict[str, Any]]:
    return to_model_messages(messages, version).messages


SAME: dict[str, tuple[list[ChatMessage], list[dict[str, Any]]]] = {
    "a conversation": ([user("Hi"), assistant("Ho")], [message("user", "Hi"), message("assistant", "Ho")]),
    "nothing": ([user([])], []),
    "marks of the host": (
        [user([DataPart.text("ephemeral", "cache_control"), TextPart("Hi")])],
        [message("user", "Hi")],
    ),
    "parallel calls in messages of their own": (
        [assistant("a"), assistant([called("gw-1")]), assistant([called("gw-2")]), user([gave("gw-1"), gave("gw-2")])],
        [
            message("assistant", "a", call("1"), call("2")),
            message("tool", result({"type": "text", "value": ""}, "1"), result({"type": "text", "value": ""}, "2")),
        ],
    ),
    "results in messages of their own": (
        [assistant([called("gw-1"), called("gw-2")]), user([gave("gw-1", "a")]), user([gave("gw-2", "b", "c")])],
        [
            message("assistant", call("1"), call("2")),
            message(
                "tool", result({"type": "text", "value": "a"}, "1"), result({"type": "text", "value": "b\nc"}, "2")
            ),
        ],
    ),
    "a result behind what the user says": (
        [assistant([called()]), user([TextPart("Hurry"), gave("gw-1", "x")])],
        [
            message("assistant", call()),
            message("tool", result({"type": "text", "value": "x"})),
            message("user", "Hurry"),
        ],
    ),
    "a call without a result": (
        [assistant([called()]), user("Hi")],
        [message("assistant", call()), message("tool", MISSING), message("user", "Hi")],
    ),
    "the assistant's words on a result": (
        [assistant([called()]), user([gave("gw-1", "x")]), assistant("So"), assistant("then")],
        [
            message("assistant", call()),
            message("tool", result({"type": "text", "value": "x"})),
            message("assistant", "So", "then"),
        ],
    ),
    "messages of the user": ([user("a"), user("b")], [message("user", "a"), message("user", "b")]),
    "a result without a call": (
        [user([gave("gw-1", "x")])],
        [
            message("assistant", call(name="unknown_tool")),
            message("tool", result({"type": "text", "value": "x"}, name="unknown_tool")),
        ],
    ),
    "a failure": (
        [assistant([called()]), user([gave("gw-1", "no such file", is_error=True)])],
        [message("assistant", call()), message("tool", result({"type": "error-text", "value": "no such file"}))],
    ),
    "a failure that says nothing": (
        [assistant([called()]), user([gave("gw-1", is_error=True)])],
        [
            message("assistant", call()),
            message("tool", result({"type": "error-text", "value": "The tool failed and did not say why."})),
        ],
    ),
    "a JSON result": (
        [assistant([called()]), user([gave("gw-1", DataPart.json({"a": [1, None]}))])],
        [message("assistant", call()), message("tool", result({"type": "json", "value": {"a": [1, None]}}))],
    ),
    "a JSON failure": (
        [assistant([called()]), user([gave("gw-1", DataPart.json({"e": 1}), is_error=True)])],
        [message("assistant", call()), message("tool", result({"type": "error-json", "value": {"e": 1}}))],
    ),
    "JSON that JSON has no form for": (
        [assistant([called()]), user([gave("gw-1", DataPart(b"[NaN]", "application/json"))])],
        [message("assistant", call()), message("tool", result({"type": "text", "value": "[NaN]"}))],
    ),
}


@one_test_for("version", VERSIONS)
@one_test_for(("messages", "expected"), SAME.values(), ids=SAME)
def test_what_is_the_same_in_every_version(
    messages: list[ChatMessage], expected: list[dict[str, Any]], version: int
) -> None:
    assert said(*messages, version=version) == expected


FORMS: dict[int, dict[str, Any]] = {
    5: {
        "image": {"type": "image", "image": base64(PNG), "mediaType": "image/png"},
        "shown": {"type": "file", "mediaType": "image/png", "data": base64(PNG)},
        "file": {"type": "file", "mediaType": "application/pdf", "data": base64(PDF), "filename": "file.pdf"},
        "given": {"type": "media", "data": base64(PNG), "mediaType": "image/png"},
        "given file": {"type": "media", "data": base64(PDF), "mediaType": "application/pdf"},
    },
    6: {
        "image": {"type": "image", "image": base64(PNG), "mediaType": "image/png"},
        "shown": {"type": "file", "mediaType": "image/png", "data": base64(PNG)},
        "file": {"type": "file", "mediaType": "application/pdf", "data": base64(PDF), "filename": "file.pdf"},
        "given": {"type": "image-data", "data": base64(PNG), "mediaType": "image/png"},
        "given file": {
            "type": "file-data",
            "data": base64(PDF),
            "mediaType": "application/pdf",
            "filename": "file.pdf",
        },
    },
    7: {
        "image": {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": base64(PNG)}},
        "shown": {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": base64(PNG)}},
        "file": {
            "type": "file",
            "mediaType": "application/pdf",
            "data": {"type": "data", "data": base64(PDF)},
            "filename": "file.pdf",
        },
        "given": {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": base64(PNG)}},
        "given file": {
            "type": "file",
            "mediaType": "application/pdf",
            "data": {"type": "data", "data": base64(PDF)},
            "filename": "file.pdf",
        },
    },
}


@pytest.mark.parametrize("version", VERSIONS)
def test_images_and_files_have_the_form_of_the_version(version: int) -> None:
    forms = FORMS[version]
    messages = [
        user([TextPart("look"), PIXEL, PAPER]),
        assistant([PIXEL, called()]),
        user([gave("gw-1", PIXEL, PAPER, is_error=True)]),
    ]
    given = {"type": "text", "text": "The tool failed: "}
    assert said(*messages, version=version) == [
        message("user", "look", forms["image"], forms["file"]),
        message("assistant", forms["shown"], call()),
        message("tool", result({"type": "content", "value": [given, forms["given"], forms["given file"]]})),
    ]


def test_instructions_stand_beside_the_messages() -> None:
    converted = to_model_messages([system("Be terse."), user("Hi"), system("And kind.")], 7)
    assert converted.system == "Be terse.\n\nAnd kind."
    assert converted.messages == [message("user", "Hi")]
    assert to_model_messages([user("Hi")]).system == ""


ANSWERED = [TextPart("Ho")]
PLAIN = {"type": "reasoning", "text": "hm"}
THINKING: dict[str, tuple[list[Any], list[Any]]] = {
    "as it streamed": (
        [ThinkingPart("h", "r1"), ThinkingPart("m", "r1"), listed(SIGNED), *ANSWERED],
        [SIGNED, "Ho"],
    ),
    "as a host keeps it": (
        [
            listed({**SIGNED, "after": [0, False]}, {**HIDDEN, "after": [1, False]}, value="hm"),
            called(),
            TextPart("Ho"),
        ],
        [SIGNED, call(), HIDDEN, "Ho"],
    ),
    "without options": ([ThinkingPart("hm"), *ANSWERED], [PLAIN, "Ho"]),
    "two blocks, one without options": (
        [ThinkingPart("hm", "r1"), ThinkingPart("well", "r2"), listed({**SIGNED, "text": "well"}), *ANSWERED],
        [PLAIN, {**SIGNED, "text": "well"}, "Ho"],
    ),
    "listed once more by what came after it": (
        [ThinkingPart("hm"), listed(SIGNED), called(), listed(SIGNED, HIDDEN), TextPart("Ho")],
        [SIGNED, call(), HIDDEN, "Ho"],
    ),
    "half a character": ([ThinkingPart("a\ud83d"), *ANSWERED], [{"type": "reasoning", "text": "a\ufffd"}, "Ho"]),
    "a block that says what another begins with": (
        [ThinkingPart("hm, hm", "r1"), ThinkingPart("hm", "r2"), listed(SIGNED), *ANSWERED],
        [{"type": "reasoning", "text": "hm, hm"}, SIGNED, "Ho"],
    ),
    "between texts": ([TextPart("a"), ThinkingPart("hm"), called()], ["a", PLAIN, call()]),
    "that nothing follows": ([TextPart("a"), ThinkingPart("hm")], ["a"]),
    "of another protocol": (
        [ThinkingPart("hm", None, {"reasoning_items": [{"id": "rs_1", "encrypted_content": "e"}]}), *ANSWERED],
        [PLAIN, "Ho"],
    ),
    "the signature of a call": (
        [listed(SIGNED_CALL), called()],
        [call(providerOptions={"google": {"thoughtSignature": "t"}})],
    ),
    "the signature of the second of two calls": (
        [called("gw-0"), listed(SIGNED_CALL), called()],
        [call("0"), call(providerOptions={"google": {"thoughtSignature": "t"}})],
    ),
    "the signature of a call that got another id": (
        [called("gw-0"), listed({**SIGNED_CALL, "toolCallId": "x" * 65}), called("gw-" + "x" * 65)],
        [call("0"), call("x" * 47 + "_", providerOptions={"google": {"thoughtSignature": "t"}})],
    ),
    "the signature of a call that is gone": ([listed(SIGNED_CALL), *ANSWERED], ["Ho"]),
}


@one_test_for("version", VERSIONS)
@one_test_for(("parts", "expected"), THINKING.values(), ids=THINKING)
def test_thinking(parts: list[Any], expected: list[Any], version: int) -> None:
    first, *_ = said(assistant(parts), version=version)
    for part in first["content"]:
        if len(part.get("toolCallId", "")) > 40:
            part["toolCallId"] = part["toolCallId"][:48]
    assert first == message("assistant", *expected)


def test_a_version_that_there_is_not_and_arguments_that_are_no_json_are_refused() -> None:
    with pytest.raises(CallerError, match=r"version: got 8, expected one of 5, 6, 7"):
        to_model_messages([], 8)
    with pytest.raises(RequestNotExpressibleError) as caught:
        said(assistant([called(x=float("nan"))]))
    assert caught.value.where == "messages[0].content[0].input"


@given(CONVERSATIONS, st.sampled_from(VERSIONS))
def test_any_conversation_is_json_in_which_every_call_has_its_result(messages: list[ChatMessage], version: int) -> None:
    converted = to_model_messages(messages, version).messages
    assert json.loads(json.dumps(converted, allow_nan=False)) == converted
    assert all(part["content"] for part in converted)
    assert {part["role"] for part in converted} <= {"user", "assistant", "tool"}
    check_calls(converted)


@given(CONVERSATIONS, st.sampled_from(VERSIONS))
def test_nothing_that_was_said_is_lost(messages: list[ChatMessage], version: int) -> None:
    converted = to_model_messages(messages, version)
    everything = strings(converted.messages)
    words = "\0".join([converted.system, *everything])
    documents = [part for part in contents(messages) if isinstance(part, DataPart) and part in FILES]
    for part in contents(messages):
        if isinstance(part, TextPart):
            assert part.value in words
    counted = Counter(everything)
    for data, number in Counter(base64(part.data) for part in documents).items():
        assert counted[data] >= number
    calls = sum(isinstance(part, ToolCallPart) for part in contents(messages))
    assert sum(part["type"] == "tool-call" for one in converted.messages for part in one["content"]) >= calls
