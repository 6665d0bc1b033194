"""A gateway in front of the replay upstream, and a server of given steps for what the upstream does not do."""

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from garbage import only_own_garbage
from listening import deliver, listening
from partstream import (
    CancellationToken,
    CancellationTokenSource,
    ChatMessage,
    LanguageModelChatInformation,
    RequestOptions,
    ResponsePart,
    TextPart,
)
from partstream.errors import LanguageModelError, UpstreamError, UpstreamFailureError
from partstream.lm.outputs import Finish, PausingStream, StreamOutput, Unmapped
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.server.loopback import LoopbackRequest, ServerConnection
from partstream.tokens.ledger import Ledger
from partstream.upstream.attempts import MOST_PAUSES, Asking, Attempts, carry_out
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy, Timeouts
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.provider import GatewayProvider
from partstream.upstream.transport import Transport, UpstreamRequest
from partstream_devtools.testing.faults import Step
from partstream_devtools.testing.upstream import ReplayUpstream

MODEL = LanguageModelChatInformation("text", "Text", "replay", "1", 1000, 1000)
HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
LIMITS = Timeouts(connect=20.0, first_event=20.0, idle=20.0, total=25.0)
PATIENT = Timeouts(connect=60.0, first_event=60.0, idle=60.0, total=60.0)
"""Limits that no test reaches: what ends in spite of them was ended by something else."""
RETRY = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=2.0)


@dataclass
class Answer:
    """What a request has brought so far; what a provider reports to."""

    parts: list[ResponsePart] = field(default_factory=list)
    error: LanguageModelError | None = None
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def report(self, part: ResponsePart, /) -> None:
        self.parts.append(part)
        self.came.set()

    @property
    def text(self) -> str:
        return "".join(part.value for part in self.parts if isinstance(part, TextPart))


def configuration(base_url: str, **changes: Any) -> GatewayConfiguration:
    """A gateway to a server whose protocol is set, so that the server gets the requests of the test and no others."""
    usual = {"models": (MODEL,), "protocol": DEFAULT_PROTOCOL, "timeouts": LIMITS, "retry": RETRY}
    return GatewayConfiguration(base_url, **(usual | changes))


@asynccontextmanager
async def gateway_to(base_url: str, ledger: Ledger | None = None, **changes: Any) -> AsyncIterator[GatewayProvider]:
    provider = GatewayProvider(configuration(base_url, **changes), ledger=ledger)
    try:
        yield provider
    finally:
        await provider.aclose()


async def respond(
    provider: GatewayProvider,
    said: str | Sequence[ChatMessage],
    answer: Answer,
    token: CancellationToken | None = None,
    model_id: str = "text",
    options: RequestOptions = RequestOptions(),  # noqa: B008 - immutable
) -> None:
    """Sends a request; what comes of it is in `answer`, also when it raises."""
    messages = [ChatMessage.user(said)] if isinstance(said, str) else said
    await provider.provide_language_model_chat_response(
        replace(MODEL, id=model_id), messages, options, answer, token or CancellationTokenSource().token
    )


async def ask(provider: GatewayProvider, said: str | Sequence[ChatMessage], **changes: Any) -> Answer:
    """What a request brings, its error included."""
    answer = Answer()
    try:
        await respond(provider, said, answer, **changes)
    except LanguageModelError as error:
        answer.error = error
    return answer


Resume = Callable[[Any, Mapping[str, Any]], Any]


class Streaming:
    """Sends requests in the loop of attempts, and yields the outputs of their answers as they arrive."""

    def __init__(self, http: UpstreamHTTP, timeouts: Timeouts, retry: RetryPolicy) -> None:
        self.transport = Transport(http, timeouts)
        self.http = http
        self.retry = retry

    async def stream(
        self,
        exchange: UpstreamRequest,
        on_wait: Callable[[str, float], object] = lambda said, seconds: None,
        resume: Resume | None = None,
    ) -> AsyncGenerator[list[StreamOutput]]:
        """An answer that failed once it had begun ends with its Finish; what failed before raises."""
        asking = _Exchange(self, exchange, on_wait, resume)
        task = asyncio.create_task(carry_out(asking, Attempts()))
        task.add_done_callback(lambda _: asking.batches.put_nowait(None))
        try:
            while (batch := await asking.batches.get()) is not None:
                yield batch
            try:
                await task
            except UpstreamError as error:
                if error is not asking.failure:
                    raise
                yield asking.last
        finally:
            task.cancel()
            await asyncio.wait([task])


class _Exchange(Asking):
    def __init__(
        self,
        streaming: Streaming,
        exchange: UpstreamRequest,
        on_wait: Callable[[str, float], object],
        resume: Resume | None,
    ) -> None:
        self.policy, self.errors = streaming.retry, exchange.errors
        self.credentials = streaming.http.credentials
        self.batches: asyncio.Queue[list[StreamOutput] | None] = asyncio.Queue()
        self.failure: LanguageModelError | None = None
        self.last: list[StreamOutput] = []
        self._streaming = streaming
        self._exchange = self._next = exchange
        self._on_wait = on_wait
        self._resume = resume
        self._has_parts = False

    @property
    def may_begin_anew(self) -> bool:
        return not self._has_parts

    async def send(self, attempts: Attempts) -> PausingStream | None:
        paused = attempts.paused
        if paused is not None and paused.paused is not None and self._resume is not None:
            request = self._resume(self._exchange.request, paused.paused)
            self._next = replace(self._exchange, request=request, paused=paused)
        sent = replace(self._next, goes_on=self._resume is not None and attempts.pauses < MOST_PAUSES)
        self.failure = None
        paused = await self._streaming.transport.ask(sent, attempts, self._take)
        if self.failure is not None:
            is_of_status = isinstance(self.failure, UpstreamFailureError) and self.failure.http_status is not None
            attempts.is_unread = is_of_status and not self._has_parts and attempts.paused is None
            raise self.failure
        return paused

    def _take(self, outputs: list[StreamOutput]) -> None:
        self._has_parts = self._has_parts or any(not isinstance(one, Finish | Unmapped) for one in outputs)
        last = outputs[-1] if outputs else None
        if isinstance(last, Finish) and last.error is not None:
            self.failure, self.last = last.error, outputs
        else:
            self.batches.put_nowait(outputs)

    def announce(self, reason: str, seconds: float) -> None:
        self._on_wait(reason, seconds)


@asynccontextmanager
async def replay(fault: str | None = None, **settings: Any) -> AsyncIterator[tuple[ReplayUpstream, GatewayProvider]]:
    """The replay upstream and a gateway to it; settings named as in GatewayConfiguration are the gateway's."""
    names = GatewayConfiguration.__dataclass_fields__.keys() & settings.keys()
    changes = {name: settings.pop(name) for name in names}
    async with ReplayUpstream(fault=fault, **settings) as upstream, gateway_to(upstream.base_url, **changes) as gateway:
        yield upstream, gateway


@asynccontextmanager
async def server_of(*replies: Iterable[Step]) -> AsyncIterator[tuple[str, list[LoopbackRequest]]]:
    """A real server that answers its requests with the replies in order, the last one again and again.

    Yields its URL and the requests that came.
    """
    requests: list[LoopbackRequest] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            requests.append(request)
            reply = replies[min(len(requests), len(replies)) - 1]
            await deliver(connection, request, reply)

    async with listening(serve) as url:
        yield f"{url}/v1", requests


def run(coroutine: Coroutine[Any, Any, None], seconds: float = 30) -> None:
    """Runs a test within bounds; a task or a socket that it leaves behind is a failure."""

    async def watched() -> None:
        async with asyncio.timeout(seconds):
            await coroutine
            while asyncio.all_tasks() != {asyncio.current_task()}:
                await asyncio.sleep(0)

    with only_own_garbage():
        asyncio.run(watched())
        gc.collect()  # an unclosed socket warns when it is collected, and warnings are errors
