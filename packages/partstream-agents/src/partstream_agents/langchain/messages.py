"""Reads the messages of a run's models: content, calls, usage, and whose text is the answer. Needs no framework.

Content comes from `content_blocks`, the standard form of LangChain core 1.x, in which all packages for models write the
same. LangChain completes JSON that breaks off (core 1.x, `parse_partial_json`): a call whose response was cut at its
limit of tokens looks whole in `tool_calls`, with half a path or half a file in its arguments; so the arguments are
checked as they streamed. The packages for models take the end of the bytes for the end of the response: one that states
neither a finish reason nor usage was cut.
"""

from __future__ import annotations
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import as_count, dataclass, field
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.conversation.citations import Citation, Citations, markdown_link
from partstream.errors import ToolArgumentsError, TruncatedStreamError
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.outputs import CitationMode, Finish, Outcome, Unmapped
from partstream.lm.parts import FinishReason, TextPart, ThinkingPart, Usage, text_part
from partstream.protocols.files import read_base64
from partstream.protocols.read_response import RecentText
from partstream_agents.adapter import AgentFile, AgentOutput, Speakers, StepUsage, SubAgentText, reason_of

if TYPE_CHECKING:
    from partstream.lm.parts import ToolCallPart

# ---- Content ----

_Outputs = list[Any]

_READ_ELSEWHERE: Final = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
"""Blocks that repeat the fields of the message."""
_DEFAULT_MEDIA_TYPE: Final = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
}


class MessageContent:
    """Reads the contents of one run's messages, whole or in chunks."""

    def __init__(self) -> None:
        self._citations = Citations(CitationMode.INLINE)
        self._said = RecentText()
        self._server_calls = _ServerCalls()

    def read(self, message: Any, step: int) -> list[AgentOutput]:
        """The outputs of a message or a chunk."""
        content = message.content
        if content.__class__ is str and not message.additional_kwargs:
            return self._text({"text": content}, message, step) if content else []
        outputs: _Outputs = []
        for block in message.content_blocks:
            kind = block.get("type")
            if kind in _READ_ELSEWHERE:
                continue
            handler = _HANDLERS.get(kind, MessageContent._unknown)
            outputs += handler(self, block, message, step)
        return outputs

    def end_step(self, step: int) -> list[AgentOutput]:
        """What only the end of a message tells: calls of the server's own tools that nothing has answered."""
        return list(self._server_calls.close_all(step))

    def _text(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        text = block.get("text") or ""
        outputs: _Outputs = [TextPart(text)] if text else []
        self._said.add(text)
        for annotation in block.get("annotations") or ():
            name = f"annotation.{annotation.get('type')}"
            if annotation.get("type") != "citation":
                outputs.append(Unmapped(name, dict(annotation)))
                continue
            url, title = annotation.get("url"), annotation.get("title")
            citation = Citation(url=url, title=title, name=name, data=dict(annotation))
            outputs += self._citations.render(citation, self._said, (url, title))
        return outputs

    def _refusal(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        text = block.get("refusal") or block.get("text") or ""
        return [TextPart(text)] if text else []

    def _reasoning(self, block: Mapping[str, Any], message: Any, _step: int) -> _Outputs:
        text = block.get("reasoning") or ""
        return [ThinkingPart(text, block.get("id") or message.id)] if text else []

    def _unknown(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        return [Unmapped(f"content.{block.get('type')}", dict(block))]

    def _file(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        kind = block["type"]
        if (data := read_base64(block.get("base64"))) is not None:
            return [AgentFile(data, block.get("mime_type") or _DEFAULT_MEDIA_TYPE[kind], block.get("name"))]
        link = markdown_link(str(block.get("url") or ""), block.get("name") or kind)
        if link is None:
            return [Unmapped(f"content.{kind}", dict(block))]
        return [TextPart(f"\n\n{'!' if kind == 'image' else ''}{link}\n\n")]

    def _server_call(self, block: Mapping[str, Any], _message: Any, step: int) -> _Outputs:
        call_id = str(block.get("id") or "")
        return [InnerCall(call_id, str(block.get("name") or "tool"), block.get("args") or {}, step)]

    def _server_call_chunk(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        self._server_calls.add(block)
        return []

    def _server_result(self, block: Mapping[str, Any], _message: Any, step: int) -> _Outputs:
        call_id = str(block.get("tool_call_id") or "")
        calls = self._server_calls.close_all(step)
        name = next((call.name for call in calls if call.call_id == call_id), "tool")
        return [*calls, InnerResult(call_id, name, block.get("output"), block.get("status") == "error", step)]


_HANDLERS: Final[Mapping[Any, Callable[[MessageContent, Mapping[str, Any], Any, int], _Outputs]]] = {
    "text": MessageContent._text,  # noqa: SLF001 - the table of the class
    "refusal": MessageContent._refusal,  # noqa: SLF001
    "reasoning": MessageContent._reasoning,  # noqa: SLF001
    "image": MessageContent._file,  # noqa: SLF001
    "audio": MessageContent._file,  # noqa: SLF001
    "video": MessageContent._file,  # noqa: SLF001
    "file": MessageContent._file,  # noqa: SLF001
    "server_tool_call": MessageContent._server_call,  # noqa: SLF001
    "server_tool_call_chunk": MessageContent._server_call_chunk,  # noqa: SLF001
    "server_tool_result": MessageContent._server_result,  # noqa: SLF001
}
"""The handler of a block, by its type."""


class _ServerCalls:
    """Calls of the server's own tools that come in pieces: only the first has name and id."""

    def __init__(self) -> None:
        self._pieces: dict[Any, list[Mapping[str, Any]]] = {}

    def add(self, block: Mapping[str, Any]) -> None:
        self._pieces.setdefault(block.get("index"), []).append(block)

    def close_all(self, step: int) -> list[InnerCall]:
        def first(pieces: list[Mapping[str, Any]], field: str, otherwise: str) -> str:
            return next((str(piece[field]) for piece in pieces if piece.get(field)), otherwise)

        calls = []
        for pieces in self._pieces.values():
            arguments = "".join(str(piece.get("args") or "") for piece in pieces)
            calls.append(InnerCall(first(pieces, "id", ""), first(pieces, "name", "tool"), arguments, step))
        self._pieces.clear()
        return calls


# ---- The arguments of calls as the model streamed them ----


class StreamedArguments:
    """Collects the arguments of the calls of one run."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._open: dict[tuple[str, Any], str] = {}

    def add(self, message_id: str, pieces: Iterable[Any]) -> None:
        """Takes the `tool_call_chunks` of a chunk: only the first piece of a call has its id."""
        for piece in pieces:
            place = (message_id, piece.get("index"))
            if call_id := piece.get("id"):
                self._open[place] = call_id
            self._texts.setdefault(self._open.get(place, ""), []).append(piece.get("args") or "")

    def check(self, calls: Iterable[ToolCallPart]) -> None:
        """Refuses calls whose arguments came as a text that is no JSON object.

        Raises:
            ToolArgumentsError: The arguments of a call are not whole.
        """
        for call in calls:
            text = "".join(self._texts.get(call.call_id, ()))
            try:
                is_whole = not text or isinstance(loads(text), dict)
            except JSONDecodeError:
                is_whole = False
            if not is_whole:
                raise ToolArgumentsError(call_id=call.call_id, name=call.name, arguments=text)


# ---- Usage and finish reason; `UsageMetadata` of core 1.x ----

_REASON_FIELDS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Where packages for models put the reason: OpenAI and Google, Anthropic, Ollama."""
_SAY_THEIR_END: Final = frozenset({"openai", "anthropic", "google_genai", "ollama"})
"""Whose models always say why they stopped, also in streams; seen with langchain-openai 1.7, langchain-anthropic 1.7,
langchain-google-genai 4.4 and langchain-ollama 1.1."""
_COUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_tokens": ("input_token_details", "cache_read"),
    "cache_write_tokens": ("input_token_details", "cache_creation"),
    "reasoning_tokens": ("output_token_details", "reasoning"),
}
"""The path of each count of :class:`~partstream.lm.parts.Usage` in `usage_metadata`."""


def finish_reason_of(metadata: Mapping[str, Any]) -> FinishReason | None:
    """Why the model stopped, by the `response_metadata` of a message; None where nothing says it."""
    incomplete = metadata.get("incomplete_details")
    cut = incomplete.get("reason") if isinstance(incomplete, dict) else None
    said = [*(metadata.get(name) for name in _REASON_FIELDS), cut, metadata.get("status")]
    raw = next((one for one in said if isinstance(one, str)), None)
    return reason_of(raw)


class StepTokens:
    """The tokens of the inner requests, each given once: chunks of one message add up."""

    def __init__(self) -> None:
        self._open: dict[str, Usage] = {}

    def add(self, message_id: str, metadata: Mapping[str, Any] | None) -> None:
        """Takes the `usage_metadata` of a message or of a piece of one."""
        if metadata:
            counts = {name: as_count(_at(metadata, path)) for name, path in _COUNTS.items()}
            new = Usage(**counts, raw=dict(metadata))
            known = self._open.get(message_id, Usage())
            sums = {name: _plus(getattr(known, name), getattr(new, name)) for name in _COUNTS}
            self._open[message_id] = Usage(**sums, raw={**known.raw, **new.raw})

    def close(self, message_id: str) -> list[StepUsage]:
        """The tokens of a message that is whole."""
        usage = self._open.pop(message_id, None)
        return [] if usage is None else [StepUsage(usage)]

    def close_all(self) -> list[StepUsage]:
        """The tokens of all messages that are left."""
        return [one for message_id in list(self._open) for one in self.close(message_id)]


class LastFinish:
    """How the last inner request ended."""

    def __init__(self) -> None:
        self._reason: FinishReason | None = None
        self._model: str | None = None
        self._is_open = False
        self._has_tokens = False

    def note(self, message: Any, provider: str | None) -> None:
        """Takes a message or a chunk of one, and whose model said it in LangChain's name; None where that is
        unknown."""
        metadata = message.response_metadata
        if message.type == "AIMessageChunk" and provider in _SAY_THEIR_END:
            self._is_open = True
        self._has_tokens = self._has_tokens or bool(message.usage_metadata)
        if not metadata:
            return
        self._reason = finish_reason_of(metadata) or self._reason
        model = metadata.get("model_name") or metadata.get("model")
        self._model = model if isinstance(model, str) else self._model

    def begin(self) -> None:
        """Another inner request begins, which has reasons of its own."""
        self._reason, self._is_open, self._has_tokens = None, False, False

    @property
    def finish(self) -> Finish:
        """The end of the response; a response without a finish reason and usage was cut."""
        if self._is_open and self._reason is None and not self._has_tokens:
            return Finish(Outcome.TRUNCATED, model=self._model, error=TruncatedStreamError("streaming"))
        return Finish(Outcome.COMPLETED, reason=self._reason, model=self._model)


def _at(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = metadata
    for name in path:
        value = value.get(name) if hasattr(value, "get") else None
    return value


def _plus(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


# ---- The messages of a run as they stream ----

_CHUNK: Final = "AIMessageChunk"
_OF_MODELS: Final = frozenset({"ai", _CHUNK})
_OF_TOOLS: Final = "tool"
_HANDED_BACK: Final = "__is_handoff_back"
"""The mark of langgraph-supervisor in the metadata of a message that no model made: an agent hands back."""


ASKED_BY: Final = "partstream_asked_by"
"""The name in the metadata of a request to a model for the module whose code has made it."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of one graph by what their words are; those of no set answer."""

    tools: frozenset[str] = frozenset({"tools"})  # they run tools: what a model says there is no answer
    # hooks of middleware: their words are the answer where they enter the messages of the graph
    hooks: frozenset[str] = frozenset()
    # nodes that ask the agent's model, each with the module that does it. A request that other code makes there is one
    # of middleware, such as of a judge
    makers: Mapping[str, str] = field(default_factory=dict)
    # whether middleware may replace what the model has said: then its words are those of the messages
    is_revised: bool = False
    # whether the state has messages, which then hold every word of the answer that no model streamed
    has_messages: bool = True


@dataclass(slots=True)
class _Undecided:
    """The words of a message that are the answer if it enters the messages of its graph."""

    namespace: tuple[str, ...]
    speaker: str  # who has said it, if it does not
    is_revised: bool  # whether the step of the model has to be over before that is known
    words: list[AgentOutput] = field(default_factory=list)


class StreamedMessages:
    """Reads the messages of one run as they stream. Messages that stream at the same time are said one after the other.

    Args:
        answer_nodes: The nodes or sub-graphs whose text is the answer; None for those of the graph itself.
        nodes: The nodes of the graph, and of each graph below whose words are the answer, by its path.
    """

    def __init__(self, answer_nodes: Collection[str] | None, nodes: Mapping[tuple[str, ...], Nodes]) -> None:
        self._answer_nodes = None if answer_nodes is None else frozenset(answer_nodes)
        self._nodes = nodes
        self._content = MessageContent()
        self._tokens = StepTokens()
        self._finish = LastFinish()
        self._known: set[str] = set()
        self._steps: dict[str, int] = {}
        self._namespaces: dict[str, tuple[str, ...]] = {}
        self._speakers = Speakers()
        self._undecided: dict[str, _Undecided] = {}
        self._entered: dict[tuple[str, ...], dict[Any, Any]] = {}
        self._said: set[str] = set()
        self._last_said = ""
        self._chunks: list[Any] = []
        self.arguments = StreamedArguments()  # the arguments of the calls as they were streamed
        self.has_answer = False

    @property
    def step(self) -> int:
        """The number of the inner request that began last, from 1."""
        return max(1, len(self._steps))

    @property
    def finish(self) -> Finish:
        """How the last inner request ended."""
        return self._finish.finish

    def know(self, messages: Iterable[Any]) -> None:
        """Takes the messages that the run begins with: they are no output."""
        self._known |= {message.id for message in messages if message.id}

    def has_said(self, message: Any) -> bool:
        """Whether text of a message was shown as text of the answer."""
        return message.id in self._said

    def read(self, namespace: tuple[str, ...], message: Any, metadata: Mapping[str, Any]) -> list[AgentOutput]:
        """The outputs of a message, or of a chunk of one.

        Args:
            namespace: The path of the sub-graph, empty for the graph itself.
        """
        if message.type not in _OF_MODELS:
            return [] if message.type == _OF_TOOLS else [Unmapped(f"message.{message.type}", {})]
        if message.response_metadata.get(_HANDED_BACK):
            return []  # its call says it
        is_chunk = message.type == _CHUNK
        message_id = message.id or ""
        if message_id in self._known or (not is_chunk and message_id in self._steps):
            return []  # an earlier message, or one that was streamed
        speaker = self._speaker(namespace, metadata)
        said: list[AgentOutput] = []
        if message_id not in self._steps:
            said += self._decide(namespace, lambda _, one: one.is_revised)  # the step before is over
            self._steps[message_id] = len(self._steps) + 1
            self._namespaces[message_id] = namespace
            self._finish.begin()
            self._chunks = []
            if (undecided := self._undecided_of(namespace, metadata, speaker, is_chunk=is_chunk)) is not None:
                self._undecided[message_id] = undecided
        step = self._steps[message_id]
        # The pieces with calls of the last message: a run may stop before it is whole.
        if pieces := getattr(message, "tool_call_chunks", None):
            self._chunks.append(message)
            self.arguments.add(message_id, pieces)
        outputs = self._content.read(message, step)
        self._tokens.add(message_id, message.usage_metadata)
        self._finish.note(message, metadata.get("ls_provider"))
        is_whole = not is_chunk or getattr(message, "chunk_position", None) == "last"
        if is_whole:
            outputs += [*self._content.end_step(step), *self._tokens.close(message_id)]
        if (open_words := self._undecided.get(message_id)) is not None:
            open_words.words += [one for one in outputs if isinstance(one, TextPart)]
            outputs = [one for one in outputs if not isinstance(one, TextPart)]
        said += self._say(message_id, speaker, outputs)
        return said + self._end([message_id]) if is_whole else said

    def state(self, namespace: tuple[str, ...], messages: Sequence[Any]) -> list[AgentOutput]:
        """Takes the messages of a graph after a step of it, in which all have ended that spoke in it or below."""
        self._entered[namespace] = {message.id: message for message in messages}
        size = len(namespace)
        ended = [one for one, place in self._namespaces.items() if place[:size] == namespace]
        return self._end(ended) + self._decide(namespace, lambda _, one: not one.is_revised)

    def enter(self, namespace: tuple[str, ...], node: str, update: Mapping[str, Any]) -> list[AgentOutput]:
        """Takes what a node has written: its messages enter the graph, also where another node stops the run."""
        nodes, written = self._nodes_of(namespace), update.get("messages")
        messages = written if isinstance(written, list) else [written]
        entered = {one.id: one for one in messages if one is not None and getattr(one, "id", None)}
        self._entered.setdefault(namespace, {}).update(entered)
        if nodes is None or node in nodes.hooks or node in nodes.makers:
            return []
        return self._decide(namespace, lambda message_id, one: one.is_revised or message_id in entered)

    def unsaid(self, message: Any) -> list[AgentOutput]:
        """The last message of a run as its answer, unless it was shown as text: that of a sub-graph, or the result of a
        tool that returns directly."""
        if message.type not in {*_OF_MODELS, _OF_TOOLS} or self.has_said(message) or message.id in self._known:
            return []
        outputs = MessageContent().read(message, self.step)
        return [self._as_said(one, None, message.id or "") for one in outputs if isinstance(one, TextPart)]

    def last_streamed(self) -> list[tuple[Any, int]]:
        """The message that streamed last, put together, with its step; empty where none has."""
        if not self._chunks:
            return []
        first, *others = self._chunks
        return [(sum(others, start=first), self.step)]

    def close_all(self) -> list[AgentOutput]:
        """What is left of messages whose end did not come."""
        outputs = [*self._content.end_step(self.step), *self._tokens.close_all()]
        places = dict.fromkeys(one.namespace for one in self._undecided.values())
        undecided = [output for namespace in places for output in self._decide(namespace)]
        return [*undecided, *(self._as_said(*one) for one in self._speakers.end_all()), *outputs]

    def _say(self, message_id: str, speaker: str | None, outputs: Iterable[AgentOutput]) -> list[AgentOutput]:
        words = ((one, speaker, message_id) for one in outputs)
        return [self._as_said(*one) for one in self._speakers.say(message_id, words)]

    def _end(self, message_ids: Iterable[str]) -> list[AgentOutput]:
        return [self._as_said(*one) for one in self._speakers.end(message_ids)]

    def _decide(
        self, namespace: tuple[str, ...], is_due: Callable[[str, _Undecided], bool] = lambda *_: True
    ) -> list[AgentOutput]:
        """Says the words that waited for the messages of a graph, as far as these tell."""
        messages = self._entered.get(namespace, {})
        outputs: list[AgentOutput] = []
        for message_id, one in [*self._undecided.items()]:
            if one.namespace != namespace or not is_due(message_id, one):
                continue
            del self._undecided[message_id]
            if (message := messages.get(message_id)) is None:
                outputs += self._say(message_id, one.speaker, one.words)
            else:  # what it says now: middleware may have replaced what the model has said
                told = [text for text in MessageContent().read(message, self.step) if isinstance(text, TextPart)]
                outputs += self._say(message_id, None, told)
            outputs += self._end([message_id])
        return outputs

    def _as_said(self, output: AgentOutput, speaker: str | None, message_id: str) -> AgentOutput:
        if not isinstance(output, TextPart):
            return output
        if speaker is not None:
            return SubAgentText(speaker, output.value, message_id)
        is_next = self._last_said not in {"", message_id}
        self._last_said, self.has_answer = message_id, True
        self._said.add(message_id)
        return text_part(f"\n\n{output.value}") if is_next else output

    def _nodes_of(self, namespace: tuple[str, ...]) -> Nodes | None:
        return self._nodes.get(tuple(one.partition(":")[0] for one in namespace))

    def _undecided_of(
        self, namespace: tuple[str, ...], metadata: Mapping[str, Any], speaker: str | None, *, is_chunk: bool
    ) -> _Undecided | None:
        """Where the words of a message wait for the messages of their graph; None for words that are said at once."""
        nodes, node = self._nodes_of(namespace), str(metadata.get("langgraph_node", ""))
        if speaker is not None or nodes is None or not nodes.has_messages:
            return None
        own = nodes.makers.get(node)
        is_asked_by_other = own is not None and metadata.get(ASKED_BY, own) != own
        is_chosen = self._answer_nodes is not None
        is_revised = own is not None and nodes.is_revised and not is_asked_by_other and not is_chosen
        # A message that a node has returned, and no model: it may belong to another field of the state.
        is_of_node = not is_chunk and "ls_model_type" not in metadata
        if is_revised or is_asked_by_other or ((node in nodes.hooks or is_of_node) and not is_chosen):
            return _Undecided(namespace, node, is_revised)
        return None

    def _speaker(self, namespace: tuple[str, ...], metadata: Mapping[str, Any]) -> str | None:
        """Who says a text that is not the answer; None for the answer itself."""
        if source := metadata.get("lc_source"):
            return str(source)  # a request of middleware, such as that of a summary
        node = str(metadata.get("langgraph_node", ""))
        path = [one.partition(":")[0] for one in namespace]
        nodes = self._nodes_of(namespace)
        if self._answer_nodes is not None:
            is_answer = not self._answer_nodes.isdisjoint([*path, node])
        else:
            is_answer = nodes is not None and node not in nodes.tools
        if is_answer:
            return None
        outer = [one for one in path if one not in self._nodes[()].tools]
        return str(metadata.get("lc_agent_name") or (outer[0] if outer else node))
