"""Whose fault it is that an answer went wrong: a table from what is known of its end to who and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.devtools.inspector.shapes import BlameView, Who

__all__ = ["EndFacts", "blame"]

_BUSY: Final = frozenset({402, 429})
_KEY: Final = frozenset({401, 403})
_TIMED_OUT: Final = frozenset({408})
_CLIENT_ERRORS: Final = range(400, 500)
_SERVER_ERRORS: Final = range(500, 600)
_REDIRECTS: Final = range(300, 400)


@dataclass(frozen=True, slots=True)
class EndFacts:
    """What is known of the end of an answer.

    Attributes:
        outcome: How it ended; `cancelled` too.
        ending: How its bytes ended, or None where no bytes are known.
        error: The name of the class of its error, or None.
        message: The error's sentence.
        phase: The limit of time that was exceeded, for such an error; else None.
        status: The status of HTTP where it is one of an error, that of the head or of the error itself; or None.
        reason: Why the model stopped, in the server's word, or None.
        broken: The rules that the bytes of the server break already (MUST), each once.
        broken_by_provider: The rules that only what the host got breaks (MUST), each once.
        lost: What of the bytes the host did not get, or None.
        event: The number of the last event, or None.
        of_upstream: Whether the error is one that an upstream is blamed for.
        left_out: The bytes of the answer that the recording leaves out.
        is_too_long: Whether the server says that the conversation is too long for the model.
    """

    outcome: str
    ending: str | None = None
    error: str | None = None
    message: str = ""
    phase: str | None = None
    status: int | None = None
    reason: str | None = None
    broken: Sequence[str] = ()
    broken_by_provider: Sequence[str] = ()
    lost: str | None = None
    event: int | None = None
    of_upstream: bool = True
    left_out: int = 0
    is_too_long: bool = False


def _is(*names: str) -> Callable[[EndFacts], bool]:
    return lambda facts: facts.error in names


def _at(facts: EndFacts) -> str:
    return "" if facts.event is None else f" behind event {facts.event}"


def _said(facts: EndFacts) -> str:
    return f": {facts.message}" if facts.message else "."


_Row = tuple["Callable[[EndFacts], bool]", "Who", "Callable[[EndFacts], str]"]

_ROWS: Final[tuple[_Row, ...]] = (
    (
        lambda facts: bool(facts.broken_by_provider),
        "provider",
        lambda facts: (
            f"The bytes of the server keep the contract; what the host got breaks "
            f"{', '.join(facts.broken_by_provider)}."
        ),
    ),
    (
        _is("RecordingError"),
        "nobody",
        lambda _: "No protocol is known for these bytes, so nothing can be said of them.",
    ),
    (
        lambda facts: facts.outcome == "cancelled" or facts.ending == "cancelled",
        "client",
        lambda facts: f"The client stopped the answer{_at(facts)}.",
    ),
    (
        lambda facts: facts.status is not None and facts.status in _KEY,
        "client",
        lambda facts: f"The server refused the key (HTTP {facts.status}){_said(facts)}",
    ),
    (
        lambda facts: facts.status is not None and facts.status in _BUSY,
        "client",
        lambda facts: f"The account is at its limit (HTTP {facts.status}){_said(facts)}",
    ),
    (
        lambda facts: facts.status is not None and facts.status in _REDIRECTS,
        "client",
        lambda facts: f"The address is another one (HTTP {facts.status}){_said(facts)}",
    ),
    (
        lambda facts: facts.status is not None and facts.status in _CLIENT_ERRORS and facts.status not in _TIMED_OUT,
        "client",
        lambda facts: f"The server refused the request (HTTP {facts.status}){_said(facts)}",
    ),
    (
        lambda facts: facts.status is not None and (facts.status in _SERVER_ERRORS or facts.status in _TIMED_OUT),
        "server",
        lambda facts: f"The server failed (HTTP {facts.status}){_said(facts)}",
    ),
    (
        lambda facts: facts.error == "UpstreamTimeoutError" and facts.phase == "connect",
        "network",
        lambda facts: f"No connection came about in time{_said(facts)}",
    ),
    (
        _is("UpstreamTimeoutError"),
        "server",
        lambda facts: f"The server was silent for too long{_at(facts)}{_said(facts)}",
    ),
    (
        lambda facts: facts.is_too_long or facts.error == "ContextLengthExceededError",
        "client",
        lambda facts: f"The conversation is too long for the model{_said(facts)}",
    ),
    (
        lambda facts: facts.ending == "no-response",
        "network",
        lambda facts: f"No response came{_said(facts)}",
    ),
    (
        lambda facts: facts.left_out > 0 and bool(facts.error or facts.broken or facts.outcome == "truncated"),
        "nobody",
        lambda facts: (
            f"The recording leaves out {facts.left_out:,} bytes of the answer: what is behind them says "
            "nothing for sure."
        ),
    ),
    (
        _is(
            "UpstreamFailureError",
            "UpstreamAbortedError",
            "EmptyAnswerError",
        ),
        "server",
        lambda facts: f"The server itself ended the answer with an error{_said(facts)}",
    ),
    (
        _is("UpstreamProtocolError", "EventTooLargeError", "ToolArgumentsError", "ContentTypeError"),
        "server",
        lambda facts: f"The server sent what its protocol does not allow{_said(facts)}",
    ),
    (
        lambda facts: facts.ending == "cut" or facts.error == "UpstreamConnectionError",
        "network",
        lambda facts: f"The connection broke{_at(facts)}, before the body was whole.",
    ),
    (
        lambda facts: facts.outcome == "truncated" and facts.ending == "whole",
        "server",
        lambda facts: f"The server ended its bytes{_at(facts)} without the end that its protocol asks for.",
    ),
    (
        lambda facts: facts.outcome == "truncated",
        "nobody",
        lambda facts: f"The recording ends{_at(facts)}, before the answer does.",
    ),
    (
        lambda facts: bool(facts.broken) and facts.ending is None,
        "provider",
        lambda facts: f"What the host got breaks {', '.join(facts.broken)}.",
    ),
    (
        lambda facts: bool(facts.broken),
        "server",
        lambda facts: f"The bytes of the server already break {', '.join(facts.broken)}.",
    ),
    (
        lambda facts: facts.error is not None and not facts.of_upstream,
        "provider",
        lambda facts: f"The provider failed with {facts.error}{_said(facts)}",
    ),
    (
        lambda facts: facts.error is not None,
        "server",
        lambda facts: f"The answer failed with {facts.error}{_said(facts)}",
    ),
    (
        lambda facts: facts.lost is not None,
        "provider",
        lambda facts: f"The bytes of the server are whole, but {facts.lost}.",
    ),
    (
        lambda facts: facts.outcome == "incomplete",
        "nobody",
        lambda facts: f"A limit or a filter stopped the model ({facts.reason or 'no reason given'}).",
    ),
    (lambda facts: True, "nobody", lambda facts: "The answer is whole."),
)
"""What fits first says who."""


def blame(facts: EndFacts) -> BlameView:
    """Whose fault it is, in one sentence."""
    who, sentence = next((who, sentence) for fits, who, sentence in _ROWS if fits(facts))
    return {"who": who, "sentence": sentence(facts)}
