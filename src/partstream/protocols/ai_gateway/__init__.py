"""The Vercel AI Gateway: the language model specification of the AI SDK over HTTP, versions 2, 3 and 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import Protocol

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
    from partstream.protocols.ai_gateway.read_response import READ_RESPONSE  # noqa: PLC0415 - a corner loads when needed

    return READ_RESPONSE


def _write_request() -> WriteRequest:
    from partstream.protocols.ai_gateway.write_request import WRITE_REQUEST  # noqa: PLC0415

    return WRITE_REQUEST


def _read_request() -> ReadRequest:
    from partstream.protocols.ai_gateway.read_request import READ_REQUEST  # noqa: PLC0415

    return READ_REQUEST


def _own_settings() -> OwnSettings:
    from partstream.protocols.ai_gateway.settings import OWN_SETTINGS  # noqa: PLC0415

    return OWN_SETTINGS


def _write_response() -> WriteResponse:
    from partstream.protocols.ai_gateway.write_response import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.ai_gateway.losses import LOSES  # noqa: PLC0415

    return LOSES


def _spoken_at() -> tuple[SpokenAt, ...]:
    from partstream.protocols.ai_gateway.servers import SPOKEN_AT  # noqa: PLC0415

    return SPOKEN_AT


PROTOCOL: Final = Protocol(
    name="ai-gateway",
    read_response=_read_response,
    write_request=_write_request,
    read_request=_read_request,
    own_settings=_own_settings,
    write_response=_write_response,
    has_chunks=True,
    loses=_loses,
    title="Vercel AI Gateway",
    says="Base URL https://ai-gateway.vercel.sh/v4/ai, or a server like it",
    spoken_at=_spoken_at,
)
