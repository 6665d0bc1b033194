"""Runs agents of the Microsoft Agent Framework.

A run is a stream of updates with contents of 26 kinds. No update states where one inner response ends and the next
begins: the next one begins where the assistant speaks again after a tool. Calls stream in pieces; a batch of calls is
whole when the response states its usage or its finish reason, or when a tool has returned. The framework leaves tools
without a function to its caller (docs/wires/agents.md#microsoft-agent-framework): these are the host's tools. It runs
no tool of a batch in which a call needs an approval, and wants approvals back with the session in which it asked for
them (`_resolve_approval_responses`), so a stopped run goes on from that session, which comes from our own folder alone.

The framework is imported only in functions that need it, after the person's file has imported it. Source: Agent
Framework 1.23 (`AgentResponseUpdate`, `ContentType`, the constructors of `Content`, `UsageDetails`,
`agent_framework.exceptions`) and openai 2.45 (`openai._exceptions`).
"""

from __future__ import annotations
import asyncio
import inspect
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from partstream.codec.checks import as_count, dataclass, field
from partstream.codec.json_codec import JSONDecodeError, is_json, loads
from partstream.conversation.citations import markdown_link
from partstream.conversation.turns import FAILED, FAILED_SILENTLY, Attachment, Call, Result, Text, TurnRole
from partstream.errors import UpstreamFailureError
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.messages import Tool, ToolMode
from partstream.lm.outputs import Finish, Unmapped
from partstream.lm.parts import FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.files import read_base64
from partstream.protocols.read_response import read_arguments
from partstream.runtime.client_failures import FailureKind
from partstream_agents import adapter

if TYPE_CHECKING:
    from agent_framework import AgentSession, Content, FunctionTool, Message

    from partstream.conversation.turns import Piece, ResultContent

# ---- The conversation as messages of the framework ----

_ROLES: Final = {TurnRole.USER: "user", TurnRole.ASSISTANT: "assistant", TurnRole.TOOL: "tool"}


def chosen_options(request: adapter.AgentRequest) -> dict[str, Any]:
    """The fields of `ChatOptions` that the caller has chosen; none for one that leaves all to the agent."""
    is_demanded = request.tool_mode is ToolMode.REQUIRED and request.tools
    return adapter.chosen_options(request) | ({"tool_choice": "required"} if is_demanded else {})


def run_messages(request: adapter.AgentRequest) -> list[Message]:
    """The messages of a run that knows nothing but the conversation. The host's instructions are a message of the
    system before it, so that the agent's own instructions stay as they are."""
    from agent_framework import Message  # noqa: PLC0415 - see above

    system = [Message("system", [request.instructions])] if request.instructions else []
    spoken = [turn for turn in request.turns if turn.role in _ROLES]
    return [*system, *(Message(_ROLES[turn.role], list(_contents(turn.content))) for turn in spoken)]


def resumed_messages(request: adapter.AgentRequest, asked: Iterable[Mapping[str, Any]]) -> list[Message]:
    """What a run that has stopped goes on with: what the host returned, and what the person decided about the contents,
    as JSON, by which the framework has asked."""
    from agent_framework import Content, Message  # noqa: PLC0415 - see above

    results = [_result(result) for result in request.results.values()]
    decided: list[Content] = []
    for content in map(Content.from_dict, asked):
        call = content.function_call
        decision = None if call is None else request.decisions.get(call.call_id or "")
        if decision is not None:
            decided.append(content.to_function_approval_response(decision.approved))
            if decision.reason:  # an approval has no place for it; the model reads it as a message
                decided.append(Content.from_text(decision.reason))
    messages = (("tool", results), ("user", decided))
    return [Message(role, contents) for role, contents in messages if contents]


def _contents(pieces: Iterable[Piece]) -> Iterable[Content]:
    from agent_framework import Content  # noqa: PLC0415 - see above

    for piece in pieces:
        if isinstance(piece, Text | Attachment):
            yield _content(piece)
        elif isinstance(piece, Call):
            yield Content.from_function_call(piece.call_id, piece.name, arguments=dict(piece.input))
        elif isinstance(piece, Result):
            yield _result(piece)


def _result(result: Result) -> Content:
    from agent_framework import Content  # noqa: PLC0415 - see above

    items = [_content(piece) for piece in result.content]
    if result.is_error:  # servers have no field for it, and the framework's own says nothing to the model
        items.insert(0, Content.from_text(FAILED if items else FAILED_SILENTLY))
    texts = [item.text or "" for item in items if item.type == "text"]
    return Content.from_function_result(result.call_id, result="\n".join(texts) if len(texts) == len(items) else items)


def _content(piece: ResultContent) -> Content:
    from agent_framework import Content  # noqa: PLC0415 - see above

    if isinstance(piece, Text):
        return Content.from_text(piece.value)
    if piece.url:
        return Content.from_uri(piece.url, media_type=piece.media_type)
    return Content.from_data(piece.data, piece.media_type)


_PARTS: Final = ("Agent", "ChatClient", "Integration")

ERRORS: Final[Mapping[str, FailureKind]] = {
    **{f"{part}ContentFilterException": FailureKind.REFUSED for part in _PARTS},
    **{f"{part}InvalidAuthException": FailureKind.HTTP for part in _PARTS},
    **{f"{part}InvalidRequestException": FailureKind.HTTP for part in _PARTS},
    "APIStatusError": FailureKind.HTTP,
    "ToolException": FailureKind.TOOL,
    "MiddlewareException": FailureKind.USAGE,
    "SettingNotFoundError": FailureKind.USAGE,
    "IntegrationInitializationError": FailureKind.USAGE,
    "WorkflowConvergenceException": FailureKind.LIMIT,
    "AgentFrameworkException": FailureKind.MODEL,
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIError": FailureKind.MODEL,
}


# ---- Tool calls: of the agent, of the host, and of tools that the model's provider runs itself ----


@dataclass(slots=True)
class StreamedCall:
    """A call as far as it has come."""

    call_id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None

    @property
    def arguments(self) -> object:
        """The arguments: an object, or the text as it came where that is none."""
        return self.given if self.given is not None else parsed("".join(self.pieces))


class CallPieces:
    """The calls of one inner response, in the model's order.

    A piece belongs to the call with its id, and a piece without an id to the call before it. A call that comes once
    more without arguments is the same call: at the end of a batch the framework repeats the calls that it leaves to
    its caller (docs/wires/agents.md#microsoft-agent-framework).
    """

    def __init__(self) -> None:
        self._calls: dict[str, StreamedCall] = {}
        self._last = ""

    def __iter__(self) -> Iterator[StreamedCall]:
        return iter(self._calls.values())

    def add(self, content: Any) -> StreamedCall:
        """Takes the next piece; returns the call that it belongs to."""
        call_id = content.call_id or self._last
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = StreamedCall(call_id, "")
        self._last = call_id
        call.name = call.name or content.name or ""
        arguments = content.arguments
        replaces = getattr(content, "merge_mode", None) == "replace"
        if isinstance(arguments, str):
            call.pieces = [arguments] if replaces else [*call.pieces, arguments]
        elif arguments is not None:
            call.given = dict(arguments) if replaces else {**(call.given or {}), **arguments}
        return call


def parsed(arguments: object) -> object:
    """Arguments as an object, or as they came where they are none."""
    if arguments is None:
        return {}
    read = read_arguments(arguments)
    return arguments if read is None else read


HOSTED_CALLS: Final = {
    "code_interpreter_tool_call": ("code_interpreter", ("inputs",)),
    "image_generation_tool_call": ("image_generation", ()),
    "mcp_server_tool_call": ("mcp", ("arguments",)),
    "search_tool_call": ("search", ("arguments",)),
    "shell_tool_call": ("shell", ("commands",)),
    "computer_tool_call": ("computer", ("actions",)),
}
"""By the kind of content: the name of the tool, and the fields with its arguments."""
HOSTED_RESULTS: Final = {
    "code_interpreter_tool_result": ("code_interpreter", ("outputs",)),
    "image_generation_tool_result": ("image_generation", ("outputs",)),
    "mcp_server_tool_result": ("mcp", ("output",)),
    "search_tool_result": ("search", ("result", "items")),
    "shell_tool_result": ("shell", ("outputs",)),
    "shell_command_output": ("shell", ("stdout", "stderr")),
    "computer_tool_result": ("computer", ("screenshot",)),
}
"""By the kind of content: the name of the tool, and the fields with its result."""
_DATA: Final = "data:"
_BASE64: Final = ";base64"


def file_of(content: Any) -> adapter.AgentFile | TextPart | None:
    """A file of the answer: its bytes, or a link to a file elsewhere; None for a content that is no file."""
    if getattr(content, "type", None) not in {"data", "uri"} or not content.uri:
        return None
    uri = str(content.uri)
    if not uri.startswith(_DATA):
        link = markdown_link(uri, uri.rstrip("/").rsplit("/", 1)[-1])
        return None if link is None else TextPart(f"\n\n{link}\n\n")
    head, _, body = uri[len(_DATA) :].partition(",")
    data = read_base64(body) if head.endswith(_BASE64) else unquote_to_bytes(body)
    if data is None:
        return None
    return adapter.AgentFile(data, content.media_type or head.removesuffix(_BASE64) or "application/octet-stream")


def plain(value: Any) -> Any:
    """A value with contents of the framework as JSON's types, for people: texts as texts, files by their kind."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    kind = getattr(value, "type", None)
    if not isinstance(kind, str):
        return value
    if value.text is not None:
        return value.text
    if kind in {"data", "uri"}:
        return f"({value.media_type or kind})"
    fields = ("stdout", "stderr", "message", "file_id", "exit_code", "result", "output")
    return {field: one for field in fields if (one := getattr(value, field, None)) is not None}


class InnerTools:
    """The calls of one run: which of them the agent runs itself, which need an approval, which are left to the host. A
    batch that holds one of the `asking` tools is shown once it ran."""

    def __init__(self, external: Collection[str], asking: Collection[str]) -> None:
        self._external = external
        self._asking = asking
        self._batches: defaultdict[str | None, CallPieces] = defaultdict(CallPieces)
        self._waiting: dict[str, InnerCall] = {}
        self._names: dict[str, InnerCall] = {}
        self._answered: set[str] = set()
        self._handed_out: dict[str, StreamedCall] = {}
        self.asked: dict[str, Any] = {}  # the contents by which the framework asks for approvals, by call id

    def called(self, content: Any, step: int, author: str | None = None) -> list[adapter.AgentOutput]:
        """Takes a piece of a call; one that the model's provider runs itself is whole and runs at once."""
        if not getattr(content, "informational_only", False) and not getattr(content, "hosted", None):
            self._batches[author].add(content)
            return []
        call = InnerCall(content.call_id, content.name, parsed(content.arguments), step)
        if not self._is_new(call.call_id):
            return []
        self._names[call.call_id] = call
        return [call]

    def end_batch(self, step: int, author: str | None = None) -> list[adapter.AgentOutput]:
        """The calls of a response are whole; returns those that the agent runs now."""
        batch = self._batches.pop(author, CallPieces())
        waits = any(call.name in self._asking for call in batch)
        outputs: list[adapter.AgentOutput] = []
        for call in batch:
            if call.call_id in self._handed_out or not self._is_new(call.call_id):
                continue
            if call.name in self._external:
                self._handed_out[call.call_id] = call
                continue
            inner = self._names[call.call_id] = InnerCall(call.call_id, call.name, call.arguments, step)
            if waits:
                self._waiting[call.call_id] = inner
            else:
                outputs.append(inner)
        return outputs

    def _is_new(self, call_id: str) -> bool:
        """Whether an id is that of a new call: some models give each call of a run the same id."""
        is_new = call_id not in self._names or call_id in self._answered
        self._answered.discard(call_id)
        return is_new

    def expect(self, calls: Iterable[Mapping[str, Any]]) -> None:
        """Notes calls of an earlier run, as :attr:`open_calls` said them, whose results are still to come."""
        for call in calls:
            inner = InnerCall(call["call_id"], call["name"], call["arguments"])
            self._names[inner.call_id] = self._waiting[inner.call_id] = inner

    def answered(self, content: Any, step: int) -> list[adapter.AgentOutput]:
        """A tool of the agent has returned; results of the host are in the conversation already."""
        outputs: list[adapter.AgentOutput] = []
        if (waiting := self._waiting.pop(content.call_id, None)) is not None:
            outputs.append(waiting)
        call = self._names.get(content.call_id)
        if call is None or content.call_id in self._answered:
            return outputs
        self._answered.add(content.call_id)
        items = content.items or ()
        value = content.result if content.result is not None else plain(items)
        outputs.append(InnerResult(call.call_id, call.name, value, bool(content.exception), max(call.step, 1)))
        files = (file_of(item) for item in items)
        return [*outputs, *(file for file in files if file is not None and not isinstance(file, TextPart))]

    def has_called(self, author: str | None, step: int) -> bool:
        """Whether a response has called tools: its agent goes on with their results."""
        return author in self._batches or any(call.step == step for call in self._names.values())

    @property
    def open_calls(self) -> list[dict[str, Any]]:
        """The agent's own calls that have not run, as JSON."""
        calls = self._waiting.values()
        return [{"call_id": call.call_id, "name": call.name, "arguments": call.arguments} for call in calls]

    def approvals(self) -> tuple[adapter.Approval, ...]:
        """The calls that need an approval."""
        calls = [content.function_call for content in self.asked.values()]
        return tuple(adapter.Approval(call.call_id, call.name, parsed(call.arguments)) for call in calls)

    def external_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls that are left to the host, in the model's order, each id once."""
        return tuple(adapter.host_call(one.call_id, one.name, one.arguments) for one in self._handed_out.values())


# ---- Text, thinking and usage ----


class RunText:
    """The text and thinking of one run, and the sources that they cite. A text that is a JSON document for a form that
    the agent was given is held until another response or the end shows whether it is the result."""

    def __init__(self, *, is_structured: bool) -> None:
        self._is_structured = is_structured
        self._text = ""
        self._thinking = ""
        self._sources: set[str] = set()

    def text(self, content: Any) -> list[adapter.AgentOutput]:
        """Takes a piece of text, or all of it once more: what was shown cannot be taken back."""
        new = _new(content, self._text)
        self._text += new
        if self._is_structured:
            return []
        parts: list[adapter.AgentOutput] = [TextPart(new)]
        for annotation in content.annotations or ():
            url = annotation.get("url") if annotation.get("type") == "citation" else None
            if not url or url in self._sources or url in self._text:
                continue
            self._sources.add(url)
            if (link := markdown_link(url, annotation.get("title"))) is not None:
                parts.append(TextPart(f" ({link})"))
        return parts

    def thinking(self, content: Any) -> list[adapter.AgentOutput]:
        """Takes a piece of thinking. What a server wants back of it is in the state of the run."""
        new = _new(content, self._thinking)
        self._thinking += new
        return [ThinkingPart(new, content.id)] if new else []

    def end_step(self) -> list[adapter.AgentOutput]:
        """Another response follows: the held text was not the result."""
        held, self._text, self._thinking = self._text, "", ""
        return [TextPart(held)] if self._is_structured else []

    def end(self) -> list[adapter.AgentOutput]:
        """The run is over: the held text is its result."""
        if not self._is_structured or not self._text:
            return []
        try:
            return [adapter.ResultObject(loads(self._text))]
        except JSONDecodeError:
            return [TextPart(self._text)]


def _new(content: Any, before: str) -> str:
    """What a piece adds: all of it, unless it says all that was said once more (`merge_mode`)."""
    text: str = content.text or ""
    if getattr(content, "merge_mode", None) != "replace":
        return text
    return text.removeprefix(before) if text.startswith(before) else ""


_FIELDS: Final = {
    "input_token_count": "input_tokens",
    "output_token_count": "output_tokens",
    "total_token_count": "total_tokens",
    "cache_read_input_token_count": "cached_tokens",
    "reasoning_output_token_count": "reasoning_tokens",
    "cache_creation_input_token_count": "cache_write_tokens",
}


class StepTokens:
    """Collects the usage of one inner response after the other.

    A response may state it in several pieces, which add up as in the framework's own `add_usage_details`. From its
    second response on, a run of Agent Framework 1.22 or later states the sum of all responses instead, in contents that
    replace the earlier ones (`project_cumulative_usage`).
    """

    def __init__(self) -> None:
        self._before: Counter[str] = Counter()
        self._counts: dict[str, int] = {}

    def add(self, details: Mapping[str, Any] | None, *, replaces: bool = False) -> None:
        """Takes a piece of the usage of the current response, or all of it and of the responses before."""
        said = {field: as_count((details or {}).get(name)) for name, field in _FIELDS.items()}
        known = {field: count for field, count in said.items() if count is not None}
        if replaces:
            self._counts = {field: max(count - self._before[field], 0) for field, count in known.items()}
        else:
            self._counts |= {field: count + self._counts.get(field, 0) for field, count in known.items()}

    def end_step(self) -> list[adapter.StepUsage]:
        """The tokens of the response that is over; none where nothing was said of them."""
        counts: dict[str, Any] = dict(self._counts)
        self._before.update(counts)
        self._counts = {}
        return [adapter.StepUsage(Usage(**counts))] if counts else []


# ---- The updates of a run as outputs ----

_OF_MODEL: Final = frozenset({"text", "text_reasoning", "function_call", "usage", "error"})
"""The kinds of contents that the model says, with which an inner response begins."""


@dataclass(slots=True)
class _Turn:
    """One turn of an agent of the run, from its first word until it has called no more tools. The agents of a workflow
    may speak at the same time.
    """

    author: str | None  # the agent; None for one without a name
    said: RunText  # its text and thinking
    step: int = 0  # the number of its response among all of the run, from 1; 0 before the first
    tokens: StepTokens = field(default_factory=StepTokens)  # those of its responses
    is_over: bool = False  # whether its response has ended
    has_run_tools: bool = False  # whether a tool has returned since


class RunEvents:
    """Reads the updates of one run."""

    def __init__(
        self, external: Collection[str] = (), asking: Collection[str] = (), *, is_structured: bool = False
    ) -> None:
        self.tools = InnerTools(external, asking)
        self._is_structured = is_structured
        self._paragraphs = adapter.Paragraphs()
        self._speakers = adapter.Speakers()
        self._turns: dict[str | None, _Turn] = {}
        self._turn = _Turn(None, RunText(is_structured=is_structured))
        self._steps = 0
        self._response: tuple[str | None, int] = (None, 0)
        self._hosted: dict[str, InnerCall] = {}
        self._questions: list[adapter.Question] = []
        self._reason: str | None = None
        self._response_id: str | None = None

    def read(self, update: Any) -> list[adapter.AgentOutput]:
        """Takes the next update of the framework.

        Raises:
            UpstreamFailureError: The model's server has reported a failure in the stream.
        """
        before, author = self._turn, update.author_name or self._turn.author
        turn = self._turn = self._turns.setdefault(author, _Turn(author, RunText(is_structured=self._is_structured)))
        outputs: list[adapter.AgentOutput] = []
        if author not in self._speakers.open and before.author not in {None, author}:
            outputs.append(adapter.Handover(str(author)))
        kinds = {content.type for content in update.contents} if update.role != "tool" else set()
        if (turn.has_run_tools and kinds & _OF_MODEL) or (turn.is_over and kinds & (_OF_MODEL - {"usage"})):
            outputs += [*turn.said.end_step(), *turn.tokens.end_step()]
            turn.has_run_tools, turn.is_over, turn.step = False, False, 0
        if not turn.step:
            self._steps += 1
            turn.step = self._steps
        for content in update.contents:
            handler = _CONTENTS.get(content.type, RunEvents._unmapped)
            outputs += handler(self, content)
        self._response_id = update.response_id or self._response_id
        if update.finish_reason is not None:
            self._reason = str(update.finish_reason)
            turn.is_over = True
            outputs += self.tools.end_batch(turn.step, author)
        said = self._say(turn, outputs)
        if turn.is_over and not self.tools.has_called(author, turn.step):
            said += self._shown(self._speakers.end([author]))
        return said

    def _say(self, turn: _Turn, outputs: Iterable[adapter.AgentOutput]) -> list[adapter.AgentOutput]:
        return self._shown(self._speakers.say(turn.author, [(turn.author, turn.step, one) for one in outputs]))

    def _shown(self, said: Iterable[tuple[str | None, int, adapter.AgentOutput]]) -> list[adapter.AgentOutput]:
        """The outputs in the order in which they are shown: the text of each response is a paragraph."""
        outputs: list[adapter.AgentOutput] = []
        for author, step, output in said:
            if not isinstance(output, TextPart):
                outputs.append(output)
                continue
            if (author, step) != self._response:
                self._paragraphs.begin_step()
                self._response = (author, step)
            outputs += self._paragraphs.of(output.value)
        return outputs

    def end(self, state: Callable[[], Mapping[str, Any] | None] = lambda: None) -> list[adapter.AgentOutput]:
        """Takes the end of the run, and returns what is left of it, with the `Finish`.

        Args:
            state: Gives the state of the run as JSON, where something is to come that goes on with it.
        """
        outputs: list[adapter.AgentOutput] = []
        for author, turn in self._turns.items():
            outputs += self._say(turn, self.tools.end_batch(turn.step, author))
        calls, approvals = self.tools.external_calls(), self.tools.approvals()
        for turn in self._turns.values():
            left = turn.said.end_step() if calls or approvals else turn.said.end()
            outputs += self._say(turn, [*left, *turn.tokens.end_step()])
        outputs += [*self._shown(self._speakers.end_all()), *self._questions]
        outputs += adapter.stopped(calls, approvals, state() if calls or approvals else None)
        reason = adapter.reason_of(self._reason)
        if calls:
            reason = FinishReason(UnifiedFinishReason.TOOL_CALLS, self._reason)
        return [*outputs, Finish(adapter.outcome_of(reason), reason, None, self._response_id)]

    # The contents

    def _usage(self, content: Any) -> list[adapter.AgentOutput]:
        self._turn.tokens.add(content.usage_details, replaces=getattr(content, "merge_mode", None) == "replace")
        return self.tools.end_batch(self._turn.step, self._turn.author)

    def _answered(self, content: Any) -> list[adapter.AgentOutput]:
        self._turn.has_run_tools = True
        return [
            *self.tools.end_batch(self._turn.step, self._turn.author),
            *self.tools.answered(content, self._turn.step),
        ]

    def _asked(self, content: Any) -> list[adapter.AgentOutput]:
        self.tools.asked[content.function_call.call_id] = content
        return []

    def _hosted_called(self, content: Any) -> list[adapter.AgentOutput]:
        kind, fields = HOSTED_CALLS[content.type]
        name = content.tool_name or content.name or kind
        given = {field: plain(value) for field in fields if (value := getattr(content, field, None)) is not None}
        arguments = parsed(given["arguments"]) if "arguments" in given else given
        call = InnerCall(str(content.call_id or content.image_id or ""), name, arguments, self._turn.step)
        if call.call_id in self._hosted:
            return []
        self._hosted[call.call_id] = call
        return [call]

    def _hosted_answered(self, content: Any) -> list[adapter.AgentOutput]:
        """The result of a tool that the provider ran, and the files in it."""
        call_id = str(content.call_id or content.image_id or "")
        kind, fields = HOSTED_RESULTS[content.type]
        values = [value for field in fields if (value := getattr(content, field, None)) is not None]
        value = plain(values[0]) if len(values) == 1 else [plain(one) for one in values]
        is_error = bool(content.exception or content.exit_code or content.timed_out)
        name = self._hosted[call_id].name if call_id in self._hosted else ""
        result = InnerResult(call_id, name or kind, value or None, is_error, self._turn.step)
        contents = (one for value in values for one in (value if isinstance(value, list | tuple) else (value,)))
        return [result, *(file for one in contents if (file := file_of(one)) is not None)]

    def _file(self, content: Any) -> list[adapter.AgentOutput]:
        file = file_of(content)
        return self._unmapped(content) if file is None else [file]

    def _consent(self, content: Any) -> list[adapter.AgentOutput]:
        link = markdown_link(str(content.consent_link), "Sign in")
        self._questions.append(
            adapter.Question(f"The agent needs your consent: {link or 'its address is no web address'}.")
        )
        return []

    def _error(self, content: Any) -> list[adapter.AgentOutput]:
        raise UpstreamFailureError(
            str(content.message or content.error_details or "no reason was given"), provider_code=content.error_code
        )

    def _unmapped(self, content: Any) -> list[adapter.AgentOutput]:
        return [Unmapped(str(content.type), {"type": str(content.type)})]


_CONTENTS: Final[Mapping[str, Callable[[RunEvents, Any], list[adapter.AgentOutput]]]] = {
    "text": lambda reader, content: reader._turn.said.text(content),
    "text_reasoning": lambda reader, content: reader._turn.said.thinking(content),
    "usage": RunEvents._usage,
    "function_call": lambda reader, content: reader.tools.called(content, reader._turn.step, reader._turn.author),
    "function_result": RunEvents._answered,
    "function_approval_request": RunEvents._asked,
    "function_approval_response": lambda reader, _content: [],
    "data": RunEvents._file,
    "uri": RunEvents._file,
    "error": RunEvents._error,
    "oauth_consent_request": RunEvents._consent,
    **dict.fromkeys(HOSTED_CALLS, RunEvents._hosted_called),
    **dict.fromkeys(HOSTED_RESULTS, RunEvents._hosted_answered),
}


# ---- The state of a stopped run, as JSON and back ----


def kept_state(session: AgentSession, tools: InnerTools) -> dict[str, Any] | None:
    """The state of a run as JSON; None where the session holds what has no form in JSON."""
    state = {
        "session": session.to_dict(),
        "asked": [content.to_dict() for content in tools.asked.values()],
        "open": tools.open_calls,
    }
    return state if is_json(state) else None


def restored(
    request: adapter.AgentRequest, state: Mapping[str, Any], tools: InnerTools
) -> tuple[AgentSession, list[Message]] | None:
    """The session that a request goes on with, and its new messages; None for a state of another version. `tools` takes
    the calls whose results are still to come."""
    from agent_framework import AgentSession  # noqa: PLC0415 - only where the person's file has imported it
    from agent_framework.exceptions import AgentFrameworkException  # noqa: PLC0415

    try:
        session = AgentSession.from_dict(dict(state["session"]))
        messages = resumed_messages(request, state["asked"])
        tools.expect(state["open"])
    except (AgentFrameworkException, KeyError, TypeError, ValueError):
        return None
    return session, messages


# ---- The adapter ----


class AgentFramework:
    """Runs agents of the Microsoft Agent Framework; see :class:`partstream_agents.adapter.AgentAdapter`.

    An agent that needs more than the defaults comes in a pairing with an object of this class::

        as_model(AgentPairing(agent, AgentFramework(function_invocation_kwargs={...})), name="My agent")

    Args:
        arguments: Further arguments of the agent's `run`, the same for all requests.
    """

    framework: str = "Microsoft Agent Framework"
    tested: str = "1.21-1.23"
    errors: Mapping[str, FailureKind] = ERRORS

    def __init__(self, **arguments: Any) -> None:
        self._given = arguments

    def inner_tools(self, agent: Any) -> Collection[str]:
        """The names of the agent's own tools; of those of MCP servers, which are connected already."""
        return frozenset(tool.name for tool in _own_tools(agent))

    def make_tools(self, request: adapter.AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as declarations; an agent need not be made with them."""
        return _declarations(request.tools)

    async def run(self, agent: Any, request: adapter.AgentRequest) -> AsyncGenerator[adapter.AgentOutput, None]:
        """See :class:`~partstream_agents.adapter.AgentAdapter`; raises also for a call of the host's tools
        whose arguments are no JSON object, and for a failure that the model's server reports."""
        own = list(_own_tools(agent))
        events = RunEvents(
            {tool.name for tool in request.tools},
            {tool.name for tool in own if getattr(tool, "approval_mode", None) == "always_require"},
            is_structured=bool(_defaults(agent).get("response_format")),
        )
        found = None if request.resumed is None else restored(request, request.resumed, events.tools)
        if found is None and request.resumed is not None:
            yield Unmapped("session", {"type": "session"})
        session, messages = found or (agent.create_session(), run_messages(request))
        names = {tool.name for tool in own}
        added = [tool for tool in request.tools if tool.name not in names]
        stream = agent.run(messages, stream=True, session=session, **self._arguments(agent, request, added))
        try:
            async for update in stream:
                for output in events.read(update):
                    yield output
            await stream.get_final_response()  # the session knows the answer once this is made
        finally:
            await stream.close()
            # Generators of the framework that were in use between two updates are closed by the event loop.
            await asyncio.sleep(0)
        for output in events.end(lambda: kept_state(session, events.tools)):
            yield output

    def _arguments(self, agent: Any, request: adapter.AgentRequest, added: Sequence[Tool]) -> dict[str, Any]:
        """The arguments of a run beside the conversation, as far as the agent takes them: a workflow takes no tools."""
        arguments: dict[str, Any] = {}
        if added:
            arguments["tools"] = _declarations(added)
        if chosen := chosen_options(request):
            arguments["options"] = chosen
        taken = inspect.signature(agent.run).parameters
        is_open = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
        return {name: value for name, value in arguments.items() if is_open or name in taken} | self._given


def _declarations(tools: Iterable[Tool]) -> list[FunctionTool]:
    """Tools without a function: the framework returns their calls (docs/wires/agents.md#microsoft-agent-framework)."""
    from agent_framework import FunctionTool  # noqa: PLC0415 - only where the person's file has imported it

    return [
        FunctionTool(name=tool.name, description=tool.description, func=None, input_model=dict(tool.input_schema or {}))
        for tool in tools
    ]


def _own_tools(agent: Any) -> Iterable[Any]:
    """The agent's own tools that have a name of their own; of a server of tools, its tools."""
    for tool in [*(_defaults(agent).get("tools") or ()), *(getattr(agent, "mcp_tools", None) or ())]:
        functions = getattr(tool, "functions", None)
        yield from (functions if isinstance(functions, list) else [tool] if hasattr(tool, "name") else ())


def _defaults(agent: Any) -> Mapping[str, Any]:
    return getattr(agent, "default_options", None) or {}


ADAPTER: Final = AgentFramework()
"""Runs agents with the framework's defaults."""
