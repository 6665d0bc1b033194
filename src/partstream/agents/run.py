"""One request to an agent, from the conversation to the last part of the answer.

A request begins a run, or goes on with a run that has stopped: with the results of the host's tools, with what the
person decided about the agent's own, or with the answer to its question. Where nothing of a stopped run is left, or it
belongs to another conversation, the run is rebuilt from the conversation.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import AgentPairing, InnerToolsAdapter, Question, ToolMakingAdapter
from partstream.agents.answer import AgentAnswer
from partstream.agents.approvals import decided_by, question_of, read_reply
from partstream.agents.failures import AgentFailedError, AgentSaidNothingError, FailureKind, failure_of
from partstream.agents.paused_runs import PausedRun, paused_run_of
from partstream.agents.requests import read_agent_request, read_results
from partstream.agents.spoken_digest import said_digest, spoken_digest
from partstream.conversation.state_marker import Origin, StateMarker, marker_part, read_marker
from partstream.errors import LanguageModelError
from partstream.kinds import as_kind
from partstream.messages import Role
from partstream.outputs import Finish, Outcome
from partstream.parts import DataPart, ToolResultPart
from partstream.provider import DrainingProgress, FinishingProgress
from partstream.usage import usage_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.agents.adapter import AgentAdapter, AgentRequest
    from partstream.agents.options import AgentOptions
    from partstream.agents.run_states import RunStates
    from partstream.cancellation import CancellationToken
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.parts import ResponsePart
    from partstream.provider import Progress
    from partstream.usage import Usage

__all__ = ["AgentRun", "AgentSpec"]

_logger = logging.getLogger("partstream.agents")

_MOST_RUNS: Final = 100
"""The most runs of one answer: each is an approval that a policy decided at once."""
_NO_STATE: Final = "it wants calls to be allowed, and keeps no state to go on from"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What all requests to one model have in common.

    Attributes:
        pairing: The agent, or a sample of what the factory makes, and its adapter.
        factory: Makes an agent of the host's tools of a request; None for an agent that serves all requests.
        options: What the person chose.
        origin: The agent and the model that kept states belong to.
        model_id: The model's id at the host.
        states: Keeps stopped runs.
    """

    pairing: AgentPairing
    factory: Callable[[Sequence[Any]], Any] | None
    options: AgentOptions
    origin: Origin
    model_id: str
    states: RunStates

    @property
    def adapter(self) -> AgentAdapter:
        """The adapter."""
        return self.pairing.adapter

    @property
    def inner_tools(self) -> frozenset[str]:
        """The names of the agent's own tools, as far as they are known before a run."""
        adapter = as_kind(self.adapter, InnerToolsAdapter)
        return frozenset() if adapter is None else frozenset(adapter.inner_tools(self.pairing.agent))

    def agent_for(self, request: AgentRequest) -> Any:
        """The agent that runs a request."""
        if self.factory is None:
            return self.pairing.agent
        maker = as_kind(self.adapter, ToolMakingAdapter)
        made = self.factory(request.tools if maker is None else maker.make_tools(request))
        return made.agent if isinstance(made, AgentPairing) else made


class AgentRun:
    """One request.

    Args:
        asking: The model.
        messages: The conversation.
        options: The host's tools and options.
        progress: Takes the parts.
        token: Cancelled when nobody waits for the answer any more.
    """

    def __init__(
        self,
        asking: AgentSpec,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        self._asking = asking
        self._token = token
        self._messages = messages
        self._has_tools = bool(options.tools)
        self._progress = progress
        self._draining = as_kind(progress, DrainingProgress)
        self._finishing = as_kind(progress, FinishingProgress)
        self._request, self._tools = read_agent_request(
            messages, options, asking.options.host_tools, asking.inner_tools
        )
        self._answer = AgentAnswer(asking.options.tools, self._tools, f"activity-{token_hex(4)}")

    @property
    def total(self) -> Usage | None:
        """What all inner requests took together so far; None without a report."""
        return self._answer.usages.total

    async def answer(self) -> None:
        """Answers, and reports the parts as they come.

        Raises:
            LanguageModelError: The run failed, or ended with nothing to show.
            Exception: An error of the agent's own code.
        """
        try:
            await self._go_on(await self._paused_run())
            if not self._answer.is_visible:
                reason = self._answer.finish().reason
                said = None if reason is None else reason.raw or reason.unified.value
                unknown = self._answer.handed_out.refused
                raise AgentSaidNothingError(self._asking.adapter.framework, said, unknown)
        except LanguageModelError as error:
            self._tell(replace(self._answer.finish(), outcome=Outcome.FAILED, error=error))
            raise
        finally:
            if self._answer.unmapped:
                _logger.info("the run of an agent held what has no part: %s", dict(self._answer.unmapped))
        usage = self._answer.usages.last
        part = None if usage is None else usage_part(usage)
        if part is not None:
            await self._report([part])
        self._tell(self._answer.finish())

    async def _go_on(self, found: _Found | None) -> None:
        """Goes on with a stopped run, or begins one."""
        if found is None:
            await self._run(self._request)
            return
        paused, later = found.run, found.later
        if paused.approvals:
            paused = paused.decided(read_reply(paused.reply(later), paused.approvals))
            if paused.calls:
                await self._hand_out(paused)
                return
        await self._run(self._resumed(paused, later))

    def _resumed(self, paused: PausedRun, later: Sequence[ChatMessage]) -> AgentRequest:
        """The request that goes on with a run."""
        parts: tuple[ToolResultPart, ...] = paused.results(later) or ()
        names = {call.call_id: self._tools.sent(call.name) for call in paused.calls}
        return replace(
            self._request,
            resumed=paused.state,
            results=read_results(parts, names),
            decisions=paused.decisions,
            reply=paused.reply(later) if paused.question else None,
        )

    async def _run(self, request: AgentRequest) -> None:
        """Runs the agent until it ends, or stops with calls of the host or a question to the person."""
        agent = self._asking.agent_for(request)
        for _ in range(_MOST_RUNS):
            await self._run_once(agent, request)
            stopped = self._stopped()
            if not self._answer.approvals:
                await self._hand_out(stopped)
                return
            decisions = await decided_by(self._asking.options.approve, self._answer.approvals)
            if decisions is None:
                await self._ask(stopped)
                return
            if stopped is None:
                raise self._failed(_NO_STATE)
            if stopped.calls:
                await self._hand_out(stopped.decided(decisions))
                return
            request = replace(request, resumed=stopped.state, results={}, decisions=decisions, reply=None)
        raise self._failed(f"{_MOST_RUNS} runs for one answer were not enough")

    async def _run_once(self, agent: Any, request: AgentRequest) -> None:
        adapter = self._asking.adapter
        self._answer.begin_run()
        refused = len(self._answer.handed_out.refused)
        try:
            async with aclosing(adapter.run(agent, request)) as outputs:
                async for output in outputs:
                    await self._report(self._answer.take(output))
        except Exception as error:
            failure = failure_of(error, adapter.framework, adapter.errors)
            if failure is error:
                raise
            raise failure from error
        for name in self._answer.handed_out.refused[refused:]:
            self._answer.unmapped[f"a call of {name}, which is no tool of the host"] += 1

    def _stopped(self) -> PausedRun | None:
        """The run as it has stopped; None for one that cannot be gone on with exactly."""
        answer = self._answer
        if answer.state is None:
            return None
        return PausedRun(
            self._asking.adapter.framework,
            answer.state,
            calls=tuple(answer.handed_out.calls),
            approvals=answer.approvals,
            question=answer.has_question,
        )

    async def _ask(self, stopped: PausedRun | None) -> None:
        """Ends the answer with the question whether calls may be run."""
        if stopped is None:
            raise self._failed(_NO_STATE)
        await self._report(self._answer.take(Question(question_of(stopped.approvals))))
        await self._keep(replace(stopped, question=False))

    async def _hand_out(self, stopped: PausedRun | None) -> None:
        """Ends the answer, with the calls of the host's tools if there are any."""
        calls = self._answer.handed_out.calls if stopped is None else stopped.calls
        await self._report(self._answer.hand_out(calls))
        if stopped is not None and (calls or stopped.question):
            await self._keep(stopped)

    async def _keep(self, stopped: PausedRun) -> None:
        """Keeps a stopped run for the next request, and leaves its key in the conversation."""
        history, answer = spoken_digest(self._messages), said_digest(self._answer.parts)
        record = replace(stopped, history=history, answer=answer, had_tools=self._has_tools).to_json()
        key = await asyncio.to_thread(self._asking.states.keep, record)
        if key is not None:
            marker = StateMarker(self._asking.origin, key, history, answer)
            await self._report([marker_part(self._asking.model_id, marker)])

    async def _paused_run(self) -> _Found | None:
        """The run that the last answer has left, if this request goes on with it; else None."""
        number = _last_answer(self._messages)
        marker = None if number is None else _marker_of(self._messages[number])
        if number is None or marker is None or marker.origin != self._asking.origin or not marker.response_id:
            return None
        paused = paused_run_of(await asyncio.to_thread(self._asking.states.find, marker.response_id))
        if paused is None or paused.framework != self._asking.adapter.framework:
            return None
        if paused.had_tools and not self._has_tools:
            return None  # a small request of the host, such as for a summary: it answers no question of the run
        # The digests of the record count, not those of the marker: only the record is ours alone.
        before, later = self._messages[:number], self._messages[number + 1 :]
        if paused.history != spoken_digest(before) or paused.answer != said_digest(self._messages[number].content):
            return None
        if paused.approvals or paused.question:
            return _Found(paused, later) if paused.reply(later) else None
        return _Found(paused, later) if paused.results(later) is not None else None

    async def _report(self, parts: Iterable[ResponsePart]) -> None:
        for part in parts:
            if self._token.is_cancellation_requested:
                raise asyncio.CancelledError  # some frameworks swallow the first one and run on
            self._progress.report(part)
            if self._draining is not None:
                await self._draining.drain()

    def _tell(self, finish: Finish) -> None:
        if self._finishing is not None:
            self._finishing.finish(finish)

    def _failed(self, said: str) -> AgentFailedError:
        return AgentFailedError(self._asking.adapter.framework, FailureKind.USAGE, "AgentRun", said)


@dataclass(frozen=True, slots=True)
class _Found:
    """A stopped run, and the messages behind its answer."""

    run: PausedRun
    later: Sequence[ChatMessage]


def _last_answer(messages: Sequence[ChatMessage]) -> int | None:
    numbers = range(len(messages) - 1, -1, -1)
    return next((number for number in numbers if messages[number].role is Role.ASSISTANT), None)


def _marker_of(message: ChatMessage) -> StateMarker | None:
    markers = (read_marker(part) for part in message.content if isinstance(part, DataPart))
    return next((marker for marker in markers if marker is not None), None)
