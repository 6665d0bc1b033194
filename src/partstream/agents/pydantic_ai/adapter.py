"""Runs pydantic-ai agents: joins the conversation, the framework's loop and the reader of its events."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.failures import FailureKind
from partstream.agents.pydantic_ai.agent_tools import own_tools
from partstream.agents.pydantic_ai.conversation import model_settings_of, run_arguments
from partstream.agents.pydantic_ai.events import EventReader
from partstream.agents.pydantic_ai.framework_run import FrameworkRun
from partstream.agents.pydantic_ai.paused import PausedRun, dumped, waiting_calls
from partstream.agents.pydantic_ai.results import is_deferred

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from pydantic_ai import UsageLimits

    from partstream.agents.adapter import AgentOutput, AgentRequest
    from partstream.agents.pydantic_ai.results import RunEnd

__all__ = ["ADAPTER", "PydanticAI"]

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
    """Runs agents of pydantic-ai; see :class:`partstream.agents.adapter.AgentAdapter`.

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
        """See :class:`~partstream.agents.adapter.InnerToolsAdapter`."""
        return own_tools(agent).keys()

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """See :class:`~partstream.agents.adapter.AgentAdapter`."""
        paused = None if request.resumed is None else PausedRun.of_state(request.resumed)
        if paused is not None:
            paused = paused.answered(request)
            if paused.is_asking(request):
                for output in paused.outputs():
                    yield output
                return
        external = frozenset(tool.name for tool in request.tools)
        asking = [name for name, asks in own_tools(agent).items() if asks]
        reader = EventReader(external, asking, () if paused is None else paused.answered_calls(request))
        arguments = run_arguments(request) if paused is None else paused.arguments(request)
        run = FrameworkRun(agent, {**arguments, **self._settings(request)})
        async with aclosing(run.events()) as events:
            async for event in events:
                for output in reader.read(event):
                    yield output
        if run.stopped is not None:
            reader.ended = run.stopped
        for output in (*reader.end(), *_waiting(reader.ended, external)):
            yield output

    def _settings(self, request: AgentRequest) -> dict[str, Any]:
        """The arguments of a run that the person and the caller have chosen."""
        return {
            "deps": self._deps,
            "usage_limits": self._usage_limits,
            "model_settings": model_settings_of(request, self._model_settings),
        }


def _waiting(end: RunEnd | None, external: Collection[str]) -> Sequence[AgentOutput]:
    """What a run that has stopped waits for."""
    if end is None or not is_deferred(end.output):
        return ()
    return PausedRun(dumped(end.messages), waiting_calls(end.output, external)).outputs()


ADAPTER: Final = PydanticAI()
"""Runs agents with the framework's defaults."""
