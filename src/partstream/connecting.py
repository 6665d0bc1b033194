"""The short way to a model server: takes its base URL, gives a model to ask."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import urlsplit

from partstream.consumer import LanguageModels
from partstream.errors import CallerError, LanguageModelError, LanguageModelErrorCode, UnknownModelError
from partstream.models.filters import ModelOverride, ModelSelection
from partstream.outputs import StreamOptions
from partstream.protocols.registry import DEFAULT_PROTOCOL
from partstream.tokens import Counters
from partstream.upstreams import GatewayConfiguration, GatewayProvider, Secret

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager

    from partstream.consumer import LanguageModelChat

__all__ = ["connect"]


@overload
def connect(
    base_url: str,
    *,
    protocol: str = ...,
    api_key: str | Secret | None = ...,
    model: str | None = ...,
    headers: Mapping[str, str] | None = ...,
    allow_insecure_http: bool = ...,
) -> AbstractAsyncContextManager[LanguageModelChat]: ...


@overload
def connect(
    base_url: GatewayConfiguration, *, model: str | None = ...
) -> AbstractAsyncContextManager[LanguageModelChat]: ...


def connect(
    base_url: str | GatewayConfiguration, *, model: str | None = None, **settings: Any
) -> AbstractAsyncContextManager[LanguageModelChat]:
    """Connects to a model server for the duration of a block, and gives one of its models.

    ::

        async with connect("http://localhost:1234/v1") as model:
            print(await model.ask("Hi"))

            response = model.stream("Tell me more.")
            async for part in response:
                ...  # TextPart, ThinkingPart, ToolCallPart, DataPart
            print(response.usage, response.finish_reason)

    Keeps nothing on the disk. The end of the block cancels the answers that are still coming.

    Args:
        base_url: The base URL of the API; or a whole configuration, which then holds all other settings.
        protocol: The protocol that the server speaks, a name of :data:`partstream.PROTOCOLS`.
        api_key: The key, or None for a server without keys.
        model: The model's id on the server, or None for the first model in the server's list. Given a base URL, a named
            model is not looked up in the list, so its limits are assumed.
        headers: Headers of every request.
        allow_insecure_http: Whether plain http to another machine is allowed, where anyone on the way can read keys
            and prompts.

    Raises:
        ConfigurationError: A setting is invalid; the message shows no key.
        CallerError: A whole configuration and other settings were both given.
        LanguageModelError: On entering the block: the server does not list its models, or its list lacks this one; an
            :class:`~partstream.errors.UpstreamError` if the server cannot be reached.
    """
    if isinstance(base_url, GatewayConfiguration):
        if settings:
            raise CallerError(
                f"connect: got {', '.join(settings)} beside a configuration, expected them in the configuration"
            )
        return _connected(base_url, model)
    return _connected(_configuration(base_url, model, **settings), model)


def _configuration(
    base_url: str,
    model: str | None,
    *,
    protocol: str = DEFAULT_PROTOCOL,
    api_key: str | Secret | None = None,
    headers: Mapping[str, str] | None = None,
    allow_insecure_http: bool = False,
) -> GatewayConfiguration:
    return GatewayConfiguration(
        base_url,
        protocol=protocol,
        api_key=(Secret(api_key) if api_key else None) if isinstance(api_key, str) else api_key,
        headers=headers or {},
        allow_insecure_http=allow_insecure_http,
        stream=StreamOptions(call_id_prefix=""),  # no other server is asked, so no ids can collide
        selection=ModelSelection(overrides={} if model is None else {model: ModelOverride()}),
    )


@asynccontextmanager
async def _connected(configuration: GatewayConfiguration, model: str | None) -> AsyncGenerator[LanguageModelChat]:
    vendor = urlsplit(configuration.base_url).netloc
    provider = GatewayProvider(configuration, counters=Counters())
    async with aclosing(provider), LanguageModels() as models:
        models.register_language_model_chat_provider(vendor, provider)
        offered = {one.id: one for one in await models.select_chat_models()}
        if vendor in models.provider_errors:
            raise models.provider_errors[vendor]
        if not offered:
            raise LanguageModelError(
                f"{vendor} lists no language models: name one with model=", LanguageModelErrorCode.NOT_FOUND
            )
        if model is not None and model not in offered:
            raise UnknownModelError(model, tuple(offered))
        yield offered[model] if model is not None else next(iter(offered.values()))
