"""Functions that make agents: which functions are meant, and how they are called."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["as_factory", "is_factory"]


def is_factory(value: object) -> bool:
    """Whether an object can be called for an agent: with nothing, or with the host's tools as the one argument."""
    if not callable(value) or any(is_kind(value) for is_kind in _ASYNCHRONOUS):
        return False
    parameters = _parameters(value)
    return sum(one.default is one.empty and one.kind is not one.VAR_KEYWORD for one in parameters) <= 1


def as_factory(make: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """A function that makes agents, as one that takes the host's tools."""
    return make if any(_takes_tools(one) for one in _parameters(make)) else lambda _tools: make()


_ASYNCHRONOUS = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
"""A function of these makes no agent when it is called."""


def _takes_tools(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def _parameters(make: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):  # a function without a signature, such as one written in C
        return []
