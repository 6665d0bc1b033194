"""Endpoints that count the tokens of a whole request: what is sent, and how the answer is read; opens no socket.

Sources: OpenAI's reference, `POST /responses/input_tokens`; Anthropic's reference, `POST /v1/messages/count_tokens`.
Both take the body that a response is asked for with, without the fields that only concern the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.tokens.counting.count import CountSource, TokenCount

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COUNT_ENDPOINTS",
    "CountAnswerError",
    "CountEndpoint",
    "count_request_body",
    "read_count_answer",
]


@dataclass(frozen=True, slots=True)
class CountEndpoint:
    """An endpoint that counts.

    Attributes:
        path: Below the base URL that ends in `/v1`.
        fields: The fields of a request's body that it takes; it refuses others.
    """

    path: str
    fields: frozenset[str]


COUNT_ENDPOINTS: Final[Mapping[str, CountEndpoint]] = {
    "responses": CountEndpoint(
        "/responses/input_tokens",
        frozenset(
            {"conversation", "input", "instructions", "model", "parallel_tool_calls", "previous_response_id"}
            | {"reasoning", "text", "tool_choice", "tools", "truncation"}
        ),
    ),
    "messages": CountEndpoint(
        "/messages/count_tokens",
        frozenset(
            {"cache_control", "context_management", "mcp_servers", "messages", "model", "output_config"}
            | {"system", "thinking", "tool_choice", "tools"}
        ),
    ),
}
"""By the collection that the body is otherwise sent to."""


class CountAnswerError(ValueError):
    """An upstream's answer holds no count.

    Attributes:
        answer: What came, as JSON values.
    """

    def __init__(self, answer: object) -> None:
        super().__init__(f"expected an object with input_tokens, a number of at least 0; got {str(answer)[:200]}")
        self.answer = answer


def count_request_body(endpoint: CountEndpoint, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body that asks for the count of the request that `body` would make."""
    return {name: value for name, value in body.items() if name in endpoint.fields}


def read_count_answer(answer: object) -> TokenCount:
    """The count in an upstream's answer: `{"input_tokens": 14}`.

    Raises:
        CountAnswerError: There is none.
    """
    tokens = answer.get("input_tokens") if isinstance(answer, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise CountAnswerError(answer)
    return TokenCount(tokens, CountSource.COUNTED)
