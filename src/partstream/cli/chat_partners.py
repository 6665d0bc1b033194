"""Whom `partstream chat` asks: a model server, or a person's own provider."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from partstream.cli.provider_source import reloaded
from partstream.config.examination import explained
from partstream.errors import LanguageModelError, LanguageModelErrorCode, UpstreamError
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import default_name
from partstream.tokens import Counters
from partstream.tokens.ledger import open_ledger
from partstream.upstream.http_errors import says_path_is_missing
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.errors import PartstreamError
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["ChatPartner", "OwnProvider", "Server"]


class ChatPartner(Protocol):
    """A provider to chat with, and what is said of it.

    Attributes:
        vendor: The name that errors give it.
        place: Where it is, as the head of the chat says it.
        provider: The provider.
        model_id: The model that answers; None for the first of its list, until that is known.
        first_event_limit: The longest wait for an answer in seconds; None without a limit.
        is_own: Whether it is the person's own: what breaks the contract is shown, and its state is given back.
    """

    vendor: str
    place: str
    model_id: str | None
    first_event_limit: float | None
    is_own: bool

    @property
    def provider(self) -> LanguageModelChatProvider:
        """The attribute `provider`."""
        ...

    def explain(self, error: PartstreamError) -> str:
        """The sentence of an error, with what helps."""
        ...

    async def look(self) -> None:
        """Gets ready for the next message."""
        ...

    async def aclose(self) -> None:
        """Ends what the provider has begun."""
        ...


class Server:
    """A model server of the settings; the attributes are those of :class:`ChatPartner`.

    Args:
        configuration: The server, with the one model that answers; without any, the first of its list answers.
    """

    is_own = False

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._ledger = open_ledger()
        self.vendor = "gateway"
        self.place = f"at {configuration.shown_url}"
        self.provider = GatewayProvider(configuration, ledger=self._ledger, counters=Counters())
        self.model_id = configuration.models[0].id if configuration.models else None
        self.first_event_limit: float | None = configuration.timeouts.first_event

    def explain(self, error: PartstreamError) -> str:
        """The sentence of an error, with the advice that fits the settings."""
        if not isinstance(error, LanguageModelError):
            return str(error)
        said = explained(error, self._configuration)
        if self.model_id is not None:
            return said
        if isinstance(error, UpstreamError):
            return f"{said}; --model names a model without a list" if says_path_is_missing(error) else said
        is_empty = error.code is LanguageModelErrorCode.NOT_FOUND
        return "the server lists no language models: name one with --model" if is_empty else said

    async def look(self) -> None:
        """Nothing to do: the settings are read once."""

    async def aclose(self) -> None:
        """Closes the connections, and writes the token counts of this session to the ledger."""
        await self.provider.aclose()
        await asyncio.to_thread(self._ledger.close)


class OwnProvider:
    """A person's own provider, loaded again after each edit; the attributes are those of :class:`ChatPartner`.

    Args:
        source: The file or the module.
        model_id: The model that answers; None for the first one.
        say: Tells the person what became of an edit; the second argument says whether it is bad news.

    Raises:
        UnusableProviderError: The source cannot be loaded.
    """

    is_own = True
    first_event_limit: float | None = None

    def __init__(self, source: str, model_id: str | None, say: Callable[[str, bool], None]) -> None:
        self._source = source
        self._say = say
        self._ledger = open_ledger()
        self.provider, self._loader = reloaded(source, self._loaded, lambda: self._ledger)
        self.vendor = default_name(source)
        self.place = self._loader.place
        self.model_id = model_id

    def explain(self, error: PartstreamError) -> str:
        """The sentence of an error; that of a bug names the file and the line."""
        return str(error)

    async def look(self) -> None:
        """Loads the file again if it was edited."""
        await self.provider.look()

    async def aclose(self) -> None:
        """Closes all versions of the provider, and writes what its answers took to the ledger."""
        await self.provider.aclose()
        await asyncio.to_thread(self._ledger.close)

    def _loaded(self, error: BaseException | None) -> None:
        if error is None:
            self._say(f"{self._source} was loaded again.", False)
        else:
            said = fault_of(error, self._loader.file)
            self._say(f"{self._source} cannot be loaded, the version before answers: {said}", True)
