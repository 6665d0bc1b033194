"""The models that a gateway offers: the configured ones, or those that the upstream lists."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import UNKNOWN_CAPABILITIES
from partstream.errors import LanguageModelError, UpstreamError
from partstream.protocols.protocol import WindowSource, asking
from partstream.upstream.discovery import DiskCache, ModelDiscovery
from partstream.upstream.http_errors import (
    advice_on_missing_list,
    advise_on_key,
    content_type_error,
    http_error,
    says_path_is_missing,
)
from partstream.upstream.model_facts import Fact, Source, known_capabilities, stated_capabilities
from partstream.upstream.model_information import information_of, is_allowed, offered_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.conversation.preparation import ModelCapabilities
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.tokens.accounting import TokenAccounting
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.discovery import Fetch, FetchResponse
    from partstream.upstream.model_facts import ModelRecord, Pricing
    from partstream.upstream.model_information import OfferedModel

__all__ = ["ModelList", "list_refusal", "with_learned_limits"]

_logger = logging.getLogger("partstream.upstreams")


class ModelList:
    """The models of one upstream.

    Args:
        configuration: Which upstream, and what a person says of its models.
        fetch: Asks the upstream; whoever made it closes its connections.
        on_change: Called when the list is another than the one that was given last.
    """

    def __init__(self, configuration: GatewayConfiguration, fetch: Fetch, on_change: Callable[[], object]) -> None:
        self._configuration = configuration
        self._fetch = fetch
        self._pricing: Mapping[str, Pricing] = {}
        self._capabilities: Mapping[str, ModelCapabilities] = {
            model.id: stated_capabilities(model) for model in configuration.models
        }
        folder, base_url = configuration.cache_folder, configuration.base_url
        corner = asking(configuration.protocol)
        self._path = corner.path
        self._choose_window = corner.choose_window
        base_path, further_lists = corner.find_model_lists(urlsplit(base_url).path)
        self._said_windows: dict[str, Fact[int]] = {}
        self._discovery = ModelDiscovery(
            fetch,
            base_path,
            on_change,
            upstream=configuration.shown_url,
            further_lists=further_lists,
            models_path=corner.models_path,
            cache=DiskCache(folder, base_url, _account(configuration)) if folder is not None else None,
            is_wanted=lambda model_id: is_allowed(model_id, configuration.selection),
            refusal=partial(list_refusal, configuration=configuration),
        )

    async def information(self) -> Sequence[LanguageModelChatInformation]:
        """The models as VS Code gets them.

        Raises:
            LanguageModelError: There is no list yet, and none can be had now.
        """
        if self._configuration.models:
            return self._configuration.models
        limits = self._configuration.selection.limits
        models = await self.offered()
        self._pricing = {
            model.record.id: model.record.pricing.value for model in models if model.record.pricing is not None
        }
        self._capabilities = {model.record.id: known_capabilities(model.record) for model in models}
        return tuple(self._shown(model, information_of(model, limits)) for model in models)

    async def offered(self) -> Sequence[OfferedModel]:
        """The models with the source of every fact; details of each model arrive after the list.

        Raises:
            UpstreamError: As in :meth:`information`.
        """
        return [self._with_window(model) for model in await self._listed()]

    async def _listed(self) -> Sequence[OfferedModel]:
        selection = self._configuration.selection
        if not self._configuration.discovers:
            return offered_models((), selection)
        try:
            records = await self._records()
        except LanguageModelError as error:
            if not selection.overrides:
                raise
            _logger.warning("only the configured models are offered: %s", error)
            records = ()
        return offered_models(records, selection)

    async def _records(self) -> tuple[ModelRecord, ...]:
        try:
            records = await self._discovery.records()
        except UpstreamError as error:
            if says_path_is_missing(error):
                error.advise(await advice_on_missing_list(self._fetch, self._configuration))
            raise
        return tuple(record for record in records if record.is_served_at(self._path))

    def _shown(self, model: OfferedModel, shown: LanguageModelChatInformation) -> LanguageModelChatInformation:
        """The model with the context window in its tooltip, where requests set it."""
        window = model.record.context_window
        if self._choose_window is None or window is None:
            return shown
        told = f"Context window: {window.value:,} tokens ({window.origin})"
        return replace(shown, tooltip="\n".join(filter(None, (shown.tooltip, told))))

    def _with_window(self, model: OfferedModel) -> OfferedModel:
        """The model with the context window that requests to it set, where they set one.

        A prompt longer than that is cut by the server without a word, so no limit of prompts exceeds it.
        """
        record = model.record
        if self._choose_window is None:
            return model
        fact = record.context_window
        if fact is None or fact.source is not Source.CONFIGURATION:
            settings = self._configuration.request_settings(record.id)
            window = self._choose_window(replace(settings, capabilities=known_capabilities(record)))
            fact = Fact(window.tokens, Source(window.source), window.field)
            if window.source is WindowSource.LOADED and record.loaded_window is not None:
                fact = record.loaded_window
        stated = record.max_input_tokens
        fits = stated is None or stated.value <= fact.value
        if self._said_windows.get(record.id) != fact:
            self._said_windows[record.id] = fact
            _logger.info("requests to %s set a context window of %s tokens", record.id, fact)
            if not fits:
                _logger.warning(
                    "%s: got a limit of %s tokens for prompts, which exceeds the context window of %s tokens that "
                    "requests set: prompts get what the window has room for; set a larger numCtx for longer ones",
                    record.id,
                    stated,
                    fact,
                )
        record = replace(record, context_window=fact, max_input_tokens=stated if fits else None)
        return replace(model, record=record)

    def pricing(self, model_id: str) -> Pricing | None:
        """The prices of a model in the last list; None if they are unknown."""
        return self._pricing.get(model_id)

    def capabilities(self, model_id: str) -> ModelCapabilities:
        """What the last list says that a model can do."""
        return self._capabilities.get(model_id, UNKNOWN_CAPABILITIES)

    async def settle(self) -> None:
        """Waits until no request about the models is running."""
        await self._discovery.settle()

    async def aclose(self) -> None:
        """Stops asking."""
        await self._discovery.aclose()


def list_refusal(response: FetchResponse, configuration: GatewayConfiguration) -> UpstreamError:
    """The error for a response that is no list of models, in the server's own words.

    Args:
        response: The response, without secrets.
        configuration: Which server, and how it is asked.
    """
    if response.status == httpx2.codes.OK:
        wanted, expected = "list of models", "application/json"
        return content_type_error(response.headers, response.body, wanted=wanted, expected=expected)
    errors = asking(configuration.protocol).errors
    error = http_error(response.status, response.headers, response.body, datetime.now(UTC), errors)
    advise_on_key(error, configuration)
    return error


def _account(configuration: GatewayConfiguration) -> bytes:
    """The identity of the caller for an upstream: the key or its source, and the headers."""
    key = configuration.api_key.reveal() if configuration.api_key is not None else ""
    headers = sorted((name.lower(), value) for name, value in configuration.headers.items())
    return dumps([key, configuration.key_place, headers])


def with_learned_limits(
    models: Iterable[LanguageModelChatInformation], accounting: TokenAccounting
) -> tuple[LanguageModelChatInformation, ...]:
    """The models, each with the lower limit of its list and of its upstream's refusals."""
    learned = accounting.learned_limits()
    return tuple(_limited(model, learned.get(model.id)) for model in models)


def _limited(model: LanguageModelChatInformation, learned: int | None) -> LanguageModelChatInformation:
    """The model with its learned limit, which the tooltip states."""
    if learned is None or learned >= model.max_input_tokens:
        return model
    told = f"Input: {learned:,} tokens at the most, as the server said when it refused more"
    return replace(model, max_input_tokens=learned, tooltip="\n".join(filter(None, (model.tooltip, told))))
