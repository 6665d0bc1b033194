"""Shows the exchanges with an upstream to the capture of the answer that they are for, without the secrets in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.redaction import HIDDEN, query_without_secrets, without_secrets_by_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping

    import httpx2

    from partstream.capturing.exchange_capture import ExchangeCapture, KeptRequest
    from partstream.codec.redaction import Redactor

__all__ = ["OpenExchange", "begin_exchange", "captured_pieces", "take_head"]

OpenExchange: TypeAlias = "Callable[[KeptRequest, Callable[[], Redactor]], ExchangeCapture]"
"""Begins the capture of an exchange with its request, and with what makes the redactor of its response."""

_OF_PACKED_BODIES: Final = frozenset({"content-encoding", "content-length"})


def begin_exchange(
    open_exchange: OpenExchange,
    request: httpx2.Request,
    content: bytes,
    secrets: Iterable[str],
    own_headers: Container[str],
    redactor: Callable[[], Redactor],
) -> ExchangeCapture:
    """Begins the capture of an exchange, and has it told when its request is sent.

    Args:
        open_exchange: Begins it.
        request: The request, whose extensions get what tells it.
        content: Its body.
        secrets: Texts that no header may show.
        own_headers: The names of headers that somebody set for this request, in lower case: any may hold a secret.
        redactor: Makes what removes the secrets of the request from its response.
    """
    from partstream.capturing.exchange_capture import KeptRequest  # noqa: PLC0415 - whoever captures has loaded it

    shown = without_secrets_by_name(_without(request.headers.multi_items(), frozenset(secrets), own_headers))
    query = query_without_secrets(request.url.query.decode(errors="replace"))
    kept = KeptRequest(request.method, request.url.path, query, shown, content)
    exchange = open_exchange(kept, redactor)
    told = {"on_sending": exchange.sending, "on_sent": exchange.was_sent, "trace": _sending_through_a_proxy(exchange)}
    request.extensions = {**request.extensions, **told}
    return exchange


def take_head(exchange: ExchangeCapture, response: httpx2.Response) -> None:
    """Shows the head of a response. What a head says of a packed body is left out: its reads are kept unpacked."""
    headers: Iterable[tuple[str, str]] = response.headers.multi_items()
    if response.headers.get("content-encoding", "identity") != "identity":
        headers = [(name, value) for name, value in headers if name.lower() not in _OF_PACKED_BODIES]
    exchange.responded(response.status_code, response.reason_phrase, headers)


def captured_pieces(
    next_piece: Callable[[], Awaitable[bytes | None]], exchange: ExchangeCapture
) -> Callable[[], Awaitable[bytes | None]]:
    """The same function, which shows each piece of a body to the capture, and its end."""
    take = exchange.chunk

    async def next_captured() -> bytes | None:
        piece = await next_piece()
        if piece:
            take(piece)
        else:
            exchange.whole()
        return piece

    return next_captured


def _without(
    headers: Iterable[tuple[str, str]], secrets: frozenset[str], own_headers: Container[str]
) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        is_hidden = name.lower() in own_headers or value in secrets
        yield name, HIDDEN if is_hidden else value


def _sending_through_a_proxy(exchange: ExchangeCapture) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """What the HTTP client calls at each step of its own connections; ours tell the capture themselves."""

    async def take_step(name: str, _info: Mapping[str, Any]) -> None:
        if name.endswith("send_request_headers.started"):
            exchange.sending()
        elif name.endswith("send_request_body.complete"):
            exchange.was_sent()

    return take_step
