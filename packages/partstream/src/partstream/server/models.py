"""The models of a server: which provider offers which, by the ids that requests use, and the tokens of their requests.

:class:`ModelCatalogue` asks every provider for its list, keeps it, and asks again when the provider fires its event of
changed models. A list that is only old is renewed while requests use the old one. Of two models with one id the first
provider's has the id, and the other is `name/id`. A provider that fails hides its own models alone. Tokens are counted
with the provider's own count; an estimate replaces one that fails.
"""

from __future__ import annotations
import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from partstream.codec.checks import dataclass
from partstream.errors import LanguageModelError, UnknownModelError, UnsupportedParameterError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import HostedTool, InboundRequest
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.protocols.serve import ServedModel
from partstream.tokens.counting import COUNT_SECONDS, count_all, tokens_around
from partstream.tokens.families import NO_TOKENS, TokenCount

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from partstream.protocols.serve import WireRequest
    from partstream.upstream.forwarding import KeptReply, RawRequest


def is_cancellation_of_ours(error: BaseException) -> bool:
    """Whether an error is the cancellation of the running task, and not one that the provider's code raised by itself.

    A task must not end with SystemExit or KeyboardInterrupt of a provider: that would end the event loop.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


_LIST_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 1.0
"""How long those wait for a changed list, or for one that could not be had before, who may do without it."""

_logger = logging.getLogger("partstream.serving")


@dataclass(frozen=True, slots=True)
class CataloguedModel:
    """A model that requests may name, by the id that they use."""

    id: str
    provider_name: str
    provider: LanguageModelChatProvider
    information: LanguageModelChatInformation


@runtime_checkable
class UnlistedModels(Protocol):
    """A provider that serves models which it does not list; any user's provider may be one."""

    def find_unlisted_model(self, model_id: str) -> LanguageModelChatInformation | None:
        """The information about a model that a request names; None for a model that the provider does not have."""


def unhosted_tools(provider: LanguageModelChatProvider, tools: Sequence[HostedTool]) -> tuple[str, ...]:
    """The paths of the tools that a server is to run, where the provider runs none and names none as dropped: one that
    takes :data:`partstream.lm.outputs.HOSTED` has the attribute `hosts_tools`.

    Raises:
        UnsupportedParameterError: The client demands one of them.
    """
    if not tools or hasattr(provider, "hosts_tools"):
        return ()
    if demanded := [tool.name for tool in tools if tool.is_demanded]:
        raise UnsupportedParameterError("tool_choice", repr(demanded[0]), "a function")
    return tuple(tool.where for tool in tools)


Visible: TypeAlias = "Callable[[Mapping[str, CataloguedModel]], Mapping[str, CataloguedModel]]"
"""Picks those of some models, by id, that one caller may use."""


class ModelCatalogue:
    """The models of all providers of one server.

    Each list is kept for some seconds. `aliases` are prefixes with which every model may also be named, see
    :attr:`partstream.protocols.serve.ResponseWriter.aliases`.
    """

    def __init__(
        self, providers: Mapping[str, LanguageModelChatProvider], aliases: Iterable[str], seconds: float
    ) -> None:
        self._lists = [_ProviderList(name, provider, seconds) for name, provider in providers.items()]
        self._aliases = tuple(dict.fromkeys(aliases))
        self._made_of: list[Sequence[LanguageModelChatInformation]] = []
        self._models: dict[str, CataloguedModel] = {}

    async def models(self, seconds: float = _AGAIN_SECONDS) -> dict[str, CataloguedModel]:
        """All models by id, in the order of the providers; those of a provider that fails are missing.

        A provider is waited for until it has listed its models once, or could not; then for a moment, and where it has
        failed for these seconds: one that hangs must not hold up those who ask the others.
        """
        if asked := [(one, task) for one in self._lists if (task := one.wanted()) is not None]:
            new = [task for one, task in asked if one.is_new]
            known = [task for one, task in asked if not one.is_new and (seconds or one.failure is None)]
            if new:  # they go on where a request leaves: others still want the list
                await asyncio.wait(new)
            if known:
                await asyncio.wait(known, timeout=seconds or _AGAIN_SECONDS)
        lists = [one.models for one in self._lists]
        if lists != self._made_of:
            self._made_of, self._models = lists, {}
            for one, informations in zip(self._lists, lists, strict=True):
                for information in informations:
                    name = information.id if information.id not in self._models else f"{one.name}/{information.id}"
                    self._models.setdefault(name, CataloguedModel(name, one.name, one.provider, information))
        return self._models

    async def find(self, model_id: str, visible: Visible | None = None) -> CataloguedModel:
        """The model that a request names, if it is among those that `visible` picks for its caller.

        Raises:
            UnknownModelError: No provider offers it, or the caller may not use it.
            LanguageModelError: A provider that may offer it could not list its models.
        """
        names = [model_id, *[model_id.removeprefix(one) for one in self._aliases if model_id.startswith(one)]]
        for seconds in (0.0, _LIST_SECONDS):  # who may want a model of a provider that has failed waits for it
            models = await self.models(seconds)
            for name in names:
                if name in models and (visible is None or visible({name: models[name]})):
                    return models[name]
            for one in self._lists:
                provider = one.provider
                information = provider.find_unlisted_model(model_id) if isinstance(provider, UnlistedModels) else None
                if information is not None:
                    found = CataloguedModel(model_id, one.name, one.provider, information)
                    if visible is None or visible({model_id: found}):
                        return found
            failures = [one.failure for one in self._lists if one.failure is not None]
            if not failures and not any(one.wanted() for one in self._lists):
                break
        if failures:
            raise failures[0]
        raise UnknownModelError(model_id, tuple(models if visible is None else visible(models)))


class _ProviderList:
    """The models of one provider, as it listed them last, and its error while it cannot list them."""

    def __init__(self, name: str, provider: LanguageModelChatProvider, seconds: float) -> None:
        self.name = name
        self.provider = provider
        self.models: Sequence[LanguageModelChatInformation] = ()
        self.failure: LanguageModelError | None = None
        self._seconds = seconds
        self._asked_at = 0.0
        self._changes = 0
        self._known_change: int | None = None
        self._asking: asyncio.Task[None] | None = None
        if (changed := provider.on_did_change_language_model_chat_information) is not None:
            changed(self._note_change)

    def _note_change(self, _event: object) -> None:
        self._changes += 1

    @property
    def is_new(self) -> bool:
        """Whether the provider has neither listed its models yet, nor failed to."""
        return self._known_change is None and self.failure is None

    def wanted(self) -> asyncio.Task[None] | None:
        """What asks the provider, once for all requests, where they wait for the list; one that is only old is renewed
        meanwhile."""
        loop, is_changed = asyncio.get_running_loop(), self._known_change != self._changes
        if self._asking is None and (is_changed or loop.time() - self._asked_at >= self._seconds):
            self._asking = loop.create_task(self._ask())
        return self._asking if is_changed else None

    async def _ask(self) -> None:
        self._asked_at, change = asyncio.get_running_loop().time(), self._changes
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                token = CancellationToken()
                self.models = tuple(await self.provider.provide_language_model_chat_information(True, token))
            # A change while the provider was asked is not in the list.
            self.failure, self._known_change = None, change
        except BaseException as error:
            if is_cancellation_of_ours(error):
                raise
            failure = error if isinstance(error, LanguageModelError) else None
            told = f"the provider {self.name} could not list its models: {failure or type(error).__name__}"
            self.failure, self._known_change = failure or LanguageModelError(told), None
            _logger.warning("%s", told)
        finally:
            self._asking = None


def served_model(model: CataloguedModel) -> ServedModel:
    """A model as the documents of wires describe it."""
    information = model.information
    schema = information.extra.get("configurationSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return ServedModel(
        model.id,
        information.name,
        information.max_input_tokens,
        information.max_output_tokens,
        image_input=information.capabilities.image_input,
        tool_calling=bool(information.capabilities.tool_calling),
        thinking=isinstance(properties, dict) and "reasoningEffort" in properties,  # a person chooses its effort
        input_price=_price(information.extra.get("inputCost")),
        output_price=_price(information.extra.get("outputCost")),
    )


_COSTS_A_DOLLAR: Final = 100 * 1_000_000
"""A cost is in cents for a million tokens, see :class:`partstream.lm.provider.ModelFields`."""


def _price(cost: Any) -> str | None:
    """The price of a token in US dollars."""
    if not isinstance(cost, int | float) or isinstance(cost, bool):
        return None
    price = Decimal(str(cost)) / _COSTS_A_DOLLAR
    return f"{price:f}" if price.is_finite() and price >= 0 else None


# ---- Counting ----


@runtime_checkable
class RequestCounter(Protocol):
    """A provider that counts a request as a whole, with its tools."""

    async def provide_request_token_count(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken,
    ) -> int:
        """The tokens of a request."""


@runtime_checkable
class ForwardingProvider(Protocol):
    """A provider that may send a request on as it came, and its answer's bytes as they come: it takes the passage of
    its progress, see :mod:`partstream.upstream.forwarding`."""

    async def forward_count(
        self, model: LanguageModelChatInformation, request: RawRequest, token: CancellationToken
    ) -> bytes | None:
        """The document that counts the tokens of a request, as an upstream of the same wire gives it; None where none
        is asked, or where it does not say."""


@runtime_checkable
class KeepingProvider(Protocol):
    """A provider whose upstream keeps answers, and can be asked for them."""

    def forward_kept(
        self, model: LanguageModelChatInformation, asked: WireRequest
    ) -> AbstractAsyncContextManager[KeptReply]:
        """The upstream's account of an answer that it keeps, given the client's request."""


async def counted_request(model: CataloguedModel, asked: InboundRequest, token: CancellationToken) -> int:
    """The tokens of a request: as the provider counts it, else of its messages as it counts those, and of its tools."""
    provider = model.provider
    if isinstance(provider, RequestCounter):
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                return await provider.provide_request_token_count(
                    model.information, asked.messages, asked.options, token
                )
        except TimeoutError:
            _logger.warning("the provider %s did not count within %g s", model.provider_name, COUNT_SECONDS)
    messages = await counted_messages(model, asked.messages, token)
    return await tokens_around(model.information.family, asked.options.tools) + sum(messages, NO_TOKENS).tokens


async def counted_messages(
    model: CataloguedModel, messages: Sequence[ChatMessage], token: CancellationToken
) -> list[TokenCount]:
    """The tokens of each message, as the provider counts it; the log says where it fails."""
    counts, failure = await count_all(
        model.provider, model.information, messages, token, lambda error, _: not is_cancellation_of_ours(error)
    )
    if failure is not None:
        _logger.warning("the provider %s failed to count: %s", model.provider_name, type(failure).__name__)
    return counts
