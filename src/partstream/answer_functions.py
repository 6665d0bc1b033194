"""Checks what :func:`partstream.chat_model` and functions like it are given: the function, the keywords, their values.

Mistakes are refused when the decorator is applied, with the file and the line of the function.
"""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from partstream.codec.checks import (
    BOOLEAN,
    COUNT,
    FILLED_TEXT,
    MAPPING,
    NUMBER,
    TEXT,
    Expectation,
    InvalidArgumentError,
    check,
    described,
    optional,
)
from partstream.codec.json_codec import locate_non_json
from partstream.lm.provider import ModelFields
from partstream.settings.kinds import closest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UnknownKeywordError", "check_answer_function", "check_keywords", "checked_fields"]

_DECORATOR: Final = "chat_model"


class UnknownKeywordError(InvalidArgumentError):
    """A function got a keyword that it does not have.

    A decorator takes fields of VS Code that are not known here in `extra`; :func:`partstream.ask` takes options of one
    server in `RequestOptions(model_options=...)`.

    Attributes:
        name: The keyword.
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
"""Other words for some keywords."""

_KEYWORDS: Final[Mapping[str, Expectation]] = {
    "name": optional(FILLED_TEXT),
    "id": optional(FILLED_TEXT),
    "family": optional(FILLED_TEXT),
    "version": FILLED_TEXT,
    "max_input_tokens": COUNT,
    "max_output_tokens": COUNT,
    "image_input": BOOLEAN,
    "tool_calling": Expectation(
        "True, False or the most tools that a request may hold",
        lambda value: BOOLEAN.fits(value) or COUNT.fits(value),
    ),
    "count_tokens": Expectation("a function that takes a text or a message", callable),
    "tooltip": optional(TEXT),
    "detail": optional(TEXT),
    "extra": MAPPING,
}
"""The decorator's own keywords."""

_BY_TYPE: Final[Mapping[Any, Expectation]] = {bool: BOOLEAN, str: TEXT, float: NUMBER, int: COUNT}


def check_keywords(values: Mapping[str, object], given_to: str = _DECORATOR) -> None:
    """Checks the values of the decorator's own keywords.

    Args:
        values: The values by keyword.
        given_to: The function that got them, for the error.

    Raises:
        InvalidArgumentError: A value does not fit.
    """
    for name, value in values.items():
        check(f"{given_to}.{name}", value, _KEYWORDS[name])


def checked_fields(
    fields: Mapping[str, object], extra: Mapping[str, object], given_to: str = _DECORATOR, more: tuple[str, ...] = ()
) -> dict[str, object]:
    """Further fields of the model, by VS Code's names.

    Args:
        fields: The fields that were given as keywords.
        extra: Fields that this version does not know; JSON values.
        given_to: The function that got them, for the error.
        more: Keywords that it takes beside those of :func:`partstream.chat_model`.

    Raises:
        UnknownKeywordError: No field has this name.
        InvalidArgumentError: A value does not fit, or is no JSON value.
    """
    known = get_type_hints(ModelFields)
    for name, value in fields.items():
        if name not in known:
            raise UnknownKeywordError(name, (*_KEYWORDS, *more, *known), given_to, _ALSO_CALLED)
        check(f"{given_to}.{name}", value, _BY_TYPE.get(known[name], MAPPING))
    whole = {**fields, **extra}
    if found := locate_non_json(whole, "extra"):
        raise InvalidArgumentError(f"{given_to}.{found.place}", found.got, found.expected)
    return whole


def check_answer_function(answer: object) -> None:
    """Checks that the decorated object is an async generator function of the messages and the options.

    Raises:
        InvalidArgumentError: It is not.
    """
    if not callable(answer):
        raise InvalidArgumentError(_DECORATOR, described(answer), 'keywords, such as @chat_model(name="Parrot")')
    name = getattr(answer, "__name__", type(answer).__name__)
    if not any(inspect.isasyncgenfunction(one) for one in (answer, _call_of(answer))):
        raise InvalidArgumentError(_DECORATOR, f"{_placed(answer, name)}, {_what_is(answer)}", _GENERATOR)
    signature = inspect.signature(answer)
    try:
        signature.bind(None, None)
    except TypeError:
        expected = f"two parameters: async def {name}(messages, options)"
        raise InvalidArgumentError(_DECORATOR, f"{_placed(answer, name)} with {signature}", expected) from None
    if [*signature.parameters][:2] == ["options", "messages"]:
        expected = f"the messages first: async def {name}(messages, options)"
        raise InvalidArgumentError(_DECORATOR, f"{_placed(answer, name)} with {signature}", expected)


_GENERATOR: Final = (
    "an async generator function: `async def` with a `yield` for each piece of the answer; `partstream new NAME --from "
    "callable` writes one around a function that returns its answer"
)


def _call_of(answer: object) -> object:
    """The method that answers when an object that is no function is called."""
    return None if inspect.isclass(answer) else getattr(type(answer), "__call__", None)  # noqa: B004 - the method itself


def _what_is(answer: Callable[..., object]) -> str:
    if inspect.isclass(answer):
        return "a class"
    if inspect.iscoroutinefunction(answer):
        return "an async function without a `yield`"
    if inspect.isgeneratorfunction(answer):
        return "a function without `async`"
    return "a function with neither `async` nor `yield`"


def _placed(answer: Callable[..., object], name: str) -> str:
    code = getattr(inspect.unwrap(answer), "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"
