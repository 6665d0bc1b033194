"""A conversation as Copilot keeps it: the same messages as those that were recorded."""

from collections.abc import Sequence

from benchmarks.copilot_conversation import CopilotConversation
from copilot_requests import copilot_requests
from partstream import ChatMessage, DataPart, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.lm.parts import ResponsePart

REQUESTS = copilot_requests()
ONE, TWO = "recorder/recorder-one", "recorder/recorder-two"


def text(message: ChatMessage) -> str:
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def answered(message: ChatMessage) -> list[ResponsePart]:
    """An answer in pieces, from which Copilot made this message."""
    parts: list[ResponsePart] = []
    for part in message.content:
        if isinstance(part, ThinkingPart):
            parts += [ThinkingPart(part.value[:3], "early", {"early": True}), ThinkingPart(part.value[3:])]
            parts.append(ThinkingPart("", part.id, part.metadata))
        elif isinstance(part, TextPart):
            parts += [TextPart(part.value[:2]), TextPart(part.value[2:])]
        else:
            assert isinstance(part, DataPart | ToolCallPart)
            parts.append(part)
    return [DataPart(b"m\\early", "stateful_marker"), *parts]


def rebuilt(recorded: Sequence[ChatMessage], model_id: str) -> CopilotConversation:
    """The conversation of recorded messages."""
    system, *rest = recorded
    conversation = CopilotConversation(text(system))
    for message in rest:
        if message.role is Role.ASSISTANT:
            conversation.answer(answered(message), model_id)
        elif results := [part for part in message.content if isinstance(part, ToolResultPart)]:
            conversation.give(results)
        else:
            conversation.ask(text(message))
    return conversation


def test_a_turn_comes_back_as_it_was_recorded():
    recorded = REQUESTS["rounds-4"].messages
    assert rebuilt(recorded, ONE).messages(ONE) == recorded


def test_the_thinking_of_a_finished_turn_does_not_come_back_and_the_marker_does():
    recorded = REQUESTS["next-turn-1"].messages
    conversation = rebuilt(REQUESTS["rounds-4"].messages, ONE)
    conversation.answer([*answered(recorded[-2])], ONE)
    conversation.ask(text(recorded[-1]))
    assert conversation.messages(ONE) == recorded


def test_another_model_gets_the_markers_under_its_own_name_and_no_thinking():
    conversation = rebuilt(REQUESTS["rounds-4"].messages, ONE)
    parts = [part for message in conversation.messages(TWO) for part in message.content]
    assert not any(isinstance(part, ThinkingPart) for part in parts)
    markers = [part.data for part in parts if isinstance(part, DataPart)]
    assert len(markers) == 3
    assert all(marker.startswith(f"{TWO}\\".encode()) for marker in markers)


def test_an_edit_removes_what_came_after_the_message():
    conversation = rebuilt(REQUESTS["rounds-4"].messages, ONE)
    conversation.ask("Second")
    conversation.answer([TextPart("Two")], ONE)
    conversation.ask("Third")
    conversation.edit(1, "Other")
    said = [text(message) for message in conversation.messages(ONE)]
    assert said[-1] == "Other"
    assert "Second" not in said
    assert len(said) == len(REQUESTS["rounds-4"].messages) + 1
