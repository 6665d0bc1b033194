"""Answers one request with an agent, from the conversation to the last part of the response.

A request begins a run, or goes on with a run that has stopped: with the results of the host's tools, with the person's
decisions about the agent's own, or with the answer to its question. Where nothing of a stopped run is left, or it
belongs to another conversation, the run is rebuilt from the conversation.

A stopped run is kept as a JSON record: one file under a random key in the user's data folder, for the user alone,
because it holds a conversation. Records that are too old or too many are removed, and nothing is ever unpickled. The
key is in the conversation, as the host's stateful marker. The record holds the digests of the conversation and of the
response: only the next request of the same conversation goes on with it.

The digest is one of words, because Copilot puts context of its own around a person's words and renders it anew in every
turn: of messages of the user only the words and the results of tools count; of responses the calls and the text,
without white space and without the descriptions that hosts put instead of files
(:mod:`partstream.vscode.hosted_answer`).
"""

from __future__ import annotations
import asyncio
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import uuid4

from partstream.codec.checks import dataclass, described, field, narrow, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import DATA
from partstream.conversation import turns as conversation
from partstream.conversation.provider_state import Origin, StateMarker, marker_part, read_marker
from partstream.errors import LanguageModelError
from partstream.lm.inner_activity import plain_value
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart, usage_part
from partstream.lm.provider import DrainingProgress, FinishingProgress, Progress
from partstream.runtime.answer_files import BoundedFolder, FileLimits
from partstream.runtime.client_failures import AgentFailedError, AgentSaidNothingError, FailureKind, failure_of
from partstream.runtime.simple import text_of, user_request
from partstream_agents import adapter as adapters
from partstream_agents.answer import AgentAnswer, ExternalTools, decided_by, question_of, read_reply, selected
from partstream_agents.detection import UnknownAgentError, pairing_of

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.parts import MessagePart, ResponsePart, Usage
    from partstream_agents.answer import AgentOptions, HostTools


# ---- The host's request as one to an agent ----


def read_agent_request(
    messages: Sequence[ChatMessage], options: RequestOptions, host_tools: HostTools, inner_tools: Collection[str]
) -> tuple[adapters.AgentRequest, ExternalTools]:
    """The request, rebuilt from the conversation alone, and the host's tools of it."""
    given, _ = conversation.read_turns(messages)
    called = (piece.name for turn in given for piece in turn.content if isinstance(piece, conversation.Call))
    external = ExternalTools(selected(options.tools, host_tools), inner_tools, called)
    turns, _ = conversation.pair(external.renamed_turns(given), conversation.CallIds(""), external.names)
    named = options.model_options.get("_conversationId")
    instructions = (
        "".join(piece.value for piece in turn.content if isinstance(piece, conversation.Text))
        for turn in turns
        if turn.role is conversation.TurnRole.SYSTEM
    )
    return adapters.AgentRequest(
        turns=tuple(turn for turn in turns if turn.role is not conversation.TurnRole.SYSTEM),
        messages=tuple(messages),
        instructions="\n\n".join(filter(None, instructions)),
        tools=external.tools,
        tool_mode=options.tool_mode,
        # Names with an underscore are for the host (observed in Copilot 0.67).
        model_options={name: value for name, value in options.model_options.items() if not name.startswith("_")},
        thread_id=named if isinstance(named, str) and named else uuid4().hex,
    ), external


def read_results(results: Iterable[ToolResultPart], names: dict[str, str]) -> dict[str, conversation.Result]:
    """Results of the host as pieces of turns, by the ids of their calls."""
    pieces: dict[str, conversation.Result] = {}
    for result in results:
        for turn in conversation.read_turns([ChatMessage.user([result])])[0]:
            for piece in turn.content:
                if isinstance(piece, conversation.Result):
                    pieces[piece.call_id] = replace(piece, name=names.get(piece.call_id, piece.name))
    return pieces


# ---- Stopped runs ----

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class PausedRun:
    """A run that has stopped and may go on."""

    framework: str  # the framework of the agent, which alone reads the state
    state: Mapping[str, Any] = field(repr=False)  # the adapter's state, a JSON object
    # the calls of the host's tools that the run waits for, with the framework's ids and the host's names
    calls: tuple[ToolCallPart, ...] = ()
    # the calls of the agent's own tools that the person was asked about; `calls` go out after them
    approvals: tuple[adapters.Approval, ...] = ()
    decisions: Mapping[str, adapters.Decision] = field(default_factory=dict)  # earlier decisions, by call id
    question: bool = False  # whether the run waits for the answer to a question
    history: str = ""  # the digest of the conversation before the response; empty before the run is kept
    answer: str = ""  # the digest of the response; empty before the run is kept
    had_tools: bool = False  # whether the request brought tools of the host

    def decided(self, decisions: Mapping[str, adapters.Decision]) -> PausedRun:
        """The run after the approvals were decided."""
        return replace(self, approvals=(), decisions={**self.decisions, **decisions}, history="", answer="")

    def results(self, later: Sequence[ChatMessage]) -> tuple[ToolResultPart, ...] | None:
        """The results of the calls in the order of the calls; None where one is missing, or where more was said."""
        parts = [part for message in later for part in message.content]
        found = {part.call_id: part for part in parts if isinstance(part, ToolResultPart)}
        wanted = [call.call_id for call in self.calls]
        if sorted(found) != sorted(wanted) or any(text_of(message).strip() for message in later):
            return None
        return tuple(found[call_id] for call_id in wanted)

    def reply(self, later: Sequence[ChatMessage]) -> str:
        """The person's words after the answer; empty where there are none."""
        return user_request(later).strip()

    def to_json(self) -> dict[str, Any]:
        """The record."""
        return {
            "version": _VERSION,
            "framework": self.framework,
            "history": self.history,
            "answer": self.answer,
            "state": self.state,
            "calls": [[one.call_id, one.name, dict(one.input)] for one in self.calls],
            "approvals": [[one.call_id, one.name, plain_value(one.arguments), one.reason] for one in self.approvals],
            "decisions": {call_id: [one.approved, one.reason] for call_id, one in self.decisions.items()},
            "question": self.question,
            "hadTools": self.had_tools,
        }


def paused_run_of(record: Any) -> PausedRun | None:
    """The run in a record; None for a damaged record, and for one of another version."""
    if not isinstance(record, dict) or record.get("version") != _VERSION:
        return None
    try:
        return PausedRun(
            framework=record["framework"],
            state=dict(record["state"]),
            calls=tuple(ToolCallPart(call_id, name, given) for call_id, name, given in record["calls"]),
            approvals=tuple(adapters.Approval(*one) for one in record["approvals"]),
            decisions={call_id: adapters.Decision(*one) for call_id, one in record["decisions"].items()},
            question=record["question"] is True,
            history=record["history"],
            answer=record["answer"],
            had_tools=record.get("hadTools") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


# ---- The digest by which a kept run knows its conversation ----

_NOT_SAID = re.compile(r"\[\w+/[\w.+-]+\]|\s+")
"""White space, and the description of a file, such as `[image/png]`."""
_REQUEST_TAG = "<userRequest>"
_SIZE = 16


def spoken_digest(messages: Sequence[ChatMessage]) -> str:
    """The digest of a conversation: answers with their calls, what the tools returned, and the words of the person."""
    is_tagged = any(_REQUEST_TAG in text_of(message) for message in messages if message.role is Role.USER)
    digest = blake2b(digest_size=_SIZE)
    for message in messages:
        if message.role is Role.ASSISTANT:
            conversation.add_fields(digest, (b"answer", said_digest(message.content).encode()))
        elif message.role is Role.USER:
            kept = _said_by_user(message, is_tagged=is_tagged)
            if kept is not None:
                one = conversation.HistoryDigest()
                one.add(kept)
                conversation.add_fields(digest, (b"user", one.value.encode()))
    return digest.hexdigest()


def said_digest(parts: Iterable[MessagePart]) -> str:
    """The digest of an answer: what was said in it, and its calls."""
    parts = list(parts)
    text = "".join(part.value for part in parts if isinstance(part, TextPart))
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    return conversation.answer_digest([TextPart(_NOT_SAID.sub("", text)), *calls])


def _said_by_user(message: ChatMessage, *, is_tagged: bool) -> ChatMessage | None:
    """A message of the user without what the host adds to it; None where nothing else is in it."""
    results = [part for part in message.content if isinstance(part, ToolResultPart)]
    text = text_of(message)
    if is_tagged and _REQUEST_TAG not in text:
        return ChatMessage.user(results) if results else None
    words = user_request([message]) if is_tagged else text
    others = [part for part in message.content if not isinstance(part, TextPart)]
    return ChatMessage.user([*others, TextPart(words)]) if words or others else None


# ---- The run ----

_Found: TypeAlias = "tuple[PausedRun, Sequence[ChatMessage]]"
"""A stopped run, and the messages after its response."""

_logger = logging.getLogger("partstream.agents")

_MOST_RUNS: Final = 100
"""The most runs of one answer: each is an approval that a policy decided at once."""
_NO_STATE: Final = "it requires tool approval but keeps no state, so it cannot resume"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What all requests to one model have in common."""

    pairing: adapters.AgentPairing  # the agent, or a sample of what the factory makes, and its adapter
    # makes an agent of the host's tools of a request; None for an agent that serves all requests
    factory: Callable[[Sequence[Any]], Any] | None
    options: AgentOptions
    origin: Origin  # the agent and the model that kept states belong to
    model_id: str
    states: RunStates

    @property
    def adapter(self) -> adapters.AgentAdapter:
        """The adapter of the agent's framework."""
        return self.pairing.adapter

    @property
    def inner_tools(self) -> frozenset[str]:
        """The names of the agent's own tools, as far as they are known before a run."""
        adapter = narrow(self.adapter, adapters.InnerToolsAdapter)
        return frozenset() if adapter is None else frozenset(adapter.inner_tools(self.pairing.agent))

    def pairing_for(self, request: adapters.AgentRequest) -> adapters.AgentPairing:
        """The agent that runs a request, and the adapter with the options of that agent: what a factory makes for one
        request, such as the object that the tools of its agent get, belongs to that request alone.

        Raises:
            UnknownAgentError: The factory made no agent this time.
        """
        if self.factory is None:
            return self.pairing
        maker = narrow(self.adapter, adapters.ToolMakingAdapter)
        made = self.factory(request.tools if maker is None else maker.make_tools(request))
        if (pairing := pairing_of(made)) is None:
            raise UnknownAgentError(f"a function that makes {described(made)}")
        return pairing


class AgentRun:
    """One request."""

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
        self._draining = narrow(progress, DrainingProgress)
        self._finishing = narrow(progress, FinishingProgress)
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
        paused, later = found
        if paused.approvals:
            decisions = read_reply(paused.reply(later), paused.approvals)
            await self._report(self._answer.refuse(paused.approvals, decisions))
            paused = paused.decided(decisions)
            if paused.calls:
                await self._hand_out(paused)
                return
        names = {call.call_id: self._tools.sent(call.name) for call in paused.calls}
        request = replace(
            self._request,
            resumed=paused.state,
            results=read_results(paused.results(later) or (), names),
            decisions=paused.decisions,
            reply=paused.reply(later) if paused.question else None,
        )
        await self._run(request)

    async def _run(self, request: adapters.AgentRequest) -> None:
        """Runs the agent until it ends, or stops with calls of the host or a question to the person."""
        pairing = self._asking.pairing_for(request)
        if pairing.adapter.framework != self._asking.adapter.framework:
            request = replace(request, resumed=None, results={}, decisions={}, reply=None)  # no other one can read it
        for _ in range(_MOST_RUNS):
            self._answer.begin_run()
            refused = len(self._answer.handed_out.refused)
            await self._report_run(pairing, request)
            for name in self._answer.handed_out.refused[refused:]:
                self._answer.unmapped[f"a call of {name}, which is no tool of the host"] += 1
            stopped = self._stopped()
            if not self._answer.approvals:
                await self._hand_out(stopped)
                return
            decisions = await decided_by(self._asking.options.approve, self._answer.approvals)
            if stopped is None:
                raise self._failed(_NO_STATE)
            if decisions is None:
                await self._report(self._answer.take(adapters.Question(question_of(stopped.approvals))))
                await self._keep(replace(stopped, question=False))
                return
            await self._report(self._answer.refuse(stopped.approvals, decisions))
            if stopped.calls:
                await self._hand_out(stopped.decided(decisions))
                return
            request = replace(request, resumed=stopped.state, results={}, decisions=decisions, reply=None)
        raise self._failed(f"{_MOST_RUNS} runs for one answer were not enough")

    async def _report_run(self, pairing: adapters.AgentPairing, request: adapters.AgentRequest) -> None:
        adapter = pairing.adapter
        try:
            async with aclosing(adapter.run(pairing.agent, request)) as outputs:
                async for output in outputs:
                    await self._report(self._answer.take(output))
        except Exception as error:
            failure = failure_of(error, adapter.framework, adapter.errors)
            if failure is error:
                raise
            raise failure from error

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
        numbers = range(len(self._messages) - 1, -1, -1)
        number = next((number for number in numbers if self._messages[number].role is Role.ASSISTANT), None)
        last = () if number is None else self._messages[number].content
        markers = (read_marker(part) for part in last if isinstance(part, DataPart))
        marker = next((marker for marker in markers if marker is not None), None)
        if number is None or marker is None or marker.origin != self._asking.origin or not marker.response_id:
            return None
        paused = paused_run_of(await asyncio.to_thread(self._asking.states.find, marker.response_id))
        if paused is None or paused.framework != self._asking.adapter.framework:
            return None
        if paused.had_tools and not self._has_tools:
            return None  # a small request of the host, such as for a summary: it answers no question of the run
        # The digests of the record count, not those of the marker: only the record is ours alone.
        before, later = self._messages[:number], self._messages[number + 1 :]
        if paused.history != spoken_digest(before) or paused.answer != said_digest(last):
            return None
        if paused.approvals or paused.question:
            return (paused, later) if paused.reply(later) else None
        return (paused, later) if paused.results(later) is not None else None

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


# ---- The folder of stopped runs ----

_FOLDER: Final = "agent-runs"
_NAMES: Final = re.compile(r"[0-9a-f]{32}\.json")
_LIMITS: Final = FileLimits(file_bytes=16 * 2**20, all_bytes=128 * 2**20, files=500, seconds=14 * 86_400.0)


class RunStates:
    """The stopped runs in one folder. Any number of processes may share it.

    Args:
        folder: The folder; None for that of the user's data. It is made when the first run is kept.
        limits: The most that it holds. A larger record is not kept, and the run is rebuilt instead.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self, folder: Path | None = None, limits: FileLimits = _LIMITS, clock: Callable[[], float] = time.time
    ) -> None:
        self._place = folder
        self._limits = limits
        self._clock = clock

    def keep(self, record: dict[str, Any]) -> str | None:
        """Keeps a record; returns its key, or None where it cannot be kept: then the run is rebuilt from the
        conversation.
        """
        key = secrets.token_hex(16)
        return key if self._folder().keep(f"{key}.json", dumps(record), "a stopped run of an agent") else None

    def find(self, key: str) -> Any:
        """The record under a key, as its JSON value; None where there is none any more."""
        data = self._folder().read(f"{key}.json")  # which reads no file elsewhere: the key is from the conversation
        try:
            return None if data is None else loads(data)
        except JSONDecodeError:
            return None

    def _folder(self) -> BoundedFolder:
        """The folder of this moment; one that a person has linked elsewhere is used there."""
        place = os.path.realpath(self._place or DATA.path() / _FOLDER)
        return BoundedFolder(Path(place), _NAMES, self._limits, self._clock)
