"""Makes a provider of one plain function, so that a Python developer writes no more to have a model in the picker.

::

    from partstream import chat_model, user_request

    @chat_model(name="Parrot")
    async def provider(messages, options):
        yield f"You said: {user_request(messages)}"

The result is a :class:`~partstream.lm.provider.LanguageModelChatProvider` like any other. Mistakes are refused when the
decorator is applied, with the file and the line of the function; a wrong keyword with the one that is probably meant.
:func:`completion_model` is the same for a function that completes text at a cursor.
"""

from __future__ import annotations
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypedDict, Unpack, cast, get_type_hints, overload

from partstream.codec import checks
from partstream.codec.json_codec import locate_non_json
from partstream.lm import provider
from partstream.lm.cancellation import CancellationToken
from partstream.lm.completions import COMPLETES_TEXT, CompletionRequest
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import Finish
from partstream.lm.parts import DataPart, ResponsePart, TextPart, ThinkingPart, ToolCallPart, text_part
from partstream.runtime.progress import CheckedProgress, suspended_at
from partstream.settings.kinds import closest_name
from partstream.tokens import CountSource, TokenCount, estimate_tokens
from partstream.upstream.context import run_until_cancelled

# ---- Keywords and functions ----

_DECORATOR: Final = "chat_model"


class UnknownKeywordError(checks.InvalidArgumentError):
    """A function got a keyword that it does not have.

    A decorator takes fields of VS Code that are not known here in `extra`; :func:`partstream.ask` takes options of one
    server in `RequestOptions(model_options=...)`.

    Attributes:
        suggestion: The keyword that is probably meant, or None.
    """

    def __init__(
        self,
        name: str,
        known: tuple[str, ...],
        given_to: str = _DECORATOR,
        also_called: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(given_to, f"the unknown keyword {name!r}", f"one of {', '.join(known)}")
        self.name = name
        closest = closest_name(name, (*known, *also_called))
        self.suggestion = None if closest is None else also_called.get(closest, closest)

    def __str__(self) -> str:
        rest = f"expected {self.expected}" if self.suggestion is None else f"did you mean {self.suggestion!r}?"
        return f"{self.where}: unknown keyword {self.name!r}; {rest}"


_ALSO_CALLED: Final = {
    "tools": "tool_calling",
    "images": "image_input",
    "vision": "image_input",
    "title": "name",
    "label": "name",
    "description": "tooltip",
    "max_tokens": "max_output_tokens",
    "context_window": "max_input_tokens",
    "tokenizer": "count_tokens",
}

_KEYWORDS: Final[Mapping[str, checks.Expectation]] = {
    "name": checks.optional(checks.FILLED_TEXT),
    "id": checks.optional(checks.FILLED_TEXT),
    "family": checks.optional(checks.FILLED_TEXT),
    "version": checks.FILLED_TEXT,
    "max_input_tokens": checks.COUNT,
    "max_output_tokens": checks.COUNT,
    "image_input": checks.BOOLEAN,
    "tool_calling": checks.Expectation(
        "True, False or the most tools that a request may hold",
        lambda value: checks.BOOLEAN.fits(value) or checks.COUNT.fits(value),
    ),
    "count_tokens": checks.Expectation("a function that takes a text or a message", callable),
    "tooltip": checks.optional(checks.TEXT),
    "detail": checks.optional(checks.TEXT),
    "extra": checks.MAPPING,
}

_BY_TYPE: Final[Mapping[Any, checks.Expectation]] = {
    bool: checks.BOOLEAN,
    str: checks.TEXT,
    float: checks.NUMBER,
    int: checks.COUNT,
}


def check_keywords(values: Mapping[str, object], given_to: str = _DECORATOR) -> None:
    """Checks the values of the decorator's own keywords.

    Raises:
        InvalidArgumentError: A value does not fit.
    """
    for name, value in values.items():
        checks.check(f"{given_to}.{name}", value, _KEYWORDS[name])


def checked_fields(
    fields: Mapping[str, object], extra: Mapping[str, object], given_to: str = _DECORATOR, more: tuple[str, ...] = ()
) -> dict[str, object]:
    """Further fields of the model, by VS Code's names.

    Args:
        extra: Fields that this version does not know; JSON values.
        more: Keywords that it takes beside those of :func:`partstream.chat_model`.

    Raises:
        UnknownKeywordError: No field has this name.
        InvalidArgumentError: A value does not fit, or is no JSON value.
    """
    known = get_type_hints(provider.ModelFields)
    for name, value in fields.items():
        if name not in known:
            raise UnknownKeywordError(name, (*_KEYWORDS, *more, *known), given_to, _ALSO_CALLED)
        checks.check(f"{given_to}.{name}", value, _BY_TYPE.get(known[name], checks.MAPPING))
    whole = {**fields, **extra}
    if found := locate_non_json(whole, "extra"):
        raise checks.InvalidArgumentError(f"{given_to}.{found.place}", found.got, found.expected)
    return whole


def check_answer_function(
    answer: object, decorator: str = _DECORATOR, parameters: tuple[str, ...] = ("messages", "options")
) -> None:
    """Checks that the decorated object is an async generator function of these parameters.

    Raises:
        InvalidArgumentError: It is not.
    """
    if not callable(answer):
        raise checks.InvalidArgumentError(
            decorator, checks.described(answer), f'keywords, such as @{decorator}(name="Parrot")'
        )
    name = getattr(answer, "__name__", type(answer).__name__)
    code = getattr(inspect.unwrap(answer), "__code__", None)
    placed = name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"
    is_class = inspect.isclass(answer)
    call = None if is_class else getattr(type(answer), "__call__", None)  # noqa: B004 - the method of an object
    if not (inspect.isasyncgenfunction(answer) or inspect.isasyncgenfunction(call)):
        if is_class:
            kind = "a class"
        elif inspect.iscoroutinefunction(answer):
            kind = "an async function without a `yield`"
        elif inspect.isgeneratorfunction(answer):
            kind = "a function without `async`"
        else:
            kind = "a function with neither `async` nor `yield`"
        raise checks.InvalidArgumentError(decorator, f"{placed}, {kind}", _GENERATOR)
    signature = inspect.signature(answer)
    try:
        signature.bind(*parameters)
    except TypeError:
        count = "one parameter" if len(parameters) == 1 else "two parameters"
        expected = f"{count}: async def {name}({', '.join(parameters)})"
        raise checks.InvalidArgumentError(decorator, f"{placed} with {signature}", expected) from None
    if [*signature.parameters][:2] == ["options", "messages"]:
        expected = f"the messages first: async def {name}(messages, options)"
        raise checks.InvalidArgumentError(decorator, f"{placed} with {signature}", expected)


_GENERATOR: Final = (
    "an async generator function: `async def` with a `yield` for each piece of the answer; `partstream new NAME --from "
    "callable` writes one around a function that returns its answer"
)

# ---- The provider ----

_REQUEST_BEGINS: Final = "<userRequest>"
_REQUEST_ENDS: Final = "</userRequest>"
_TIME: Final = re.compile(r"\s*<current_datetime>[^<]*</current_datetime>\s*")

AnswerFunction: TypeAlias = Callable[
    [Sequence[ChatMessage], RequestOptions], AsyncIterator[str | ResponsePart | Finish]
]
"""An async generator function that yields texts or parts as they come and, if it knows how the answer ended, a
:class:`~partstream.lm.outputs.Finish` last. `AsyncIterator` and `AsyncGenerator` are both good annotations of what it
returns."""

_TOKENS: Final = checks.Expectation(
    "a whole number of 0 or more", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
)
_NO_OPTIONS: Final = RequestOptions()


class OneModelProvider(provider.LanguageModelChatProvider):
    """Offers one model, whose tokens a function counts.

    Attributes:
        information: The model's information.
    """

    def __init__(
        self, information: provider.LanguageModelChatInformation, count_tokens: Callable[[str | ChatMessage], int]
    ) -> None:
        self.information = information
        self._count_tokens = count_tokens

    async def provide_language_model_chat_information(  # noqa: D102
        self, silent: bool, token: CancellationToken
    ) -> Sequence[provider.LanguageModelChatInformation]:
        return (self.information,)

    async def provide_token_count(
        self, model: provider.LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts with the function that was given.

        Raises:
            InvalidArgumentError: The function returned no whole number of 0 or more.
        """
        return self._counted(text)

    def token_count(self, model: provider.LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """Counts with the function that was given; the count has its source."""
        is_estimate = self._count_tokens is estimate_tokens
        return TokenCount(self._counted(text), CountSource.ESTIMATED if is_estimate else CountSource.COUNTED)

    def _counted(self, text: str | ChatMessage) -> int:
        count = self._count_tokens(text)
        checks.check("count_tokens", count, _TOKENS)
        return count


class FunctionProvider(OneModelProvider):
    """Offers one model, for which a function answers; made by :func:`chat_model`.

    Calling it calls the function: `[piece async for piece in provider([ChatMessage.user("hi")])]`.
    :func:`partstream.connect` gives the model to ask, with the checks of the contract.

    Attributes:
        information: The model's information.

    Example:
        >>> from partstream import FunctionProvider, chat_model
        >>> @chat_model
        ... async def parrot(messages, options):
        ...     yield "Hello"
        >>> isinstance(parrot, FunctionProvider)
        True
    """

    def __init__(
        self,
        answer: AnswerFunction,
        information: provider.LanguageModelChatInformation,
        count_tokens: Callable[[str | ChatMessage], int],
    ) -> None:
        super().__init__(information, count_tokens)
        self._answer = answer

    def __call__(
        self, messages: Sequence[ChatMessage], options: RequestOptions = _NO_OPTIONS
    ) -> AsyncGenerator[str | ResponsePart | Finish, None]:
        """Calls the function, and returns what it yields as it is."""
        # An async generator function is what the decorator takes; its annotation may say less.
        return cast("AsyncGenerator[str | ResponsePart | Finish, None]", self._answer(messages, options))

    async def provide_language_model_chat_response(
        self,
        model: provider.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: provider.Progress,
        token: CancellationToken,
    ) -> None:
        """Runs the function; a cancellation closes it where it is suspended, and its `finally` blocks run.

        A `Finish` that the function yields goes to `progress`, if that is a FinishingProgress; its error is raised.

        Raises:
            TypeError: The function yielded an object that is no text, no part and no `Finish`.
            LanguageModelError: The error of the `Finish` that the function yielded.
            Exception: Any error that the function raises.
        """
        draining = progress if isinstance(progress, provider.DrainingProgress) else None

        async def report() -> None:
            async with aclosing(self(messages, options)) as answer:
                if isinstance(progress, CheckedProgress):
                    progress.follow(answer)
                async for piece in answer:
                    if isinstance(piece, Finish):
                        if isinstance(progress, provider.FinishingProgress):
                            progress.finish(piece)
                        if piece.error is not None:
                            raise piece.error
                        continue
                    progress.report(_as_part(piece, answer))
                    if draining is not None:
                        await draining.drain()

        await run_until_cancelled(report(), token)


class CompletionKeywords(TypedDict, total=False):
    """The keywords of :func:`completion_model`.

    Attributes:
        name: The name in the model picker; by default, the id.
        id: The model's id; by default, the function's name.
        family: The model family, by which Copilot picks its prompt; by default, the id.
        version: The version within the family.
        max_input_tokens: The most tokens that a prompt may hold.
        max_output_tokens: The most tokens that an answer may hold.
        count_tokens: Counts the tokens of a text or a message; by default, an estimate.
        tooltip: The text shown when the pointer rests on the model, or None.
        detail: The text shown beside the name, or None.
        extra: Further fields that VS Code reads and :class:`~partstream.lm.provider.ModelFields` does not have.
    """

    name: str | None
    id: str | None
    family: str | None
    version: str
    max_input_tokens: int
    max_output_tokens: int
    count_tokens: Callable[[str | ChatMessage], int]
    tooltip: str | None
    detail: str | None
    extra: Mapping[str, Any]


class ModelKeywords(CompletionKeywords, provider.ModelFields, total=False):
    """The keywords of :func:`chat_model`: further fields that VS Code reads (`isUserSelectable`, ...) are among them.

    Attributes:
        image_input: Whether messages may hold images.
        tool_calling: Whether the function may yield tool calls; a number is the most tools of a request. True by
            default, because Copilot's agent mode lists only models that call tools; the function need not yield any.
    """

    image_input: bool
    tool_calling: bool | int


@overload
def chat_model(answer: AnswerFunction, /) -> FunctionProvider: ...


@overload
def chat_model(**keywords: Unpack[ModelKeywords]) -> Callable[[AnswerFunction], FunctionProvider]: ...


def chat_model(
    answer: AnswerFunction | None = None, /, **keywords: Any
) -> FunctionProvider | Callable[[AnswerFunction], FunctionProvider]:
    """Makes a provider of the decorated async generator function. `@chat_model` without keywords works too.

    Args:
        answer: The function, where the decorator has no keywords.
        keywords: See :class:`ModelKeywords`; by default, a prompt has 128,000 tokens at most, an answer 16,000.

    Raises:
        InvalidArgumentError: The decorated object is not an async generator function of two parameters, or a keyword
            has a wrong value; a `TypeError` too.
        UnknownKeywordError: There is no such keyword.

    Example:
        >>> from partstream import ask_sync, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> ask_sync(parrot, "Hello")
        'You said: Hello'
    """
    own = {name: keywords.pop(name) for name in _KEYWORDS if name in keywords}
    check_keywords(own)
    count_tokens = own.pop("count_tokens", estimate_tokens)
    given = {
        "version": "1",
        "max_input_tokens": 128_000,
        "max_output_tokens": 16_000,
        "extra": checked_fields(keywords, own.pop("extra", {})),
        "capabilities": provider.LanguageModelChatCapabilities(
            image_input=own.pop("image_input", False), tool_calling=own.pop("tool_calling", True)
        ),
        **own,
    }

    def decorate(function: AnswerFunction) -> FunctionProvider:
        check_answer_function(function)
        return FunctionProvider(function, _information(function, given), count_tokens)

    return decorate if answer is None else decorate(answer)


def _information(function: object, given: Mapping[str, Any]) -> provider.LanguageModelChatInformation:
    """The fields of the model, which is called as its function where no keyword says it."""
    model_id = given.get("id") or getattr(function, "__name__", type(function).__name__)
    named = {name: given.get(name) or model_id for name in ("id", "name", "family")}
    return provider.LanguageModelChatInformation(**{**given, **named})


# ---- Completions ----

_COMPLETION_DECORATOR: Final = "completion_model"

CompletionFunction: TypeAlias = Callable[[CompletionRequest], AsyncIterator[str]]
"""An async generator function that yields the text that belongs at the cursor, in pieces as they come."""


class CompletionProvider(FunctionProvider):
    """Offers one model, for which a function completes text; made by :func:`completion_model`.

    Its model is in no model picker. A request without a cursor has its last user message for a prefix.

    Attributes:
        information: The model's information.

    Example:
        >>> import asyncio
        >>> from partstream import CompletionRequest, completion_model
        >>> @completion_model
        ... async def pairs(request):
        ...     yield ")" if request.prefix.endswith("(") else ""
        >>> async def main():
        ...     return [piece async for piece in pairs.complete(CompletionRequest("print("))]
        >>> asyncio.run(main())
        [')']
    """

    def __init__(
        self,
        complete: CompletionFunction,
        information: provider.LanguageModelChatInformation,
        count_tokens: Callable[[str | ChatMessage], int],
    ) -> None:
        super().__init__(self._answer_to, information, count_tokens)
        self._complete = complete

    def complete(self, request: CompletionRequest) -> AsyncIterator[str]:
        """Calls the function, and returns what it yields as it is."""
        return self._complete(request)

    def _answer_to(self, messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
        return self._complete(
            CompletionRequest.asked(options.model_options) or CompletionRequest(user_request(messages))
        )


@overload
def completion_model(complete: CompletionFunction, /) -> CompletionProvider: ...


@overload
def completion_model(**keywords: Unpack[CompletionKeywords]) -> Callable[[CompletionFunction], CompletionProvider]: ...


def completion_model(
    complete: CompletionFunction | None = None, /, **keywords: Any
) -> CompletionProvider | Callable[[CompletionFunction], CompletionProvider]:
    """Makes a provider of the decorated async generator function, which completes text at a cursor.

    It completes in the editor of VS Code and at `/v1/completions`. `@completion_model` without keywords works too.

    Args:
        complete: The function, where the decorator has no keywords. It takes a
            :class:`~partstream.lm.completions.CompletionRequest`, and yields the text that belongs at the cursor.
        keywords: See :class:`CompletionKeywords`; by default, a prompt has 16,000 tokens at most, an answer 256.

    Raises:
        InvalidArgumentError: The decorated object is not an async generator function of one parameter, or a keyword has
            a wrong value; a `TypeError` too.
        UnknownKeywordError: There is no such keyword.

    Example:
        >>> from partstream import completion_model
        >>> @completion_model(name="Pairs")
        ... async def pairs(request):
        ...     yield ")"
        >>> pairs.information.name
        'Pairs'
    """
    for name in keywords:
        if name not in CompletionKeywords.__annotations__:
            known = tuple(sorted(CompletionKeywords.__annotations__))
            raise UnknownKeywordError(name, known, _COMPLETION_DECORATOR, _ALSO_CALLED)
    check_keywords(keywords, _COMPLETION_DECORATOR)
    count_tokens = keywords.pop("count_tokens", estimate_tokens)
    further = checked_fields({}, keywords.pop("extra", {}), _COMPLETION_DECORATOR)
    extra = {"isUserSelectable": False, COMPLETES_TEXT: True, **further}
    given = {"version": "1", "max_input_tokens": 16_000, "max_output_tokens": 256, **keywords, "extra": extra}

    def decorate(function: CompletionFunction) -> CompletionProvider:
        check_answer_function(function, _COMPLETION_DECORATOR, ("request",))
        return CompletionProvider(function, _information(function, given), count_tokens)

    return decorate if complete is None else decorate(complete)


# ---- What messages say ----


def text_of(message: ChatMessage) -> str:
    """The text of a message: its joined text parts.

    Example:
        >>> from partstream import ChatMessage, text_of
        >>> text_of(ChatMessage.user("Hello"))
        'Hello'
    """
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def user_request(messages: Sequence[ChatMessage]) -> str:
    """The person's last request, without the context that the host added. Empty if no user message has text.

    The chat of Copilot sends a person's words in a message with context, between `<userRequest>` tags. The Copilot
    harness sends the time before the words, as `<current_datetime>`. Other consumers send the words alone.

    Example:
        >>> from partstream import ChatMessage, user_request
        >>> user_request([ChatMessage.system("Be brief."), ChatMessage.user("Hello")])
        'Hello'
    """
    texts = (text_of(message) for message in reversed(messages) if message.role is Role.USER)
    last = next(filter(None, texts), "")
    # The last one, at the end: a file that is attached before may hold such tags too, and speak for the person.
    _, begins, request = last.rpartition(_REQUEST_BEGINS)
    if begins and request.rstrip().endswith(_REQUEST_ENDS):
        return request.rstrip().removesuffix(_REQUEST_ENDS).strip()
    time = _TIME.match(last)
    return last[time.end() :] if time else last


def _as_part(piece: object, answer: AsyncGenerator[object, None]) -> ResponsePart:
    if isinstance(piece, str):
        return text_part(piece)
    if isinstance(piece, TextPart | ThinkingPart | ToolCallPart | DataPart):
        return piece
    place = suspended_at(answer)
    raise TypeError(
        f"the answer function yielded a {type(piece).__name__}, expected a text, a part of a response or a Finish"
        + ("" if place is None else f" ({place})")
    )
