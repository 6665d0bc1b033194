"""Conversations as messages of Anthropic Messages, row by row; every row is accepted by our own strict server."""

from base64 import b64encode
from typing import Any, NamedTuple

import pytest

from conversation.rows import PAPER, PIXEL
from conversation.samples import JPEG, PDF, PNG, assistant, called, gave, system, user
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.preparation import RequestSettings, SystemAs, ToolImages
from partstream.conversation.turns import MISSING_RESULT
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.anthropic_messages.write_request import CONTINUE, NO_BEGINNING
from protocols.anthropic_messages.requests import (
    OPUS_5,
    THOUGHT,
    body_of,
    messages_of,
    result,
    said,
    text,
    thinking,
    use,
    written,
)
from rows import one_test_for


class Row(NamedTuple):
    conversation: list[ChatMessage]
    messages: list[dict[str, Any]]


def base64_of(data: bytes, media_type: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}


PICTURE = {"type": "image", "source": base64_of(PNG, "image/png")}
DOCUMENT = {"type": "document", "source": base64_of(PDF, "application/pdf")}
BITMAP = DataPart(b"BM" + (14).to_bytes(4, "little") + bytes(8), "image/bmp")
HM = user("Hm?")

ROWS = {
    "a text": Row([user("Hi")], [said("user", "Hi")]),
    "messages of one role are merged": Row(
        [user("a"), user("b"), assistant("c"), assistant("d"), HM],
        [said("user", "a", "b"), said("assistant", "c", "d"), said("user", "Hm?")],
    ),
    "the first message is a user's": Row(
        [assistant([called("gw-1")]), user([gave("gw-1", "x")])],
        [said("user", NO_BEGINNING), said("assistant", use()), said("user", result("x"))],
    ),
    "the last message is a user's": Row(
        [user("a"), assistant("c")], [said("user", "a"), said("assistant", "c"), said("user", CONTINUE)]
    ),
    "nothing at all": Row([], [said("user", CONTINUE)]),
    "an empty text is no block": Row(
        [
            user(""),
            user([TextPart(" \n"), TextPart("a")]),
            assistant([TextPart("\n"), called("gw-1")]),
            user([gave("gw-1", "x")]),
        ],
        [said("user", "a"), said("assistant", use()), said("user", result("x"))],
    ),
    "an empty answer is no message": Row([user("a"), assistant(" "), user("b")], [said("user", "a", "b")]),
    "white space behind an answer is left out": Row(
        [user("a"), assistant("c \n\n"), user(" b ")], [said("user", "a"), said("assistant", "c"), said("user", " b ")]
    ),
    "the pieces of one text are one block": Row(
        [user("a"), assistant([TextPart("c"), TextPart("d")]), HM],
        [said("user", "a"), said("assistant", "cd"), said("user", "Hm?")],
    ),
    "results stand first in the message behind their calls": Row(
        [
            user("?"),
            assistant([TextPart("Two."), called("gw-1"), called("gw-2", "g", x=1)]),
            user([TextPart("Wait"), gave("gw-2", "two")]),
            user([gave("gw-1", "one"), TextPart("Go on")]),
        ],
        [
            said("user", "?"),
            said("assistant", "Two.", use("1"), use("2", "g", x=1)),
            said("user", result("one", "1"), result("two", "2"), "Wait", "Go on"),
        ],
    ),
    "a late result follows its call": Row(
        [user("?"), assistant([called("gw-1")]), user("And?"), assistant("Soon"), user([gave("gw-1", "x")])],
        [
            said("user", "?"),
            said("assistant", use()),
            said("user", result("x"), "And?"),
            said("assistant", "Soon"),
            said("user", CONTINUE),
        ],
    ),
    "a call without a result gets one that says so": Row(
        [user("?"), assistant([called("gw-1")]), HM],
        [said("user", "?"), said("assistant", use()), said("user", result(MISSING_RESULT, is_error=True), "Hm?")],
    ),
    "a result without a call gets a call": Row(
        [user("?"), user([gave("gw-9", "x")])],
        [said("user", "?"), said("assistant", use("9", "unknown_tool")), said("user", result("x", "9"))],
    ),
    "what a tool gave": Row(
        [
            user("?"),
            assistant([called("gw-1"), called("gw-2"), called("gw-3"), called("gw-4")]),
            user(
                [
                    gave("gw-1"),
                    gave("gw-2", "no", is_error=True),
                    gave("gw-3", "see", PIXEL, PAPER),
                    gave("gw-4", "one", "", " ", "two"),
                ]
            ),
        ],
        [
            said("user", "?"),
            said("assistant", use("1"), use("2"), use("3"), use("4")),
            said(
                "user",
                result(None, "1"),
                result("no", "2", is_error=True),
                result([text("see"), PICTURE, DOCUMENT], "3"),
                result([text("one"), text("two")], "4"),
            ),
        ],
    ),
    "images and files of a user": Row(
        [user([TextPart("Look"), PIXEL, PAPER, DataPart.text("plain", "text/plain")])],
        [said("user", "Look", PICTURE, DOCUMENT, "plain")],
    ),
    "images and files at an address": Row(
        [
            user(
                [
                    DataPart.text("https://files.example/a.png", "text/uri-list"),
                    DataPart.text("https://files.example/a.pdf", "text/uri-list"),
                ]
            )
        ],
        [
            said(
                "user",
                {"type": "image", "source": {"type": "url", "url": "https://files.example/a.png"}},
                {"type": "document", "source": {"type": "url", "url": "https://files.example/a.pdf"}},
            )
        ],
    ),
    "images of the assistant follow in a message of the user": Row(
        [user("Draw"), assistant([TextPart("So:"), PIXEL]), HM],
        [said("user", "Draw"), said("assistant", "So:"), said("user", "[shown by the assistant]", PICTURE, "Hm?")],
    ),
    "thinking goes back at its place": Row(
        [user("?"), assistant([thinking(THOUGHT), TextPart("So"), called("gw-1")]), user([gave("gw-1", "x")])],
        [said("user", "?"), said("assistant", THOUGHT, "So", use()), said("user", result("x"))],
    ),
    "an answer of thinking alone is no message": Row(
        [user("?"), assistant([thinking(THOUGHT)]), HM], [said("user", "?", "Hm?")]
    ),
    "thinking of another model stays here": Row(
        [user("?"), assistant([thinking(THOUGHT, model="other"), TextPart("So")]), HM],
        [said("user", "?"), said("assistant", "So"), said("user", "Hm?")],
    ),
    "thinking that is only shown stays here": Row(
        [user("?"), assistant([ThinkingPart("Hm."), TextPart("So")]), HM],
        [said("user", "?"), said("assistant", "So"), said("user", "Hm?")],
    ),
}


@one_test_for("row", ROWS.values(), ids=ROWS)
def test_a_conversation_becomes_messages(row: Row):
    assert messages_of(*row.conversation) == row.messages


def test_system_messages_are_one_text_at_the_top():
    body = body_of(system("Be brief."), user("Hi"), assistant("Ho"), system("Be kind."), HM, model="claude-sonnet-5")
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["system"][0]["text"] == "Be brief.\n\nBe kind."
    assert "system" not in body_of(user("Hi"))


LATE = (system("Be brief."), user("Hi"), system("Be kind."), user("?"), assistant("Ho"), system("Stop."), HM)


def test_late_system_messages_stay_in_their_places_where_the_model_takes_them():
    body = body_of(*LATE, prompt_cache="off")
    assert body["system"] == "Be brief."
    assert body["messages"] == [
        said("user", "Hi", "?"),
        said("system", "Be kind."),
        said("assistant", "Ho"),
        said("user", "Hm?"),
        said("system", "Stop."),
    ]


def test_a_system_message_never_stands_right_behind_an_answer():
    made = messages_of(user("Hi"), assistant("a"), system("x"), assistant("b"), system("y"))
    assert made == [
        said("user", "Hi"),
        said("assistant", "a", "b"),
        said("user", CONTINUE),
        said("system", "x\n\ny"),
    ]


@one_test_for(
    ("late_system", "model", "roles"),
    [
        ("auto", OPUS_5, {"user", "assistant", "system"}),
        ("auto", "claude-sonnet-5", {"user", "assistant"}),
        ("auto", "claude-opus-4-7", {"user", "assistant"}),
        ("auto", "qwen3", {"user", "assistant"}),
        ("join", OPUS_5, {"user", "assistant"}),
        ("in-place", "qwen3", {"user", "assistant", "system"}),
    ],
)
def test_a_person_may_say_where_late_system_messages_go(late_system: str, model: str, roles: set[str]):
    assert {message["role"] for message in messages_of(*LATE, model=model, late_system=late_system)} == roles


@pytest.mark.parametrize("system_as", [SystemAs.SYSTEM, SystemAs.DEVELOPER])
def test_what_a_person_says_of_system_messages_for_every_wire_counts_here_too(system_as: SystemAs):
    settings = RequestSettings(system_as=system_as)
    made = messages_of(*LATE, model="claude-sonnet-5", settings=settings, messages_server="litellm")
    assert "system" in {message["role"] for message in made}


@one_test_for(
    ("url", "part", "expected"),
    [
        (
            "https://api.anthropic.com/v1",
            BITMAP,
            "images",
        ),
        ("https://api.anthropic.com/v1", DataPart(b"PK\x03\x04", "application/zip"), "PDF files"),
        ("https://api.deepseek.com/anthropic/v1", DataPart(PNG, "image/png"), "text"),
        ("http://localhost:11434/v1", DataPart(PDF, "application/pdf"), "text or images"),
        ("http://localhost:11434/v1", DataPart.text("https://files.example/a.png", "text/uri-list"), "fetches none"),
    ],
)
def test_a_file_that_the_server_does_not_take_is_refused_here_in_a_message_and_said_in_a_result(
    url: str, part: DataPart, expected: str
):
    with pytest.raises(RequestNotExpressibleError, match=expected):
        written(user([part]), url=url)
    made = messages_of(user("?"), assistant([called("gw-1")]), user([gave("gw-1", part)]), url=url)
    assert made[-1]["content"][0]["content"].endswith("which cannot be shown]")


def test_images_of_results_follow_in_a_message_where_a_person_wants_that():
    settings = RequestSettings(tool_images=ToolImages.USER_MESSAGE)
    conversation = user("?"), assistant([called("gw-1")]), user([gave("gw-1", DataPart(JPEG, "image/jpeg"))])
    last = messages_of(*conversation, settings=settings)[-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "image"]
    assert last[0]["content"] == "[image 1 of the next user message]"


def test_arguments_that_json_has_no_form_for_are_refused_with_their_place():
    with pytest.raises(RequestNotExpressibleError, match=r"messages\[0\]"):
        written(assistant([called("gw-1", x={1, 2})]), user([gave("gw-1")]))
