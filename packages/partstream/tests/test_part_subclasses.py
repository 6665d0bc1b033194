"""A program may give parts of classes of its own: each table by class finds the row of the nearest class."""

from typing import Any

import pytest

from partstream.conversation.preparation import history_digest
from partstream.conversation.turns import read_turns
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, row_of_class
from partstream.protocols.protocol import PROTOCOLS
from partstream.tokens.counting import MessageCounter
from partstream.tokens.records import message_digest
from partstream.vscode.methods import encode_part
from rows import one_test_for


class OwnText(TextPart):
    pass


class OwnThinking(ThinkingPart):
    pass


class OwnCall(ToolCallPart):
    pass


class OwnData(DataPart):
    pass


class OwnResult(ToolResultPart):
    pass


OWN = (OwnText("a"), OwnThinking("b"), OwnCall("c", "add", {"a": 1}), OwnData(b"{}", "application/json"))
PLAIN = (TextPart("a"), ThinkingPart("b"), ToolCallPart("c", "add", {"a": 1}), DataPart(b"{}", "application/json"))
ASKED = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
SPOKEN = [[ChatMessage.assistant(parts), ChatMessage.user([result("c", (parts[0], parts[3]))])]
          for parts, result in ((OWN, OwnResult), (PLAIN, ToolResultPart))]  # fmt: skip


def _written(name: str, parts: tuple[Any, ...]) -> list[Any]:
    writer = PROTOCOLS[name].write_response()(ASKED, Reply("r", 0))  # type: ignore[misc]
    return [event for output in (*parts, Finish(Outcome.COMPLETED)) for event in writer.write(output)]


@one_test_for("name", [name for name, one in PROTOCOLS.items() if one.write_response is not None])
def test_writers_of_answers_write_them_as_the_parts_that_they_are(name: str) -> None:
    assert _written(name, OWN) == _written(name, PLAIN)


@one_test_for(
    "reads",
    [
        read_turns,
        history_digest,
        lambda messages: [message_digest(message) for message in messages],
        lambda messages: [MessageCounter("gpt-4o").count_message(message) for message in messages],
        lambda messages: [encode_part(part) for message in messages for part in message.content],
    ],
    ids=["turns", "digest of the history", "digest of a message", "tokens", "wire of the sidecar"],
)
def test_whoever_reads_messages_reads_them_as_the_parts_that_they_are(reads: Any) -> None:
    own, plain = SPOKEN
    assert reads(own) == reads(plain)


def test_what_has_no_row_is_named_with_the_rows_that_there_are() -> None:
    with pytest.raises(TypeError, match="got str, expected one of TextPart, DataPart"):
        row_of_class({TextPart: 1, DataPart: 2}, "text")
