"""Requests of Chat Completions keep what servers require: docs/wires/chat-completions.md#messages and after it."""

from dataclasses import replace

import pytest

from conversation.rows import PIXEL
from conversation.samples import ORIGIN, WEATHER, assistant, called, user
from conversation.samples import gave as result
from partstream import ChatMessage, TextPart, ThinkingPart
from partstream.conversation.provider_state import StateMarker, marker_part
from protocols.chat_completions.requests import body_of, calls, messages_of, said

KIMIS, VLLMS = "functions.get_weather:0", "chatcmpl-tool-" + "0123456789abcdef" * 2


def ids_in(*messages: ChatMessage, server: str | None = None) -> list[str]:
    made = messages_of(*messages, server=server)
    sent = [one["id"] for message in made for one in message.get("tool_calls", ())]
    assert sent == [message["tool_call_id"] for message in made if message["role"] == "tool"]
    return sent


@pytest.mark.parametrize("own", [KIMIS, VLLMS])
def test_an_id_of_this_upstream_goes_back_as_it_came_and_is_shortened_for_others(own: str) -> None:
    answer, results = assistant([called(f"gw-{own}")]), user([result(f"gw-{own}", "x")])
    assert ids_in(answer, results) == [own]
    elsewhere = marker_part("m", StateMarker(replace(ORIGIN, upstream="elsewhere"), "resp_1"))
    marked = replace(answer, content=(elsewhere, *answer.content))
    (foreign,) = ids_in(marked, results)
    assert len(foreign) <= 40
    assert foreign.replace("_", "").replace("-", "").isalnum()
    (nine,) = ids_in(answer, results, server="mistral")
    assert len(nine) == 9
    assert nine.isalnum()
    later = user("And?"), assistant([called(f"gw-{own}")]), user([result(f"gw-{own}", "y")])
    assert ids_in(marked, results, *later)[0] == foreign
    assert ids_in(answer, results, *later, server="mistral")[0] == nine


def test_no_message_is_empty_and_results_stand_behind_their_calls_and_images_behind_results() -> None:
    made = messages_of(
        user("?"),
        assistant([ThinkingPart("hm"), TextPart("")]),
        assistant([called("gw-1"), called("gw-2")]),
        user([TextPart("Wait"), result("gw-1", PIXEL)]),
        user([result("gw-2")]),
    )
    assert [message["role"] for message in made] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert [message["content"] for message in made[2:4]] == ["[image 1 of the next user message]", "(no output)"]
    shown = [message["content"] for message in made[4:]]
    assert "Wait" in shown
    assert any(isinstance(content, list) for content in shown)


def test_reasoning_goes_back_to_its_own_model_in_its_own_field_whole() -> None:
    items = [{"type": "message-field", "field": "reasoning", "text": "h\n m "}]
    for origin, fields in ((ORIGIN.key, {"reasoning": "h\n m "}), (f"{ORIGIN.upstream}/other", {})):
        thought = ThinkingPart("h", None, {"reasoning_items": items, "origin": origin})
        made = messages_of(user("?"), assistant([thought, TextPart("Ho")]))
        assert made[1] == said("assistant", "Ho", **fields)


def test_a_server_like_deepseek_gets_an_empty_text_beside_calls_without_reasoning() -> None:
    messages = user("?"), assistant([called()]), user([result("gw-1", "x")])
    made = messages_of(*messages, server="deepseek")[1]
    assert made == calls(*made["tool_calls"], reasoning_content="")


def test_an_unknown_server_gets_only_what_every_server_takes_and_what_a_person_set() -> None:
    body = body_of(user("Hi"), tools=(WEATHER,), model_options={"_conversationId": "c"})
    assert set(body) == {"model", "messages", "stream", "stream_options", "tools"}
    body = body_of(user("Hi"), model_options={"temperature": 0}, model_configuration={"reasoningEffort": "low"})
    assert set(body) == {"model", "messages", "stream", "stream_options", "temperature", "reasoning_effort"}
