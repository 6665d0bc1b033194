"""The short way to a model: takes the base URL of a server, or a provider, and gives a model to ask, or its answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, overload
from urllib.parse import urlsplit

from partstream.arguments import Expectation, check
from partstream.consumer import LanguageModels
from partstream.consumer.choosing import choose_model
from partstream.contract import CheckMode
from partstream.errors import CallerError
from partstream.messages import RequestOptions
from partstream.models.filters import ModelOverride, ModelSelection
from partstream.outputs import StreamOptions
from partstream.protocols.registry import AUTO
from partstream.provider import LanguageModelChatProvider
from partstream.simple import FunctionProvider
from partstream.tokens import Counters
from partstream.upstreams import GatewayConfiguration, GatewayProvider, Secret

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from partstream.consumer import LanguageModelChat
    from partstream.messages import ChatMessage

__all__ = ["ConnectSettings", "ask", "ask_sync", "connect"]

_NO_OPTIONS: Final = RequestOptions()


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


@overload
def connect(
    base_url: LanguageModelChatProvider, *, model: str | None = ..., contract_mode: CheckMode = ...
) -> AbstractAsyncContextManager[LanguageModelChat]: ...


def connect(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider, *, model: str | None = None, **settings: Any
) -> AbstractAsyncContextManager[LanguageModelChat]:
    """Connects to a model server, or to a provider, for the duration of a block, and gives one of its models.

    ::

        async with connect("http://localhost:1234/v1") as model:
            print(await model.ask("Hi"))

            response = model.stream("Tell me more.")
            async for part in response:
                ...  # TextPart, ThinkingPart, ToolCallPart, DataPart
            print(response.usage, response.finish_reason)

    Keeps nothing on the disk. The end of the block cancels the answers that are still coming. A provider of one's own
    is asked as a host asks it, and every rule of the contract that it breaks is logged; it stays open.

    Args:
        base_url: The base URL of the API; or a whole configuration, which then holds all other settings; or a provider.
        protocol: The protocol that the server speaks, a name of :data:`partstream.PROTOCOLS`; it is found out where it
            is left out.
        api_key: The key, or None for a server without keys.
        model: The model's id, or None for the first model in the list of the server or the provider. Given a base URL,
            a named model is not looked up in the list, so its limits are assumed.
        headers: Headers of every request.
        allow_insecure_http: Whether plain http to another machine is allowed, where anyone on the way can read keys
            and prompts.
        contract_mode: Only for a provider. Strict, for tests: a part that breaks a MUST of the contract ends the
            answer with a :class:`~partstream.errors.ContractViolationError`. Lenient, as in VS Code: the part is
            dropped.

    Raises:
        ConfigurationError: A setting is invalid; the message shows no key.
        CallerError: Other settings were given with a configuration or a provider.
        LanguageModelError: On entering the block: the models cannot be listed, or the list lacks this one; an
            :class:`~partstream.errors.UpstreamError` if the server cannot be reached.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         return [part async for part in model.stream("Hello")]
        >>> asyncio.run(main())
        [TextPart(value='You said: Hello')]
    """
    if isinstance(base_url, LanguageModelChatProvider):
        contract_mode: CheckMode = settings.pop("contract_mode", CheckMode.LENIENT)
        _refuse(settings, "a provider", "none")
        return _asking(base_url, _name_of(base_url), model, contract_mode)
    if isinstance(base_url, GatewayConfiguration):
        _refuse(settings, "a configuration", "them in the configuration")
        return _connected(base_url, model)
    check("connect.base_url", base_url, _BASE_URL)
    return _connected(_configuration(base_url, model, **settings), model)


class ConnectSettings(TypedDict, total=False):
    """The settings that :func:`ask` and :func:`ask_sync` hand on to :func:`connect`, which says what they mean."""

    protocol: str
    api_key: str | Secret | None
    model: str | None
    headers: Mapping[str, str] | None
    allow_insecure_http: bool
    contract_mode: CheckMode


async def ask(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider,
    prompt: str | Sequence[ChatMessage],
    options: RequestOptions = _NO_OPTIONS,
    **settings: Unpack[ConnectSettings],
) -> str:
    """Asks a provider or a server one question, and returns the text of the answer: `await ask(provider, "Hi")`.

    Several questions go over one connection with :func:`connect`, which also gives the parts of an answer.

    Args:
        base_url: A provider, the base URL of a server, or a whole configuration.
        prompt: The user's text, or the whole conversation, oldest message first.
        options: The request's tools and other options.
        settings: Those of :func:`connect`.

    Raises:
        Exception: What :func:`connect` and :meth:`~partstream.LanguageModelChat.ask` raise.

    Example:
        >>> import asyncio
        >>> from partstream import ask, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> asyncio.run(ask(parrot, "Hello"))
        'You said: Hello'
    """
    connection: AbstractAsyncContextManager[LanguageModelChat] = connect(base_url, **settings)  # type: ignore[call-overload]
    async with connection as model:
        return await model.ask(prompt, options)


def ask_sync(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider,
    prompt: str | Sequence[ChatMessage],
    options: RequestOptions = _NO_OPTIONS,
    **settings: Unpack[ConnectSettings],
) -> str:
    """Asks as :func:`ask` does, where no event loop runs: `print(ask_sync(provider, "Hi"))`.

    Raises:
        CallerError: An event loop runs, which would stand still meanwhile: `await ask(...)` there.
        Exception: What :func:`ask` raises.

    Example:
        >>> from partstream import ask_sync, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> ask_sync(parrot, "Hello")
        'You said: Hello'
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(ask(base_url, prompt, options, **settings))
    raise CallerError("ask_sync: got a call from a running event loop, expected `await ask(...)` there")


_BASE_URL: Final = Expectation(
    "a base URL (str), a GatewayConfiguration or a LanguageModelChatProvider", lambda value: isinstance(value, str)
)


def _name_of(provider: LanguageModelChatProvider) -> str:
    return provider.information.id if isinstance(provider, FunctionProvider) else type(provider).__name__


def _refuse(settings: Mapping[str, object], beside: str, expected: str) -> None:
    if settings:
        raise CallerError(f"connect: got {', '.join(settings)} beside {beside}, expected {expected}")


def _configuration(
    base_url: str,
    model: str | None,
    *,
    protocol: str = AUTO,
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
        stream=StreamOptions(),  # no other server is asked, so no ids can collide
        selection=ModelSelection(overrides={} if model is None else {model: ModelOverride()}),
        discover=model is None,
    )


@asynccontextmanager
async def _connected(configuration: GatewayConfiguration, model: str | None) -> AsyncGenerator[LanguageModelChat]:
    vendor = urlsplit(configuration.base_url).netloc
    provider = GatewayProvider(configuration, counters=Counters())
    async with aclosing(provider), _asking(provider, vendor, model, CheckMode.LENIENT) as chosen:
        yield chosen


@asynccontextmanager
async def _asking(
    provider: LanguageModelChatProvider, vendor: str, model: str | None, contract_mode: CheckMode
) -> AsyncGenerator[LanguageModelChat]:
    async with LanguageModels(contract_mode=contract_mode) as models:
        models.register_language_model_chat_provider(vendor, provider)
        yield await choose_model(models, vendor, model)
