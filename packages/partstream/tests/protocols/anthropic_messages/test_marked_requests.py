"""The places of the marks for the prompt cache (docs/wires/anthropic-messages.md#prompt-cache)."""

from typing import Any

from conversation.rows import PIXEL
from conversation.samples import WEATHER, assistant, called, gave, system, user
from partstream import ChatMessage, RequestSettings, Tool
from partstream.protocols.anthropic_messages.write_request import mark_for_cache
from protocols.anthropic_messages.requests import THOUGHT, body_of, result, said, text, thinking
from rows import one_test_for

MARK = {"type": "ephemeral"}


def marks_in(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The places of all marks, in order."""
    places: list[tuple[Any, ...]] = [
        ("tools", tool["name"]) for tool in body.get("tools", ()) if "cache_control" in tool
    ]
    system = body.get("system")
    places += [("system",) for block in (system if isinstance(system, list) else ()) if "cache_control" in block]
    return places + [
        (number, place)
        for number, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def session(rounds: int) -> list[ChatMessage]:
    """A question, and so many rounds of two calls with thinking, each round with a word of the host behind it."""
    messages = [system("Be brief."), user("?")]
    for number in range(rounds):
        ids = (f"gw-{number}a", f"gw-{number}b")
        messages += [
            assistant([thinking(THOUGHT), *(called(one) for one in ids)]),
            user([*(gave(one, "x") for one in ids), *([] if number % 2 else [PIXEL])]),
        ]
    return messages


def test_there_are_four_marks_and_the_third_is_where_the_request_before_had_its_fourth():
    tools = (WEATHER, Tool("add", "", None))
    before: list[tuple[Any, ...]] = []
    for rounds in range(6):
        marks = marks_in(body_of(*session(rounds), tools=tools))
        assert marks[:2] == [("tools", "add"), ("system",)]
        assert len(marks) == (4 if rounds else 3)
        if before:
            assert marks[2] == before[-1]
        before = marks


def test_a_conversation_whose_last_message_is_a_system_message_is_marked_before_it():
    asked = user("Hi"), assistant("Ho"), user("?"), system("Be kind.")
    assert marks_in(body_of(*asked)) == [(0, 0), (2, 0)]
    assert marks_in(body_of(*asked, assistant("So"), user("And?"))) == [(2, 0), (5, 0)]


def test_only_what_may_be_marked_is_marked():
    tools = [{"name": "a"}, {"name": "b", "defer_loading": True}]
    messages = [said("user", text("x"), THOUGHT, text(" ")), said("assistant", "y"), said("user", result([text("z")]))]
    marked = mark_for_cache(
        {"tools": tools, "system": [text("s"), text("")], "messages": messages}, None, keeps_thinking=True
    )
    assert marks_in(marked) == [("tools", "a"), ("system",), (0, 0), (2, 0)]
    assert marked["system"][0]["cache_control"] == MARK
    assert "cache_control" not in marked["messages"][2]["content"][0]["content"][0]
    nothing = {"tools": [{"name": "b", "defer_loading": True}], "messages": [said("user", THOUGHT)]}
    assert marks_in(mark_for_cache(nothing, None, keeps_thinking=True)) == []


def test_the_server_s_own_mark_of_the_last_block_takes_the_place_of_ours():
    settings = RequestSettings(extra_body={"cache_control": MARK})
    body = body_of(*session(2), tools=(WEATHER,), settings=settings)
    assert marks_in(body) == [("tools", "get_weather"), ("system",), (2, 2)]


@one_test_for(
    ("prompt_cache", "server", "mark"),
    [
        ("auto", "anthropic", MARK),
        ("auto", "unknown", MARK),
        ("auto", "moonshot", MARK),
        ("auto", "openrouter", MARK),
        ("auto", "ollama", None),
        ("auto", "deepseek", None),
        ("5m", "vllm", MARK),
        ("1h", "anthropic", {"type": "ephemeral", "ttl": "1h"}),
        ("off", "anthropic", None),
    ],
)
def test_a_person_may_say_whether_there_are_marks_and_for_how_long(
    prompt_cache: str, server: str, mark: dict[str, str] | None
):
    body = body_of(system("Be brief."), user("Hi"), prompt_cache=prompt_cache, messages_server=server)
    assert body["messages"][0]["content"][0].get("cache_control") == mark
    if mark is None:
        assert body["system"] == "Be brief."
    else:
        assert body["system"][0]["cache_control"] == mark
