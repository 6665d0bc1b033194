"""The values between a protocol and the rest of Partstream: the outputs of an answer, and a request.

A response is a sequence of parts, then exactly one :class:`Finish`. An adapter (:class:`ResponseStream`) reads one
response from events; a writer (:class:`partstream.protocols.serve.ResponseWriter`) writes one as events. Both live for
one response, do no I/O, read no clock and log nothing. An upstream's mistake becomes the error of a :class:`Finish`,
never an exception; only a mistake of the caller raises (:class:`partstream.errors.AdapterUsageError`).

A request is an :class:`InboundRequest`, in whichever protocol it came.
"""

from __future__ import annotations
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from partstream.codec.checks import TEXT, check_fields, dataclass, field, instance_of, optional
from partstream.codec.json_codec import loads_or_none
from partstream.errors import LanguageModelError
from partstream.lm import parts
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.settings.kinds import Choice


class Outcome(StrEnum):
    """How a response ended."""

    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    """A limit or a filter stopped the model; the parts until then are valid."""
    FAILED = "failed"
    TRUNCATED = "truncated"
    """The bytes ended before the response did."""


VALID: Final = frozenset({Outcome.COMPLETED, Outcome.INCOMPLETE})
"""The outcomes of answers that did not fail."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer; the last output of every stream.

    Attributes:
        outcome: How the response ended.
        reason: Why the model stopped, or None if the upstream gave no reason.
        usage: The reported tokens, or None.
        response_id: The upstream's id of the response, or None.
        model: The upstream's name of the model that answered, or None.
        error: The error of a failed or truncated response; None for other outcomes.
        provider_metadata: The provider's other facts about the whole response, by the provider's name; JSON values.
        edits: The upstream's own cuts to the conversation, a phrase each.
        explanation: The upstream's own sentence for why the model stopped, such as that of a refusal; or None.
        dropped: What the upstream said and no output holds: the paths of its fields, such as
            `choices[].logprobs.content`, without values; at most 100. Two ends that differ in it alone are equal.
        logprobs: The log probabilities of the tokens of the text, as far as the upstream gave them, in the words of
            OpenAI: `token`, `logprob`, `bytes` and `top_logprobs` of each; at most 50,000 with those inside.

    Example:
        >>> from partstream import Finish, FinishReason, Outcome, UnifiedFinishReason, Usage
        >>> stopped = FinishReason(UnifiedFinishReason.STOP)
        >>> Finish(Outcome.COMPLETED, stopped, Usage(input_tokens=9, output_tokens=5)).usage.output_tokens
        5
    """

    outcome: Outcome
    reason: parts.FinishReason | None = None
    usage: parts.Usage | None = None
    response_id: str | None = None
    model: str | None = None
    error: LanguageModelError | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[str, ...] = ()
    explanation: str | None = None
    dropped: tuple[str, ...] = field(default=(), compare=False)
    logprobs: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, _FINISH)

    def fact(self, name: str) -> Any:
        """The first of the provider's facts with this name; None for none."""
        facts = (one.get(name) for one in self.provider_metadata.values() if isinstance(one, Mapping))
        return next((one for one in facts if one is not None), None)


SERVICE_TIER: Final = "serviceTier"
"""The provider's fact of the service tier that answered, but for the usual one."""


@dataclass(frozen=True, slots=True)
class Unmapped:
    """An event of the upstream that no part can represent; counted and shown, never swallowed.

    Attributes:
        type: The upstream's name of the event's type.
        data: The event as it came.

    Example:
        >>> from partstream import StreamReader, Unmapped
        >>> output = next(iter(StreamReader().feed(b'data: {"type":"response.news","words":"new"}\\n\\n')))
        >>> output == Unmapped("response.news", {"type": "response.news", "words": "new"})
        True
    """

    type: str
    data: Mapping[str, Any]


StreamOutput: TypeAlias = parts.ResponsePart | Unmapped | Finish
"""An output of an adapter."""


# ---- What an output says ----


class Facts:
    """The names of what outputs say beside texts, thinking and calls (:func:`facts_of`), by groups."""

    COUNTS: Final = tuple(f"usage.{name}_tokens" for name in ("input", "output", "cached", "reasoning", "cache_write"))
    MOST: Final = frozenset(
        {"thinking.state", "finish_reason.filter", "citation.url", "citation.title", "logprobs", *COUNTS}
    )
    """What four of five wires say."""
    FILES: Final = frozenset({"image", "audio", "video", "application", "text", "file"})
    SOURCES: Final = frozenset({"citation", "citation.sourceId"})
    """Sources without an address, and the ids of those with one."""
    PLACES: Final = frozenset({"citation.startIndex", "citation.endIndex", "citation.citedText"})


class AllBut(frozenset[str]):
    """The names of all facts but these: what a wire says that passes on what it does not know."""

    def __contains__(self, name: object) -> bool:
        return not super().__contains__(name)


def facts_of(output: StreamOutput) -> Iterator[str]:
    """Names what an output says beside texts, thinking and calls, which not every wire has a place for.

    `thinking.state` is what a server wants back, `citation` a source without an address and `citation.title` a field of
    one with an address, `image`, `audio` and such a file, `usage.cached_tokens` a count, `usage.half` that of one side
    alone, `logprobs.bytes` those of a token that is no text, `finish_reason` a word of the server's own,
    `finish_reason.filter` that a filter has ended it, `explanation` the server's sentence. Other names are those of the
    provider's facts, such as `stopSequence`.
    """
    if isinstance(output, Finish):
        yield from _facts_of_the_end(output)
    elif isinstance(output, parts.ThinkingPart):
        yield from ("thinking.state",) if output.metadata else ()
    elif isinstance(output, parts.DataPart) and output.mime_type.endswith(_CITATION):
        cited = loads_or_none(output.data)
        source = cited if isinstance(cited, dict) and "url" in cited else {}
        yield from (f"citation.{name}" for name in _OF_A_CITATION if name in source) if source else ("citation",)
        if source.get("sourceId", source.get("url")) != source.get("url"):
            yield "citation.sourceId"
    elif isinstance(output, parts.DataPart) and not parts.is_mark(output.mime_type):
        yield "file" if output.mime_type == "text/uri-list" else output.mime_type.partition("/")[0]


def _facts_of_the_end(finish: Finish) -> Iterator[str]:
    counted = [one for one in Facts.COUNTS if getattr(finish.usage, one.removeprefix("usage."), None) is not None]
    yield from counted
    if counted and not {*Facts.COUNTS[:2]} <= {*counted}:
        yield "usage.half"
    reason = finish.reason
    if reason is not None and reason.unified is parts.UnifiedFinishReason.CONTENT_FILTER:
        yield "finish_reason.filter"
    elif reason is not None and reason.unified is parts.UnifiedFinishReason.OTHER and reason.raw:
        yield "finish_reason"
    if finish.explanation:
        yield "explanation"
    if finish.logprobs:
        yield "logprobs"
    tokens = (one for chosen in finish.logprobs for one in (chosen, *chosen.get("top_logprobs", ())))
    if any(one["bytes"] != [*one["token"].encode("utf-8", "surrogatepass")] for one in tokens):
        yield "logprobs.bytes"
    for facts in finish.provider_metadata.values():
        yield from (name for name in facts if name not in _OWN) if isinstance(facts, Mapping) else ()


_CITATION: Final = "citation+json"
_OF_A_CITATION: Final = ("url", "title", "filename", "mediaType", "startIndex", "endIndex", "citedText")
_OWN: Final = frozenset({"createTime", "generationId", "routing", "cost"})
"""The provider's facts that say nothing of the answer: its time, an id, and what the ledger has."""


# ---- Options ----


class ThinkingMode(Choice):
    """How the model's thinking is rendered."""

    PART = "part", "As thinking parts, which a host shows separately"
    TEXT = "text", "As a quote in the answer, for hosts without thinking parts"
    OFF = "off", "Not at all"


class CitationMode(Choice):
    """How the sources that a model cites are rendered."""

    INLINE = "inline", "As a link in the text, unless the text already holds the link"
    DATA = "data", "As a data part of media type `application/vnd.vscode.citation+json` for each source"
    END = "end", "As a list of links at the end of the answer"
    OFF = "off", "Not at all"


class FileMode(Choice):
    """What becomes of a file of the answer of which the server gives only the address."""

    LINK = "link", "A link in the text, which a chat shows"
    ADDRESS = "address", "A data part of media type `text/uri-list` that holds the address, for programs"
    FETCH = "fetch", "Its bytes as a data part, at most 16 MiB within 20 seconds; a link if they cannot be fetched"


class ExecutedCode(Choice):
    """How code is rendered that the server has run to answer, with what came out of it."""

    TEXT = "text", "As blocks of code in the answer"
    OFF = "off", "Not at all"


class ThinkTags(Choice):
    """Where the text of an answer holds thinking: servers without a parser of their own leave it there."""

    OFF = "off", "Nowhere: tags are text"
    TAGS = "tags", "Between tags, such as `<think>` and `</think>`, at the beginning of the answer"
    STARTS_INSIDE = "starts-inside", "Before `</think>`: the model's template has written the opening tag"


GATEWAY_CALL_ID_PREFIX: Final = "gw-"
"""What a gateway puts before every call id, and takes off again on the way to the server: it keeps the calls of several
servers in one conversation of VS Code apart."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How an adapter renders an answer.

    Attributes:
        thinking: How to render reasoning.
        citations: How to render citations.
        call_id_prefix: The prefix of every call id; none by default, so that a program finds the ids of its server. A
            gateway puts :data:`GATEWAY_CALL_ID_PREFIX` there.
        files: How to render files that are addresses. An adapter does no I/O: with :attr:`FileMode.FETCH` it returns
            the address, and the owner of the connection fetches the file.
        think_tags: Where the text of a response holds thinking; ignored once thinking came in its own place.
        executed_code: How to render code that the server has run, where it has a form of its own.
        waits_for_outcomes: Whether a tool call of the AI SDK waits, until the end of its step, for an outcome: for the
            stream of an application that runs tools itself. A call with an outcome is not given out then. The content
            after a call waits with it.

    Example:
        >>> from partstream import StreamOptions, ThinkingMode
        >>> StreamOptions(thinking=ThinkingMode.OFF).call_id_prefix
        ''
    """

    thinking: ThinkingMode = ThinkingMode.PART
    citations: CitationMode = CitationMode.INLINE
    call_id_prefix: str = ""
    files: FileMode = FileMode.LINK
    think_tags: ThinkTags = ThinkTags.TAGS
    executed_code: ExecutedCode = ExecutedCode.TEXT
    waits_for_outcomes: bool = False

    def __post_init__(self) -> None:
        check_fields(self, _STREAM_OPTIONS)


EmitText: TypeAlias = Callable[[str, list[StreamOutput]], None]
"""Takes the text of an event that differs from the event before it in nothing else, and appends the outputs."""


class ResponseStream(Protocol):
    """An adapter: takes the events of one response in one protocol, returns outputs.

    Attributes:
        emit_more: The fast path: does, until the next call of another method, what :meth:`feed_into` would do for the
            last event with another text that is not empty. None after an event that does more than add its text.
    """

    emit_more: EmitText | None

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns its outputs, in order.

        Raises:
            AdapterUsageError: The stream has already been ended.
        """

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Does the same as :meth:`feed`, but appends to a given list, for loops."""

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Records that no more events come; returns the remaining outputs, with the :class:`Finish` unless it is out.

        Args:
            whole: Whether the protocol has reported, beside the events, that the response is complete.

        Raises:
            AdapterUsageError: The stream has already been ended.
        """

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the stream with an error from below the protocol; has no effect after the :class:`Finish`."""

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out: no later event can change the response."""

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still send more about it."""


@runtime_checkable
class ReportingStream(Protocol):
    """An adapter that knows tokens before the end, see :class:`ResponseStream`."""

    @property
    def usage(self) -> parts.Usage | None:
        """The tokens that the upstream has reported so far, or None."""


@runtime_checkable
class EndingStream(Protocol):
    """An adapter whose wire may leave out the mark of its end, see :class:`ResponseStream`."""

    @property
    def ending(self) -> bool:
        """Whether the upstream has reported that the response is whole, and may still add to it, such as its tokens."""


@runtime_checkable
class PausingStream(ResponseStream, Protocol):
    """An adapter whose upstream may pause its response.

    A paused response is not complete: the upstream goes on with it when it gets back what it has sent. The adapter is
    fed the events of that response too, and its :class:`Finish` is that of both. Ended while paused, its
    :class:`Finish` is incomplete.
    """

    @property
    def paused(self) -> Mapping[str, Any] | None:
        """What the upstream has sent of a paused response, in the protocol's own form; None while it is not paused."""

    def go_on(self) -> None:
        """Records that the events of the response that goes on with the paused one follow."""


ASKS_TO_THINK: Final = "_asksToThink"
"""The option of a host that says whether the client wants thinking: true, false, or missing."""
IDLE_TOOLS: Final = "_idleTools"
"""The option of a host with the tools that the client lists and forbids to call."""
HOSTED: Final = "_hostedTools"
"""The option of a host with the tools that the server is to run, each a :class:`HostedTool`."""


class ToolForm(NamedTuple):
    """What a client calls a tool: its kind in the words of the wire, such as `custom`, its own name, its namespace."""

    kind: str
    name: str
    namespace: str = ""


class HostedTool(NamedTuple):
    """A tool that the client wants the server to run.

    Attributes:
        kind: What it does, see :func:`partstream.conversation.tool_forms.hosted_kind`.
        where: Its place in the request, in the client's words.
        name: Its name there.
        details: The rest of its description in the request.
        is_demanded: Whether the model must use it.
    """

    kind: str
    where: str
    name: str
    details: Mapping[str, Any]
    is_demanded: bool = False


@dataclass(slots=True)  # not frozen: that takes twenty times as long for each field of each request
class InboundRequest:
    """A request as the server's side sees it, in whichever protocol it came.

    Attributes:
        model: The client's name of the requested model.
        messages: The conversation in VS Code's messages, with the client's call ids and tool names.
        options: Tools and options. The client's options under the protocol's own names are in `model_options`; the
            reasoning effort is in `model_configuration` under `reasoningEffort`.
        stream: Whether the client wants events; otherwise it wants one document.
        unmapped: What no field above can hold, by its place in the protocol's own words, such as
            `messages[].content[].image_url.detail`: how often it came, or its value.
        dialect: The form of the protocol that the client speaks, if there are several; the protocol's own term.
        body: The JSON object as it came, for protocols whose answers repeat parts of it.
        asks_to_think: Whether the client wants thinking, on a wire whose servers give it on demand alone; None where
            the request leaves it open.
        idle_tools: The tools that the request lists and forbids to call; `options` has none then.
        tool_forms: What the client calls the tools that are no plain functions, by the names of the tools in `options`.
        hosted_tools: The tools that the server is to run.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    options: RequestOptions
    stream: bool = True
    unmapped: Mapping[str, Any] = field(default_factory=dict)
    dialect: str = field(default="", compare=False)
    body: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    asks_to_think: bool | None = field(default=None, compare=False)
    idle_tools: tuple[Tool, ...] = field(default=(), compare=False)
    tool_forms: Mapping[str, ToolForm] = field(default_factory=dict)
    hosted_tools: tuple[HostedTool, ...] = ()

    @property
    def said_beside(self) -> dict[str, Any]:
        """What the request says beside its options, as options of a host."""
        said = {ASKS_TO_THINK: self.asks_to_think, IDLE_TOOLS: self.idle_tools, HOSTED: self.hosted_tools}
        return {name: value for name, value in said.items() if value not in (None, ())}

    @property
    def dropped(self) -> tuple[str, ...]:
        """The places of what no field holds, without their values."""
        return tuple(self.unmapped)


@dataclass(slots=True)  # not frozen, see `InboundRequest`
class Reply:
    """The facts that distinguish one reply from another to the same request.

    Attributes:
        identity: The text from which all ids of the reply are derived, unless the answer has its own.
        created_at: The time of the reply, in seconds since 1970.
        argument_size: The most characters of a call's arguments in one event; None for all of them in one event, as a
            part holds a whole call.
        raw_reasoning: Whether thinking goes on the channel of raw reasoning, on a wire that has one beside a summary.
        secret: What the server signs with that only it reads again; empty for a server that signs nothing.
        is_of_large: Whether the request is large: what events repeat of it is left out where it is long.
    """

    identity: str
    created_at: int
    argument_size: int | None = None
    secret: bytes = field(default=b"", repr=False, compare=False)
    raw_reasoning: bool = False
    is_of_large: bool = False


@dataclass(frozen=True, slots=True)
class Repeated:
    """How a part is written that differs from the part before it in its text alone: as one event, which differs from
    the event before it in the text, and perhaps in a number.

    Attributes:
        event: Makes the event of a text with a number, as the writer would; notes nothing.
        note: Notes that the event of a text was written; returns its number, or 0 where events have none.
        is_numbered: Whether events have a number.
    """

    event: Callable[[str, int], dict[str, Any]]
    note: Callable[[str], int] = lambda _text: 0
    is_numbered: bool = False


@runtime_checkable
class FastPathWriter(Protocol):
    """A response writer with a fast path for the parts that come by the thousand."""

    def repeated(self, part: parts.TextPart | parts.ThinkingPart) -> Repeated | None:
        """How the parts are written, until the next call of its `write`, that have the class of a part and its id, a
        text that is not empty, and no metadata.

        Args:
            part: The part that was written last; has a text and no metadata.

        Returns:
            None where such parts are no single event.
        """


@runtime_checkable
class IdleWriter(Protocol):
    """A writer whose wire has an event for a model that still works, for clients that count events alone."""

    def idle(self) -> list[dict[str, Any]]:
        """These events; the response goes on after them.

        Raises:
            AdapterUsageError: The :class:`Finish` has already been written.
        """


_FINISH: Final = {
    "outcome": instance_of(Outcome, "an Outcome, such as Outcome.COMPLETED"),
    "reason": optional(instance_of(parts.FinishReason)),
    "usage": optional(instance_of(parts.Usage)),
    "error": optional(instance_of(LanguageModelError)),
}
_STREAM_OPTIONS: Final = {
    "thinking": instance_of(ThinkingMode, "a ThinkingMode, such as ThinkingMode.TEXT"),
    "citations": instance_of(CitationMode, "a CitationMode, such as CitationMode.END"),
    "files": instance_of(FileMode, "a FileMode, such as FileMode.LINK"),
    "call_id_prefix": TEXT,
    "executed_code": instance_of(ExecutedCode, "an ExecutedCode, such as ExecutedCode.OFF"),
    "think_tags": instance_of(ThinkTags, "a ThinkTags, such as ThinkTags.OFF"),
    "waits_for_outcomes": instance_of(bool, "True or False"),
}


class ErrorMode(Choice):
    """What to do with an error that ends an answer."""

    REJECT = "reject", "The request is rejected with it"
    TEXT = "text", "As text in the answer, and the request succeeds: for hosts that do not show errors"


def error_text(error: LanguageModelError, *, has_begun: bool) -> parts.TextPart:
    """The text part of an error, for hosts that do not show why a request was rejected."""
    before = "\n\n" if has_begun else ""
    return parts.TextPart(f"{before}**Error:** {error.message}")
