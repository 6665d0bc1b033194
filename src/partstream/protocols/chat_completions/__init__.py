"""Chat Completions: OpenAI's `POST /chat/completions`, as some thirty servers speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.framings import JSON_LINES, LENIENT_SSE
from partstream.protocols.protocol import EndMark, Ends, Protocol

if TYPE_CHECKING:
    from partstream.protocols.losses import Losses
    from partstream.protocols.protocol import (
        OwnSettings,
        ReadRequest,
        ReadResponse,
        SpokenAt,
        WriteRequest,
        WriteResponse,
    )

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.chat_completions.read_response import READ_RESPONSE  # noqa: PLC0415 - a corner loads when needed

    return READ_RESPONSE


def _write_request() -> WriteRequest:
    from partstream.protocols.chat_completions.write_request import WRITE_REQUEST  # noqa: PLC0415

    return WRITE_REQUEST


def _own_settings() -> OwnSettings:
    from partstream.protocols.chat_completions.settings import OWN_SETTINGS  # noqa: PLC0415

    return OWN_SETTINGS


def _read_request() -> ReadRequest:
    from partstream.protocols.chat_completions.read_request import READ_REQUEST  # noqa: PLC0415

    return READ_REQUEST


def _write_response() -> WriteResponse:
    from partstream.protocols.chat_completions.write_response import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.chat_completions.losses import LOSES  # noqa: PLC0415

    return LOSES


def _spoken_at() -> tuple[SpokenAt, ...]:
    from partstream.protocols.chat_completions.servers import SPOKEN_AT  # noqa: PLC0415

    return SPOKEN_AT


# Facts 1: `[DONE]` ends the answer, also where proxies keep the connection open; servers that leave it out say a finish
# reason, which the adapter knows of.
PROTOCOL: Final = Protocol(
    name="chat-completions",
    read_response=_read_response,
    write_request=_write_request,
    own_settings=_own_settings,
    framings=(LENIENT_SSE, JSON_LINES),
    read_request=_read_request,
    write_response=_write_response,
    loses=_loses,
    tag=None,
    ends=Ends(data={b"[DONE]": EndMark(closes=True, completes=True)}),
    has_chunks=True,
    title="Chat Completions",
    spoken_at=_spoken_at,
    says="Servers with `/chat/completions`: most model servers",
)
