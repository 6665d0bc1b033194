"""One call to a model: takes the base URL of a server, or a provider, and returns a model, or the text of its response.

:func:`connect` opens a connection for a block; :func:`ask` and :func:`ask_sync` send one request over one. Keywords are
settings of the connection or options of the request; an unknown one is refused with the one that is probably meant.
"""

from __future__ import annotations
import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack
from urllib.parse import urlsplit

from partstream.codec.checks import Expectation, check
from partstream.errors import CallerError
from partstream.lm.contract import CheckMode
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import StreamOptions
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.protocol import AUTO, ProtocolName
from partstream.runtime.consumer import (
    ALSO_CALLED,
    REQUEST_FIELDS,
    LanguageModelChat,
    LanguageModels,
    Prompt,
    RequestFields,
    choose_model,
)
from partstream.runtime.simple import FunctionProvider, UnknownKeywordError
from partstream.tokens import Counters
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import Secret
from partstream.upstream.model_information import ModelOverride, ModelSelection
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from types import TracebackType

_NO_OPTIONS: Final = RequestOptions()


class ConnectSettings(TypedDict, total=False):
    """The settings of a connection, as keywords of :func:`connect`, :func:`ask` and :func:`ask_sync`.

    Attributes:
        protocol: The protocol that the server speaks, a name of :data:`partstream.PROTOCOLS` or one of the names that
            people use, such as `openai`; without one, Partstream detects it.
        api_key: The key, or None for a server without keys.
        model: The model's id, or None for the first model in the list of the server or the provider. Given a base URL,
            a named model is not looked up in the list, so its limits are assumed.
        headers: Headers of every request.
        allow_insecure_http: Whether plain http to another machine is allowed, where anyone on the way can read keys
            and prompts.
        contract_mode: Only for a provider. Strict, for tests: a part that breaks a MUST of the contract ends the
            answer with a :class:`~partstream.errors.ContractViolationError`. Lenient, as in VS Code: the part is
            dropped.
    """

    protocol: ProtocolName
    api_key: str | Secret | None
    model: str | None
    headers: Mapping[str, str] | None
    allow_insecure_http: bool
    contract_mode: CheckMode


class AskSettings(ConnectSettings, RequestFields, total=False):
    """The keywords of :func:`ask` and :func:`ask_sync`: settings of the connection and options of the request."""


def connect(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider, **settings: Unpack[ConnectSettings]
) -> Connection:
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
        settings: Those of the connection, see :class:`ConnectSettings`. A configuration takes `model` alone, a provider
            `model` and `contract_mode`.

    Raises:
        ConfigurationError: A setting is invalid; the message shows no key.
        UnknownKeywordError: There is no such setting; options of a request are keywords of `model.ask(...)`.
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
    for name in settings:
        if name not in _CONNECT_SETTINGS:
            raise _unknown(name, "connect", _CONNECT_SETTINGS)
    model = settings.get("model")
    if isinstance(base_url, LanguageModelChatProvider):
        _refuse(settings, "a provider", "none", {"model", "contract_mode"})
        contract_mode = settings.get("contract_mode", CheckMode.LENIENT)
        named = base_url.information.id if isinstance(base_url, FunctionProvider) else type(base_url).__name__
        return Connection(partial(_asking, base_url, named, model, contract_mode))
    if isinstance(base_url, GatewayConfiguration):
        _refuse(settings, "a configuration", "them in the configuration", {"model"})
        return Connection(partial(_connected, base_url, model))
    check("connect.base_url", base_url, _BASE_URL)
    _refuse(settings, "a base URL", "it for a provider alone", {*_CONNECT_SETTINGS} - {"contract_mode"})
    api_key = settings.get("api_key")
    configuration = GatewayConfiguration(
        base_url,
        protocol=settings.get("protocol", AUTO),
        api_key=(Secret(api_key) if api_key else None) if isinstance(api_key, str) else api_key,
        headers=settings.get("headers") or {},
        allow_insecure_http=settings.get("allow_insecure_http", False),
        stream=StreamOptions(),  # no other server is asked, so no ids can collide
        selection=ModelSelection(overrides={} if model is None else {model: ModelOverride()}),
        discover=model is None,
    )
    return Connection(partial(_connected, configuration, model))


class Connection:
    """A connection that is not open yet, as :func:`connect` returns it: `async with` opens it and gives the model. Each
    `async with` opens one of its own, so an object at the top of a module serves any number of requests.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield "Hello"
        >>> connection = connect(parrot)
        >>> async def main():
        ...     async with connection as model:
        ...         return await model.ask("Hi")
        >>> asyncio.run(main())
        'Hello'
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[LanguageModelChat]]) -> None:
        self._opening = opening
        self._open: list[tuple[object, AbstractAsyncContextManager[LanguageModelChat]]] = []  # by the task that enters

    async def __aenter__(self) -> LanguageModelChat:
        opened = self._opening()
        model = await opened.__aenter__()
        self._open.append((asyncio.current_task(), opened))
        return model

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> bool | None:
        # The last one of this task; a fixture of tests may leave the block in another task.
        of_task = [one for one in self._open if one[0] is asyncio.current_task()]
        left = (of_task or self._open)[-1]
        self._open.remove(left)
        return await left[1].__aexit__(kind, error, place)

    if not TYPE_CHECKING:  # a type checker reports by itself that there is no such attribute

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"connect: got `connect(...).{name}`, expected `async with connect(...) as model:` and then "
                f"`model.{name}`; for one question, `await ask(...)` or `ask_sync(...)`"
            )


async def ask(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider,
    prompt: Prompt,
    options: RequestOptions = _NO_OPTIONS,
    **settings: Unpack[AskSettings],
) -> str:
    """Asks a provider or a server one question, and returns the text of the answer: `await ask(provider, "Hi")`.

    Several questions go over one connection with :func:`connect`, which also gives the parts of an answer.

    Args:
        base_url: A provider, the base URL of a server, or a whole configuration.
        prompt: The user's text, or the whole conversation, oldest message first; a message may be a dict such as
            `{"role": "user", "content": "Hi"}`.
        options: The request's tools and other options.
        settings: Those of :func:`connect`, and options of the request such as `temperature=0`, which
            :class:`~partstream.RequestFields` lists.

    Raises:
        UnknownKeywordError: There is no such setting and no such option.
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
    known = (*_CONNECT_SETTINGS, *REQUEST_FIELDS)
    for name in settings:
        if name not in known:
            raise _unknown(name, "ask", known)
    chosen: Any = {name: value for name, value in settings.items() if name in REQUEST_FIELDS}
    connected: Any = {name: value for name, value in settings.items() if name not in REQUEST_FIELDS}
    async with connect(base_url, **connected) as model:
        return await model.ask(prompt, options, **chosen)


def ask_sync(
    base_url: str | GatewayConfiguration | LanguageModelChatProvider,
    prompt: Prompt,
    options: RequestOptions = _NO_OPTIONS,
    **settings: Unpack[AskSettings],
) -> str:
    """Asks as :func:`ask` does, where no event loop runs: `print(ask_sync(provider, "Hi"))`.

    Raises:
        CallerError: An event loop runs, which would be blocked meanwhile: `await ask(...)` there.
        Exception: What :func:`ask` raises.

    Example:
        >>> from partstream import ask_sync, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> ask_sync(parrot, "Hello")
        'You said: Hello'
        >>> ask_sync(parrot, [{"role": "user", "content": "Hello"}], temperature=0)
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


def _unknown(name: str, given_to: str, known: tuple[str, ...]) -> CallerError:
    """The error for a keyword that does not exist, or that is one of a request where a connection was expected."""
    if name in REQUEST_FIELDS:
        return CallerError(
            f"{given_to}: got {name}, an option of a request, expected it where the model is asked: "
            f"model.ask(..., {name}=...)"
        )
    return UnknownKeywordError(name, known, given_to, _ALSO_CALLED)


def _refuse(settings: Mapping[str, object], beside: str, expected: str, taken: set[str]) -> None:
    given = [name for name in settings if name not in taken]
    if given:
        raise CallerError(f"connect: got {', '.join(given)} beside {beside}, expected {expected}")


_CONNECT_SETTINGS: Final = tuple(ConnectSettings.__annotations__)
_ALSO_CALLED: Final = {
    **ALSO_CALLED,
    "key": "api_key",
    "token": "api_key",
    "apiKey": "api_key",
    "model_id": "model",
    "model_name": "model",
    "provider": "protocol",
    "wire": "protocol",
    "extra_headers": "headers",
    "insecure": "allow_insecure_http",
}


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
