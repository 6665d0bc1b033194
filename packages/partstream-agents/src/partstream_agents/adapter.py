"""The interface between an agent's framework and everything else: the request to an adapter, and its outputs.

An adapter is two halves without I/O and the loop that joins them: one half turns the conversation into the arguments of
a run, the other turns the framework's events into outputs, in the order of the events. Parts of the model itself (text,
thinking, data) go on as they are; the other outputs state what the agent does besides, and the options of the model
decide what of it is shown.
"""

from __future__ import annotations
from collections.abc import AsyncGenerator, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from partstream.codec.checks import dataclass, field
from partstream.conversation.turns import Result, Turn
from partstream.errors import ToolArgumentsError
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.messages import ChatMessage, Tool, ToolMode
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
    tool_call_part,
)
from partstream.runtime.client_failures import FailureKind

# ---- The request and the adapter ----


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a call that needs an approval.

    Attributes:
        approved: Whether the agent may run it.
        reason: Why not, for the model; empty if it may run.
    """

    approved: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One request to an agent.

    Attributes:
        turns: The conversation without the host's instructions. Every call has a result after it and every result a
            call before it; names of tools are those of `tools`.
        messages: The conversation as the host sent it.
        instructions: The host's system messages as one text, such as Copilot's; may be empty.
        tools: The host's tools that the agent may call and never runs itself, under the names to use.
        tool_mode: Whether the model may or must call a tool.
        model_options: The caller's options for the model, without those of the host.
        resumed: The state that the run kept which this request goes on with, verified to belong to this conversation;
            None where the run is to be rebuilt from `turns`.
        results: The results of the calls that the kept run handed out, by the framework's own call ids, in the order
            of the calls; empty without `resumed`.
        decisions: The decisions about the calls of the kept run that need an approval, by call id.
        reply: The person's answer to the question of the kept run; None without one.
        thread_id: A name of the conversation that stays the same; a new one where the host names none.
    """

    turns: tuple[Turn, ...]
    messages: tuple[ChatMessage, ...]
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    tool_mode: ToolMode = ToolMode.AUTO
    model_options: Mapping[str, Any] = field(default_factory=dict)
    resumed: Mapping[str, Any] | None = field(default=None, repr=False)
    results: Mapping[str, Result] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    reply: str | None = None
    thread_id: str = ""


_OPTIONS: Final = {
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
    "stop_sequences": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}


def chosen_options(request: AgentRequest) -> dict[str, Any]:
    """The options that the caller has chosen, under one name each. All others stay out: they may hold headers, and the
    agent chose its model and its tools itself."""
    given = request.model_options.items()
    return {_OPTIONS[name]: value for name, value in given if name in _OPTIONS and value is not None}


class AgentAdapter(Protocol):
    """What a framework's folder offers, as an object without state: it serves any number of runs at once.

    Attributes:
        framework: The framework's name for people, such as `pydantic-ai`.
        tested: The versions of the framework that the tests run against, such as `2.60-2.68`.
        errors: What the framework's exceptions mean, by the name of their class or of a base class.
    """

    framework: str
    tested: str
    errors: Mapping[str, FailureKind]

    def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Runs the agent until it ends, wants one of the host's tools, or asks the person.

        Closing the generator stops the run and closes the stream of the model at once.

        Raises:
            Exception: Any exception of the framework, of the agent's tools or of its model.
        """
        ...


@runtime_checkable
class ToolMakingAdapter(Protocol):
    """An adapter whose agents are made with the host's tools, because a finished one takes no further tools."""

    def make_tools(self, request: AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as objects of the framework, for a factory of agents."""
        ...


@runtime_checkable
class InnerToolsAdapter(Protocol):
    """An adapter that knows the tools of an agent before its run."""

    def inner_tools(self, agent: Any) -> Collection[str]:
        """The names of the agent's own tools: a host's tool of such a name gets another one."""
        ...


@runtime_checkable
class ClosableAdapter(Protocol):
    """An adapter that keeps something open between requests, such as a program."""

    async def aclose(self) -> None:
        """Ends it; a later request opens it again."""
        ...


@dataclass(frozen=True, slots=True)
class AgentPairing:
    """An agent with the adapter that runs it; what the hook `__partstream_model__` of an object may return."""

    agent: Any
    adapter: AgentAdapter


# ---- Outputs ----


@dataclass(frozen=True, slots=True)
class Handover:
    """Another agent goes on with the run."""

    to: str


@dataclass(frozen=True, slots=True)
class SubAgentText:
    """A piece of text that an agent below the asked one said; not the answer.

    Attributes:
        agent: The name of the agent that said it.
        text: The piece.
        message: The framework's id of the message, by which the words of agents of one name are kept apart; may be
            empty.
    """

    agent: str
    text: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file or an image that the agent made.

    Attributes:
        data: The bytes.
        media_type: Their media type, such as `image/png`.
        name: The name of the file, or None.
    """

    data: bytes
    media_type: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalCalls:
    """The calls of the host's tools that the run ends with, whole and in the model's order.

    An adapter yields it once a run, after the framework has said that the step is over.

    Attributes:
        calls: The calls, with the names of :attr:`partstream_agents.adapter.AgentRequest.tools`.
    """

    calls: tuple[ToolCallPart, ...]


@dataclass(frozen=True, slots=True)
class Approval:
    """A call of one of the agent's own tools that a person has to allow.

    Attributes:
        call_id: The framework's id of the call, which is the key of the decision.
        name: The name of the agent's tool.
        arguments: The arguments, as in :class:`InnerCall`.
        reason: Why the framework asks, in its own words; empty where it gives no reason.
    """

    call_id: str
    name: str
    arguments: object
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The run has stopped: calls of the agent's own tools need an approval. A :class:`KeptState` comes with it."""

    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """The run has stopped with a question to the person; goes with a :class:`KeptState` if the answer can be taken.

    Attributes:
        text: The question, in Markdown.
        id: The framework's id of the question; may be empty.
    """

    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class StepBegun:
    """The answer to the next inner request to the model begins. For frameworks that tell the tokens of all requests at
    the end of the run: elsewhere a :class:`StepUsage` says that the next request follows.

    Attributes:
        step: The number of the request, from 1.
    """

    step: int


@dataclass(frozen=True, slots=True)
class StepUsage:
    """The tokens of one inner request to the model; one for each.

    Attributes:
        usage: The tokens of that request alone, never a sum.
    """

    usage: Usage


@dataclass(frozen=True, slots=True)
class ResultObject:
    """The result of a run that is no text: becomes JSON in a block of code.

    Attributes:
        value: The object: JSON values, a dataclass, or a model that can dump itself (`model_dump`).
    """

    value: object


@dataclass(frozen=True, slots=True)
class KeptState:
    """What an exact continuation of this run needs. It is kept for the next request, and comes back as
    :attr:`partstream_agents.adapter.AgentRequest.resumed`.

    Attributes:
        json: A JSON object.
    """

    json: Mapping[str, Any] = field(repr=False)


AgentOutput: TypeAlias = (
    TextPart
    | ThinkingPart
    | DataPart
    | Unmapped
    | Finish
    | InnerCall
    | InnerResult
    | Handover
    | SubAgentText
    | AgentFile
    | ExternalCalls
    | ApprovalAsked
    | Question
    | StepBegun
    | StepUsage
    | ResultObject
    | KeptState
)
"""An output of a run. A `Finish` is that of the last inner request, without usage; an adapter need not yield one."""


# ---- How a run stops, and why its model stopped ----


def host_call(call_id: str, name: str, arguments: object) -> ToolCallPart:
    """A call of a host's tool.

    Raises:
        ToolArgumentsError: The arguments are no JSON object.
    """
    if not isinstance(arguments, dict):
        raise ToolArgumentsError(call_id=call_id, name=name, arguments=str(arguments))
    return tool_call_part(call_id, name, arguments)


def stopped(
    calls: Iterable[ToolCallPart], approvals: Iterable[Approval], state: Mapping[str, Any] | None
) -> list[AgentOutput]:
    """The outputs of a run that waits for the host or the person, with the state that it goes on from if there is
    one."""
    outputs: list[AgentOutput] = []
    if found := tuple(calls):
        outputs.append(ExternalCalls(found))
    if asked := tuple(approvals):
        outputs.append(ApprovalAsked(asked))
    return outputs if state is None else [*outputs, KeptState(state)]


_REASONS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed"), UnifiedFinishReason.STOP),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), UnifiedFinishReason.LENGTH),
    **dict.fromkeys(("tool_call", "tool_calls", "tool_use", "function_call"), UnifiedFinishReason.TOOL_CALLS),
    **dict.fromkeys(("content_filter", "refusal", "safety"), UnifiedFinishReason.CONTENT_FILTER),
    "error": UnifiedFinishReason.ERROR,
}
_CUT: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})


def reason_of(raw: str | None) -> FinishReason | None:
    """Why a model stopped, by the word of its framework or server; the Responses API has a status in its place."""
    return None if raw is None else FinishReason(_REASONS.get(raw.lower(), UnifiedFinishReason.OTHER), raw)


def outcome_of(reason: FinishReason | None) -> Outcome:
    """The outcome of an answer that a model has stopped: a limit or a filter leaves it incomplete."""
    return Outcome.INCOMPLETE if reason is not None and reason.unified in _CUT else Outcome.COMPLETED


# ---- Who speaks, and paragraphs ----


class Speakers:
    """Who speaks at the same time in one run. The words of the first are said as they come; what others say waits until
    those before them are done, in the order in which they began."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[Any]] = {}
        self._done: set[Hashable] = set()

    def say(self, speaker: Hashable, words: Iterable[Any]) -> list[Any]:
        """What can be said now, of what a speaker says."""
        waiting = self._waiting.setdefault(speaker, [])
        self._done.discard(speaker)
        waiting += words
        return self._spoken()

    def end(self, ended: Iterable[Hashable]) -> list[Any]:
        """What can be said once speakers are done."""
        self._done.update(one for one in ended if one in self._waiting)
        return self._spoken()

    def end_all(self) -> list[Any]:
        """What is left at the end of the run."""
        return self.end([*self._waiting])

    @property
    def open(self) -> Collection[Hashable]:
        """Those who are not done."""
        return self._waiting.keys() - self._done

    def _spoken(self) -> list[Any]:
        spoken: list[Any] = []
        for speaker in [*self._waiting]:
            spoken += self._waiting[speaker]
            self._waiting[speaker] = []
            if speaker not in self._done:
                break
            del self._waiting[speaker]
            self._done.discard(speaker)
        return spoken


_BLANK_LINE = "\n\n"


class Paragraphs:
    """The text of one run, step by step: each request to the model begins a paragraph of the answer."""

    def __init__(self) -> None:
        self._end = ""
        self._is_new_step = False

    def begin_step(self) -> None:
        """Another request to the model begins."""
        self._is_new_step = bool(self._end)

    def of(self, text: str) -> list[TextPart]:
        """The parts of a piece of text; before the first of a step a blank line, unless the model has one there."""
        if not text:
            return []
        parts = [TextPart(text)]
        if self._is_new_step and not self._end.endswith(_BLANK_LINE) and not text.startswith(_BLANK_LINE):
            parts.insert(0, TextPart(_BLANK_LINE))
        self._is_new_step = False
        self._end = f"{self._end}{text}"[-len(_BLANK_LINE) :]
        return parts
