"""What a wire has no place for, and what an answer or a request is after it crossed that wire: what all wires share.

A feature that a wire does not support is a row with a name, a sentence and a function that gives an answer or a request
without it. The module of a wire lists its rows as `UNSUPPORTED`; two properties prove that there are no others::

    response_form(read_response(write_response(x)), UNSUPPORTED.response) == response_form(x, UNSUPPORTED.response)
    request_form(read_request(write_request(x)), UNSUPPORTED.request) == request_form(x, UNSUPPORTED.request)

An answer in one document says what its stream says, but for `UNSUPPORTED.document`. The features are taken out on both
sides: what a wire has no place for, it may replace by a word of its own.

The forms below join what any wire may cut anew: the pieces of a text, and messages of one speaker that follow each
other. Everything else that differs has a row, here where wires share it, and in docs/maintainers/translation.md.

What a request loses while it is prepared is the same for all wires
(:mod:`partstream.conversation.preparation`, :mod:`partstream.conversation.turns`).
"""

from __future__ import annotations
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.citations import CITATION_MIME_TYPE, Citation, read_citation
from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.turns import (
    FAILED,
    FAILED_SILENTLY,
    SHOWN_BY_ASSISTANT,
    CallIds,
    ToolNames,
    in_next_user_message,
    joined_texts,
    leading_instructions,
    speaker_name,
    well_formed,
)
from partstream.errors import UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.messages import ChatMessage, Role, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    is_mark,
)
from partstream.protocols.schemas import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from partstream.errors import LanguageModelError
    from partstream.lm.outputs import StreamOutput
    from partstream.lm.parts import MessagePart, ResponsePart, Usage

__all__ = [
    "ANSWERS",
    "BROKEN_ANSWER",
    "DATA_PARTS",
    "ERROR_CODE",
    "ERROR_KIND",
    "FAILED_RESULTS",
    "FINISH_WORD",
    "INSTRUCTIONS",
    "MODEL",
    "PICTURES",
    "PICTURES_OF_ANSWERS",
    "PREPARED",
    "PREPARED_WITH_NAMES",
    "PROVIDER_METADATA",
    "RESPONSE_ID",
    "SOURCES_BEHIND",
    "SPEAKER_NAMES",
    "TEXTS_OF_RESULTS",
    "TEXT_DOCUMENTS",
    "THINKING_IDS",
    "THINKING_STATE",
    "TOOL_MODE",
    "TRUNCATION",
    "ErrorForm",
    "Feature",
    "RequestFeature",
    "ResponseFeature",
    "ResponseForm",
    "Unsupported",
    "each_part_of_a_request",
    "each_part_of_a_response",
    "each_run_of_users",
    "place_of",
    "request_form",
    "response_form",
    "source_with_address",
]

# ---- forms and rows ----


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """An error as a value that can be compared.

    Attributes:
        kind: The name of its class.
        message: What the provider said of it, or else its own sentence.
        code: The provider's code, or None.
        status: The HTTP status of the response, or the one that the provider names beside its error; or None.
        error: The error itself, from which a row tells how a wire says it; not compared.
    """

    kind: str
    message: str
    code: str | None
    status: int | None = None
    error: LanguageModelError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResponseForm:
    """An answer as a value that can be compared; the fields are those of :class:`partstream.lm.outputs.Finish`.

    Attributes:
        parts: The parts; no two texts, and no two pieces of one thought, follow each other.
    """

    parts: tuple[ResponsePart, ...]
    outcome: Outcome
    reason: FinishReason | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    error: ErrorForm | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a protocol has no place for.

    Attributes:
        name: What it is called, in words with hyphens between them.
        says: What is lost, as a sentence.
    """

    name: str
    says: str


@dataclass(frozen=True, slots=True)
class ResponseFeature(Feature):
    """A feature of answers that a protocol has no place for.

    Attributes:
        take: Gives an answer without it.
    """

    take: Callable[[ResponseForm], ResponseForm]


@dataclass(frozen=True, slots=True)
class RequestFeature(Feature):
    """A feature of requests that a protocol has no place for.

    Attributes:
        take: Gives a request without it.
    """

    take: Callable[[InboundRequest], InboundRequest]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """All that one protocol has no place for, in the order in which it is taken out.

    Attributes:
        response: Those of answers.
        request: Those of requests.
        document: What an answer in one document loses beyond its stream.
    """

    response: tuple[ResponseFeature, ...] = ()
    request: tuple[RequestFeature, ...] = ()
    document: tuple[ResponseFeature, ...] = ()


_Outputs: TypeAlias = "Iterable[StreamOutput]"


def response_form(outputs: _Outputs, features: Sequence[ResponseFeature] = ()) -> ResponseForm:
    """The form of an answer without these features; :class:`partstream.lm.outputs.Unmapped` outputs are left out.

    Raises:
        ValueError: The outputs do not end with their only Finish.
    """
    parts: list[ResponsePart] = []
    finish: Finish | None = None
    for output in outputs:
        if finish is not None:
            raise ValueError(f"expected nothing behind the Finish, got {type(output).__name__}")
        if isinstance(output, Finish):
            finish = output
        elif not isinstance(output, Unmapped):
            # A refusal is text on most wires; tests/serving/test_what_a_model_says.py has those with a place for it.
            parts.append(TextPart(output.value) if isinstance(output, RefusalPart) else output)
    if finish is None:
        raise ValueError("expected a Finish at the end of the outputs, got none")
    form = ResponseForm(
        tuple(parts),
        finish.outcome,
        finish.reason,
        # What fills the window is, like the raw object, for the caller of the server; no wire passes it on.
        None if finish.usage is None else replace(finish.usage, raw={}, context_tokens=None),
        finish.response_id,
        finish.model,
        None if finish.error is None else _error_form(finish.error),
        finish.provider_metadata,
    )
    for feature in features:
        form = feature.take(form)
    return replace(form, parts=tuple(_joined(form.parts)))


def request_form(asked: InboundRequest, features: Sequence[RequestFeature] = ()) -> InboundRequest:
    """The form of a request without these features."""
    for feature in features:
        asked = feature.take(asked)
    messages = []
    for (role, name), run in groupby(asked.messages, lambda message: (message.role, message.name or None)):
        parts = tuple(_joined(part for message in run for part in message.content))
        if parts:
            messages.append(ChatMessage(role, parts, name))
    return replace(asked, messages=tuple(messages))


def _error_form(error: LanguageModelError) -> ErrorForm:
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    code, status = (error.provider_code, error.http_status) if isinstance(error, UpstreamError) else (None, None)
    return ErrorForm(type(error).__name__, said or error.message, code, status, error)


def _joined(parts: Iterable[MessagePart]) -> list[Any]:
    """Joins neighbouring texts, and neighbouring pieces of one thought; drops empty ones."""
    joined: list[MessagePart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            joined[-1] = TextPart(last.value + part.value)
        elif isinstance(part, ThinkingPart) and isinstance(last, ThinkingPart) and _continues(last, part):
            joined[-1] = ThinkingPart(last.value + part.value, last.id, part.metadata)
        elif isinstance(part, ToolResultPart):
            joined.append(replace(part, content=tuple(_joined(part.content))))
        elif not _is_empty(part):
            joined.append(part)
    return joined


def _continues(last: ThinkingPart, part: ThinkingPart) -> bool:
    """Metadata closes a thought; the next piece begins another."""
    return last.id == part.id and last.metadata is None


def _is_empty(part: MessagePart) -> bool:
    if isinstance(part, ThinkingPart):
        return not part.value and part.metadata is None
    return isinstance(part, TextPart) and not part.value


# ---- functions for rows ----


def each_part_of_a_response(
    change: Callable[[ResponsePart], ResponsePart | None],
) -> Callable[[ResponseForm], ResponseForm]:
    """Applies a function to each part of an answer; where it returns None, the part is left out."""

    def take(form: ResponseForm) -> ResponseForm:
        changed = (change(part) for part in form.parts)
        return replace(form, parts=tuple(part for part in changed if part is not None))

    return take


def each_part_of_a_request(
    change: Callable[[MessagePart], MessagePart | None],
) -> Callable[[InboundRequest], InboundRequest]:
    """Applies a function to each part of a request, also inside tool results.

    Where it returns None, the part is left out.
    """

    def take(asked: InboundRequest) -> InboundRequest:
        messages = tuple(replace(one, content=tuple(_changed(one.content, change))) for one in asked.messages)
        return replace(asked, messages=messages)

    return take


def _changed(
    parts: Iterable[MessagePart], change: Callable[[MessagePart], MessagePart | None]
) -> Iterable[MessagePart]:
    for part in parts:
        changed = change(part)
        if isinstance(changed, ToolResultPart):
            content = tuple(one for one in _changed(changed.content, change) if isinstance(one, TextPart | DataPart))
            yield replace(changed, content=content)
        elif changed is not None:
            yield changed


# ---- answers: rows that several wires share ----


def _without_thinking_id(part: ResponsePart) -> ResponsePart:
    return ThinkingPart(part.value, None, part.metadata) if isinstance(part, ThinkingPart) else part


def _without_thinking_state(part: ResponsePart) -> ResponsePart:
    return ThinkingPart(part.value, part.id) if isinstance(part, ThinkingPart) else part


def _without_data(part: ResponsePart) -> ResponsePart | None:
    return None if isinstance(part, DataPart) else part


def _is_source(part: ResponsePart) -> bool:
    return isinstance(part, DataPart) and part.mime_type == CITATION_MIME_TYPE


def _sources_behind(form: ResponseForm) -> ResponseForm:
    parts: list[ResponsePart] = []
    for of_text, run in groupby(form.parts, lambda part: isinstance(part, TextPart) or _is_source(part)):
        said = list(run)
        parts += sorted(said, key=_is_source) if of_text else said
    return replace(form, parts=tuple(parts))


def source_with_address(part: ResponsePart) -> Citation | None:
    """The source that a part names, if it has an address; None for every other part."""
    source = read_citation(part) if isinstance(part, DataPart) else None
    return None if source is None or source.url is None else source


def place_of(source: Citation, before: Iterable[object]) -> tuple[int | None, int | None]:
    """The place of a source in the text of the parts before it; none where it is not in it."""
    said = "".join(part.value for part in before if isinstance(part, TextPart))
    words = "" if source.start is None else said[source.start : source.end]
    return (source.start, source.start + len(words)) if source.start is not None and words else (None, None)


def _as_broken(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    kept = (one for one in form.parts if not isinstance(one, ToolCallPart) and source_with_address(one) is None)
    return replace(form, parts=tuple(ThinkingPart(one.value) if isinstance(one, ThinkingPart) else one for one in kept))


def _without_word(form: ResponseForm) -> ResponseForm:
    return form if form.reason is None else replace(form, reason=FinishReason(form.reason.unified))


def _without_error_code(form: ResponseForm) -> ResponseForm:
    return form if form.error is None else replace(form, error=replace(form.error, code=None))


def _with_one_kind_of_error(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    return replace(form, error=replace(form.error, kind="UpstreamFailureError", status=None))


def _as_failed(form: ResponseForm) -> ResponseForm:
    return replace(form, outcome=Outcome.FAILED) if form.outcome is Outcome.TRUNCATED else form


THINKING_IDS: Final = ResponseFeature(
    "thinking-ids", "The ids of thoughts.", each_part_of_a_response(_without_thinking_id)
)
THINKING_STATE: Final = ResponseFeature(
    "thinking-state",
    "The opaque state of thinking, which its model wants back.",
    each_part_of_a_response(_without_thinking_state),
)
DATA_PARTS: Final = ResponseFeature(
    "data-parts", "Data parts: files and citations.", each_part_of_a_response(_without_data)
)
SOURCES_BEHIND: Final = ResponseFeature(
    "order-in-a-document",
    "Behind which of its words a source of a text came: in a document all stand behind the text.",
    _sources_behind,
)
BROKEN_ANSWER: Final = ResponseFeature(
    "broken-answer", "Calls, sources and the state of thinking of an answer that fails.", _as_broken
)
FINISH_WORD: Final = ResponseFeature("finish-word", "The provider's own word for why the model stopped.", _without_word)
ERROR_CODE: Final = ResponseFeature("error-code", "The provider's code of an error.", _without_error_code)
ERROR_KIND: Final = ResponseFeature(
    "error-kind",
    "What kind of error it was, and its HTTP status: every error becomes a failure that the upstream reports.",
    _with_one_kind_of_error,
)
TRUNCATION: Final = ResponseFeature("truncation", "That an answer broke off: it is reported as failed.", _as_failed)
RESPONSE_ID: Final = ResponseFeature(
    "response-id", "The identifier of the response.", lambda form: replace(form, response_id=None)
)
MODEL: Final = ResponseFeature("model", "The model that answered.", lambda form: replace(form, model=None))
PROVIDER_METADATA: Final = ResponseFeature(
    "provider-metadata",
    "Further facts of the provider about the answer, beside its tokens.",
    lambda form: replace(form, provider_metadata={}),
)

# ---- requests: rows that several wires share ----


def _text_of_document(part: MessagePart) -> MessagePart:
    """Servers take a text document as text; its label is lost."""
    if isinstance(part, DataPart) and (media := read_media(part)).kind is MediaKind.TEXT:
        return TextPart(media.text)
    return part


def _without_names(asked: InboundRequest) -> InboundRequest:
    return replace(asked, messages=tuple(ChatMessage(one.role, one.content) for one in asked.messages))


def _with_names_in_form(asked: InboundRequest) -> InboundRequest:
    def named(one: ChatMessage) -> ChatMessage:
        return ChatMessage(one.role, one.content, speaker_name(one.name) if one.name else None)

    return replace(asked, messages=tuple(map(named, asked.messages)))


TEXT_DOCUMENTS: Final = RequestFeature(
    "text-documents",
    "That a text document was a document: its text replaces it.",
    each_part_of_a_request(_text_of_document),
)
SPEAKER_NAMES: Final = RequestFeature("speaker-names", "The names of speakers.", _without_names)
NAME_FORM: Final = RequestFeature(
    "name-form",
    "Characters of a speaker's name that servers refuse (blanks, `<`, `>`, `|`, `/`), and all beyond the 64th.",
    _with_names_in_form,
)


# ---- requests: what preparation changes ----


def _without_mark(part: MessagePart) -> MessagePart | None:
    return None if isinstance(part, DataPart) and is_mark(part.mime_type) else part


def _with_true_label(part: MessagePart) -> MessagePart:
    if not isinstance(part, DataPart) or (media := read_media(part)).url:
        return part
    return DataPart(part.data, media.media_type)


def _without_thinking(part: MessagePart) -> MessagePart | None:
    return None if isinstance(part, ThinkingPart) else part


def _with_whole_characters(part: MessagePart) -> MessagePart:
    return TextPart(well_formed(part.value)) if isinstance(part, TextPart) else part


def _with_one_text(part: MessagePart) -> MessagePart:
    """Joins the neighbouring texts of a result, as they are sent."""
    if not isinstance(part, ToolResultPart):
        return part
    content: list[TextPart | DataPart] = []
    for is_text, run in groupby(part.content, lambda one: isinstance(one, TextPart)):
        pieces = list(run)
        texts = (one.value for one in pieces if isinstance(one, TextPart))
        content += [TextPart(joined_texts(texts))] if is_text else pieces
    return replace(part, content=tuple(content))


def _identifiers(asked: InboundRequest) -> InboundRequest:
    calls = [part for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    names = ToolNames([*(tool.name for tool in asked.options.tools), *(call.name for call in calls)])
    ids = CallIds("")
    sent = {call.call_id: ids.open(call.call_id) for call in calls}

    def renamed(part: MessagePart) -> MessagePart:
        if isinstance(part, ToolCallPart):
            return replace(part, call_id=sent[part.call_id], name=names.to_upstream(part.name))
        if isinstance(part, ToolResultPart):
            return replace(part, call_id=sent.get(part.call_id, part.call_id))
        return part

    tools = tuple(replace(tool, name=names.to_upstream(tool.name)) for tool in asked.options.tools)
    return each_part_of_a_request(renamed)(replace(asked, options=replace(asked.options, tools=tools)))


def _tools(asked: InboundRequest) -> InboundRequest:
    tools = tuple(
        replace(tool, description=well_formed(tool.description), input_schema=PLAIN.of(tool.input_schema).schema)
        for tool in asked.options.tools
    )
    return replace(asked, options=replace(asked.options, tools=tools))


def _orders(asked: InboundRequest) -> InboundRequest:
    orders = leading_instructions(asked.messages)
    leading = (replace(message, role=Role.SYSTEM) for message in asked.messages[:orders])
    return replace(asked, messages=(*leading, *asked.messages[orders:]))


def _host(asked: InboundRequest) -> InboundRequest:
    options = asked.options
    effort = options.model_configuration.get("reasoningEffort")
    return replace(
        asked,
        options=replace(
            options,
            model_options={
                name: value
                for name, value in options.model_options.items()
                if not name.startswith("_") or name == "_conversationId"
            },
            model_configuration={"reasoningEffort": effort} if isinstance(effort, str) and effort else {},
            request_initiator=None,
        ),
    )


PREPARED: Final = (
    RequestFeature(
        "marks", "Data parts that are marks of the host are left out.", each_part_of_a_request(_without_mark)
    ),
    TEXT_DOCUMENTS,
    RequestFeature(
        "labels", "The media type of bytes is what their first bytes say.", each_part_of_a_request(_with_true_label)
    ),
    RequestFeature(
        "thinking",
        "What the model thought is left out; its opaque state goes back to the server that gave it.",
        each_part_of_a_request(_without_thinking),
    ),
    RequestFeature(
        "half-characters",
        "Halves of characters are replaced by U+FFFD.",
        each_part_of_a_request(_with_whole_characters),
    ),
    RequestFeature(
        "names", "Names of tools and identifiers of calls that servers refuse are replaced by others.", _identifiers
    ),
    RequestFeature(
        "schemas",
        "A tool without a schema gets one that describes an empty object; what is no schema of an object becomes one.",
        _tools,
    ),
    SPEAKER_NAMES,
    RequestFeature("orders", "Orders that an assistant gives before anyone asked are system messages.", _orders),
    RequestFeature(
        "host",
        "Options of the host itself, who asks, and what a person chose beside the reasoning effort are left out.",
        _host,
    ),
)
"""In the order in which they are taken out."""
PREPARED_WITH_NAMES: Final = tuple(NAME_FORM if one is SPEAKER_NAMES else one for one in PREPARED)
"""The same on a wire that has a place for the names of speakers."""

TEXTS_OF_RESULTS: Final = RequestFeature(
    "texts-of-results",
    "That the result of a tool is several texts: they become one, with a line end between two that no white space "
    "separates.",
    each_part_of_a_request(_with_one_text),
)
"""Taken out behind everything that puts texts into results."""


# ---- requests: what many wires have no place for ----


def _in_words(part: MessagePart) -> MessagePart:
    if not isinstance(part, ToolResultPart) or not part.is_error:
        return part
    words = TextPart(FAILED if part.content else FAILED_SILENTLY)
    return ToolResultPart(part.call_id, (words, *part.content))


def _pictures(asked: InboundRequest) -> InboundRequest:
    return replace(asked, messages=tuple(_Pictures(of_results=True).move(asked.messages)))


def _pictures_of_answers(asked: InboundRequest) -> InboundRequest:
    return replace(asked, messages=tuple(_Pictures(of_results=False).move(asked.messages)))


class _Pictures:
    """The images and files of one request that wait for the next message of the user.

    Args:
        of_results: Whether those in results of tools wait as well.
    """

    def __init__(self, *, of_results: bool) -> None:
        self._of_results = of_results
        self._messages: list[ChatMessage] = []
        self._waiting: list[MessagePart] = []

    def move(self, messages: tuple[ChatMessage, ...]) -> list[ChatMessage]:
        for message in messages:
            for of_tools, run in groupby(message.content, lambda part: isinstance(part, ToolResultPart)):
                if not of_tools:
                    self._release()
                self._add(message, list(run))
        self._release()
        return self._messages

    def _add(self, message: ChatMessage, run: list[MessagePart]) -> None:
        if message.role is Role.ASSISTANT:
            shown = [part for part in run if isinstance(part, DataPart)]
            self._waiting += [part for one in shown for part in (TextPart(SHOWN_BY_ASSISTANT), one)]
            run = [part for part in run if not isinstance(part, DataPart)]
        content = tuple(self._of_result(part) if isinstance(part, ToolResultPart) else part for part in run)
        self._messages.append(replace(message, content=content))

    def _of_result(self, result: ToolResultPart) -> ToolResultPart:
        return replace(result, content=tuple(map(self._mention, result.content)))

    def _mention(self, part: Any) -> Any:
        if not isinstance(part, DataPart) or not self._of_results:
            return part
        self._waiting.append(part)
        number = sum(isinstance(waiting, DataPart) for waiting in self._waiting)
        kind = read_media(part).kind
        return TextPart(in_next_user_message(MediaKind.FILE if kind is MediaKind.TEXT else kind, number))

    def _release(self) -> None:
        if self._waiting:
            self._messages.append(ChatMessage.user(self._waiting))
            self._waiting = []


def _instructions(asked: InboundRequest) -> InboundRequest:
    texts = [
        "".join(part.value for part in message.content if isinstance(part, TextPart))
        for message in asked.messages
        if message.role is Role.SYSTEM
    ]
    names = {message.name for message in asked.messages if message.role is Role.SYSTEM}
    others = tuple(message for message in asked.messages if message.role is not Role.SYSTEM)
    said = "\n\n".join(text for text in texts if text)
    spoken = ChatMessage.system(said, names.pop() if len(names) == 1 else None)
    return replace(asked, messages=(spoken, *others) if said else others)


def _mode(asked: InboundRequest) -> InboundRequest:
    return asked if asked.options.tools else replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


FAILED_RESULTS: Final = RequestFeature(
    "failed-results",
    "That a tool failed is said in the words of its result.",
    each_part_of_a_request(_in_words),
)
PICTURES: Final = RequestFeature(
    "pictures",
    "Images and files in results of tools, and those of the assistant, follow in the next message of the user; "
    "with the setting `toolImages: native` those of tools stay.",
    _pictures,
)
PICTURES_OF_ANSWERS: Final = RequestFeature(
    "pictures-of-answers",
    "Images and files of the assistant follow in the next message of the user.",
    _pictures_of_answers,
)
INSTRUCTIONS: Final = RequestFeature(
    "instructions",
    "System messages are one text before the conversation, unless a setting says so; it has the name that all have.",
    _instructions,
)
TOOL_MODE: Final = RequestFeature("tool-mode", "Without a tool, none can be demanded.", _mode)


# ---- requests on wires where a message holds one text ----


def each_run_of_users(
    join: Callable[[Sequence[MessagePart]], Iterable[MessagePart]],
) -> Callable[[InboundRequest], InboundRequest]:
    """Applies a function to what a user says in one message between two results of tools."""

    def joined(message: ChatMessage) -> ChatMessage:
        if message.role is not Role.USER:
            return message
        content: list[MessagePart] = []
        for of_tools, run in groupby(message.content, lambda part: isinstance(part, ToolResultPart)):
            said = list(run)
            content += said if of_tools else join(said)
        return replace(message, content=tuple(content))

    return lambda asked: replace(asked, messages=tuple(map(joined, asked.messages)))


def _answers(asked: InboundRequest) -> InboundRequest:
    """Makes one message of what one assistant says in a row: its text, then its calls."""
    messages: list[ChatMessage] = []
    for (role, _), run in groupby(asked.messages, lambda message: (message.role, message.name)):
        said = list(run)
        messages += [_answer(said)] if role is Role.ASSISTANT else said
    return replace(asked, messages=tuple(messages))


def _answer(messages: list[ChatMessage]) -> ChatMessage:
    text = joined_texts(run for message in messages for run in _runs(message.content))
    calls = (part for message in messages for part in message.content if isinstance(part, ToolCallPart))
    return ChatMessage.assistant([TextPart(text), *calls], messages[0].name)


def _runs(parts: Iterable[MessagePart]) -> Iterator[str]:
    for is_text, run in groupby(parts, lambda part: isinstance(part, TextPart)):
        if is_text:
            yield "".join(part.value for part in run if isinstance(part, TextPart))


ANSWERS: Final = RequestFeature(
    "answers", "What the assistant says in a row is one message: its text, and then its calls.", _answers
)
