"""Runs agents of pydantic-ai: conversations become the arguments of runs, and events of runs become outputs.

The host's tools go to the framework as an `ExternalToolset`; a run that wants them ends with `DeferredToolRequests`
(docs/wires/agents.md#external-tools-of-pydantic-ai). The type of its result allows that for one run. An agent with
output validators takes no type for one run: there a handler of the run's deferred calls ends it.

Events are known by their `event_kind`. Nearly every release adds kinds: a kind without a row comes out as `Unmapped`
(docs/wires/agents.md#events-of-pydantic-ai). Text that was emitted cannot be taken back, so only the rest of a repeated
text follows, an object counts as emitted where the model writes it as text, and the text of an agent that revises it is
held until the result is there. Calls of the host's tools come from the
result of the run, where they are whole and the step is over.

A run that has stopped waits for calls of three kinds: of the host's tools, of the agent's own tools that need an
approval, and calls that need an answer, such as the question of a tool that raises `CallDeferred`. It goes on from its
messages as JSON; without them it is rebuilt from the conversation. The framework is imported only in functions that
need it, after the agent's own file has imported it.
"""

from __future__ import annotations
import base64
import json
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Result, ResultContent, Text, Turn, TurnRole
from partstream.errors import TruncatedStreamError
from partstream.lm.inner_activity import InnerCall, InnerResult, plain_value, shown_call
from partstream.lm.messages import ChatMessage, ToolMode
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import ThinkingPart, Usage, text_part, thinking_part
from partstream.runtime.client_failures import FailureKind
from partstream_agents import adapter

if TYPE_CHECKING:
    from pydantic_ai import UsageLimits
    from pydantic_ai.messages import ModelMessage, ModelResponsePart, UserContent


# ---- The conversation as the arguments of a run ----


def own_tools(agent: Any) -> dict[str, bool]:
    """The names of the agent's own tools, each with whether its calls always need an approval.

    Tools of servers and tools that a function makes are known only in a run, and are not among them.
    """
    return {name: asks for toolset in agent.toolsets for name, asks in _tools_in(toolset)}


def _tools_in(toolset: Any) -> Iterator[tuple[str, bool]]:
    """The tools of a toolset: of functions, of several toolsets, or of one that it wraps and perhaps renames."""
    tools = getattr(toolset, "tools", None)
    if isinstance(tools, dict):
        yield from ((name, getattr(tool, "requires_approval", False) is True) for name, tool in tools.items())
    for definition in getattr(toolset, "tool_defs", ()):
        yield definition.name, False
    for inner in getattr(toolset, "toolsets", ()):
        yield from _tools_in(inner)
    wrapped = getattr(toolset, "wrapped", None)
    if wrapped is not None:
        prefix = getattr(toolset, "prefix", None)
        new_names = {old: new for new, old in (getattr(toolset, "name_map", None) or {}).items()}
        for name, asks in _tools_in(wrapped):
            yield f"{prefix}_{name}" if isinstance(prefix, str) else new_names.get(name, name), asks


THINKING_KEY: Final = "partstream.pydantic-ai"
"""The key in the metadata of a thinking part for the model's thinking with its signature."""


def run_arguments(request: adapter.AgentRequest) -> dict[str, Any]:
    """The arguments of a run that is rebuilt from the conversation, without the type of its result."""
    history = [*request.turns]
    prompt = None
    if history and history[-1].role is TurnRole.USER:
        prompt = _user_content(history.pop().content)
    elif not history or history[-1].role is TurnRole.ASSISTANT:
        prompt = ""  # the framework refuses a run without anything to answer
    return {
        "user_prompt": prompt,
        "message_history": history_of(history, request.messages),
        **common_arguments(request),
    }


def common_arguments(request: adapter.AgentRequest) -> dict[str, Any]:
    """The arguments that a rebuilt run and one that goes on have in common."""
    from pydantic_ai import ExternalToolset, ToolDefinition  # noqa: PLC0415 - the agent's file has imported it
    from pydantic_ai.capabilities import ReinjectSystemPrompt  # noqa: PLC0415 - as above

    definitions = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=dict(tool.input_schema or {})
        )
        for tool in request.tools
    ]
    return {
        "instructions": request.instructions or None,
        "toolsets": [ExternalToolset(definitions)] if definitions else None,
        # With a history the framework leaves out the agent's system prompt, which it expects to be in there.
        "capabilities": [ReinjectSystemPrompt()],
    }


def model_settings_of(request: adapter.AgentRequest, own: Mapping[str, Any]) -> Any:
    """The settings of the model: those of the person, and above them what the caller has chosen for this request.

    A caller that demands a call of one of its tools gets it of the first request to the model; the framework refuses
    the demand for all requests, because such a run has no end.

    Returns:
        The settings, a function that gives them for each request to the model, or None for none.
    """
    chosen = adapter.chosen_options(request)
    settings = {**own, **{"stop_sequences" if name == "stop" else name: value for name, value in chosen.items()}}
    if request.tool_mode is not ToolMode.REQUIRED or not request.tools:
        return settings or None
    demanding = {**settings, "tool_choice": [tool.name for tool in request.tools]}
    return lambda context: demanding if context.run_step <= 1 else settings


def history_of(turns: Iterable[Turn], messages: Sequence[ChatMessage] = ()) -> list[ModelMessage]:
    """Turns as messages of the framework.

    Args:
        turns: The turns, every call with a result after it.
        messages: The messages of the host, whose thinking holds the signatures that some servers want back.
    """
    from pydantic_ai.messages import (  # noqa: PLC0415 - as above
        ModelRequest,
        ModelResponse,
        ToolReturnPart,
        UserPromptPart,
    )

    history: list[ModelMessage] = []
    for turn in turns:
        if turn.role is TurnRole.ASSISTANT:
            parts = _response_parts(turn, messages)
            if parts:
                history.append(ModelResponse(parts=parts))
        elif turn.role is TurnRole.TOOL:
            returned = [
                ToolReturnPart(
                    tool_name=result.name,
                    content=result_value(result.content),
                    tool_call_id=result.call_id,
                    outcome="failed" if result.is_error else "success",
                )
                for result in turn.content
                if isinstance(result, Result)
            ]
            history.append(ModelRequest(parts=returned))
        else:
            history.append(ModelRequest(parts=[UserPromptPart(content=_user_content(turn.content))]))
    return history


def result_value(content: Iterable[ResultContent]) -> Any:
    """What a tool of the host returned, as the framework takes it: a text, or a list with its images and files."""
    values = [piece.value if isinstance(piece, Text) else _file(piece) for piece in content]
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    return values


def _user_content(content: Iterable[Any]) -> str | list[UserContent]:
    pieces: list[Any] = [
        piece.value if isinstance(piece, Text) else _file(piece)
        for piece in content
        if isinstance(piece, Text | Attachment)
    ]
    return pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces


def _file(attachment: Attachment) -> Any:
    from pydantic_ai.messages import BinaryContent, DocumentUrl, ImageUrl  # noqa: PLC0415 - as above

    if attachment.url:
        of_kind = ImageUrl if attachment.kind is MediaKind.IMAGE else DocumentUrl
        return of_kind(url=attachment.url, media_type=attachment.media_type or None)
    return BinaryContent(data=attachment.data, media_type=attachment.media_type)


def _response_parts(turn: Turn, messages: Sequence[ChatMessage]) -> list[ModelResponsePart]:
    """The parts of a turn of the assistant, after the thinking that its message carries with a signature, which the
    model's server checks."""
    from pydantic_ai.messages import TextPart, ToolCallPart  # noqa: PLC0415 - as above
    from pydantic_ai.messages import ThinkingPart as FrameworkThinking  # noqa: PLC0415

    parts: list[ModelResponsePart] = []
    for part in messages[turn.message].content if turn.message < len(messages) else ():
        kept = (part.metadata or {}).get(THINKING_KEY) if isinstance(part, ThinkingPart) else None
        if not isinstance(kept, Mapping) or not isinstance(text := kept.get("content"), str):
            continue
        item, signature, provider = (kept.get(name) for name in ("id", "signature", "provider_name"))
        if isinstance(item, str | None) and isinstance(signature, str | None) and isinstance(provider, str | None):
            parts.append(FrameworkThinking(content=text, id=item, signature=signature, provider_name=provider))
    for piece in turn.content:
        if isinstance(piece, Text):
            parts.append(TextPart(content=piece.value))
        elif isinstance(piece, Call):
            parts.append(ToolCallPart(tool_name=piece.name, args=dict(piece.input), tool_call_id=piece.call_id))
    return parts


# ---- The calls of the agent's own tools ----

_SUCCESS: Final = "success"
_RETRY: Final = "retry-prompt"


class InnerTools:
    """Which calls are shown, and when; see :class:`EventReader`."""

    def __init__(self, external: Collection[str], asking: Collection[str], answered: Collection[str]) -> None:
        self._external = frozenset(external)
        self._asking = frozenset(asking)
        self._answered = frozenset(answered)
        self._held: dict[str, InnerCall] = {}

    def called(self, part: Any, step: int) -> Iterator[InnerCall]:
        """The activity of a call that the framework is about to run, or to leave to the host."""
        if self._is_hidden(part):
            return
        call = InnerCall(part.tool_call_id, part.tool_name, arguments_of(part), step)
        if call.name in self._asking:
            self._held[call.call_id] = call
        else:
            yield call

    def returned(self, part: Any, step: int) -> Iterator[InnerCall | InnerResult]:
        """The activity of a result."""
        if self._is_hidden(part):
            return
        if (held := self._held.pop(part.tool_call_id, None)) is not None:
            yield held
        yield InnerResult(part.tool_call_id, part.tool_name or "", part.content, is_error(part), step)

    def _is_hidden(self, part: Any) -> bool:
        return part.tool_name in self._external or part.tool_call_id in self._answered


def arguments_of(part: Any) -> object:
    """The arguments of a call: a JSON object; the text that came where it is none."""
    if not isinstance(part.args, str):
        return part.args or {}
    try:
        arguments = json.loads(part.args or "{}")
    except ValueError:
        return part.args
    return arguments if isinstance(arguments, dict) else part.args


def is_error(part: Any) -> bool:
    """Whether a result says that the tool failed, was refused, or has to be called again."""
    return part.part_kind == _RETRY or getattr(part, "outcome", _SUCCESS) != _SUCCESS


# ---- The end of a run: its result, and the usage of its requests to the model ----

_DEFERRED: Final = "DeferredToolRequests"
"""The class of a result that says what the run waits for."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    output: Any  # its result: a text, an object, or the framework's `DeferredToolRequests` for a run that waits
    messages: Sequence[Any] = field(repr=False)  # the framework's messages of the whole conversation
    new_messages: Sequence[Any] = field(repr=False)  # those that the run added


def is_deferred_type(of_output: object) -> bool:
    """Whether a type of results is the one that says that the run waits for others, in place of a result."""
    return isinstance(of_output, type) and any(one.__name__ == _DEFERRED for one in of_output.__mro__)


def outputs_of_value(output: Any, texts: StepTexts, *, has_file: bool) -> list[adapter.AgentOutput]:
    """What the result of a run adds to what was streamed.

    What was streamed of the text is not said again; a hook that :func:`revises_text` does not know may have made
    another of it. A file has come as a part. An object has been streamed where the model writes it as text, else only
    the result has it.
    """
    if output is None or is_deferred_type(type(output)):
        return []
    said = texts.of_step.strip()
    if isinstance(output, str):
        rest = output.lstrip().removeprefix(said) if output.lstrip().startswith(said) else None
        if rest is not None and said:
            return [text_part(rest)] if rest.strip() else []
        return [text_part(piece) for piece in texts.another(output)]
    if isinstance(data := getattr(output, "data", None), bytes):
        return [] if has_file else [adapter.AgentFile(data, output.media_type)]
    return [] if _is_json(said) else [adapter.ResultObject(output)]


def revises_text(agent: Any) -> bool:
    """Whether an agent may make another text of what its model says: with a validator or a function of its output."""
    while (wrapped := getattr(agent, "wrapped", None)) is not None:
        agent = wrapped
    own = agent.output_type
    kinds = (type(one).__name__ for one in (own if isinstance(own, list | tuple) else [own]))
    return bool(getattr(agent, "_output_validators", ())) or "TextOutput" in kinds


def outputs_of_responses(messages: Iterable[Any]) -> list[adapter.AgentOutput]:
    """The tokens of each request to the model, and how the last one ended."""
    responses = [message for message in messages if message.kind == _RESPONSE]
    usages: list[adapter.AgentOutput] = [
        adapter.StepUsage(usage) for one in responses if (usage := _usage(one.usage)) is not None
    ]
    return [*usages, *(_finish(one) for one in responses[-1:])]


def _is_json(text: str) -> bool:
    """Whether a text is a JSON document, perhaps in a block of code."""
    inside = text.removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return isinstance(json.loads(inside), dict | list)
    except ValueError:
        return False


def _usage(usage: Any) -> Usage | None:
    """The tokens of one request; None where the model did not say them. The framework writes an unknown count as 0."""
    given, answered = usage.input_tokens, usage.output_tokens
    if not given and not answered:
        return None
    reasoning = getattr(usage, "output_reasoning_tokens", 0) or usage.details.get("reasoning_tokens")
    return Usage(
        input_tokens=given,
        output_tokens=answered,
        total_tokens=given + answered,
        cached_tokens=usage.cache_read_tokens or None,
        reasoning_tokens=reasoning or None,
        raw=dict(usage.details),
        cache_write_tokens=usage.cache_write_tokens or None,
    )


def _finish(response: Any) -> Finish:
    if _broke_off(response):
        return Finish(Outcome.TRUNCATED, error=TruncatedStreamError("ANSWERING"), model=response.model_name)
    reason = adapter.reason_of(response.finish_reason)
    return Finish(
        adapter.outcome_of(reason), reason, response_id=response.provider_response_id, model=response.model_name
    )


def _broke_off(response: Any) -> bool:
    """Whether the response of a model server broke off.

    The clients of model servers take the end of the bytes for the end of the response, and the framework gives `stop`
    in place of a reason that never came (observed with 2.68 over Chat Completions and Responses). The server's own
    reason is in `provider_details`; a response without that and without usage has not come to its end.
    """
    said = (response.provider_details or {}).get("finish_reason")
    has_calls = any(part.part_kind == "tool-call" for part in response.parts)
    return response.provider_name is not None and not said and not has_calls and _usage(response.usage) is None


# ---- The events of a run as outputs ----

_PARAGRAPH: Final = "\n\n"


class StepTexts:
    """The texts of one run. A step is one answer of the model; its texts are known by the index of their part."""

    def __init__(self) -> None:
        self._said: dict[int, str] = {}
        self._last = ""

    @property
    def of_step(self) -> str:
        """The text of the current step, without a paragraph that was put before it."""
        return "".join(self._said[index] for index in sorted(self._said))

    def forget_step(self) -> None:
        """Forgets the texts of the current step, which are not shown."""
        self._said = {}

    def begin_step(self) -> None:
        """Notes that the next answer of the model begins."""
        self._last = self.of_step or self._last
        self._said = {}

    def more(self, index: int, text: str) -> list[str]:
        """The pieces for a further piece of a text."""
        if not text:
            return []
        # The first text of a step is a paragraph of its own.
        is_paragraph = not any(self._said.values()) and self._last and not self._last.endswith("\n")
        self._said[index] = self._said.get(index, "") + text
        return [_PARAGRAPH, text] if is_paragraph else [text]

    def whole(self, index: int, text: str) -> list[str]:
        """The pieces of a text that is whole or replaces its beginning: the rest that was not emitted yet.

        A part that starts a second time replaces its first start (docs/wires/agents.md#events-of-pydantic-ai). If its
        text differs, it follows as a paragraph of its own.
        """
        said = self._said.get(index, "")
        if text.startswith(said):
            return self.more(index, text[len(said) :])
        self._said[index] = ""
        return [_PARAGRAPH, *self.more(index, text)]

    def another(self, text: str) -> list[str]:
        """The pieces of a text that no event held, after all others."""
        self.begin_step()
        return self.more(0, text)


_MOST_SHOWN: Final = 500
"""The most characters of an event's text in an `Unmapped`."""


class EventReader:
    """Reads the events of one run.

    Args:
        external: The names of the host's tools, whose calls are no activity of the agent.
        asking: The names of the agent's tools that need an approval: whether a call runs is not known at the call, so
            it is shown together with its result.
        answered: The ids of the calls whose results the run was given, and which it does not run itself.
        is_revised: Whether the agent may make another text of what its model says: then a text is held until a call
            beside it shows that it is none of the result, or until the result is there. A draft that a validator has
            refused is not shown.
    """

    def __init__(
        self,
        external: Collection[str] = (),
        asking: Collection[str] = (),
        answered: Collection[str] = (),
        *,
        is_revised: bool = False,
    ) -> None:
        self.ended: RunEnd | None = None  # how the run ended; None until it has
        self._is_revised = is_revised
        self._held: list[adapter.AgentOutput] = []
        self._step = 0
        self._texts = StepTexts()
        self._tools = InnerTools(external, asking, answered)
        self._has_file = False

    def read(self, event: Any) -> list[adapter.AgentOutput]:
        """Takes the next event and returns its outputs, in order."""
        handler = _EVENTS.get(getattr(event, "event_kind", ""))
        return [_unmapped(event)] if handler is None else handler(self, event)

    def end(self) -> list[adapter.AgentOutput]:
        """The outputs of the end of the run: a result that was not streamed, the tokens of each request to the model,
        and the finish of the last one."""
        if self.ended is None:
            return []
        if self._held:
            output = self.ended.output
            if is_deferred_type(type(output)) or (
                isinstance(output, str) and output.strip() == self._texts.of_step.strip()
            ):
                return [*self._release(), *outputs_of_responses(self.ended.new_messages)]
            self._drop()
        said = outputs_of_value(self.ended.output, self._texts, has_file=self._has_file)
        return [*said, *outputs_of_responses(self.ended.new_messages)]

    def _started(self, event: Any) -> list[adapter.AgentOutput]:
        begun: list[adapter.AgentOutput] = []
        if event.previous_part_kind is None:  # the first part of an answer of the model
            self._step += 1
            self._drop()
            self._texts.begin_step()
            begun.append(adapter.StepBegun(self._step))
        return [*begun, *_of_part(_STARTS, self, event, event.part.part_kind, event.part)]

    def _whole_text(self, index: int, part: Any) -> list[adapter.AgentOutput]:
        return self._said(self._texts.whole(index, part.content))

    def _said(self, pieces: Iterable[str]) -> list[adapter.AgentOutput]:
        parts: list[adapter.AgentOutput] = [text_part(piece) for piece in pieces]
        if not self._is_revised:
            return parts
        self._held += parts
        return []

    def _release(self, *_: Any) -> list[adapter.AgentOutput]:
        held, self._held = self._held, []
        return held

    def _drop(self) -> None:
        if self._held:
            self._held = []
            self._texts.forget_step()

    def _whole_thinking(self, _: int, part: Any) -> list[adapter.AgentOutput]:
        if not part.signature:
            return []
        kept = {name: getattr(part, name) for name in ("content", "id", "signature", "provider_name")}
        return [thinking_part("", None, {THINKING_KEY: kept})]

    def _thought(self, text: str | None) -> list[adapter.AgentOutput]:
        # Without the provider's id, it forms one block with the lines on the calls of the same step.
        return [thinking_part(text)] if text else []

    def _whole_file(self, _: int, part: Any) -> list[adapter.AgentOutput]:
        self._has_file = True
        return [adapter.AgentFile(part.content.data, part.content.media_type)]

    def _nothing(self, *_: Any) -> list[adapter.AgentOutput]:
        return []

    def _run_ended(self, event: Any) -> list[adapter.AgentOutput]:
        result = event.result
        self.ended = RunEnd(result.output, result.all_messages(), result.new_messages())
        return []


_EVENTS: Final[Mapping[str, Callable[[EventReader, Any], list[adapter.AgentOutput]]]] = {
    "part_start": EventReader._started,
    "part_delta": lambda reader, event: _of_part(_DELTAS, reader, event, event.delta.part_delta_kind, event.delta),
    "part_end": lambda reader, event: _of_part(_ENDS, reader, event, event.part.part_kind, event.part),
    "function_tool_call": lambda reader, event: [
        *reader._release(),
        *reader._tools.called(event.part, max(reader._step, 1)),
    ],
    "function_tool_result": lambda reader, event: [*reader._tools.returned(event.part, max(reader._step, 1))],
    "agent_run_result": EventReader._run_ended,
    # Is neither the end nor a sign of the last text: calls of tools may follow it.
    "final_result": EventReader._nothing,
    # The model's call for the agent's result; the result has it.
    "output_tool_call": EventReader._release,
    "output_tool_result": EventReader._nothing,
    # They also hold what a handler of the agent decides by itself; the result says what is left.
    "deferred_tool_requests": EventReader._nothing,
    "deferred_tool_results": EventReader._nothing,
    # Changes of the next request to the model, which are not shown.
    "tool_availability_delta": EventReader._nothing,
    "capability_load_delta": EventReader._nothing,
    "model_settings_delta": EventReader._nothing,
}
_STARTS: Final[Mapping[str, Callable[[EventReader, int, Any], list[adapter.AgentOutput]]]] = {
    "text": EventReader._whole_text,
    "thinking": lambda reader, _, part: reader._thought(part.content),
    "tool-call": EventReader._nothing,
    "builtin-tool-call": EventReader._nothing,
    "builtin-tool-return": EventReader._nothing,
    "file": EventReader._nothing,
}
_DELTAS: Final[Mapping[str, Callable[[EventReader, int, Any], list[adapter.AgentOutput]]]] = {
    "text": lambda reader, index, delta: reader._said(reader._texts.more(index, delta.content_delta)),
    "thinking": lambda reader, _, delta: reader._thought(delta.content_delta),
    "tool_call": EventReader._nothing,
}
_ENDS: Final[Mapping[str, Callable[[EventReader, int, Any], list[adapter.AgentOutput]]]] = {
    "text": EventReader._whole_text,
    "thinking": EventReader._whole_thinking,
    "tool-call": EventReader._nothing,
    "builtin-tool-call": lambda reader, _, part: [
        InnerCall(part.tool_call_id, part.tool_name, arguments_of(part), reader._step)
    ],
    "builtin-tool-return": lambda reader, _, part: [
        InnerResult(part.tool_call_id, part.tool_name, part.content, is_error(part), reader._step)
    ],
    "file": EventReader._whole_file,
}


def _of_part(
    table: Mapping[str, Callable[[EventReader, int, Any], list[adapter.AgentOutput]]],
    reader: EventReader,
    event: Any,
    kind: str,
    part: Any,
) -> list[adapter.AgentOutput]:
    handler = table.get(kind)
    return [_unmapped(event, kind)] if handler is None else handler(reader, event.index, part)


def _unmapped(event: Any, part: str = "") -> Unmapped:
    kind = str(getattr(event, "event_kind", type(event).__name__))
    return Unmapped(f"{kind}.{part}" if part else kind, {"event": repr(event)[:_MOST_SHOWN]})


# ---- One run of the framework ----

_VALIDATORS: Final = "output validators"
"""Is in the framework's error for an agent that has them."""
_RESPONSE: Final = "response"


class FrameworkRun:
    """One run."""

    def __init__(self, agent: Any, arguments: Mapping[str, Any]) -> None:
        self._agent = agent
        self._arguments = arguments
        self._results: list[Any] = []
        # how the run ended where a handler ended it; None for a run that ended by itself
        self.stopped: RunEnd | None = None

    async def events(self) -> AsyncGenerator[Any, None]:
        """The events of the run. Closing the generator closes the run, and with it the stream of the model."""
        from pydantic_ai import UserError  # noqa: PLC0415 - the agent's file has imported it

        has_begun = False
        try:
            async with self._agent.run_stream_events(**self._arguments, output_type=self._output_type()) as events:
                async for event in events:
                    has_begun = True
                    yield event
        except UserError as error:
            if has_begun or _VALIDATORS not in str(error):
                raise
        else:
            return
        async for event in self._handled_events():
            yield event

    async def _handled_events(self) -> AsyncGenerator[Any, None]:
        from pydantic_ai.capabilities import HandleDeferredToolCalls  # noqa: PLC0415 - as above
        from pydantic_ai.messages import ModelRequest  # noqa: PLC0415 - as above

        capabilities = [*self._arguments["capabilities"], HandleDeferredToolCalls(self._hand_out)]
        arguments = {**self._arguments, "capabilities": capabilities}
        try:
            async with self._agent.run_stream_events(**arguments) as events:
                async for event in events:
                    # The results of the model's last response, which the framework has not added to its messages yet.
                    if event.event_kind == "part_start":
                        self._results.clear()
                    elif event.event_kind == "function_tool_result":
                        self._results.append(event.part)
                    yield event
        except _HandedOutError as handed_out:
            messages = handed_out.messages
            if self._results and messages[-1].kind == _RESPONSE:
                messages = [*messages, ModelRequest(parts=[*self._results])]
            new = messages[len(self._arguments["message_history"]) :]
            self.stopped = RunEnd(handed_out.requests, messages, new)

    def _output_type(self) -> Any:
        """The agent's own type of results, or what a run waits for; None where the agent says that already."""
        from pydantic_ai import DeferredToolRequests  # noqa: PLC0415 - as above

        own = self._agent.output_type
        types = [*own] if isinstance(own, list | tuple) else [own]
        return None if any(map(is_deferred_type, types)) else [*types, DeferredToolRequests]

    async def _hand_out(self, context: Any, requests: Any) -> None:
        """Handles the calls that no other handler of the agent has handled: ends the run with them."""
        raise _HandedOutError(requests, [*context.messages])


class _HandedOutError(Exception):
    """Ends a run whose calls others have to run; never leaves this module."""

    def __init__(self, requests: Any, messages: list[Any]) -> None:
        super().__init__("calls were handed out")
        self.requests = requests
        self.messages = messages


# ---- A run that has stopped ----

_MISSING: Final = "[The result of this call is missing: it was not given back.]"
_VERSION: Final = 1


class WaitingFor(StrEnum):
    """What a call waits for."""

    HOST = "host"
    APPROVAL = "approval"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a run waits for."""

    call_id: str
    name: str
    arguments: Any  # the arguments; a text where they are no JSON object
    kind: WaitingFor  # what it waits for


@dataclass(frozen=True, slots=True)
class PausedRun:
    """A run that waits for others."""

    messages: Sequence[Any] = field(repr=False)  # the framework's messages, as JSON
    calls: tuple[WaitingCall, ...]  # the calls that it waits for, in the model's order
    # the results that are known already, by call id, as JSON
    results: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> PausedRun | None:
        """The run that a state says; None for a state of another form, from which the run is rebuilt."""
        try:
            if state["version"] != _VERSION:
                return None
            calls = tuple(WaitingCall(one, name, given, WaitingFor(kind)) for one, name, given, kind in state["calls"])
            return cls(list(state["messages"]), calls, dict(state["results"]))
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def of_kind(self, kind: WaitingFor) -> tuple[WaitingCall, ...]:
        """The calls of one kind."""
        return tuple(call for call in self.calls if call.kind is kind)

    def outputs(self) -> list[adapter.AgentOutput]:
        """The calls and questions of the run, and its state.

        Raises:
            ToolArgumentsError: The arguments of a call of the host's tools are no JSON object.
        """
        of_host = [one for one in self.of_kind(WaitingFor.HOST) if one.call_id not in self.results]
        calls = [adapter.host_call(one.call_id, one.name, one.arguments) for one in of_host]
        asked = self.of_kind(WaitingFor.APPROVAL)
        approvals = [adapter.Approval(one.call_id, one.name, one.arguments) for one in asked]
        outputs: list[adapter.AgentOutput] = []
        # A person answers with a message, which would come before the results: those first.
        if not calls and not approvals and (asking := self.of_kind(WaitingFor.ANSWER)):
            outputs.append(adapter.Question(_question(asking), asking[0].call_id))
        state = {
            "version": _VERSION,
            "messages": self.messages,
            "calls": [[one.call_id, one.name, plain_value(one.arguments), one.kind.value] for one in self.calls],
            "results": dict(self.results),
        }
        return [*outputs, *adapter.stopped(calls, approvals, state)]

    def answered(self, request: adapter.AgentRequest) -> PausedRun:
        """The run with the results in a request."""
        results = {call_id: _kept(result) for call_id, result in request.results.items()}
        return replace(self, results={**self.results, **results})

    def answered_calls(self, request: adapter.AgentRequest) -> frozenset[str]:
        """The ids of the calls that the run does not run itself, because their result is there."""
        approved = {call_id for call_id, decision in request.decisions.items() if decision.approved}
        asking = {one.call_id for one in self.of_kind(WaitingFor.APPROVAL)}
        return frozenset(one.call_id for one in self.calls) - (asking & approved)

    def arguments(self, request: adapter.AgentRequest) -> dict[str, Any]:
        """The arguments of the run that goes on, without the type of its result."""
        from pydantic_ai import DeferredToolResults  # noqa: PLC0415 - the agent's file has imported it
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

        answers = dict.fromkeys((one.call_id for one in self.of_kind(WaitingFor.ANSWER)), request.reply or "")
        calls = {one.call_id: _given(self.results.get(one.call_id)) for one in self.of_kind(WaitingFor.HOST)}
        approvals = {
            one.call_id: _decided(request.decisions.get(one.call_id)) for one in self.of_kind(WaitingFor.APPROVAL)
        }
        return {
            "user_prompt": None,
            "message_history": ModelMessagesTypeAdapter.validate_python(self.messages),
            "deferred_tool_results": DeferredToolResults(calls={**calls, **answers}, approvals=approvals),
            **common_arguments(request),
        }


def waiting_calls(requests: Any, external: Collection[str]) -> tuple[WaitingCall, ...]:
    """The calls that a run waits for; a call of a tool that is none of the host's is never handed to the host."""
    calls = [
        WaitingCall(
            call.tool_call_id,
            call.tool_name,
            arguments_of(call),
            WaitingFor.HOST if call.tool_name in external else WaitingFor.ANSWER,
        )
        for call in requests.calls
    ]
    approvals = [
        WaitingCall(call.tool_call_id, call.tool_name, arguments_of(call), WaitingFor.APPROVAL)
        for call in requests.approvals
    ]
    return (*calls, *approvals)


def _question(calls: Sequence[WaitingCall]) -> str:
    """What a person reads: the only text among the arguments of a call, else the call."""
    lines = []
    for call in calls:
        given = call.arguments.values() if isinstance(call.arguments, dict) else ()
        texts = [value for value in given if isinstance(value, str)]
        shown = shown_call(adapter.Approval(call.call_id, call.name, call.arguments))
        lines.append(texts[0] if len(texts) == 1 else f"`{shown}` waits for an answer.")
    return "\n\n".join(lines)


def _kept(result: Result) -> dict[str, Any]:
    """A result as JSON."""
    content = [
        {"text": piece.value}
        if isinstance(piece, Text)
        else {"data": base64.b64encode(piece.data).decode(), "type": piece.media_type, "url": piece.url}
        for piece in result.content
    ]
    return {"content": content, "isError": result.is_error}


def _given(kept: Any) -> Any:
    """A kept result as the framework takes it."""
    import pydantic_ai  # noqa: PLC0415 - as above

    if kept is None:
        return _MISSING
    value = result_value([_piece(one) for one in kept["content"]])
    failed = getattr(pydantic_ai.exceptions, "ToolFailed", None)  # since 2.23; before, only the text says it
    return failed(value) if kept["isError"] and failed is not None and isinstance(value, str) else value


def _piece(kept: Mapping[str, Any]) -> Text | Attachment:
    if "text" in kept:
        return Text(kept["text"])
    kind = MediaKind.IMAGE if kept["type"].startswith("image/") else MediaKind.FILE
    return Attachment(kind, kept["type"], base64.b64decode(kept["data"]), "", kept["url"])


def _decided(decision: adapter.Decision | None) -> Any:
    from pydantic_ai import ToolApproved, ToolDenied  # noqa: PLC0415 - as above

    if decision is None:
        return ToolDenied()
    return ToolApproved() if decision.approved else ToolDenied(decision.reason)


# ---- The adapter ----

_ERRORS: Final[Mapping[str, FailureKind]] = {
    "UsageLimitExceeded": FailureKind.LIMIT,
    "ConcurrencyLimitExceeded": FailureKind.LIMIT,
    "OutputTokenLimitExceeded": FailureKind.LIMIT,
    "ContentFilterError": FailureKind.REFUSED,
    "UnexpectedModelBehavior": FailureKind.MODEL,
    "ModelHTTPError": FailureKind.HTTP,
    "ModelTimeoutError": FailureKind.TIMEOUT,
    "ModelRequestTimeout": FailureKind.TIMEOUT,
    "ModelAPIError": FailureKind.MODEL,
    "FallbackExceptionGroup": FailureKind.MODEL,
    "RunTimedOut": FailureKind.TIMEOUT,
    "RunCancelled": FailureKind.CANCELLED,
    "UserError": FailureKind.USAGE,
}


class PydanticAI:
    """Runs agents of pydantic-ai; see :class:`partstream_agents.adapter.AgentAdapter`.

    An agent that needs more than the defaults comes in a pairing with an object of this class::

        as_model(AgentPairing(agent, PydanticAI(deps=database)), name="My agent")

    Args:
        deps: The object that the agent's tools get as `ctx.deps`; shared by all runs.
        usage_limits: The limits of one run, until the next call of a host's tool; None for the framework's own, which
            are 50 requests to the model.
        model_settings: Settings of the model for every run, above those of the agent. What a caller chooses for a
            request, such as a temperature, is above both.
    """

    framework: str = "pydantic-ai"
    tested: str = "1.93-2.68"
    errors: Mapping[str, FailureKind] = _ERRORS

    def __init__(
        self,
        *,
        deps: object = None,
        usage_limits: UsageLimits | None = None,
        model_settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._deps = deps
        self._usage_limits = usage_limits
        self._model_settings = dict(model_settings or {})

    def inner_tools(self, agent: Any) -> Collection[str]:
        """See :class:`~partstream_agents.adapter.InnerToolsAdapter`."""
        return own_tools(agent).keys()

    async def run(self, agent: Any, request: adapter.AgentRequest) -> AsyncGenerator[adapter.AgentOutput, None]:
        """See :class:`~partstream_agents.adapter.AgentAdapter`."""
        paused = None if request.resumed is None else PausedRun.of_state(request.resumed)
        if paused is not None:
            paused = paused.answered(request)
            if paused.of_kind(WaitingFor.ANSWER) and request.reply is None:  # the person has to be asked first
                for output in paused.outputs():
                    yield output
                return
        external = frozenset(tool.name for tool in request.tools)
        asking = [name for name, asks in own_tools(agent).items() if asks]
        answered = () if paused is None else paused.answered_calls(request)
        reader = EventReader(external, asking, answered, is_revised=revises_text(agent))
        arguments = run_arguments(request) if paused is None else paused.arguments(request)
        settings = model_settings_of(request, self._model_settings)
        arguments = {**arguments, "deps": self._deps, "usage_limits": self._usage_limits, "model_settings": settings}
        run = FrameworkRun(agent, arguments)
        async with aclosing(run.events()) as events:
            async for event in events:
                for output in reader.read(event):
                    yield output
        if run.stopped is not None:
            reader.ended = run.stopped
        outputs = reader.end()
        if reader.ended is not None and is_deferred_type(type(reader.ended.output)):
            from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

            messages = ModelMessagesTypeAdapter.dump_python([*reader.ended.messages], mode="json")
            outputs += PausedRun(messages, waiting_calls(reader.ended.output, external)).outputs()
        for output in outputs:
            yield output


ADAPTER: Final = PydanticAI()
"""Runs agents with the framework's defaults."""
