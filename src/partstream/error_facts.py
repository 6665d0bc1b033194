"""What a log says of a failed request beside its message: the facts that find it at its server, and its causes.

The message is one sentence for a person; who looks into a failure needs the status, the codes and the server's words.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["with_facts"]

_MOST_CAUSES: Final = 5
_LONGEST_BODY: Final = 1000
_LONGEST_CAUSE: Final = 300

_FACTS: Final[tuple[tuple[str, type | tuple[type, ...], Callable[[Any], str]], ...]] = (
    ("http_status", int, lambda status: f"HTTP {status}"),
    ("provider_code", str, lambda code: f"code {code:.100}"),
    ("param", str, lambda param: f"field {param:.100}"),
    ("retry_after", (int, float), lambda seconds: f"retry after {seconds:g} s"),
    ("request_id", str, lambda request_id: f"request {request_id:.100}"),
    ("generation_id", str, lambda generation_id: f"generation {generation_id:.100}"),
)
"""Fields of :class:`partstream.errors.UpstreamError` and its subclasses, their types, and how a log names them."""


def with_facts(message: str, error: BaseException) -> str:
    """The message of an error with the facts that its fields and those of its causes hold, for a log.

    Args:
        message: What the error says.
        error: The error; a provider of a person may have put values of any type into its fields.
    """
    chain = [*_chain(error)]
    facts = [shown for name, kind, show in _FACTS for shown in _first(chain, name, kind, show) if shown not in message]
    lines = [f"{message} ({', '.join(facts)})" if facts else message]
    lines += [f"caused by {said}" for cause in chain[1:] if (said := _said(cause)) and said not in message]
    lines += [f"body: {body[:_LONGEST_BODY]}" for body in _first(chain, "body", str, str) if body not in message]
    return "\n".join(lines)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _first(
    chain: list[BaseException], name: str, kind: type | tuple[type, ...], show: Callable[[Any], str]
) -> Iterator[str]:
    """What the first error with a field of that name and type says in it; nothing where there is none."""
    for error in chain:
        value = vars(error).get(name)
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            continue
        with suppress(ValueError, OverflowError):  # a number of thousands of digits
            yield show(value)
        return


def _said(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_CAUSE]
    except Exception:
        return f"{type(error).__name__}, which says nothing"
