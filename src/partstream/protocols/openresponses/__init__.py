"""OpenResponses: the open form of OpenAI's Responses API, specification of 2026-04-24."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import Protocol

if TYPE_CHECKING:
    from partstream.protocols.protocol import OwnSettings, ReadResponse, WriteRequest

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.openresponses.stream import READ_RESPONSE  # noqa: PLC0415 - a corner loads when needed

    return READ_RESPONSE


def _write_request() -> WriteRequest:
    from partstream.protocols.openresponses.write_request import WRITE_REQUEST  # noqa: PLC0415

    return WRITE_REQUEST


def _own_settings() -> OwnSettings:
    from partstream.protocols.openresponses.settings import OWN_SETTINGS  # noqa: PLC0415

    return OWN_SETTINGS


# OpenRouter sends `[DONE]` before the last events, others leave it out: facts 7.2. So it says that the end is near.
PROTOCOL: Final = Protocol(
    name="openresponses", read_response=_read_response, write_request=_write_request, own_settings=_own_settings
)
