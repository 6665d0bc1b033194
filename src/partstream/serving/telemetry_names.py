"""The names under which answers are measured: OpenTelemetry's conventions for generative AI, all of them in one place.

The conventions are in development and are being renamed (open-telemetry/semantic-conventions-genai#521, September 2026:
`gen_ai.client.inference.*` in place of `gen_ai.client.operation.*`). Here are the published names; a new set of names
changes this file alone. Source of names and bounds: docs/wires/serving.md#metrics-and-traces.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from partstream.lm.outputs import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.server.settings import AnswerObservation

__all__ = [
    "MEASURES",
    "OPERATION",
    "OURSELVES",
    "TOKENS",
    "Attribute",
    "Measure",
    "TokenType",
    "as_prometheus",
    "error_of",
]

OPERATION: Final = "chat"
"""The operation that every answer is (`gen_ai.operation.name`)."""

OURSELVES: Final = "partstream"
"""The provider's name where it has none, or where no provider was asked (`gen_ai.provider.name`)."""


class Attribute(StrEnum):
    """The name of an attribute of spans and, with underscores, of a label of metrics."""

    OPERATION = "gen_ai.operation.name"
    PROVIDER = "gen_ai.provider.name"
    MODEL = "gen_ai.request.model"
    TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - of a text
    RESPONSE_ID = "gen_ai.response.id"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
    CONVERSATION = "gen_ai.conversation.id"
    ERROR = "error.type"
    METHOD = "http.request.method"
    ROUTE = "http.route"
    STATUS = "http.response.status_code"
    RESENT = "http.request.resend_count"
    CLIENT = "user_agent.name"
    CLIENT_VERSION = "user_agent.version"
    REQUEST_ID = "partstream.request_id"
    WIRE = "partstream.wire"
    CALLER = "partstream.caller"
    TURN = "partstream.turn"
    KIND = "partstream.answer_kind"
    EVENTS = "partstream.lm.cancellation"
    IS_CANCELLED = "partstream.cancelled_by_client"
    IS_COUNTED = "partstream.usage_is_counted"


class TokenType(StrEnum):
    """Whose tokens are measured (`gen_ai.token.type`)."""

    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of an answer of which the distribution is kept.

    Attributes:
        name: The name in the conventions.
        unit: Its unit, as the conventions write it: `s`, or `{token}`.
        says: What it is, for people.
        bounds: The upper bounds of its buckets.
        of: Gives the number of an answer, or None where it has none.
    """

    name: str
    unit: str
    says: str
    bounds: tuple[float, ...]
    of: Callable[[AnswerObservation], float | None]


def error_of(answer: AnswerObservation) -> str:
    """Why an answer did not end well (`error.type`): the class of its error, its status, or ""."""
    if answer.error is not None:
        return answer.error
    if answer.is_cancelled:
        return "cancelled"
    return str(answer.status) if answer.status >= 400 else ""


def as_prometheus(name: str, unit: str = "") -> str:
    """A name as Prometheus has it: underscores for dots, and the word of the unit behind it."""
    return name.replace(".", "_") + {"s": "_seconds"}.get(unit, "")


def _is_good(answer: AnswerObservation) -> bool:
    return answer.outcome in {Outcome.COMPLETED, Outcome.INCOMPLETE}


def _first_part_after(answer: AnswerObservation) -> float | None:
    return answer.first_part_after if _is_good(answer) else None


def _time_per_output_token(answer: AnswerObservation) -> float | None:
    """The seconds for each token behind the first; not of a document, and not of tokens that were only counted."""
    tokens = None if answer.usage is None or answer.is_usage_counted else answer.usage.output_tokens
    if tokens is None or tokens < 2 or answer.first_part_after is None or not _is_good(answer):
        return None
    return max(answer.duration - answer.first_part_after, 0.0) / (tokens - 1)


def _input_tokens(answer: AnswerObservation) -> float | None:
    return None if answer.usage is None else answer.usage.input_tokens


def _output_tokens(answer: AnswerObservation) -> float | None:
    return None if answer.usage is None else answer.usage.output_tokens


_SECONDS: Final = tuple(0.01 * 2**step for step in range(14))
_FIRST_TOKEN: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_EACH_TOKEN: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOKENS: Final = tuple(float(4**step) for step in range(14))

MEASURES: Final = (
    Measure(
        "gen_ai.server.request.duration",
        "s",
        "From the request until the last byte of the answer.",
        _SECONDS,
        lambda answer: answer.duration,
    ),
    Measure(
        "gen_ai.server.time_to_first_token",
        "s",
        "From the request until the first part of an answer that ended well.",
        _FIRST_TOKEN,
        _first_part_after,
    ),
    Measure(
        "gen_ai.server.time_per_output_token",
        "s",
        "For each token behind the first, of an answer that ended well and whose tokens the provider reported.",
        _EACH_TOKEN,
        _time_per_output_token,
    ),
)
"""What is measured of each answer, each at most once an answer."""

TOKENS: Final = {
    kind: Measure("gen_ai.client.token.usage", "{token}", "The tokens of an answer, by type.", _TOKENS, number)
    for kind, number in ((TokenType.INPUT, _input_tokens), (TokenType.OUTPUT, _output_tokens))
}
"""The tokens that are measured of each answer, under one name."""
