"""The Vercel AI Gateway: the language model specification of the AI SDK over HTTP, versions 2, 3 and 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import Protocol

if TYPE_CHECKING:
    from partstream.protocols.protocol import OwnSettings, ReadRequest, ReadResponse, WriteRequest

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.ai_sdk.dialects import PROVIDER_STREAM  # noqa: PLC0415 - a corner loads when needed

    return PROVIDER_STREAM


def _write_request() -> WriteRequest:
    from partstream.protocols.ai_gateway.request import WRITE_REQUEST  # noqa: PLC0415

    return WRITE_REQUEST


def _read_request() -> ReadRequest:
    from partstream.protocols.ai_gateway.read_request import READ_REQUEST  # noqa: PLC0415

    return READ_REQUEST


def _own_settings() -> OwnSettings:
    from partstream.protocols.ai_gateway.settings import OWN_SETTINGS  # noqa: PLC0415

    return OWN_SETTINGS


PROTOCOL: Final = Protocol(
    name="ai-gateway",
    read_response=_read_response,
    write_request=_write_request,
    read_request=_read_request,
    own_settings=_own_settings,
    has_chunks=True,
)
