"""A gateway in front of the replay upstream, and a server of given steps for what the upstream does not do."""

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
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
from partstream.errors import LanguageModelError
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.server.loopback import LoopbackRequest, ServerConnection
from partstream.tokens.ledger import Ledger
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy, Timeouts
from partstream.upstream.provider import GatewayProvider
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
