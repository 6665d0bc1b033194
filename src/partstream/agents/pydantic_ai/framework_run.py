"""One run of the framework: its events until it ends, and what it waits for where it has stopped.

What a run may hand out is said by the type of its result, for this run alone: the agent's own, or
`DeferredToolRequests`. An agent with output validators takes no type for one run
(docs/wires/agents.md#external-tools-of-pydantic-ai); there a handler of the run's deferred calls ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.pydantic_ai.results import RunEnd, is_deferred_type

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

__all__ = ["FrameworkRun"]

_VALIDATORS: Final = "output validators"
"""Is in the framework's error for an agent that has them."""
_RESPONSE: Final = "response"


class FrameworkRun:
    """One run.

    Args:
        agent: The agent.
        arguments: The arguments of the run without `output_type`.

    Attributes:
        stopped: How the run ended where a handler ended it; None for a run that ended by itself.
    """

    def __init__(self, agent: Any, arguments: Mapping[str, Any]) -> None:
        self._agent = agent
        self._arguments = arguments
        self._results: list[Any] = []
        self.stopped: RunEnd | None = None

    async def events(self) -> AsyncGenerator[Any, None]:
        """The events of the run. Closing the generator closes the run, and with it the stream of the model.

        Raises:
            Exception: Any exception of the framework, of the agent's tools or of its model.
        """
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

        capabilities = [*self._arguments["capabilities"], HandleDeferredToolCalls(self._hand_out)]
        arguments = {**self._arguments, "capabilities": capabilities}
        try:
            async with self._agent.run_stream_events(**arguments) as events:
                async for event in events:
                    self._note(event)
                    yield event
        except _HandedOutError as handed_out:
            messages = self._with_results(handed_out.messages)
            new = messages[len(self._arguments["message_history"]) :]
            self.stopped = RunEnd(handed_out.requests, messages, new)

    def _output_type(self) -> Any:
        """The agent's own type of results, or what a run waits for; None where the agent says that already."""
        from pydantic_ai import DeferredToolRequests  # noqa: PLC0415 - as above

        own = self._agent.output_type
        types = [*own] if isinstance(own, list | tuple) else [own]
        return None if any(map(is_deferred_type, types)) else [*types, DeferredToolRequests]

    async def _hand_out(self, context: Any, requests: Any) -> None:
        """Handles calls that nobody else of the agent has handled: ends the run with them."""
        raise _HandedOutError(requests, [*context.messages])

    def _note(self, event: Any) -> None:
        """Notes the results of the last answer of the model, which the framework has not put behind it yet."""
        if event.event_kind == "part_start":
            self._results.clear()
        elif event.event_kind == "function_tool_result":
            self._results.append(event.part)

    def _with_results(self, messages: list[Any]) -> list[Any]:
        from pydantic_ai.messages import ModelRequest  # noqa: PLC0415 - as above

        if not self._results or messages[-1].kind != _RESPONSE:
            return messages
        return [*messages, ModelRequest(parts=[*self._results])]


class _HandedOutError(Exception):
    """Ends a run whose calls somebody else has to run; never leaves this module."""

    def __init__(self, requests: Any, messages: list[Any]) -> None:
        super().__init__("calls were handed out")
        self.requests = requests
        self.messages = messages
