"""Runs agents of the OpenAI Agents SDK: the loop between a request and the outputs of its run."""

from __future__ import annotations

from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.agents.openai_agents.conversation import chosen_settings, run_arguments
from partstream.agents.openai_agents.errors import ERRORS
from partstream.agents.openai_agents.events import RunEnd, RunEvents
from partstream.agents.openai_agents.host_tools import ExtendedAgents, asking_tools, function_tools, own_tools
from partstream.agents.openai_agents.inner_tools import arguments_of, call_id_of, name_of
from partstream.agents.openai_agents.run_state import kept_state, restored_state
from partstream.outputs import Unmapped
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from agents import Agent, RunConfig
    from agents.result import RunResultStreaming

    from partstream.agents.adapter import AgentOutput, AgentRequest
    from partstream.agents.failures import FailureKind

__all__ = ["OpenAIAgents"]

_MOST_TURNS = 10
"""The SDK's own default, `DEFAULT_MAX_TURNS`."""


class OpenAIAgents:
    """Runs agents of the OpenAI Agents SDK; see :class:`partstream.agents.adapter.AgentAdapter`.

    An agent that needs more than the defaults comes in a pairing with an object of this class::

        as_model(AgentPairing(agent, OpenAIAgents(max_turns=30)), name="My agent")

    Args:
        max_turns: The most requests to the model in one run, until the next call of a host's tool; None for any number.
        context: The object that the tools of the agent get; shared by all runs.
        run_config: The SDK's settings of a run, such as `RunConfig(tracing_disabled=True)`; None for its defaults.
            Tracing is what the person has chosen there, or by the SDK's own switches.
    """

    framework: str = "OpenAI Agents SDK"
    tested: str = "0.21-0.24"
    errors: Mapping[str, FailureKind] = ERRORS

    def __init__(
        self, *, max_turns: int | None = _MOST_TURNS, context: object = None, run_config: RunConfig | None = None
    ) -> None:
        self._max_turns = max_turns
        self._context = context
        self._run_config = run_config

    def inner_tools(self, agent: Agent[Any]) -> Collection[str]:
        """The names of the agent's own tools, and of those that it may hand over to."""
        return own_tools(agent)

    def make_tools(self, request: AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as function tools; an agent need not be made with them."""
        return function_tools(request.tools, request.results)

    async def run(self, agent: Agent[Any], request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Runs the agent until it ends, wants one of the host's tools, or asks the person.

        Raises:
            RequestNotExpressibleError: The conversation holds what the input of a run has no form for.
            ToolArgumentsError: The arguments of a call for the host are no JSON object.
            Exception: Any exception of the SDK, of the agent's tools or of its model.
        """
        from agents import Runner  # noqa: PLC0415 - only where the person's file has imported it

        whole = ExtendedAgents(self.make_tools(request)).copy_of(agent)
        events = RunEvents({tool.name for tool in request.tools}, asking_tools(agent))
        state = await restored_state(whole, request, self._context, self._max_turns)
        if state is None and request.resumed is not None:
            yield Unmapped("run_state", {"type": "run_state"})
        for item in () if state is None else state.get_interruptions():
            events.tools.expect(call_id_of(item.raw_item), name_of(item.raw_item), arguments_of(item.raw_item))
        given: Any = run_arguments(request) if state is None else state
        result = Runner.run_streamed(
            whole, given, context=self._context, max_turns=self._max_turns, run_config=self._settings(request)
        )
        async with aclosing(_outputs(result, events)) as outputs:
            async for output in outputs:
                yield output

    def _settings(self, request: AgentRequest) -> RunConfig | None:
        """The settings of a run: those of the person, and above them what the caller has chosen for this request."""
        chosen = chosen_settings(request)
        if not chosen:
            return self._run_config
        from agents import ModelSettings, RunConfig  # noqa: PLC0415 - see `run`

        settings = self._run_config or RunConfig()
        own = settings.model_settings
        above = ModelSettings(**chosen)
        return replace(settings, model_settings=above if own is None else own.resolve(above))


async def _outputs(result: RunResultStreaming, events: RunEvents) -> AsyncGenerator[AgentOutput, None]:
    """The outputs of a run, to its end. Leaving it stops the run."""
    before = len(_entries(result))
    stream: Any = result.stream_events()  # an asynchronous generator, annotated as an iterator
    try:
        async for event in stream:
            for output in events.read(event):
                yield output
    except Exception as error:
        for output in events.break_off(error):
            yield output
        return
    except BaseException:  # this generator is closed, or its task cancelled
        await _stop(result, stream)
        raise
    for output in events.end(_end_of(result, before)):
        yield output


async def _stop(result: RunResultStreaming, stream: Any) -> None:
    """Cancels a run, which closes the stream of its model, and waits for its tasks: they end while somebody reads on
    (the SDK's documentation of `cancel`). What fails meanwhile belongs to no answer any more."""
    result.cancel()
    with suppress(Exception):
        await stream.aclose()
    with suppress(Exception):
        async for _ in result.stream_events():
            pass


def _end_of(result: RunResultStreaming, before: int) -> RunEnd:
    interruptions = result.interruptions
    usages = [_usage(entry) for entry in _entries(result)[before:]]
    return RunEnd(interruptions, result.final_output, kept_state(result) if interruptions else None, usages)


def _entries(result: RunResultStreaming) -> Sequence[Any]:
    """The tokens of each request, also of those before the run went on."""
    return result.context_wrapper.usage.request_usage_entries


def _usage(entry: Any) -> Usage:
    return Usage(
        input_tokens=entry.input_tokens,
        output_tokens=entry.output_tokens,
        total_tokens=entry.total_tokens,
        cached_tokens=entry.input_tokens_details.cached_tokens,
        reasoning_tokens=entry.output_tokens_details.reasoning_tokens,
    )
