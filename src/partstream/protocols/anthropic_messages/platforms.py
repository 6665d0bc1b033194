"""The places of model, version and betas on each platform (docs/wires/anthropic-messages.md#platforms)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from partstream.protocols.anthropic_messages.betas import BETA_HEADER, named
from partstream.protocols.anthropic_messages.models import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["PATH", "on_platform"]

PATH: Final = "/messages"

_IN_BODY: Final = "anthropic_version"


def on_platform(request: WireRequest, platform: Platform) -> WireRequest:
    """A request to Anthropic's own API as a platform takes it."""
    return _WRITERS[platform](request)


def _as_it_is(request: WireRequest) -> WireRequest:
    return request


def _vertex(request: WireRequest) -> WireRequest:
    """Google Vertex AI, below `.../publishers/anthropic/models`."""
    body = {name: value for name, value in request.body.items() if name != "model"}
    path = f"/{quote(request.body['model'], safe='@')}:streamRawPredict"
    return replace(request, path=path, body={_IN_BODY: "vertex-2023-10-16", **body})


def _bedrock(request: WireRequest) -> WireRequest:
    """Amazon Bedrock's InvokeModel; its stream has a framing of its own, so the answer is asked for as a whole."""
    betas = named(request.headers.get(BETA_HEADER, ""))
    body = {name: value for name, value in request.body.items() if name not in {"model", "stream"}}
    return replace(
        request,
        path=f"/model/{quote(request.body['model'], safe='')}/invoke",
        body={_IN_BODY: "bedrock-2023-05-31", **({"anthropic_beta": betas} if betas else {}), **body},
        headers={name: value for name, value in request.headers.items() if name != BETA_HEADER},
    )


_WRITERS: Final[Mapping[Platform, Callable[[WireRequest], WireRequest]]] = {
    Platform.ANTHROPIC: _as_it_is,
    Platform.VERTEX: _vertex,
    Platform.BEDROCK: _bedrock,
}
