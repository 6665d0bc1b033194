"""OpenResponses: the open form of OpenAI's Responses API, specification of 2026-04-24."""

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
    from partstream.protocols.openresponses.read_response import READ_RESPONSE  # noqa: PLC0415 - a corner loads when needed

    return READ_RESPONSE


def _write_request() -> WriteRequest:
    from partstream.protocols.openresponses.write_request import WRITE_REQUEST  # noqa: PLC0415

    return WRITE_REQUEST


def _own_settings() -> OwnSettings:
    from partstream.protocols.openresponses.settings import OWN_SETTINGS  # noqa: PLC0415

    return OWN_SETTINGS


def _read_request() -> ReadRequest:
    from partstream.protocols.openresponses.read_request import READ_REQUEST  # noqa: PLC0415

    return READ_REQUEST


def _write_response() -> WriteResponse:
    from partstream.protocols.openresponses.write_response import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.openresponses.losses import LOSES  # noqa: PLC0415

    return LOSES


def _spoken_at() -> tuple[SpokenAt, ...]:
    from partstream.protocols.openresponses.servers import SPOKEN_AT  # noqa: PLC0415

    return SPOKEN_AT


# OpenRouter sends `[DONE]` before the last events, others leave it out: facts 7.2. So it says that the end is near.
PROTOCOL: Final = Protocol(
    name="openresponses",
    read_response=_read_response,
    write_request=_write_request,
    read_request=_read_request,
    write_response=_write_response,
    loses=_loses,
    own_settings=_own_settings,
    has_chunks=True,
    title="OpenResponses",
    says="Servers with `/responses`, such as OpenAI, LM Studio, Ollama or vLLM",
    spoken_at=_spoken_at,
)
