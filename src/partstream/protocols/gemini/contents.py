"""Writes turns as the contents of a Gemini request; source: docs/wires/gemini.md#contents.

The rules of the servers: one content of the user with all results follows each content with calls; no content is empty;
the first and the last content are the user's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.pairing import UNKNOWN_TOOL
from partstream.conversation.settings import ToolImages
from partstream.conversation.spoken_turns import spoken_turns
from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Call, Text, TurnRole
from partstream.conversation.wording import FAILED_SILENTLY
from partstream.protocols.gemini.model_parts import ModelParts
from partstream.protocols.gemini.models import Wire, file_part, fits_into_response, within_limit
from partstream.protocols.gemini.provider_state import with_dummies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.spoken_turns import MergedTurn
    from partstream.conversation.turns import Piece, Result, Turn
    from partstream.protocols.gemini.models import KnownModel

__all__ = ["FILLER", "contents_of", "lost_call", "system_texts"]

FILLER: Final = "."
"""What the user says where a conversation does not begin or end with the user."""
_RESPONSE: Final = "functionResponse"


def contents_of(request: ChatRequest, model: KnownModel, most_file_bytes: int) -> list[Wire]:
    """The contents of a conversation, in order.

    Args:
        request: The request.
        model: What the model takes.
        most_file_bytes: The most bytes of all files together, in base64.

    Raises:
        RequestNotExpressibleError: The user gives a file that the models do not take, or too large ones; or a call
            holds what JSON has no form for.
    """
    images = request.settings.tool_images
    turns = within_limit(_without_leading_system(request.turns), most_file_bytes)
    inside = images is ToolImages.NATIVE or (images is ToolImages.AUTO and model.signs_calls)
    shown = shown_by_user(turns, of_results=images is ToolImages.USER_MESSAGE, of_assistant=not model.makes_images)
    writer = _Writer(files_inside=inside)
    for turn in spoken_turns(shown):
        writer.write(turn)
    contents = writer.whole()
    return with_dummies(contents) if model.signs_calls else contents


def system_texts(request: ChatRequest) -> list[str]:
    """The texts of the system that stand before everything else: they have a place of their own.

    A system message later in the conversation has none, and becomes a text of the user.
    """
    leading = _leading_system(request.turns)
    return [*filter(None, [request.instructions]), *(_text_of(turn.content) for turn in leading)]


def lost_call(name: str) -> str:
    """The words before a result whose call is not in the conversation: servers refuse a result alone.

    Args:
        name: The name of the tool, perhaps the one that stands for an unknown tool.
    """
    tool = "a tool" if name == UNKNOWN_TOOL else f"the tool {name}"
    return f"[The result of an earlier call of {tool}]\n"


def _leading_system(turns: Sequence[Turn]) -> Sequence[Turn]:
    end = next((index for index, turn in enumerate(turns) if turn.role is not TurnRole.SYSTEM), len(turns))
    return turns[:end]


def _without_leading_system(turns: Sequence[Turn]) -> Sequence[Turn]:
    return turns[len(_leading_system(turns)) :]


class _Writer:
    """The contents of one request so far.

    Args:
        files_inside: Whether files of results stand inside the results; else they follow all of them in one content.
    """

    def __init__(self, *, files_inside: bool) -> None:
        self._contents: list[Wire] = []
        self._files_inside = files_inside

    def write(self, turn: MergedTurn) -> None:
        """Adds what a speaker says, and the results of the calls in it."""
        if turn.role is TurnRole.SYSTEM:
            self._user([{"text": text}] if (text := _text_of(turn.content)) else [])
            return
        if turn.role is TurnRole.USER:
            self._user(_user_parts(turn.content))
            return
        said = ModelParts()
        said.add(turn.turns)
        self._model(said.parts)
        calls = [piece for piece in turn.content if isinstance(piece, Call)]
        self._results(turn.results, calls, said.given_ids)

    def whole(self) -> list[Wire]:
        """All contents, between the user's first and last one."""
        contents = self._contents
        filler = {"role": "user", "parts": [{"text": FILLER}]}
        before = [] if contents and contents[0]["role"] == "user" else [filler]
        after = [filler] if contents and contents[-1]["role"] == "model" else []
        return [*before, *contents, *after]

    def _user(self, parts: Iterable[Wire]) -> None:
        """Adds what the user says; behind results it is a content of its own."""
        parts = list(parts)
        last = self._contents[-1] if self._contents else None
        if not parts:
            return
        if last is None or last["role"] != "user" or any(_RESPONSE in part for part in last["parts"]):
            self._contents.append({"role": "user", "parts": parts})
        else:
            last["parts"] += parts

    def _model(self, parts: list[Wire]) -> None:
        last = self._contents[-1] if self._contents else None
        if not parts:
            return
        if last is not None and last["role"] == "model":
            last["parts"] += parts
        else:
            self._contents.append({"role": "model", "parts": parts})

    def _results(self, results: Sequence[Result], calls: Sequence[Call], given_ids: dict[str, str]) -> None:
        """Adds the results of the calls that were just written, in the order of the calls; lost calls' as texts."""
        order = {call.call_id: place for place, call in enumerate(calls) if not call.is_added}
        answers = sorted((one for one in results if one.call_id in order), key=lambda one: order[one.call_id])
        if answers:
            responses = [self._response(one, given_ids) for one in answers]
            files = [file_part(file) for one in answers for file in self._files_behind(one)]
            self._contents.append({"role": "user", "parts": [*responses, *files]})
        self._user(part for one in results if one.call_id not in order for part in _lost(one))

    def _response(self, result: Result, given_ids: dict[str, str]) -> Wire:
        """The part of a result. Its text is never read as JSON: Gemini 3 resolves `$ref` in it, and fails."""
        text = joined_texts(piece.value for piece in result.content if isinstance(piece, Text))
        failed = result.is_error or result.is_added
        said = {"error": text or FAILED_SILENTLY} if failed else {"output": text}
        given = {"id": given_ids[result.call_id]} if result.call_id in given_ids else {}
        inside = [file_part(one) for one in _files_of(result) if self._stands_inside(one)]
        held = {"parts": inside} if inside else {}
        return {_RESPONSE: {**given, "name": result.name, "response": said, **held}}

    def _files_behind(self, result: Result) -> list[Attachment]:
        return [one for one in _files_of(result) if not self._stands_inside(one)]

    def _stands_inside(self, file: Attachment) -> bool:
        return self._files_inside and fits_into_response(file)


def _lost(result: Result) -> list[Wire]:
    text = joined_texts(piece.value for piece in result.content if isinstance(piece, Text))
    return [{"text": lost_call(result.name) + text}, *map(file_part, _files_of(result))]


def _files_of(result: Result) -> list[Attachment]:
    return [piece for piece in result.content if isinstance(piece, Attachment)]


def _user_parts(pieces: Iterable[Piece]) -> list[Wire]:
    parts: list[dict[str, Any]] = []
    for piece in pieces:
        if isinstance(piece, Text):
            parts.append({"text": piece.value})
        elif isinstance(piece, Attachment):
            parts.append(file_part(piece))
    return parts


def _text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.value for piece in pieces if isinstance(piece, Text))
