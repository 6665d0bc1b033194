"""Makes a request that any protocol can write from messages and options; no I/O, one object per request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.conversation.chat_request import ASKED_IN, ChatRequest
from partstream.conversation.continuation import find_continuation, is_answer
from partstream.conversation.reasoning import carried_reasoning, place_reasoning
from partstream.conversation.rules import ANY_CONVERSATION
from partstream.conversation.settings import Continuation, SystemAs
from partstream.conversation.state_marker import read_marker
from partstream.conversation.turns import (
    Call,
    CallIds,
    Text,
    ToolNames,
    TurnRole,
    pair,
    read_turns,
    short_digest,
    well_formed,
)
from partstream.lm.messages import Role, Tool
from partstream.lm.parts import DataPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.conversation.rules import ConversationRules
    from partstream.conversation.settings import RequestSettings
    from partstream.conversation.state_marker import Origin, StateMarker
    from partstream.conversation.turns import Note, Turn
    from partstream.lm.messages import ChatMessage, RequestOptions

__all__ = ["Preparation", "prepare"]

_EMPTY_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_MAX_CACHE_KEY: Final = 64


@dataclass(frozen=True, slots=True)
class Preparation:
    """A prepared request, and the names and ids that are needed to read its answer.

    Attributes:
        whole: The request with the whole conversation.
        reasoning: The reasoning items to put back, by the number of the message.
        current: The number of the message that began the current turn: the last of the user that is not only results
            of tools.
        rules: What the server accepts in a conversation.
        continuation: The number of the message and the id of the stored response to continue, or None.
        names: The sent and given names of tools.
        ids: The sent and given call ids.
        notes: Notes for the request's owner.
    """

    whole: ChatRequest
    reasoning: Mapping[int, tuple[Mapping[str, Any], ...]]
    current: int
    rules: ConversationRules
    continuation: tuple[int, str] | None
    names: ToolNames
    ids: CallIds
    notes: tuple[Note, ...]

    @property
    def carries(self) -> Carried:
        """The state that the request can carry.

        A turn with calls can carry reasoning even where none of it is left: a server that misses it takes the request
        once more without thinking, see :attr:`partstream.conversation.chat_request.ChatRequest.reasoning_is_refused`.
        """
        response = Carried.RESPONSE if self.continuation else Carried.NOTHING
        return reduce(or_, map(self._kind, {*self.reasoning, *self._calling}), response)

    @property
    def _calling(self) -> Iterable[int]:
        """The numbers of the messages of the current turn that hold calls."""
        return (
            turn.message
            for turn in self.whole.turns
            if turn.message >= self.current and any(isinstance(piece, Call) for piece in turn.content)
        )

    def request(self, carried: Carried = Carried.EVERYTHING) -> ChatRequest:
        """The request, with at most the state in `carried`."""
        request, turns = self.whole, self.whole.turns
        if self.continuation is not None and Carried.RESPONSE in carried:
            last, response_id = self.continuation
            turns = tuple(turn for turn in turns if turn.message > last)
            request = replace(request, previous_response_id=response_id)
        reasoning = {number: items for number, items in self.reasoning.items() if self._kind(number) in carried}
        turns = tuple(self._with_reasoning(turns, reasoning))
        is_refused = Carried.REASONING in self.carries and Carried.REASONING not in carried
        return replace(request, turns=turns, has_reasoning=bool(reasoning), reasoning_is_refused=is_refused)

    def _kind(self, number: int) -> Carried:
        """The kind of the reasoning in a message."""
        return Carried.EARLIER if number < self.current else Carried.REASONING

    def _with_reasoning(
        self, turns: Iterable[Turn], reasoning: Mapping[int, tuple[Mapping[str, Any], ...]]
    ) -> Iterable[Turn]:
        done: set[int] = set()
        for turn in turns:
            items = reasoning.get(turn.message)
            if items and turn.role is TurnRole.ASSISTANT and turn.message not in done:
                done.add(turn.message)
                yield replace(turn, content=place_reasoning(turn.content, items, self.rules.may_end))
            else:
                yield turn


def prepare(
    origin: Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    settings: RequestSettings,
    call_id_prefix: str = "",
    rules: ConversationRules = ANY_CONVERSATION,
) -> Preparation:
    """Prepares a request.

    Args:
        origin: The upstream and the model of the request.
        messages: The conversation.
        options: Tools and options.
        settings: How requests to this model are written.
        call_id_prefix: The prefix of this upstream's call ids, which is removed; other ids stay.
        rules: What the server accepts in a conversation.
    """
    given, notes = read_turns(messages)
    calls = (piece.name for turn in given for piece in turn.content if isinstance(piece, Call))
    names = ToolNames([*(tool.name for tool in options.tools), *calls], rules.tool_names)
    ids = CallIds(call_id_prefix, rules.call_ids)
    markers = _markers(messages)
    # The upstreams of one program share a prefix, so that only the marker tells whose call it was.
    foreign = {number for number, marker in markers.items() if marker.origin.upstream != origin.upstream}
    turns, pairing_notes = pair(given, ids, names, foreign)
    instructions, turns = _instructions(turns, settings)
    request = ChatRequest(
        model_id=origin.model,
        turns=tuple(turns),
        instructions=instructions,
        tools=tuple(
            Tool(names.to_upstream(tool.name), well_formed(tool.description), tool.input_schema or _EMPTY_SCHEMA)
            for tool in options.tools
        ),
        tool_mode=options.tool_mode,
        # Names with an underscore are for the host (observed in Copilot 0.67).
        options={name: value for name, value in options.model_options.items() if not name.startswith("_")},
        reasoning_effort=_text_or_none(options.model_configuration.get("reasoningEffort")),
        context_size=_count_or_none(options.model_configuration.get("contextSize")),
        cache_key=_cache_key(options.model_options.get("_conversationId")),
        previous_response_id=None,
        has_reasoning=False,
        settings=settings,
        asked_in=_text_or_none(options.model_options.get(ASKED_IN)) or "",
    )
    continuation = None
    if settings.continuation is not Continuation.OFF and settings.stores:
        continuation = find_continuation(messages, markers, turns, origin, ids)
    current = max((turn.message for turn in turns if turn.role is TurnRole.USER), default=0)
    reasoning = _reasoning(messages, markers, origin, current)
    return Preparation(request, reasoning, current, rules, continuation, names, ids, (*notes, *pairing_notes))


def _reasoning(
    messages: Sequence[ChatMessage], markers: Mapping[int, StateMarker], origin: Origin, current: int
) -> dict[int, tuple[Mapping[str, Any], ...]]:
    """The reasoning items to put back, by the number of the message.

    Where the text of a finished turn was edited, nobody knows any more where items inside it stood: they stay out.
    Servers demand those of the current turn, whatever became of its text.
    """
    found: dict[int, tuple[Mapping[str, Any], ...]] = {}
    for number, message in enumerate(messages):
        marker = markers.get(number)
        if message.role is not Role.ASSISTANT or not (items := carried_reasoning(message, marker, origin)):
            continue
        if number >= current or marker is None or not marker.answer or is_answer(message, marker):
            found[number] = items
    return found


def _markers(messages: Sequence[ChatMessage]) -> dict[int, StateMarker]:
    """Our markers, by the number of their assistant message; the last of several."""
    return {
        number: marker
        for number, message in enumerate(messages)
        if message.role is Role.ASSISTANT
        for part in message.content
        if isinstance(part, DataPart) and (marker := read_marker(part)) is not None
    }


def _instructions(turns: list[Turn], settings: RequestSettings) -> tuple[str, list[Turn]]:
    """The text of the system messages and the other turns, if the settings send system messages as instructions."""
    if settings.system_as is not SystemAs.INSTRUCTIONS:
        return "", turns
    texts: dict[int, str] = {}
    for turn in turns:
        if turn.role is TurnRole.SYSTEM:
            text = "".join(piece.value for piece in turn.content if isinstance(piece, Text))
            texts[turn.message] = texts.get(turn.message, "") + text
    return "\n\n".join(texts.values()), [turn for turn in turns if turn.role is not TurnRole.SYSTEM]


def _cache_key(conversation_id: Any) -> str | None:
    if not isinstance(conversation_id, str) or not conversation_id:
        return None
    return conversation_id if len(conversation_id) <= _MAX_CACHE_KEY else short_digest(conversation_id, 16)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count_or_none(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
