"""Has one conversation with a provider, action by action, and records everything that happens; judges nothing.

:func:`drive` carries out the actions of a consumer. Each action but a cancellation first waits for the end of the
running answer, within a limit of time; then it listens a moment longer, for what must not come. A cancellation waits
until the model server of the target has begun to answer, because a target may take time before it asks. Every part is
kept as it came, also one that comes too late, and log lines go to the answer whose task wrote them.

The rest of the module is what the kit knows about a target: the capabilities that it declares before it is asked
anything, and :class:`Target` and :class:`Session`.
"""

from __future__ import annotations
import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Protocol

from partstream.codec.checks import dataclass, field, fields, replace
from partstream.errors import CallerError, LanguageModelError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.outputs import Finish
from partstream.lm.parts import DataPart, MessagePart, TextPart, ThinkingPart, ToolCallPart
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream_devtools.conformance.scripts import Action, Script, result_of
from partstream_devtools.conformance.transcript import Answer, Recorded, TranscriptEventKind, UpstreamReply
from partstream_devtools.testing.upstream import ReplayUpstream

# ---- Conversations ----


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits of time, in seconds.

    Attributes:
        answer_seconds: The most that one answer may take.
        grace_seconds: How long the kit listens after the end of an answer, for what must not come.
    """

    answer_seconds: float = 10.0
    grace_seconds: float = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """What a conversation begins with: the text of a bare `send`, and what every request has."""

    prompt: str
    history: tuple[ChatMessage, ...] = ()
    tools: tuple[Tool, ...] = ()
    images: tuple[DataPart, ...] = ()
    model_options: Mapping[str, Any] | None = None

    @property
    def options(self) -> RequestOptions:
        """The tools and options of every request."""
        return RequestOptions(self.tools, model_options=self.model_options)


class _Recorder:
    """The progress of one answer: keeps every part as it is, also those that come too late."""

    def __init__(self, answer: Answer) -> None:
        self._events = answer.events
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def add(self, kind: TranscriptEventKind, value: Any = None) -> None:
        self._events.append(Recorded((time.monotonic() - self._began) * 1000, kind, value))
        self._loop.call_soon_threadsafe(self._changed.set)

    def report(self, part: object, /) -> None:
        self.add(TranscriptEventKind.PART, part)

    async def drain(self) -> None:
        """Lets other tasks run: the kit is no slow reader."""
        await asyncio.sleep(0)

    def finish(self, finish: Finish, /) -> None:
        self.add(TranscriptEventKind.FINISH, finish)

    def wait(self, reason: str, seconds: float, /) -> None:
        """Takes a wait; it is no part of the answer."""

    @property
    def has_parts(self) -> int:
        """The number of parts so far."""
        return sum(event.kind is TranscriptEventKind.PART for event in self._events)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.changes()

    async def changes(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class _Conversation:
    """One conversation while it runs: the messages so far, and the answer that is coming."""

    def __init__(
        self,
        provider: LanguageModelChatProvider,
        model: LanguageModelChatInformation,
        request: Request,
        limits: TimeLimits,
        upstream: ReplayUpstream | None = None,
    ) -> None:
        self.answers: list[Answer] = []
        self._provider = provider
        self._model = model
        self._request = request
        self._limits = limits
        self._upstream = upstream
        self._asked_before = 0
        self._messages: list[ChatMessage] = list(request.history)
        self._results: list[MessagePart] = []
        self._images = request.images
        self._recorder: _Recorder | None = None
        self._source = CancellationTokenSource()
        self._task: asyncio.Task[None] | None = None
        self._is_kept = True

    async def send(self, text: str, *, is_cancelled: bool = False) -> None:
        await self.wait()
        prompt = text or ("" if self._results else self._request.prompt)
        content = [*self._results, *self._images, *([TextPart(prompt)] if prompt else [])]
        self._results, self._images = [], ()
        self._messages.append(ChatMessage.user(content))
        self._begin(is_cancelled=is_cancelled)

    async def send_cancelled(self, text: str) -> None:
        await self.send(text, is_cancelled=True)

    async def cancel_after(self, count: str) -> None:
        wanted, task, recorder = int(count or 1), self._task, self._recorder
        if task is None or recorder is None:
            return
        await self._until_asked(task)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.answer_seconds / 3):
                await recorder.until(lambda: recorder.has_parts >= wanted or task.done())
        self._cancel()

    async def cancel_quiet(self, milliseconds: str) -> None:
        task, recorder = self._task, self._recorder
        if task is None or recorder is None:
            return
        await self._until_asked(task)
        with suppress(TimeoutError):
            while not task.done():
                async with asyncio.timeout(int(milliseconds or 100) / 1000):
                    await recorder.changes()
        self._cancel()

    async def cancel_ended(self, _: str) -> None:
        await self.wait()
        self._source.cancel()

    async def answer_call(self, which: str) -> None:
        await self.wait()
        number, _, kind = which.partition(" ")
        calls = self._open_calls()
        if int(number or 0) < len(calls):
            self._results.append(result_of(calls[int(number or 0)], kind))

    async def answer_calls(self, kind: str) -> None:
        await self.wait()
        self._results += [result_of(call, kind) for call in self._open_calls()]

    async def retry(self, _: str) -> None:
        await self.wait()
        if self.answers:
            self._messages = list(self.answers[-1].messages)
            self._begin()

    async def wait(self, _: str = "") -> None:
        """Waits for the end of the running answer, and adds it to the conversation."""
        task, recorder = self._task, self._recorder
        if task is None or recorder is None:
            return
        await asyncio.wait({task}, timeout=self._limits.answer_seconds)
        if not task.done():
            recorder.add(TranscriptEventKind.UNFINISHED)
            self._source.cancel()
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)
        await asyncio.sleep(self._limits.grace_seconds)
        self._task = None
        said = [part for part in self.answers[-1].parts if _is_said(part)]
        if said and not self.answers[-1].has(TranscriptEventKind.CANCELLED):
            self._messages.append(ChatMessage.assistant(said))

    def _begin(self, *, is_cancelled: bool = False) -> None:
        self._asked_before = last_number(self._upstream)
        answer = Answer(self._model.id, tuple(self._messages), self._request.options)
        self.answers.append(answer)
        recorder = self._recorder = _Recorder(answer)
        self._source = CancellationTokenSource()
        if is_cancelled:
            self._cancel()
        self._task = asyncio.create_task(self._ask(answer, recorder, self._source))

    async def _until_asked(self, task: asyncio.Task[None]) -> None:
        """Waits until the model server of the target has begun to answer: a target may take time before it asks."""
        upstream, before = self._upstream, self._asked_before
        if upstream is None:
            return

        def has_begun() -> bool:
            return any(one.request.number > before and one.delivery.events_sent for one in upstream.exchanges)

        waiting = asyncio.create_task(upstream.until(has_begun, self._limits.answer_seconds))
        await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    def _cancel(self) -> None:
        if self._recorder is not None and not self._source.token.is_cancellation_requested:
            if self.answers[-1].end is None:
                self._recorder.add(TranscriptEventKind.CANCELLED)
            self._source.cancel()

    async def _ask(self, answer: Answer, recorder: _Recorder, source: CancellationTokenSource) -> None:
        with _Lines(recorder):
            try:
                await self._provider.provide_language_model_chat_response(
                    self._model, list(answer.messages), answer.options, recorder, source.token
                )
            except asyncio.CancelledError as error:
                if answer.has(TranscriptEventKind.UNFINISHED):
                    raise
                recorder.add(TranscriptEventKind.REJECTED, error)
            except BaseException as error:
                recorder.add(TranscriptEventKind.REJECTED, error)
            else:
                recorder.add(TranscriptEventKind.RESOLVED)

    def _open_calls(self) -> list[ToolCallPart]:
        answered = {one.call_id for one in self._results if hasattr(one, "call_id")}
        calls = [] if not self.answers else self.answers[-1].calls
        return [call for call in calls if _is_said(call) and call.call_id not in answered]


async def drive(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    request: Request,
    actions: Sequence[Action],
    limits: TimeLimits,
    upstream: ReplayUpstream | None = None,
) -> list[Answer]:
    """Has a conversation with a provider and returns its answers as they came, also that of the last action.

    `upstream` is the scripted model server of the provider; with one, a cancellation waits until it has begun to
    answer.
    """
    conversation = _Conversation(provider, model, request, limits, upstream)
    for action in actions:
        await getattr(conversation, action.name)(action.argument)  # each name in ACTIONS is that of a method
    await conversation.wait()
    return conversation.answers


def last_number(upstream: ReplayUpstream | None) -> int:
    """The number of the last request to a scripted upstream, or 0."""
    return 0 if upstream is None or not upstream.requests else upstream.requests[-1].number


def upstream_replies(upstream: ReplayUpstream, before: int, began: float) -> list[UpstreamReply]:
    """The replies of a scripted upstream after the request numbered `before`, timed from `began`
    (:func:`time.monotonic`).
    """
    return [
        UpstreamReply(
            (one.started_at - began) * 1000,
            one.request.path,
            one.request.body,
            one.delivery.events_sent,
            None if one.delivery.outcome is None else one.delivery.outcome.value,
            None if one.delivery.ended_at is None else (one.delivery.ended_at - began) * 1000,
        )
        for one in upstream.exchanges
        if one.request.number > before
    ]


def _is_said(part: object) -> bool:
    """Whether a part goes back to the provider in the next request, as VS Code sends it back."""
    if isinstance(part, TextPart | ThinkingPart):
        return isinstance(part.value, str)
    if isinstance(part, ToolCallPart):
        return bool(part.call_id and part.name)
    return isinstance(part, DataPart) and bool(part.mime_type) and isinstance(part.data, bytes)


_RUNNING: Final[ContextVar[_Recorder | None]] = ContextVar("running", default=None)
"""The recorder of the answer that the running task makes: many answers log at the same time."""


class _Lines(logging.Handler):
    """Records the lines that the task of one answer logs in a block."""

    def __init__(self, recorder: _Recorder) -> None:
        super().__init__(logging.WARNING)
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        if _RUNNING.get() is self._recorder:
            self._recorder.add(TranscriptEventKind.LOGGED, f"{record.name}: {record.getMessage()}")

    def __enter__(self) -> None:
        _RUNNING.set(self._recorder)
        logging.getLogger().addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


# ---- Targets ----


class UnusableTargetError(CallerError):
    """The target cannot be tested at all: it does not start, lists no model, or is not what it was said to be.

    Attributes:
        target: The target, as it was named.
        reason: Why, as a sentence.
    """

    def __init__(self, target: str, reason: str) -> None:
        super().__init__(f"{target}: {reason}")
        self.target = target
        self.reason = reason


class RequestLimitError(LanguageModelError):
    """The run has asked for as many answers as it may."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the run may ask this server for {limit} answers and no more")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class TargetDescription:
    """A target for a report; holds no secret.

    Attributes:
        name: The target as it was named, such as `my_provider.py`.
        kind: `provider`, `stdio`, `base URL` ...
        version: The version of its program or package, or None.
        protocol: The name of the protocol that it is tested over, or None where none was named.
    """

    name: str
    kind: str
    version: str | None = None
    protocol: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        return {"name": self.name, "kind": self.kind, "version": self.version, "protocol": self.protocol}


# ---- Capabilities ----


class Provocation(StrEnum):
    """How a target is made to do what a scenario needs."""

    SANDWICH = "sandwich"
    """The kit is its model server."""
    SCRIPTED = "scripted"
    """It takes the kit's script by a hook of its own."""
    DIRECTED = "directed"
    """The prompt says it."""
    PARSER = "parser"
    """The kit gives it the bytes of streams."""


_TYPES: Final[Mapping[str, type]] = {"call_id_namespace": str, "model": str, "prompts": Mapping}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can do; None where it is not declared.

    Attributes:
        tool_calling: Whether its models call tools.
        image_input: Whether its messages may hold images.
        parallel_tool_calls: Whether one answer may hold several calls.
        thinking: Whether its models show their thinking.
        usage: Whether an answer ends with the usage, as a data part.
        call_id_namespace: The prefix of all its call ids.
        model: The id of the model to ask; None for the first that fits.
        prompts: What to say to provoke a scenario, by its slug, for targets that only get the prompt.
    """

    tool_calling: bool | None = None
    image_input: bool | None = None
    parallel_tool_calls: bool | None = None
    thinking: bool | None = None
    usage: bool | None = None
    call_id_namespace: str | None = None
    model: str | None = None
    prompts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def has(self, capability: str) -> bool:
        """Whether a capability is declared, by the name of its field."""
        return bool(getattr(self, capability))

    def over(self, base: Capabilities) -> Capabilities:
        """These capabilities, and those of `base` where these say nothing."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        known = {name: value for name, value in said.items() if value is not None and name != "prompts"}
        return replace(base, **known, prompts={**base.prompts, **self.prompts})

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Capabilities:
        """Reads capabilities from a mapping of their names.

        Raises:
            CallerError: A name is unknown, or a value is of another type.
        """
        unknown = sorted(set(values) - {one.name for one in fields(cls)})
        if unknown:
            known = ", ".join(one.name for one in fields(cls))
            raise CallerError(f"capabilities: got {', '.join(unknown)}, expected some of {known}")
        for name, value in values.items():
            expected = _TYPES.get(name, bool)
            if value is not None and not isinstance(value, expected):
                raise CallerError(f"capabilities.{name}: got {value!r}, expected {expected.__name__}")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """The capabilities as JSON values, without the prompts."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "prompts"}


def declared_by(information: LanguageModelChatInformation, ways: frozenset[Provocation]) -> Capabilities:
    """What a model's own information says, and what follows from how the target is driven.

    A target that plays the kit's script can show everything that a script can say.
    """
    tools = bool(information.capabilities.tool_calling)
    plays = bool(ways & {Provocation.SANDWICH, Provocation.SCRIPTED, Provocation.PARSER})
    return Capabilities(
        tool_calling=tools,
        image_input=information.capabilities.image_input,
        parallel_tool_calls=tools if plays else None,
        thinking=True if plays else None,
        usage=True if Provocation.SANDWICH in ways else None,
        model=information.id,
    )


# ---- Targets that run ----


@dataclass(frozen=True, slots=True)
class Session:
    """A target that runs.

    Attributes:
        provider: Gives the provider to ask, whose model plays a script where the target takes one.
        upstream: The scripted model server that it asks, or None.
        declared: What it declares beside the information about its models.
        note: A sentence for the head of the report, such as how many requests are sent, or an empty text.
    """

    provider: Callable[[Script | None], LanguageModelChatProvider]
    upstream: ReplayUpstream | None = None
    declared: Capabilities = field(default_factory=Capabilities)
    note: str = ""


def playing(
    upstream: ReplayUpstream | None, provider: LanguageModelChatProvider, script: Script | None
) -> LanguageModelChatProvider:
    """The provider, whose scripted model server, if it has one, plays the script from now on."""
    if upstream is not None:
        upstream.perform(None if script is None else script.perform)
    return provider


class Target(Protocol):
    """Something that can be tested: its description for a report, and the ways to make it do what a scenario needs."""

    description: TargetDescription
    ways: frozenset[Provocation]

    def open(self) -> AbstractAsyncContextManager[Session]:
        """Runs the target for the duration of a block.

        Raises:
            UnusableTargetError: It cannot be started.
        """
        ...
