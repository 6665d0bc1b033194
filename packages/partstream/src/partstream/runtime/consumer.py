"""Models as their consumer sees them: the registry of providers, the selection of models, and requests to them.

The counterpart of `vscode.lm` and its objects (`@types/vscode` 1.140); opens no file and no connection. A consumer
registers providers with :class:`LanguageModels`, selects a :class:`LanguageModelChat` by its properties, and sends
requests in the words that programs know: a text, messages or dicts in the form of Chat Completions, which the clients
of most servers share, with options as keywords. As in VS Code, a provider that fails does not keep the others from
answering. How a request runs is in :mod:`partstream.runtime.requests`.
"""

from __future__ import annotations
import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

from partstream import errors
from partstream.codec import checks
from partstream.codec.checks import dataclass, field, replace
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource, Disposable, Event, EventEmitter
from partstream.lm.contract import CheckMode
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.protocols.protocol import PLAIN_MESSAGES, PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime import requests
from partstream.runtime.progress import defined_at
from partstream.runtime.simple import UnknownKeywordError
from partstream.settings.kinds import closest_name

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatCapabilities, Progress

# ---- Prompts and options ----

Prompt: TypeAlias = str | Sequence[ChatMessage | Mapping[str, Any]]
"""What a model is asked: the user's text, or a conversation, oldest message first. A message is a
:class:`~partstream.ChatMessage` or a dict as Chat Completions has it: `{"role": "user", "content": "Hi"}`, where the
content is a text, or a list of parts such as `{"type": "text", "text": "Hi"}` and
`{"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}`."""


class RequestFields(TypedDict, total=False):
    """The options of one request, as keywords of :func:`ask` and of :meth:`~partstream.LanguageModelChat.ask`.

    Each goes to the server under the name that its protocol has for it, such as `max_output_tokens` for `max_tokens` in
    OpenResponses; an option that the protocol has no other name for goes as it is, and the server may refuse it.
    Options of one server alone go into `RequestOptions(model_options=...)`.

    Attributes:
        tools: The tools that the model may call.
        tool_mode: Whether it may or must call one.
        temperature: How much chance there is in the answer.
        top_p: The share of likely tokens that are chosen from.
        top_k: The number of likely tokens that are chosen from.
        max_tokens: The most tokens of the answer; `max_output_tokens` and `max_completion_tokens` mean the same.
        stop: The text, or the texts, at which the answer ends.
        seed: A number that makes answers repeatable, where the server can.
        presence_penalty: How much the model avoids tokens that were there before.
        frequency_penalty: How much it avoids those that were there often.
        response_format: The form of the answer, in the words of the server, such as `{"type": "json_object"}`.
        reasoning_effort: How long the model thinks, such as `low`.
        parallel_tool_calls: Whether the model may call several tools at once.
        user: Whom the request is for, as an id of the caller.
    """

    tools: Iterable[Tool]
    tool_mode: ToolMode
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    max_output_tokens: int
    max_completion_tokens: int
    stop: str | Sequence[str]
    seed: int
    presence_penalty: float
    frequency_penalty: float
    response_format: Mapping[str, Any]
    reasoning_effort: str
    parallel_tool_calls: bool
    user: str


REQUEST_FIELDS: Final = tuple(RequestFields.__annotations__)
ALSO_CALLED: Final = {
    "max_new_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "maxTokens": "max_tokens",
    "stop_sequences": "stop",
    "effort": "reasoning_effort",
    "reasoning": "reasoning_effort",
    "functions": "tools",
    "tool_choice": "tool_mode",
    "format": "response_format",
    "json": "response_format",
}
"""Other words for some options of a request."""
_PLACE: Final = re.compile(r"^messages\[(\d+)\]")
_MESSAGE: Final = (
    'a ChatMessage, such as ChatMessage.user("Hi"), or a dict of role and content, such as '
    '{"role": "user", "content": "Hi"}'
)


def options_with(
    options: RequestOptions, fields: Mapping[str, Any], given_to: str, known: Sequence[str] = REQUEST_FIELDS
) -> RequestOptions:
    """Options with those that were given as keywords, which win.

    Raises:
        UnknownKeywordError: There is no such keyword.
        InvalidArgumentError: A tool is none.
    """
    if not fields:
        return options
    for name in fields:
        if name not in REQUEST_FIELDS:
            raise UnknownKeywordError(name, tuple(known), given_to, ALSO_CALLED)
    tools, tool_mode = fields.get("tools", options.tools), fields.get("tool_mode", options.tool_mode)
    chosen = {name: value for name, value in fields.items() if name not in {"tools", "tool_mode"}}
    made = RequestOptions(tools, tool_mode, {**options.model_options, **chosen}, options.model_configuration)
    return replace(options, tools=made.tools, tool_mode=made.tool_mode, model_options=made.model_options)


def conversation_of(prompt: Prompt) -> Sequence[ChatMessage]:
    """The conversation of a prompt.

    Raises:
        InvalidArgumentError: The prompt is no text and no list of messages, or a dict among them is no message.
    """
    if isinstance(prompt, str):
        return [ChatMessage.user(prompt)]
    if isinstance(prompt, Mapping | ChatMessage | bytes) or not isinstance(prompt, Iterable):
        checks.refuse("messages", prompt, f"a list or a tuple, each item {_MESSAGE}; or a text")
    messages: list[ChatMessage] = []
    place = 0
    for is_plain, run in groupby(prompt, lambda one: isinstance(one, Mapping)):
        found = list(run)
        if is_plain:
            messages += _read([dict(one) for one in found if isinstance(one, Mapping)], place)
        for number, message in enumerate(() if is_plain else found, place):
            if not isinstance(message, ChatMessage):
                checks.refuse(f"messages[{number}]", message, _MESSAGE)
            messages.append(message)
        place += len(found)
    return tuple(messages)


def _read(messages: list[dict[str, Any]], first: int) -> tuple[ChatMessage, ...]:
    """The messages of a run of dicts, of which the first has a place in the whole conversation."""
    reader = PROTOCOLS[PLAIN_MESSAGES].read_request
    if reader is None:
        raise AssertionError(f"{PLAIN_MESSAGES} reads no requests")
    try:
        asked = reader().read(WireRequest("", {"model": "", "messages": messages}))
    except errors.InvalidRequestError as error:
        where = _PLACE.sub(lambda found: f"messages[{int(found[1]) + first}]", error.where)
        raise checks.InvalidArgumentError(where, error.got, error.expected) from None
    for name in asked.unmapped:
        raise checks.InvalidArgumentError(
            "messages", f"a part in {name}", "parts of the types text, image_url and file"
        )
    return asked.messages


# ---- A model ----

_NO_OPTIONS = RequestOptions()


@dataclass(frozen=True, slots=True)
class LanguageModelChat:
    """A model to send requests to; the counterpart of `vscode.LanguageModelChat`. Made by :class:`LanguageModels`.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         return model.name, model.max_input_tokens, await model.ask("Hello")
        >>> asyncio.run(main())
        ('Parrot', 128000, 'You said: Hello')
    """

    information: LanguageModelChatInformation
    _registration: Registration = field(repr=False)

    @property
    def vendor(self) -> str:
        """The vendor that the model's provider is registered under."""
        return self._registration.vendor

    @property
    def id(self) -> str:
        """The model's id, unique within the vendor."""
        return self.information.id

    @property
    def name(self) -> str:
        """The model's name for people."""
        return self.information.name

    @property
    def family(self) -> str:
        """The model's family."""
        return self.information.family

    @property
    def version(self) -> str:
        """The model's version within the family; opaque."""
        return self.information.version

    @property
    def max_input_tokens(self) -> int:
        """The most tokens that a prompt may hold."""
        return self.information.max_input_tokens

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that an answer may hold."""
        return self.information.max_output_tokens

    @property
    def capabilities(self) -> LanguageModelChatCapabilities:
        """The model's capabilities."""
        return self.information.capabilities

    async def ask(
        self,
        prompt: Prompt,
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
        **fields: Unpack[RequestFields],
    ) -> str:
        """Asks the model and returns the whole text of its answer. VS Code's API has no such method.

        Args:
            prompt: The user's text, or the whole conversation, oldest message first; a message may be a dict such as
                `{"role": "user", "content": "Hi"}`.
            options: The request's tools and other options.
            token: Ends the answer when cancelled; the method then returns the text until then.
            fields: Options as keywords, such as `temperature=0`; they win over those in `options`.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            UnknownKeywordError: There is no such option.
            CallerError: The conversation holds an object that is not a message.
            LanguageModelError: The provider failed.

        Example:
            >>> import asyncio
            >>> from partstream import chat_model, connect, user_request
            >>> @chat_model(name="Parrot")
            ... async def parrot(messages, options):
            ...     yield f"You said {user_request(messages)} at {options.model_options['temperature']}"
            >>> async def main():
            ...     async with connect(parrot) as model:
            ...         return await model.ask([{"role": "user", "content": "Hello"}], temperature=0)
            >>> asyncio.run(main())
            'You said Hello at 0'
        """
        async with self.stream(prompt, options, token, **fields) as response:
            return await response.read_text()

    def stream(
        self,
        prompt: Prompt,
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
        **fields: Unpack[RequestFields],
    ) -> requests.LanguageModelChatResponse:
        """Asks the model and returns the response, still to come: `async for part in model.stream("Hi")`.

        Does the same as VS Code's :meth:`send_request`, but without an `await`, and takes what :meth:`ask` takes.
        """
        chosen = options_with(options, fields, "LanguageModelChat.stream") if fields else options
        return self._registration.send_request(self.information, conversation_of(prompt), chosen, token)

    async def send_request(
        self, messages: Prompt, options: RequestOptions = _NO_OPTIONS, token: CancellationToken | None = None
    ) -> requests.LanguageModelChatResponse:
        """Sends a request to the model; the provider starts at once, whether or not the response is read.

        Args:
            messages: The conversation, oldest message first; as in :meth:`ask`.
            options: The request's tools and other options.
            token: Ends the response when cancelled; if it is already cancelled, the provider is not called.

        Returns:
            The response, still to come. Reading it raises the errors that happen from now on; this method does not.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            CallerError: `messages` holds an object that is not a message.
        """
        return self.stream(messages, options, token)

    async def count_tokens(self, text: str | ChatMessage, token: CancellationToken | None = None) -> int:
        """Counts the tokens that `text` takes in a prompt for this model.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            LanguageModelError: The provider could not count; its own exception is the `__cause__`.
        """
        return await self._registration.count_tokens(self.information, text, token)


class Registration:
    """A provider under its vendor: lists its models, starts requests, and adds them to `running` by their tasks.

    Attributes:
        error: The error of the last listing, or None if it succeeded.
    """

    def __init__(
        self,
        vendor: str,
        provider: LanguageModelChatProvider,
        settings: requests.ConsumerSettings,
        running: dict[asyncio.Task[None], requests.RunningRequest],
    ) -> None:
        self.vendor = vendor
        self.provider = provider
        self.error: Exception | None = None
        self._settings = settings
        self._disposed = False
        self._listing = asyncio.Lock()
        self._running = running

    def dispose(self) -> None:
        """Refuses new requests from now on; running requests continue."""
        self._disposed = True

    async def list_models(self) -> Sequence[LanguageModelChatInformation]:
        """Asks the provider for its models, one call at a time as VS Code does; empty if the provider fails.

        A failure is reported and kept as :attr:`error`.
        """
        try:
            async with self._listing:
                models = await self._ask_for_models()
        except Exception as error:
            self.error = error
            self._settings.on_provider_error(self.vendor, error)
            return ()
        self.error = None
        return models

    def send_request(
        self,
        information: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken | None,
    ) -> requests.LanguageModelChatResponse:
        """Calls the provider and returns the response, still to come; see :meth:`LanguageModelChat.send_request`."""
        self._require_registered(information.id)
        sent = checks.sequence_of("messages", messages, ChatMessage, "a ChatMessage")
        checks.check("options", options, _OPTIONS)
        checks.check("token", token, _TOKEN)
        request = requests.RunningRequest(
            self.vendor, information.id, (tool.name for tool in options.tools), self._settings
        )

        async def provide(progress: Progress, provider_token: CancellationToken) -> None:
            await self.provider.provide_language_model_chat_response(
                information, sent, options, progress, provider_token
            )

        task = request.start(provide, token)
        if task is not None:
            self._running[task] = request
            task.add_done_callback(self._running.pop)
        return requests.LanguageModelChatResponse(request)

    async def count_tokens(
        self, information: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken | None
    ) -> int:
        """Asks the provider for a token count; see :meth:`LanguageModelChat.count_tokens`."""
        self._require_registered(information.id)
        checks.check("text", text, _COUNTED)
        try:
            return await self.provider.provide_token_count(
                information, text, CancellationTokenSource().token if token is None else token
            )
        except errors.LanguageModelError:
            raise
        except Exception as error:
            raise requests.as_language_model_error(error, self.vendor) from error

    async def _ask_for_models(self) -> tuple[LanguageModelChatInformation, ...]:
        seconds = self._settings.limits.list_seconds
        source = CancellationTokenSource()
        try:
            async with asyncio.timeout(seconds) as limit:
                listed = await self.provider.provide_language_model_chat_information(True, source.token)
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"the provider of {self.vendor} did not list its models within {seconds:g} s"
            raise errors.LanguageModelError(message) from error
        finally:
            source.cancel()
        place = defined_at(self.provider.provide_language_model_chat_information)
        where = f"the models of {self.vendor}" + ("" if place is None else f" ({place})")
        models = checks.sequence_of(where, listed, LanguageModelChatInformation, "a LanguageModelChatInformation")
        twice = sorted(model_id for model_id, count in Counter(model.id for model in models).items() if count > 1)
        if twice:
            raise errors.CallerError(
                f"the provider of {self.vendor} lists {', '.join(twice)} more than once, expected unique model ids"
            )
        return models

    def _require_registered(self, model_id: str) -> None:
        # Only the provider knows whether it still serves a model that left its list; without a provider, no model is.
        if self._disposed:
            raise errors.UnknownModelError(model_id, ())


_OPTIONS: Final = checks.instance_of(RequestOptions, "RequestOptions")
_TOKEN: Final = checks.optional(checks.instance_of(CancellationToken))
_COUNTED: Final = checks.Expectation(
    "a text (str) or a ChatMessage", lambda value: isinstance(value, str | ChatMessage)
)


# ---- Selection ----


@dataclass(frozen=True, slots=True)
class LanguageModelChatSelector:
    """Properties that a model must have, compared exactly; the counterpart of `vscode.LanguageModelChatSelector`.

    Attributes:
        vendor: The vendor of the model's provider; None, here and below, matches every value.
        family: The model's family.
        version: The model's version.
        id: The model's id.

    Raises:
        InvalidArgumentError: A property is no text.

    Example:
        >>> from partstream import LanguageModelChatSelector
        >>> LanguageModelChatSelector(vendor="birds", id="parrot").vendor
        'birds'
    """

    vendor: str | None = None
    family: str | None = None
    version: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        checks.check_fields(self, _PROPERTIES)

    def matches(self, information: LanguageModelChatInformation) -> bool:
        """Whether the model has the selected properties; does not compare its vendor."""
        return (
            self.family in {None, information.family}
            and self.version in {None, information.version}
            and self.id in {None, information.id}
        )

    def matches_vendor(self, vendor: str) -> bool:
        """Whether the selector includes models of `vendor`."""
        return self.vendor in {None, vendor}


class SelectorFields(TypedDict, total=False):
    """The same properties as an object, as VS Code's API takes them."""

    vendor: str | None
    family: str | None
    version: str | None
    id: str | None


def selector_of(given: LanguageModelChatSelector | SelectorFields | None) -> LanguageModelChatSelector:
    """The selector for what a caller gives: a selector, its properties in a mapping, or None for all models.

    Raises:
        InvalidArgumentError: It is none of these, there is no such property, or a property is no text.
    """
    if isinstance(given, LanguageModelChatSelector):
        return given
    if given is None:
        return LanguageModelChatSelector()
    if not isinstance(given, Mapping):
        raise checks.InvalidArgumentError(
            "selector", checks.described(given), f"a mapping with some of {', '.join(_NAMES)}, or None"
        )
    for name in given:
        if name not in _NAMES:
            closest = closest_name(str(name), _NAMES)
            expected = f"one of {', '.join(_NAMES)}" if closest is None else f"{closest!r}"
            raise checks.InvalidArgumentError("selector", f"the unknown property {name!r}", expected)
    return LanguageModelChatSelector(**given)


_PROPERTIES: Final = dict.fromkeys(("vendor", "family", "version", "id"), checks.optional(checks.TEXT))
_NAMES: Final = tuple(_PROPERTIES)

# ---- The registry ----

_DEFAULT_LIMITS = requests.ConsumerLimits()
_METHODS: Final = tuple(LanguageModelChatProvider.__abstractmethods__)
_PROVIDER: Final = checks.Expectation(
    "a LanguageModelChatProvider: an object, not its class",
    lambda value: not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in _METHODS),
)
_VENDOR: Final = checks.Expectation(
    "a name without blanks at either end",
    lambda value: isinstance(value, str) and value != "" and value == value.strip(),
)


class LanguageModels:
    """Providers by vendor, and the models that they offer; the counterpart of `vscode.lm`.

    Belongs to one event loop. `async with LanguageModels() as models:` cancels running requests at its end.

    Args:
        contract_mode: How to treat a part that breaks the contract. Lenient: the part is dropped; a call of an unknown
            tool passes, so that the consumer can tell the model. Strict: the provider and the consumer get a
            :class:`~partstream.errors.ContractViolationError`.
        on_violation: Called with the vendor, the model's id and every violation. By default, each rule that a provider
            breaks is logged once.
        on_provider_error: Called with the vendor and an error of its provider that no request can raise: a failed
            listing, an error after a cancellation, a provider that does not stop. By default, the error is logged.
        limits: How long to wait for providers.

    Example:
        >>> import asyncio
        >>> from partstream import LanguageModels, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with LanguageModels() as models:
        ...         models.register_language_model_chat_provider("birds", parrot)
        ...         (model,) = await models.select_chat_models({"vendor": "birds"})
        ...         return await model.ask("Hello")
        >>> asyncio.run(main())
        'You said: Hello'
    """

    def __init__(
        self,
        *,
        contract_mode: CheckMode = CheckMode.LENIENT,
        on_violation: requests.ViolationListener | None = None,
        on_provider_error: requests.ProviderErrorListener = requests.log_provider_error,
        limits: requests.ConsumerLimits = _DEFAULT_LIMITS,
    ) -> None:
        self._settings = requests.ConsumerSettings(
            contract_mode, on_violation or requests.ViolationLog(), on_provider_error, limits
        )
        self._registrations: dict[str, Registration] = {}
        # The event loop holds tasks weakly: without this a request without readers could vanish half-way.
        self._running: dict[asyncio.Task[None], requests.RunningRequest] = {}
        self._changed: EventEmitter[None] = EventEmitter()

    @property
    def on_did_change_chat_models(self) -> Event[None]:
        """Fires when a provider is registered or unregistered, or announces that its models changed."""
        return self._changed.event

    @property
    def provider_errors(self) -> Mapping[str, Exception]:
        """The errors of the last listings by vendor, for the vendors whose last listing failed."""
        return {
            vendor: registration.error
            for vendor, registration in self._registrations.items()
            if registration.error is not None
        }

    def register_language_model_chat_provider(self, vendor: str, provider: LanguageModelChatProvider) -> Disposable:
        """Registers a provider under a vendor. The provider lists its models when a consumer selects models.

        Returns:
            A disposable that unregisters the provider; running requests continue to their end.

        Raises:
            DuplicateVendorError: The vendor already has a provider.
            InvalidArgumentError: The vendor is empty, or starts or ends with blanks; or the provider is no object with
                the methods of one.
        """
        checks.check("vendor", vendor, _VENDOR)
        checks.check("provider", provider, _PROVIDER)
        if vendor in self._registrations:
            raise errors.DuplicateVendorError(vendor)
        registration = Registration(vendor, provider, self._settings, self._running)
        self._registrations[vendor] = registration
        subscribe = provider.on_did_change_language_model_chat_information
        subscription = None if subscribe is None else subscribe(self._changed.fire)

        def unregister() -> None:
            if subscription is not None:
                subscription.dispose()
            del self._registrations[vendor]
            registration.dispose()
            self._changed.fire(None)

        self._changed.fire(None)
        return Disposable(unregister)

    async def select_chat_models(
        self, selector: LanguageModelChatSelector | SelectorFields | None = None
    ) -> list[LanguageModelChat]:
        """Asks all providers for their models at the same time, and returns the models that match.

        A provider that fails hides no other provider: its error is reported and kept in :attr:`provider_errors`.

        Args:
            selector: The properties to match, as an object or a dict such as `{"vendor": "example"}`; None matches all
                models.

        Returns:
            The models in the order of registration, and within a provider in the provider's order.

        Raises:
            InvalidArgumentError: The selector has an unknown property, or one that is no text.
        """
        wanted = selector_of(selector)
        asked = [one for one in self._registrations.values() if wanted.matches_vendor(one.vendor)]
        lists = await asyncio.gather(*(registration.list_models() for registration in asked))
        return [
            LanguageModelChat(information, registration)
            for registration, models in zip(asked, lists, strict=True)
            for information in models
            if wanted.matches(information)
        ]

    async def aclose(self) -> None:
        """Cancels all running requests and waits, within the limits, until their providers have stopped."""
        await asyncio.gather(*(request.stop() for request in tuple(self._running.values())))

    async def __aenter__(self) -> LanguageModels:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()


async def offered_models(models: LanguageModels, vendor: str) -> Sequence[LanguageModelChat]:
    """The models that a vendor lists.

    Raises:
        LanguageModelError: They cannot be listed; the message names the line of the provider's code, if that failed.
        PartstreamError: The vendor's own error of listing its models.
    """
    offered = await models.select_chat_models({"vendor": vendor})
    error = models.provider_errors.get(vendor)
    if error is not None:
        raise error if isinstance(error, errors.PartstreamError) else requests.as_language_model_error(error, vendor)
    return offered


async def choose_model(models: LanguageModels, vendor: str, model_id: str | None) -> LanguageModelChat:
    """The model of this id, or the first that the vendor lists.

    Raises:
        LanguageModelError: The models cannot be listed, there are none, or none has this id.
        PartstreamError: The vendor's own error of listing its models.
    """
    offered = {one.id: one for one in await offered_models(models, vendor)}
    if not offered:
        raise errors.LanguageModelError(
            f"{vendor} lists no language models: name one with model=", errors.LanguageModelErrorCode.NOT_FOUND
        )
    if model_id is not None and model_id not in offered:
        raise errors.UnknownModelError(model_id, tuple(offered))
    return offered[model_id] if model_id is not None else next(iter(offered.values()))
