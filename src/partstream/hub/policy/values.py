"""What a policy gets and gives; plain values, of which a policy has copies of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.messages import ChatMessage

__all__ = ["Changed", "PolicyAnswer", "PolicyRequest", "Refusal"]


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A request that waits for a policy. It is a copy: what a policy does to it changes nothing.

    Attributes:
        request_id: Its id.
        person: Who asks.
        team: The person's team, or None.
        key_id: The public id of the key.
        model: The model that is asked.
        messages: The conversation, with system messages.
        tools: The names of the tools.
        max_output_tokens: The longest answer that is asked for, or None.
        wire: The name of the protocol in which it came.
        client: The name of the client, as its headers say, or "".
        session: The client's id of the conversation, or None.
        headers: The headers, names in lower case; those that hold keys are left out.
        is_count: Whether only the tokens of the request are to be counted.
    """

    request_id: str
    person: str
    team: str | None
    key_id: str
    model: str
    messages: tuple[ChatMessage, ...] = field(repr=False)
    tools: tuple[str, ...]
    max_output_tokens: int | None
    wire: str
    client: str
    session: str | None
    headers: Mapping[str, str] = field(repr=False)
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """The request is refused.

    Attributes:
        message: What the client is told, up to 1,000 characters.
    """

    message: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The request goes on with changes; None leaves a thing as it is. None of them gives more than the person may have.

    Attributes:
        messages: The conversation in place of the one that came.
        model: The model that answers: one that the person may use.
        max_output_tokens: The longest answer; a longer one than was asked for changes nothing.
    """

    messages: Sequence[ChatMessage] | None = None
    model: str | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """An answer that is over, without a word of it.

    Attributes:
        request_id: The id of its request.
        person: Who asked.
        team: The person's team, or None.
        key_id: The public id of the key.
        model: The model that answered.
        provider: The provider that answered.
        input_tokens: The tokens of the request.
        output_tokens: The tokens of the answer.
        nanodollars: What it cost, in 10^-9 US dollars; None if nobody knows.
        is_estimated: Whether the tokens are an estimate.
        status: The HTTP status of the reply.
        outcome: How it ended, such as `completed` or `cancelled`.
        seconds: How long it took.
    """

    request_id: str
    person: str
    team: str | None
    key_id: str
    model: str
    provider: str
    input_tokens: int | None
    output_tokens: int | None
    nanodollars: int | None
    is_estimated: bool
    status: int
    outcome: str
    seconds: float | None
