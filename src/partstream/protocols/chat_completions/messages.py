"""Writes turns as the messages of Chat Completions; source: docs/wires/chat-completions.md#messages.

Contents are strings wherever a string can hold them: lists of texts break small servers, and make models imitate them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.settings import SystemAs, ToolImages
from partstream.conversation.spoken_turns import spoken_turns
from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Call, Reasoning, Result, Text, TurnRole
from partstream.conversation.wording import FAILED, FAILED_SILENTLY
from partstream.protocols.chat_completions.provider_state import joined_items
from partstream.protocols.chat_completions.reasoning_back import ReasoningBack, sent_back
from partstream.protocols.options import call_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.spoken_turns import MergedTurn
    from partstream.conversation.turns import Piece, ResultContent, Turn
    from partstream.protocols.chat_completions.attachments import AttachmentForms, Wire
    from partstream.protocols.chat_completions.provider_state import CarriedMessage
    from partstream.protocols.chat_completions.quirks import Quirks

__all__ = ["NO_OUTPUT", "messages_of"]

NO_OUTPUT: Final = "(no output)"
"""The result of a tool that gave nothing: gateways before Anthropic and Gemini refuse an empty one."""
_RESULTS_SEEN: Final = "I have processed the tool results."
"""What the assistant says between results and the user, at servers that want to hear it first."""
_NO_SIGNATURE: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Replaces the signature of a call that another model made (docs/wires/chat-completions.md#gemini-signatures)."""


def messages_of(request: ChatRequest, quirks: Quirks) -> list[Wire]:
    """The messages of a conversation, in order.

    Every call has its result directly behind the message that made it. Images and files that cannot stand where they
    are said follow in a message of the user, behind all results of the turn.

    Raises:
        RequestNotExpressibleError: The server does not take a file of the user, or a call holds what JSON has no form
            for.
    """
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = (_without_refused_files(turn, quirks.attachments) for turn in request.turns)
    shown = shown_by_user(turns, of_results=not native, of_assistant=True)
    writer = _Writer(quirks)
    if request.instructions:
        writer.say(quirks.system_role, request.instructions)
    roles = _SYSTEM_ROLES.get(request.settings.system_as, quirks.system_role)
    for is_system, run in groupby(spoken_turns(shown), lambda turn: turn.role is TurnRole.SYSTEM):
        if is_system:
            writer.say(roles, "\n\n".join(_texts(turn.content) for turn in run))
            continue
        for turn in run:
            writer.write(turn)
    return writer.messages


_SYSTEM_ROLES: Final = {SystemAs.DEVELOPER: "developer", SystemAs.SYSTEM: "system"}


def _without_refused_files(turn: Turn, forms: AttachmentForms) -> Turn:
    """The turn with a word in place of each file of a result that the server does not take: the model asked for it,
    and can look for another way."""
    if turn.role is not TurnRole.TOOL:
        return turn
    return replace(turn, content=tuple(_with_words(piece, forms) for piece in turn.content))


def _with_words(piece: Piece, forms: AttachmentForms) -> Piece:
    if not isinstance(piece, Result):
        return piece
    content = (
        Text(f"[{one.media_type}, which cannot be shown]")
        if isinstance(one, Attachment) and not forms.takes(one)
        else one
        for one in piece.content
    )
    return replace(piece, content=tuple(content))


class _Writer:
    """The messages of one request so far."""

    def __init__(self, quirks: Quirks) -> None:
        self.messages: list[Wire] = []
        self._quirks = quirks

    def say(self, role: str, text: str) -> None:
        """Adds a message of text alone."""
        if text:
            self.messages.append({"role": role, "content": text})

    def write(self, turn: MergedTurn) -> None:
        """Adds the messages of a speaker, and of the results of the calls in them."""
        if turn.role is TurnRole.USER:
            self._user(turn)
        elif turn.role is TurnRole.ASSISTANT:
            self._assistant(turn)
        order = {piece.call_id: place for place, piece in enumerate(turn.content) if isinstance(piece, Call)}
        for result in sorted(turn.results, key=lambda result: order.get(result.call_id, len(order))):
            self._result(result)

    def _user(self, turn: MergedTurn) -> None:
        content = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
        if not content:
            return
        if self._quirks.answers_results and self.messages and self.messages[-1]["role"] == "tool":
            self.say("assistant", _RESULTS_SEEN)
        said = self._content(content)
        if self._quirks.joins_users and self.messages and self.messages[-1]["role"] == "user":
            said = _joined(self.messages.pop()["content"], said)
        self.messages.append({"role": "user", "content": said})

    def _assistant(self, turn: MergedTurn) -> None:
        calls = [piece for piece in turn.content if isinstance(piece, Call)]
        text = _said(turn.turns)
        if not (text or calls):
            return  # servers refuse a message of the assistant without both, and reasoning alone is none
        carried = joined_items(piece.item for piece in turn.content if isinstance(piece, Reasoning))
        back = sent_back(carried, self._quirks.reasoning_back)
        text = back.opening + text
        content: str | list[Wire] | None = text or self._quirks.empty_content
        if back.parts:
            content = [*back.parts, *([{"type": "text", "text": text}] if text else [])]
        message: Wire = {"role": "assistant", "content": content, **back.fields}
        if calls:
            self._fill(message)
            message["tool_calls"] = self._calls(calls, turn.content, carried)
        self.messages.append(message)

    def _fill(self, message: Wire) -> None:
        """Adds the empty reasoning that DeepSeek requires (docs/wires/chat-completions.md#sending-reasoning-back)."""
        name = self._quirks.filled_reasoning
        if name and self._quirks.reasoning_back is not ReasoningBack.OFF:
            message.setdefault(name, "")

    def _calls(self, calls: Sequence[Call], content: Sequence[Piece], carried: CarriedMessage) -> list[Wire]:
        extras = _extras(calls, content, carried)
        if self._quirks.fills_signatures and not extras:
            extras = {calls[0].call_id: _NO_SIGNATURE}
        return [_call(call, extras.get(call.call_id)) for call in calls]

    def _result(self, result: Result) -> None:
        name = {"name": result.name} if self._quirks.names_results else {}
        content = [Text(FAILED if result.content else FAILED_SILENTLY), *result.content] if result.is_error else None
        content = content or list(result.content)
        self.messages.append(
            {"role": "tool", "tool_call_id": result.call_id, **name, "content": self._content(content) or NO_OUTPUT}
        )

    def _content(self, pieces: Sequence[ResultContent]) -> str | list[Wire]:
        """A string if a string can hold it."""
        texts = [piece.value for piece in pieces if isinstance(piece, Text)]
        if len(texts) == len(pieces):
            return joined_texts(texts)
        return [
            {"type": "text", "text": piece.value} if isinstance(piece, Text) else self._quirks.attachments.write(piece)
            for piece in pieces
        ]


def _joined(first: str | list[Wire], second: str | list[Wire]) -> str | list[Wire]:
    """Two contents as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _texts(pieces: Iterable[Piece]) -> str:
    return "".join(piece.value for piece in pieces if isinstance(piece, Text))


def _said(turns: Iterable[Turn]) -> str:
    """What the assistant said: the pieces of one text as they came, texts that something stands between on lines of
    their own."""
    runs = (
        "".join(piece.value for piece in run if isinstance(piece, Text))
        for turn in turns
        for is_text, run in groupby(_visible(turn.content), lambda piece: isinstance(piece, Text))
        if is_text
    )
    return joined_texts(runs)


def _visible(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """The pieces without what goes back beside them: the two parts of a text around it are one text."""
    return (piece for piece in pieces if not isinstance(piece, Reasoning))


def _call(call: Call, extra: Mapping[str, object] | None) -> Wire:
    function = {"name": call.name, "arguments": call_arguments(call).decode()}
    carried = {"extra_content": dict(extra)} if extra else {}
    return {"id": call.call_id, "type": "function", "function": function, **carried}


def _extras(
    calls: Sequence[Call], content: Sequence[Piece], carried: CarriedMessage
) -> dict[str, Mapping[str, object]]:
    """What each call takes back, by the id that is sent.

    An item knows the server's own id. If that had to be changed on the way, the call is meant whose id was made of it,
    else the next call behind the item, which is where it stood in the answer.
    """
    ids = [call.call_id for call in calls]
    extras: dict[str, Mapping[str, object]] = {}
    for index, piece in enumerate(content):
        call_id = piece.item.get("toolCallId") if isinstance(piece, Reasoning) else None
        if not isinstance(call_id, str) or call_id not in carried.extra_of_calls:
            continue
        made_of_it = (one for one in ids if one.startswith(f"{call_id}_"))
        following = (later.call_id for later in content[index:] if isinstance(later, Call))
        meant = call_id if call_id in ids else next(made_of_it, None) or next(following, None)
        if meant is not None:
            extras.setdefault(meant, carried.extra_of_calls[call_id])
    return extras
