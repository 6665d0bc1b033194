"""An upstream whose protocol is set, or is found out when it is first asked and again when it was wrong."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from partstream.errors import LanguageModelError, UpstreamError
from partstream.protocols.known_servers import known_server
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.upstream.configuration import fingerprint_of
from partstream.upstream.detection import Detector, advice_on_protocol
from partstream.upstream.http import Connections, DocumentFetcher, UpstreamHTTP
from partstream.upstream.http_errors import NO_LIST_ADVICE, says_path_is_missing
from partstream.upstream.requests import RefusedFields, RequestSender
from partstream.upstreams.known_upstream import ProtocolClient
from partstream.upstreams.model_list import ModelList

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.errors import Errors
    from partstream.protocols.known_servers import KnownServer
    from partstream.tokens.ledger import Ledger
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import Detected
    from partstream.upstream.model_facts import Pricing
    from partstream.upstream.requests import ModelCall, RequestTokens

__all__ = ["Upstream"]

_Result = TypeVar("_Result")

_logger = logging.getLogger("partstream.upstreams")


class Upstream:
    """One upstream for all its requests; serves any number of them at once.

    A protocol that is set is never doubted: nothing is asked to find it out.

    Args:
        configuration: The upstream.
        tokens: Makes what is known of the tokens of a question to a model.
        on_change: Called when the list of models has changed, or what it says.
        ledger: Remembers what its models have refused; None for as long as this object lives.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        tokens: Callable[[LanguageModelChatInformation, ModelCall], RequestTokens],
        on_change: Callable[[], object],
        ledger: Ledger | None = None,
    ) -> None:
        self._configuration = configuration
        self._tokens = tokens
        self._on_change = on_change
        self._ledger = ledger
        self._connections = Connections(configuration)
        self._detector = Detector(configuration, self._connections) if configuration.is_detected else None
        self._upstream = None if configuration.is_detected else self._made(None)
        self._before: list[ProtocolClient] = []

    @property
    def detected(self) -> Detected | None:
        """How its protocol was found out; None where it was set, or where nothing is known for certain."""
        return None if self._detector is None else self._detector.known

    async def errors(self) -> Errors:
        """How it says what went wrong."""
        return (await self._spoken()).errors

    async def information(self) -> Sequence[LanguageModelChatInformation]:
        """The models, see :meth:`partstream.upstreams.model_list.ModelList.information`.

        Raises:
            LanguageModelError: There is no list yet, and none can be had now.
        """
        if self._configuration.models:  # nobody is asked
            return self._configuration.models
        if not self._configuration.discovers:  # nor here
            upstream = self._upstream or self._made(None)
            return await upstream.models.information()
        try:
            return await self._tried(lambda upstream: upstream.models.information(), lambda: True)
        except UpstreamError as error:
            if self.detected is not None and says_path_is_missing(error):
                error.advise(NO_LIST_ADVICE)
            raise

    async def send(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        """Asks a model and reports its answer.

        Raises:
            ContextLengthExceededError: The conversation is too long for the model.
            LanguageModelError: What else the upstream did wrong, or what the request cannot express.
        """
        await self._tried(lambda upstream: upstream.sender.send(model, question), lambda: question.may_be_asked_again)

    def pricing(self, model_id: str) -> Pricing | None:
        """The prices of a model in the last list; None if they are unknown."""
        return None if self._upstream is None else self._upstream.models.pricing(model_id)

    async def settle(self) -> None:
        """Waits until no request about the models is running."""
        if self._upstream is not None:
            await self._upstream.models.settle()

    async def aclose(self) -> None:
        """Stops asking, and closes the connections that are kept open."""
        if self._detector is not None:
            await self._detector.aclose()
        for upstream in (*self._before, self._upstream):
            if upstream is not None:
                await upstream.models.aclose()
        self._before.clear()
        await self._connections.aclose()

    async def _tried(
        self, attempt: Callable[[ProtocolClient], Awaitable[_Result]], may_be_repeated: Callable[[], bool]
    ) -> _Result:
        """Asks, and once more in another protocol if the path was missing and something else is found out now."""
        upstream = await self._spoken()
        try:
            return await attempt(upstream)
        except UpstreamError as error:
            if not says_path_is_missing(error):
                self._advise(error, upstream.detected)
                raise
            again = await self._after(error, upstream)
            if again is None or not may_be_repeated():
                raise
        return await attempt(again)

    async def _after(self, error: UpstreamError, upstream: ProtocolClient) -> ProtocolClient | None:
        """The upstream as it is found out after a path was missing; None with advice in the error if it is no other."""
        if self._detector is None or upstream.detected is None:
            error.advise(await self._advice_on_setting())
            return None
        found = await self._detector.detected_again(upstream.detected)
        if upstream.is_spoken_as(found) or not found.is_certain:
            self._advise(error, found)
            return None
        _logger.warning("asking again at %s: %s; before, %s", found.shown_url, found.says, error.statement)
        return self._of(found)

    async def _spoken(self) -> ProtocolClient:
        """The upstream in the protocol that is set or found out.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
        """
        if self._detector is not None:
            return self._of(await self._detector.detected())
        assert self._upstream is not None  # noqa: S101 - for the type checker: made at once where nothing is found out
        return self._upstream

    def _of(self, found: Detected) -> ProtocolClient:
        """The upstream as it was found out; the one before, which requests may still use, is closed at the end."""
        before = self._upstream
        if before is not None and before.is_spoken_as(found):
            before.detected = found
            return before
        if before is not None:
            self._before.append(before)
        self._upstream = self._made(found)
        if before is not None or not self._configuration.discovers:  # the list was given without it
            self._on_change()
        return self._upstream

    def _made(self, found: Detected | None) -> ProtocolClient:
        configuration = self._configuration
        if configuration.is_detected:
            protocol, base_url = (
                (DEFAULT_PROTOCOL, configuration.base_url) if found is None else (found.protocol, found.base_url)
            )
            configuration = configuration.spoken(protocol, base_url)
        fingerprint = fingerprint_of(configuration.protocol, self._configuration.base_url)
        http = UpstreamHTTP(configuration, self._connections)
        refused = RefusedFields(fingerprint, self._ledger)
        models = ModelList(configuration, DocumentFetcher(http), self._on_change)
        sender = RequestSender(
            configuration, http, fingerprint, self._tokens, refused, _server_of(found), models.capabilities
        )
        return ProtocolClient(configuration, models, sender, found)

    async def _advice_on_setting(self) -> str:
        try:
            return await advice_on_protocol(self._configuration, self._connections)
        except LanguageModelError as error:  # the key is gone meanwhile: the error itself is what counts
            _logger.info("nothing is known of what the server speaks: %s", error)
            return ""

    @staticmethod
    def _advise(error: UpstreamError, found: Detected | None) -> None:
        """Says what helps, where it was a guess that failed."""
        if found is not None and not found.is_certain:
            error.advise(found.advice)


def _server_of(found: Detected | None) -> KnownServer | None:
    return None if found is None or not found.server else known_server(found.server)
