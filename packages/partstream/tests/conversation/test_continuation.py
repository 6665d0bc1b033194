"""Which stored response a request goes on from: the last that saw the messages before it, and no other."""

from conversation.samples import ORIGIN, assistant, called, gave, prepared, user
from partstream import ChatMessage, TextPart, ToolCallPart
from partstream.conversation.preparation import Continuation, RequestSettings, history_digest
from partstream.conversation.provider_state import StateMarker, marker_part
from partstream.conversation.turns import answer_digest
from rows import one_test_for

STORING = RequestSettings(continuation=Continuation.ON)


def answered(history: list[ChatMessage], response_id: str | None, *parts: TextPart | ToolCallPart) -> list[ChatMessage]:
    """The history with an answer to it that left its marker."""
    marker = StateMarker(ORIGIN, response_id, history_digest(history), answer_digest(parts))
    return [*history, assistant([marker_part("m", marker), *parts])]


FIRST = answered([user("Hi")], "resp_1", TextPart("Ho"))
SECOND = answered([*FIRST, user("And?")], "resp_2", TextPart("So"))
LONG = "gw-" + "x" * 65

FOUND: dict[str, tuple[list[ChatMessage], tuple[int, str] | None]] = {
    "one answer": ([*FIRST, user("And?")], (1, "resp_1")),
    "the last of two": ([*SECOND, user("More")], (3, "resp_2")),
    "the first of two, where the second saw something else": (
        [*FIRST, user("Edited"), *SECOND[3:], user("More")],
        (1, "resp_1"),
    ),
    "none, where the beginning was edited": ([user("Hello"), *SECOND[1:], user("More")], None),
    "none, where the response was not stored": ([*answered([user("Hi")], None, TextPart("Ho")), user("And?")], None),
    "none, where nothing follows": (FIRST, None),
    "none, where its calls have other ids there": (
        [*answered([user("Hi")], "resp_1", called(LONG)), user([gave(LONG)])],
        None,
    ),
    "one whose calls are answered": (
        [*answered([user("Hi")], "resp_1", called("gw-1")), user([gave("gw-1")])],
        (1, "resp_1"),
    ),
    "one whose call was never answered": (answered([user("Hi")], "resp_1", called("gw-1")), (1, "resp_1")),
}


@one_test_for(("messages", "found"), FOUND.values(), ids=FOUND)
def test_the_response_to_go_on_from(messages: list[ChatMessage], found: tuple[int, str] | None):
    assert prepared(*messages, settings=STORING).continuation == found


def test_a_message_that_holds_more_than_the_answer_is_not_gone_on_from():
    history = answered([user("Hi")], "resp_1", called("gw-1"))
    mixed = [history[0], assistant([*history[1].content, gave("gw-1", "inside")]), user("And?")]
    assert prepared(*mixed, settings=STORING).continuation is None
