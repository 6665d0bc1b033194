"""Conversations in a form that every protocol can send: the meaning of messages, before any wire form; no I/O.

:func:`partstream.conversation.preparation.prepare` is the entry point. It makes a
:class:`partstream.conversation.preparation.ChatRequest` of messages and options, and a protocol only writes it. The
steps are:

1. :func:`read_turns` converts messages into turns: consecutive pieces of one role, where consecutive tool results form
   a turn of their own. It omits empty texts, the host's marks, and parts whose audience leaves out the assistant.
   Leading messages of the assistant are instructions, unless they greet: VS Code's public API has no system role
   (:func:`leading_instructions`).
2. :func:`pair` assigns the ids and names to send (:class:`CallIds`, :class:`ToolNames`), and adds missing halves.
3. :func:`shown_by_user` moves images and files that a protocol does not accept in their place.
4. :func:`merged_turns` puts results directly after their calls.
"""

from __future__ import annotations
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from itertools import groupby, takewhile
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import encode_sorted
from partstream.codec.limits import texts_of
from partstream.codec.text import late_pattern
from partstream.conversation.media import MediaKind, extension_of, file_name, read_media
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import (
    KNOWN_MARKS,
    DataPart,
    FilePart,
    MessagePart,
    RawCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    is_for_assistant,
    is_mark,
    row_of_class,
)

# ---- Turns ----

FILE_NAMES: Final = ("filename", "title", "displayName")
"""What wires call the name of a file."""


class TurnRole(StrEnum):
    """The role of a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty; `is_json` if it came as a JSON document, which some protocols can send as a value."""

    value: str
    is_json: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a file.

    Attributes:
        where: The place in the messages, such as `messages[2].content[0]`.
        url: The address of an image or a file whose bytes are somewhere else; `data` is empty then.
        about: See :class:`partstream.lm.parts.FilePart`.
    """

    kind: MediaKind
    media_type: str
    data: bytes
    where: str
    url: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def title(self) -> str:
        """The name that the client gives it; empty for none."""
        return str(next((self.about[word] for word in FILE_NAMES if word in self.about), ""))

    @property
    def file_name(self) -> str:
        """A name with the extension of its type, by which servers determine the format."""
        extension = f".{extension_of(self.media_type)}"
        if not self.title:
            return file_name(self.media_type)
        return self.title if extension in {self.title[-len(extension) :].lower(), ".bin"} else self.title + extension

    @property
    def in_words(self) -> Text:
        """The text in its place where it cannot be sent: a model that asked for it can look for another way."""
        return Text(f"[{self.media_type}{self.url and f' at {self.url}'}, which cannot be shown]")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, with the id and the name to send; `is_added` if it was added for a result without a call."""

    call_id: str
    name: str
    input: Mapping[str, Any]
    where: str
    is_added: bool = field(default=False, compare=False)
    text: str | None = None  # the arguments that are no JSON object, for wires that have text; `input` is for others


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning item of the requested model, in the form that its protocol wants back."""

    item: Mapping[str, Any]


ResultContent: TypeAlias = Text | Attachment


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call.

    Attributes:
        call_id: The id to send, always that of an earlier call.
        is_added: Whether it was added for a call without a result.
    """

    call_id: str
    name: str
    content: tuple[ResultContent, ...]
    is_error: bool
    where: str
    is_added: bool = field(default=False, compare=False)

    @property
    def told(self) -> tuple[ResultContent, ...]:
        """The content on a wire without a field for a failure, which words tell then."""
        failure = Text(FAILED if self.content else FAILED_SILENTLY)
        return (failure, *self.content) if self.is_error else self.content


Piece: TypeAlias = Text | Attachment | Call | Reasoning | Result


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive pieces of one role.

    Attributes:
        content: The pieces. Only turns of tools hold results; only turns of the assistant hold calls and reasoning.
        message: The number of the message of the first piece.
        name: The name of who speaks, in a form that servers take; empty for none.
    """

    role: TurnRole
    content: tuple[Piece, ...]
    message: int
    name: str = ""


def attachments(turns: Iterable[Turn]) -> Iterator[Attachment]:
    """The images and files of a conversation, also those that tools gave."""
    for piece in (piece for turn in turns for piece in turn.content):
        if isinstance(piece, Attachment):
            yield piece
        elif isinstance(piece, Result):
            yield from (one for one in piece.content if isinstance(one, Attachment))


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the owner of a request, which is sent nevertheless; notes of one kind have the same subject.

    Attributes:
        dropped: The fields of the client's request that the upstream does not get, by their names or places.
    """

    subject: str
    where: str
    dropped: tuple[str, ...] = ()


# ---- Instructions of callers without a system role ----
# A real greeting is in the same place and must stay one: it says hello or offers help, and gives no orders.

_LONGEST_GREETING: Final = 300
_HELLO: Final = late_pattern(
    r"\W*(hi|hello|hey|welcome|greetings|good (morning|afternoon|evening|day))\b", re.IGNORECASE
)
_OFFER: Final = late_pattern(r"\b(help|assist|do for you)\b.*\?\s*$", re.IGNORECASE | re.DOTALL)
_ORDER: Final = late_pattern(
    r"\b(you are(?=\s+\w)|you're|you (must|should|will)|your (task|role|job)|act as|always|never|respond|follow)\b",
    re.IGNORECASE,
)


def leading_instructions(messages: Sequence[ChatMessage]) -> int:
    """The number of messages at the start that are instructions of a caller without a system role; mostly 0."""
    if any(message.role is Role.SYSTEM for message in messages):
        return 0
    leading = list(takewhile(lambda message: message.role is Role.ASSISTANT, messages))
    if len(leading) == len(messages) or not all(map(_may_be_instructions, leading)):
        return 0
    return len(leading)


def _may_be_instructions(message: ChatMessage) -> bool:
    """Whether a leading assistant message is neither a real answer nor a greeting."""
    # Instructions may have cache marks; any other part that is not text comes from a model.
    for part in message.content:
        is_cache_mark = isinstance(part, DataPart) and part.mime_type == "cache_control"
        if not isinstance(part, TextPart) and not is_cache_mark:
            return False
    text = "".join(part.value for part in message.content if isinstance(part, TextPart)).strip()
    if len(text) > _LONGEST_GREETING or _ORDER.search(text):
        return True
    return not (_HELLO.match(text) or _OFFER.search(text))


# ---- Texts ----


def joined_texts(texts: Iterable[str]) -> str:
    """The texts of one tool result as one, with a line end between two of them that no white space separates.

    Each text is a whole of its own, such as a search hit or the content of a file. Without a separator, the last word
    of one and the first of the next become one word.
    """
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and not joined[-1][-1].isspace() and not text[0].isspace():
            joined.append("\n")
        joined.append(text)
    return "".join(joined)


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined, and U+FFFD instead of each lone surrogate.

    Programs that cut UTF-16 text produce lone surrogates. JSON can represent them, but many servers refuse them.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# ---- From messages to turns ----


_SPEAKERS: Final = {Role.SYSTEM: TurnRole.SYSTEM, Role.USER: TurnRole.USER, Role.ASSISTANT: TurnRole.ASSISTANT}


def read_turns(messages: Sequence[ChatMessage]) -> tuple[list[Turn], list[Note]]:
    """The turns of a conversation in order, with the given ids and names; and notes.

    Consecutive results form one turn. Thinking is omitted: it goes back in another way, or not at all.
    """
    turns: list[Turn] = []
    notes: list[Note] = []
    instructions = leading_instructions(messages)
    for number, message in enumerate(messages):
        speaker = TurnRole.SYSTEM if number < instructions else _SPEAKERS[message.role]
        placed: list[tuple[TurnRole, Piece]] = []
        for place, part in enumerate(message.content):
            convert = _CONVERTERS.get(type(part)) or row_of_class(_CONVERTERS, part)
            piece = convert(part, f"messages[{number}].content[{place}]", notes)
            if piece is not None:
                placed.append((_role(piece, speaker), piece))
        for role, run in groupby(placed, lambda one: one[0]):
            name = speaker_name(message.name) if role is speaker and message.name else ""
            turns.append(Turn(role, tuple(piece for _, piece in run), number, name))
    return turns, notes


_REFUSED_IN_SPEAKERS: Final = late_pattern(r"[\s<|\\/>]+")


def speaker_name(name: str) -> str:
    """The name of a speaker in the form that OpenAI takes."""
    return _REFUSED_IN_SPEAKERS.sub("_", well_formed(name))[:64]


def _role(piece: Piece, speaker: TurnRole) -> TurnRole:
    """The role of the turn that a piece belongs to."""
    if isinstance(piece, Call):
        return TurnRole.ASSISTANT
    if isinstance(piece, Result):
        return TurnRole.TOOL
    # The system role allows only text.
    return TurnRole.USER if isinstance(piece, Attachment) and speaker is TurnRole.SYSTEM else speaker


def _content(part: ToolResultContent, where: str, notes: list[Note]) -> ResultContent | None:
    if part.audience is not None and not is_for_assistant(part):
        return None
    if isinstance(part, TextPart):
        return Text(well_formed(part.value)) if part.value else None
    if is_mark(part.mime_type):
        if part.mime_type not in KNOWN_MARKS:
            notes.append(Note(f"data of the unknown type {part.mime_type[:80]!r}, left out of the prompt", where))
        return None
    media = read_media(part)
    said = part.about if isinstance(part, FilePart) else {}
    if media.kind is MediaKind.TEXT:
        if said:
            dropped = tuple(f"content[].{name}" for name in said)
            notes.append(Note("a document of text, of which the text alone goes on", where, dropped))
        return Text(media.text, media.media_type.endswith(("/json", "+json"))) if media.text else None
    about = {name: well_formed(value) if isinstance(value, str) else value for name, value in said.items()}
    return Attachment(media.kind, media.media_type, b"" if media.url else part.data, where, media.url, about)


def _result(part: ToolResultPart, where: str, notes: list[Note]) -> Result:
    pieces = (_content(piece, f"{where}.content[{place}]", notes) for place, piece in enumerate(part.content))
    return Result(part.call_id, "", tuple(piece for piece in pieces if piece is not None), part.is_error, where)


def _call(part: ToolCallPart, where: str, notes: list[Note]) -> Call:
    if not isinstance(part, RawCallPart):
        return Call(part.call_id, part.name, part.input, where)
    notes.append(Note("arguments of a call that are no JSON object, sent as their text", where))
    return Call(part.call_id, part.name, part.input, where, text=well_formed(part.arguments))


_CONVERTERS: Final[dict[type[MessagePart], Callable[..., Piece | None]]] = {
    TextPart: _content,
    DataPart: _content,
    ToolCallPart: _call,
    ToolResultPart: _result,
    # Reasoning is not the assistant's text, and reasoning sent as text teaches the model to think aloud.
    ThinkingPart: lambda _part, _where, _notes: None,
}
"""The converters by part class; a converter returns None for a part that it omits."""


# ---- One message a speaker, and results directly after their calls ----
# Servers refuse a message of the user between the two, and so does the AI SDK since version 6
# (`MissingToolResultsError`: recorded with `ai` 6.0.50); hosts send text before a result in one message, or a result
# two messages later.


@dataclass(slots=True)
class MergedTurn:
    """The adjacent turns of one speaker, and the results of their calls.

    Only turns of the assistant have results, and turns of tools: results whose calls are not in the conversation.
    """

    role: TurnRole
    turns: list[Turn] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def content(self) -> list[Piece]:
        """All pieces of the turns."""
        return [piece for turn in self.turns for piece in turn.content]

    @property
    def name(self) -> str:
        """The name of the speaker; empty where the turns have several."""
        names = {turn.name for turn in self.turns}
        return names.pop() if len(names) == 1 else ""

    @property
    def text(self) -> str:
        """The text of the turns: adjacent texts are one text, others begin a line of their own. Reasoning between two
        texts does not separate them, because it goes back in another field."""
        runs = (
            "".join(piece.value for piece in run if isinstance(piece, Text))
            for turn in self.turns
            for is_text, run in groupby(
                (piece for piece in turn.content if not isinstance(piece, Reasoning)),
                lambda piece: isinstance(piece, Text),
            )
            if is_text
        )
        return joined_texts(runs)

    @property
    def ordered_results(self) -> list[Result]:
        """The results in the order of their calls."""
        if not self.results:
            return self.results
        order = {piece.call_id: place for place, piece in enumerate(self.content) if isinstance(piece, Call)}
        return sorted(self.results, key=lambda result: order.get(result.call_id, len(order)))


def merged_turns(turns: Iterable[Turn], *, by_name: bool = False) -> list[MergedTurn]:
    """The turns, those of the assistant that follow each other as one.

    Args:
        by_name: Whether assistants of different names are different speakers.
    """
    said: list[MergedTurn] = []
    callers: dict[str, MergedTurn] = {}
    for turn in turns:
        if turn.role is TurnRole.TOOL:
            for piece in turn.content:
                if not isinstance(piece, Result):
                    continue
                caller = callers.get(piece.call_id)
                if caller is None:  # its call is before the turns
                    if not said or said[-1].role is not TurnRole.TOOL:
                        said.append(MergedTurn(TurnRole.TOOL))
                    caller = said[-1]
                caller.results.append(piece)
            continue
        last = said[-1] if said else None
        goes_on = last is not None and last.role is turn.role is TurnRole.ASSISTANT and not last.results
        if last is None or not goes_on or (by_name and turn.name != last.turns[-1].name):
            last = MergedTurn(turn.role)
            said.append(last)
        last.turns.append(turn)
        callers |= {piece.call_id: last for piece in turn.content if isinstance(piece, Call)}
    return said


# ---- Texts in place of fields that a protocol lacks ----

FAILED: Final = "The tool failed: "
FAILED_SILENTLY: Final = "The tool failed and did not say why."
"""Without this text, the model would mistake an error for a result."""

SHOWN_BY_ASSISTANT: Final = "[shown by the assistant]"


def in_next_user_message(kind: MediaKind, number: int) -> str:
    """The text in a result that replaces an image or a file in the next message of the user."""
    return f"[{kind} {number} of the next user message]"


# ---- Images and files that move into a following message of the user ----


def shown_by_user(turns: Iterable[Turn], *, of_results: bool, of_assistant: bool) -> Iterator[Turn]:
    """The turns, with images and files of results or of the assistant moved into a user turn after the consecutive
    results."""
    waiting: list[Piece] = []
    last = 0
    for turn in turns:
        if waiting and turn.role is not TurnRole.TOOL:
            yield Turn(TurnRole.USER, tuple(waiting), last)
            waiting = []
        content = turn.content
        if turn.role is TurnRole.ASSISTANT and of_assistant:
            for piece in content:
                if isinstance(piece, Attachment):
                    waiting += [Text(SHOWN_BY_ASSISTANT), piece]
            content = tuple(piece for piece in content if not isinstance(piece, Attachment))
        elif turn.role is TurnRole.TOOL and of_results:
            content = tuple(_without_attachments(piece, waiting) for piece in content)
        yield turn if content is turn.content else Turn(turn.role, content, turn.message, turn.name)
        last = turn.message
    if waiting:
        yield Turn(TurnRole.USER, tuple(waiting), last)


def _without_attachments(piece: Piece, waiting: list[Piece]) -> Piece:
    """The result with texts in place of its attachments, which are added to those that wait."""
    if not isinstance(piece, Result):
        return piece
    content: list[ResultContent] = []
    for one in piece.content:
        if isinstance(one, Attachment):
            waiting.append(one)
            number = sum(isinstance(other, Attachment) for other in waiting)
            content.append(Text(in_next_user_message(one.kind, number)))
        else:
            content.append(one)
    return Result(piece.call_id, piece.name, tuple(content), piece.is_error, piece.where, piece.is_added)


# ---- Pairs of calls and results ----
# Servers refuse incomplete pairs, and hosts send them after a summary or a stopped response. Ids and names depend
# only on the conversation before them, so later requests send the same ones, and the server's prompt cache stays valid.

MISSING_RESULT: Final = "[The result of this call is missing: it was not given back.]"
UNKNOWN_TOOL: Final = "unknown_tool"
"""The tool name of an added call, if only the result is left."""


def pair(
    turns: Sequence[Turn], ids: CallIds, names: ToolNames, foreign: Collection[int] = ()
) -> tuple[list[Turn], list[Note]]:
    """The turns with the ids and names to send, with a result for every call and a call for every result; and notes.

    Nothing is omitted: an added half states that it was missing. `foreign` are the numbers of messages that are known
    to come from another upstream.
    """
    pairing = _Pairing(_answers(turns), ids, names, foreign)
    for turn in turns:
        pairing.add(turn)
    return pairing.end(), pairing.notes


def _answers(turns: Sequence[Turn]) -> dict[int, int]:
    """The first pass: the number of the call for the number of each result."""
    answers: dict[int, int] = {}
    waiting: dict[str, deque[tuple[int, Turn]]] = {}
    calls = results = 0
    for turn in turns:
        for piece in turn.content:
            if isinstance(piece, Call):
                queue = waiting.setdefault(piece.call_id, deque())
                # Some servers restart their ids in each answer: calls of older answers no longer wait.
                while queue and queue[0][1].message != turn.message:
                    queue.popleft()
                queue.append((calls, turn))
                calls += 1
            elif isinstance(piece, Result):
                if queue := waiting.get(piece.call_id, deque()):
                    answers[results] = queue.popleft()[0]
                results += 1
    return answers


class _Pairing:
    """The second pass: assigns ids and names, and adds missing halves."""

    def __init__(self, answers: dict[int, int], ids: CallIds, names: ToolNames, foreign: Collection[int]) -> None:
        self.notes: list[Note] = []
        self._turns: list[Turn] = []
        self._answers = answers
        self._answered = set(answers.values())
        self._ids = ids
        self._names = names
        self._foreign = foreign
        self._calls: list[Call] = []
        self._results = 0
        self._tool_of: dict[str, str] = {}
        self._run: list[Result] = []
        self._run_message = 0
        self._orphans: list[Call] = []

    def add(self, turn: Turn) -> None:
        if turn.role is TurnRole.TOOL:
            for piece in turn.content:
                if isinstance(piece, Result):
                    self._add_result(piece, turn.message)
            return
        self._end_run()
        first = len(self._calls)
        if turn.role is TurnRole.ASSISTANT:  # no other has calls
            content = tuple(self._piece(piece, turn) for piece in turn.content)
            turn = Turn(turn.role, content, turn.message, turn.name)
        self._turns.append(turn)
        for number in range(first, len(self._calls)):
            if number not in self._answered:
                call = self._calls[number]
                self.notes.append(Note("a tool call without a result", call.where))
                missing = Result(call.call_id, call.name, (Text(MISSING_RESULT),), False, call.where, is_added=True)
                self._append(missing, turn.message + 1)

    def end(self) -> list[Turn]:
        self._end_run()
        return self._turns

    def _piece(self, piece: Piece, turn: Turn) -> Piece:
        if not isinstance(piece, Call):
            return piece
        self._tool_of[piece.call_id] = piece.name
        call_id = self._ids.open(piece.call_id, is_foreign=turn.message in self._foreign)
        given = self._names.input_to_upstream(piece.name, piece.input)
        name = self._names.to_upstream(piece.name)
        call = Call(call_id, name, given, piece.where, piece.is_added, piece.text)
        self._calls.append(call)
        return call

    def _add_result(self, result: Result, message: int) -> None:
        number = self._answers.get(self._results)
        self._results += 1
        if number is None:  # the missing call is added before the result
            self.notes.append(Note("a tool result without a call", result.where))
            name = self._names.to_upstream(self._tool_of.get(result.call_id, UNKNOWN_TOOL))
            self._orphans.append(Call(self._ids.open(result.call_id), name, {}, result.where, is_added=True))
        call = self._orphans[-1] if number is None else self._calls[number]
        answer = Result(call.call_id, call.name, result.content, result.is_error, result.where, result.is_added)
        self._append(answer, message)

    def _append(self, result: Result, message: int) -> None:
        if not self._run:
            self._run_message = message
        self._run.append(result)

    def _end_run(self) -> None:
        """Adds the consecutive results as one turn, after the calls that some of them lack."""
        if self._orphans:
            self._turns.append(Turn(TurnRole.ASSISTANT, tuple(self._orphans), self._run_message))
        if self._run:
            self._turns.append(Turn(TurnRole.TOOL, tuple(self._run), self._run_message))
        self._run, self._orphans = [], []


# ---- Digests: two are equal exactly if a model that saw one conversation has also seen the other ----

_SIZE: Final = 16


class Hash(Protocol):
    """A hash of the standard library."""

    def update(self, data: bytes, /) -> None: ...  # noqa: D102 - as there


def short_digest(text: str, size: int = 8) -> str:
    """The digest of a short text, in `2 * size` hexadecimal digits."""
    return blake2b(_bytes(text), digest_size=size).hexdigest()


class HistoryDigest:
    """The digest of a conversation that grows message by message; takes time linear in the size of the messages.

    It covers everything that reaches a model and nothing else: marks move between messages (`cache_control`), thinking
    comes and goes, and the host adds empty texts.
    """

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=_SIZE)

    def add(self, message: ChatMessage) -> None:
        """Adds the next message; an empty message does not change the digest."""
        for piece in _pieces(message.content):
            self._hash.update(b"%d" % message.role)
            add_fields(self._hash, piece)

    @property
    def value(self) -> str:
        """The digest of the messages so far."""
        return self._hash.copy().hexdigest()


def answer_digest(parts: Iterable[MessagePart]) -> str:
    """The digest of a response, which does not depend on the number of text parts.

    White space at the ends of the text does not count, because consumers remove it.
    """
    parts = list(parts)
    text = "".join(part.value for part in parts if isinstance(part, TextPart)).strip()
    digest = blake2b(digest_size=_SIZE)
    add_fields(digest, (b"text", _bytes(text)))
    for part in parts:
        if isinstance(part, ToolCallPart):
            add_fields(digest, _digest_call(part))
    return digest.hexdigest()


def add_fields(digest: Hash, fields: Iterable[bytes]) -> None:
    """Adds fields to a digest, each after its length, so that different lists of fields give different digests."""
    for one in fields:
        digest.update(b"%d:" % len(one))
        digest.update(one)


def _pieces(parts: Iterable[MessagePart]) -> Iterator[tuple[bytes, ...]]:
    return (piece for part in parts if (piece := row_of_class(_PIECES, part)(part)))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _digest_call(part: ToolCallPart) -> tuple[bytes, ...]:
    return b"call", _bytes(part.call_id), _bytes(part.name), canonical_json(part.input)


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """The JSON text of an object, the same for equal objects in any order of names."""
    try:
        return "".join(texts_of(dict(value), encode_sorted)).encode()
    except (TypeError, ValueError):  # not JSON: writing the request refuses it
        return _bytes(repr(value))


def _digest_result(part: ToolResultPart) -> tuple[bytes, ...]:
    content = (field for piece in _pieces(part.content) for field in piece)
    return (b"result", _bytes(part.call_id), b"%d" % part.is_error, *content)


_PIECES: Final[dict[type[MessagePart], Callable[..., tuple[bytes, ...]]]] = {
    TextPart: lambda part: (b"text", _bytes(part.value)) if part.value else (),
    DataPart: lambda part: () if is_mark(part.mime_type) else (b"data", _bytes(part.mime_type), part.data),
    ToolCallPart: _digest_call,
    ToolResultPart: _digest_result,
    ThinkingPart: lambda _part: (),
}

# ---- Call ids ----
# In the conversation, ids of this upstream have our prefix, which is removed here. Ids of other providers remain,
# unless the server refuses them.

MAX_ID_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class IdForm:
    """The form of the ids that a server accepts, in characters; `filler` replaces refused characters."""

    longest: int = MAX_ID_LENGTH
    shortest: int = 1
    refused: re.Pattern[str] | None = None
    filler: str = "_"

    def fits(self, call_id: str) -> bool:
        """Whether a server accepts the id."""
        if not self.shortest <= len(call_id) <= self.longest:
            return False
        return self.refused is None or not self.refused.search(call_id)

    def derive(self, call_id: str, seed: str) -> str:
        """An id of this form, unique for the seed and as readable as its length allows: `search_9f86d081884c7d65`."""
        digest = short_digest(seed)
        suffix = f"{self.filler}{digest}"
        if self.longest <= len(suffix):
            return digest[: self.longest]
        readable = call_id if self.refused is None else self.refused.sub(self.filler, call_id)
        return (readable or "call")[: self.longest - len(suffix)] + suffix


@dataclass(frozen=True, slots=True)
class CallIdRule:
    """The ids of calls that a server accepts: its own and those of others. Some servers recognize a call only by its
    own id, so an own id changes only if the server would refuse it."""

    own: IdForm = IdForm()
    foreign: IdForm = IdForm()


ANY_IDS: Final = CallIdRule()


class CallIds:
    """The call ids of one request, assigned call by call in the order of the conversation.

    Args:
        prefix: The prefix of this upstream's ids; may be empty.
        rule: Which ids the server accepts.
    """

    def __init__(self, prefix: str, rule: CallIdRule = ANY_IDS) -> None:
        self._prefix = prefix
        self._rule = rule
        self._given: dict[str, str] = {}
        self._attempts: dict[tuple[str, bool], int] = {}  # those that an id has taken: it may come with every call
        self._changed: set[str] = set()

    def open(self, call_id: str, *, is_foreign: bool = False) -> str:
        """The id to send for a call: its own, or one derived from it if the server refuses it, or if it was used.

        `is_foreign` marks an id from another upstream, whatever its prefix.
        """
        own = well_formed(call_id.removeprefix(self._prefix))
        is_own = call_id.startswith(self._prefix) and not is_foreign
        form = self._rule.own if is_own else self._rule.foreign
        sent, attempt = own, self._attempts.get((call_id, is_own), 0)
        while not form.fits(sent) or sent in self._given:
            sent = form.derive(own, f"{attempt or ''}{call_id}")
            attempt += 1
        self._attempts[call_id, is_own] = attempt
        if sent != own:
            self._changed.add(sent)
        self._given[sent] = call_id
        return sent

    def from_upstream(self, sent: str) -> str:
        """The given id of a call, by its sent id; a KeyError if no call was sent with this id."""
        return self._given[sent]

    def is_changed(self, sent: str) -> bool:
        """Whether a sent id differs from the upstream's own, by which a stored response knows the call."""
        return sent in self._changed


# ---- Tool names ----
# A sent name depends only on the given name, not on the request.

MAX_NAME_LENGTH: Final = 64
_VALID: Final = late_pattern(r"[a-zA-Z0-9_-]{1,64}")
_LETTER_FIRST: Final = late_pattern(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_INVALID_CHARACTERS: Final = late_pattern(r"[^a-zA-Z0-9_-]+")
_NAMESPACES: Final = ("default_api:", "default_api.", "functions.", "functions:")
_LETTER: Final = "t_"
"""The prefix of a name that begins with no letter."""


@dataclass(frozen=True, slots=True)
class NameForm:
    """The form of tool names that a server accepts; with `letter_first`, they begin with a letter or an underscore."""

    letter_first: bool = False

    def fits(self, name: str) -> bool:
        """Whether a server accepts the name."""
        return (_LETTER_FIRST if self.letter_first else _VALID).fullmatch(name) is not None

    def derive(self, name: str, attempt: int) -> str:
        """A name of this form: `mcp_find_it_7c8f5051` of `mcp.find/it`, `t_1st` of `1st`.

        `attempt` is the number of derived names that were used before.
        """
        if not attempt and _VALID.fullmatch(name) and self.fits(f"{_LETTER}{name}"):
            return f"{_LETTER}{name}"
        suffix = f"_{short_digest(f'{attempt or str()}{name}', 4)}"
        readable = _INVALID_CHARACTERS.sub("_", name).strip("_") or "tool"
        if self.letter_first and not self.fits(readable[:1]):
            readable = f"{_LETTER}{readable}"
        return readable[: MAX_NAME_LENGTH - len(suffix)] + suffix


ANY_NAME: Final = NameForm()


def _with_other_names(values: Mapping[str, Any], others: Mapping[str, str] | None) -> Mapping[str, Any]:
    return {others.get(name, name): value for name, value in values.items()} if others else values


class ToolNames:
    """The sent and given names of one request: of tools, and of the properties of their inputs.

    Args:
        names: All given names in the request; valid names are sent unchanged, so no other name can take them.
        form: The names that the server accepts.
        properties: By the given name of a tool, the given names of its properties by the sent ones, where they differ.
    """

    def __init__(
        self,
        names: Iterable[str],
        form: NameForm = ANY_NAME,
        properties: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ) -> None:
        self._properties = properties
        self._sent_properties = {
            tool: {given: sent for sent, given in renamed.items()} for tool, renamed in properties.items()
        }
        names = list(dict.fromkeys(names))
        self._form = form
        self._sent = {name: name for name in names if form.fits(name)}
        self._given = dict(self._sent)
        for name in names:
            if name not in self._sent:
                self._add(name)

    def to_upstream(self, name: str) -> str:
        """The name to send for a given name."""
        return self._sent.get(name) or self._add(name)

    def from_upstream(self, name: str) -> str:
        """The given name for a sent one; a name that was not sent stays unchanged, and the consumer refuses it.

        Models put the namespace of their own format before a name: Gemini `default_api:`, Kimi and gpt-oss
        `functions.`. It is removed if a sent name remains.
        """
        if name in self._given:
            return self._given[name]
        bare = next((name.removeprefix(one) for one in _NAMESPACES if name.startswith(one)), name)
        return self._given.get(bare, name)

    def input_to_upstream(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input to send of an earlier call, under the given name of its tool."""
        return _with_other_names(given, self._sent_properties.get(name))

    def input_from_upstream(self, name: str, sent: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input of a call with the given names of the properties of its tool, which has its given name."""
        return _with_other_names(sent, self._properties.get(name))

    def _add(self, name: str) -> str:
        attempt = 0
        sent = name if self._form.fits(name) else self._form.derive(name, attempt)
        while sent in self._given:
            attempt += 1
            sent = self._form.derive(name, attempt)
        self._sent[name] = sent
        self._given[sent] = name
        return sent
