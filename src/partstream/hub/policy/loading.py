"""Finds the functions of a policy in a file of the owner's own."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PolicyFunctions", "PolicyUnusableError", "loaded_policy"]

_BEFORE: Final = "before_request"
_END: Final = "at_end"
_MODULE: Final = "partstream_hub_policy"


class PolicyUnusableError(CallerError):
    """The policy in the settings cannot be used; a hub does not start without one that it should have.

    Attributes:
        source: The policy, as the settings name it.
    """

    def __init__(self, source: str, got: str, expected: str) -> None:
        super().__init__(f"policy {source}: got {got}, expected {expected}")
        self.source = source


@dataclass(frozen=True, slots=True)
class PolicyFunctions:
    """The functions of a policy, with `async` or without.

    Attributes:
        before_request: Called with every request, or None.
        at_end: Called with every answer that is over, or None.
    """

    before_request: Callable[[Any], Any] | None
    at_end: Callable[[Any], Any] | None


def loaded_policy(source: str) -> PolicyFunctions:
    """Loads a policy.

    Args:
        source: A file with the functions `before_request` and `at_end`, or one of them, as `policy.py`; or with the
            name of what there is in it, as `policy.py:NAME`: an object that has them, or a function that is called with
            every request.

    Raises:
        PolicyUnusableError: The file is not there, raises an error, or holds no such function.
    """
    file, _, name = source.partition(":") if not _has_drive(source) else _split_behind_drive(source)
    expected = f"a Python file with {_BEFORE}, {_END} or both"
    path = Path(file).expanduser()
    if path.suffix != ".py" or not path.is_file():
        raise PolicyUnusableError(source, "no such file", expected)
    held = _module(source, path)
    if name:
        held = getattr(held, name, None)
        if held is None:
            raise PolicyUnusableError(source, f"a file without {name}", expected)
    before, end = getattr(held, _BEFORE, None), getattr(held, _END, None)
    if before is None and end is None and name and callable(held):
        before = held
    if (before is None and end is None) or not all(one is None or callable(one) for one in (before, end)):
        raise PolicyUnusableError(source, "nothing to call", expected)
    return PolicyFunctions(before, end)


def _module(source: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise PolicyUnusableError(source, "a file that is no module", "a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise PolicyUnusableError(source, f"{type(error).__name__}: {error}", "a file that runs") from error
    return module


def _has_drive(source: str) -> bool:
    return len(source) > 2 and source[1] == ":" and source[2] in "/\\"


def _split_behind_drive(source: str) -> tuple[str, str, str]:
    file, colon, name = source[2:].partition(":")
    return source[:2] + file, colon, name
