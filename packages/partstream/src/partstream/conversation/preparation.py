"""Makes a request that any protocol can write from messages and options; no I/O, one object per request.

:func:`prepare` converts messages into turns (:mod:`partstream.conversation.turns`), reads the provider state that
earlier responses left in the conversation (:mod:`partstream.conversation.provider_state`), and returns a
:class:`Preparation`. That object makes a :class:`ChatRequest` with as much state as the server accepts: a server that
refuses some of it gets the request again without it.

A request may continue a stored response instead of sending the conversation, but only a response that saw exactly the
messages before it. An edited, cut or summarised history has another digest, and is sent as a whole. The state cannot
differ from the conversation, because only the conversation holds it.

:class:`ResponseState` is the way back: it gives the parts of a response the consumer's names, and makes the stateful
marker of the response.
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from partstream.codec.checks import dataclass, field, fields
from partstream.codec.redaction import HiddenValues
from partstream.conversation import provider_state
from partstream.conversation import turns as conversation
from partstream.conversation.tool_forms import HostedForm, hosted_on
from partstream.lm.completions import COMPLETION, CompletionRequest
from partstream.lm.messages import ChatMessage, RequestOptions, Role, StrictTool, Tool, ToolMode
from partstream.lm.outputs import ASKS_TO_THINK, HOSTED, IDLE_TOOLS
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, unchecked_part
from partstream.settings.kinds import BODY, BOOLEAN, HEADERS, TEXT, Choice, check_headers, choice
from partstream.settings.row import Secrecy, Setting

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

T = TypeVar("T")

# ---- Continuation ----


def history_digest(messages: Iterable[ChatMessage]) -> str:
    """The digest of a whole conversation, for the marker of its response."""
    digest = conversation.HistoryDigest()
    for message in messages:
        digest.add(message)
    return digest.value


def find_continuation(
    messages: Sequence[ChatMessage],
    markers: Mapping[int, provider_state.StateMarker],
    turns: Sequence[conversation.Turn],
    origin: provider_state.Origin,
    ids: conversation.CallIds,
) -> tuple[int, str] | None:
    """The last message whose stored response saw exactly the messages before it, and the id of that response; or None.

    Turns must follow the message, and answer its calls only by ids that the server knows.
    """
    usable = {
        number: marker
        for number, marker in markers.items()
        if marker.origin == origin and marker.response_id and is_answer(messages[number], marker)
    }
    found = None
    digest = conversation.HistoryDigest()
    for number, message in enumerate(messages):
        marker = usable.get(number)
        if marker is not None and marker.response_id and digest.value == marker.history:
            found = number, marker.response_id
        digest.add(message)
    if found is None:
        return None
    rest = [turn for turn in turns if turn.message > found[0]]
    results = (piece for turn in rest for piece in turn.content if isinstance(piece, conversation.Result))
    return found if rest and not any(ids.is_changed(result.call_id) for result in results) else None


def is_answer(message: ChatMessage, marker: provider_state.StateMarker) -> bool:
    """Whether a message still holds exactly the response."""
    if any(isinstance(part, ToolResultPart) for part in message.content):
        return False
    return conversation.answer_digest(message.content) == marker.answer


# ---- The request in the form common to all protocols ----

ASKED_IN: Final = "_askedIn"
"""The option of a host that names the wire of the client; see :attr:`ChatRequest.asked_in`."""


@dataclass(frozen=True, slots=True)
class SentTool(Tool):
    """A tool under the name to send, with the schema to send; made of a tool that was checked.

    Attributes:
        is_strict: Whether the server keeps calls to the schema.
    """

    is_strict: bool = False

    def __post_init__(self) -> None:
        """Checks nothing again."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, ready to be written.

    Attributes:
        turns: The conversation, or its part after `previous_response_id`.
        instructions: The system messages as one text; empty if the settings keep them among the turns.
        options: The caller's options for this request, by the caller's names.
        reasoning_effort: The user's choice of reasoning effort, or None.
        context_size: The user's choice of context size in tokens, or None.
        cache_key: A key that requests with a common beginning share, at most 64 characters, or None.
        previous_response_id: The id of the stored response that the turns follow, or None.
        has_reasoning: Whether the turns hold reasoning items.
        settings: How to write the request.
        reasoning_is_refused: Whether the current turn may have reasoning that the turns do not hold, because the server
            refused to take it back, or missed some of it.
        input_tokens: The expected tokens of the prompt, or None if they were not counted, or the protocol needs none.
        asked_in: The wire of the options' names; empty for the wire of the server.
        instructions_name: The name of who speaks in all system messages of `instructions`; empty for none, or several.
        asks_to_think: Whether the caller wants thinking; None where it leaves that open.
        idle_tools: Tools that the model may not call. A server with a word for that, to which it keeps, gets them,
            because earlier calls need them and its prompt cache holds them.
        hosted_tools: The tools that the server runs, in its words.
        demanded_tool: The one of them that the model must use, or None.
        completion: The completion that is asked for; None in a conversation.
    """

    model_id: str
    turns: tuple[conversation.Turn, ...]
    instructions: str
    tools: tuple[SentTool, ...]
    tool_mode: ToolMode
    options: Mapping[str, Any]
    reasoning_effort: str | None
    context_size: int | None
    cache_key: str | None
    previous_response_id: str | None
    has_reasoning: bool
    settings: RequestSettings
    reasoning_is_refused: bool = False
    input_tokens: int | None = None
    asked_in: str = ""
    instructions_name: str = ""
    asks_to_think: bool | None = None
    idle_tools: tuple[SentTool, ...] = ()
    hosted_tools: tuple[Mapping[str, Any], ...] = ()
    demanded_tool: Mapping[str, Any] | None = None
    completion: CompletionRequest | None = None


# ---- Facts about servers and models, which are no settings ----


class FormedSchema(NamedTuple):
    """The schema of a tool as a server takes it.

    Attributes:
        schema: An object with properties.
        renamed: The given names of its properties, by the names to send, where these are others.
        lost: The keywords that the server has no place for, and the references that it gets no definition for.
    """

    schema: Mapping[str, Any]
    renamed: Mapping[str, str] = MappingProxyType({})
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationRules:
    """The ids, names and items that a server accepts in a conversation, according to its protocol.

    `may_end` decides whether an item that goes back, such as reasoning, may be the last one of a response. Servers
    refuse an item there that only leads to the next one, for instance the reasoning before a call that is gone.
    `tool_schema` puts the schema of a tool into the form that the server takes. `takes_strict` says whether it can be
    told to keep calls to a schema. `hosted_tools` has the tools that the server itself runs; where `mixes_tools` is
    false, it takes none beside those of the client. `file_words` has what it takes of the words of a client about a
    file (:class:`partstream.lm.parts.FilePart`), each for an `image`, a `file`, or both. `fits_answer` says whether a
    request limits its answer by :attr:`ChatRequest.input_tokens`: it waits for their estimate then.
    """

    call_ids: conversation.CallIdRule = conversation.ANY_IDS
    tool_names: conversation.NameForm = conversation.ANY_NAME
    may_end: Callable[[Mapping[str, Any]], bool] = lambda _item: True
    tool_schema: Callable[[Mapping[str, Any] | None], FormedSchema] = lambda schema: FormedSchema(
        {"type": "object", "properties": {}, **(schema or {})}
    )
    takes_strict: bool = False
    hosted_tools: Mapping[str, HostedForm] = field(default_factory=dict)
    mixes_tools: bool = True
    file_words: Mapping[str, str] = field(default_factory=dict)
    fits_answer: bool = False


ANY_CONVERSATION: Final = ConversationRules()
"""The conversations that nearly every server accepts."""


class ThinkingForm(StrEnum):
    """A way to ask a model to think."""

    ADAPTIVE = "adaptive"
    """The model decides how much; an effort may guide it."""
    BUDGET = "budget"
    """The request says how many tokens thinking may take."""


class ContextEdit(StrEnum):
    """A way in which a server shortens a conversation by itself."""

    CLEAR_THINKING = "clear-thinking"
    """It takes out the thinking of earlier turns."""
    CLEAR_TOOL_RESULTS = "clear-tool-results"
    """It takes out old results of tools."""
    SUMMARIZE = "summarize"
    """It puts a summary instead of the conversation."""


class Source(StrEnum):
    """The source of a fact."""

    LIST = "list"
    """The server's list of models."""
    DETAILS = "details"
    """The server's details about the single model: its endpoints, or its own page."""
    CONFIGURATION = "configuration"
    """A person's settings."""
    PROVIDER = "provider"
    """The code of a person's own provider."""
    DEFAULT = "default"
    """None: the fact is assumed."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value, its source, and the source's own name of the field; for a computed value, the fields of its terms."""

    value: T
    source: Source
    field: str

    def __str__(self) -> str:
        return f"{self.value} ({self.origin})"

    @property
    def origin(self) -> str:
        """The source in words, such as `list: context_window`."""
        return f"{self.source}: {self.field}"


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The known facts about one model, from a list of models or from its configuration; None means unknown.

    Attributes:
        context_window: The most tokens of prompt and response together.
        max_input_tokens: The most tokens of a prompt, if prompts have a limit of their own.
        max_output_tokens: The most tokens of a response.
        file_input: Whether prompts may hold files such as PDF. Deprecated since 0.16, as nothing reads it: a list that
            says no does not mean it, because gateways such as OpenRouter read a PDF for any model.
        drops_tools: Whether its server leaves tools out of a prompt without a word.
        reads_tool_choice: Whether its server keeps to a choice of one tool, and of none.
        reasoning_efforts: The levels of reasoning that it takes, lowest first.
        thinking_forms: The ways in which it can be asked to think; empty for none.
        can_stop_thinking: Whether a request may ask it not to think.
        context_edits: What its server can do to shorten a conversation; empty for nothing.
        loaded_window: The window with which its server loads it, where requests may ask for another one.
        trained_window: The largest window with which it can be loaded.

    Example:
        >>> from partstream import ModelCapabilities
        >>> known = ModelCapabilities(context_window=100_000, tool_calling=True)
        >>> known.tool_calling, known.image_input
        (True, None)
    """

    context_window: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    image_input: bool | None = None
    file_input: bool | None = None
    tool_calling: bool | None = None
    drops_tools: bool = False
    reads_tool_choice: bool = True
    reasoning: bool | None = None
    reasoning_efforts: tuple[str, ...] | None = None
    thinking_forms: tuple[ThinkingForm, ...] | None = None
    can_stop_thinking: bool | None = None
    context_edits: tuple[ContextEdit, ...] | None = None
    loaded_window: int | None = None
    trained_window: int | None = None


UNKNOWN_CAPABILITIES: Final = ModelCapabilities()

# ---- Settings of requests ----

_Own = TypeVar("_Own")

EXTRA_BODY: Final = "extraBody"
"""The setting that may not hold fields of the request itself; each protocol lists them."""


class SystemAs(Choice):
    """Where system messages go."""

    INSTRUCTIONS = "instructions", "One text beside the conversation"
    DEVELOPER = "developer", "Messages of the role `developer`, in their places"
    SYSTEM = "system", "Messages of the role `system`, in their places"


class ToolImages(Choice):
    """What a server takes as the result of a tool, beside text."""

    AUTO = "auto", "What every server of the protocol accepts"
    NATIVE = "native", "Images and files, inside the result"
    USER_MESSAGE = "user-message", "Text only: images and files follow in a message of the user"


class Continuation(Choice):
    """Whether a request continues a response that the server has stored, and holds only what came after it."""

    AUTO = "auto", "Where responses are stored, see `store`"
    ON = "on", "Always; the server is asked to store responses"
    OFF = "off", "Never"


class CountTokens(Choice):
    """What counts the tokens of a request before it is sent."""

    HERE = "here", "Partstream: by what was reported, counted and estimated"
    UPSTREAM = "upstream", "The server, where it has an endpoint that counts; the request waits for it up to 2 s"


class OwnFields(HiddenValues):
    """Settings of several protocols by the names of the fields that they have in the classes of their folders.

    What each of them may be has been checked; a value may be secret.
    """


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """How requests to a model are written.

    Attributes:
        system_as: Where system messages go.
        tool_images: What the server takes as the result of a tool.
        continuation: Whether requests continue stored responses.
        store: Whether the server may store responses; :attr:`Continuation.ON` implies it.
        context_size_field: The field of the body in which the server takes the context size that a person chose, in
            tokens (`num_ctx`, ...); None where it takes none.
        count_tokens: What counts the tokens of a request before it is sent.
        max_output_tokens: The most tokens of an answer, sent to the server; None for what the server allows.
        extra_body: Fields that are added to every body; they win over ours, and None takes a field of ours out. Those
            that hold the request itself, as the protocol says, a configuration refuses.
        extra_headers: HTTP headers that are added to every request.
        own: The settings that only the protocol itself has a place for: an object of the class that its folder
            defines, or the fields of several protocols while it is not known which of them is spoken; None for the
            defaults.
        capabilities: The known facts about the model. They are no setting: the sender of a request adds them before the
            protocol completes the settings.

    Raises:
        ConfigurationError: HTTP cannot hold one of the headers.

    Example:
        >>> from partstream import RequestSettings, SystemAs
        >>> RequestSettings(system_as=SystemAs.SYSTEM, extra_body={"temperature": 0}).store
        False
    """

    system_as: SystemAs = SystemAs.INSTRUCTIONS
    tool_images: ToolImages = ToolImages.AUTO
    continuation: Continuation = Continuation.AUTO
    store: bool = False
    context_size_field: str | None = None
    count_tokens: CountTokens = CountTokens.HERE
    max_output_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: Any = None
    capabilities: ModelCapabilities = UNKNOWN_CAPABILITIES

    def __post_init__(self) -> None:
        check_headers(self.extra_headers, "extraHeaders")
        object.__setattr__(self, "extra_headers", HiddenValues(self.extra_headers))
        object.__setattr__(self, "extra_body", HiddenValues(self.extra_body))

    def own_settings(self, kind: type[_Own]) -> _Own:
        """The settings of the class `kind`, which only one protocol has; without any, their defaults."""
        if isinstance(self.own, kind):
            return self.own
        if not isinstance(self.own, OwnFields):
            return kind()
        of_kind: Any = kind  # a dataclass, which no type variable says
        known = {one.name for one in fields(of_kind)}
        return kind(**{name: value for name, value in self.own.items() if name in known})

    @property
    def stores(self) -> bool:
        """Whether the server is asked to store responses."""
        return self.store or self.continuation is Continuation.ON


REQUEST_ROWS: Final = (
    Setting("systemAs", choice(SystemAs), "Where system messages go", "instructions"),
    Setting("toolImages", choice(ToolImages), "What the server accepts as a tool result besides text", "auto"),
    Setting(
        "continuation",
        choice(Continuation),
        "Whether a request continues a response that the server has stored, and holds only what came after it",
        "auto",
    ),
    Setting("store", BOOLEAN, "Whether the server may store responses", default=False),
    Setting(
        "contextSizeField", TEXT, "The field of the body for the context size that a person chose, such as `num_ctx`"
    ),
    Setting("countTokens", choice(CountTokens), "What counts the tokens of a request before it is sent", "here"),
    Setting(
        EXTRA_BODY,
        BODY,
        "Fields that are added to every body; they override Partstream's own; `null` removes one",
        secrecy=Secrecy.BODY,
    ),
    Setting("extraHeaders", HEADERS, "Headers that are added to every request", secrecy=Secrecy.HEADERS),
)
"""The settings of requests that every protocol has a place for; protocols add their own."""


# ---- Preparation ----


@dataclass(frozen=True, slots=True)
class Preparation:
    """A prepared request, and the names and ids for reading its response.

    Attributes:
        whole: The request with the whole conversation.
        reasoning: The reasoning items to put back, by the number of the message.
        current: The number of the message that began the current turn: the last of the user that is not only results
            of tools.
        rules: What the server accepts in a conversation.
        continuation: The number of the message and the id of the stored response to continue, or None.
    """

    whole: ChatRequest
    reasoning: Mapping[int, tuple[Mapping[str, Any], ...]]
    current: int
    rules: ConversationRules
    continuation: tuple[int, str] | None
    names: conversation.ToolNames
    ids: conversation.CallIds
    notes: tuple[conversation.Note, ...]

    @property
    def carries(self) -> provider_state.Carried:
        """The state that the request can carry.

        A turn with calls can carry reasoning even where none of it is left: a server that misses it takes the request
        once more without thinking, see :attr:`partstream.conversation.preparation.ChatRequest.reasoning_is_refused`.
        """
        response = provider_state.Carried.RESPONSE if self.continuation else provider_state.Carried.NOTHING
        calling = (
            turn.message
            for turn in self.whole.turns
            if turn.message >= self.current and any(isinstance(piece, conversation.Call) for piece in turn.content)
        )
        return reduce(or_, map(self._kind, {*self.reasoning, *calling}), response)

    def request(self, carried: provider_state.Carried = provider_state.Carried.EVERYTHING) -> ChatRequest:
        """The request, with at most the state in `carried`."""
        request, turns = self.whole, self.whole.turns
        if not (carries := self.carries):
            return request
        if self.continuation is not None and provider_state.Carried.RESPONSE in carried:
            last, response_id = self.continuation
            turns = tuple(turn for turn in turns if turn.message > last)
            request = replace(request, previous_response_id=response_id)
        reasoning = {number: items for number, items in self.reasoning.items() if self._kind(number) in carried}
        done: set[int] = set()
        placed: list[conversation.Turn] = []
        for turn in turns:
            items = reasoning.get(turn.message)
            if items and turn.role is conversation.TurnRole.ASSISTANT and turn.message not in done:
                done.add(turn.message)
                turn = replace(turn, content=provider_state.place_reasoning(turn.content, items, self.rules.may_end))  # noqa: PLW2901
            placed.append(turn)
        is_refused = provider_state.Carried.REASONING in carries and provider_state.Carried.REASONING not in carried
        return replace(request, turns=tuple(placed), has_reasoning=bool(reasoning), reasoning_is_refused=is_refused)

    def _kind(self, number: int) -> provider_state.Carried:
        """The kind of the reasoning in a message."""
        return provider_state.Carried.EARLIER if number < self.current else provider_state.Carried.REASONING


def prepare(
    origin: provider_state.Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    settings: RequestSettings,
    call_id_prefix: str = "",
    rules: ConversationRules = ANY_CONVERSATION,
) -> Preparation:
    """Prepares a request.

    Args:
        call_id_prefix: The prefix of this upstream's call ids, which is removed; other ids stay.
    """
    given, notes = conversation.read_turns(messages)
    words = {(word, one.kind) for one in conversation.attachments(given) for word in one.about}
    if untold := {f"content[].{word}" for word, kind in words if kind not in rules.file_words.get(word, "")}:
        said = "placeholders for files that the server does not accept"
        notes.append(conversation.Note(said, "messages", tuple(sorted(untold))))
    hosted: tuple[Mapping[str, Any], ...] = ()
    demanded = None
    if asked := options.model_options.get(HOSTED):
        is_only = any(one.is_demanded for one in asked)
        forms = rules.hosted_tools if rules.mixes_tools or is_only or not options.tools else {}
        hosted, demanded, lost_tools = hosted_on(forms, asked)
        notes += lost_tools
        if is_only and not rules.mixes_tools:
            options = replace(options, tools=())
    calls = (piece.name for turn in given for piece in turn.content if isinstance(piece, conversation.Call))
    listed = options.tools or options.model_options.get(IDLE_TOOLS, ())
    formed = [rules.tool_schema(tool.input_schema) for tool in listed]
    renamed = {tool.name: one.renamed for tool, one in zip(listed, formed, strict=True) if one.renamed}
    names = conversation.ToolNames([*(tool.name for tool in listed), *calls], rules.tool_names, renamed)
    sent = tuple(
        SentTool(
            names.to_upstream(tool.name),
            conversation.well_formed(tool.description),
            one.schema,
            isinstance(tool, StrictTool) and rules.takes_strict,
        )
        for tool, one in zip(listed, formed, strict=True)
    )
    ids = conversation.CallIds(call_id_prefix, rules.call_ids)
    # Our markers, by the number of their assistant message; the last of several.
    markers = {
        number: marker
        for number, message in enumerate(messages)
        if message.role is Role.ASSISTANT
        for part in message.content
        if isinstance(part, DataPart) and (marker := provider_state.read_marker(part)) is not None
    }
    # The upstreams of one program share a prefix, so only the marker shows which one made a call.
    foreign = {number for number, marker in markers.items() if marker.origin.upstream != origin.upstream}
    turns, pairing_notes = conversation.pair(given, ids, names, foreign)
    instructions, speaker, turns = _instructions(turns, settings)
    context_size = options.model_configuration.get("contextSize")
    cache_key = _text_or_none(options.model_options.get("_conversationId"))
    request = ChatRequest(
        model_id=origin.model,
        turns=tuple(turns),
        instructions=instructions,
        tools=sent if options.tools else (),
        tool_mode=options.tool_mode,
        # Names with an underscore are for the host (observed in Copilot 0.67).
        options={name: value for name, value in options.model_options.items() if not name.startswith("_")},
        reasoning_effort=_text_or_none(options.model_configuration.get("reasoningEffort")),
        context_size=context_size if type(context_size) is int and context_size > 0 else None,
        cache_key=cache_key if cache_key is None or len(cache_key) <= 64 else conversation.short_digest(cache_key, 16),
        previous_response_id=None,
        has_reasoning=False,
        settings=settings,
        asked_in=_text_or_none(options.model_options.get(ASKED_IN)) or "",
        instructions_name=speaker,
        asks_to_think=options.model_options.get(ASKS_TO_THINK),
        idle_tools=() if options.tools or not settings.capabilities.reads_tool_choice else sent,
        hosted_tools=hosted,
        demanded_tool=demanded,
        completion=CompletionRequest.asked(options.model_options) if COMPLETION in options.model_options else None,
    )
    continuation = None
    if settings.continuation is not Continuation.OFF and settings.stores:
        continuation = find_continuation(messages, markers, turns, origin, ids)
    current = max((turn.message for turn in turns if turn.role is conversation.TurnRole.USER), default=0)
    reasoning = _reasoning(messages, markers, origin, current)
    thoughts = [
        number
        for number, message in enumerate(messages)
        if number not in reasoning and any(isinstance(part, ThinkingPart) for part in message.content)
    ]
    if thoughts and request.asked_in:
        where = f"messages[{thoughts[0]}]"
        notes.append(conversation.Note("thinking of another server or model, left out", where, ("thinking",)))
    if not rules.takes_strict and (strict := [tool.name for tool in listed if isinstance(tool, StrictTool)]):
        where = f"tools {', '.join(strict)}"[:_MOST_SAID]
        notes.append(conversation.Note("tools without strict", where, ("tools[].strict",)))
    if of_tools := [tool.name for tool, one in zip(listed, formed, strict=True) if one.lost]:
        lost = sorted({word for one in formed for word in one.lost})
        said = f"schemas of tools lose {', '.join(lost)}, which the server does not take"
        notes.append(conversation.Note(said[:_MOST_SAID], f"tools {', '.join(of_tools)}"[:_MOST_SAID]))
    return Preparation(request, reasoning, current, rules, continuation, names, ids, (*notes, *pairing_notes))


_MOST_SAID: Final = 500  # characters of a note


def _reasoning(
    messages: Sequence[ChatMessage],
    markers: Mapping[int, provider_state.StateMarker],
    origin: provider_state.Origin,
    current: int,
) -> dict[int, tuple[Mapping[str, Any], ...]]:
    """The reasoning items to put back, by the number of the message.

    If the text of a finished turn was edited, the places of items inside it are unknown, and they are omitted. Servers
    demand the items of the current turn in any case.
    """
    found: dict[int, tuple[Mapping[str, Any], ...]] = {}
    for number, message in enumerate(messages):
        marker = markers.get(number)
        if message.role is not Role.ASSISTANT or not (items := carried_reasoning(message, marker, origin)):
            continue
        if number >= current or marker is None or not marker.answer or is_answer(message, marker):
            found[number] = items
    return found


def carried_reasoning(
    message: ChatMessage, marker: provider_state.StateMarker | None, origin: provider_state.Origin
) -> tuple[Mapping[str, Any], ...]:
    """The reasoning items that an assistant message brings back to their own upstream and model.

    Thinking parts hold them within a turn of the user, the stateful marker in later turns.
    """
    for part in reversed(message.content):
        if isinstance(part, ThinkingPart) and part.metadata and part.metadata.get(provider_state.ORIGIN) == origin.key:
            listed = part.metadata.get(provider_state.ITEMS)
            if items := provider_state.usable_items(listed if isinstance(listed, list | tuple) else ()):
                return items
    if marker is not None and marker.origin == origin:
        return provider_state.usable_items(marker.reasoning)
    return ()


def _instructions(
    turns: list[conversation.Turn], settings: RequestSettings
) -> tuple[str, str, list[conversation.Turn]]:
    """The text of the system messages, the name of who speaks in all of them, and the other turns, if the settings send
    system messages as instructions."""
    said = [turn for turn in turns if turn.role is conversation.TurnRole.SYSTEM]
    if not said or settings.system_as is not SystemAs.INSTRUCTIONS:
        return "", "", turns
    texts: dict[int, str] = {}
    for turn in said:
        text = "".join(piece.value for piece in turn.content if isinstance(piece, conversation.Text))
        texts[turn.message] = texts.get(turn.message, "") + text
    instructions, names = "\n\n".join(texts.values()), {turn.name for turn in said}
    speaker = names.pop() if instructions and len(names) == 1 else ""
    return instructions, speaker, [turn for turn in turns if turn.role is not conversation.TurnRole.SYSTEM]


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# ---- The way back ----


_Call = TypeVar("_Call", bound=ToolCallPart)


class ResponseState:
    """The state that one response leaves in the conversation; sees every part of the response, in order."""

    def __init__(self, origin: provider_state.Origin, names: conversation.ToolNames) -> None:
        self._origin = origin
        self._names = names
        self._texts: list[str] = []
        self._calls: list[ToolCallPart] = []
        self._place = provider_state.AnswerPlace()
        self._reasoning: list[dict[str, Any]] = []

    def see(self, part: ResponsePart) -> ResponsePart:
        """Reads a part of the response; returns the part for the consumer."""
        if isinstance(part, TextPart):
            self._texts.append(part.value)
            self._place.add_text(part.value)
        elif isinstance(part, ToolCallPart):
            part = self.see_call(part)
        elif isinstance(part, ThinkingPart) and part.metadata is not None:
            items = part.metadata.get(provider_state.ITEMS)
            if isinstance(items, list | tuple):
                place = self._place.value
                self._reasoning += [{**item, provider_state.PLACE: place} for item in items[len(self._reasoning) :]]
                ours = {provider_state.ITEMS: list(self._reasoning), provider_state.ORIGIN: self._origin.key}
                part = replace(part, metadata={**part.metadata, **ours})
        return part

    def see_call(self, part: _Call) -> _Call:
        """Reads a call of the response; returns it with the host's names."""
        name = self._names.from_upstream(part.name)
        part = unchecked_part(type(part), part.call_id, name, self._names.input_from_upstream(name, part.input))
        self._calls.append(part)
        self._place.add_call()
        return part

    def marker(self, model_id: str, response_id: str | None, history: Callable[[], str]) -> DataPart | None:
        """The stateful marker of the response, or None if it would carry no state.

        Args:
            model_id: The host's id of the model.
            response_id: The id of the response if the server was to store it, otherwise None.
            history: Returns the digest of the request's messages; called only if needed.
        """
        reasoning = provider_state.usable_items(self._reasoning)
        if response_id is None and not reasoning:
            return None
        marker = provider_state.StateMarker(self._origin, response_id, reasoning=reasoning)
        if response_id is not None or any(map(provider_state.follows_text, reasoning)):
            parts: list[ResponsePart] = [TextPart("".join(self._texts)), *self._calls]
            marker = replace(
                marker, answer=conversation.answer_digest(parts), history="" if response_id is None else history()
            )
        return provider_state.marker_part(model_id, marker)
