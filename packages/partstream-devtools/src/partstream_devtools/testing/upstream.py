"""The replay upstream: a real model server on loopback with selectable answers and faults.

It is the serving application with a scripted provider: :mod:`partstream_devtools.testing.admission` is strict and
selects the answers, :mod:`partstream_devtools.testing.replaying` records exchanges and applies faults,
:mod:`partstream.server.loopback` speaks HTTP.
"""

from __future__ import annotations
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import replace
from partstream.codec.json_codec import dumps
from partstream.errors import CallerError, EmptyAnswerError, LanguageModelError, UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream.lm.parts import ThinkingPart
from partstream.lm.provider import DrainingProgress, FinishingProgress, LanguageModelChatInformation, Progress
from partstream.protocols.protocol import DEFAULT_PROTOCOL, loadable_protocols
from partstream.server.application import ServingApp
from partstream.server.loopback import Host, LoopbackLimits
from partstream.server.settings import ServerOverrides, ServingSettings
from partstream.upstream.endpoint import Secret
from partstream_devtools.bundles.exchange import RecordedExchange
from partstream_devtools.testing import admission, replaying
from partstream_devtools.testing.scripted_model import INPUT_PRICE, MODELS, OUTPUT_PRICE, ScriptedProvider, count_prompt
from partstream_devtools.testing.vendors.vendor import PromptCache

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken, Event
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.server.requests import Application
    from partstream_devtools.testing.scripted_model import Outputs


# ---- The provider ----


_CENTS_FOR_A_MILLION: Final = 100 * 1_000_000
_EXTRA: Final = {
    "inputCost": float(Decimal(INPUT_PRICE) * _CENTS_FOR_A_MILLION),
    "outputCost": float(Decimal(OUTPUT_PRICE) * _CENTS_FOR_A_MILLION),
    "configurationSchema": {"properties": {"reasoningEffort": {"type": "string"}}},
}
REPLAY_MODELS: Final = tuple(replace(model, extra=_EXTRA) for model in MODELS)
"""The scenarios as models with a price, which think when they are asked to."""


class ReplayProvider(ScriptedProvider):
    """The scripted model for requests that arrive over a wire: with the ids, the usage and the price of the wire."""

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """One model for each scenario."""
        del silent, token
        return REPLAY_MODELS

    def find_unlisted_model(self, model_id: str) -> LanguageModelChatInformation:
        """Any other model answers with the default scenario."""
        return replace(REPLAY_MODELS[0], id=model_id) if model_id else REPLAY_MODELS[0]

    async def provide_request_token_count(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken,
    ) -> int:
        """Counts by the token rule of the scripted model, as the usage of an answer does."""
        del token
        return count_prompt(InboundRequest(model.id, tuple(messages), options)).all

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Gives the planned answer."""
        del model, messages, options
        plan = replaying.CURRENT.get().plan
        if plan is not None:
            with replaying.noting_bugs():
                await _report(plan.outputs, progress, token)


async def _report(outputs: Outputs, progress: Progress, token: CancellationToken) -> None:
    """Gives an answer.

    Raises:
        EmptyAnswerError: It held nothing that a person sees. Some scenarios are so on purpose: the application has to
            not warn of a provider that has forgotten its answer.
    """
    draining = progress if isinstance(progress, DrainingProgress) else None
    is_empty = True
    for output in outputs:
        if token.is_cancellation_requested:
            return
        if isinstance(output, Finish):
            if isinstance(progress, FinishingProgress):
                # A failure is one of the server itself, not of a server that it asks.
                error = output.error
                if isinstance(error, UpstreamFailureError):
                    error = LanguageModelError(error.provider_message or "")
                progress.finish(replace(output, error=error))
            if is_empty and output.outcome is Outcome.COMPLETED:
                raise EmptyAnswerError(None)
            return
        is_empty &= isinstance(output, ThinkingPart)
        progress.report(output)
        if draining is not None:
            await draining.drain()


# ---- The server ----

_ANY_KEY: Final = "0123"
_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"}).union(
    name
    for endpoint in admission.ENDPOINTS.values()
    for name, value in endpoint.key_headers(_ANY_KEY).items()
    if _ANY_KEY in value  # others say of what kind the key is
)

_PATIENT: Final[Mapping[str, Any]] = {
    "body_bytes": 1024 * 1024 * 1024,  # the limits of connections are narrower
    "keep_alive_seconds": 3600.0,
    "idle_event_seconds": 3600.0,
    "answer_seconds": 86_400.0,
    "thinking_bytes": 0,  # a client that drops what it has to bring back is to be seen
}
"""What a server does by itself would come between what a test asks for."""


class ReplayUpstream(Host):
    """A model server on 127.0.0.1 that runs inside its `async with` block.

    ::

        async with ReplayUpstream(scenario="tools") as upstream:
            ...  # talk to upstream.base_url
            assert upstream.requests[0].body["stream"] is True

    :mod:`partstream_devtools.testing.admission` has the paths. The model ids are the names of the scenarios; all other
    models answer with the default scenario.

    Args:
        port: The port to listen on; 0 for any free port.
        scenario: The default scenario, as `NAME` or `NAME=VALUE`.
        replay: A recording that answers every request instead of a scenario, as it came: a file, or recorded exchanges.
            Each request gets the next exchange in its protocol, and all further requests the last; the next of all
            where none is in it.
        replay_pace: How many times as fast as they were recorded exchanges are replayed; 0 for at once. A stream alone
            has no times.
        pace: The default pace: seconds between two pieces of the answer.
        fault: The default faults, as `NAME[=VALUE]`, separated by commas.
        token: The key that requests must carry, in the header that their protocol has for it; None for no key.
        limits: The limits of connections.
        protocols: The names of the protocols that it speaks, as a server that knows no others; None for all.
        bills_cache: Whether it bills prompts by the rules of its vendors' caches, and says so in the usage; a protocol
            without a row in :data:`partstream_devtools.testing.vendors.VENDORS` is not billed.

    Raises:
        CallerError: An argument is invalid; the type of the error says which.
        BundleError: The recorded exchanges cannot be read.
        OSError: The file of the recording cannot be read.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        scenario: str = "text",
        replay: Path | Sequence[RecordedExchange] | None = None,
        replay_pace: float = 1.0,
        pace: float = 0.0,
        fault: str | None = None,
        token: str | None = None,
        limits: LoopbackLimits | None = None,
        protocols: Collection[str] | None = None,
        bills_cache: bool = False,
    ) -> None:
        self._admission = admission.ReplayAdmission(
            scenario, replay, pace, fault, PromptCache() if bills_cache else None, replay_pace
        )
        known, _ = loadable_protocols()
        serving = ServingApp(
            ReplayProvider(),
            ServingSettings(token=None if token is None else Secret(token), **_PATIENT),
            [one for name, one in known.items() if protocols is None or name in protocols],
            ServerOverrides(
                admit=self._admission.admit, identify=admission.reply_of, remembers=False, corrects_paths=False
            ),
        )
        self._exchanges = replaying.Exchanges(_SECRET_HEADERS)
        super().__init__(
            replaying.ReplayLayer(serving, self._exchanges),
            # The reply to bytes that are no request, in the form of the default protocol.
            lambda status, message: dumps(admission.ENDPOINTS[admission.DEFAULT_PATH].writes.error(status, message)),
            port,
            limits,
        )

    @property
    def base_url(self) -> str:
        """The base URL for clients of the default protocol."""
        return self.base_url_of(DEFAULT_PROTOCOL)

    def base_url_of(self, protocol: str) -> str:
        """The base URL for clients of a protocol.

        Raises:
            CallerError: The upstream does not serve the protocol, or does not listen.
        """
        if protocol not in admission.BASE_PATHS:
            raise CallerError(f"protocol: got {protocol!r}, expected one of {', '.join(admission.BASE_PATHS)}")
        return f"http://127.0.0.1:{self.port}{admission.BASE_PATHS[protocol]}"

    def perform(self, performance: Callable[[InboundRequest], admission.ScriptedReply] | None) -> None:
        """Answers every request from now on with what `performance` makes of it; with None, plays scenarios again.

        Nothing in a request changes such an answer, so a program between the asker and the upstream may rewrite all of
        it.
        """
        self._admission.perform = performance

    def replay(self, exchanges: Sequence[RecordedExchange] | None, pace: float = 1.0) -> None:
        """Answers from now on with recorded exchanges, from the first one on; with None, plays scenarios again.

        Args:
            exchanges: The exchanges. Each request gets the next one, and all further requests the last.
            pace: How many times as fast as they were recorded; 0 for at once.
        """
        self._admission.replay(exchanges, pace)

    @property
    def application(self) -> Application:
        """What answers, as an application of ASGI 3, for a server of one's own; it needs no `async with` block."""
        return self._application

    @property
    def exchanges(self) -> list[replaying.ServedExchange]:
        """The last 1,000 requests with their replies, in order of arrival."""
        return self._exchanges.kept

    @property
    def requests(self) -> list[replaying.ReceivedRequest]:
        """The last 1,000 requests, in order of arrival."""
        return [exchange.request for exchange in self._exchanges.kept]

    @property
    def open_streams(self) -> int:
        """The number of unfinished replies, including those that stall."""
        return sum(exchange.delivery.outcome is None for exchange in self._exchanges.kept)

    @property
    def on_did_finish_exchange(self) -> Event[replaying.ServedExchange]:
        """Fires when a reply has ended, with any result."""
        return self._exchanges.on_did_finish

    async def until(self, condition: Callable[[], object], timeout: float = 5.0) -> None:
        """Returns as soon as `condition` holds; checks it whenever a request arrives, proceeds or ends.

        Raises:
            TimeoutError: The condition did not hold within `timeout` seconds.
        """
        await self._exchanges.until(condition, timeout)

    async def wait_for_end(self, number: int | None = None, timeout: float = 5.0) -> replaying.ServedExchange:
        """Waits until the reply to a request has ended, and returns the exchange.

        If a client disconnected during the reply, `delivery.outcome` is `client_closed` and `delivery.ended_at` is the
        time at which the upstream noticed.

        Args:
            number: The number of the request; None for the last request, or for the first if none has arrived.
            timeout: The maximum time to wait, in seconds.

        Raises:
            TimeoutError: The reply did not end in time.
        """
        wanted = number or max(self._exchanges.received, 1)
        ended: list[replaying.ServedExchange] = []

        def has_ended() -> list[replaying.ServedExchange]:
            exchange = self._exchanges.at(wanted)
            if exchange is not None and exchange.delivery.outcome is not None:
                ended.append(exchange)
            return ended

        await self.until(has_ended, timeout)
        return ended[0]
